// What can be proven of texts in the box: equal, injective, contiguous, in bounds. Any mixture of a View, a layout and an expression
// is compared where both are functions of the same coordinates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/box_text.h"

namespace strata::tools {

/// An answer, with the coordinates that it rests on where it is `no`.
struct CheckAnswer {
  Answer answer = Answer::unknown;
  std::vector<Index> witness = {};  ///< one coordinate, two for injective; none where there is none to show
  Values at = {};         ///< values of variables that are no coordinates, with the witness
  std::string note = {};  ///< in a sentence, where there is something to say
};

// Each throws Error (request) where the text is of a kind that the question has no meaning for, (shape) where coordinates do not fit.
CheckAnswer check_equal(const Box& a, const Box& b, Work& work);
CheckAnswer check_injective(const Box& a, Work& work);
CheckAnswer check_contiguous(const Box& a, Work& work);
/// Is every valid address in [0, size)?
CheckAnswer check_in_bounds(const Box& a, std::int64_t size, Work& work);

}  // namespace strata::tools
