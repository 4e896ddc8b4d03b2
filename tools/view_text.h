// Shapes, masks and views as texts on the command line.
//
// A list is written `3,2`, with or without brackets: `(3, 2)`, `[3,2]`. A number may be an expression over declared variables. A
// pair of pad is `before:after`, one of shrink or mask `begin:end` with either left out, as Python's slices. Views are
// written as they print: `View(shape=(3, 2), strides=(2, 1))` or `ShapeTracker(views=(View(...), View(...)))`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/view/view.h"
#include "tools/ask_view.h"

namespace strata::tools {

/// A text whose parts are read, and where it comes from, for errors. Each throws TextError with the column in the whole text.
struct ViewSource {
  std::string_view text, where;
  const std::vector<Variable>& variables;

  /// The 1-based byte at which `part`, a part of `text`, begins.
  std::size_t column_of(std::string_view part) const {
    return static_cast<std::size_t>(part.data() - text.data()) + 1;
  }
  [[noreturn]] void fail(std::string_view part, const std::string& message,
                         ErrorKind kind = ErrorKind::parse) const;
  /// Throws an error that has its column in `part`.
  [[noreturn]] void fail_inside(std::string_view part, const Error& e) const;
  Int number(std::string_view part) const;
  Ints numbers(std::string_view part) const;
  /// The two parts around ':' or, in brackets, ','; nothing when there is one part alone.
  std::optional<std::pair<std::string_view, std::string_view>> halves(std::string_view item) const;
  Padding paddings(const std::vector<std::string_view>& items) const;
  Padding extents(const std::vector<std::string_view>& items, const Ints& shape) const;
  /// What stands in the brackets of `View(...)`: shape, strides, offset, mask, contiguous, in this order or by name.
  View view(std::string_view fields) const;
};

/// The text in double quotes that is the first argument of `call`, as in `parse("n*2", {n})`.
std::string_view literal_argument(const ViewSource& source, std::string_view call);

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
