// Reading shapes, masks and views from texts.
#include "tools/view_text.h"

#include <algorithm>

#include "strata/base/quotes.h"
#include "strata/expr/parse.h"

namespace strata::tools {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t\n") + 1);
}

int step_of(char c) {
  if (c == '(' || c == '[') return 1;
  return c == ')' || c == ']' ? -1 : 0;
}

/// The first `separator` of `text` outside of brackets; its size when there is none.
std::size_t find_outside(std::string_view text, char separator) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == separator && depth == 0) return i;
    depth += step_of(text[i]);
  }
  return text.size();
}

/// `text` without the bracket around all of it, if there is one.
std::string_view unbracketed(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || step_of(text.front()) != 1) return text;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += step_of(text[i]);
    if (depth == 0) return i + 1 == text.size() ? text.substr(1, text.size() - 2) : text;
  }
  return text;
}

/// The parts between the commas outside of brackets; a comma at the end counts for nothing.
std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  while (!trimmed(list).empty()) {
    const std::size_t end = find_outside(list, ',');
    items.push_back(trimmed(list.substr(0, end)));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return items;
}

/// A text and where it comes from, for errors: what is read are parts of it.
struct Source {
  std::string_view text, where;
  const std::vector<Variable>& variables;

  [[noreturn]] void fail(std::string_view part, const std::string& message) const {
    const auto column = static_cast<std::size_t>(part.data() - text.data()) + 1;
    throw TextError(Error(ErrorKind::parse, message, column), text, where);
  }
  Int number(std::string_view part) const {
    if (part.empty()) fail(part, "[parse] expected a number");
    try {
      return Int(parse(part, variables));
    } catch (const Error& e) {
      const std::size_t before = static_cast<std::size_t>(part.data() - text.data());
      const std::size_t column = e.column() == 0 ? 0 : e.column() + before;
      throw TextError(Error(e.kind(), e.what(), column), text, where);
    }
  }
  Ints numbers(std::string_view part) const {
    Ints out;
    for (const std::string_view item : items_of(unbracketed(part))) out.push_back(number(item));
    return out;
  }
  /// The two parts around ':' or, in brackets, ','; nothing when there is one part alone.
  std::optional<std::pair<std::string_view, std::string_view>> halves(std::string_view item) const {
    const std::string_view inner = unbracketed(item);
    const bool bracketed = inner.size() != item.size();
    const std::size_t at = find_outside(inner, bracketed ? ',' : ':');
    if (at == inner.size()) return std::nullopt;
    return std::pair(trimmed(inner.substr(0, at)), trimmed(inner.substr(at + 1)));
  }
  Padding extents(std::string_view part, const Ints& shape) const {
    Padding out;
    const auto items = items_of(unbracketed(part));
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto pair = halves(items[i]);
      if (!pair) fail(items[i], "[parse] expected begin:end, found " + in_quotes(items[i]));
      const auto& [begin, end] = *pair;
      if (end.empty() && i >= shape.size()) fail(items[i], "[parse] there is no such dimension");
      out.push_back({begin.empty() ? Int(0) : number(begin), end.empty() ? shape[i] : number(end)});
    }
    return out;
  }
};

/// `View(name=value, ...)` without its frame.
View read_view(const Source& source, std::string_view fields) {
  std::optional<Ints> shape;
  std::optional<Ints> strides;
  Int offset = 0;
  std::string_view mask = "None";
  for (const std::string_view field : items_of(fields)) {
    const std::size_t equals = std::min(field.find('='), field.size());
    const std::string_view name = trimmed(field.substr(0, equals));
    const std::string_view value = trimmed(field.substr(std::min(equals + 1, field.size())));
    if (name == "shape") {
      shape = source.numbers(value);
    } else if (name == "strides") {
      strides = source.numbers(value);
    } else if (name == "offset") {
      offset = source.number(value);
    } else if (name == "mask") {
      mask = value;
    } else if (name != "contiguous") {  // which follows from the others
      source.fail(field, "[parse] a View has no " + in_quotes(name));
    }
  }
  if (!shape) source.fail(fields, "[parse] a View needs shape=(...)");
  std::optional<Mask> extents;
  if (mask != "None") extents = to_mask(source.extents(mask, *shape));
  return View::create(*shape, std::move(strides), offset, std::move(extents));
}

}  // namespace

Int ViewText::number(std::string_view text, std::string_view where) const {
  return Source{text, where, variables_}.number(trimmed(text));
}

Ints ViewText::numbers(std::string_view text, std::string_view where) const {
  return Source{text, where, variables_}.numbers(text);
}

Padding ViewText::paddings(std::string_view text, std::string_view where) const {
  const Source source{text, where, variables_};
  Padding out;
  for (const std::string_view item : items_of(unbracketed(text))) {
    const auto pair = source.halves(item);
    out.push_back(pair ? std::pair(source.number(pair->first), source.number(pair->second))
                       : std::pair(source.number(item), source.number(item)));
  }
  return out;
}

Padding ViewText::extents(std::string_view text, const Ints& shape, std::string_view where) const {
  return Source{text, where, variables_}.extents(text, shape);
}

std::vector<View> ViewText::views(std::string_view text, std::string_view where) const {
  const Source source{text, where, variables_};
  std::vector<View> out;
  std::string frame;  // the text without its Views
  std::string_view rest = text;
  while (!rest.empty()) {
    if (!rest.starts_with("View(")) {
      if (!trimmed(rest.substr(0, 1)).empty()) frame += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    rest.remove_prefix(5);
    const std::size_t end = find_outside(rest, ')');
    if (end == rest.size()) source.fail(rest, "[parse] the bracket of View( is not closed");
    out.push_back(read_view(source, rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  std::string commas(out.empty() ? 0 : out.size() - 1, ',');
  const bool alone = out.size() == 1 && frame.empty();
  const bool stack = frame == "ShapeTracker(views=(" + commas + "))" || frame == commas ||
                     (out.size() == 1 && frame == "ShapeTracker(views=(,))");
  if (out.empty() || !(alone || stack))
    source.fail(text,
                "[parse] expected View(shape=(...), ...) or ShapeTracker(views=(View(...), ...))");
  return out;
}

}  // namespace strata::tools
