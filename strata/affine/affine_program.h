// AffineProgram: the straight-line code over registers that an affine text or a canonical expression is compiled to,
// and AffineCode, a program with the names it reads. Internal to affine/.
//
//   affine_lower.cpp   text -> steps, every tree of + - and products by constants as one sum; canonical Expr -> steps
//   affine_run.cpp     steps at one point, with overflow detected
//   affine_fill.cpp    steps over a box, strength-reduced
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/affine/affine.h"
#include "strata/affine/affine_text.h"

namespace strata {

struct AffineOperand {
  std::int64_t coefficient;  // the factor in a sum; 1 elsewhere
  std::uint32_t value;  // while lowering: i for input i, inputs + k for step k; after allocate_registers: the register
};

/// One operation. Action::add is `constant + sum of coefficient * operand`; Action::mul is the product of any number of
/// operands; min, max, and, or also take any number; select has the operands condition, then, else. Lowering leaves no
/// sub, neg, not or if_else. With `immediate`, `constant` is the last operand. Only steps of lower_expr are `bounded`.
struct AffineStep {
  Action action = Action::add;
  bool immediate = false;
  bool bounded = false;  // the value is proven to fit in 64 bits on the whole domain
  std::uint32_t target = 0;
  std::uint32_t first = 0;  // operands[first, first + count)
  std::uint32_t count = 0;
  std::int64_t constant = 0;
  std::int64_t lo = 0, hi = 0;  // bounds, when bounded
  std::size_t column = 0;       // in the text; 0 for a step of a canonical form
};

/// Steps in the order of their execution. Before allocate_registers, operands and `result` name values: i is input i,
/// and inputs + k is the value of step k. After it they name registers.
struct AffineProgram {
  std::uint32_t inputs = 0;  // registers 0 ... inputs - 1 hold the inputs
  std::uint32_t registers = 0;
  std::uint32_t result = 0;  // a register
  std::vector<AffineStep> steps;
  std::vector<AffineOperand> operands;

  std::span<const AffineOperand> of(const AffineStep& step) const { return {operands.data() + step.first, step.count}; }
};

/// The steps of a text, over values. Input i is text.names[i]. @pre text.fault.column == 0
AffineProgram lower_text(const AffineText& text);
/// The canonical form of the result of `steps` over `inputs`. @pre `steps` is over values, not registers
/// @throws as Expr's operators, with the column in the text
Expr build_expr(const AffineProgram& steps, std::span<const Expr> inputs);
/// The steps of a canonical form, over values. `inputs` holds its variables and may hold more; input i is inputs[i].
AffineProgram lower_expr(const Expr& e, std::span<const Expr> inputs);
/// Replaces values by registers, and counts these. A step's register is reused after the last reader of its value; the
/// inputs keep theirs.
void allocate_registers(AffineProgram& program);

/// Runs the steps and returns the result. A zero divisor, or a value that does not fit in 64 bits, is no failure in a
/// branch of select, `and` or `or` that is not taken. @pre allocate_registers was called; `registers` points to
///   program.registers numbers, and the first program.inputs hold the inputs, which the run keeps
/// @throws Error (domain, overflow), with the column in the text
std::int64_t run_program(const AffineProgram& program, std::int64_t* registers);
/// run_program with registers on the stack or in a scratch area of the thread; f(registers) fills in the inputs, and
/// runs no program itself.
template <class F>
std::int64_t run_program_with(const AffineProgram& program, F&& f) {
  constexpr std::size_t kInline = 64;
  if (program.registers <= kInline) {
    std::int64_t registers[kInline];
    f(static_cast<std::int64_t*>(registers));
    return run_program(program, registers);
  }
  thread_local std::vector<std::int64_t> scratch;
  if (scratch.size() < program.registers) scratch.resize(program.registers);
  f(scratch.data());
  return run_program(program, scratch.data());
}

/// A sum of products, exact however large its parts: high and low words are summed apart.
class WideSum {
 public:
  explicit WideSum(std::int64_t k0) : low_(static_cast<std::uint64_t>(k0)), high_(k0 < 0 ? -1 : 0) {}
  void add(std::int64_t coefficient, std::int64_t value) {
    const Wide product = static_cast<Wide>(coefficient) * value;
    low_ += static_cast<std::uint64_t>(product);
    high_ += product >> 64;
  }
  /// False when the sum does not fit in 64 bits.
  [[nodiscard]] bool get(std::int64_t& out) const {
    out = static_cast<std::int64_t>(static_cast<std::uint64_t>(low_));
    return high_ + (low_ >> 64) == (out < 0 ? -1 : 0);
  }

 private:
  __extension__ using Wide = __int128;
  Wide low_, high_;
};

/// One named value of an AffinePrimitives. Its address is stable. `set`: the value was set, so functions may read it.
struct AffineSlot {
  std::string name;
  std::int64_t value = 0;
  bool set = false;
};
/// The named values of an AffinePrimitives. find() gives null for an unknown name; find_or_add() adds it, not set.
struct AffineSlots {
  static constexpr std::size_t kScanned = 8;

  std::deque<AffineSlot> slots;
  std::vector<std::pair<std::string_view, AffineSlot*>>
      scanned;  // the first kScanned names: a linear search beats hashing for few names
  std::unordered_map<std::string_view, AffineSlot*> indexed;  // all later names
  std::size_t missing = 0;  // the number of slots that are not set; code that sets a slot decrements it

  AffineSlot* find(std::string_view name) const;
  AffineSlot& find_or_add(std::string_view name);
};

/// A name of the text: the slot that holds its value, and its range.
struct AffineInput {
  AffineSlot* slot = nullptr;
  bool ranged = false;
  std::int64_t begin = 0;
  std::uint64_t extent = 0;
  std::size_t axis = 0;  // its axis in the domain, when ranged
};

/// The number of points of a domain; false when it does not fit in 64 bits.
[[nodiscard]] bool try_size(const Domain& box, std::int64_t& out);

/// The code of one Affine: its program over registers, and the slots and ranges of its names. `linear`: the program is
/// k0 + terms, which is evaluated instead. `expr` is the canonical form, when every name has a range that is not empty;
/// `domain` holds the declared ranges.
struct AffineCode {
  /// A term of a linear function: its coefficient and the address of the name's value.
  struct Term {
    std::int64_t coefficient;
    const std::int64_t* value;
  };

  std::shared_ptr<AffineSlots> slots;
  std::vector<AffineInput> inputs;
  AffineProgram program;
  bool ranged = false;  // at least one input is ranged
  bool linear = false;
  std::int64_t k0 = 0;      // when linear
  std::vector<Term> terms;  // when linear
  std::optional<Expr> expr;
  Domain domain;
};

}  // namespace strata
