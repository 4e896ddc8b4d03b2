// Optional parts of answers: facts about a View, the rules that fired, the table of rules.
#include "strata/expr/render.h"
#include "strata/expr/rewrite_text.h"
#include "strata/view/equal.h"
#include "tools/batch_rows.h"

namespace strata::tools {
namespace {

/// A section of the table of rules: the first letter of its rules' names, and its title.
struct RuleSection {
  char letter;
  std::string_view title;
};
constexpr RuleSection rule_sections[] = {
    {'D', "division"},          {'M', "modulus"},
    {'N', "negative divisors"}, {'C', "comparisons: order and equality"},
    {'S', "min, max, select"},  {'B', "conditions: and, or, not"},
    {'A', "sums and products"}, {'Y', "symbolic sizes"},
};

void write_index(JsonWriter& json, const std::optional<Index>& at) {
  if (at)
    write_numbers(json, {at->begin(), at->size()});
  else
    json.null();
}

/// About the units of work of one decision about a stack.
void charge_facts(const ShapeTracker& stack, Work& work) {
  constexpr std::uint64_t decision = 4096;
  const std::uint64_t parts = stack.views().size() + stack.rank();
  work.charge(decision * (1 + parts * parts));
}

void write_facts(const ShapeTracker& stack, Work& work, JsonWriter& json) {
  charge_facts(stack, work);
  const StackProof injective = is_injective(stack);
  json.begin_object().member("injective", answer_word(injective.answer)).key("injective_witness");
  const auto pair = injective.witness ? ask_same_address(stack, *injective.witness, work) : std::nullopt;
  if (pair) {
    json.begin_array();
    write_index(json, pair->first);
    write_index(json, pair->second);
    json.end_array();
  } else {
    json.null();
  }
  const StackProof contiguous = is_contiguous(stack);
  json.member("contiguous", answer_word(contiguous.answer));
  write_index(json.key("contiguous_witness"), contiguous.witness);
  json.end_object();
}

}  // namespace

std::string_view answer_word(Answer answer) {
  return answer == Answer::yes ? "true" : answer == Answer::no ? "false" : "unknown";
}

void write_view_extras(const Request& request, const ViewQuestion& question, const ViewAnswer& answer, Work& work,
                       JsonWriter& json) {
  if (request.flag("why", false)) {
    charge_facts(question.stack, work);
    json.member("why", question.stack.why_not_merged());
  }
  if (request.flag("facts", false)) write_facts(question.stack, work, json.key("facts"));
  if (request.flag("latex", false)) write_latex(json, answer.index);
}

void write_latex(JsonWriter& json, const IndexExprs& exprs) {
  json.member("idx_latex", render(exprs.index, Notation::latex));
  json.member("valid_latex", render(exprs.valid, Notation::latex));
}

std::string_view rule_section(char letter) {
  for (const RuleSection& s : rule_sections)
    if (s.letter == letter) return s.title;
  return "no section";
}

void write_rule(JsonWriter& json, const Rule& rule) {
  json.begin_object().member("name", rule.name).member("section", rule_section(rule.name.front()));
  json.member("title", rule.title).member("before", rule.before).member("after", rule.after);
  json.member("guard", rule.guard).member("check", rule.check == Check::z3 ? "z3" : "written");
  json.member("proof", rule.proof).end_object();
}

void write_trace(JsonWriter& json, std::span<const RewriteEvent> events) {
  json.key("trace").begin_array();
  for (const RewriteEvent& event : events) {
    const Rule& row = rule(event.rule);
    json.begin_object().member("rule", row.name).member("title", row.title);
    json.member("before", instance(row.before, event)).member("after", instance(row.after, event));
    json.member("guard", instance(row.guard, event));
    json.member("check", row.check == Check::z3 ? "z3" : "written").member("proof", row.proof).end_object();
  }
  json.end_array();
}

void answer_rules(const Request&, Work&, JsonWriter& json) {
  json.key("rules").begin_array();
  for (const Rule& rule : rules()) write_rule(json, rule);
  json.end_array();
}

}  // namespace strata::tools
