// Writes C++ and Python code.
#include "tools/box_code.h"

#include <algorithm>
#include <array>
#include <limits>

#include "strata/base/check.h"
#include "tools/brackets.h"

namespace strata::tools {
namespace {

// Names that a variable cannot have: keywords of C++ and Python, and names that the snippets use.
// clang-format off
constexpr std::string_view taken_words[] = {
    "False", "Int", "Ints", "Layout", "Mask", "None", "ShapeTracker", "True", "Variable", "View", "alignas", "alignof",
    "and", "and_eq", "as", "asm", "assert", "async", "auto", "await", "bitand", "bitor", "bool", "break", "case", "catch",
    "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "def", "default", "del", "delete", "do",
    "double", "dynamic_cast", "elif", "else", "enum", "except", "explicit", "export", "expr", "extern", "false", "finally",
    "float", "for", "friend", "from", "global", "goto", "if", "import", "in", "inline", "int", "is", "lambda", "layout",
    "long", "mutable", "namespace", "new", "noexcept", "nonlocal", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
    "parse", "parse_layout", "pass", "private", "protected", "public", "raise", "register", "reinterpret_cast", "requires",
    "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "std", "strata", "struct", "switch",
    "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned",
    "using", "virtual", "void", "volatile", "wchar_t", "while", "with", "xor", "xor_eq", "yield"};
// clang-format on

std::string integer_literal(std::int64_t n, bool cpp) {
  if (cpp && n == std::numeric_limits<std::int64_t>::min())
    return detail::message("(", n + 1, " - 1)");  // 9223372036854775808 is not a literal
  return std::to_string(n);
}

bool is_a_name(std::string_view text) {
  return !text.empty() && leading_name(text) == text && text.find('.') == std::string_view::npos;
}

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += detail::message(out.empty() ? "" : ", ", item);
  return out;
}

}  // namespace

bool CodeText::can_declare() const {
  return std::none_of(variables_.begin(), variables_.end(), [](const Variable& v) {
    return std::binary_search(std::begin(taken_words), std::end(taken_words), v.name());
  });
}

std::string CodeText::head(std::string_view imported) const {
  std::string out;
  if (!is_cpp()) {
    out = detail::message("from strata import ", imported);
    out += variables_.empty() ? "\n" : ", Variable\n";
  }
  for (const Variable& v : variables_) {
    const std::string bounds = detail::message("(\"", v.name(), "\", ", integer_literal(v.min(), is_cpp()), ", ",
                                               integer_literal(v.max(), is_cpp()), ")");
    out += is_cpp() ? detail::message("const Variable ", v.name(), bounds, ";\n")
                    : detail::message(v.name(), " = Variable", bounds, "\n");
  }
  return out;
}

std::string CodeText::variable_list() const {
  std::vector<std::string> names;
  for (const Variable& v : variables_) names.emplace_back(v.name());
  return detail::message(is_cpp() ? "{" : "[", joined(names), is_cpp() ? "}" : "]");
}

std::string CodeText::parsed(std::string_view text) const {
  return detail::message(is_cpp() ? "parse(\"" : "expr.parse(\"", text, "\", ", variable_list(), ")");
}

std::string CodeText::number(const Int& n) const {
  if (n.is_number()) return integer_literal(n.value(), is_cpp());
  const std::string text = n.render();
  if (is_a_name(text)) return is_cpp() ? detail::message("Int(", text, ")") : text;
  return parsed(text);
}

std::string CodeText::tuple(const std::vector<std::string>& items) const {
  if (is_cpp()) return detail::message("{", joined(items), "}");
  return detail::message("(", joined(items), items.size() == 1 ? ",)" : ")");
}

std::string CodeText::numbers(const Ints& list) const {
  std::vector<std::string> items;
  for (const Int& n : list) items.push_back(number(n));
  return tuple(items);
}

std::string CodeText::pairs(const Padding& list) const {
  std::vector<std::string> items;
  for (const auto& [a, b] : list) items.push_back(tuple({number(a), number(b)}));
  return tuple(items);
}

std::string CodeText::mask(const Mask& mask) const {
  Padding list;
  for (const Extent& e : mask) list.push_back({e.begin, e.end});
  return pairs(list);
}

std::string CodeText::view(const View& view) const {
  std::string out = detail::message("View", scope(), "create(", numbers(view.shape()), ", ", is_cpp() ? "Ints" : "",
                                    numbers(view.strides()));
  if (view.offset() != Int(0) || view.mask()) out += detail::message(", ", number(view.offset()));
  if (view.mask()) out += detail::message(", ", is_cpp() ? "Mask" : "", mask(*view.mask()));
  return out + ")";
}

std::string CodeText::stack(const std::vector<View>& views) const {
  std::vector<std::string> items;
  for (const View& v : views) items.push_back(view(v));
  return detail::message("ShapeTracker(", tuple(items), ")");
}

std::string CodeText::layout(const Layout& layout) const {
  const std::string text = render(layout);
  if (is_cpp())
    return detail::message("parse_layout(\"", text, "\"", variables_.empty() ? "" : ", ",
                           variables_.empty() ? "" : variable_list(), ")");
  if (layout.is_concrete()) return detail::message("Layout(\"", text, "\")");
  for (const std::string_view word : {"select(", "min(", "max(", " and ", " or ", "!"})
    if (text.find(word) != std::string::npos) return "";
  const std::size_t colon = find_outside(text, ":");
  return detail::message("Layout(", text.substr(0, colon), ", ", text.substr(colon + 1), ")");
}

}  // namespace strata::tools
