// answer(): the table of requests, budgets, and the answer to a request that fails.
#include "tools/batch.h"

#include <algorithm>
#include <new>

#include "strata/base/meter.h"
#include "strata/base/quotes.h"
#include "strata/expr/exact.h"
#include "strata/expr/render.h"
#include "tools/batch_rows.h"

namespace strata::tools {
namespace {

void write_notations(JsonWriter& json, const Expr& e, Work& work) {
  work.charge(64 * count_nodes(e));
  json.member("python", render(e, Notation::python)).member("latex", render(e, Notation::latex));
  json.member("tree", render_tree(e));
}

/// About the length of an event's text.
std::uint64_t size_of(const RewriteEvent& event) {
  std::uint64_t out = 256;
  for (const auto& [letter, bound] : event.bindings) out += 64 * std::uint64_t{count_nodes(bound)};
  return out;
}

void answer_expr(const Request& request, Work& work, JsonWriter& json) {
  const ExprQuestion question{request.text("text"), request.variables(), request.assumptions(), request.points(),
                              Effort::exact};
  constexpr std::size_t most_events = 1 << 16;
  const bool traced = request.flag("trace", false);
  std::vector<RewriteEvent> events;
  std::optional<RewriteTrace> trace;
  if (traced)
    trace.emplace([&](const RewriteEvent& event) {
      if (events.size() <= most_events) events.push_back(event);
    });
  const ExprAnswer answer = ask_expr(question, work);
  trace.reset();
  write_expr_answer(json, answer, request.find("at").has_value());
  if (request.flag("notations", false)) write_notations(json, answer.simplified, work);
  if (!traced) return;
  STRATA_CHECK(events.size() <= most_events, budget, "[trace] more than ", most_events, " rules fired");
  for (const RewriteEvent& event : events) work.charge(size_of(event));
  write_trace(json, events);
}

void answer_prove(const Request& request, Work& work, JsonWriter& json) {
  const ExprQuestion question{request.text("text"), request.variables(), request.assumptions(), {}, Effort::exact};
  const Proof proof = ask_prove(question, work);
  json.member("answer", answer_word(proof.answer));
  if (proof.answer != Answer::no) return;
  json.key("counterexample");
  write_point(json, proof.counterexample);
}

void answer_equal_expr(const Request& request, Work& work, JsonWriter& json) {
  const auto witness = ask_equal(request.text("a"), request.text("b"), request.variables(), work);
  json.member("equal", !witness.has_value()).key("witness");
  if (witness) {
    write_point(json, *witness);
  } else {
    json.null();
  }
}

void answer_affine(const Request& request, Work& work, JsonWriter& json) {
  request.need("at");
  json.key("values");
  write_numbers(json, ask_affine(request.text("text"), request.points(), work));
}

struct RequestKind {
  std::string_view name;
  std::vector<std::string_view> keys;
  void (*answer)(const Request&, Work&, JsonWriter&);
};

std::vector<std::string_view> with(std::span<const std::string_view> keys,
                                   std::initializer_list<std::string_view> more) {
  std::vector<std::string_view> out(keys.begin(), keys.end());
  out.insert(out.end(), more);
  return out;
}

const std::vector<RequestKind>& request_kinds() {
  static const std::vector<RequestKind> kinds = {
      {"expr", {"text", "vars", "at", "assume", "trace", "notations"}, answer_expr},
      {"prove", {"text", "vars", "assume"}, answer_prove},
      {"equal_expr", {"a", "b", "vars"}, answer_equal_expr},
      {"affine", {"text", "at"}, answer_affine},
      {"view", with(view_keys, {"window", "expr", "valid", "why", "facts", "latex"}), answer_view},
      {"equal_view", {"a", "b"}, answer_equal_view},
      {"layout", {"fn", "args", "vars", "table"}, answer_layout},
      {"read", {"text"}, answer_read},
      {"kernel", with(kernel_keys, {"show"}), answer_kernel},
      {"order", with(kernel_keys, {"values", "limit"}), answer_order},
      {"evaluate", {"text", "seed", "values"}, answer_evaluate},
      {"check", {"what", "a", "b", "size"}, answer_check},
      {"rules", {}, answer_rules},
  };
  return kinds;
}

void dispatch(const Request& request, Work& work, JsonWriter& json) {
  const JsonValue named = request.need("do");
  const std::string_view name = named.as_string("do");
  for (const RequestKind& kind : request_kinds()) {
    if (kind.name != name) continue;
    request.refuse_unknown(kind.keys, {"id", "do"});
    return kind.answer(request, work, json);
  }
  throw Error(ErrorKind::request, "[request] \"do\" is " + in_quotes(name) + ", which is not a kind of request",
              named.column());
}

/// The budget of the exact step of simplification, in node evaluations: the default, but at most the units of a
/// request's budget that is below the default budget, and at least the units of one that is above.
std::uint64_t exact_step_budget(std::int64_t budget) {
  const auto units = static_cast<std::uint64_t>(std::max<std::int64_t>(budget, 0));
  return budget < default_budget ? std::min(exact_budget(), units) : std::max(exact_budget(), units);
}

/// The budget of Meter, in steps of the algebra: the request's budget, but at least what a small question takes.
std::uint64_t step_budget(std::int64_t budget) {
  constexpr std::int64_t least = std::int64_t{1} << 20;
  return static_cast<std::uint64_t>(std::max(budget, least));
}

std::string error_answer(const std::optional<std::string>& id, ErrorKind kind, std::string_view message,
                         std::size_t column) {
  JsonWriter json;
  json.begin_object();
  if (id) json.key("id").raw(*id);
  json.key("error").begin_object().member("kind", to_string(kind)).member("message", message);
  if (column != 0) json.member("column", static_cast<std::int64_t>(column));
  return json.end_object().end_object().take();
}

}  // namespace

void write_expr_answer(JsonWriter& json, const ExprAnswer& answer, bool points) {
  const Expr& e = answer.simplified;
  json.member("render", render(e, Notation::spec)).member("c", render(e, Notation::c));
  json.member("min", answer.facts.min).member("max", answer.facts.max).member("exact", answer.facts.exact);
  json.key("constant");
  if (const auto constant = e.constant()) {
    json.value(*constant);
  } else {
    json.null();
  }
  json.key("affine");
  if (const auto form = affine_form(e)) {
    json.begin_object().member("const", form->constant).key("coeffs");
    write_point(json, form->coefficients);
    json.end_object();
  } else {
    json.null();
  }
  json.member("nodes", static_cast<std::int64_t>(count_nodes(e))).key("free").begin_array();
  for (const Variable& v : variables(e)) json.value(v.name());
  json.end_array();
  if (!points) return;
  json.key("values");
  write_numbers(json, answer.values);
}

std::string answer(std::string_view line, const BatchOptions& options) {
  JsonDocument document;
  if (options.memory != nullptr) options.memory->clear();
  try {
    Meter meter(step_budget(options.budget), options.deadline);
    document.read(line);
    Work work(options.budget);
    const ExactBudget exact(exact_step_budget(options.budget));
    const Request request(document.root(), "the request", options.memory);
    JsonWriter json;
    json.begin_object();
    if (const auto id = request.find("id")) json.key("id").raw(id->raw());
    dispatch(request, work, json);
    meter.check();
    return json.end_object().take();
  } catch (const Error& e) {
    return error_answer(document.salvage("id"), e.kind(), e.what(), e.column());
  } catch (const std::bad_alloc&) {
    return error_answer(document.salvage("id"), ErrorKind::budget, "[budget] out of memory", 0);
  } catch (const std::exception& e) {
    return error_answer(document.salvage("id"), ErrorKind::undefined, e.what(), 0);
  }
}

}  // namespace strata::tools
