// One random kernel and all that its result is compared on: lists, interpreted; the code of devices, run.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/codegen/heuristic.h"
#include "strata/codegen/kernel.h"
#include "strata/codegen/search.h"
#include "strata/graph/absorb.h"
#include "strata/graph/blocks.h"
#include "strata/render/cstyle.h"
#include "strata/render/llvm.h"
#include "strata/runtime/device.h"
#include "strata/runtime/host_compiler.h"
#include "strata/runtime/llvm_library.h"
#include "strata/runtime/shared_object.h"
#include "tests/codegen/kernel_ranges.h"
#include "tests/codegen/random_chain.h"
#include "tests/codegen/random_kernel.h"

namespace strata::oracle {

struct Case {
  std::vector<std::uint32_t> kernel, opts;
  std::uint64_t data = 0;  ///< seed of what buffers hold
};

/// A BLOCK of the kernel; nothing where it has none.
inline std::optional<Opt> random_block(Choices& c, const LazyOp& kernel) {
  const auto axis = static_cast<std::size_t>(c.below(4));
  const BlockPlan plan = block_axes(kernel, axis);
  if (!plan.axes) return std::nullopt;
  const std::int64_t size = kernel.src(0).shape()[axis].value();
  if (size < 1) return std::nullopt;
  return Opt{Opt::Kind::BLOCK, axis, 1 + c.below(static_cast<std::uint32_t>(size)), 0, {}};
}

/// The choices that a seed makes.
inline Case drawn(std::uint64_t seed) {
  Choices kernel(seed), opts(seed ^ 0x9e3779b97f4a7c15U);
  const RandomKernel made = made_kernel(kernel);
  Case out;
  out.kernel = kernel.made();
  opts.chance(40), opts.below(3);
  if (opts.chance(20))
    opts.chance(50);
  else if (!opts.chance(70) || !random_block(opts, absorb_movement(made.sink)))
    random_opts(opts, made.sink, 9);
  out.opts = opts.made();
  out.data = seed;
  return out;
}

/// What is wrong, and where it showed; or the category of a refusal that headers announce.
struct Verdict {
  std::string stage, text, refusal;
  bool fails() const { return !stage.empty(); }
};

using Entry = std::function<void(void* const*, const long long*)>;

class Trial {
 public:
  explicit Trial(const Case& c) : choices_(c.kernel), kernel_(made_kernel(choices_)), random_(c.data) {
    choose(c.opts);
    for (const BufferUse& use : buffers_of(kernel_.sink))
      before_.emplace_back(use.dtype, use.dtype.is_none() ? 0 : number_of(use.size, kernel_.values));
    const bool is_wild = random_() % 4 == 0;
    for (GuardedMemory& b : before_)
      for (std::int64_t k = 0; k < b.size(); ++k) b.put(k, element(b.dtype(), is_wild));
    plan_seed_ = random_();
  }

  std::string text() const {
    std::string out = kernel_.sink.text();
    for (const auto& [name, value] : kernel_.values) out += detail::message(name, " = ", value, "\n");
    out += detail::message(is_deterministic_ ? "deterministic, " : "", vector_bytes_, "-byte vectors, ");
    out += is_searched_ ? "opts of a search"
           : !opts_     ? "opts of the heuristic"
                        : detail::message("opts \"", text_of(*opts_), "\"");
    if (list_) out += detail::message(" -> \"", text_of(list_->opts), "\"\n", list_->axes);
    return out;
  }

  /// The oracle against what the ranges say; an Opt's refusals.
  Verdict oracle() {
    if (!fault_.empty()) return {"opts", fault_, {}};
    return guarded("oracle", [&]() -> Verdict {
      Buffers after = before_;
      interpret(kernel_.sink, memory_of(after), kernel_.values);
      exact_ = KernelRanges(before_, kernel_.values, {false, false, false})(kernel_.sink);
      const bool free = !is_deterministic_;
      allowed_ = KernelRanges(before_, kernel_.values, {true, free, free})(kernel_.sink);
      const Verdict v = compared("oracle", after, exact_);
      return v.fails() ? v : compared("oracle", after, allowed_);
    });
  }
  /// The list whose ops are those of the AST, in its order: equal to the bit.
  Verdict exact_list() {
    return guarded("list", [&]() -> Verdict {
      Target target = Target().deterministic();
      for (const OpRow& r : op_rows())
        if (is_elementwise(r.op)) target.native.insert(r.op);
      return interpreted("list", compiled(target), exact_);
    });
  }
  /// The list that devices get.
  Verdict list() {
    return guarded("ir", [&]() -> Verdict {
      if (!list_) make_list();
      return interpreted("ir", *list_, allowed_);
    });
  }
  Verdict llvm() {
    return guarded("LLVM", [&]() -> Verdict {
      if (!list_) make_list();
      // With the instructions of this machine.
      Target target = target_of(false);
      const bool has_dots = Device::get("LLVM").target().native.has(Ops::DOT4);
      if (has_dots) target.native.insert(Ops::DOT4);
      const std::optional<Kernel> own = has_dots ? std::optional(compiled(target)) : std::nullopt;
      LlvmOptions text;
      text.contract = !is_deterministic_;
      LlvmCompileOptions options;
      options.deterministic = is_deterministic_;
      if (plan_seed_ % 3 == 0) options.level = 0;  // as tiny kernels are compiled
      const auto library = LlvmLibrary::open();
      const LlvmModule module = library->load(
          library->compile(uops_to_llvm("k", own && own->before.empty() ? own->uops : list_->uops, text), options));
      return ran("LLVM", module.function<void (*)(void* const*, const long long*)>("k_entry"));
    });
  }
  /// The list of instances, interpreted.
  Verdict instances() {
    return guarded("instances",
                   [&]() -> Verdict { return interpreted("instances", compiled(target_of(true)), allowed_); });
  }
  /// The list of instances as the text of a language, for a machine that has no devices of ours; nothing where there is
  /// no such list.
  struct Launch {
    std::string source;
    std::int64_t instances = 1;
    std::vector<long long> slots;   ///< the buffers among its parameters: those that the list names
    std::vector<long long> values;  ///< of the variables among its parameters, which are behind the buffers
  };
  std::optional<Launch> launch(const Language& language, const std::string& name, Verdict& verdict) {
    std::optional<Launch> out;
    verdict = guarded(name, [&]() -> Verdict {
      const Kernel kernel = compiled(target_of(true));
      std::set<long long> slots;
      std::size_t variables = 0;
      for (const UOp u : kernel.uops) {
        if (u.op() == UOps::DEFINE_GLOBAL) slots.insert(std::get<Global>(u.arg()).slot);
        if (u.op() == UOps::DEFINE_VAR) ++variables;
      }
      std::vector<long long> values = calls_of(kernel).front();
      values.resize(variables);
      out = {uops_to_cstyle(language, name, kernel.uops),
             kernel.parallel ? std::max<std::int64_t>(number_of(*kernel.parallel, kernel_.values), 1) : 1,
             {slots.begin(), slots.end()},
             std::move(values)};
      return {};
    });
    return out;
  }
  /// What a device makes of the list.
  Verdict device(const std::string& name) {
    return guarded(name, [&]() -> Verdict {
      const Device& on = Device::get(name);
      const Kernel kernel = compiled(target_of(on.target().instances));
      const std::shared_ptr<Program> program = on.compile(kernel);
      return ran_in_chunks(name, kernel, [&](void* const* buffers, const long long* values) {
        program->run({buffers, kernel.buffers.size()},
                     {reinterpret_cast<const std::int64_t*>(values), kernel.variables.size()});
      });
    });
  }
  /// C of the list under a name; empty where there is no list.
  std::string source(const std::string& name, Verdict& verdict) {
    std::string out;
    verdict = guarded("CLANG", [&]() -> Verdict {
      if (!list_) make_list();
      CStyleOptions options;
      options.entry = true;
      out = uops_to_cstyle(CLanguage(), name, list_->uops, options);
      return {};
    });
    return out;
  }
  bool is_deterministic() const { return is_deterministic_; }
  Verdict ran(const std::string& stage, const Entry& entry) {
    return guarded(stage, [&]() -> Verdict { return ran_in_chunks(stage, *list_, entry); });
  }
  /// What a program that does not share our memory needs: the buffers, the values of each call of the entry.
  /// @pre source() has given one
  Buffers before() const { return list_ ? with_temporaries(*list_) : before_; }
  std::vector<std::vector<long long>> calls() const { return calls_of(*list_); }
  Verdict left(const std::string& stage, const Buffers& after) { return compared(stage, given(after), allowed_); }
  /// What was compared since the last time.
  Comparison take_counts() { return std::exchange(counts_, {}); }

 private:
  void choose(const std::vector<std::uint32_t>& recorded) {
    Choices c(recorded);
    is_deterministic_ = c.chance(40);
    vector_bytes_ = c.of<int>({16, 32, 64});
    if (c.chance(20)) {
      is_searched_ = c.chance(50);
      return;
    }
    if (c.chance(70))
      if (const auto block = random_block(c, absorb_movement(kernel_.sink))) {
        opts_ = {*block};
        return;
      }
    const RandomOpts random = random_opts(c, kernel_.sink, 9);
    opts_ = random.opts;
    fault_ = random.fault;
  }
  Scalar element(DType dtype, bool is_wild) {
    const std::uint64_t bits = random_();
    if (dtype.is_bool()) return Scalar((bits & 1) != 0);
    if (is_wild && bits % 3 == 0) return Scalar::from_bits(dtype, random_());
    if (is_wild && bits % 7 == 0) return Scalar::of(dtype, -0.0);
    if (dtype.is_float()) return Scalar::of(dtype, (static_cast<double>(bits % 33) - 16) / 4);
    return Scalar::of(dtype, static_cast<std::int64_t>(bits % 41) - (dtype.is_unsigned() ? 0 : 20));
  }

  Target target_of(bool has_instances) const {
    Target target;
    if (is_deterministic_) target = target.deterministic();
    target.vector_bytes = vector_bytes_;
    target.vector_registers = vector_bytes_ == 64 ? 32 : 16;
    target.instances = has_instances;
    target.shuffles = !has_instances && plan_seed_ % 2 == 0;
    return target;
  }
  void make_list() { list_ = compiled(target_of(false)); }
  /// With the opts; where a sum has to keep its order, with those of the outputs alone.
  Kernel compiled(const Target& target) {
    if (is_searched_) {
      const LazyOp whole = absorb_movement(kernel_.sink);
      const SearchLimits all{0, 0, 1e300, 2'000, 1e-300};
      return compile_kernel(kernel_.sink, target, searched(whole, loop_opts(whole, target), target, all));
    }
    const bool is_block = opts_ && !opts_->empty() && opts_->front().kind == Opt::Kind::BLOCK;
    if (is_block && target.instances) return compile_kernel(kernel_.sink, target);
    if (!opts_ || target.reassociate) return compile_kernel(kernel_.sink, target, opts_);
    try {
      return compile_kernel(kernel_.sink, target, opts_);
    } catch (const Error& error) {
      if (std::string_view(error.what()).find("keeps the defined order") == std::string_view::npos) throw;
    }
    if (is_block) return compile_kernel(kernel_.sink, target);
    KernelAxes axes(kernel_.sink);
    std::vector<Opt> some;
    for (const Opt& opt : *opts_) {
      if (opt.kind != Opt::Kind::REORDER && opt.axis >= axes.outputs()) continue;
      axes.apply(opt);
      some.push_back(opt);
    }
    return compile_kernel(kernel_.sink, target, some);
  }

  /// [begin, end) of each run: a partition of the parallel range, with an empty chunk that is not at its end.
  std::vector<std::pair<std::int64_t, std::int64_t>> chunks(const Kernel& k) const {
    const bool is_cut = std::any_of(k.variables.begin(), k.variables.end(),
                                    [](const Variable& v) { return v.name() == "begin0" || v.name() == "end0"; });
    if (!k.parallel || !is_cut) return {{0, 0}};
    const std::int64_t trip_count = number_of(*k.parallel, kernel_.values);
    if (trip_count <= 1) return {{0, trip_count}};
    std::mt19937_64 random(plan_seed_);
    std::vector<std::int64_t> cuts = {0, trip_count};
    for (std::uint64_t n = random() % 4; n > 0; --n)
      cuts.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(trip_count)));
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    for (std::size_t n = 0; n + 1 < cuts.size(); ++n)
      if (cuts[n] != cuts[n + 1] || cuts[n] < trip_count) out.emplace_back(cuts[n], cuts[n + 1]);
    std::shuffle(out.begin(), out.end(), random);
    return out;
  }
  KernelValues values_of(const Kernel& k, std::int64_t begin, std::int64_t end) const {
    KernelValues out;
    for (const Variable& v : k.variables) {
      std::int64_t value = v.name() == "begin0" ? begin : v.name() == "end0" ? end : 0;
      for (const auto& [name, known] : kernel_.values)
        if (name == v.name()) value = known;
      out.emplace_back(v.name(), value);
    }
    return out;
  }
  std::vector<std::vector<long long>> calls_of(const Kernel& k) const {
    std::vector<std::vector<long long>> out;
    for (const auto& [begin, end] : chunks(k)) {
      out.emplace_back();
      for (const auto& [name, value] : values_of(k, begin, end)) out.back().push_back(value);
    }
    return out;
  }
  /// What the kernel finds, and its temporaries behind: those of a BLOCK, which stay between the calls.
  Buffers with_temporaries(const Kernel& k) const {
    Buffers out = before_;
    for (std::size_t slot = out.size(); slot < k.buffers.size(); ++slot)
      out.emplace_back(k.buffers[slot].dtype, number_of(k.buffers[slot].size, kernel_.values));
    return out;
  }
  Buffers given(const Buffers& all) const {
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(before_.size())};
  }
  Verdict ran_in_chunks(const std::string& stage, const Kernel& k, const Entry& entry) {
    Buffers after = with_temporaries(k);
    std::vector<void*> pointers;
    for (GuardedMemory& b : after) pointers.push_back(b.data());
    for (const std::vector<long long>& values : calls_of(k)) entry(pointers.data(), values.data());
    return compared(stage, given(after), allowed_);
  }
  Verdict interpreted(const std::string& stage, const Kernel& k, const KernelRanges::Stored& allowed) {
    Buffers after = with_temporaries(k);
    for (const auto& [begin, end] : chunks(k))
      interpret(k.uops, memory_of(after), values_of(k, begin, end), std::uint64_t{1} << 23);
    return compared(stage, given(after), allowed);
  }
  Verdict compared(const std::string& stage, const Buffers& after, const KernelRanges::Stored& allowed) {
    const Comparison c = compare(before_, after, allowed);
    counts_.exact += c.exact;
    counts_.ranges += c.ranges;
    counts_.open += c.open;
    return c.fault.empty() ? Verdict{} : Verdict{stage, c.fault, {}};
  }

  bool reads_what_it_writes() const {
    const auto uses = buffers_of(kernel_.sink);
    return std::any_of(uses.begin(), uses.end(), [](const BufferUse& use) { return use.read && use.written; });
  }
  template <class F>
  Verdict guarded(const std::string& stage, const F& run) {
    try {
      return run();
    } catch (const Error& error) {
      const std::string text = error.what();
      const auto says = [&](std::string_view part) { return text.find(part) != std::string::npos; };
      if (says("is written by the kernel and read at") && reads_what_it_writes())
        return {{}, text, "reads what it writes elsewhere"};
      if (says("cannot be shown to stay inside")) return {{}, text, "bounds that cannot be shown"};
      if (says("lanes along an axis")) return {{}, text, "lanes that a SCATTER cannot have"};
      if (says("[STAGE ")) return {{}, text, "a buffer that cannot be staged"};
      if (error.kind() == ErrorKind::budget && says("[interpret]"))
        return {{}, text, "more steps than the interpreter's budget"};
      return {stage, detail::message("throws ", text), {}};
    } catch (const std::exception& error) {
      return {stage, detail::message("throws ", error.what()), {}};
    }
  }

  Choices choices_;
  RandomKernel kernel_;
  std::mt19937_64 random_;
  std::uint64_t plan_seed_ = 0;
  bool is_deterministic_ = false;
  bool is_searched_ = false;  ///< the list with the shortest predicted time, whatever the default's
  int vector_bytes_ = 32;
  std::optional<std::vector<Opt>> opts_;
  std::string fault_;
  Buffers before_;
  KernelRanges::Stored exact_, allowed_;
  std::optional<Kernel> list_;
  Comparison counts_;
};

}  // namespace strata::oracle
