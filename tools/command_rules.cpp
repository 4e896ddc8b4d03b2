// `strata rules`: prints the tables of rewrite rules and of formulas, as text or JSON.
#include <algorithm>
#include <ostream>

#include "strata/base/json.h"
#include "strata/codegen/decompose.h"
#include "strata/dtype/scalar.h"
#include "strata/expr/rules.h"
#include "tools/batch_rows.h"
#include "tools/commands.h"

namespace strata::tools {
namespace {

std::string_view check_text(const Rule& rule) { return rule.check == Check::z3 ? "z3" : "written proof"; }

std::string rule_json(const Rule& rule) {
  JsonWriter json;
  write_rule(json, rule);
  return json.take();
}

void print_line(const Rule& rule, Console& console) {
  console.out << "  " << paint(console.colour_out, Style::bold, padded(rule.name, 4)) << ' ' << padded(rule.title, 30)
              << ' ' << rule.before << "  ->  " << rule.after;
  if (rule.guard != "1") console.out << paint(console.colour_out, Style::dim, "   where " + std::string(rule.guard));
  console.out << paint(console.colour_out, Style::dim, "   [" + std::string(check_text(rule)) + "]") << '\n';
}

void print_page(const Rule& rule, Console& console) {
  console.out << paint(console.colour_out, Style::bold, rule.name) << "  " << rule.title << "  ("
              << rule_section(rule.name.front()) << ")\n  " << rule.before << "  ->  " << rule.after << '\n'
              << "  where    " << (rule.guard == "1" ? "always" : rule.guard) << '\n'
              << "  checked  exhaustively on a box of integers, and by "
              << (rule.check == Check::z3 ? "Z3 with unbounded variables" : "a written proof") << '\n';
  const std::string_view how = through(static_cast<RuleId>(&rule - rules().data()));
  console.out << "  applied  " << (how.empty() ? "by this name" : how) << '\n';
  if (!rule.proof.empty()) console.out << "  proof    " << rule.proof << '\n';
}

const Rule& find_rule(const std::string& name, const Command& command) {
  std::vector<std::string_view> names;
  for (const Rule& rule : rules()) {
    if (rule.name == name) return rule;
    names.push_back(rule.name);
  }
  const std::string_view best = nearest(name, names);
  throw UsageError(
      "there is no rule '" + name + "'" + (best.empty() ? "" : "; did you mean '" + std::string(best) + "'?"),
      &command);
}

void print_all(Console& console) {
  char section = '\0';
  for (const Rule& rule : rules()) {
    if (rule.name.front() != section) {
      console.out << (section == '\0' ? "" : "\n")
                  << paint(console.colour_out, Style::bold, rule_section(rule.name.front())) << '\n';
      section = rule.name.front();
    }
    print_line(rule, console);
  }
  const auto by_z3 = std::count_if(rules().begin(), rules().end(), [](const Rule& r) { return r.check == Check::z3; });
  console.out << '\n'
              << rules().size() << " rules; each is checked exhaustively on a box of integers, " << by_z3
              << " also by Z3 with unbounded variables, the others by a written proof.\n";
}

std::string error_text(const Decomposition& formula) {
  return formula.ulp == 0 ? "exact" : Scalar(formula.ulp).text() + " ULP";
}

void print_formula(const Decomposition& formula, Console& console) {
  const std::string error = error_text(formula);
  console.out << "  " << paint(console.colour_out, Style::bold, padded(row(formula.op).name, 9)) << ' '
              << std::string(8 - error.size(), ' ') << error << "  " << padded(formula.name, 34) << ' '
              << formula.dtypes << '\n';
}

std::string formula_json(const Decomposition& formula) {
  JsonWriter json;
  json.begin_object().member("op", spec_name(formula.op)).member("dtypes", formula.dtypes);
  json.member("formula", formula.name).key("ulp").raw(Scalar(formula.ulp).text());
  return json.end_object().take();
}

int show_formulas(const Invocation& invocation, Console& console) {
  if (!invocation.arguments().empty()) throw UsageError("--math takes no names of rules", &invocation.command());
  for (const Decomposition& formula : decompositions()) {
    if (invocation.has("--json"))
      console.out << formula_json(formula) << '\n';
    else
      print_formula(formula, console);
  }
  return 0;
}

}  // namespace

int command_rules(const Invocation& invocation, Console& console) {
  if (invocation.has("--math")) return show_formulas(invocation, console);
  std::vector<const Rule*> chosen;
  for (const std::string& name : invocation.arguments()) chosen.push_back(&find_rule(name, invocation.command()));
  const bool all = chosen.empty();
  if (all && !invocation.has("--json")) {
    print_all(console);
    return 0;
  }
  if (all) {
    for (const Rule& rule : rules()) chosen.push_back(&rule);
  }
  for (const Rule* rule : chosen) {
    if (invocation.has("--json")) {
      console.out << rule_json(*rule) << '\n';
    } else {
      print_page(*rule, console);
    }
  }
  return 0;
}

}  // namespace strata::tools
