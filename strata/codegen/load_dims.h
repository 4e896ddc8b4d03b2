// LoadDims: the dimensions along which the only LOAD of a buffer moves, and the axes of the kernel that they follow;
// for rewrites that copy the elements of a buffer in another order (pack.h, dot.h). Internal to codegen/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// A dimension of the LOAD along which it moves.
struct MovingDim {
  std::size_t dim, axis;
  std::int64_t size;
};

/// The dimensions of the LOAD of a buffer and the axes that they follow, or the reason why there are none.
class LoadDims {
 public:
  /// @param most_copies how often the elements of the buffer are read at several indices at most, e.g. by windows
  LoadDims(const LazyOp& kernel, int slot, const Target& target, std::int64_t most_copies = 1);

  /// Why the buffer has none, e.g. "buffer 2 has a symbolic size"; empty where it has.
  const std::string& reason() const { return reason_; }
  /// @pre reason().empty()
  const LazyNode& load() const { return *load_; }
  LazyOp load_op() const;
  /// Outermost axes first. @pre reason().empty()
  const std::vector<MovingDim>& dims() const { return dims_; }
  /// The position in dims() of the dimension that follows `axis`, or their number.
  std::size_t position_of(std::size_t axis) const;
  /// The number of output axes of the kernel.
  std::size_t outputs() const { return axes_.outputs(); }

 private:
  template <class... Why>
  void refuse(const Why&... why) {
    reason_ = detail::message("buffer ", slot_, " ", why...);
  }
  void find_load(const LazyOp& kernel);
  std::optional<std::vector<std::int64_t>> steps(const Lowered& plain) const;
  void find_dims(const LazyOp& kernel, const Target& target, std::int64_t most_copies);

  KernelAxes axes_;
  int slot_;
  const LazyNode* load_ = nullptr;
  std::vector<MovingDim> dims_;
  std::string reason_;
};

Ints sizes_of(std::span<const MovingDim> dims);
Axes inverse_order(const Axes& order);
/// `load` without the dimensions along which it does not move, the others in the order of `dims`.
LazyOp moving(const LazyOp& load, std::span<const MovingDim> dims);
/// The inverse of moving(): `x`, whose dimensions are `dims`, in the shape `shape`.
LazyOp spread(const LazyOp& x, std::span<const MovingDim> dims, const Ints& shape);

}  // namespace strata
