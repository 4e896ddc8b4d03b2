// `strata expr`: one expression, looked at from all sides.
#include <algorithm>
#include <charconv>
#include <ostream>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/expr/grammar.h"
#include "strata/expr/parse.h"
#include "strata/expr/render.h"
#include "tools/batch.h"
#include "tools/commands.h"
#include "tools/trace_text.h"

namespace strata::tools {
namespace {

std::int64_t parse_integer(std::string_view text, const std::string& where, const Command& command) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range)
    throw UsageError(where + ": " + in_quotes(text) + " does not fit in 64 bits", &command);
  if (error != std::errc() || stop != end)
    throw UsageError(where + ": " + in_quotes(text) + " is not an integer", &command);
  return value;
}

Variable parse_variable(const std::string& text, const Command& command) {
  const std::string where = "--var " + text;
  const std::size_t equals = text.find('=');
  const std::size_t dots = text.find("..");
  if (equals == std::string::npos || dots == std::string::npos || dots < equals) {
    throw UsageError(where + ": expected NAME=MIN..MAX", &command);
  }
  const std::string_view view = text;
  return Variable(view.substr(0, equals),
                  parse_integer(view.substr(equals + 1, dots - equals - 1), where, command),
                  parse_integer(view.substr(dots + 2), where, command));
}

Point parse_point(const std::string& text, const Command& command) {
  const std::string where = "--at " + text;
  Point point;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      throw UsageError(where + ": expected NAME=VALUE,...", &command);
    const std::string name(part.substr(0, equals));
    const auto same_name = [&](const auto& item) { return item.first == name; };
    if (std::any_of(point.begin(), point.end(), same_name))
      throw UsageError(where + ": " + in_quotes(name) + " is there twice", &command);
    point.emplace_back(name, parse_integer(part.substr(equals + 1), where, command));
  }
  return point;
}

ExprQuestion read_question(const Invocation& invocation) {
  const Command& command = invocation.command();
  ExprQuestion question;
  question.text = invocation.arguments().front();
  for (const std::string& text : invocation.values("--var")) {
    const Variable v = parse_variable(text, command);
    const auto same_name = [&](const Variable& other) { return other.name() == v.name(); };
    if (std::any_of(question.variables.begin(), question.variables.end(), same_name)) {
      throw UsageError("--var " + text + ": the name has bounds already", &command);
    }
    question.variables.push_back(v);
  }
  question.assume = invocation.values("--assume");
  for (const std::string& text : invocation.values("--at"))
    question.at.push_back(parse_point(text, command));
  if (invocation.has("--no-exact")) question.effort = Effort::rules;
  return question;
}

/// The name that begins at `column`, if one without bounds does.
std::string_view undeclared_name(std::string_view text, std::size_t column,
                                 const std::vector<Variable>& variables) {
  if (column == 0 || column > text.size() || !is_name_start(text[column - 1])) return {};
  std::size_t end = column;
  while (end < text.size() && (is_name_start(text[end]) || is_digit(text[end]))) ++end;
  const std::string_view name = text.substr(column - 1, end - column + 1);
  if (is_reserved_word(name) || text.substr(end).starts_with('(')) return {};
  for (const Variable& v : variables) {
    if (v.name() == name) return {};
  }
  return name;
}

int report(const TextError& e, const ExprQuestion& question, Console& console) {
  console.err << paint(console.colour_err, Style::red, "strata:") << ' ' << e.what() << '\n';
  if (e.column() == 0) return 1;
  console.err << show_caret(e.text(), e.column()) << '\n';
  const std::string_view name = undeclared_name(e.text(), e.column(), question.variables);
  if (!name.empty()) console.err << "give its bounds: --var " << name << "=0..9\n";
  return 1;
}

// --- printing ---

class Lines {
 public:
  explicit Lines(Console& console) : console_(console) {}
  void print(std::string_view label, std::string_view text, std::string_view note = "") {
    std::string padded(label);
    padded.resize(std::max<std::size_t>(12, label.size() + 1), ' ');
    console_.out << paint(console_.colour_out, Style::bold, padded) << text;
    if (!note.empty())
      console_.out << paint(console_.colour_out, Style::dim, "  (" + std::string(note) + ")");
    console_.out << '\n';
  }

 private:
  Console& console_;
};

std::string affine_text(const AffineForm& form) {
  std::string out = std::to_string(form.constant);
  for (const auto& [variable, coefficient] : form.coefficients) {
    out += " + " + std::to_string(coefficient) + "*" + std::string(variable.name());
  }
  return out;
}

std::string point_text(const Point& point) {
  std::string out;
  for (const auto& [name, value] : point)
    out += (out.empty() ? "" : ",") + name + "=" + std::to_string(value);
  return out;
}

void print_answer(const ExprQuestion& question, const ExprAnswer& answer, Console& console) {
  const Expr& e = answer.simplified;
  Lines lines(console);
  lines.print("simplified", render(e, Notation::spec));
  lines.print("c", render(e, Notation::c));
  lines.print("python", render(e, Notation::python));
  lines.print("latex", render(e, Notation::latex));
  const std::string_view bound = answer.facts.exact ? "exact" : "bound";
  lines.print("min", std::to_string(answer.facts.min), bound);
  lines.print("max", std::to_string(answer.facts.max), bound);
  if (answer.facts.modulus > 1) {
    lines.print("congruent", std::to_string(answer.facts.residue) + " mod " +
                                 std::to_string(answer.facts.modulus));
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

void write_trace(JsonWriter& json, const std::vector<RewriteEvent>& events) {
  json.key("trace").begin_array();
  for (const RewriteEvent& event : events) {
    const Rule& row = rule(event.rule);
    json.begin_object().member("rule", row.name).member("title", row.title);
    json.member("before", instance(row.before, event)).member("after", instance(row.after, event)).end_object();
  }
  json.end_array();
}

/// Answers, with the rewrites on the way where `events` is given.
ExprAnswer ask(const ExprQuestion& question, std::vector<RewriteEvent>* events) {
  std::optional<RewriteTrace> trace;
  if (events != nullptr)
    trace.emplace([events](const RewriteEvent& event) { events->push_back(event); });
  Work work(kPosInf);
  return ask_expr(question, work);
}

}  // namespace

int command_expr(const Invocation& invocation, Console& console) {
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
    return report(e, question, console);
  }
}

}  // namespace strata::tools
