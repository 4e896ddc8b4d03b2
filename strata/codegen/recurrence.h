// The UOps of linear recurrences, y[t] = b[t] + a[0][t]*y[t-1] + a[1][t]*y[t-2] + ...: of one element, and of a group
// in vectors. A group is a linear function of its terms and of the elements in front of it. So prefixes double, as
// those of sums do: in the step of `half` elements the second half of each 2*half elements adds what the last elements
// of the first half give. Internal to codegen/.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "strata/codegen/lower.h"
#include "strata/codegen/vectors.h"

namespace strata {

class RecurrenceUOps {
 public:
  /// A group in vectors: element i is local[i], plus response[k][i] + rest[k][i] times the k-th last element in front
  /// of the group, for all k. A response goes into each later group, so that its rounding would move the poles of a
  /// filter: those of constant factors of f32 have a rest; the others are used where the elements in front fade
  /// quickly.
  struct Group {
    std::vector<UOp> local;                        ///< by vector
    std::vector<std::vector<UOp>> response, rest;  ///< by factor and vector
    /// Whether responses may have lost too many digits: a scalar, or a vector of which one lane is enough.
    UOp is_vague;
  };

  RecurrenceUOps(UOpGraph& graph, LaneOps& ops, const Target& target) : graph_(graph), ops_(ops), target_(target) {}

  /// b + a[0]*before[0] + a[1]*before[1] + ..., the last product first.
  UOp next(std::span<const UOp> a, std::span<const UOp> before, UOp b);
  /// The group of `terms`, vectors of 8. `factors`: of each factor what it is at each of the terms. Nothing where the
  /// group is rather computed one element after another: several factors that are not the same along the group, or more
  /// than kMostInLanes.
  std::optional<Group> group(std::span<const std::vector<UOp>> factors, std::span<const UOp> terms);
  /// The elements of the group behind `before`. Where one of them is not finite, or the group is vague, all of them are
  /// those of `in_sequence`, which are computed only then.
  std::vector<UOp> behind(const Group& group, std::span<const UOp> before, std::span<const UOp> in_sequence);

  static constexpr std::size_t kMostInLanes = 4;

 private:
  Group of_constant(std::span<const UOp> a, std::span<const UOp> terms);
  Group of_one(std::span<const UOp> a, std::span<const UOp> terms);
  std::vector<std::vector<UOp>> responses(std::span<const UOp> a, std::size_t count);
  UOp number(DType dtype, double value) { return graph_.constant(Scalar::of(dtype, value)); }
  UOp plus_product(UOp a, UOp y, UOp b);
  UOp vector_of(const std::vector<UOp>& lanes) {
    return graph_.add(UOps::VECTORIZE, lanes[0].dtype().vec(static_cast<int>(lanes.size())), lanes);
  }
  UOp partner(UOp vector, int half, int back);
  UOp in_second_half(int half);
  UOp last(UOp vector, int back);
  UOp is_small(UOp factor, double least);
  UOp lasts(UOp response, double most);
  UOp summed(UOp vector);
  void add_response(Group& group, std::size_t factor, UOp wide);

  UOpGraph& graph_;
  LaneOps& ops_;
  const Target& target_;
};

}  // namespace strata
