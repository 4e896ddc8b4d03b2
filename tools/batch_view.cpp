// The requests `view` and `equal_view`.
#include <array>

#include "strata/base/quotes.h"
#include "tools/batch_rows.h"

namespace strata::tools {
namespace {

Ints read_numbers(const JsonValue& list, std::string_view what, Work& work) {
  Ints out;
  const auto items = list.as_array(what);
  work.charge(items.size());
  for (const JsonValue& item : items)
    out.push_back(item.as_integer(detail::message("an item of ", what)));
  return out;
}

Padding read_pairs(const JsonValue& list, std::string_view what, Work& work) {
  Padding out;
  const auto items = list.as_array(what);
  work.charge(items.size());
  const std::string pair = detail::message("an item of ", what);
  for (const JsonValue& item : items) {
    const auto ends = item.as_array(pair);
    if (ends.size() != 2)
      throw Error(ErrorKind::request, "[request] " + pair + " is not a pair", item.column());
    out.push_back({ends[0].as_integer(pair), ends[1].as_integer(pair)});
  }
  return out;
}

std::optional<Mask> read_mask(const std::optional<JsonValue>& mask, Work& work) {
  if (!mask || mask->is(JsonKind::null)) return std::nullopt;
  Mask out;
  for (const auto& [begin, end] : read_pairs(*mask, "mask", work)) out.push_back({begin, end});
  return out;
}

View read_view(const JsonValue& value, Work& work) {
  static constexpr std::array<std::string_view, 4> keys = {"shape", "strides", "offset", "mask"};
  const Request view(value, "an item of views");
  view.refuse_unknown(keys);
  Ints shape = read_numbers(view.need("shape"), "shape", work);
  std::optional<Ints> strides;
  if (const auto given = view.find("strides")) strides = read_numbers(*given, "strides", work);
  const auto offset = view.find("offset");
  return View::create(std::move(shape), std::move(strides),
                      offset ? offset->as_integer("offset") : 0, read_mask(view.find("mask"), work));
}

ShapeTracker read_start(const Request& request, Work& work) {
  const auto shape = request.find("shape");
  const auto views = request.find("views");
  STRATA_CHECK(shape.has_value() != views.has_value(), request,
               "[request] a view starts from one of the keys 'shape' and 'views'");
  if (shape) return ShapeTracker::from_shape(read_numbers(*shape, "shape", work));
  return ShapeTracker(read_views(*views, work));
}

ShapeTracker read_and_move(const ShapeTracker& stack, const JsonValue& op, Work& work) {
  const auto parts = op.as_array("an item of ops");
  if (parts.size() != 2)
    throw Error(ErrorKind::request, "[request] an item of ops is not [name, argument]", op.column());
  const std::string_view name = parts[0].as_string("the name of an op");
  const MovementOp* row = find_movement(name);
  if (row == nullptr)
    throw Error(ErrorKind::request, "[request] there is no op " + in_quotes(name), parts[0].column());
  Movement movement;
  if (row->takes_pairs) {
    movement.pairs = read_pairs(parts[1], name, work);
  } else {
    movement.numbers = read_numbers(parts[1], name, work);
  }
  return apply_movement(stack, *row, movement, work);
}

ViewQuestion read_question(const Request& request, Work& work) {
  ViewQuestion question{read_start(request, work), request.flag("simplify", true),
                        request.flag("addresses", false), std::nullopt};
  if (const auto idxs = request.find("idxs")) {
    auto& names = question.idxs.emplace();
    for (const JsonValue& name : idxs->as_array("idxs"))
      names.emplace_back(name.as_string("an item of idxs"));
  }
  if (const auto ops = request.find("ops")) {
    for (const JsonValue& op : ops->as_array("ops"))
      question.stack = read_and_move(question.stack, op, work);
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
  std::vector<View> out;
  const auto items = views.as_array("views");
  work.charge(items.size());
  for (const JsonValue& item : items) out.push_back(read_view(item, work));
  return out;
}

void write_view_answer(JsonWriter& json, const ViewQuestion& question, const ViewAnswer& answer) {
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
  if (question.addresses) write_numbers(json.key("addresses"), answer.addresses);
}

void answer_view(const Request& request, Work& work, JsonWriter& json) {
  const ViewQuestion question = read_question(request, work);
  write_view_answer(json, question, ask_view(question, work));
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
