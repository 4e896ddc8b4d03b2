// Parsers of shapes, paddings, masks and Views, for the options of `strata view` and for the box (box_text.h).
//
// A list is `3,2`, with or without brackets: `(3, 2)`, `[3,2]`. A number may be an expression over declared variables.
// A pair of pad is `before:after`; one of shrink or mask is `begin:end`, and either end may be omitted, as in Python's
// slices. Views have the notation in which they print: `View(shape=(3, 2), strides=(2, 1))` or
// `ShapeTracker(views=(View(...), View(...)))`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/view/view.h"
#include "tools/ask_view.h"

namespace strata::tools {

/// A text whose parts are parsed, and its name for errors. All functions throw TextError with the column in the whole
/// text.
struct ViewSource {
  std::string_view text, where;
  const std::vector<Variable>& variables;

  /// The 1-based column (in bytes) at which `part`, a view into `text`, begins.
  std::size_t column_of(std::string_view part) const { return static_cast<std::size_t>(part.data() - text.data()) + 1; }
  [[noreturn]] void fail(std::string_view part, const std::string& message, ErrorKind kind = ErrorKind::parse) const;
  /// Rethrows `e`, whose column is relative to `part`, as an error in `text`.
  [[noreturn]] void fail_inside(std::string_view part, const Error& e) const;
  Int number(std::string_view part) const;
  Ints numbers(std::string_view part) const;
  /// The two parts of `a:b`, or of `(a, b)`; nothing if `item` has one part only.
  std::optional<std::pair<std::string_view, std::string_view>> halves(std::string_view item) const;
  Padding paddings(const std::vector<std::string_view>& items) const;
  Padding extents(const std::vector<std::string_view>& items, const Ints& shape) const;
  /// The View of the arguments in `View(...)`: shape, strides, offset, mask, contiguous, in this order or by name.
  View view(std::string_view fields) const;
};

/// The first argument of `call`, a text in double quotes, without the quotes: n*2 for `parse("n*2", {n})`.
std::string_view literal_argument(const ViewSource& source, std::string_view call);

/// The same parsers for whole texts, e.g. the value of an option.
class ViewText {
 public:
  explicit ViewText(std::vector<Variable> variables) : variables_(std::move(variables)) {}

  // All of these throw TextError with the column in `text`; `where` is its name in the message.
  Int number(std::string_view text, std::string_view where) const;
  Ints numbers(std::string_view text, std::string_view where) const;
  /// Pairs `before:after`; `n` alone means `n:n`.
  Padding paddings(std::string_view text, std::string_view where) const;
  /// Half-open intervals `begin:end`, or `(begin, end)`, one for each dimension of `shape`, which supplies omitted
  /// ends.
  Padding extents(std::string_view text, const Ints& shape, std::string_view where) const;
  std::vector<View> views(std::string_view text, std::string_view where) const;

 private:
  std::vector<Variable> variables_;
};

}  // namespace strata::tools
