// Reads layouts and calls of the layout algebra in the box.
#include <algorithm>

#include "strata/base/quotes.h"
#include "tools/box_parts.h"
#include "tools/brackets.h"

namespace strata::tools {
namespace {

constexpr int most_nested_calls = 64;

/// The last part of a qualified name: `composition` of `layout.composition` and of `strata::composition`.
std::string_view without_scope(std::string_view name) {
  return name.substr(std::min(name.find_last_of(".:") + 1, name.size()));
}

const LayoutFunction* function_named(std::string_view name) {
  return find_layout_function(name == "Swizzle" ? "swizzle" : name);
}

bool is_constructor(std::string_view name) {
  return name == "Layout" || name == "parse_layout" || name == "parse_coordinate";
}

/// The arguments between commas; `<4:1, 8:2>` is one argument.
std::vector<std::string_view> arguments_of(std::string_view list) {
  std::vector<std::string_view> out;
  bool open = false;
  for (const std::string_view item : items_of(list)) {
    if (open)
      out.back() = {out.back().data(), static_cast<std::size_t>(item.data() - out.back().data()) + item.size()};
    else
      out.push_back(item);
    open = out.back().starts_with('<') && !out.back().ends_with('>');
  }
  return out;
}

/// The text of an argument in the notation of LayoutArguments, and the part of the source from which it comes, for
/// errors.
struct LayoutTextPart {
  std::string text;
  std::string_view part;
};

class LayoutReader {
 public:
  LayoutReader(const ViewSource& source, Work& work) : source_(source), work_(work) {}

  BoxLayout run(std::string_view part) const { return read(trimmed(part), 0); }

 private:
  /// Whether `part` begins with a call of a layout function or constructor; else it is a layout in the text notation.
  static bool is_call(std::string_view part) {
    const std::string_view name = leading_name(part);
    const std::string_view last = without_scope(name);
    return part.substr(name.size()).starts_with('(') && (is_constructor(last) || function_named(last) != nullptr);
  }

  BoxLayout read(std::string_view part, int depth) const {
    if (depth == most_nested_calls)
      source_.fail(part, detail::message("[budget] calls nested deeper than ", most_nested_calls), ErrorKind::budget);
    if (part.starts_with('"') || !is_call(part)) return ask(nullptr, {text_of(part)}, part);
    const std::string_view name = leading_name(part);
    std::string_view rest = part.substr(name.size());
    BoxLayout out = call(name, bracket(rest), depth);
    while (rest = trimmed(rest), !rest.empty()) {  // methods on the result
      if (!rest.starts_with('.')) source_.fail(rest, "[parse] expected .name(...) or the end");
      rest.remove_prefix(1);
      const std::string_view method = leading_name(rest);
      rest.remove_prefix(method.size());
      const LayoutFunction* function = function_named(method);
      if (function == nullptr) source_.fail(method, "[parse] there is no layout function " + in_quotes(method));
      std::vector<LayoutTextPart> arguments = {{value_text(out, part), part}};
      for (const std::string_view item : arguments_of(bracket(rest))) arguments.push_back(argument(item, depth + 1));
      out = ask(function, arguments, method);
    }
    return out;
  }

  /// The text inside the bracket with which `rest` begins. Removes the bracket from `rest`.
  std::string_view bracket(std::string_view& rest) const {
    if (!rest.starts_with('(')) source_.fail(rest, "[parse] expected '('");
    const std::size_t end = bracket_end(rest);
    if (end == std::string_view::npos) source_.fail(rest, "[parse] this bracket is never closed");
    const std::string_view inner = rest.substr(1, end - 2);
    rest.remove_prefix(end);
    return inner;
  }

  BoxLayout call(std::string_view name, std::string_view inner, int depth) const {
    const std::string_view last = without_scope(name);
    const std::vector<std::string_view> items = arguments_of(inner);
    if (is_constructor(last)) return constructed(name, items);
    std::vector<LayoutTextPart> arguments;
    for (const std::string_view item : items) arguments.push_back(argument(item, depth + 1));
    return ask(function_named(last), arguments, name);
  }

  /// A constructor call: `Layout("(2,4):(4,1)")`, or with sizes and strides `Layout((2, 4), (4, 1))`.
  BoxLayout constructed(std::string_view name, const std::vector<std::string_view>& items) const {
    if (items.empty()) source_.fail(name, "[parse] expected a layout's text, or sizes and strides");
    if (items[0].starts_with('"')) return ask(nullptr, {text_of(items[0])}, name);
    if (items.size() > 2) source_.fail(items[2], "[parse] a Layout has sizes and strides");
    std::string text(items[0]);
    if (items.size() == 2) text += detail::message(":", items[1]);
    return ask(nullptr, {{text, items[0]}}, name);
  }

  LayoutTextPart text_of(std::string_view part) const {
    if (!part.starts_with('"')) return {std::string(part), part};
    if (part.size() < 2 || part.find('"', 1) != part.size() - 1)
      source_.fail(part, "[parse] this text in quotes is never closed");
    const std::string_view inner = part.substr(1, part.size() - 2);
    return {std::string(inner), inner};
  }

  /// The text `(4:1, 8:2)` of a tiler in code: `Tiler{...}`, or a Python list.
  LayoutTextPart tiler(std::string_view item, int depth) const {
    std::string text;
    for (const std::string_view tile : items_of(unbracketed(item)))
      text += (text.empty() ? "(" : ", ") + argument(tile, depth + 1).text;
    return {text + ")", item};
  }

  LayoutTextPart argument(std::string_view item, int depth) const {
    if (depth > most_nested_calls) source_.fail(item, "[budget] lists nested too deep", ErrorKind::budget);
    if (item.starts_with('[') || item.starts_with('{') || item.starts_with("Tiler{")) return tiler(item, depth);
    if (!is_call(item)) return text_of(item);
    if (without_scope(leading_name(item)) == "parse_coordinate") return text_of(literal_argument(source_, item));
    return {value_text(read(item, depth), item), item};
  }

  std::string value_text(const BoxLayout& value, std::string_view part) const {
    if (value.answer.layout) return render(*value.answer.layout);
    if (value.answer.value) return render(*value.answer.value);
    source_.fail(part, "[parse] a swizzle is not a layout: no function takes a swizzle");
  }

  BoxLayout ask(const LayoutFunction* function, const std::vector<LayoutTextPart>& arguments,
                std::string_view place) const {
    BoxLayout out;
    out.function = function;
    for (const LayoutTextPart& a : arguments) out.args.push_back(a.text);
    const LayoutArguments read(out.args, "", false, source_.variables, work_);
    try {
      out.answer = function == nullptr ? LayoutAnswer{read.layout(0), {}, {}} : ask_layout(*function, read);
    } catch (const TextError& e) {
      for (const LayoutTextPart& a : arguments) {
        if (a.text != e.text()) continue;
        if (a.text == a.part) source_.fail_inside(a.part, e);
        source_.fail(a.part, e.what(), e.kind());
      }
      throw;
    } catch (const Error& e) {
      source_.fail(place, e.what(), e.kind() == ErrorKind::request ? ErrorKind::parse : e.kind());
    }
    return out;
  }

  const ViewSource& source_;
  Work& work_;
};

}  // namespace

bool looks_like_layout(std::string_view statement) {
  statement = trimmed(statement);
  const std::string_view name = leading_name(statement);
  const std::string_view last = without_scope(name);
  const bool called = statement.substr(name.size()).starts_with('(');
  if (called && (function_named(last) != nullptr || is_constructor(last))) return true;
  return find_outside(statement, ":") < std::min(find_outside(statement, "?\\"), statement.size());
}

BoxLayout read_box_layout(const ViewSource& source, std::string_view statement, Work& work) {
  return LayoutReader(source, work).run(statement);
}

}  // namespace strata::tools
