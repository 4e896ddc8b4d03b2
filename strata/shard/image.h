// The image of strided boxes through movement operations: which elements of a tensor a part of a result reads.
#pragma once

#include <cstddef>
#include <vector>

#include "strata/shard/stripes.h"
#include "strata/view/shape_tracker.h"

namespace strata {

/// The most boxes of an image.
inline constexpr std::size_t kMostImageBoxes = 512;

/// Disjoint boxes of a tensor.
struct Image {
  std::vector<StridedBox> boxes;
  /// True iff the elements that are read would take more than kMostImageBoxes boxes: `boxes` is then one larger box,
  /// which has them and others.
  bool is_larger = false;
};

/// The elements of a row-major tensor of `shape` that the indices `boxes` of `read` read: read(i) is the row-major
/// number of an element. Indices that are invalid read nothing. The number of steps does not depend on the sizes, but
/// where a reshape joins and cuts axes again whose sizes share no factor: there it grows with their least common
/// multiple, up to the limit.
/// @pre each box is inside of read.shape()
/// @throws Error (undefined) for symbolic sizes; (shape) where an address that may be read is not below the number of
///   elements
Image image_of(const ShapeTracker& read, const Index& shape, const std::vector<StridedBox>& boxes);

}  // namespace strata
