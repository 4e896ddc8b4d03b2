// The one text notation for whatever the program can look at: a View or a chain of movements, a layout or a call of the
// layout algebra, an expression, a kernel.
//
//   n: 1..100; ShapeTracker.from_shape((n, 3)).permute((1, 0))
//   (3, 2).permute(1, 0).reshape(3, 2)
//   composition((6,2):(8,2), (4,3):(3,1))
//   i: 0..7; i*2 + 1; valid i < 4; assume i % 2 == 0
//   a: f32[64,64]; b: f32[64,64]; c = relu(a @ b)
//
// Statements end at `;` or at the end of a line, outside of brackets; a line that begins with a point goes on with the one
// before. `name: min..max`, or a Variable as Python and C++ write one, has inclusive bounds. What kind of text it is follows from
// how it begins. The spellings of C++ (braces, `::`, `parse_layout("...")`) and of Python (its imports are passed over) are
// read as well, and so are the older ones of the specification: `ShapeTracker(shape=(2,), views=[View((2,), (1,), 0)])`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ask_layout.h"
#include "tools/ask_view.h"

namespace strata::tools {

/// A movement, or `simplify`.
struct BoxOp {
  const MovementOp* op = nullptr;  ///< nothing for simplify
  Movement movement;
  std::string_view name() const { return op == nullptr ? "simplify" : op->name; }
};

struct BoxView {
  std::optional<Ints> shape;  ///< where it starts from a shape
  std::vector<View> views;    ///< else from these, memory first
  std::vector<BoxOp> ops;
  ShapeTracker stack;  ///< after the ops
};

struct BoxLayout {
  const LayoutFunction* function = nullptr;  ///< nothing: args[0] as it is
  std::vector<std::string> args;
  LayoutAnswer answer;
};

struct BoxExpr {
  std::string text;
  std::vector<std::string> assume;
  std::optional<std::string> valid;
  std::vector<std::string> unbound;  ///< names without bounds; where there are any, the texts are not looked into further
};

struct BoxKernel {
  std::string text;
};

/// What a text says: one of the four.
struct Box {
  std::vector<Variable> variables;
  std::optional<BoxView> view;
  std::optional<BoxLayout> layout;
  std::optional<BoxExpr> expr;
  std::optional<BoxKernel> kernel;
};

/// @throws Error with the column in `text`: (parse) for what is none of these, and what its own reader says.
Box read_box(std::string_view text, Work& work);

}  // namespace strata::tools
