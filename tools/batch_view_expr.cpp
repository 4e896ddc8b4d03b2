// The request `view` with `expr`: an index expression and its condition.
#include "tools/batch_rows.h"

namespace strata::tools {

std::optional<Window> read_window(const Request& request, Work& work) {
  const auto given = request.find("window");
  if (!given) return std::nullopt;
  Window out;
  const auto items = given->as_array("window");
  work.charge(items.size());
  for (const JsonValue& item : items) {
    const auto ends = item.as_array("an item of window");
    if (ends.size() != 2)
      throw Error(ErrorKind::request, "[request] an item of window is not [begin,end]", item.column());
    out.emplace_back(ends[0].as_integer("a begin of window"), ends[1].as_integer("an end of window"));
  }
  return out;
}

void write_view_expr_answer(JsonWriter& json, const ViewExprQuestion& question, const ViewExprAnswer& answer,
                            NumberLists* memory) {
  write_numbers(json.key("shape"), {answer.shape.begin(), answer.shape.size()});
  json.member("idx", answer.simplified.index.render());
  json.member("valid", answer.simplified.valid.render());
  if (question.addresses) write_numbers(json.key("addresses"), answer.addresses, memory);
}

void answer_view_expr(const Request& request, Work& work, JsonWriter& json) {
  static constexpr std::array<std::string_view, 6> keys = {"expr", "valid", "vars", "addresses", "window", "latex"};
  request.refuse_unknown(keys, {"id", "do"});
  ViewExprQuestion question{.index = request.text("expr"),
                            .variables = request.variables(),
                            .addresses = request.flag("addresses", false),
                            .window = read_window(request, work)};
  if (request.find("valid")) question.valid = request.text("valid");
  if (request.memory() != nullptr) question.invalid = no_address;
  const ViewExprAnswer answer = ask_view_expr(question, work);
  write_view_expr_answer(json, question, answer, request.memory());
  if (request.flag("latex", false)) write_latex(json, answer.simplified);
}

}  // namespace strata::tools
