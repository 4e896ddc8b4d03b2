// Calls of the layout algebra by name, for `strata layout`, the box and the request `layout`: the name of a function
// and texts in; a layout, a table or a value out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/layout/layout.h"
#include "tools/ask.h"

namespace strata::tools {

/// The arguments of a call. Each is parsed when it is asked for, as the type that the function needs.
class LayoutArguments {
 public:
  /// @param where the name of an argument in errors; if `numbered`, with its index, e.g. "args[0]"
  LayoutArguments(std::vector<std::string> texts, std::string_view where, bool numbered,
                  std::vector<Variable> variables, Work& work);

  std::size_t size() const { return texts_.size(); }
  // All of these throw TextError with the column in argument i.
  /// Argument i as a layout; an integer n means `n:1`.
  Layout layout(std::size_t i) const;
  /// Whether argument i is a tiler, a list with a layout for each mode: `(4:1, 8:2)`, `<4:1, 8:2>`, `(4, 8)`.
  bool is_tiler(std::size_t i) const;
  std::vector<Layout> tiler(std::size_t i) const;
  std::int64_t integer(std::size_t i) const;
  Coordinate coordinate(std::size_t i) const;
  Work& work() const { return work_; }
  /// The budget for one decision of the layout algebra. It is smaller than the algebra's default if less work is left,
  /// and larger if the request has a larger budget than the default.
  std::uint64_t decision_budget() const;

 private:
  template <class Read>
  auto read(std::size_t i, const Read& read) const;

  std::vector<std::string> texts_;
  std::string where_;
  bool numbered_;
  std::vector<Variable> variables_;
  Work& work_;
};

/// The result of a call: exactly one of the three.
struct LayoutAnswer {
  std::optional<Layout> layout;
  std::optional<std::vector<std::int64_t>> table;  ///< the values of a function, over its whole domain
  std::optional<Coordinate> value;
};

/// A row of the table of functions.
struct LayoutFunction {
  std::string_view name;
  std::string_view arguments;  ///< for help texts, e.g. "A B"
  std::size_t least, most;     ///< the number of arguments
  LayoutAnswer (*call)(const LayoutArguments&);
};

std::span<const LayoutFunction> layout_functions();
const LayoutFunction* find_layout_function(std::string_view name);

/// Calls the function. @throws Error (request) for a wrong number of arguments, (budget) before the work is done, and
/// as the function
LayoutAnswer ask_layout(const LayoutFunction& function, const LayoutArguments& arguments);

/// The values of a layout without symbolic sizes, over its whole domain. @throws Error (budget) before they are
/// computed
std::vector<std::int64_t> charged_table(const Layout& layout, Work& work);

}  // namespace strata::tools
