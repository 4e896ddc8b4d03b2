#include "strata/runtime/trace_kernel.h"

#include "strata/expr/rewrite_text.h"
#include "strata/runtime/trace_nodes.h"

namespace strata {

namespace {

Hash128 hash_of(std::initializer_list<std::string_view> texts) {
  Hasher hasher;
  for (const std::string_view text : texts) hasher.add(std::as_bytes(std::span(text)));
  return hasher.finish();
}

/// The key of a kernel's line: kernels with equal device, AST, opts, axes and contraction share a line.
Hash128 key_of(const CompiledKernel& compiled) {
  const Kernel& k = compiled.kernel();
  const Device* const device = compiled.device();
  return hash_of(
      {device == nullptr ? "" : device->name(), k.ast.text(), text_of(k.opts), k.axes, k.contract ? "contract" : ""});
}

void write_ast(JsonWriter& json, const LazyOp& ast) {
  const TraceNodes nodes({&ast, 1});
  nodes.write(json.key("ast"), 0, nodes.size());
  nodes.write_files(json.key("files"));
}

void write_traced_buffers(JsonWriter& json, const Kernel& k) {
  json.key("buffers").begin_array();
  for (const BufferUse& use : k.buffers) {
    json.begin_object().member("dtype", std::string_view(use.dtype.name())).key("size");
    write_size(json, use.size);
    json.member("read", use.read).member("written", use.written).end_object();
  }
  json.end_array();
}

void write_traced_proof(JsonWriter& json, const BoundsProof& proof) {
  json.key("proof").begin_object().member("accesses", static_cast<std::int64_t>(proof.accesses));
  json.member("by_bounds", static_cast<std::int64_t>(proof.by_bounds));
  json.member("by_algebra", static_cast<std::int64_t>(proof.by_algebra));
  json.member("text", std::string_view(proof.text())).end_object();
}

/// Writes the members that a kernel and the kernels that run before it have each.
void write_texts(JsonWriter& json, const Kernel& k, const Device* device) {
  json.member("name", std::string_view(k.name));
  write_ast(json, k.ast);
  json.key("opts").begin_array();
  for (const Opt& opt : k.opts) json.value(std::string_view(opt.text()));
  json.end_array().member("axes", std::string_view(k.axes));
  json.member("uops", std::string_view(k.uops.text()));
  if (device != nullptr) json.member("source", std::string_view(device->source(k)));
  write_traced_proof(json, k.proof);
  json.key("passes").begin_object();
  for (const auto& [name, seconds] : k.times) json.member(name, static_cast<std::int64_t>(seconds * 1e9));
  json.end_object().member("parallel", k.parallel.has_value());
}

void write_rewrites(JsonWriter& json, std::span<const FiredRule> fired) {
  json.key("rewrites").begin_array();
  for (const FiredRule& f : fired) {
    const Rule& row = rule(static_cast<RuleId>(f.rule));
    json.begin_object().member("rule", row.name).member("title", row.title).member("times", f.times);
    json.member("before", std::string_view(f.before)).member("after", std::string_view(f.after));
    json.end_object();
  }
  json.end_array();
}

std::string members_of_device(const Device& device) {
  JsonWriter json;
  json.begin_object().member("name", device.name()).member("text", device.text());
  json.member("threads", std::int64_t{default_executor().concurrency()});
  return json.member("vector_bytes", std::int64_t{device.target().vector_bytes}).end_object().take();
}

/// How a kernel was compiled; `fired` is empty if the compilation was not recorded.
struct Compiled {
  std::int64_t begin = 0, end = 0;
  std::optional<std::span<const FiredRule>> fired;
};

std::string members_of_kernel(const Kernel& k, const Device* device, const Compiled& how) {
  JsonWriter json;
  json.begin_object().member("at", how.begin).member("ns", how.end - how.begin);
  json.key("device");
  device == nullptr ? json.null() : json.value(device->name());
  write_texts(json, k, device);
  write_traced_buffers(json, k);
  json.member("contract", k.contract);
  const KernelCost cost = cost_of(k.ast);
  json.key("operations").raw(trace_number(cost.operations));
  json.key("bytes").raw(trace_number(cost.bytes));
  if (how.fired) write_rewrites(json, *how.fired);
  json.key("first").begin_array();
  for (const auto& first : k.before) {
    json.begin_object();
    write_texts(json, *first, device);
    json.end_object();
  }
  json.end_array();
  if (k.of_normals != nullptr) {
    json.key("of_normals").begin_object();
    write_texts(json, *k.of_normals, device);
    json.end_object();
  }
  return json.end_object().take();
}

std::int64_t write_kernel(TraceFile& trace, const CompiledKernel& compiled, const Compiled& how) {
  const Hash128 key = key_of(compiled), id{0, compiled.id()};
  std::optional<std::int64_t> number = trace.find(TraceTable::kernel, key);
  if (!number) {
    if (const Device* const device = compiled.device()) {
      const TraceFile::Once once{"device", members_of_device(*device)};
      trace.write_once(TraceTable::device, hash_of({device->name()}), {&once, 1});
    }
    const TraceFile::Once once{"kernel", members_of_kernel(compiled.kernel(), compiled.device(), how)};
    number = trace.write_once(TraceTable::kernel, key, {&once, 1});
  }
  trace.note(TraceTable::compiled, id, *number);
  return *number;
}

}  // namespace

TracedCompile::TracedCompile() {
  if (trace_ == nullptr) return;
  position_.resize(rules().size());
  RewriteTrace* const outer = RewriteTrace::current();
  rewrites_.emplace([this, outer](const RewriteEvent& event) {
    if (outer != nullptr) outer->record(event);
    fired(event);
  });
}

void TracedCompile::fired(const RewriteEvent& event) {
  if (is_writing_) return;  // rendering the two sides below rewrites expressions, too
  std::size_t& position = position_[static_cast<std::size_t>(event.rule)];
  if (position == 0) {
    is_writing_ = true;
    const Rule& row = rule(event.rule);
    fired_.push_back(
        {static_cast<std::uint16_t>(event.rule), 0, instance(row.before, event), instance(row.after, event)});
    is_writing_ = false;
    position = fired_.size();
  }
  ++fired_[position - 1].times;
}

void TracedCompile::done(const CompiledKernel& kernel) {
  if (trace_ == nullptr) return;
  rewrites_.reset();
  write_kernel(*trace_, kernel, {begin_, trace_->now(), fired_});
}

std::string trace_of_kernels(std::span<const std::shared_ptr<const Kernel>> kernels, const Device* device,
                             std::string lines) {
  const auto add = [&](const TraceFile::Once& once, TraceTable table, std::int64_t number) {
    lines += TraceFile::text_of(once, table, number) + "\n";
  };
  if (device != nullptr) add({"device", members_of_device(*device)}, TraceTable::device, 1);
  std::int64_t number = 0;
  for (const auto& kernel : kernels)
    add({"kernel", members_of_kernel(*kernel, device, {0, 0, std::nullopt})}, TraceTable::kernel, ++number);
  return lines + TraceFile::line("end", 0).end_object().take() + "\n";
}

std::int64_t traced_kernel(TraceFile& trace, const CompiledKernel& kernel) {
  if (const auto number = trace.find(TraceTable::compiled, {0, kernel.id()})) return *number;
  const std::int64_t now = trace.now();
  return write_kernel(trace, kernel, {now, now, std::nullopt});
}

void trace_run(TraceFile& trace, const CompiledKernel& kernel, std::int64_t begin, int threads,
               std::span<void* const> memory, NamedValues values) {
  const std::int64_t end = trace.now(), number = traced_kernel(trace, kernel);
  const TraceItem& of = TraceItem::current();
  JsonWriter json = TraceFile::line("run", begin);
  json.member("kernel", number).member("ns", end - begin).member("threads", std::int64_t{threads});
  if (of.item >= 0) json.member("realize", of.realize).member("item", of.item);
  json.key("memory").begin_array();
  for (const void* const block : memory) json.value(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(block)));
  json.end_array();
  if (!values.empty()) json.key("values").begin_object();
  for (const auto& [name, value] : values) json.member(name, value);
  if (!values.empty()) json.end_object();
  trace.write(json.end_object().take());
  if (of.item < 0) trace.flush();  // inside a realize(), the realize() flushes at its end
}

}  // namespace strata
