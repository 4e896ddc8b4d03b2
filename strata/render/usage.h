// Usage: how the values of a kernel's list of UOps are used. It tells both renderers which UOps are live, which values
// may be written inside their user, and which integers are only indices. Internal to render/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/ir/uop.h"

namespace strata::rendering {

/// The value of a CONST; null for other UOps.
inline const Scalar* constant_of(UOp u) { return u.op() == UOps::CONST ? &u.constant() : nullptr; }

/// The constant value of an ALU op whose form determines it for each value of the other operand: e.g. false for `x < 0`
/// and 0 for `min(x, 0)` of unsigned x, 0 for a left shift by the width or more. Renderers write the constant, because
/// compilers warn about such expressions.
std::optional<Scalar> folded(UOp u);

/// Whether a WHERE of floats may compute an absolute value: one of its choices is a negation, e.g. `x < 0 ? -x : x`.
/// Renderers hide those from LLVM 19, which computes with absolute values incorrectly (see LlvmOps::hidden in
/// llvm_ops.cpp).
bool may_be_absolute(UOp where);

/// The uses of each UOp of a list. The constructor takes time linear in the list.
class Usage {
 public:
  /// @pre verify() accepts the list
  explicit Usage(const UOpGraph& list);

  /// Whether the UOp must be rendered: a store or a control-flow UOp depends on it, or it is one. A store to scratch
  /// memory counts only if the memory is live.
  bool live(UOp u) const { return facts_[u.num()].live; }
  bool used(UOp u) const { return facts_[u.num()].uses > 0; }
  /// Whether the value may be written inside its user: it has one use, in the block in which it is computed, no
  /// accumulator that it reads is assigned to in between, and the expression is not too deep.
  bool inlined(UOp u) const { return facts_[u.num()].inlined; }
  /// Whether an integer is (also) used as a stored or accumulated value, which may wrap around. False: only in indices,
  /// bounds and gates, which do not overflow.
  bool data(UOp u) const { return facts_[u.num()].data; }
  /// The number of PHIs that assign to the accumulator `acc`.
  std::uint32_t assignments(UOp acc) const { return facts_[acc.num()].assignments; }

 private:
  struct Facts {
    std::uint32_t uses = 0;
    std::uint32_t user = 0;
    std::uint32_t block = 0;
    std::uint32_t outer = 0;  // the block in which its operands are read: of a LOOP, the one around it
    std::uint32_t epoch = 0;  // increases at each UOp where an accumulator may change
    std::uint32_t assignments = 0;
    std::uint8_t depth = 0;
    bool live = false;
    bool inlined = false;
    bool data = false;
    bool reads_acc = false;
  };

  void find_live(const UOpGraph& list);
  void find_blocks(const UOpGraph& list);
  void find_data(const UOpGraph& list);
  void find_inlined(const UOpGraph& list);

  std::vector<Facts> facts_;
};

}  // namespace strata::rendering
