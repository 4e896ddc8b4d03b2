// Strata as a peer: the public operators of strata/expr/expr.h at the default effort.
#include <random>

#include "bench/harness.h"
#include "bench/peers.h"
#include "strata/expr/expr.h"

namespace strata::bench {

namespace {

std::vector<Expr> make_variables(const Program& program) {
  std::vector<Expr> variables;
  for (const Range& v : program.variables) variables.push_back(Variable(v.name, v.min, v.max));
  return variables;
}

Expr value(const Step& s, const std::vector<Expr>& slots, const std::vector<Expr>& variables) {
  switch (s.op) {
    case 'c': return Expr(s.value);
    case 'v': return variables[static_cast<std::size_t>(s.value)];
    case '+': return slots[s.left] + slots[s.right];
    case '*': return slots[s.left] * slots[s.right];
    case '/': return slots[s.left] / slots[s.right];
    default: return slots[s.left] % slots[s.right];
  }
}

Expr run_steps(const std::vector<Step>& steps, const std::vector<Expr>& variables, std::vector<Expr>& slots) {
  for (std::size_t i = 0; i < steps.size(); ++i) slots[i] = value(steps[i], slots, variables);
  return simplify(slots.back());
}

/// Every handle of the previous build lives until this build puts the same one in its place.
class WarmStrata : public Peer {
 public:
  explicit WarmStrata(const Program& program)
      : steps_(program.steps), variables_(make_variables(program)), slots_(steps_.size()) {}
  void build() override { keep(run_steps(steps_, variables_, slots_).node()); }
  std::string result() override { return run_steps(steps_, variables_, slots_).render(); }

 private:
  const std::vector<Step>& steps_;
  std::vector<Expr> variables_;
  std::vector<Expr> slots_;
};

/// Variables by name, all nodes, and their release: nothing of this expression is alive between builds. Its variables
/// have names of their own, because the warm peer keeps the others alive.
class ColdStrata : public Peer {
 public:
  explicit ColdStrata(const Program& program) : program_(program) {
    for (Range& v : program_.variables) v.name += '_';
  }
  void build() override {
    const std::vector<Expr> variables = make_variables(program_);
    std::vector<Expr> slots(program_.steps.size());
    keep(run_steps(program_.steps, variables, slots).node());
  }
  std::string result() override {
    std::vector<Expr> slots(program_.steps.size());
    return run_steps(program_.steps, make_variables(program_), slots).render();
  }

 private:
  Program program_;
};

std::string differing_point(const Program& program, const Expr& result, int points) {
  std::mt19937_64 random(20240607);
  for (int n = 0; n < points; ++n) {
    std::vector<std::int64_t> point;
    Values values;
    std::string where;
    for (const Range& v : program.variables) {
      point.push_back(std::uniform_int_distribution<std::int64_t>(v.min, v.max)(random));
      values.emplace_back(Variable(v.name, v.min, v.max), point.back());
      where += v.name + "=" + std::to_string(point.back()) + " ";
    }
    const std::int64_t got = evaluate(result, values), want = run_program(program.steps, point);
    if (got != want) return where + "gives " + std::to_string(got) + ", not " + std::to_string(want);
  }
  return {};
}

}  // namespace

std::unique_ptr<Peer> make_strata_warm(const Program& program) { return std::make_unique<WarmStrata>(program); }
std::unique_ptr<Peer> make_strata_cold(const Program& program) { return std::make_unique<ColdStrata>(program); }

std::string verify_strata(const Program& program, int points) {
  const std::vector<Expr> variables = make_variables(program);
  std::vector<Expr> slots(program.steps.size());
  const Expr result = run_steps(program.steps, variables, slots);
  if (const std::string wrong = differing_point(program, result, points); !wrong.empty()) return "WRONG: " + wrong;
  const std::string text = result.render();
  if (program.ideal == "affine") return affine_form(result) ? "" : "not affine: " + text;
  if (program.ideal == "as is")
    return count_div_mod(text) <= count_div_mod(program.text) ? "" : "more // and % than written: " + text;
  const std::vector<Step> ideal = parse_steps(program.ideal, program.variables);
  slots.assign(ideal.size(), Expr());
  const std::string wanted = run_steps(ideal, variables, slots).render();
  return text == wanted ? "" : text + " instead of " + wanted;
}

}  // namespace strata::bench
