// The shapes that movement ops result in, for LazyOp. The results and Errors are those of View. Valid arguments with
// numeric sizes are computed directly: constructing a View would be most of the time of building a movement op.
#pragma once

#include "strata/view/view.h"

namespace strata {

/// The shape after a movement op of a tensor of shape `shape`. @pre of all: `shape` is a valid shape of a View
/// @throws Error as the function of View for the op (for reshaped(): as ShapeTracker::reshape)
Ints reshaped(const Ints& shape, const Ints& to);
Ints permuted(const Ints& shape, const Axes& order);
Ints expanded(const Ints& shape, const Ints& to);
Ints padded(const Ints& shape, const Padding& padding);
Ints shrunk(const Ints& shape, const Mask& bounds);
Ints strided(const Ints& shape, const Ints& steps);
/// @throws Error as View::flip
void check_flip(const Ints& shape, const Axes& axes);

}  // namespace strata
