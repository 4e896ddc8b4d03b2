// `strata expr`: simplifies an expression, and prints bounds, facts, values and notations.
#include <algorithm>
#include <ostream>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/base/quotes.h"
#include "strata/expr/render.h"
#include "tools/batch.h"
#include "tools/batch_rows.h"
#include "tools/command_parts.h"
#include "tools/commands.h"
#include "tools/link.h"
#include "tools/trace_text.h"

namespace strata::tools {
namespace {

Point parse_point(const std::string& text, const Command& command) {
  const std::string where = "--at " + text;
  Point point;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) throw UsageError(where + ": expected NAME=VALUE,...", &command);
    const std::string name(part.substr(0, equals));
    const auto same_name = [&](const auto& item) { return item.first == name; };
    if (std::any_of(point.begin(), point.end(), same_name))
      throw UsageError(where + ": " + in_quotes(name) + " is given twice", &command);
    point.emplace_back(name, parse_integer(part.substr(equals + 1), where, command));
  }
  return point;
}

ExprQuestion read_question(const Invocation& invocation) {
  const Command& command = invocation.command();
  ExprQuestion question;
  question.text = invocation.arguments().front();
  question.variables = read_variables(invocation);
  question.assume = invocation.values("--assume");
  for (const std::string& text : invocation.values("--at")) question.at.push_back(parse_point(text, command));
  if (invocation.has("--no-exact")) question.effort = Effort::rules;
  question.options = true;
  return question;
}

// --- printing ---

std::string affine_text(const AffineForm& form) {
  std::string out = std::to_string(form.constant);
  for (const auto& [variable, coefficient] : form.coefficients) {
    out += " + " + std::to_string(coefficient) + "*" + std::string(variable.name());
  }
  return out;
}

std::string point_text(const Point& point) {
  std::string out;
  for (const auto& [name, value] : point) out += (out.empty() ? "" : ",") + name + "=" + std::to_string(value);
  return out;
}

void print_answer(const ExprQuestion& question, const ExprAnswer& answer, Console& console) {
  const Expr& e = answer.simplified;
  Lines lines(console, console.colour_out);
  lines.print("simplified", render(e, Notation::spec));
  lines.print("c", render(e, Notation::c));
  lines.print("python", render(e, Notation::python));
  lines.print("latex", render(e, Notation::latex));
  const std::string_view bound = answer.facts.exact ? "exact" : "bound";
  lines.print("min", std::to_string(answer.facts.min), bound);
  lines.print("max", std::to_string(answer.facts.max), bound);
  if (answer.facts.modulus > 1) {
    lines.print("congruent", std::to_string(answer.facts.residue) + " mod " + std::to_string(answer.facts.modulus));
  }
  std::string free;
  for (const Variable& v : variables(e)) free += detail::message(free.empty() ? "" : " ", v.name());
  lines.print("free", free.empty() ? "none" : free);
  const auto form = affine_form(e);
  lines.print("affine", form ? affine_text(*form) : "no");
  for (std::size_t i = 0; i < answer.values.size(); ++i) {
    lines.print("value", std::to_string(answer.values[i]), "at " + point_text(question.at[i]));
  }
}

std::string one_rendering(const Expr& e, std::string_view notation) {
  if (notation == "spec") return render(e, Notation::spec);
  if (notation == "c") return render(e, Notation::c);
  if (notation == "python") return render(e, Notation::python);
  if (notation == "latex") return render(e, Notation::latex);
  if (notation == "tree") return render_tree(e);
  throw InternalError("internal error: a notation that the table does not list");
}

void print_trace(const std::vector<RewriteEvent>& events, Console& console) {
  console.out << paint(console.colour_out, Style::bold, "rules that fired, in order") << '\n';
  if (events.empty()) console.out << "  none\n";
  for (const RewriteEvent& event : events) console.out << "  " << describe(event) << '\n';
}

/// Answers the question. If `events` is not null, records the rewrites.
ExprAnswer ask(const ExprQuestion& question, std::vector<RewriteEvent>* events) {
  std::optional<RewriteTrace> trace;
  if (events != nullptr) trace.emplace([events](const RewriteEvent& event) { events->push_back(event); });
  Work work(kPosInf);
  return ask_expr(question, work);
}

}  // namespace

int link_expr(const Invocation& invocation, Console& console, const LinkUse& use) {
  const ExprQuestion question = read_question(invocation);
  try {
    ask(question, nullptr);
  } catch (const TextError& e) {
    return report_text_error(e, question.variables, console);
  }
  std::string text = declared(question.variables, in_one_line(question.text));
  for (const std::string& condition : question.assume) text += detail::message("; assume ", in_one_line(condition));
  return use({"expression", std::move(text)});
}

int command_expr(const Invocation& invocation, Console& console) {
  if (invocation.has("--link")) return link_expr(invocation, console, print_link(console));
  const ExprQuestion question = read_question(invocation);
  const bool traced = invocation.has("--trace");
  std::vector<RewriteEvent> events;
  try {
    const ExprAnswer answer = ask(question, traced ? &events : nullptr);
    if (invocation.has("--json")) {
      JsonWriter json;
      json.begin_object();
      write_expr_answer(json, answer, !question.at.empty());
      if (traced) write_trace(json, events);
      console.out << json.end_object().take() << '\n';
      return 0;
    }
    if (const auto notation = invocation.value("--notation")) {
      const std::string text = one_rendering(answer.simplified, *notation);
      console.out << text << (text.ends_with('\n') ? "" : "\n");
    } else {
      print_answer(question, answer, console);
    }
    if (traced) print_trace(events, console);
    return 0;
  } catch (const TextError& e) {
    return report_text_error(e, question.variables, console);
  }
}

}  // namespace strata::tools
