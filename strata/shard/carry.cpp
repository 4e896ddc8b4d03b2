// Splits carried through Views: an axis goes where the largest steps along it are.

#include "strata/shard/carry.h"

#include <algorithm>
#include <optional>

#include "strata/base/check.h"
#include "strata/view/merge.h"

namespace strata {
namespace {

/// An axis of a result that steps along an axis of an operand: one step of the operand's is steps / of of its own.
struct AxisStep {
  std::int64_t axis = 0, steps = 1, of = 1;
  bool wraps = false;  ///< whether the result's axis runs through the operand's more than once
};

/// The axis of `view` that steps in the largest steps inside of axis j of a tensor of `shape`.
std::optional<AxisStep> axis_along(const Strided& view, const Index& shape, std::size_t j) {
  std::int64_t step = 1;
  for (std::size_t k = j + 1; k < shape.size(); ++k) step *= shape[k];
  std::optional<AxisStep> out;
  std::int64_t largest = 0;
  for (std::size_t k = 0; k < view.shape.size(); ++k) {
    const auto stride = static_cast<Int128>(magnitude(view.stride[k]));
    const Int128 reach = stride * (view.end[k] - view.begin[k]), whole = static_cast<Int128>(step) * shape[j];
    if (stride >= whole || reach <= step || stride <= largest) continue;
    largest = static_cast<std::int64_t>(stride);
    out = AxisStep{static_cast<std::int64_t>(k), std::max<std::int64_t>(1, step / largest),
                   std::max<std::int64_t>(1, largest / step), reach > whole};
  }
  return out;
}

std::int64_t blocks_of(std::int64_t size, std::int64_t length) { return size / length + (size % length != 0 ? 1 : 0); }

/// The length of the blocks in steps of the result's axis; nothing where one block a part of `result` elements is as
/// near.
std::optional<std::int64_t> block_in_steps(const Split& split, std::int64_t block, std::int64_t parts,
                                           const AxisStep& to, std::int64_t result) {
  std::int64_t length = kPosInf;
  const bool fits = try_mul(block, to.steps, length);
  if (!split.cyclic && (!fits || length % to.of != 0 || (to.steps == 1 && to.of == 1 && !to.wraps)))
    return std::nullopt;
  length = std::clamp<std::int64_t>(fits ? length / to.of : kPosInf, 1, std::max<std::int64_t>(1, result));
  if (!split.cyclic && length == blocks_of(result, parts)) return std::nullopt;
  return length;
}

std::vector<Split> carried_through(const MeshShape& mesh, const View& view, const Index& shape,
                                   const std::vector<Split>& splits) {
  const Strided strided = to_strided(view);
  std::vector<Split> out;
  for (const Split& split : splits) {
    const auto j = static_cast<std::size_t>(split.axis);
    const std::optional<AxisStep> to = axis_along(strided, shape, j);
    const auto is_taken = [&](const Split& other) { return to && other.axis == to->axis; };
    if (!to || std::any_of(out.begin(), out.end(), is_taken)) continue;
    std::int64_t parts = 1;
    for (const std::string& name : split.over) parts *= mesh.sizes()[mesh.axis(name)];
    const std::int64_t block = split.cyclic.value_or(std::max<std::int64_t>(1, blocks_of(shape[j], parts)));
    const bool is_whole = shape[j] % block == 0 && shape[j] / block % parts == 0;
    if (to->wraps && !is_whole) continue;  // the blocks of the next round would begin at another part
    const std::int64_t result = strided.shape[static_cast<std::size_t>(to->axis)];
    out.push_back({split.over, to->axis, block_in_steps(split, block, parts, *to, result)});
  }
  return out;
}

/// Decides the splits of one result.
class Choice {
 public:
  Choice(const MeshShape& mesh, const Index& shape, const std::vector<ShardedOperand>& operands)
      : mesh_(mesh), shape_(shape), operands_(operands) {
    for (const ShardedOperand& operand : operands)
      for (const ShapeTracker& read : operand.reads) carried_.push_back(carried(operand.sharding, read));
  }

  std::vector<Split> run() {
    for (const std::string& name : mesh_.names())
      if (!splits_over(decided_, name)) decide(name);
    return decided_;
  }

 private:
  static const Split* splits_over(const std::vector<Split>& splits, const std::string& name) {
    for (const Split& split : splits)
      if (std::find(split.over.begin(), split.over.end(), name) != split.over.end()) return &split;
    return nullptr;
  }

  bool is_free(const Split& split) const {
    const auto meets = [&](const Split& other) {
      return other.axis == split.axis ||
             std::any_of(split.over.begin(), split.over.end(),
                         [&](const std::string& name) { return splits_over({other}, name) != nullptr; });
    };
    return std::none_of(decided_.begin(), decided_.end(), meets);
  }

  void decide(const std::string& name) {
    std::vector<Split> candidates;
    for (const std::vector<Split>& splits : carried_) {
      const Split* split = splits_over(splits, name);
      if (split == nullptr || !is_free(*split)) continue;
      if (std::find(candidates.begin(), candidates.end(), *split) == candidates.end()) candidates.push_back(*split);
    }
    if (candidates.empty()) return;
    const Split* best = &candidates[0];
    if (candidates.size() > 1) {
      std::int64_t least = kPosInf;
      for (const Split& candidate : candidates) {
        const std::int64_t bytes = bytes_with(candidate);
        if (bytes < least) best = &candidate;
        least = std::min(least, bytes);
      }
    }
    decided_.push_back(*best);
  }

  std::int64_t bytes_with(const Split& candidate) const {
    STRATA_CHECK(mesh_.size() <= kMostDecidingRanks, budget, "[shard] operands are sharded differently, and ",
                 mesh_.size(), " ranks are too many to compare: state the sharding of the result");
    std::vector<Split> splits = decided_;
    splits.push_back(candidate);
    const Sharding result = Sharding::create(mesh_, shape_, splits);
    std::int64_t out = 0;
    for (const ShardedOperand& operand : operands_) {
      const Exchange exchange(operand.sharding, result, operand.reads);
      for (std::int64_t rank = 0; rank < mesh_.size(); ++rank) {
        std::int64_t bytes = 0;
        STRATA_CHECK(try_mul(exchange.missing(rank), operand.itemsize, bytes) && try_add(out, bytes, out), overflow,
                     "[shard] the bytes that move leave 64 bits");
      }
    }
    return out;
  }

  const MeshShape& mesh_;
  const Index& shape_;
  const std::vector<ShardedOperand>& operands_;
  std::vector<std::vector<Split>> carried_;  // by load
  std::vector<Split> decided_;
};

}  // namespace

std::vector<Split> carried(const Sharding& operand, const ShapeTracker& read) {
  STRATA_CHECK(read.is_concrete(), undefined, "[shard] symbolic sizes: ", read.render());
  std::vector<Split> out = operand.splits().value_or(std::vector<Split>());
  Index below = operand.shape();
  for (const View& view : read.views()) {
    out = carried_through(operand.mesh(), view, below, out);
    below = *numbers(view.shape());
  }
  return out;
}

std::vector<Split> chosen_splits(const MeshShape& mesh, const Index& shape,
                                 const std::vector<ShardedOperand>& operands) {
  return Choice(mesh, shape, operands).run();
}

}  // namespace strata
