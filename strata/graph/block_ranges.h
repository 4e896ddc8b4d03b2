// The ranges of a kernel's nodes that a block needs, followed from the stores down, and the chain of kernels that
// computes them. Internal to graph/.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/graph/blocks.h"

namespace strata::detail {

/// @throws Error (domain)
template <class... Why>
[[noreturn]] void refuse_block(const Why&... why) {
  throw Error(ErrorKind::domain, message(why...));
}

inline Int length(const Extent& range) { return range.end - range.begin; }
inline Mask whole(const Ints& shape) {
  Mask out;
  for (const Int& size : shape) out.push_back({0, size});
  return out;
}

/// The ranges that make up a block.
struct BlockRanges {
  std::vector<Mask> stores{};  ///< by store
  /// By reduction that adds up: the ranges of its operand, those of dimensions that are not reduced aside.
  std::unordered_map<const LazyNode*, Mask> added{};
};
inline BlockRanges of_one(Mask store) {
  BlockRanges out;
  out.stores.push_back(std::move(store));
  return out;
}

/// The restriction of a kernel to a block.
class Restricting {
 public:
  /// @param several whether a CONTIGUOUS node may have several ranges  @throws Error (domain) where ranges cannot be
  /// told
  Restricting(const LazyOp& kernel, BlockRanges block, bool several = false);

  /// The ranges of a node, one for each way in which it is used.
  const std::vector<Mask>& of(const LazyNode& n) const { return ranges_.at(&n); }
  /// The chain of a block; `axes` are those that the ranges were made from.
  BlockChain run(const BlockAxes& axes);

 private:
  void add_step(BlockTurn turn, int temporary, const std::vector<LazyOp>& stores);
  int next_temporary();
  LazyOp stored(const LazyOp& made);
  LazyOp added_up(const LazyNode& n, const Mask& ranges);
  void add_stores(const BlockAxes& axes);
  void add(const LazyNode* n, const Mask& ranges);
  Mask of_source(const LazyNode& n, std::size_t j, const Mask& ranges) const;
  void pass_on(const LazyNode& n);
  const LazyOp& made(const LazyOp& source, const Mask& ranges) const;
  LazyOp restricted(const LazyNode& n, const Mask& ranges) const;

  LazyOp kernel_;
  std::unordered_map<const LazyNode*, Mask> added_;
  bool several_;
  std::vector<const LazyNode*> nodes_;
  std::unordered_map<const LazyNode*, LazyOp> handles_;
  std::unordered_map<const LazyNode*, std::vector<Mask>> ranges_;
  std::unordered_map<const LazyNode*, std::vector<LazyOp>> made_;  // as ranges_
  int slot_ = 0;                                                   // of the next temporary
  BlockChain out_;
};

}  // namespace strata::detail
