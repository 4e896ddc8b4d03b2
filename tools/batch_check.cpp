// The request `check`: proofs about texts in the box.
#include <array>

#include "strata/base/quotes.h"
#include "tools/ask_check.h"
#include "tools/batch_rows.h"

namespace strata::tools {
namespace {

Box read_boxed(const Request& request, std::string_view key, Work& work) {
  const std::string text = request.text(key);
  try {
    return read_box(text, work);
  } catch (const Error& e) {
    throw TextError(e, text, key);
  }
}

void refuse_key(const Request& request, std::string_view key, std::string_view what) {
  if (const auto found = request.find(key))
    throw Error(ErrorKind::request, detail::message("[request] the key '", key, "' does not go with ", in_quotes(what)),
                found->column());
}

CheckAnswer ask_check(const Request& request, Work& work) {
  const JsonValue named = request.need("what");
  const std::string_view what = named.as_string("what");
  const auto is_one_of = [&](std::string_view a, std::string_view b, std::string_view c) {
    return what == a || what == b || what == c;
  };
  if (what != "equal" && !is_one_of("injective", "contiguous", "in_bounds"))
    throw Error(ErrorKind::request, "[request] there is no check " + in_quotes(what), named.column());
  const Box a = read_boxed(request, "a", work);
  if (what != "equal") refuse_key(request, "b", what);
  if (what != "in_bounds") refuse_key(request, "size", what);
  if (what == "equal") return check_equal(a, read_boxed(request, "b", work), work);
  if (what == "injective") return check_injective(a, work);
  if (what == "contiguous") return check_contiguous(a, work);
  return check_in_bounds(a, request.need("size").as_integer("size"), work);
}

}  // namespace

void answer_check(const Request& request, Work& work, JsonWriter& json) {
  const CheckAnswer answer = ask_check(request, work);
  json.member("answer", answer_word(answer.answer)).key("witness");
  if (answer.witness.empty()) {
    json.null();
  } else {
    json.begin_array();
    for (const Index& at : answer.witness) write_numbers(json, {at.begin(), at.size()});
    json.end_array();
  }
  if (!answer.at.empty()) write_point(json.key("at"), answer.at);
  json.member("note", answer.note);
}

}  // namespace strata::tools
