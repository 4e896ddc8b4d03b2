#include "strata/engine/realize.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "strata/base/flags.h"
#include "strata/base/interrupt.h"
#include "strata/base/meter.h"
#include "strata/base/trace.h"
#include "strata/base/walk.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/joined_memory.h"
#include "strata/engine/kept_nodes.h"
#include "strata/engine/kernel_cache.h"
#include "strata/engine/kernel_form.h"
#include "strata/engine/loop_program.h"
#include "strata/engine/placed.h"
#include "strata/engine/schedule_cache.h"
#include "strata/engine/trace_graph.h"
#include "strata/expr/exact.h"
#include "strata/graph/step_graph.h"
#include "strata/runtime/trace_file.h"
#include "strata/schedule/contraction.h"
#include "strata/schedule/memory_plan.h"
#include "strata/view/strided.h"

namespace strata {

namespace {

thread_local RunListener* listener = nullptr;
constexpr std::int64_t kLargePlan = std::int64_t{16} << 20;  // bytes, whose use takes longer than compiling a kernel

/// The number of elements, with symbolic sizes at their maximum.
std::int64_t size_of(const LazyOp& n) { return product(n.shape()).vmax(); }

/// A buffer of one element.
Buffer buffer_of(const Scalar& value) {
  Buffer out = Buffer::allocate(1, value.dtype());
  const std::uint64_t bits = value.bits();
  std::memcpy(out.data(), &bits, value.dtype().itemsize());
  return out;
}

/// Whether somebody watches or limits the compilations of this thread.
bool is_watched() {
  return flags::DEBUG.get() >= 1 || TraceFile::current() != nullptr || RewriteTrace::current() != nullptr ||
         Meter::is_set();
}

/// Whether all elements that the kernel stores are none.
bool is_empty(const ScheduleItem& item) {
  return item.is_kernel() && std::all_of(item.ast.src().begin(), item.ast.src().end(),
                                         [](const LazyOp& store) { return product(store.shape()) == Int(0); });
}

/// Throws the error that is being handled, with the place of the operation whose item failed.
[[noreturn]] void throw_at(const Error& e, const ScheduleItem& item) {
  const std::string origin = item.outputs[0].origin().text();
  if (origin.empty()) throw;
  throw Error(e.kind(), detail::message(e.what(), " (", origin, ")"), e.column());
}

class Realizing {
 public:
  /// @param items the schedule of `roots`, where it is known
  /// @pre a RealizedAsOf lives since `items` were made
  Realizing(std::span<const LazyOp> roots, const Device& device, std::vector<ScheduleItem> items = {})
      : kept_(roots, items), traced_(roots), device_(device), items_(std::move(items)) {
    if (items_.empty()) items_ = ScheduleCache::instance().get(roots, fusion_options(device));
    kept_.find(items_);
    for (const ScheduleItem& item : items_) kept_slots_.push_back(kept_slots(item));
    plan_ = plan_memory(items_, [&](const LazyOp& n) { return kept_.contains(n); });
    for (const std::int64_t bytes : plan_.blocks) blocks_.push_back(Buffer::allocate(bytes, dtypes::uint8));
    traced_.scheduled(roots, items_, plan_, blocks_, device_);
  }

  void run(std::span<const LazyOp> roots) {
    for (const LazyOp& r : roots)
      if (r.op() == Ops::EMPTY) memory_of(r);
    compile_all();
    for (std::size_t k = 0; k < items_.size(); ++k) {
      const ScheduleItem& item = items_[k];
      traced_.at_item(k);
      try {
        item.is_shared() ? share(item) : run_kernel(k);
      } catch (const Error& e) {
        throw_at(e, item);
      }
      for (const LazyOp& output : item.outputs)
        if (kept_.contains(output) && is_last(output, k))
          output.realize_as(std::make_shared<BufferStorage>(memory_of(output)));
    }
    traced_.done();
  }

 private:
  /// Compiles the kernels before the first one runs, so that what compiling needs is not beside their memory.
  void compile_all() {
    const std::uint64_t many = plan_.peak >= kLargePlan ? 1 : 4;
    const std::uint64_t before = KernelCache::instance().statistics().misses;
    choose();
    kernels_.resize(items_.size());
    compile_side_by_side();
    for (std::size_t k = 0; k < items_.size(); ++k) {
      if (kernels_[k] != nullptr || !(needs_kernel(k) || items_[k].is_loop())) continue;
      kernels_[k] = compiled(k);
      if (kernels_[k] == nullptr) break;
      check_interrupt();
    }
    if (KernelCache::instance().statistics().misses - before >= many) device_.finish_compiling();
  }

  /// The kernel that computes an item: its own where that is compiled, or is the only one of its form so far; else the
  /// kernel of all of the form, which gets their numbers and offsets.
  struct Chosen {
    KernelForm of;
    bool is_form = false;
  };
  void choose() {
    std::map<std::pair<const LazyNode*, std::vector<int>>, std::set<const LazyNode*>> kernels_of;  // by form, kept
    std::vector<std::optional<KernelForm>> forms;
    for (std::size_t k = 0; k < items_.size(); ++k)
      if (forms.push_back(form(k)); forms[k])
        kernels_of[{forms[k]->kernel.node(), kept_slots_[k]}].insert(items_[k].ast.node());
    for (std::size_t k = 0; k < items_.size(); ++k) {
      const bool is_known =
          forms[k] && KernelCache::instance().is_known_form(forms[k]->kernel, device_, kept_slots_[k]);
      const bool is_form = is_known || (forms[k] && kernels_of[{forms[k]->kernel.node(), kept_slots_[k]}].size() > 1);
      chosen_.push_back(is_form ? Chosen{*std::move(forms[k]), true} : own(k));
    }
  }
  Chosen own(std::size_t k) const { return {{items_[k].ast, {}}}; }
  /// The form of item `k`; nothing where its own kernel is compiled.
  std::optional<KernelForm> form(std::size_t k) const {
    const ScheduleItem& item = items_[k];
    if (!needs_kernel(k) || KernelCache::instance().has(item.ast, device_, kept_slots_[k]) || is_watched())
      return std::nullopt;
    try {
      return form_of(item.ast, item.values, contraction_of(device_));
    } catch (const Error&) {
      return std::nullopt;  // the error is thrown when it is the kernel's turn
    }
  }

  /// Compiles kernels that are not known yet on the threads of the executor, each once. Where this thread is watched,
  /// nothing: the caller compiles one by one.
  void compile_side_by_side() {
    if (items_.size() < 2 || default_executor().concurrency() == 1 || is_watched() || !device_.compiles_on_threads())
      return;
    std::vector<std::size_t> unknown;
    std::set<std::pair<const LazyNode*, std::vector<int>>> seen;
    for (std::size_t k = 0; k < items_.size(); ++k)
      if (needs_kernel(k) &&
          !KernelCache::instance().has(chosen_[k].of.kernel, device_, kept_slots_[k], chosen_[k].is_form) &&
          seen.emplace(chosen_[k].of.kernel.node(), kept_slots_[k]).second)
        unknown.push_back(k);
    if (unknown.size() < 2) return;
    const std::uint64_t budget = exact_budget();
    default_executor().parallel_for(0, static_cast<std::int64_t>(unknown.size()), 1,
                                    [&](std::int64_t begin, std::int64_t end) {
                                      const ExactBudget as_of_the_caller(budget);
                                      for (std::int64_t j = begin; j < end; ++j) {
                                        const std::size_t k = unknown[static_cast<std::size_t>(j)];
                                        kernels_[k] = compiled(k);
                                        check_interrupt();
                                      }
                                    });
  }
  bool needs_kernel(std::size_t k) const { return items_[k].is_kernel() && !is_empty(items_[k]); }

  /// The kernel of item `k`; null where it cannot be compiled: the error is thrown when it is the kernel's turn, after
  /// those before it have run.
  std::shared_ptr<const CompiledKernel> compiled(std::size_t k) {
    try {
      return compile_item(k);
    } catch (const Error&) {
      return nullptr;
    }
  }
  std::shared_ptr<const CompiledKernel> compile_item(std::size_t k) {
    if (items_[k].is_loop()) {
      const RealizedAsOf scheduled(as_of_);
      CompiledLoop loop = compile_loop(items_[k].outputs, device_);
      loops_.insert_or_assign(k, std::move(loop.values));
      return loop.kernel;
    }
    KernelCache& cache = KernelCache::instance();
    if (chosen_[k].is_form)
      if (auto made = cache.get_form(chosen_[k].of.kernel, items_[k].ast, device_, kept_slots_[k])) return made;
    chosen_[k] = own(k);
    return cache.get(items_[k].ast, device_, kept_slots_[k]);
  }

  /// The slots of the buffers whose packed elements the listener keeps, for a kernel with a long reduction. They are
  /// realized before the run.
  static std::vector<int> kept_slots(const ScheduleItem& item) {
    std::vector<int> out;
    if (listener == nullptr || !item.is_kernel() || reductions_of(item.ast) < ReductionKind::plain) return out;
    for (std::size_t k = 0; k < item.inputs.size(); ++k) {
      if (!is_realized(*item.inputs[k].node())) continue;
      const Buffer memory = buffer_of(item.inputs[k]);
      if (!memory.memory().is_written_outside() && listener->keeps(memory))
        out.push_back(static_cast<int>(item.outputs.size() + k));
    }
    return out;
  }

  /// Whether item `k` is the last one that computes a part of `output`. The parts of a CONCAT are computed by several
  /// items.
  bool is_last(const LazyOp& output, std::size_t k) const {
    if (output.op() != Ops::CONCAT) return true;
    for (std::size_t j = k + 1; j < items_.size(); ++j)
      for (const LazyOp& o : items_[j].outputs)
        if (o == output) return false;
    return true;
  }

  /// The memory of a node: the buffer of a realized node, the node's block in the memory plan, or a new buffer. What is
  /// written gets memory of its own, even if another thread has realized the node meanwhile.
  Buffer memory_of(const LazyOp& n, bool is_written = false) {
    if (const auto it = memory_.find(n.node()); it != memory_.end()) return it->second;
    const auto made = [&]() -> Buffer {
      if (is_realized(*n.node()) && (!is_written || n.op() == Ops::EMPTY)) return buffer_of(n);
      STRATA_CHECK(
          !is_placeholder(*n.node()), domain, "[scan] an element of shape ", render(n.shape()),
          " is read while a function is traced: the step of a loop, a function that vmap() or checkpoint() takes, "
          "or a function for to_onnx(); its value is known only when the loop runs, or the function");
      if (n.op() == Ops::EMPTY) {
        n.realize_as(std::make_shared<BufferStorage>(Buffer::allocate(size_of(n), n.dtype())));
        return buffer_of(n);
      }
      if (const auto it = plan_.at.find(n.node()); it != plan_.at.end()) {
        const Buffer& block = blocks_[it->second];
        return Buffer::from_pointer(block.data(), size_of(n), n.dtype(), [block](void*) {});
      }
      return Buffer::allocate(size_of(n), n.dtype());
    }();
    return memory_.emplace(n.node(), made).first->second;
  }

  /// Runs an item that is not a kernel: the output shares the memory of the input. For a FROM (values for another
  /// device) this is possible because all devices work on the memory of the host; for a LOAD the output is the
  /// unchanged memory of the input.
  void share(const ScheduleItem& item) { memory_.insert_or_assign(item.outputs[0].node(), memory_of(item.inputs[0])); }

  void run_kernel(std::size_t k) {
    const ScheduleItem& item = items_[k];
    RanKernel ran;
    for (const LazyOp& n : item.outputs) ran.buffers.push_back(memory_of(n, true));
    ran.outputs = ran.buffers.size();
    LazyOp made = item.outputs[0];  // a result's own memory is not the user's operation: what is stored there is
    while (!made.origin().is_known() && !made.src().empty()) made = LazyOp(made.src(0));
    ran.origin = made.origin();
    for (const LazyOp& n : item.inputs) ran.buffers.push_back(memory_of(n));
    for (const auto& [variable, value] : item.values) ran.values.emplace_back(variable.name(), value);
    if (is_empty(item)) return;
    ran.kernel = kernels_[k] ? kernels_[k] : compile_item(k);
    if (item.is_loop())
      for (const auto& [variable, value] : loops_.at(k)) ran.values.emplace_back(variable.name(), value);
    for (const auto& [name, value] : chosen_[k].of.offsets) {
      ran.values.emplace_back(name, value);
      ran.own.push_back(name);
    }
    for (const Scalar& number : chosen_[k].of.numbers) ran.buffers.push_back(buffer_of(number));
    const auto begin = std::chrono::steady_clock::now();
    ran.kernel->run(ran.buffers, ran.values);
    ran.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (flags::NAN_CHECK.get()) check_numbers(item, ran.buffers);
    if (listener != nullptr) listener->ran(std::move(ran));
    check_interrupt();
  }

  /// NOTE: a loop's memory has gaps, and rows that no step has written.
  static void check_numbers(const ScheduleItem& item, std::span<const Buffer> buffers) {
    for (std::size_t k = 0; k < item.outputs.size(); ++k) {
      if (!item.outputs[k].dtype().is_float() || item.is_loop()) continue;
      for (std::int64_t i = 0; i < buffers[k].size(); ++i)
        STRATA_CHECK(!buffers[k][i].is_nan(), domain, "[NAN_CHECK] ", spec_name(item.outputs[k].op()), " of shape ",
                     render(item.outputs[k].shape()), " made a NaN at element ", i);
    }
  }

  std::uint64_t as_of_ = RealizedAsOf::count();
  KeptNodes kept_;
  TracedRealize traced_;
  const Device& device_;
  std::vector<ScheduleItem> items_;
  std::vector<std::vector<int>> kept_slots_;                    // by item
  std::vector<Chosen> chosen_;                                  // by item
  std::vector<std::shared_ptr<const CompiledKernel>> kernels_;  // by item; null: not compiled yet
  std::unordered_map<std::size_t, Values> loops_;               // by item that is a loop: the values of its step
  MemoryPlan plan_;
  std::vector<Buffer> blocks_;
  std::unordered_map<const LazyNode*, Buffer> memory_;
};

/// Realizes `root`, whose schedule is one kernel, where the kernel is compiled and its inputs are there. False: nothing
/// has happened. What Realizing does besides is for several items.
bool ran_at_once(const LazyOp& root, std::span<const ScheduleItem> items, const Device& device) {
  if (items.size() != 1 || !items[0].is_kernel() || items[0].outputs.size() != 1) return false;
  const ScheduleItem& item = items[0];
  if (item.outputs[0] != root || item.part || is_empty(item)) return false;
  std::vector<Buffer> buffers;
  buffers.reserve(1 + item.inputs.size());
  for (const LazyOp& n : item.inputs)
    if (!is_realized(*n.node())) return false;
  const auto kernel = KernelCache::instance().known(item.ast, device);
  if (kernel == nullptr) return false;
  buffers.push_back(Buffer::allocate(size_of(root), root.dtype()));
  for (const LazyOp& n : item.inputs) buffers.push_back(buffer_of(n));
  std::vector<std::pair<std::string, std::int64_t>> values;
  for (const auto& [variable, value] : item.values) values.emplace_back(variable.name(), value);
  try {
    kernel->run(buffers, values);
    check_interrupt();
  } catch (const Error& e) {
    throw_at(e, item);
  }
  root.realize_as(std::make_shared<BufferStorage>(std::move(buffers[0])));
  return true;
}

void realize_all(std::span<const LazyOp> roots, const Device& device) {
  std::optional<Realizing> realizing;
  {
    const RealizedAsOf now;
    realizing.emplace(roots, device);
  }
  realizing->run(roots);
}

/// The nodes of in_range() below the roots, sources before users. Realized nodes are not visited.
std::vector<LazyOp> ranged_below(std::span<const LazyOp> roots) {
  std::vector<LazyOp> out;
  std::unordered_set<const LazyNode*> seen;
  for (const LazyOp& root : roots)
    detail::walk(
        &root, [&](const LazyOp* n) { return !is_realized(*n->node()) && seen.insert(n->node()).second; },
        needed_source,
        [&](const LazyOp* n) {
          if (std::holds_alternative<IndexRange>(n->arg())) out.push_back(*n);
        });
  return out;
}

/// Realizes the integers of each in_range(), inner ones first, and checks them. @throws Error (shape) for an integer
/// outside its range
void check_ranges(std::span<const LazyOp> roots, const Device& device) {
  for (const LazyOp& n : ranged_below(roots)) {
    // NOTE: a node that is made of constants alone is shared by the whole program and must not be realized;
    // contiguous() gives another node.
    const LazyOp integers = n.src(0).node()->is_closed ? n.src(0).contiguous() : n.src(0);
    if (!is_realized(*integers.node())) {
      const ComputingPlacement* const placement = placement_of({&integers, 1});
      placement != nullptr ? placement->realize({&integers, 1}, device) : realize_all({&integers, 1}, device);
    }
    Index shape;
    for (const Int& size : integers.shape()) shape.push_back(size.is_number() ? size.value() : evaluate(size.expr()));
    const Buffer memory = buffer_of(integers).toCPU();
    const auto words = words_on_outside(std::get<IndexRange>(n.arg()),
                                        {memory.data(), integers.dtype(), shape, contiguous_box(shape).stride});
    if (!words) continue;
    const std::string origin = n.origin().text();
    throw Error(ErrorKind::shape, origin.empty() ? *words : detail::message(*words, " (", origin, ")"));
  }
}

}  // namespace

bool RanKernel::had(const Values& known) const {
  return std::all_of(values.begin(), values.end(), [&](const auto& of) {
    const bool is_own = std::find(own.begin(), own.end(), of.first) != own.end();
    return is_own || std::none_of(known.begin(), known.end(),
                                  [&](const auto& k) { return k.first.name() == of.first && k.second != of.second; });
  });
}

RunListener::RunListener() : outer_(listener) { listener = this; }
RunListener::~RunListener() { listener = outer_; }
RunListener* RunListener::current() { return listener; }
bool RunListener::keeps(const Buffer&) const { return false; }
void RunListener::stepped(RanStep) {}
void RunListener::perform(RanStep step) {
  std::vector<void*> memory;
  for (const Buffer& b : step.buffers) memory.push_back(b.data());
  step.run(memory);
  if (listener != nullptr) listener->stepped(std::move(step));
}

Buffer buffer_of(const LazyOp& n) {
  const std::shared_ptr<Storage> storage = n.realized();
  STRATA_CHECK(storage != nullptr, undefined, "[buffer_of] ", spec_name(n.op()), " of shape ", render(n.shape()),
               " is not realized");
  if (const auto* of_buffer = dynamic_cast<const BufferStorage*>(storage.get())) return of_buffer->buffer();
  if (const auto* placed = dynamic_cast<const PlacedStorage*>(storage.get())) return placed->whole();
  // NOTE: the const_cast is safe: memory that the graph holds itself is read-only, and from_pointer() gets read_only =
  // true.
  void* const elements = const_cast<void*>(storage->host());
  return Buffer::from_pointer(elements, size_of(n), n.dtype(), [storage](void*) {}, true, true);
}

LazyOp leaf_of(const Buffer& buffer, const Ints& shape) {
  const LazyOp leaf = LazyOp::empty(buffer.dtype(), shape);
  STRATA_CHECK(buffer.size() >= size_of(leaf), shape, "[leaf_of] a buffer of ", buffer.size(),
               " elements does not hold shape ", render(shape));
  leaf.realize_as(std::make_shared<BufferStorage>(buffer));
  return leaf;
}

void realize(std::span<const LazyOp> roots, const Device& device) {
  // NOTE: NULL computes no integers that could be checked.
  if (flags::CHECK_INDEX.get() && device.name() != "NULL") check_ranges(roots, device);
  if (const ComputingPlacement* const placement = placement_of(roots)) return placement->realize(roots, device);
  if (roots.size() != 1 || listener != nullptr || is_watched() || flags::NAN_CHECK.get() ||
      is_realized(*roots[0].node()))
    return realize_all(roots, device);
  if (roots[0].op() == Ops::CONCAT && device.name() != "NULL")
    if (std::optional<Buffer> joined = joined_memory(roots[0])) {
      roots[0].realize_as(std::make_shared<BufferStorage>(*std::move(joined)));
      return;
    }
  std::optional<Realizing> realizing;
  {
    const RealizedAsOf now;  // what is scheduled is one graph, though other threads may realize parts of it
    std::vector<ScheduleItem> items = ScheduleCache::instance().get(roots, fusion_options(device));
    if (ran_at_once(roots[0], items, device)) return;
    realizing.emplace(roots, device, std::move(items));
  }
  realizing->run(roots);
}

FusionOptions fusion_options(const Device& device) {
  FusionOptions out;
  const Target target = target_of(device);
  out.dots = target.native.has(Ops::DOT4);
  out.bf16_dots = target.native_of_normals.has(Ops::DOT2) && target.reassociate;
  if (!target.instances)
    out.chains = static_cast<FusionOptions::Chains>(std::clamp<std::int64_t>(flags::BLOCKS.get(), 0, 2));
  out.reassociate = target.reassociate;
  out.fuse = !flags::NOFUSE.get() && !flags::NAN_CHECK.get();
  return out;
}

namespace {

constexpr double kWorthPredicting = 1 << 20;  // operations and bytes

/// ", predicted 1.2 ms" for a kernel with much work: its time on one thread.
std::string predicted_text(const ScheduleItem& item, const Device& device) {
  if (!item.is_kernel()) return {};
  const KernelCost cost = cost_of(item.ast);
  if (cost.operations + cost.bytes < kWorthPredicting) return {};
  const Target target = target_of(device);
  const Kernel kernel = compile_kernel(item.ast, target);
  double seconds = (kernel.of_normals ? *kernel.of_normals : kernel).cycles.seconds(target.machine());
  for (const auto& first : kernel.before) seconds += first->cycles.seconds(target.machine());
  if (seconds == 0) return {};
  const bool is_long = seconds >= 1e-3;
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.3g", seconds * (is_long ? 1e3 : 1e6));
  return detail::message(", predicted ", digits, is_long ? " ms" : " us");
}

}  // namespace

std::string explain(std::span<const LazyOp> roots) { return explain(roots, Device::default_device()); }
std::string explain(std::span<const LazyOp> roots, const Device& device) {
  if (const ComputingPlacement* const placement = placement_of(roots)) return placement->explain(roots, device);
  std::string out;
  for (const ScheduleItem& item : schedule(roots, fusion_options(device))) {
    out += item.text() + predicted_text(item, device) + "\n";
    if (item.is_loop()) out += explain_step(item.outputs, device);
  }
  return out;
}

std::string explain_as_trace(std::span<const LazyOp> roots, const Device& device) {
  KeptNodes kept(roots);
  const std::vector<ScheduleItem> items = schedule(roots, fusion_options(device));
  kept.find(items);
  const auto is_kept = [&](const LazyOp& n) { return kept.contains(n); };
  std::vector<std::shared_ptr<const Kernel>> kernels;
  std::unordered_set<const LazyNode*> seen;  // items with the same AST share a kernel
  for (const ScheduleItem& item : items)
    if (item.is_kernel() && seen.insert(item.ast.node()).second)
      kernels.push_back(std::make_shared<const Kernel>(compile_kernel(item.ast, target_of(device))));
  return trace_of_graph(roots, items, plan_memory(items, is_kept), kernels, device);
}

}  // namespace strata
