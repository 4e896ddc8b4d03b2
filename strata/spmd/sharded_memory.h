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

/// The parts of a tensor that the ranks of this process have, as Sharding::local_index() says. A value: copies share
/// the memory.
struct Shards {
  std::shared_ptr<const Ranks> ranks;
  Sharding sharding;
  std::vector<Buffer> local;  ///< by rank of ranks->here(); where all ranks have all elements it may be one memory
  std::int64_t most = 0;      ///< elements of memory in one piece: of symbolic sizes the most, as the engine has it

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
  std::shared_ptr<const NodePlacement> placement() const override { return placement_; }

 private:
  Shards shards_;
  std::shared_ptr<const ShardPlacement> placement_;
};

/// The sizes; symbolic ones at their bound values. @throws Error (domain) for a variable without a value
Index bound_sizes(const Ints& shape);
/// The number of elements; that of symbolic sizes at their maximum.
inline std::int64_t most_elements(const Ints& shape) { return product(shape).vmax(); }

/// Memory for the elements of the local layout of `sharding` on each rank of `ranks`. That of simulated ranks is filled
/// with bytes of ones, NaN as floats, so that what nobody wrote is seen.
/// @param most where each rank has all elements, the least number of elements of its memory
std::vector<Buffer> local_memory(const Ranks& ranks, const Sharding& sharding, DType dtype, std::int64_t most);
Buffer poisoned(const Ranks& ranks, std::int64_t elements, DType dtype);

}  // namespace strata
