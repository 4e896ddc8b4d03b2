// Late division: in a kernel in blocks (chain.h), the weights of a softmax are divided by their sum behind the product
// that uses them, once an element of its result:
//   sum over j of (e[j] / sum(e)) * v[j]  =  (sum over j of e[j] * v[j]) / sum(e)     with e[j] = exp(x[j] - max(x))
// Then exp() is computed once for each score, not once more for the sum, and the division is no pass over the scores.
// e is in [0, 1], and is scaled by a power of two that is at most 1 / n for n scores, so that no sum overflows where no
// v does. Internal to schedule/.
#pragma once

#include "strata/graph/lazy_op.h"

namespace strata {

/// `kernel`, a SINK, with late divisions of its CONTIGUOUS nodes where their operands are as above; also where max(x)
/// is replaced where it is -infinity, and sum(e) where it is 0, as in scaled_dot_product_attention().
LazyOp with_late_divisions(const LazyOp& kernel);

}  // namespace strata
