// Proofs about texts in the box (box_text.h), for the request `check`: whether two index functions are equal, and
// whether one is injective, contiguous or in bounds. A View, a layout and an expression can be compared with one
// another if both are functions of the same coordinates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/box_text.h"

namespace strata::tools {

/// The result of a check. An answer `no` has a witness, a counterexample, if there is one to show.
struct CheckAnswer {
  Answer answer = Answer::unknown;
  std::vector<Index> witness = {};  ///< one coordinate; for injective two coordinates
  Values at = {};                   ///< with the witness: values of the variables that are not coordinates
  std::string note = {};            ///< a remark, if there is one
};

// All of these throw Error (request) if the question has no meaning for the kind of text, e.g. a kernel, and (shape) if
// the coordinates of two texts do not match.
CheckAnswer check_equal(const Box& a, const Box& b, Work& work);
CheckAnswer check_injective(const Box& a, Work& work);
CheckAnswer check_contiguous(const Box& a, Work& work);
/// Whether every valid address is in [0, size).
CheckAnswer check_in_bounds(const Box& a, std::int64_t size, Work& work);

}  // namespace strata::tools
