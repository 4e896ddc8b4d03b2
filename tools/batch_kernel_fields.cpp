#include "tools/batch_kernel_fields.h"

#include <algorithm>
#include <limits>

#include "strata/base/meter.h"
#include "strata/ir/uop_rules.h"
#include "strata/ir/uop_text.h"
#include "tools/ask_kernel.h"
#include "tools/batch_rows.h"

namespace strata::tools {
namespace {

constexpr std::uint64_t kUnitsOfAUOp = 64;  // units of work for the texts of a UOp

std::int64_t number(std::size_t n) { return static_cast<std::int64_t>(n); }

void write_buffers(JsonWriter& json, const KernelTold& told) {
  json.key("buffers").begin_array();
  for (std::size_t slot = 0; slot < told.kernel.buffers.size(); ++slot) {
    const BufferUse& use = told.kernel.buffers[slot];
    json.begin_object().member("name", name_of_buffer(told.names, slot));
    json.member("dtype", use.dtype.name());
    write_int(json.key("size"), use.size);
    json.member("read", use.read).member("written", use.written).end_object();
  }
  json.end_array();
}

// --- axes ---

void write_segment(JsonWriter& json, const Segment& segment) {
  json.begin_object();
  write_int(json.key("begin"), segment.begin);
  write_int(json.key("size"), segment.size());
  json.key("parts").begin_array();
  for (const Part& part : segment.parts) {
    json.begin_object().member("kind", to_string(part.kind));
    write_int(json.key("size"), part.size);
    json.member("inside", part.is_inside).end_object();
  }
  json.end_array().end_object();
}

void write_axis(JsonWriter& json, const KernelRecord& record, std::size_t a) {
  const LoopAxis& axis = record.axes->axes()[a];
  json.begin_object().member("axis", number(a));
  json.member("kind", axis.group < 0 ? "output" : "reduce").key("group");
  if (axis.group < 0)
    json.null();
  else
    json.value(std::int64_t{axis.group});
  json.key("order");  // the position among the loops over outputs
  const std::vector<std::size_t>& order = record.axes->order();
  if (const auto at = std::find(order.begin(), order.end(), a); at != order.end())
    json.value(static_cast<std::int64_t>(at - order.begin()));
  else
    json.null();
  write_int(json.key("size"), axis.size);
  json.key("dims").begin_array();
  for (const std::size_t dim : axis.dims) json.value(number(dim));
  json.end_array().key("sizes").begin_array();
  for (const Int& size : axis.sizes) write_int(json, size);
  json.end_array().member("padded", axis.padded).key("segments").begin_array();
  for (const Segment& segment : axis.segments) write_segment(json, segment);
  json.end_array().key("counters").begin_array();
  for (const KernelRecord::Counter& c : record.counters)
    if (c.axis == a) json.begin_object().member("name", c.variable.name()).member("op", number(c.uop)).end_object();
  json.end_array().end_object();
}

void write_axes(JsonWriter& json, const Kernel& kernel, const KernelRecord& record) {
  json.member("axes", kernel.axes).key("loops").begin_array();
  for (std::size_t a = 0; a < record.axes->axes().size(); ++a) write_axis(json, record, a);
  json.end_array();
}

// --- UOps ---

/// For each UOp, the innermost LOOP around it.
std::vector<std::optional<std::size_t>> loops_around(const UOpGraph& list) {
  std::vector<std::optional<std::size_t>> out;
  std::vector<std::size_t> open;
  for (const UOp u : list) {
    out.push_back(open.empty() ? std::nullopt : std::optional(open.back()));
    if (u.op() == UOps::LOOP) open.push_back(u.num());
    if (u.op() == UOps::ENDLOOP) open.pop_back();
  }
  return out;
}

void write_op(JsonWriter& json, UOp u, std::optional<std::size_t> loop) {
  json.begin_object().member("op", row(u.op()).name).member("dtype", u.dtype().name()).key("arg");
  if (std::holds_alternative<std::monostate>(u.arg()))
    json.null();
  else
    json.value(arg_text(u));
  json.key("srcs").begin_array();
  for (const UOp s : u.src()) json.value(number(s.num()));
  std::string text = line_of(u);
  text.pop_back();  // the line end
  json.end_array().member("text", text).key("loop");
  if (loop)
    json.value(number(*loop));
  else
    json.null();
}

void write_uops(JsonWriter& json, const Kernel& kernel, const KernelRecord& record) {
  Meter::charge(kUnitsOfAUOp * kernel.uops.size());
  json.member("uops", kernel.uops.text()).key("ops").begin_array();
  std::vector<const KernelRecord::Counter*> counters(kernel.uops.size());
  for (const KernelRecord::Counter& c : record.counters) counters[c.uop] = &c;
  const auto loops = loops_around(kernel.uops);
  for (const UOp u : kernel.uops) {
    write_op(json, u, loops[u.num()]);
    if (const auto* const counter = counters[u.num()]; counter != nullptr)
      json.member("counter", counter->variable.name());
    json.end_object();
  }
  json.end_array();
}

// --- source, proof ---

void write_source(JsonWriter& json, const KernelTold& told, const Kernel& kernel) {
  Meter::charge(kUnitsOfAUOp * kernel.uops.size());
  SourceLines lines;
  const std::string text = told.source(kernel, &lines);
  json.member("source", text).key("lines").begin_array();
  for (const std::vector<std::uint32_t>& line : lines) {
    json.begin_array();
    for (const std::uint32_t u : line) json.value(std::int64_t{u});
    json.end_array();
  }
  json.end_array();
}

void write_end(JsonWriter& json, std::int64_t end) {
  if (end == kNegInf || end == kPosInf)
    json.null();
  else
    json.value(end);
}

void write_access(JsonWriter& json, const KernelRecord::ProvenAccess& proven) {
  const Access& a = proven.access;
  json.begin_object().key("op");
  if (proven.uops.empty())
    json.null();
  else
    json.value(number(proven.uops.front()));
  json.key("ops").begin_array();
  for (const std::size_t u : proven.uops) json.value(number(u));
  json.end_array().key("buffer");
  if (a.slot < 0)
    json.null();
  else
    json.value(std::int64_t{a.slot});
  json.member("kind", a.is_store ? "store" : "load").member("index", a.index.render());
  json.member("valid", a.valid.render());
  const Facts facts = a.index.facts();
  write_end(json.key("min"), facts.min);
  write_end(json.key("max"), facts.max);
  write_int(json.key("size"), a.size);
  json.member("by", proven.by == ProvenBy::bounds ? "bounds" : "algebra").end_object();
}

void write_proof(JsonWriter& json, const KernelTold& told, const Kernel& kernel, const KernelRecord& record) {
  const BoundsProof& proof = kernel.proof;
  json.key("proof").begin_object().member("accesses", number(proof.accesses));
  json.member("by_bounds", number(proof.by_bounds)).member("by_algebra", number(proof.by_algebra));
  if (told.timed) write_number(json, "seconds", proof.seconds);
  json.end_object().key("accesses").begin_array();
  for (const KernelRecord::ProvenAccess& proven : record.accesses) write_access(json, proven);
  json.end_array();
}

/// The predicted time in cycles; 0 where there is no prediction.
void write_cycles(JsonWriter& json, const Cycles& cycles) {
  json.key("cycles").begin_object();
  write_number(json, "total", cycles.total());
  write_number(json, "instructions", cycles.issue);
  write_number(json, "l2", cycles.caches[0]);
  write_number(json, "l3", cycles.caches[1]);
  write_number(json, "memory", cycles.caches[2]);
  json.end_object();
}

bool shows(const KernelTold& told, std::string_view section) {
  return std::find(told.sections.begin(), told.sections.end(), section) != told.sections.end();
}

void write_code(JsonWriter& json, const KernelTold& told, const Kernel& kernel) {
  if (shows(told, "source")) write_source(json, told, kernel);
  if (!shows(told, "asm")) return;
  json.key("asm");
  if (const auto text = told.assembly(kernel))
    json.value(*text);
  else
    json.null();
}

void write_sections(JsonWriter& json, const KernelTold& told, const Kernel& kernel, const KernelRecord& record) {
  if (shows(told, "ast")) json.member("ast", kernel.ast.text());
  if (shows(told, "axes")) write_axes(json, kernel, record);
  if (shows(told, "uops")) write_uops(json, kernel, record);
  write_code(json, told, kernel);
  if (shows(told, "proof")) write_proof(json, told, kernel, record);
  if (shows(told, "time")) write_cycles(json, kernel.cycles);
  if (!shows(told, "passes")) return;
  json.key("passes").begin_object();
  for (const auto& [name, seconds] : kernel.times) write_number(json, name, seconds);
  json.end_object();
}

}  // namespace

void write_kernel(JsonWriter& json, const KernelTold& told) {
  const Kernel& k = told.kernel;
  json.member("name", k.name).member("device", told.device).member("target", told.target);
  json.member("vector_bytes", std::int64_t{told.vector_bytes});
  write_buffers(json, told);
  json.key("opts").begin_array();
  for (const Opt& opt : k.opts) json.value(opt.text());
  json.end_array().key("first").begin_array();  // the kernels that run before it, by SPLITREDUCE, PACK or DOT
  for (std::size_t b = 0; b < k.before.size(); ++b) {
    const Kernel& first = *k.before[b];
    json.begin_object().member("name", first.name).member("opts", opts_text(first));
    write_sections(json, told, first, told.record.before[b]);
    json.end_object();
  }
  json.end_array();
  write_sections(json, told, k, told.record);
  if (k.of_normals == nullptr) return;
  json.key("of_normals").begin_object();
  write_code(json, told, *k.of_normals);
  json.end_object();
}

std::string name_of_buffer(std::span<const std::string> names, std::size_t slot) {
  return slot < names.size() ? names[slot] : "(temporary)";
}

std::string opts_text(const Kernel& kernel) { return kernel.opts.empty() ? "none" : text_of(kernel.opts); }

}  // namespace strata::tools
