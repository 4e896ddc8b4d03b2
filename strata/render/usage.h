// What a list's values are used for: which are needed, which may stand where they are used, which are only indices.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/ir/uop.h"

namespace strata::rendering {

/// The value of a CONST; null for other UOps.
inline const Scalar* constant_of(UOp u) { return u.op() == UOps::CONST ? &u.constant() : nullptr; }

/// The value where it is a constant by the form of the op (`x < 0` and `min(x, 0)` of unsigned, a shift beyond the
/// width). Compilers warn of those.
std::optional<Scalar> folded(UOp u);

/// Whether a choice between floats may be an absolute value: one of them is a negation.
bool may_be_absolute(UOp where);

/// Linear in the list.
class Usage {
 public:
  /// @pre verify accepts the list
  explicit Usage(const UOpGraph& list);

  /// Something is stored, or runs, because of it.
  bool live(UOp u) const { return facts_[u.num()].live; }
  bool used(UOp u) const { return facts_[u.num()].uses > 0; }
  /// Used once, in the block where it is made, and nothing that it reads is assigned in between.
  bool inlined(UOp u) const { return facts_[u.num()].inlined; }
  /// An integer that is more than an index, a bound or a gate: it may wrap.
  bool data(UOp u) const { return facts_[u.num()].data; }
  /// Accumulators: how many PHIs assign to it.
  std::uint32_t assignments(UOp acc) const { return facts_[acc.num()].assignments; }

 private:
  struct Facts {
    std::uint32_t uses = 0;
    std::uint32_t user = 0;
    std::uint32_t block = 0;
    std::uint32_t outer = 0;  // the block in which its operands are read
    std::uint32_t epoch = 0;  // rises where accumulators may change
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
