// Shapes, masks and views as texts on the command line.
//
// A list is written `3,2`, with or without brackets: `(3, 2)`, `[3,2]`. A number may be an expression over declared variables. A
// pair of pad is `before:after`, one of shrink or mask `begin:end` with either left out, as Python's slices. Views are
// written as they print: `View(shape=(3, 2), strides=(2, 1))` or `ShapeTracker(views=(View(...), View(...)))`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strata/view/view.h"
#include "tools/ask_view.h"

namespace strata::tools {

class ViewText {
 public:
  explicit ViewText(std::vector<Variable> variables) : variables_(std::move(variables)) {}

  // Each throws TextError (parse), or what parse() throws, with the column in `text`; the words say `where` that is.
  Int number(std::string_view text, std::string_view where) const;
  Ints numbers(std::string_view text, std::string_view where) const;
  /// Pairs; `n` alone is n on both sides.
  Padding paddings(std::string_view text, std::string_view where) const;
  /// Half-open intervals of a box of shape `shape`, which supplies the ends that are left out. An item may also be written `(begin, end)`.
  Padding extents(std::string_view text, const Ints& shape, std::string_view where) const;
  std::vector<View> views(std::string_view text, std::string_view where) const;

 private:
  std::vector<Variable> variables_;
};

}  // namespace strata::tools
