// Answers questions about expressions.
#include "tools/ask.h"

#include <algorithm>
#include <unordered_map>

#include "strata/base/int_math.h"
#include "strata/base/quotes.h"
#include "strata/expr/parse.h"

namespace strata::tools {
namespace {

std::vector<std::string> names_of(const std::vector<Variable>& variables) {
  std::vector<std::string> names;
  names.reserve(variables.size());
  for (const Variable& v : variables) names.emplace_back(v.name());
  return names;
}

/// Parses a text; errors are TextErrors, with the text.
Expr parse_text(std::string_view text, const Parser& parser, std::string_view where, Work& work) {
  work.charge(text.size());
  try {
    return parser(text);
  } catch (const Error& e) {
    throw TextError(e, text, where);
  }
}

/// The name of entry i of `field` in errors: "--assume" on the command line, "assume[0]" in a request.
std::string entry_name(const ExprQuestion& question, std::string_view field, std::size_t i) {
  return question.options ? detail::message("--", field) : detail::message(field, "[", i, "]");
}

Expr parse_assumptions(const ExprQuestion& question, const Parser& parser, Work& work) {
  std::vector<Expr> conditions;
  for (std::size_t i = 0; i < question.assume.size(); ++i) {
    const std::string where = entry_name(question, "assume", i);
    conditions.push_back(parse_text(question.assume[i], parser, where, work));
  }
  return all_of(conditions);
}

/// Evaluates the unsimplified text at points.
class TextValues {
 public:
  explicit TextValues(const ExprQuestion& question)
      : question_(question), program_(compile(question.text, names_of(question.variables))) {
    for (std::size_t i = 0; i < question.variables.size(); ++i) index_[question.variables[i].name()] = i;
  }

  std::int64_t at(std::size_t entry) {
    values_.assign(index_.size(), 0);
    given_.clear();
    for (const auto& [name, value] : question_.at[entry]) set(name, value, entry);
    if (given_.size() == index_.size()) return program_.evaluate(values_);
    return without_the_others(entry);
  }

 private:
  std::string name_of(std::size_t entry) const { return entry_name(question_, "at", entry); }

  void set(const std::string& name, std::int64_t value, std::size_t entry) {
    const auto found = index_.find(name);
    STRATA_CHECK(found != index_.end(), parse, "[", name_of(entry), "] unknown name ", in_quotes(name));
    const Variable& v = question_.variables[found->second];
    const bool inside = v.min() <= value && value <= v.max();
    STRATA_CHECK(inside, domain, "[", name_of(entry), "] ", in_quotes(name), " is ", value, ", outside ", v.min(), "..",
                 v.max());
    values_[found->second] = value;
    given_.push_back(name);
  }

  /// The value at a point that does not name all variables. That is legal if the text does not contain the others: then
  /// it compiles without them.
  std::int64_t without_the_others(std::size_t entry) {
    std::vector<std::int64_t> values;
    for (const std::string& name : given_) values.push_back(values_[index_.at(name)]);
    try {
      return compile(question_.text, given_).evaluate(values);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::parse) throw;
      throw Error(ErrorKind::parse, "[" + name_of(entry) + "] a name of the text has no value: " + e.what(),
                  e.column());
    }
  }

  const ExprQuestion& question_;
  ExprProgram program_;
  std::unordered_map<std::string_view, std::size_t> index_;
  std::vector<std::int64_t> values_;  // of each variable
  std::vector<std::string> given_;
};

std::vector<std::int64_t> evaluate_all(const ExprQuestion& question, Work& work) {
  std::vector<std::int64_t> values;
  if (question.at.empty()) return values;
  TextValues text(question);
  for (std::size_t i = 0; i < question.at.size(); ++i) {
    work.charge(question.text.size() + question.variables.size());
    values.push_back(text.at(i));
  }
  return values;
}

void require_bounds(const Facts& facts, const Expr& e) {
  if (facts.exact) return;
  const auto require = [&](bool known, std::string_view what) {
    STRATA_CHECK(known, overflow, "[expr] the ", what, " of ", in_quotes(e.render()),
                 " is not known to fit in 64 bits");
  };
  require(facts.min != kNegInf, "minimum");
  require(facts.max != kPosInf, "maximum");
}

/// `found` with a value for every variable, in the order of `variables`.
Values completed(const Values& found, const std::vector<Variable>& variables) {
  std::unordered_map<std::string_view, std::int64_t> known;
  for (const auto& [variable, value] : found) known[variable.name()] = value;
  Values out;
  for (const Variable& v : variables) {
    const auto it = known.find(v.name());
    out.emplace_back(v, it == known.end() ? v.min() : it->second);
  }
  return out;
}

}  // namespace

void Work::charge(std::uint64_t amount) {
  const auto limit = static_cast<std::uint64_t>(std::max<std::int64_t>(left_, 0));
  if (amount > limit) {
    throw Error(ErrorKind::budget,
                "[budget] the request needs more than " + std::to_string(budget_) + " units of work");
  }
  left_ -= static_cast<std::int64_t>(amount);
}

TextError::TextError(const Error& error, std::string_view text, std::string_view where)
    : Error(error.kind(), where.empty() ? error.what() : std::string(error.what()) + " (in " + std::string(where) + ")",
            error.column()),
      text_(text) {}

ExprAnswer ask_expr(const ExprQuestion& question, Work& work) {
  const Parser parser(question.variables);
  const Expr e = parse_text(question.text, parser, "", work);
  const Expr assumption = parse_assumptions(question, parser, work);
  ExprAnswer answer;
  answer.simplified =
      question.assume.empty() ? simplify(e, question.effort) : simplify_under(e, assumption, question.effort);
  answer.facts = answer.simplified.facts(question.effort);
  require_bounds(answer.facts, answer.simplified);
  answer.values = evaluate_all(question, work);
  return answer;
}

Proof ask_prove(const ExprQuestion& question, Work& work) {
  const Parser parser(question.variables);
  const Expr condition = parse_text(question.text, parser, "", work);
  const Expr assumption = parse_assumptions(question, parser, work);
  Proof proof = prove(condition, assumption);
  if (proof.answer == Answer::no) proof.counterexample = completed(proof.counterexample, question.variables);
  return proof;
}

std::optional<Values> ask_equal(std::string_view a, std::string_view b, const std::vector<Variable>& variables,
                                Work& work) {
  const Parser parser(variables);
  const Expr left = parse_text(a, parser, "a", work);
  const Expr right = parse_text(b, parser, "b", work);
  const Proof proof = prove_equal(left, right);
  if (proof.answer == Answer::yes) return std::nullopt;
  if (proof.answer == Answer::no) return completed(proof.counterexample, variables);
  throw Error(ErrorKind::budget, "[equal_expr] neither proven equal nor found to differ: " + in_quotes(left.render()) +
                                     " and " + in_quotes(right.render()) + "; a larger budget looks further");
}

}  // namespace strata::tools
