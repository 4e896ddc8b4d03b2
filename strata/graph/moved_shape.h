// Shapes after movement. As View's, with its checks and messages; where all is numbers and nothing is wrong, without a View,
// which is most of what building a movement op would take otherwise.
#pragma once

#include "strata/view/view.h"

namespace strata {

/// @pre of all: `shape` is that of a View.  @throws Error what the movement op of View (of ShapeTracker: reshape) throws
Ints reshaped(const Ints& shape, const Ints& to);
Ints permuted(const Ints& shape, const Axes& order);
Ints expanded(const Ints& shape, const Ints& to);
Ints padded(const Ints& shape, const Padding& padding);
Ints shrunk(const Ints& shape, const Mask& bounds);
Ints strided(const Ints& shape, const Ints& steps);
/// Throws where View::flip would.
void check_flip(const Ints& shape, const Axes& axes);

}  // namespace strata
