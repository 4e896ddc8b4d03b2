#include "strata/codegen/sums.h"

#include <algorithm>
#include <utility>

#include "strata/ir/sum_order.h"

namespace strata {

namespace {

class Sums {
 public:
  Sums(UOpGraph& graph, LaneOps& ops, Ops reduction, UOp identity)
      : graph_(graph), ops_(ops), reduction_(reduction), op_(combining_op(reduction)), identity_(identity) {}

  /// Adds the terms of `nest` to `total`. The terms are taken from the front of `left`.
  UOp added(UOp total, const Nest& nest, std::span<const UOp>& left) {
    const std::size_t copies = choices(nest.copies).size(), trip_count = choices(nest.iterations).size();
    std::vector<UOp> parts;
    for (std::size_t c = 0; c < copies; ++c) {
      std::vector<UOp> body(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(trip_count));
      left = left.subspan(trip_count);
      UOp tail;
      if (nest.tail) {
        tail = left.front();
        left = left.subspan(1);
      }
      // The first copy continues from the total; the others begin at the identity.
      const bool goes_on = c == 0 && nest.lanes == nullptr;
      parts.push_back(nested(goes_on ? total : identity_, std::move(body), tail, nest));
    }
    UOp sum = ops_.folded(op_, parts);
    if (nest.lanes == nullptr) return sum;
    if (!nest.is_ordered) sum = ops_.across(op_, sum, nest.lanes->count);
    return total != identity_ ? ops_.alu(op_, {total, sum}) : sum;
  }

 private:
  /// The sum of one copy: from the innermost level outwards, each level adds up the results of the level inside of it.
  UOp nested(UOp first, std::vector<UOp> values, UOp tail, const Nest& nest) {
    std::size_t end = nest.loops.size();
    for (std::size_t level = std::max<std::size_t>(nest.levels.size(), 1); level-- > 0;) {
      const std::size_t count = nest.levels.empty() ? 0 : nest.levels[level];
      const bool in_lanes = nest.lanes != nullptr && level >= nest.scalar_levels;
      UOp sum = accumulated(level == 0 ? first : identity_, std::move(values),
                            std::span(nest.loops).subspan(end - count, count), in_lanes ? nest.lanes->count : 1);
      end -= count;
      if (tail) sum = ops_.alu(op_, {sum, std::exchange(tail, {})});
      if (nest.is_ordered && in_lanes && level == nest.scalar_levels) sum = across_in_order(sum);
      values = {sum};
    }
    return values[0];
  }

  /// One accumulator: `first` plus the values of all iterations of `loops`.
  UOp accumulated(UOp first, std::vector<UOp> values, std::span<const UOp> loops, int least_lanes) {
    const int lanes = std::max({least_lanes, LaneOps::most_lanes(values), first.dtype().lanes()});
    for (UOp& v : values) v = ops_.widened(v, lanes);
    first = ops_.widened(first, lanes);
    if (loops.empty()) {
      for (const UOp v : values) first = ops_.alu(op_, {first, v});
      return first;
    }
    std::vector<UOp> sources = {first};
    sources.insert(sources.end(), values.begin(), values.end());
    sources.insert(sources.end(), loops.begin(), loops.end());
    return graph_.add(UOps::REDUCE, first.dtype(), sources,
                      LoopReduction{reduction_, static_cast<std::int64_t>(loops.size())});
  }

  /// The sum across 16 lanes in the order of sum_order(): index // 4 % 4 inside of index % 4. NOTE: starting without
  /// the identity is equivalent, because no lane is -0.
  UOp across_in_order(UOp vector) {
    constexpr int kSide = 4;
    UOp total;
    for (int j = 0; j < kSide; ++j) {
      UOp side = graph_.lane(vector, j);
      for (int i = 1; i < kSide; ++i) side = ops_.alu(op_, {side, graph_.lane(vector, i * kSide + j)});
      total = total ? ops_.alu(op_, {total, side}) : side;
    }
    return total;
  }

  UOpGraph& graph_;
  LaneOps& ops_;
  Ops reduction_, op_;
  UOp identity_;
};

}  // namespace

UOp summed(UOpGraph& graph, LaneOps& ops, Ops reduction, UOp identity, std::span<const Nest> nests,
           std::span<const UOp> values) {
  Sums sums(graph, ops, reduction, identity);
  UOp total = identity;
  for (const Nest& nest : nests) total = sums.added(total, nest, values);
  return total;
}

}  // namespace strata
