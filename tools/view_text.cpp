// Parses shapes, masks and views.
#include "tools/view_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "strata/base/meter.h"
#include "strata/base/quotes.h"
#include "strata/expr/parse.h"
#include "tools/brackets.h"

namespace strata::tools {
namespace {

/// `part` without `Int(...)` around it, which C++ writes around a symbolic size.
std::string_view without_int(std::string_view part) {
  const bool framed = part.starts_with("Int(") && bracket_end(part.substr(3)) == part.size() - 3;
  return framed ? part.substr(4, part.size() - 5) : part;
}

/// The number of `part`; nothing if it is not a number.
std::optional<std::int64_t> plain_number(std::string_view part) {
  std::int64_t value = 0;
  const char* const end = part.data() + part.size();
  const auto [stop, error] = std::from_chars(part.data(), end, value);
  return stop == end && error == std::errc() ? std::optional(value) : std::nullopt;
}

/// The names of the fields of a View, in the order of positional arguments.
constexpr std::array<std::string_view, 5> view_fields = {"shape", "strides", "offset", "mask", "contiguous"};
using FieldTexts = std::array<std::optional<std::string_view>, view_fields.size()>;

FieldTexts split_fields(const ViewSource& source, std::string_view fields) {
  FieldTexts out;
  std::size_t next = 0;
  bool named = false;
  for (const std::string_view field : items_of(fields)) {
    const std::size_t equals = find_outside(field, "=");
    named = named || equals < field.size();
    if (named && equals == field.size()) source.fail(field, "[parse] every field after a name= needs a name, too");
    const std::string_view name = trimmed(field.substr(0, equals));
    const std::size_t at =
        named ? static_cast<std::size_t>(std::find(view_fields.begin(), view_fields.end(), name) - view_fields.begin())
              : next++;
    if (at >= view_fields.size())
      source.fail(field,
                  named ? "[parse] a View has no " + in_quotes(name) : std::string("[parse] a View has five fields"));
    if (out[at]) source.fail(field, detail::message("[parse] ", view_fields[at], " is given twice"));
    out[at] = named ? trimmed(field.substr(equals + 1)) : field;
  }
  return out;
}

bool is_none(std::string_view text) { return text == "None" || text == "null" || text == "std::nullopt"; }

}  // namespace

std::string_view literal_argument(const ViewSource& source, std::string_view call) {
  const std::size_t begin = call.find('(') + 1;
  const std::string_view arguments = call.substr(begin, call.size() - begin - 1);
  const std::vector<std::string_view> items = items_of(arguments);
  const std::string_view first = items.empty() ? arguments : items.front();
  if (first.size() < 2 || first.front() != '"' || first.find('"', 1) != first.size() - 1)
    source.fail(first, "[parse] expected a text in double quotes");
  return first.substr(1, first.size() - 2);
}

void ViewSource::fail(std::string_view part, const std::string& message, ErrorKind kind) const {
  throw TextError(Error(kind, message, column_of(part)), text, where);
}

void ViewSource::fail_inside(std::string_view part, const Error& e) const {
  const std::size_t column = e.column() == 0 ? 0 : e.column() + column_of(part) - 1;
  throw TextError(Error(e.kind(), e.what(), column), text, where);
}

Int ViewSource::number(std::string_view part) const {
  if (part.empty()) fail(part, "[parse] expected a number");
  part = without_int(part);
  const std::string_view name = leading_name(part);
  if ((name == "parse" || name.ends_with(".parse")) && part.substr(name.size()).starts_with('('))
    part = literal_argument(*this, part);
  if (const auto n = plain_number(part)) return *n;
  Meter::charge(32 * variables.size());  // parse() builds a table of the variables
  try {
    return Int(parse(part, variables));
  } catch (const Error& e) {
    fail_inside(part, e);
  }
}

Ints ViewSource::numbers(std::string_view part) const {
  Ints out;
  for (const std::string_view item : items_of(unbracketed(part))) out.push_back(number(item));
  return out;
}

std::optional<std::pair<std::string_view, std::string_view>> ViewSource::halves(std::string_view item) const {
  const std::string_view inner = unbracketed(item);
  const bool bracketed = inner.size() != item.size();
  const std::size_t at = find_outside(inner, bracketed ? "," : ":");
  if (at == inner.size()) return std::nullopt;
  return std::pair(trimmed(inner.substr(0, at)), trimmed(inner.substr(at + 1)));
}

Padding ViewSource::paddings(const std::vector<std::string_view>& items) const {
  Padding out;
  for (const std::string_view item : items) {
    const auto pair = halves(item);
    out.push_back(pair ? std::pair(number(pair->first), number(pair->second)) : std::pair(number(item), number(item)));
  }
  return out;
}

Padding ViewSource::extents(const std::vector<std::string_view>& items, const Ints& shape) const {
  Padding out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto pair = halves(items[i]);
    if (!pair) fail(items[i], "[parse] expected begin:end, found " + in_quotes(items[i]));
    const auto& [begin, end] = *pair;
    if (end.empty() && i >= shape.size()) fail(items[i], "[parse] there is no such dimension");
    out.push_back({begin.empty() ? Int(0) : number(begin), end.empty() ? shape[i] : number(end)});
  }
  return out;
}

View ViewSource::view(std::string_view fields) const {
  const auto [shape_text, strides_text, offset_text, mask_text, contiguous] =
      split_fields(*this, fields);  // `contiguous` is ignored: it follows from the other fields
  if (!shape_text) fail(fields, "[parse] a View needs shape=(...)");
  const Ints shape = numbers(*shape_text);
  std::optional<Ints> strides;
  if (strides_text && !is_none(*strides_text)) strides = numbers(*strides_text);
  std::optional<Mask> mask;
  if (mask_text && !is_none(*mask_text)) mask = to_mask(extents(items_of(unbracketed(*mask_text)), shape));
  return View::create(shape, std::move(strides), offset_text ? number(*offset_text) : Int(0), std::move(mask));
}

Int ViewText::number(std::string_view text, std::string_view where) const {
  return ViewSource{text, where, variables_}.number(trimmed(text));
}

Ints ViewText::numbers(std::string_view text, std::string_view where) const {
  return ViewSource{text, where, variables_}.numbers(text);
}

Padding ViewText::paddings(std::string_view text, std::string_view where) const {
  return ViewSource{text, where, variables_}.paddings(items_of(unbracketed(text)));
}

Padding ViewText::extents(std::string_view text, const Ints& shape, std::string_view where) const {
  return ViewSource{text, where, variables_}.extents(items_of(unbracketed(text)), shape);
}

std::vector<View> ViewText::views(std::string_view text, std::string_view where) const {
  const ViewSource source{text, where, variables_};
  std::vector<View> out;
  std::string frame;  // the text with the Views removed
  std::string_view rest = text;
  while (!rest.empty()) {
    if (!rest.starts_with("View(")) {
      if (!trimmed(rest.substr(0, 1)).empty()) frame += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    const std::string_view inner = rest.substr(5);
    const std::size_t end = bracket_end(rest.substr(4));
    if (end == std::string_view::npos) source.fail(inner, "[parse] the bracket of View( is not closed");
    out.push_back(source.view(inner.substr(0, end - 2)));
    rest.remove_prefix(4 + end);
  }
  std::string commas(out.empty() ? 0 : out.size() - 1, ',');
  const bool alone = out.size() == 1 && frame.empty();
  const bool stack = frame == "ShapeTracker(views=(" + commas + "))" || frame == commas ||
                     (out.size() == 1 && frame == "ShapeTracker(views=(,))");
  if (out.empty() || !(alone || stack))
    source.fail(text, "[parse] expected View(shape=(...), ...) or ShapeTracker(views=(View(...), ...))");
  return out;
}

}  // namespace strata::tools
