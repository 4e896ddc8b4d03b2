#include "strata/spmd/kernel_plan.h"

#include <algorithm>

#include "strata/graph/rebuild.h"
#include "strata/shard/carry.h"
#include "strata/spmd/part.h"
#include "strata/spmd/reads.h"

namespace strata {

namespace {

std::int64_t parts_over(const MeshShape& mesh, const Split& split) {
  std::int64_t out = 1;
  for (const std::string& name : split.over) out *= mesh.sizes()[mesh.axis(name)];
  return out;
}

/// A value that kernels read: an input, or the result of a step.
struct Operand {
  Sharding sharding;
  DType dtype;
  bool is_partial = false;
  bool is_whole() const { return sharding.splits() && sharding.splits()->empty(); }
};

/// Whether the parts of a reduction may be reduced in any order.
bool is_any_order(const LazyNode& n, bool is_deterministic) {
  return !is_deterministic || !n.dtype.is_float() || n.op == Ops::REDUCE_MAX || n.op == Ops::REDUCE_MIN;
}

/// The box that a rank owns; nothing where that is no box of intervals.
std::optional<Intervals> owned_box(const Sharding& sharding, std::int64_t rank) {
  Intervals out;
  for (const AxisPart& part : sharding.owned(rank)) {
    if (part.size() > 1 || (part.size() == 1 && part[0].count > 1)) return std::nullopt;
    out.push_back(part.empty() ? std::pair<std::int64_t, std::int64_t>(0, 0) : std::pair(part[0].begin, part[0].end()));
  }
  return out;
}
bool is_empty(const Intervals& box) {
  return std::any_of(box.begin(), box.end(), [](const auto& i) { return i.first == i.second; });
}

class Planning {
 public:
  explicit Planning(const KernelQuestion& q)
      : q_(q), mesh_(q.ranks->mesh()), first_(static_cast<int>(q.shapes.size())) {
    for (const ShardedInput& input : q.inputs) operands_.push_back({input.sharding, input.dtype});
    for (const LazyOp& store : q.kernel.src()) values_.push_back(store.src(0));
  }

  KernelPlan run() {
    if (values_[0].op() == Ops::ORDER) return sorted();
    for (int round = 0;; ++round) {
      const std::optional<KernelReads> reads = reads_of(values_, to_ints(seen_shape()), slots());
      if (!reads) {
        out_.why = "more index maps than are compared";
        return finished(nullptr, q_.stated[0].value_or(std::vector<Split>()));
      }
      std::vector<Split> chosen = chosen_splits(mesh_, extended(*reads), sharded_operands(*reads));
      const auto is_of_loop = [&](const Split& s) { return s.axis >= std::ssize(seen_shape()); };
      std::vector<Split> own, summed;
      for (const Split& s : chosen) (is_of_loop(s) ? summed : own).push_back(s);
      if (q_.stated[0]) own = *q_.stated[0];
      if (q_.part) own = without_axis_of_part(own);
      if (!summed.empty() && round < 8)
        if (const LazyNode* reduction = split_reduction(*reads, summed, own)) {
          reduce_by_rank(handle_of(*reduction));
          continue;
        }
      out_.why = why(chosen);
      return finished(&*reads, own);
    }
  }

 private:
  std::size_t slots() const { return static_cast<std::size_t>(first_) + operands_.size(); }
  /// The shape in which the elements of the kernel are seen: that of the outputs, or of a part of one.
  Index seen_shape() const { return q_.part ? *numbers(values_[0].shape()) : q_.shapes[0]; }
  Index extended(const KernelReads& reads) const { return extended_by(seen_shape(), reads); }
  std::vector<ShardedOperand> sharded_operands(const KernelReads& reads) const {
    std::vector<ShardedOperand> out;
    for (std::size_t k = 0; k < operands_.size(); ++k)
      if (const auto& of = reads.of[static_cast<std::size_t>(first_) + k]; !of.empty() && !operands_[k].is_whole())
        out.push_back({operands_[k].sharding, of, static_cast<std::int64_t>(operands_[k].dtype.itemsize())});
    return out;
  }
  std::vector<Split> without_axis_of_part(std::vector<Split> splits) const {
    std::erase_if(splits, [&](const Split& s) { return s.cyclic || !q_.part->axis || s.axis == *q_.part->axis; });
    return splits;
  }
  std::string why(const std::vector<Split>& chosen) const {
    if (q_.stated[0]) return "stated";
    return chosen.empty() ? "no operand is split" : "carried from an operand";
  }

  Exchange exchange_of(const Operand& operand, const std::vector<ShapeTracker>& reads, const Index& shape,
                       const std::vector<Split>& splits) const {
    return {operand.sharding, Sharding::create(mesh_, shape, splits), reads};
  }

  // --- reductions by rank ---

  /// The first reduction, sources before users, of whose loops one is split, if reducing by rank moves fewer bytes.
  const LazyNode* split_reduction(const KernelReads& reads, const std::vector<Split>& summed,
                                  const std::vector<Split>& own) const {
    for (const auto& [n, loops] : reads.reductions) {
      if (!is_any_order(*n, q_.is_deterministic)) continue;
      for (const Split& s : summed) {
        const auto loop = static_cast<std::size_t>(s.axis) - seen_shape().size();
        if (std::find(loops.begin(), loops.end(), loop) == loops.end() || s.cyclic) continue;
        if (is_read_partial(*n)) continue;
        if (bytes_of_partial(*n, s, own) < bytes_gathered(reads, own)) return n;
      }
    }
    return nullptr;
  }
  /// The handle that a store, or a node above, holds.
  LazyOp handle_of(const LazyNode& n) const {
    for (const LazyNode* user : postorder(values_))
      for (const LazyOp& s : user->src)
        if (s.node() == &n) return s;
    return *std::find_if(values_.begin(), values_.end(), [&](const LazyOp& v) { return v.node() == &n; });
  }
  bool is_read_partial(const LazyNode& n) const {
    for (const LazyNode* below : postorder(n.src[0]))
      if (below->op == Ops::LOAD && operand_of(*below).is_partial) return true;
    return false;
  }
  const Operand& operand_of(const LazyNode& load) const {
    return operands_[static_cast<std::size_t>(std::get<BufferArg>(load.arg).slot - first_)];
  }
  static bool shares_axis(const Split& a, const std::vector<Split>& splits) {
    return std::any_of(splits.begin(), splits.end(), [&](const Split& b) {
      return std::any_of(b.over.begin(), b.over.end(), [&](const std::string& name) {
        return std::find(a.over.begin(), a.over.end(), name) != a.over.end();
      });
    });
  }
  /// What comes to a rank if the ranks of `summed` reduce first; as finished() has it.
  double bytes_of_partial(const LazyNode& n, const Split& summed, const std::vector<Split>& own) const {
    const auto parts = static_cast<double>(parts_over(mesh_, summed));
    double bytes = static_cast<double>(n.dtype.itemsize());
    for (const Int& size : n.shape) bytes *= static_cast<double>(size.value());
    const double of_all = bytes * (parts - 1);
    if (shares_axis(summed, own)) return of_all / parts;
    return parts > 2 && bytes >= kLeastScattered ? 2 * of_all / parts : of_all;
  }
  double bytes_gathered(const KernelReads& reads, const std::vector<Split>& own) const {
    double out = 0;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const auto& of = reads.of[static_cast<std::size_t>(first_) + k];
      if (of.empty() || operands_[k].is_whole()) continue;
      const Exchange exchange = exchange_of(operands_[k], of, extended(reads), own);
      out += static_cast<double>(exchange.missing(0)) * static_cast<double>(operands_[k].dtype.itemsize());
    }
    return out;
  }

  /// A step in which each rank reduces its part; in the kernel a reduction of what the step makes takes the place of
  /// the reduction. Sums of 16-bit floats are rounded at last.
  void reduce_by_rank(const LazyOp& n) {
    const bool is_wide =
        n.dtype().is_float() && n.dtype().itemsize() < 4 && (n.op() == Ops::SUM || n.op() == Ops::PROD);
    const DType dtype = is_wide ? dtypes::float32 : n.dtype();
    const LazyOp source = is_wide ? n.src(0).cast(dtype) : n.src(0);
    const Axes& axes = std::get<Axes>(n.arg());
    const Index shape = *numbers(source.shape());
    const auto reads = reads_of({&source, 1}, source.shape(), slots());
    STRATA_ASSERT(reads.has_value(), "[shard] the reads of a part of a kernel are more than those of all");
    std::vector<Split> splits;
    Split by_rank{{}, 0, {}};
    for (Split s : chosen_splits(mesh_, extended_by(shape, *reads), sharded_operands(*reads))) {
      if (s.axis >= std::ssize(shape) || s.cyclic) continue;
      splits.push_back(s);
      if (std::find(axes.begin(), axes.end(), s.axis) != axes.end())
        by_rank.over.insert(by_rank.over.end(), s.over.begin(), s.over.end());
    }
    std::vector<Split> of_result;
    if (!by_rank.over.empty()) of_result.push_back(by_rank);
    for (const Split& s : splits)
      if (std::find(axes.begin(), axes.end(), s.axis) == axes.end()) of_result.push_back({s.over, s.axis + 1, {}});
    Index result = *numbers(n.shape());
    result.insert_at(0, parts_over(mesh_, by_rank));
    const Sharding computed = Sharding::create(mesh_, result, of_result);

    KernelStep step;
    step.is_partial = true;
    step.results.push_back({computed, dtype, {}, {}});
    add_sources(step, &*reads, extended_by(shape, *reads), splits);
    const Sharding domain = Sharding::create(mesh_, shape, splits);
    for (std::size_t r = 0; r < q_.ranks->here().size(); ++r) {
      const std::int64_t rank = q_.ranks->here()[r].rank();
      const Intervals box = *owned_box(domain, rank), stored = *owned_box(computed, rank);
      if (is_empty(stored)) {
        step.kernels.emplace_back();
        step.reads.emplace_back();
        continue;
      }
      const std::vector<RankMemory> memory = memory_of(step, r);
      PartsOf part = parts_of({&source, 1}, {&box, 1}, memory, 1);
      Ints one = {1};
      const LazyOp reduced = LazyOp::reduce(n.op(), part.values[0], axes);
      for (const Int& size : reduced.shape()) one.push_back(size);
      const Index local = local_axes(computed);
      add_kernel(step, {LazyOp::store(0, prefix(local, stored), reduced.reshape(one), elements_in_local(computed))},
                 part.slots);
    }
    out_.steps.push_back(std::move(step));
    operands_.push_back({computed, dtype, true});
    replace(n, dtype, result);
  }
  void replace(const LazyOp& n, DType dtype, const Index& result) {
    const int slot = first_ + static_cast<int>(operands_.size()) - 1;
    LazyOp made = LazyOp::load(slot, dtype, ShapeTracker::from_shape(to_ints(result)));
    made = LazyOp::reduce(n.op(), made, {0}).reshape(n.shape());
    if (dtype != n.dtype()) made = made.cast(n.dtype());
    detail::Rebuild build([](const LazyOp& m, const std::vector<LazyOp>& sources) { return m.with_sources(sources); },
                          [&](const LazyOp& m) { return m == n ? std::optional(made) : std::nullopt; });
    for (LazyOp& value : values_) value = build(value);
  }
  static Index extended_by(Index shape, const KernelReads& reads) {
    shape.append(reads.loops.data(), reads.loops.size());
    return shape;
  }

  // --- sorts ---

  /// Rows are sorted in the memory of one rank: first each rank gets whole rows of its own, as they are sorted, then it
  /// sorts all that it has, padding among them.
  KernelPlan sorted() {
    const LazyOp order = values_[0];
    const auto& arg = std::get<OrderArg>(order.arg());
    values_ = {order.src(0)};
    const Index rows = *numbers(order.src(0).shape()), result = *numbers(order.shape());
    const auto reads = reads_of(values_, to_ints(rows), slots());
    STRATA_ASSERT(reads.has_value(), "[shard] the load of a sort has many index maps");
    std::vector<Split> splits = chosen_splits(mesh_, rows, sharded_operands(*reads));
    out_.why = splits.empty() ? "its rows are not split" : "carried from an operand";
    std::erase_if(splits, [&](const Split& s) { return s.axis == arg.axis; });
    const Sharding from = Sharding::create(mesh_, rows, splits), to = Sharding::create(mesh_, result, splits);
    KernelStep copy;
    add_sources(copy, &*reads, rows, splits);
    copy.results.push_back({from, order.src(0).dtype(), {}, {}});
    for (std::size_t r = 0; r < q_.ranks->here().size(); ++r) add_own_kernel(copy, r, rows);
    out_.steps.push_back(std::move(copy));

    const Ints local = to_ints(local_axes(from)), sorted_local = to_ints(local_axes(to));
    const LazyOp load = LazyOp::load(1, order.src(0).dtype(), ShapeTracker::from_shape(local));
    const LazyOp sort = LazyOp::order(load, arg, order.shape()[static_cast<std::size_t>(arg.axis)]);
    const LazyOp kernel = LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape(sorted_local), sort)});
    KernelStep step;
    step.sources.push_back({operands_.size(), {}, 0});
    step.results.push_back({to, order.dtype(), {}, {}});
    for (std::size_t r = 0; r < q_.ranks->here().size(); ++r) {
      step.kernels.emplace_back(kernel);
      step.reads.push_back({0});
    }
    out_.steps.push_back(std::move(step));
    return std::move(out_);
  }

  // --- the last step ---

  KernelPlan finished(const KernelReads* reads, std::vector<Split> splits) {
    const std::vector<Split> asked = splits;
    splits = uncut(std::move(splits));
    const std::vector<Split> wanted = splits;
    if (reads != nullptr) splits = scattered(*reads, std::move(splits));
    KernelStep step;
    Index shape = seen_shape();
    add_sources(step, reads, reads != nullptr ? extended(*reads) : shape, reads != nullptr ? splits : asked);
    for (std::size_t k = 0; k < q_.shapes.size(); ++k) {
      const Sharding computed = Sharding::create(mesh_, q_.shapes[k], splits);
      step.results.push_back({computed, values_[k].dtype(), {}, {}});
      const std::vector<Split>& kept = q_.stated[k] && !q_.part ? *q_.stated[k] : wanted;
      if (kept != splits) move_at_last(step.results.back(), kept);
    }
    for (std::size_t r = 0; r < q_.ranks->here().size(); ++r) add_own_kernel(step, r, q_.shapes[0]);
    out_.steps.push_back(std::move(step));
    return std::move(out_);
  }
  /// The splits with one more, of the axis with the most elements, where ranks would all add up the same: what more
  /// than two ranks have reduced. The result is moved at last; of n elements and p ranks 2n(p-1)/p come to a rank, not
  /// n(p-1).
  std::vector<Split> scattered(const KernelReads& reads, std::vector<Split> splits) const {
    if (q_.part || has_rows()) return splits;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      if (!operands_[k].is_partial || reads.of[static_cast<std::size_t>(first_) + k].empty()) continue;
      const Split& by_rank = operands_[k].sharding.splits()->front();
      const std::int64_t parts = parts_over(mesh_, by_rank);
      const Index& shape = q_.shapes[0];
      std::int64_t bytes = static_cast<std::int64_t>(operands_[k].dtype.itemsize()), axis = -1;
      for (std::int64_t j = 0; j < std::ssize(shape); ++j) {
        const auto at = static_cast<std::size_t>(j);
        bytes *= shape[at];
        const bool is_free = std::none_of(splits.begin(), splits.end(), [&](const Split& s) { return s.axis == j; });
        if (is_free && shape[at] >= parts && (axis < 0 || shape[at] > shape[static_cast<std::size_t>(axis)])) axis = j;
      }
      if (parts <= 2 || bytes < kLeastScattered || axis < 0 || shares_axis(by_rank, splits)) continue;
      splits.push_back({by_rank.over, axis, {}});
      if (cuts(splits)) splits.pop_back();
    }
    return splits;
  }
  static constexpr std::int64_t kLeastScattered = 4096;  // bytes; below, one exchange less is worth more
  void move_at_last(KernelStep::Result& result, const std::vector<Split>& stated) const {
    result.kept = Sharding::create(mesh_, result.computed.shape(), stated);
    const auto itemsize = static_cast<std::int64_t>(result.dtype.itemsize());
    for (const Mesh& mesh : q_.ranks->here())
      result.plans.push_back(ExchangePlan::redistribution(mesh, result.computed, *result.kept, itemsize));
  }
  /// The splits that cut no axis of a scan or a scatter, whose kernels store the elements in the shape of their rows.
  std::vector<Split> uncut(std::vector<Split> splits) const {
    if (has_rows()) std::erase_if(splits, [](const Split& s) { return s.cyclic.has_value(); });
    if (!cuts(splits)) return splits;
    std::vector<Split> out;
    for (const Split& s : splits) {
      out.push_back(s);
      if (cuts(out)) out.pop_back();
    }
    return out;
  }
  bool has_rows() const {
    const std::vector<const LazyNode*> nodes = postorder(values_);
    return std::any_of(nodes.begin(), nodes.end(),
                       [](const LazyNode* n) { return is_scan(n->op) || n->op == Ops::SCATTER; });
  }
  bool cuts(const std::vector<Split>& splits) const {
    if (splits.empty()) return false;
    const Sharding sharding = Sharding::create(mesh_, q_.shapes[0], splits);
    std::vector<RankMemory> memory;
    for (std::size_t k = 0; k < slots(); ++k)
      memory.push_back(
          k < static_cast<std::size_t>(first_)
              ? RankMemory{ShapeTracker::from_shape({}), 0}
              : local_of(replicated(mesh_, operands_[k - static_cast<std::size_t>(first_)].sharding.shape()), 0));
    const auto stored = stored_part(0, q_.shapes[0], sharding, 0);
    return stored && parts_of({&stored->value, 1}, {&stored->box, 1}, memory, first_).cuts_axis;
  }

  /// What a rank computes of output `k`, and where it goes in the rank's memory.
  struct StoredPart {
    LazyOp value;
    Intervals box;
    ShapeTracker st;
  };
  std::optional<StoredPart> stored_part(std::size_t k, const Index& shape, const Sharding& sharding,
                                        std::int64_t rank) const {
    const Index local = local_axes(sharding);
    const std::optional<Intervals> box = owned_box(sharding, rank);
    if (q_.part) return stored_part_of_concat(sharding, *box, local);
    const LazyOp value = values_[k].reshape(to_ints(shape));
    if (!box) {
      const LazyOp all = local_part(value, sharding, rank);
      return StoredPart{all, box_of(all.shape()), ShapeTracker::from_shape(to_ints(local))};
    }
    if (is_empty(*box)) return std::nullopt;
    return StoredPart{value, *box, prefix(local, *box)};
  }
  std::optional<StoredPart> stored_part_of_concat(const Sharding& sharding, const Intervals& box,
                                                  const Index& local) const {
    const LazyOp& value = values_[0];
    if (is_empty(box)) return std::nullopt;
    if (!q_.part->axis) {  // nothing is split
      const std::int64_t begin = q_.part->begin, size = product(value.shape()).value();
      const LazyOp flat = value.reshape({size});
      return StoredPart{flat, box_of(flat.shape()),
                        ShapeTracker::from_shape(to_ints(sharding.shape())).shrink({{begin, begin + size}})};
    }
    const auto axis = static_cast<std::size_t>(*q_.part->axis);
    const std::int64_t size = value.shape()[axis].value();
    Intervals own = box;
    own[axis] = {0, size};
    Mask place;
    for (std::size_t j = 0; j < box.size(); ++j) place.push_back({0, box[j].second - box[j].first});
    place[axis] = {q_.part->begin, q_.part->begin + size};
    return StoredPart{value, own, ShapeTracker::from_shape(to_ints(local)).shrink(place)};
  }
  static ShapeTracker prefix(const Index& local, const Intervals& box) {
    Mask own;
    for (const auto& [begin, end] : box) own.push_back({0, end - begin});
    return ShapeTracker::from_shape(to_ints(local)).shrink(own);
  }
  static std::int64_t elements_in_local(const Sharding& sharding) { return sharding.layout().mode(1).size().value(); }

  /// @param shape of the outputs
  void add_own_kernel(KernelStep& step, std::size_t r, const Index& shape) const {
    const std::int64_t rank = q_.ranks->here()[r].rank();
    std::vector<LazyOp> values;
    std::vector<Intervals> boxes;
    std::vector<ShapeTracker> places;
    for (std::size_t k = 0; k < values_.size(); ++k)
      if (auto stored = stored_part(k, shape, step.results[k].computed, rank)) {
        values.push_back(stored->value);
        boxes.push_back(stored->box);
        places.push_back(stored->st);
      }
    if (values.empty()) {
      step.kernels.emplace_back();
      step.reads.emplace_back();
      return;
    }
    const std::vector<RankMemory> memory = memory_of(step, r);
    const PartsOf parts = parts_of(values, boxes, memory, static_cast<int>(values.size()));
    const bool is_below = have_one_shape_below(parts.values, places);
    std::vector<LazyOp> stores;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const LazyOp value = is_below ? below_reshape(parts.values[k]) : parts.values[k];
      stores.push_back(LazyOp::store(static_cast<int>(k),
                                     is_below ? ShapeTracker::from_shape(value.shape()) : places[k], value,
                                     elements_in_local(step.results[k].computed)));
    }
    add_kernel(step, stores, parts.slots);
  }
  static LazyOp below_reshape(const LazyOp& value) { return value.op() == Ops::RESHAPE ? value.src(0) : value; }
  /// Whether the loops of the stores can be those of the values below a last RESHAPE: the memory has the elements in
  /// order, and all stores of the kernel have these loops.
  static bool have_one_shape_below(const std::vector<LazyOp>& values, const std::vector<ShapeTracker>& places) {
    const Ints shape = below_reshape(values[0]).shape();
    for (std::size_t k = 0; k < values.size(); ++k)
      if (!places[k].contiguous() || !(below_reshape(values[k]).shape() == shape)) return false;
    return true;
  }

  /// Notes a rank's kernel, and the sources of its slots.
  void add_kernel(KernelStep& step, const std::vector<LazyOp>& stores, const std::vector<int>& slots) const {
    step.kernels.emplace_back(LazyOp::sink(stores));
    std::vector<std::size_t>& reads = step.reads.emplace_back();
    for (const int slot : slots) {
      const auto value = static_cast<std::size_t>(slot - first_);
      const auto it =
          std::find_if(step.sources.begin(), step.sources.end(), [&](const auto& s) { return s.value == value; });
      reads.push_back(static_cast<std::size_t>(it - step.sources.begin()));
    }
  }

  /// The exchanges of a step whose result has `splits` on the first axes of `shape`. @param reads null: of everything
  void add_sources(KernelStep& step, const KernelReads* reads, const Index& shape,
                   const std::vector<Split>& splits) const {
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const Operand& operand = operands_[k];
      const Index& whole = operand.sharding.shape();
      const std::vector<ShapeTracker> all = {ShapeTracker::from_shape(to_ints(whole))};
      if (reads != nullptr && reads->of[static_cast<std::size_t>(first_) + k].empty()) continue;
      const Exchange exchange =
          reads != nullptr ? exchange_of(operand, reads->of[static_cast<std::size_t>(first_) + k], shape, splits)
                           : exchange_of(operand, all, whole, {});
      KernelStep::Source source{k, {}, 0};
      if (!operand.is_whole() && moves(exchange)) {
        for (const Mesh& mesh : q_.ranks->here())
          source.plans.push_back(
              ExchangePlan::into_box(mesh, exchange, static_cast<std::int64_t>(operand.dtype.itemsize())));
        source.missing = exchange.missing(q_.ranks->here()[0].rank());
      }
      step.sources.push_back(std::move(source));
    }
  }
  /// Whether anything comes to any rank: the same answer on all of them.
  bool moves(const Exchange& exchange) const {
    for (std::int64_t rank = 0; rank < mesh_.size(); ++rank)
      if (exchange.missing(rank) > 0) return true;
    return false;
  }
  /// The memory that rank `r` here reads, by slot.
  std::vector<RankMemory> memory_of(const KernelStep& step, std::size_t r) const {
    std::vector<RankMemory> out(slots(), RankMemory{ShapeTracker::from_shape({}), 0});
    for (const KernelStep::Source& source : step.sources) {
      const Sharding& sharding = operands_[source.value].sharding;
      out[static_cast<std::size_t>(first_) + source.value] = source.plans.empty()
                                                                 ? local_of(sharding, q_.ranks->here()[r].rank())
                                                                 : dense_of(source.plans[r].box(), sharding.shape());
    }
    return out;
  }

  const KernelQuestion& q_;
  const MeshShape& mesh_;
  int first_;
  std::vector<LazyOp> values_;
  std::vector<Operand> operands_;
  KernelPlan out_;
};

}  // namespace

KernelPlan plan_kernel(const KernelQuestion& question) { return Planning(question).run(); }

}  // namespace strata
