// The request `read`: reads a text in the notation of the box, and answers with the equivalent request and with all
// forms of the text.
#include "tools/batch_rows.h"
#include "tools/box_forms.h"

namespace strata::tools {
namespace {

void write_list(JsonWriter& json, const Ints& list) {
  json.begin_array();
  for (const Int& n : list) write_int(json, n);
  json.end_array();
}

void write_pairs(JsonWriter& json, const Padding& list) {
  json.begin_array();
  for (const auto& [a, b] : list) {
    json.begin_array();
    write_int(json, a);
    write_int(json, b);
    json.end_array();
  }
  json.end_array();
}

void write_texts(JsonWriter& json, const std::vector<std::string>& texts) {
  json.begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void write_bounds(JsonWriter& json, const std::vector<Variable>& variables) {
  json.begin_object();
  for (const Variable& v : variables) json.key(v.name()).begin_array().value(v.min()).value(v.max()).end_array();
  json.end_object();
}

void write_given_view(JsonWriter& json, const View& view) {
  json.begin_object();
  write_list(json.key("shape"), view.shape());
  write_list(json.key("strides"), view.strides());
  write_int(json.key("offset"), view.offset());
  if (view.mask()) {
    Padding pairs;
    for (const Extent& e : *view.mask()) pairs.push_back({e.begin, e.end});
    write_pairs(json.key("mask"), pairs);
  }
  json.end_object();
}

void write_request(JsonWriter& json, const BoxView& view) {
  json.member("do", "view");
  if (view.shape) {
    write_list(json.key("shape"), *view.shape);
  } else {
    json.key("views").begin_array();
    for (const View& v : view.views) write_given_view(json, v);
    json.end_array();
  }
  json.key("ops").begin_array();
  for (const BoxOp& op : view.ops) {
    json.begin_array().value(op.name());
    if (op.op != nullptr && op.op->takes_pairs)
      write_pairs(json, op.movement.pairs);
    else
      write_list(json, op.movement.numbers);
    json.end_array();
  }
  json.end_array();
}

void write_request(JsonWriter& json, const BoxLayout& layout) {
  json.member("do", "layout");
  if (layout.function != nullptr) json.member("fn", layout.function->name);
  write_texts(json.key("args"), layout.args);
}

void write_request(JsonWriter& json, const BoxExpr& expr) {
  json.member("do", "expr").member("text", expr.text);
  if (!expr.assume.empty()) write_texts(json.key("assume"), expr.assume);
}

void write_request(JsonWriter& json, const BoxKernel& kernel) {
  json.member("do", "kernel").member("text", kernel.text);
}

/// Writes the equivalent request, with the bounds of variables if there are any.
template <class Part>
void write_kind(JsonWriter& json, std::string_view kind, const Part& part, const std::vector<Variable>& variables) {
  json.member("kind", kind);
  write_bounds(json.key("vars"), variables);
  write_request(json.key("request").begin_object(), part);
  if (!variables.empty()) write_bounds(json.key("vars"), variables);
  json.end_object();
}

}  // namespace

void answer_read(const Request& request, Work& work, JsonWriter& json) {
  const std::string text = request.text("text");
  const Box box = read_box(text, work);
  if (box.view) write_kind(json, "view", *box.view, box.variables);
  if (box.layout) write_kind(json, "layout", *box.layout, box.variables);
  if (box.kernel) write_kind(json, "kernel", *box.kernel, box.variables);
  if (box.expr) {
    write_kind(json, "expr", *box.expr, box.variables);
    if (box.expr->valid) json.member("valid", *box.expr->valid);
    write_texts(json.key("unbound"), box.expr->unbound);
  }
  json.key("forms").begin_array();
  for (const BoxForm& form : forms_of(box, work))
    json.begin_object().member("name", form.name).member("text", form.text).end_object();
  json.end_array();
}

}  // namespace strata::tools
