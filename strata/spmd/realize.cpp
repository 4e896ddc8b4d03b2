// ShardPlacement::realize(): runs a graph whose tensors are sharded. The schedule is that of one process; each kernel
// is planned (kernel_plan.h), its exchanges are executed, and each rank of this process runs its part.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "strata/base/flags.h"
#include "strata/base/interrupt.h"
#include "strata/base/walk.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/kept_nodes.h"
#include "strata/engine/kernel_cache.h"
#include "strata/engine/realize.h"
#include "strata/engine/schedule_cache.h"
#include "strata/graph/rebuild.h"
#include "strata/graph/with_numbers.h"
#include "strata/spmd/kernel_plan.h"
#include "strata/spmd/plan_cache.h"
#include "strata/spmd/sharded_memory.h"

namespace strata {

namespace {

FusionOptions options_for(const Device& device) {
  FusionOptions out = fusion_options(device);
  out.chains = FusionOptions::Chains::never;  // blocks of rows are not cut
  return out;
}

/// The ranks of all placements below the roots. @throws Error (domain) for two meshes
std::shared_ptr<const Ranks> ranks_of(std::span<const LazyOp> roots) {
  std::shared_ptr<const Ranks> out;
  std::unordered_set<const LazyNode*> seen;
  const auto note = [&](const NodePlacement* placement) {
    const auto& ranks = dynamic_cast<const ShardPlacement&>(*placement).ranks();
    if (!out) out = ranks;
    STRATA_CHECK(out == ranks, domain, "[shard] tensors of two meshes in one computation: ", render(out->mesh()),
                 " and ", render(ranks->mesh()), out->mesh() == ranks->mesh() ? ", of other ranks" : "");
  };
  for (const LazyOp& root : roots)
    detail::walk(
        &root, [&](const LazyOp* n) { return n->placement_below() != nullptr && seen.insert(n->node()).second; },
        [](const LazyOp* n, std::size_t k) { return is_realized(*n->node()) ? nullptr : needed_source(n, k); },
        [&](const LazyOp* n) {
          if (const auto memory = placed_storage(*n)) note(memory->placement().get());
          if (is_realized(*n->node())) return;
          if (const auto* stated = std::get_if<PlacementArg>(&n->arg())) note(stated->placement.get());
          if (const auto* own = std::get_if<IdentityArg>(&n->arg()); own != nullptr && own->placement)
            note(own->placement.get());
        });
  for (const LazyOp& root : roots)  // where what was placed has been computed into memory in one piece
    if (!out && root.placement_below() != nullptr) note(root.placement_below());
  return out;
}

std::optional<std::vector<Split>> stated_splits(const LazyOp& n) {
  const auto* stated = std::get_if<PlacementArg>(&n.arg());
  if (stated == nullptr) return std::nullopt;
  return dynamic_cast<const ShardPlacement&>(*stated->placement).splits();
}

/// The shape; symbolic sizes at their bound values.
Index numbers_of(const LazyOp& n) { return bound_sizes(n.shape()); }

/// Whether the kernel has rows along an axis that cannot be cut.
bool has_rows(const LazyOp& kernel) {
  for (const LazyNode* n : postorder(kernel))
    if (is_scan(n->op) || n->op == Ops::SCATTER || n->op == Ops::ORDER) return true;
  return false;
}

class ShardedRun {
 public:
  ShardedRun(std::span<const LazyOp> roots, const Device& device)
      : roots_(roots),
        device_(device),
        ranks_(ranks_of(roots)),
        items_(ScheduleCache::instance().get(roots, options_for(device))),
        kept_(roots, items_) {
    kept_.find(items_);
    for (std::size_t k = 0; k < items_.size(); ++k)
      for (const LazyOp& n : items_[k].inputs) last_use_[n.node()] = k;
  }

  void run() {
    agree();
    for (std::size_t k = 0; k < items_.size(); ++k) {
      try {
        run_item(k);
      } catch (const Error& e) {
        const std::string origin = items_[k].outputs[0].origin().text();
        if (origin.empty() || e.kind() == ErrorKind::undefined) throw;
        throw Error(e.kind(), detail::message(e.what(), " (", origin, ")"), e.column());
      }
      for (const LazyOp& n : items_[k].inputs)
        if (last_use_.at(n.node()) == k) made_.erase(n.node());
      check_interrupt();
    }
  }

  /// What run() would do, as text; nothing runs.
  std::string explain() {
    is_explained_ = true;
    for (std::size_t k = 0; k < items_.size(); ++k) {
      text_ += items_[k].text();
      run_item(k);
      text_ += "\n";
    }
    return std::move(text_);
  }

 private:
  /// All ranks compute the same graph from the same numbers: structure, and the elements of memory that is in one piece
  /// on each rank.
  void agree() {
    Hasher program;
    std::vector<std::pair<Buffer, std::size_t>> whole;  // what each rank has alike, and the bytes of the elements
    std::unordered_map<const LazyNode*, std::int64_t> numbers;  // of the nodes, in the order in which they come
    const auto number = [&](const LazyOp& n) {
      const auto [at, is_new] = numbers.emplace(n.node(), std::ssize(numbers));
      program.add(std::as_bytes(std::span(&at->second, 1)));
      return is_new;
    };
    for (const ScheduleItem& item : items_) {
      const std::uint64_t kernel = item.is_kernel() ? item.ast.hash() : 0;
      program.add(std::as_bytes(std::span(&kernel, 1)));
      if (!item.is_kernel()) add_text(program, item.text());
      for (const LazyOp& n : item.inputs)
        if (number(n) && is_realized(*n.node())) add_input(program, whole, n);
      for (const LazyOp& n : item.outputs) {
        number(n);
        if (const auto* stated = std::get_if<PlacementArg>(&n.arg())) add_text(program, stated->placement->text());
      }
    }
    const Hash128 of_program = program.finish();
    const std::string origin = roots_[0].origin().text();
    RanStep step{{}, 0, {}, true};
    std::vector<std::size_t> sizes;
    for (const auto& [memory, bytes] : whole) step.buffers.push_back(memory), sizes.push_back(bytes);
    step.run = [ranks = ranks_, of_program, sizes,
                words = detail::message("compute a tensor of shape ", render(roots_[0].shape()),
                                        origin.empty() ? "" : " (" + origin + ")", " by the program ",
                                        of_program.text().substr(0, 8))](std::span<void* const> memory) {
      Hasher elements;
      for (std::size_t k = 0; k < memory.size(); ++k) {
        if (memory[k] == nullptr) continue;
        const Hash128 hash = hash128_of_elements({static_cast<const std::byte*>(memory[k]), sizes[k]});
        elements.add(std::as_bytes(std::span(&hash, 1)));
      }
      const Hash128 of_elements = elements.finish();
      ranks->agree({words + " from the elements " + of_elements.text().substr(0, 8),
                    {},
                    {},
                    Hash128{of_program.high ^ of_elements.low, of_program.low ^ of_elements.high}});
    };
    RunListener::perform(std::move(step));
  }
  static void add_text(Hasher& hash, std::string_view text) { hash.add(std::as_bytes(std::span(text))); }
  static void add_input(Hasher& program, std::vector<std::pair<Buffer, std::size_t>>& whole, const LazyOp& n) {
    if (const auto placed = placed_storage(n)) return add_text(program, placed->placement()->text());
    const Buffer memory = buffer_of(n);
    const std::int64_t elements = product(to_ints(numbers_of(n))).value();
    whole.emplace_back(memory, std::min(memory.nbytes(), static_cast<std::size_t>(elements) * n.dtype().itemsize()));
  }

  void run_item(std::size_t k) {
    const ScheduleItem& item = items_[k];
    if (item.ast.op() == Ops::FROM) return keep(item.outputs[0], shards_of(item.inputs[0]));
    if (item.is_loop()) return run_loop(item);
    if (is_empty(item)) return make_empty(item);
    const bool is_stated = std::any_of(item.outputs.begin(), item.outputs.end(),
                                       [](const LazyOp& n) { return stated_splits(n).has_value(); });
    const bool is_whole =
        std::all_of(item.inputs.begin(), item.inputs.end(), [&](const LazyOp& n) { return shards_of(n).is_whole(); });
    if (is_whole && !is_stated) return run_whole(k);
    run_sharded(k);
  }

  // --- memory ---

  /// The parts of a node's memory. Memory in one piece is that of each rank.
  const Shards& shards_of(const LazyOp& n) {
    if (const auto it = made_.find(n.node()); it != made_.end()) return it->second;
    return made_.emplace(n.node(), memory_of(n)).first->second;
  }
  Shards memory_of(const LazyOp& n) const {
    if (const auto placed = std::dynamic_pointer_cast<const ShardedMemory>(placed_storage(n))) return placed->shards();
    Buffer elements = is_explained_ && !is_realized(*n.node()) ? Buffer::allocate(0, n.dtype()) : input_of(n);
    return everywhere(elements, n);
  }
  static Buffer input_of(const LazyOp& n) {
    if (!is_realized(*n.node())) {
      STRATA_ASSERT(n.op() == Ops::EMPTY, "[shard] ", spec_name(n.op()), " is read and was not made");
      realize(n);
    }
    return buffer_of(n);
  }
  void keep(const LazyOp& n, Shards shards) {
    if (!is_explained_ && kept_.contains(n)) n.realize_as(std::make_shared<ShardedMemory>(shards));
    made_.insert_or_assign(n.node(), std::move(shards));
  }
  /// The elements of `n`, which each rank has.
  Shards everywhere(const Buffer& elements, const LazyOp& n) const {
    return {ranks_, replicated(ranks_->mesh(), numbers_of(n)), {elements, 0}, most_elements(n.shape())};
  }

  // --- results without elements ---

  static bool is_empty(const ScheduleItem& item) {
    return std::all_of(item.outputs.begin(), item.outputs.end(),
                       [](const LazyOp& n) { return product(n.shape()) == Int(0); });
  }
  void make_empty(const ScheduleItem& item) {
    for (const LazyOp& n : item.outputs)
      keep(n, fresh(Sharding::create(ranks_->mesh(), numbers_of(n), stated_splits(n).value_or(std::vector<Split>())),
                    n.dtype(), &n));
  }

  // --- what each rank computes alike ---

  void run_whole(std::size_t k) {
    const ScheduleItem& item = items_[k];
    if (is_explained_) {
      text_ += "\n  on each rank";
      for (const LazyOp& n : item.outputs) keep(n, everywhere(Buffer::allocate(0, n.dtype()), n));
      return;
    }
    if (!item.is_kernel())
      return keep(item.outputs[0], everywhere(shards_of(item.inputs[0]).memory.part(0), item.outputs[0]));
    std::vector<RankBuffer> buffers;
    for (const LazyOp& n : item.outputs) {
      const auto it = item.part ? made_.find(n.node()) : made_.end();
      buffers.push_back(it != made_.end() ? it->second.memory
                                          : RankBuffer{Buffer::allocate(most_elements(n.shape()), n.dtype())});
    }
    for (const LazyOp& n : item.inputs) buffers.push_back(shards_of(n).memory);
    RanKernel ran;
    for (const auto& [variable, value] : item.values) ran.values.emplace_back(variable.name(), value);
    ran.outputs = item.outputs.size();
    if (buffers[0].all.size() > 0) run_kernel(item, item.ast, 0, buffers, std::move(ran));
    for (std::size_t j = 0; j < item.outputs.size(); ++j)
      done(k, item.outputs[j], everywhere(buffers[j].all, item.outputs[j]));
  }
  /// Runs a kernel on the parts of rank k of here(), and tells the listener. @param ran with outputs and values
  void run_kernel(const ScheduleItem& item, const LazyOp& ast, std::size_t rank, const std::vector<RankBuffer>& memory,
                  RanKernel ran) {
    ran.kernel = KernelCache::instance().get(ast, device_);
    ran.origin = item.outputs[0].origin();
    std::vector<Buffer> parts;
    bool is_in_front = true;
    for (const RankBuffer& b : memory) {
      parts.push_back(b.part(rank));
      ran.buffers.push_back(b.all);
      ran.offsets.push_back(b.begin_in_bytes(rank));
      is_in_front = is_in_front && ran.offsets.back() == 0;
    }
    if (is_in_front) ran.offsets.clear();
    const auto begin = std::chrono::steady_clock::now();
    ran.kernel->run(parts, ran.values);
    ran.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (RunListener* const listener = RunListener::current()) listener->ran(std::move(ran));
    check_interrupt();
  }
  /// The parts of a CONCAT are made by several items; its memory is complete after the last one.
  void done(std::size_t k, const LazyOp& n, Shards shards) {
    const auto makes_it = [&](const ScheduleItem& item) {
      return item.part && std::find(item.outputs.begin(), item.outputs.end(), n) != item.outputs.end();
    };
    const bool is_last =
        !items_[k].part || std::none_of(items_.begin() + static_cast<std::ptrdiff_t>(k) + 1, items_.end(), makes_it);
    if (is_last && flags::NAN_CHECK.get() && !is_explained_) check_numbers(n, shards);
    if (is_last) return keep(n, std::move(shards));
    made_.insert_or_assign(n.node(), std::move(shards));
  }

  /// All ranks look at all elements, so that all of them throw. @throws Error (domain) for a NaN
  static void check_numbers(const LazyOp& n, const Shards& shards) {
    if (!n.dtype().is_float()) return;
    const Buffer all = shards.gathered();
    for (std::int64_t i = 0; i < product(to_ints(numbers_of(n))).value(); ++i)
      STRATA_CHECK(!all[i].is_nan(), domain, "[NAN_CHECK] ", spec_name(n.op()), " of shape ", render(n.shape()),
                   " made a NaN at element ", i);
  }

  /// A loop runs on each rank alike: what it reads is gathered.
  void run_loop(const ScheduleItem& item) {
    if (is_explained_) {
      text_ += "\n  on each rank; what it reads is gathered";
      for (const LazyOp& n : item.outputs) keep(n, everywhere(Buffer::allocate(0, n.dtype()), n));
      return;
    }
    detail::Rebuild build([](const LazyOp& n, const std::vector<LazyOp>& sources) { return n.with_sources(sources); },
                          [&](const LazyOp& n) -> std::optional<LazyOp> {
                            if (!made_.contains(n.node()) && !is_realized(*n.node())) return std::nullopt;
                            return leaf_of(shards_of(n).gathered(), n.shape());
                          });
    std::vector<LazyOp> nodes;
    for (const LazyOp& n : item.outputs) nodes.push_back(build(n));
    strata::realize(nodes, device_);
    for (std::size_t j = 0; j < nodes.size(); ++j)
      keep(item.outputs[j], everywhere(buffer_of(nodes[j]), item.outputs[j]));
  }

  // --- what ranks compute in parts ---

  void run_sharded(std::size_t k) {
    const ScheduleItem& item = items_[k];
    LazyOp kernel = item.ast;
    if (!item.is_kernel())  // the memory of an input, seen in another shape
      kernel = LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape(item.ast.shape()), slot_moved(item.ast))});
    kernel = valued(item, kernel);
    if (item.part || are_alike(item)) return run_cut(k, question(item, kernel, item.outputs), item.outputs);
    for (std::size_t j = 0; j < item.outputs.size(); ++j) {  // outputs of several shapes or shardings: one by one
      const LazyOp& store = kernel.src(j);
      const auto& arg = std::get<BufferArg>(store.arg());
      const int others = static_cast<int>(item.outputs.size()) - 1;
      const LazyOp own = LazyOp::sink({LazyOp::store(0, arg.st, slot_moved(store.src(0), -others), arg.size)});
      const std::vector<LazyOp> output = {item.outputs[j]};
      run_cut(k, question(item, own, output), output);
    }
  }
  /// The kernel for the bound values of its variables.
  static LazyOp valued(const ScheduleItem& item, const LazyOp& kernel) {
    if (item.is_kernel()) return with_numbers(kernel, item.values);
    Values values;
    const LazyOp plain = unbind(kernel, values);
    return with_numbers(plain, values);
  }
  /// The value with the slots of its loads moved by `by`.
  static LazyOp slot_moved(const LazyOp& value, int by = 0) {
    if (by == 0 && value.op() != Ops::LOAD) return value;
    detail::Rebuild build([](const LazyOp& n, const std::vector<LazyOp>& sources) { return n.with_sources(sources); },
                          [&](const LazyOp& n) -> std::optional<LazyOp> {
                            if (n.op() != Ops::LOAD) return std::nullopt;
                            const auto& arg = std::get<BufferArg>(n.arg());
                            return LazyOp::load(by == 0 ? 1 : arg.slot + by, n.dtype(), arg.st, arg.size);
                          });
    return build(value);
  }
  static bool are_alike(const ScheduleItem& item) {
    std::optional<std::vector<Split>> stated;
    for (const LazyOp& n : item.outputs) {
      if (!(n.shape() == item.outputs[0].shape())) return false;
      const auto own = stated_splits(n);
      if (own && stated && *own != *stated) return false;
      if (own) stated = own;
    }
    return true;
  }

  KernelQuestion question(const ScheduleItem& item, const LazyOp& kernel, const std::vector<LazyOp>& outputs) {
    KernelQuestion q{ranks_, kernel, {}, {}, {}, {}, flags::DETERMINISTIC.get() != 0};
    std::optional<std::vector<Split>> stated;
    for (const LazyOp& n : outputs)
      if (auto own = stated_splits(n)) stated = std::move(own);
    for (const LazyOp& n : outputs) {
      q.shapes.push_back(numbers_of(n));
      q.stated.push_back(stated);
    }
    for (const LazyOp& n : item.inputs) q.inputs.push_back({shards_of(n).sharding, n.dtype()});
    if (!item.part) return q;
    q.part = part_of_concat(item, kernel);
    if (const auto it = made_.find(outputs[0].node()); it != made_.end())
      q.stated[0] = it->second.sharding.splits();
    else if (has_uncut_part(outputs[0]) || !q.part->axis)
      q.stated[0] = std::vector<Split>();
    return q;
  }
  bool has_uncut_part(const LazyOp& concat) const {
    return std::any_of(items_.begin(), items_.end(), [&](const ScheduleItem& item) {
      return item.part && item.outputs[0] == concat && item.is_kernel() && has_rows(item.ast);
    });
  }
  static PartOfConcat part_of_concat(const ScheduleItem& item, const LazyOp& kernel) {
    const LazyOp& concat = item.outputs[0];
    const auto* along = std::get_if<Axes>(&concat.arg());
    PartOfConcat out;
    if (along != nullptr) out.axis = along->front();
    // NOTE: equal parts are one node; an item stores at one place, which its ShapeTracker has.
    const auto& st = std::get<BufferArg>(kernel.src(0).arg()).st;
    const Int offset = st.views()[0].offset();
    const Index shape = numbers_of(concat);
    std::int64_t stride = 1;
    if (along != nullptr)
      for (std::size_t j = static_cast<std::size_t>(*out.axis) + 1; j < shape.size(); ++j) stride *= shape[j];
    out.begin = stride == 0 ? 0 : offset.value() / stride;
    return out;
  }

  void run_cut(std::size_t k, const KernelQuestion& q, const std::vector<LazyOp>& outputs) {
    const std::shared_ptr<const KernelPlan> plan = PlanCache::instance().get(q);
    if (is_explained_) text_ += explained(q, *plan);
    std::vector<Shards> values;
    for (std::size_t j = 0; j < q.inputs.size(); ++j) values.push_back(shards_of(items_[k].inputs[j]));
    for (std::size_t s = 0; s < plan->steps.size(); ++s) {
      const bool is_last = s + 1 == plan->steps.size();
      std::vector<Shards> results;
      const KernelStep& step = plan->steps[s];
      for (std::size_t j = 0; j < step.results.size(); ++j) {
        const auto it = is_last && q.part ? made_.find(outputs[j].node()) : made_.end();
        results.push_back(it != made_.end() ? it->second
                                            : fresh(step.results[j].computed, step.results[j].dtype,
                                                    is_last ? &outputs[j] : nullptr));
      }
      if (!is_explained_) run_step(items_[k], step, values, results, outputs[0]);
      for (std::size_t j = 0; j < results.size(); ++j) {
        Shards made = moved_at_last(step.results[j], std::move(results[j]), outputs[is_last ? j : 0]);
        is_last ? done(k, outputs[j], std::move(made)) : values.push_back(std::move(made));
      }
    }
  }
  /// Memory for a result, for the node `of` if it is one's.
  Shards fresh(const Sharding& sharding, DType dtype, const LazyOp* of) const {
    const std::int64_t most = of != nullptr ? most_elements(of->shape()) : 0;
    if (is_explained_) return {ranks_, sharding, {Buffer::allocate(0, dtype), 0}, most};
    return Shards::allocate(ranks_, sharding, dtype, most);
  }

  static std::string described(const LazyOp& for_what, DType dtype) {
    const std::string origin = for_what.origin().text();
    return detail::message(dtype.name(), " for ",
                           origin.empty() ? "a tensor of shape " + render(for_what.shape()) : origin);
  }

  void run_step(const ScheduleItem& item, const KernelStep& step, const std::vector<Shards>& values,
                const std::vector<Shards>& results, const LazyOp& for_what) {
    std::vector<RankBuffer> read;  // by source
    std::vector<Moved> moved;
    for (const KernelStep::Source& source : step.sources) {
      const RankBuffer& from = values[source.value].memory;
      if (source.plans.empty()) {
        read.push_back(from);
        continue;
      }
      const DType dtype = from.all.dtype();
      std::int64_t bytes = 0;
      for (const ExchangePlan& plan : source.plans) bytes = std::max(bytes, plan.bytes_of_result());
      read.push_back(RankBuffer::allocate(*ranks_, bytes / static_cast<std::int64_t>(dtype.itemsize()), dtype));
      moved.push_back({{source.plans, described(for_what, dtype)}, from, read.back()});
    }
    exchange(std::move(moved));
    for (std::size_t r = 0; r < step.kernels.size(); ++r) {
      if (!step.kernels[r]) continue;
      std::vector<RankBuffer> buffers;
      for (const Shards& result : results) buffers.push_back(result.memory);
      for (const std::size_t source : step.reads[r]) buffers.push_back(read[source]);
      RanKernel ran;
      ran.outputs = results.size();
      run_kernel(item, *step.kernels[r], r, buffers, std::move(ran));
    }
    if (RunListener::current() != nullptr) tell_unused(step, values, results);
  }
  /// Tells the listener of what the kernels here do not read, and of results of which no rank here has elements: what
  /// follows from their use, e.g. the realize() of a tensor that was assigned to, is collective.
  static void tell_unused(const KernelStep& step, const std::vector<Shards>& values,
                          const std::vector<Shards>& results) {
    std::vector<bool> is_read(step.sources.size());
    bool is_made = false;
    for (std::size_t r = 0; r < step.kernels.size(); ++r) {
      if (!step.kernels[r]) continue;
      is_made = true;
      for (const std::size_t source : step.reads[r]) is_read[source] = true;
    }
    RanStep none{{}, is_made ? 0 : results.size(), [](std::span<void* const>) {}};
    if (!is_made)
      for (const Shards& result : results) none.buffers.push_back(result.memory.all);
    for (std::size_t k = 0; k < is_read.size(); ++k)
      if (!is_read[k]) none.buffers.push_back(values[step.sources[k].value].memory.all);
    if (!none.buffers.empty()) RunListener::perform(std::move(none));
  }
  /// An exchange from the ranks' parts of one memory to those of another one.
  struct Moved {
    Ranks::Transfer transfer;
    RankBuffer from, to;
  };
  /// Executes the exchanges together, and tells the listener.
  void exchange(std::vector<Moved> moved) const {
    if (moved.empty()) return;
    RanStep step{{}, moved.size(), {}};
    std::vector<Ranks::Transfer> transfers;
    for (const Moved& m : moved) step.buffers.push_back(m.to.all);
    for (Moved& m : moved) {
      step.buffers.push_back(m.from.all);
      m.transfer.to.stride = m.to.stride_in_bytes();
      m.transfer.from.stride = m.from.stride_in_bytes();
      transfers.push_back(std::move(m.transfer));
    }
    step.run = [ranks = ranks_, transfers = std::move(transfers)](std::span<void* const> memory) mutable {
      for (std::size_t k = 0; k < transfers.size(); ++k) {
        transfers[k].to.first = memory[k];
        transfers[k].from.first = memory[transfers.size() + k];
      }
      ranks->exchange(transfers);
    };
    RunListener::perform(std::move(step));
  }
  Shards moved_at_last(const KernelStep::Result& result, Shards made, const LazyOp& for_what) const {
    if (!result.kept) return made;
    Shards out = fresh(*result.kept, result.dtype, &for_what);
    if (is_explained_) return out;
    exchange({{{result.plans, described(for_what, result.dtype)}, made.memory, out.memory}});
    return out;
  }

  static std::string explained(const KernelQuestion& q, const KernelPlan& plan) {
    std::string out;
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const KernelStep& step = plan.steps[s];
      const KernelStep::Result& result = step.results[0];
      const auto& splits = *result.computed.splits();
      out += detail::message("\n  ", splits.empty() ? "replicated" : render(splits),
                             step.is_partial ? ": each rank reduces its part" : ": " + plan.why);
      for (const KernelStep::Source& source : step.sources)
        if (!source.plans.empty()) {
          std::int64_t bytes = 0;
          for (const ExchangePlan& p : source.plans) bytes = std::max(bytes, p.bytes_received());
          out +=
              detail::message("\n  ", source.value < q.inputs.size() ? "an operand" : "what the ranks have reduced",
                              " of shape ", render(shape_of(q, plan, source.value)), ": ", bytes, " bytes to a rank");
        }
      if (result.kept) out += detail::message("\n  moved to ", render(*result.kept->splits()));
    }
    return out;
  }
  static Index shape_of(const KernelQuestion& q, const KernelPlan& plan, std::size_t value) {
    return value < q.inputs.size() ? q.inputs[value].sharding.shape()
                                   : plan.steps[value - q.inputs.size()].results[0].computed.shape();
  }

  std::span<const LazyOp> roots_;
  const Device& device_;
  std::shared_ptr<const Ranks> ranks_;
  std::vector<ScheduleItem> items_;
  KeptNodes kept_;
  std::unordered_map<const LazyNode*, std::size_t> last_use_;
  std::unordered_map<const LazyNode*, Shards> made_;
  bool is_explained_ = false;
  std::string text_;
};

}  // namespace

void ShardPlacement::realize(std::span<const LazyOp> roots, const Device& device) const {
  std::optional<ShardedRun> run;
  {
    const RealizedAsOf now;  // what is scheduled is one graph, though other threads may realize parts of it
    run.emplace(roots, device);
  }
  run->run();
}

std::string ShardPlacement::explain(std::span<const LazyOp> roots, const Device& device) const {
  return ShardedRun(roots, device).explain();
}

}  // namespace strata
