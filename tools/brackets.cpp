#include "tools/brackets.h"

#include <algorithm>

#include "strata/base/text.h"
#include "strata/expr/grammar.h"

namespace strata::tools {
namespace {

bool closes(char c) { return c == ')' || c == ']' || c == '}'; }

/// The position behind the quoted text that begins at `at`; the end of `text` if the quote is not closed.
std::size_t quotes_end(std::string_view text, std::size_t at) {
  return std::min(text.find('"', at + 1), text.size() - 1) + 1;
}

}  // namespace

bool opens(char c) { return c == '(' || c == '[' || c == '{'; }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::size_t find_outside(std::string_view text, std::string_view separators) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0 && separators.find(c) != std::string_view::npos) return i;
    if (c == '"') i = quotes_end(text, i) - 1;
    if (opens(c)) ++depth;
    if (closes(c) && depth > 0) --depth;
  }
  return text.size();
}

std::size_t bracket_end(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') i = quotes_end(text, i) - 1;
    if (opens(text[i])) ++depth;
    if (closes(text[i]) && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

std::string_view leading_name(std::string_view text) {
  const auto letter = [&](std::size_t i) { return i < text.size() && is_name_start(text[i]); };
  std::size_t end = 0;
  while (letter(end)) {
    while (letter(end) || (end < text.size() && is_digit(text[end]))) ++end;
    const std::size_t scope = text.substr(end).starts_with("::") ? 2 : 1;
    if (end < text.size() && (text[end] == '.' || scope == 2) && letter(end + scope))
      end += scope;
    else
      break;
  }
  return text.substr(0, end);
}

std::string_view unbracketed(std::string_view text) {
  text = trimmed(text);
  std::string_view inner = text;
  const std::string_view name = leading_name(text);
  if (text.substr(name.size()).starts_with('{')) inner.remove_prefix(name.size());
  if (inner.empty() || !opens(inner.front())) return text;
  return bracket_end(inner) == inner.size() ? inner.substr(1, inner.size() - 2) : text;
}

std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  while (!trimmed(list).empty()) {
    const std::size_t end = find_outside(list, ",");
    items.push_back(trimmed(list.substr(0, end)));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return items;
}

}  // namespace strata::tools
