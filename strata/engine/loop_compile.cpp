// compile_loop(): schedules the graph of a step, compiles its kernels, and gives each result and each intermediate
// result of a step its memory.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "strata/base/flags.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/kernel_cache.h"
#include "strata/engine/loop_program.h"
#include "strata/engine/realize.h"
#include "strata/graph/rebuild.h"
#include "strata/graph/step_graph.h"
#include "strata/schedule/contraction.h"
#include "strata/schedule/memory_plan.h"

namespace strata {

namespace {

constexpr std::int64_t kPartAlignment = 64;  // bytes

Int bytes_of(const LazyOp& n) { return product(n.shape()) * Int(static_cast<std::int64_t>(n.dtype().itemsize())); }

void note(const Values& more, Values& values) {
  for (const auto& [variable, value] : more) {
    const auto at = std::find_if(values.begin(), values.end(), [&](const auto& v) { return same(v.first, variable); });
    if (at == values.end()) {
      values.emplace_back(variable, value);
      continue;
    }
    STRATA_CHECK(at->second == value, domain, "[scan] ", variable.name(), " is bound to ", at->second, " and to ",
                 value);
  }
}

/// The sizes of a step have bound variables; its kernels have plain ones.
Int plain(const Int& size, Values& values) {
  if (size.is_number()) return size;
  auto [e, known] = unbind(size.expr());
  note(known, values);
  return e;
}

class LoopCompiler {
 public:
  LoopCompiler(std::span<const LazyOp> nodes, const Device& device)
      : nodes_(nodes), step_(*std::get<StepArg>(nodes[0].arg()).step), device_(device) {
    for (std::size_t k = 0; k < nodes[0].src().size(); ++k) {
      sources_.push_back(loop_source(*nodes[0].node(), k));
      slots_.push_back(nodes.size() + memories_);
      memories_ += sources_.back().constant ? 0 : 1;
    }
    for (const LazyOp& n : nodes) bundles_.push_back(bundle_of(step_, n.dtype(), is_of_saved(n)));
  }

  const std::vector<ScheduleItem>& schedule_step() {
    make_closed();
    find_roots();
    return items_ = schedule(roots_, fusion_options(device_));
  }
  CompiledLoop run() {
    schedule_step();
    note_shared();
    place_results();
    place_blocks();
    for (const ScheduleItem& item : items_)
      if (!item.is_shared()) launches_.push_back(launch(item));
    plan_.count = plain(step_.count, values_);
    plan_.is_reversed = step_.is_reversed;
    if (step_.has_last_source()) plan_.last_source = place_of_source(step_.inputs.size());
    place_condition();
    place_checks();
    return finish();
  }

 private:
  static bool is_of_saved(const LazyOp& n) { return std::get<StepArg>(n.arg()).of_saved; }
  std::size_t temporary_slot() const { return nodes_.size() + memories_; }

  /// The step on leaves of its own in place of its inputs.
  void make_closed() {
    for (const LazyOp& input : step_.inputs) leaves_.push_back(LazyOp::empty(input.dtype(), input.shape()));
    std::unordered_map<const LazyNode*, std::size_t> formal;
    for (std::size_t k = 0; k < step_.inputs.size(); ++k) formal.emplace(step_.inputs[k].node(), k);
    detail::Rebuild build(
        [this](const LazyOp& n, const std::vector<LazyOp>& sources) {
          if (sources.empty()) return n;
          if (is_annotation(n.op())) return checked(n, sources[0]);
          const UserCodeScope anew;
          const OriginScope as_before(n.origin());
          return n.with_sources(sources);
        },
        [&](const LazyOp& n) {
          const auto it = formal.find(n.node());
          return it == formal.end() ? std::optional<LazyOp>() : std::optional(leaves_[it->second]);
        });
    for (const LazyOp& r : step_.results) results_.push_back(build(r));
    if (step_.condition) condition_ = build(*step_.condition);
    for (std::size_t k = 0; k < leaves_.size(); ++k) leaf_.emplace(leaves_[k].node(), k);
  }

  /// An annotation of `integers` or other values: under the flag CHECK_INDEX, each step checks their range.
  LazyOp checked(const LazyOp& n, const LazyOp& integers) {
    const auto* const range = std::get_if<IndexRange>(&n.arg());
    if (range != nullptr && flags::CHECK_INDEX.get() && !integers.node()->is_closed)
      plan_.checks.push_back({integers, 0, *range, n.origin()});
    return integers;
  }

  /// The node of `bundles_` that has result `k`; nothing where nobody wants the result.
  std::optional<std::size_t> bundle_with(std::size_t k) const {
    for (std::size_t b = 0; b < nodes_.size(); ++b)
      if (nodes_[b].dtype() == step_.results[k].dtype() && is_of_saved(nodes_[b]) == (k >= step_.wanted)) return b;
    return std::nullopt;
  }
  void find_roots() {
    std::unordered_set<const LazyNode*> seen;
    const auto add = [&](const LazyOp& n) {
      if (!leaf_.contains(n.node()) && !is_realized(*n.node()) && seen.insert(n.node()).second) roots_.push_back(n);
    };
    for (std::size_t k = 0; k < results_.size(); ++k)
      if (step_.is_state(k) || bundle_with(k)) add(results_[k]);
    if (condition_) add(*condition_);
    for (const StepCheck& c : plan_.checks) add(c.of);
  }
  void note_shared() {
    for (const ScheduleItem& item : items_)
      if (item.is_shared()) shared_.emplace(item.outputs[0].node(), item.inputs[0].node());
  }
  /// The node whose memory `n` has.
  const LazyNode* memory_of(const LazyNode* n) const {
    for (auto it = shared_.find(n); it != shared_.end(); it = shared_.find(n)) n = it->second;
    return n;
  }

  // --- places ---

  LoopPlace place_of(std::size_t bundle, const BundlePart& part) {
    const Int size(static_cast<std::int64_t>(nodes_[bundle].dtype().itemsize()));
    return {bundle, plain(part.offset * size, values_), plain(part.stride * size, values_)};
  }
  std::optional<LoopPlace> place_of_result(std::size_t k) {
    const auto bundle = bundle_with(k);
    if (!bundle) return std::nullopt;
    for (const BundlePart& p : bundles_[*bundle].parts)
      if (p.result == k) return place_of(*bundle, p);
    return std::nullopt;
  }
  LoopPlace place_of_source(std::size_t k) {
    const LoopSource& source = sources_[k];
    const Int size(static_cast<std::int64_t>(source.memory.dtype().itemsize()));
    if (source.constant) {
      const Int count = k < leaves_.size() ? plain(product(leaves_[k].shape()), values_) : Int(1);
      plan_.fills.push_back({temporary(count.vmax() * size.value()), count, *source.constant});
      return plan_.fills.back().place;
    }
    return {slots_[k], plain(source.offset * size, values_), plain(source.stride * size, values_)};
  }
  LoopPlace temporary(std::int64_t bytes) {
    const LoopPlace out{temporary_slot(), arena_, 0};
    arena_ += (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
    return out;
  }
  std::size_t new_cell(const LoopPlace& place) {
    plan_.places.push_back(place);
    return plan_.places.size() - 1;
  }

  /// Cells of inputs and results. The cells of states come behind all places, so their numbers are set at the end:
  /// until then state k has the cells kState + 2 * k and kState + 2 * k + 1.
  static constexpr std::size_t kState = std::size_t{1} << 32;
  void place_results() {
    for (std::size_t k = 0; k < leaves_.size(); ++k) {
      if (k < step_.states) {
        cell_.emplace(leaves_[k].node(), kState + 2 * k);
        continue;
      }
      cell_.emplace(leaves_[k].node(), new_cell(place_of_source(k)));
    }
    for (std::size_t k = step_.states; k < results_.size(); ++k) {
      const std::optional<LoopPlace> place = place_of_result(k);
      if (!place) continue;
      const std::size_t cell = new_cell(*place);
      const LazyNode* const memory = memory_of(results_[k].node());
      if (is_realized(*memory)) cell_of(results_[k]);
      if (const auto known = cell_.find(memory); known != cell_.end())
        plan_.copies.push_back({known->second, cell, plain(bytes_of(results_[k]), values_)});
      else
        cell_.emplace(memory, cell);
    }
    for (std::size_t k = 0; k < step_.states; ++k) place_state(k);
    // What is read behind the kernels of a step: no later kernel may have the memory.
    if (condition_) keep_memory(*condition_);
    for (const StepCheck& c : plan_.checks) keep_memory(c.of);
  }
  void keep_memory(const LazyOp& n) {
    const LazyNode* const memory = memory_of(n.node());
    if (!cell_.contains(memory) && !is_realized(*memory)) cell_.emplace(memory, new_cell(temporary(nbytes_of(n))));
  }
  void place_state(std::size_t k) {
    LoopState& s = plan_.states.emplace_back();
    s.read = s.write = kState + 2 * k;
    s.initial = place_of_source(k);
    s.bytes = plain(bytes_of(leaves_[k]), values_);
    s.last = place_of_result(k);
    const LazyNode* const memory = memory_of(results_[k].node());
    if (memory == leaves_[k].node()) return;  // no step changes the state
    if (is_realized(*memory)) cell_of(results_[k]);
    const auto known = cell_.find(memory);
    const bool is_row = known != cell_.end() && known->second < kState && is_output_row(known->second);
    if (is_row) {
      s.write = known->second;
      return;
    }
    s.write = kState + 2 * k + 1;
    const std::int64_t bytes = s.bytes.vmax();
    s.buffers = {s.last ? *s.last : temporary(bytes), temporary(bytes)};
    if (known != cell_.end())
      plan_.copies.push_back({known->second, s.write, s.bytes});
    else
      cell_.emplace(memory, s.write);
  }
  bool is_output_row(std::size_t cell) const { return plan_.places[cell].slot < nodes_.size(); }

  /// Memory of the results between the kernels of a step.
  void place_blocks() {
    std::unordered_set<const LazyNode*> kept;
    for (const auto& [node, cell] : cell_) kept.insert(node);
    const auto is_kept = [&](const LazyOp& n) { return kept.contains(n.node()); };
    const MemoryPlan blocks = plan_memory(items_, is_kept);
    std::vector<std::size_t> cells;
    for (const std::int64_t bytes : blocks.blocks) cells.push_back(new_cell(temporary(bytes)));
    for (const auto& [node, block] : blocks.at) cell_.emplace(node, cells[block]);
    for (const ScheduleItem& item : items_)  // e.g. parts of a loop's results that nobody reads
      for (const LazyOp& output : item.outputs)
        if (const LazyNode* const n = memory_of(output.node()); !cell_.contains(n))
          cell_.emplace(n, new_cell(temporary(nbytes_of(output))));
  }
  /// NOTE: a constant may have memory, which the whole program shares.
  std::size_t cell_of(const LazyOp& n) {
    const LazyNode* const memory = memory_of(n.node());
    const auto known = cell_.find(memory);
    if (known != cell_.end()) return known->second;
    STRATA_ASSERT(n.node() == memory && is_realized(*memory), "[scan] ", spec_name(n.op()), " has no memory in a step");
    plan_.shared.push_back(buffer_of(n));
    const std::size_t cell = new_cell({temporary_slot() + plan_.shared.size(), 0, 0});
    cell_.emplace(memory, cell);
    return cell;
  }

  void place_checks() {
    for (StepCheck& c : plan_.checks) c.cell = cell_of(c.of);
    if (!flags::NAN_CHECK.get()) return;
    for (std::size_t k = 0, l = 0; k < items_.size(); ++k) {
      if (items_[k].is_shared()) continue;
      for (const LazyOp& output : items_[k].outputs)
        if (output.dtype().is_float() && !items_[k].is_loop())
          launches_[l].numbers.push_back({output, cell_of(output), {}, output.origin()});
      ++l;
    }
  }
  void place_condition() {
    if (!step_.condition) return;
    plan_.goes_on = cell_of(*condition_);
    for (std::size_t b = 0; b < nodes_.size(); ++b)
      if (nodes_[b].dtype() == dtypes::int64 && !is_of_saved(nodes_[b])) plan_.executed = LoopPlace{b, 0, 0};
  }

  // --- kernels ---

  /// Whether the elements of an input are the same in all steps.
  bool is_fixed(const LazyOp& n) const {
    const auto it = leaf_.find(memory_of(n.node()));
    return it != leaf_.end() && it->second >= step_.states + step_.sequences;
  }
  StepLaunch launch(const ScheduleItem& item) {
    StepLaunch out;
    std::vector<bool> fixed;  // by slot
    for (const LazyOp& n : item.outputs) out.cells.push_back(cell_of(n)), fixed.push_back(false);
    for (const LazyOp& n : item.inputs) out.cells.push_back(cell_of(n)), fixed.push_back(is_fixed(n));
    if (item.is_loop()) {
      CompiledLoop inner = compile_loop(item.outputs, device_);
      note(inner.values, values_);
      out.kernel = std::move(inner.kernel);
    } else {
      std::vector<int> kept;
      if (reductions_of(item.ast) >= ReductionKind::plain)
        for (std::size_t slot = 0; slot < fixed.size(); ++slot)
          if (fixed[slot]) kept.push_back(static_cast<int>(slot));
      note(item.values, values_);
      out.kernel = KernelCache::instance().get(item.ast, device_, std::move(kept));
    }
    const Kernel& kernel = out.kernel->kernel();
    for (const int slot : kernel.temporaries) {
      const BufferUse& use = kernel.buffers[static_cast<std::size_t>(slot)];
      out.cells.push_back(new_cell(temporary(use.size.vmax() * static_cast<std::int64_t>(use.dtype.itemsize()))));
    }
    fixed.resize(kernel.buffers.size());
    find_kept(kernel, fixed, out.keeps);
    for (const Variable& v : kernel.variables) out.values.push_back(variable_of(v));
    return out;
  }
  /// Which of the kernels that run first need to run in the first step alone.
  static void find_kept(const Kernel& kernel, std::vector<bool>& fixed, std::vector<char>& keeps) {
    for (const auto& first : kernel.before) {
      bool is_kept = true;
      for (std::size_t slot = 0; slot < first->buffers.size(); ++slot)
        if (first->buffers[slot].read && !fixed[slot]) is_kept = false;
      for (const Variable& v : first->variables) is_kept = is_kept && is_range_bound(v.name());
      for (std::size_t slot = 0; slot < first->buffers.size(); ++slot)
        if (is_kept && first->buffers[slot].written) fixed[slot] = true;
      keeps.push_back(is_kept ? 1 : 0);
    }
  }
  int variable_of(const Variable& v) {
    if (is_range_bound(v.name())) return -1;
    const auto it =
        std::find_if(plan_.variables.begin(), plan_.variables.end(), [&](const Variable& m) { return same(m, v); });
    if (it != plan_.variables.end()) return static_cast<int>(it - plan_.variables.begin());
    plan_.variables.push_back(v);
    return static_cast<int>(plan_.variables.size()) - 1;
  }

  // --- the result ---

  CompiledLoop finish() {
    for (const auto& [variable, value] : values_) variable_of(variable);
    const auto renumber = [&](std::size_t& cell) {
      if (cell >= kState) cell = plan_.places.size() + (cell - kState);
    };
    plan_.cells = plan_.places.size() + 2 * step_.states;
    for (LoopState& s : plan_.states) renumber(s.read), renumber(s.write);
    for (StepLaunch& l : launches_)
      for (std::size_t& cell : l.cells) renumber(cell);
    for (StepCopy& c : plan_.copies) renumber(c.from), renumber(c.to);
    if (plan_.goes_on) renumber(*plan_.goes_on);
    for (StepCheck& c : plan_.checks) renumber(c.cell);
    for (StepLaunch& l : launches_)
      for (StepCheck& c : l.numbers) renumber(c.cell);
    plan_.launches = std::move(launches_);
    Kernel kernel{
        detail::message("scan_", step_.count.render()), closed_loop(), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    for (const LazyOp& n : nodes_) kernel.buffers.push_back({n.dtype(), plain(n.shape()[0], values_), false, true});
    for (const LoopSource& source : sources_)
      if (!source.constant)
        kernel.buffers.push_back({source.memory.dtype(), plain(product(source.memory.shape()), values_), true, false});
    kernel.buffers.push_back({dtypes::uint8, arena_, true, true});
    kernel.temporaries.push_back(static_cast<int>(temporary_slot()));
    kernel.variables = plan_.variables;
    auto program = std::make_shared<LoopProgram>(kernel.name, std::move(plan_));
    auto shared = std::make_shared<const Kernel>(std::move(kernel));
    return {std::make_shared<const CompiledKernel>(shared, std::move(program), std::vector<CompiledKernel>(), &device_),
            std::move(values_)};
  }
  /// The loop on loads of slots, which holds none of the memory that the sources have.
  LazyOp closed_loop() const {
    auto closed = std::make_shared<StepGraph>(step_);
    closed->inputs = leaves_;
    closed->results = results_;
    closed->condition = condition_;
    closed->gradient = nullptr;
    closed->saved.clear();
    std::vector<LazyOp> loads;
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      const LazyOp& source = nodes_[0].src(k);
      loads.push_back(sources_[k].constant ? source
                                           : LazyOp::load(static_cast<int>(slots_[k]), source.dtype(),
                                                          ShapeTracker::from_shape(source.shape())));
    }
    return LazyOp::loop(std::move(closed), loads, nodes_[0].dtype(), is_of_saved(nodes_[0]));
  }

  std::span<const LazyOp> nodes_;
  const StepGraph& step_;
  const Device& device_;
  std::vector<LoopSource> sources_;
  std::vector<std::size_t> slots_;  // by source, of those that are no constants
  std::size_t memories_ = 0;        // how many these are
  std::vector<Bundle> bundles_;     // by node
  std::vector<LazyOp> leaves_, results_, roots_;
  std::optional<LazyOp> condition_;
  std::unordered_map<const LazyNode*, std::size_t> leaf_;  // the input that a leaf stands for
  std::vector<ScheduleItem> items_;
  std::unordered_map<const LazyNode*, const LazyNode*> shared_;
  std::unordered_map<const LazyNode*, std::size_t> cell_;
  std::vector<StepLaunch> launches_;
  LoopPlan plan_;
  std::int64_t arena_ = kPartAlignment;
  Values values_;
};

}  // namespace

std::string explain_step(std::span<const LazyOp> nodes, const Device& device) {
  std::string out;
  LoopCompiler compiler(nodes, device);
  for (const ScheduleItem& item : compiler.schedule_step()) {
    if (!item.is_shared()) out += detail::message("  in each step ", item.text(), "\n");
    if (item.is_loop()) out += explain_step(item.outputs, device);
  }
  return out;
}

CompiledLoop compile_loop(std::span<const LazyOp> nodes, const Device& device) {
  return LoopCompiler(nodes, device).run();
}

}  // namespace strata
