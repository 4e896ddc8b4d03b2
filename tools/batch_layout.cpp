// The request `layout`.
#include <algorithm>

#include "strata/base/quotes.h"
#include "tools/ask_layout.h"
#include "tools/batch_rows.h"

namespace strata::tools {
namespace {

/// The text of a coordinate given as JSON: `[1,[2,3]]` gives `(1,(2,3))`.
std::string coordinate_text(const JsonValue& list) {
  std::string text = list.raw();
  if (text.find_first_not_of("0123456789-[], \t") != std::string::npos)
    throw Error(ErrorKind::request, "[request] a coordinate is made of integers", list.column());
  std::replace(text.begin(), text.end(), '[', '(');
  std::replace(text.begin(), text.end(), ']', ')');
  return text;
}

std::string argument_text(const JsonValue& value) {
  if (value.is(JsonKind::string)) return std::string(value.as_string("an item of args"));
  if (value.is(JsonKind::array)) return coordinate_text(value);
  return std::to_string(value.as_integer("an item of args"));
}

std::vector<std::string> argument_texts(const JsonValue& args) {
  std::vector<std::string> texts;
  for (const JsonValue& item : args.as_array("args")) texts.push_back(argument_text(item));
  return texts;
}

/// Writes a coordinate: an integer, or nested lists in place of tuples.
void write_coordinate(JsonWriter& json, const Coordinate& c) {
  std::vector<std::int32_t> open;  // for each open tuple, the number of children that are left
  std::size_t next = 0;
  for (const std::int32_t children : c.profile()) {
    if (children == kLeaf) {
      write_int(json, c.values()[next++]);
    } else {
      json.begin_array();
      open.push_back(children + 1);  // 1 more for the tuple itself, which is counted down next
    }
    while (!open.empty() && --open.back() == 0) {
      json.end_array();
      open.pop_back();
    }
  }
}

}  // namespace

void write_layout_answer(JsonWriter& json, const LayoutAnswer& answer, Work& work, bool table, NumberLists* memory) {
  if (answer.layout) json.member("layout", render(*answer.layout));
  if (answer.layout && table && answer.layout->is_concrete())
    write_numbers(json.key("table"), charged_table(*answer.layout, work), memory);
  if (answer.table) write_numbers(json.key("table"), *answer.table, memory);
  if (answer.value) write_coordinate(json.key("value"), *answer.value);
}

void answer_layout(const Request& request, Work& work, JsonWriter& json) {
  const LayoutArguments arguments(argument_texts(request.need("args")), "args", true, request.variables(), work);
  const bool with_table = request.flag("table", true);
  const auto named = request.find("fn");
  if (!named) {
    STRATA_CHECK(arguments.size() == 1, request, "[request] without the key 'fn' there is one layout in args, not ",
                 arguments.size());
    return write_layout_answer(json, {arguments.layout(0), {}, {}}, work, with_table, request.memory());
  }
  const std::string_view name = named->as_string("fn");
  const LayoutFunction* function = find_layout_function(name);
  if (function == nullptr)
    throw Error(ErrorKind::request, "[request] there is no fn " + in_quotes(name), named->column());
  write_layout_answer(json, ask_layout(*function, arguments), work, with_table, request.memory());
}

}  // namespace strata::tools
