// Affine steps at one point.
//
// The fast run executes every step and stops at the first failure. Then the steps run again with failures as values,
// because a failure in a branch that is not taken does not count.

#include <vector>

#include "strata/affine/affine_program.h"
#include "strata/base/check.h"

namespace strata {

namespace {

/// The product as a 64-bit magnitude and a sign, so that only a product that does not fit is refused.
bool try_product(std::span<const AffineOperand> operands, const std::int64_t* values, std::int64_t& out) {
  std::uint64_t magnitude_of_product = 1;
  bool negative = false, overflow = false;
  for (const AffineOperand& o : operands) {
    const std::int64_t v = values[o.value];
    if (v == 0) {
      out = 0;
      return true;
    }
    negative ^= v < 0;
    overflow |= __builtin_mul_overflow(magnitude_of_product, magnitude(v), &magnitude_of_product);
  }
  const std::uint64_t limit = (std::uint64_t{1} << 63) - (negative ? 0 : 1);
  out = static_cast<std::int64_t>(negative ? ~magnitude_of_product + 1 : magnitude_of_product);
  return !overflow && magnitude_of_product <= limit;
}

bool try_sum(std::int64_t constant, std::span<const AffineOperand> operands, const std::int64_t* values,
             std::int64_t& out) {
  std::int64_t total = constant;
  for (const AffineOperand& o : operands) {
    std::int64_t part = 0;
    if (!try_mul(o.coefficient, values[o.value], part) || !try_add(total, part, total)) [[unlikely]] {
      WideSum wide(constant);
      for (const AffineOperand& each : operands) wide.add(each.coefficient, values[each.value]);
      return wide.get(out);
    }
  }
  out = total;
  return true;
}

Outcome run_step(const AffineProgram& program, const AffineStep& step, const std::int64_t* r, std::int64_t& out) {
  const AffineOperand* x = program.operands.data() + step.first;
  if (step.action == Action::add)
    return try_sum(step.constant, {x, step.count}, r, out) ? Outcome::ok : Outcome::overflow;
  if (step.action == Action::mul) return try_product({x, step.count}, r, out) ? Outcome::ok : Outcome::overflow;
  if (step.action == Action::select) {
    out = r[x[0].value] != 0 ? r[x[1].value] : r[x[2].value];
    return Outcome::ok;
  }
  if (step.count == 1 && step.immediate) return apply_binary(step.action, r[x[0].value], step.constant, out);
  out = r[x[0].value];
  Outcome outcome = Outcome::ok;
  for (std::uint32_t i = 1; i < step.count && outcome == Outcome::ok; ++i)
    outcome = apply_binary(step.action, out, r[x[i].value], out);
  if (step.immediate && outcome == Outcome::ok) outcome = apply_binary(step.action, out, step.constant, out);
  return outcome;
}

std::string_view symbol(Action action) {
  switch (action) {
    case Action::div: return " / ";
    case Action::mod: return " % ";
    case Action::ceil_div: return " ceildiv ";
    default: return " * ";
  }
}

/// The failure of a value: why and where; outcome ok when there is none.
struct Failure {
  Outcome outcome = Outcome::ok;
  std::size_t column = 0;
  std::string what;
};

Failure describe(const AffineProgram& program, const AffineStep& step, Outcome outcome, const std::int64_t* r) {
  Failure out{outcome, step.column, {}};
  const auto operands = program.of(step);
  if (step.action == Action::add) {
    out.what = "a sum";
  } else {
    for (const AffineOperand& o : operands) {
      if (!out.what.empty()) out.what += symbol(step.action);
      out.what += std::to_string(r[o.value]);
    }
    if (step.immediate) out.what += detail::message(symbol(step.action), step.constant);
  }
  out.what += outcome == Outcome::overflow ? " does not fit in 64 bits" : ": the divisor is 0";
  return out;
}

/// The failure that a step passes on from its operands, or null. @pre a register with a failure holds some value
const Failure* inherited(const AffineProgram& program, const AffineStep& step, const std::vector<Failure>& failures,
                         const std::int64_t* r) {
  const auto failure = [&](const AffineOperand& o) {
    const Failure& f = failures[o.value];
    return f.outcome == Outcome::ok ? nullptr : &f;
  };
  const auto operands = program.of(step);
  if (step.action == Action::select) {
    if (const Failure* f = failure(operands[0])) return f;
    return failure(operands[r[operands[0].value] != 0 ? 1 : 2]);
  }
  for (const AffineOperand& o : operands) {
    if (const Failure* f = failure(o)) return f;
    const bool truth = r[o.value] != 0;
    if (step.action == Action::logical_and && !truth) return nullptr;
    if (step.action == Action::logical_or && truth) return nullptr;
  }
  return nullptr;
}

/// Runs all steps, with failures as values.
[[gnu::noinline]] std::int64_t run_with_failures(const AffineProgram& program, std::int64_t* r) {
  std::vector<Failure> failures(program.registers);
  for (const AffineStep& step : program.steps) {
    std::int64_t value = 0;
    Failure failure;
    if (const Failure* f = inherited(program, step, failures, r)) {
      failure = *f;
    } else if (Outcome outcome = run_step(program, step, r, value); outcome != Outcome::ok) {
      failure = describe(program, step, outcome, r);
      value = 0;
    }
    r[step.target] = value;
    failures[step.target] = std::move(failure);
  }
  const Failure& f = failures[program.result];
  if (f.outcome == Outcome::ok) return r[program.result];
  throw Error(f.outcome == Outcome::overflow ? ErrorKind::overflow : ErrorKind::domain, "[affine] " + f.what, f.column);
}

}  // namespace

std::int64_t run_program(const AffineProgram& program, std::int64_t* r) {
  for (const AffineStep& step : program.steps) {
    std::int64_t value = 0;
    if (run_step(program, step, r, value) != Outcome::ok) [[unlikely]]
      return run_with_failures(program, r);
    r[step.target] = value;
  }
  return r[program.result];
}

}  // namespace strata
