// The requests `view` and `equal_view`.
#include <array>

#include "strata/base/quotes.h"
#include "strata/expr/parse.h"
#include "tools/batch_rows.h"

namespace strata::tools {
namespace {

/// Reads sizes, strides, ...: integers, or texts of expressions over the variables.
class NumberReader {
 public:
  NumberReader(std::vector<Variable> variables, Work& work)
      : variables_(std::move(variables)), parser_(variables_), work_(work) {}

  Int number(const JsonValue& item, std::string_view what) const {
    if (variables_.empty() || !item.is(JsonKind::string)) return item.as_integer(what);
    const std::string_view text = item.as_string(what);
    work_.charge(text.size());
    try {
      return Int(parser_(text));
    } catch (const Error& e) {
      throw TextError(e, text, what);
    }
  }
  Ints numbers(const JsonValue& list, std::string_view what) const {
    Ints out;
    const auto items = list.as_array(what);
    work_.charge(items.size());
    for (const JsonValue& item : items) out.push_back(number(item, detail::message("an item of ", what)));
    return out;
  }
  Padding pairs(const JsonValue& list, std::string_view what) const {
    Padding out;
    const auto items = list.as_array(what);
    work_.charge(items.size());
    const std::string pair = detail::message("an item of ", what);
    for (const JsonValue& item : items) {
      const auto ends = item.as_array(pair);
      if (ends.size() != 2) throw Error(ErrorKind::request, "[request] " + pair + " is not a pair", item.column());
      out.push_back({number(ends[0], pair), number(ends[1], pair)});
    }
    return out;
  }
  Work& work() const { return work_; }

 private:
  std::vector<Variable> variables_;
  Parser parser_;
  Work& work_;
};

std::optional<Mask> read_mask(const std::optional<JsonValue>& mask, const NumberReader& numbers) {
  if (!mask || mask->is(JsonKind::null)) return std::nullopt;
  return to_mask(numbers.pairs(*mask, "mask"));
}

View read_view(const JsonValue& value, const NumberReader& numbers) {
  static constexpr std::array<std::string_view, 4> keys = {"shape", "strides", "offset", "mask"};
  const Request view(value, "an item of views");
  view.refuse_unknown(keys);
  Ints shape = numbers.numbers(view.need("shape"), "shape");
  std::optional<Ints> strides;
  if (const auto given = view.find("strides")) strides = numbers.numbers(*given, "strides");
  const auto offset = view.find("offset");
  return View::create(std::move(shape), std::move(strides), offset ? numbers.number(*offset, "offset") : Int(0),
                      read_mask(view.find("mask"), numbers));
}

std::vector<View> read_views_of(const JsonValue& views, const NumberReader& numbers) {
  std::vector<View> out;
  const auto items = views.as_array("views");
  numbers.work().charge(items.size());
  for (const JsonValue& item : items) out.push_back(read_view(item, numbers));
  return out;
}

ShapeTracker read_start(const Request& request, const NumberReader& numbers) {
  const auto shape = request.find("shape");
  const auto views = request.find("views");
  STRATA_CHECK(shape.has_value() != views.has_value(), request,
               "[request] a view starts from one of the keys 'shape' and 'views'");
  if (shape) return ShapeTracker::from_shape(numbers.numbers(*shape, "shape"));
  return ShapeTracker(read_views_of(*views, numbers));
}

ShapeTracker read_and_move(const ShapeTracker& stack, const JsonValue& op, const NumberReader& numbers) {
  const auto parts = op.as_array("an item of ops");
  if (parts.size() != 2)
    throw Error(ErrorKind::request, "[request] an item of ops is not [name, argument]", op.column());
  const std::string_view name = parts[0].as_string("the name of an op");
  if (name == "simplify") {
    if (!parts[1].as_array(name).empty())
      throw Error(ErrorKind::request, "[request] simplify takes nothing: []", parts[1].column());
    return simplified(stack, numbers.work());
  }
  const MovementOp* row = find_movement(name);
  if (row == nullptr) throw Error(ErrorKind::request, "[request] there is no op " + in_quotes(name), parts[0].column());
  Movement movement;
  if (row->takes_pairs) {
    movement.pairs = numbers.pairs(parts[1], name);
  } else {
    movement.numbers = numbers.numbers(parts[1], name);
  }
  return apply_movement(stack, *row, movement, numbers.work());
}

ViewQuestion read_question(const Request& request, Work& work) {
  const NumberReader numbers(request.variables(), work);
  ViewQuestion question{read_start(request, numbers), request.flag("simplify", true), request.flag("addresses", false)};
  if (const auto idxs = request.find("idxs")) {
    auto& names = question.idxs.emplace();
    for (const JsonValue& name : idxs->as_array("idxs")) names.emplace_back(name.as_string("an item of idxs"));
  }
  if (const auto ops = request.find("ops")) {
    for (const JsonValue& op : ops->as_array("ops")) question.stack = read_and_move(question.stack, op, numbers);
  }
  return question;
}

ShapeTracker read_side(const Request& request, std::string_view key, Work& work) {
  const Request side(request.need(key), key);
  side.refuse_unknown(view_keys);
  return read_question(side, work).stack;
}

// --- writing ---

void write_ints(JsonWriter& json, const Ints& list) {
  json.begin_array();
  for (const Int& n : list) write_int(json, n);
  json.end_array();
}

void write_mask(JsonWriter& json, const std::optional<Mask>& mask) {
  if (!mask) {
    json.null();
    return;
  }
  json.begin_array();
  for (const Extent& e : *mask) {
    json.begin_array();
    write_int(json, e.begin);
    write_int(json, e.end);
    json.end_array();
  }
  json.end_array();
}

void write_view(JsonWriter& json, const View& view) {
  json.begin_object();
  write_ints(json.key("shape"), view.shape());
  write_ints(json.key("strides"), view.strides());
  write_int(json.key("offset"), view.offset());
  write_mask(json.key("mask"), view.mask());
  json.member("contiguous", view.contiguous()).end_object();
}

void write_optional(JsonWriter& json, const std::optional<Int>& n) {
  if (n) {
    write_int(json, *n);
  } else {
    json.null();
  }
}

}  // namespace

void write_int(JsonWriter& json, const Int& n) {
  if (n.is_number()) {
    json.value(n.value());
  } else {
    json.value(n.render());
  }
}

std::vector<View> read_views(const JsonValue& views, Work& work) {
  return read_views_of(views, NumberReader({}, work));
}

void write_view_answer(JsonWriter& json, const ViewQuestion& question, const ViewAnswer& answer, NumberLists* memory) {
  const ShapeTracker& stack = answer.stack;
  write_ints(json.key("shape"), stack.shape());
  json.key("views").begin_array();
  for (const View& view : stack.views()) write_view(json, view);
  json.end_array().member("text", stack.render());
  json.member("idx", answer.index.index.render()).member("valid", answer.index.valid.render());
  json.key("real_strides").begin_array();
  for (const auto& stride : answer.real_strides) write_optional(json, stride);
  json.end_array().member("contiguous", stack.contiguous());
  write_int(json.key("size"), stack.size());
  write_optional(json.key("real_size"), answer.real_size);
  if (question.addresses) write_numbers(json.key("addresses"), answer.addresses, memory);
}

void answer_view(const Request& request, Work& work, JsonWriter& json) {
  if (request.find("expr")) return answer_view_expr(request, work, json);
  request.refuse_unknown(view_keys, {"id", "do", "window", "why", "facts", "latex"});
  ViewQuestion question = read_question(request, work);
  question.window = read_window(request, work);
  if (request.memory() != nullptr) question.invalid = no_address;
  const ViewAnswer answer = ask_view(question, work);
  write_view_answer(json, question, answer, request.memory());
  write_view_extras(request, question, answer, work, json);
}

void answer_equal_view(const Request& request, Work& work, JsonWriter& json) {
  const ShapeTracker a = read_side(request, "a", work);
  const ShapeTracker b = read_side(request, "b", work);
  const auto differ = ask_equal_view(a, b, work);
  json.member("equal", !differ.has_value()).key("witness");
  if (differ && differ->at) {
    write_numbers(json, {differ->at->begin(), differ->at->size()});
  } else {
    json.null();
  }
}

}  // namespace strata::tools
