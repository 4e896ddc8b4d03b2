// read_box(): reads the notation of the page's input box, which covers all that the program can look at: a View or a
// chain of movement operations, a layout or a call of the layout algebra, an expression, a kernel. The commands and
// requests use the same notation for links, checks and conversions.
//
//   n: 1..100; ShapeTracker.from_shape((n, 3)).permute((1, 0))
//   (3, 2).permute(1, 0).reshape(3, 2)
//   composition((6,2):(8,2), (4,3):(3,1))
//   i: 0..7; i*2 + 1; valid i < 4; assume i % 2 == 0
//   a: f32[64,64]; b: f32[64,64]; c = relu(a @ b)
//
// A statement ends at `;` or at the end of a line, outside of brackets; a line that begins with a point continues the
// line before. `name: min..max`, or a Variable in the syntax of Python or C++, declares a variable with inclusive
// bounds. The beginning of the text decides its kind. The syntax of C++ (braces, `::`, `parse_layout("...")`), of
// Python (imports are skipped) and of the specification
// (`ShapeTracker(shape=(2,), views=[View((2,), (1,), 0)])`) is accepted, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ask_layout.h"
#include "tools/ask_view.h"

namespace strata::tools {

/// An operation of a chain: a movement, or `simplify`.
struct BoxOp {
  const MovementOp* op = nullptr;  ///< null for simplify
  Movement movement;
  std::string_view name() const { return op == nullptr ? "simplify" : op->name; }
};

/// A chain: it starts from a shape or from Views, and applies operations.
struct BoxView {
  std::optional<Ints> shape;  ///< the shape, if the chain starts from one
  std::vector<View> views;    ///< the Views, if it starts from them; the one next to memory first
  std::vector<BoxOp> ops;
  ShapeTracker stack;  ///< the result
};

/// A layout, or a call of the layout algebra.
struct BoxLayout {
  const LayoutFunction* function = nullptr;  ///< null: the layout args[0] itself
  std::vector<std::string> args;
  LayoutAnswer answer;
};

/// An expression, with `assume` conditions and a `valid` condition.
struct BoxExpr {
  std::string text;
  std::vector<std::string> assume;
  std::optional<std::string> valid;
  std::vector<std::string> unbound;  ///< names without bounds; if there are any, the texts were not parsed
};

/// The text of a kernel.
struct BoxKernel {
  std::string text;
};

/// The contents of a text: exactly one of the four optionals has a value.
struct Box {
  std::vector<Variable> variables;
  std::optional<BoxView> view;
  std::optional<BoxLayout> layout;
  std::optional<BoxExpr> expr;
  std::optional<BoxKernel> kernel;
};

/// Reads a text. @throws Error with the column in `text`: (parse) if the text is of no kind, and as the readers of the
/// kinds
Box read_box(std::string_view text, Work& work);

}  // namespace strata::tools
