// The questions about layouts that `strata layout` and `strata batch` answer: a function's name and texts in, a layout, a table
// or a value out.
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

/// The arguments of a call, read when they are asked for.
class LayoutArguments {
 public:
  /// `where` is what one of them is called in errors: "args[0]"; with one name for all, just that.
  LayoutArguments(std::vector<std::string> texts, std::string_view where, bool numbered,
                  std::vector<Variable> variables, Work& work);

  std::size_t size() const { return texts_.size(); }
  // Each throws TextError with the column in that argument.
  /// A layout, or an integer n for `n:1`.
  Layout layout(std::size_t i) const;
  /// Whether it is a list of layouts, one a mode: `(4:1, 8:2)`, `<4:1, 8:2>`, `(4, 8)`.
  bool is_tiler(std::size_t i) const;
  std::vector<Layout> tiler(std::size_t i) const;
  std::int64_t integer(std::size_t i) const;
  Coordinate coordinate(std::size_t i) const;
  Work& work() const { return work_; }
  /// Work that one decision of the layout algebra may take: less than its default where less is left, and more where more
  /// is left than a request has by default.
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

struct LayoutAnswer {
  std::optional<Layout> layout;
  std::optional<std::vector<std::int64_t>> table;  ///< of values, over the whole domain
  std::optional<Coordinate> value;
};

struct LayoutFunction {
  std::string_view name;
  std::string_view arguments;  ///< "A B"
  std::size_t least, most;     ///< how many arguments
  LayoutAnswer (*call)(const LayoutArguments&);
};

std::span<const LayoutFunction> layout_functions();
const LayoutFunction* find_layout_function(std::string_view name);

/// @throws Error (request) for another number of arguments, (budget) before the work is done, and what the function does.
LayoutAnswer ask_layout(const LayoutFunction& function, const LayoutArguments& arguments);

/// All values of a layout of numbers, charged before they are computed.
std::vector<std::int64_t> charged_table(const Layout& layout, Work& work);

}  // namespace strata::tools
