// NodePlacement: where the elements of a tensor are, if they are not in one memory: each rank of a mesh has a part of
// them. A node may state it (LazyOp::placed, or memory that is placed); nodes that are computed from such nodes know
// one of the placements below them. The graph knows no more of it than this interface, which the floor spmd implements.
#pragma once

#include <cstdint>
#include <string>

namespace strata {

/// Where the memory of a node is, if it is in parts.
class NodePlacement {
 public:
  NodePlacement() = default;
  NodePlacement(const NodePlacement&) = delete;
  NodePlacement& operator=(const NodePlacement&) = delete;
  virtual ~NodePlacement() = default;
  /// In words: `data:0 on data=2,model=4`. Placements with one text on the same ranks are one object.
  virtual std::string text() const = 0;
};

}  // namespace strata
