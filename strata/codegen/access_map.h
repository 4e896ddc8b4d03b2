// AccessMap: a LOAD as a linear map of its index. The windows of a convolution, for example, are a LOAD of shape
// (rows, columns, 3, 3) whose elements overlap: the element (i, j, u, v) is the element (i + u, j + v) of the padded
// image. A tile of the image is 9 times smaller than a tile of the windows. Internal to codegen/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strata/view/shape_tracker.h"

namespace strata {

/// The element of a LOAD at index i is the element of `source` at the index c with
///   c[j] = offset[j] + sum over d of factor[j][d] * i[d].
struct AccessMap {
  ShapeTracker source;                            ///< of the same buffer; masked where the LOAD is
  std::vector<std::vector<std::int64_t>> factor;  ///< by dimension of `source`, by dimension of the LOAD
  std::vector<std::int64_t> offset;               ///< by dimension of `source`

  /// c for the index `idxs` of the LOAD.
  std::vector<Expr> at(std::span<const Expr> idxs) const;
};

/// A map of the LOAD `st` to a source that has each element as few times as possible: dimensions of `st` that overlap,
/// and those that repeat an element, fall together. Where the topmost View of `st` has a mask or symbolic strides, or
/// does not step through the dimensions of the View below it one by one: the identity, but for repeated elements.
/// @pre `st` is simplified
AccessMap access_map(const ShapeTracker& st);

}  // namespace strata
