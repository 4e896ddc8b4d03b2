// Placed nodes: what the engine knows of tensors whose elements the ranks of a mesh have in parts. The floor spmd
// implements both interfaces; realize() and explain() hand graphs with such nodes to it, and buffer_of() gathers.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "strata/graph/lazy_op.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/device.h"

namespace strata {

/// A NodePlacement that computes what is above it.
class ComputingPlacement : public NodePlacement {
 public:
  /// As strata::realize(), on all ranks. Collective. @throws Error (domain) where the roots are placed on two meshes
  virtual void realize(std::span<const LazyOp> roots, const Device& device) const = 0;
  /// As strata::explain(). Runs nothing.
  virtual std::string explain(std::span<const LazyOp> roots, const Device& device) const = 0;
};

class PlacedStorage;

/// How the elements of a placed node are in its memory.
class PlacedForm {
 public:
  virtual ~PlacedForm() = default;
  /// Such elements in another memory. @pre `memory` has the size and the dtype of PlacedStorage::parts()
  virtual std::shared_ptr<PlacedStorage> over(const Buffer& memory) const = 0;
  /// The same memory as elements of a shape without the first `axes` axes; null where ranks have parts along one of
  /// them. @pre their sizes are 1
  virtual std::shared_ptr<const PlacedForm> without_leading(std::size_t axes) const = 0;
  virtual bool is_same(const PlacedForm& other) const = 0;
};
bool is_same_form(const std::shared_ptr<const PlacedForm>& a, const std::shared_ptr<const PlacedForm>& b);

/// The memory of a placed node.
class PlacedStorage : public Storage {
 public:
  const void* host() const override { return nullptr; }
  /// All elements in one memory, row-major: this rank's own where it has all, else gathered, which is collective.
  virtual Buffer whole() const = 0;
  /// The elements that this process has.
  virtual Buffer parts() const = 0;
  virtual std::shared_ptr<const PlacedForm> form() const = 0;
  virtual std::shared_ptr<const NodePlacement> placement() const = 0;
};

/// The memory of `n` where it is placed; else null.
std::shared_ptr<const PlacedStorage> placed_storage(const LazyOp& n);
/// The placement that `n` itself states, through annotations; null where it states none.
std::shared_ptr<const NodePlacement> stated_placement(const LazyOp& n);
/// `value`, placed as `like` is, where that states a placement; else `value`.
LazyOp placed_like(const LazyOp& value, const LazyOp& like);
/// A new realized EMPTY node of the shape and dtype of `n`, which has the placed memory of `n`. @pre placed_storage(n)
LazyOp placed_leaf_of(const LazyOp& n);

/// The memory of a realized node: buffer_of(n); of a placed node the parts that this process has. Never collective.
/// @throws as buffer_of()
Buffer memory_of(const LazyOp& n);
/// The form of the memory of `n` where it is placed; else null.
std::shared_ptr<const PlacedForm> placed_form(const LazyOp& n);
/// A new realized EMPTY node over `memory`: leaf_of(memory, shape), or placed in a form that is not null.
LazyOp leaf_of(const Buffer& memory, const Ints& shape, const std::shared_ptr<const PlacedForm>& form);
/// The placement that decides how the roots are computed; null where none is placed, and where all are realized.
const ComputingPlacement* placement_of(std::span<const LazyOp> roots);

}  // namespace strata
