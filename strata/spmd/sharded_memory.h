// ShardedMemory: a tensor's elements in parts, one for each rank of a mesh; and ShardPlacement, the placement of nodes
// whose memory is such.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "strata/engine/placed.h"
#include "strata/spmd/ranks.h"

namespace strata {

/// The statement that a node's memory is sharded by some splits over some ranks. Equal ones are one object.
class ShardPlacement final : public ComputingPlacement {
 public:
  static std::shared_ptr<const ShardPlacement> of(const std::shared_ptr<const Ranks>& ranks,
                                                  const std::vector<Split>& splits);

  const std::shared_ptr<const Ranks>& ranks() const { return ranks_; }
  const std::vector<Split>& splits() const { return splits_; }

  std::string text() const override { return text_; }
  void realize(std::span<const LazyOp> roots, const Device& device) const override;
  std::string explain(std::span<const LazyOp> roots, const Device& device) const override;

 private:
  ShardPlacement(std::shared_ptr<const Ranks> ranks, const std::vector<Split>& splits);

  std::shared_ptr<const Ranks> ranks_;
  std::vector<Split> splits_;
  std::string text_;
};

/// Memory of the ranks of a process in one piece: a part for each, one behind the other, or one that they share.
struct RankBuffer {
  Buffer all;
  std::int64_t stride = 0;  ///< elements from a rank's part to the next one's; 0: all have the same

  /// A part for each rank of `ranks`. That of simulated ranks is filled with bytes of ones, NaN as floats, so that what
  /// nobody wrote is seen.
  static RankBuffer allocate(const Ranks& ranks, std::int64_t elements, DType dtype);
  /// The part of rank k of Ranks::here(): `all`, or a handle on a piece of it, which listeners of runs know for another
  /// memory unless k is 0.
  Buffer part(std::size_t k) const;
  std::int64_t stride_in_bytes() const { return stride * static_cast<std::int64_t>(all.dtype().itemsize()); }
  std::int64_t begin_in_bytes(std::size_t k) const { return static_cast<std::int64_t>(k) * stride_in_bytes(); }
  Ranks::Memory memory() const { return {all.data(), stride_in_bytes()}; }
};

/// The parts of a tensor that the ranks of this process have, as Sharding::local_index() says. A value: copies share
/// the memory.
struct Shards {
  std::shared_ptr<const Ranks> ranks;
  Sharding sharding;
  RankBuffer memory;
  std::int64_t most = 0;  ///< elements of memory in one piece: of symbolic sizes the most, as the engine has it

  /// Memory for the elements of the local layout of `sharding` on each rank. @param most as the member
  static Shards allocate(const std::shared_ptr<const Ranks>& ranks, const Sharding& sharding, DType dtype,
                         std::int64_t most);

  /// Whether each rank has all elements, row-major.
  bool is_whole() const { return sharding.splits() && sharding.splits()->empty(); }
  /// All elements in one memory, row-major. Collective unless is_whole().
  Buffer gathered() const;
};

/// A realized node's Shards.
class ShardedMemory final : public PlacedStorage {
 public:
  explicit ShardedMemory(Shards shards);
  const Shards& shards() const { return shards_; }
  Buffer whole() const override { return shards_.gathered(); }
  Buffer parts() const override { return shards_.memory.all; }
  std::shared_ptr<const PlacedForm> form() const override;
  std::shared_ptr<const NodePlacement> placement() const override { return placement_; }

 private:
  Shards shards_;
  std::shared_ptr<const ShardPlacement> placement_;
};

/// The sizes; symbolic ones at their bound values. @throws Error (domain) for a variable without a value
Index bound_sizes(const Ints& shape);
/// The number of elements; that of symbolic sizes at their maximum.
inline std::int64_t most_elements(const Ints& shape) { return product(shape).vmax(); }

}  // namespace strata
