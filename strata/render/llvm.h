// From a list of UOps to the text of a module of LLVM IR (opaque pointers, LLVM 17 or later), for any target.
//
//   uops_to_llvm("E_n2", uops)
//   define internal void @E_n2(ptr noalias %data0) #0 {
//   entry:
//     %alu3 = fadd float 2.0, 3.0
//     store float %alu3, ptr %data0, align 4
//     ret void
//   }
//   define void @E_n2_entry(ptr %buffers, ptr %values) #0 { ... }
//
// Values are named after their line in the list, counters ridx0, ridx1, ... Accumulators are phi nodes: the text is in SSA
// form. A loop is entered at its end test, so that what does not change in it can move out of it.
//
//   dtype     in registers               in memory
//   bool      i1                         i8, 0 or 1
//   f16       half                       half
//   bf16      its bits, i16              i16
//   others    as LLVM has them           the same
//
// Floats of 16 bits are computed in f32 and rounded after each op.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "strata/codegen/polls.h"
#include "strata/ir/uop.h"
#include "strata/render/source_lines.h"

namespace strata {

// GCC and clang warn of a deprecated field where they make the constructors.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// What floats may be, beyond what the list says. All off: each op is rounded once and in the list's order.
struct LlvmOptions {
  bool contract = false;     ///< a product may be fused into a sum that uses it
  bool reassociate = false;  ///< sums and products may be regrouped
  bool exact_mulacc =
      false;  ///< MULACC is rounded once on every machine (slow where there is no FMA); else once where
              ///< that is quick, and twice elsewhere
  Polls polls = {};  ///< whether to go on: buffers[polls.slot] of the entry is `int poll(void)`
  SourceLines* lines = nullptr;  ///< where not null, gets what each line says
  [[deprecated("renamed to polls")]] Polls looks = {};
};

#pragma GCC diagnostic pop

/// Loops and IFs that are open at once, and bytes of DEFINE_LOCALs, which live on the stack.
inline constexpr std::size_t kMostLlvmBlocks = 200;
inline constexpr std::int64_t kMostLlvmLocalBytes = std::int64_t{1} << 20;

/// The module: `NAME`, private, on buffers by slot and the variables in the order of the list; and
/// `void NAME_entry(void* const* buffers, const long long* values)`, which calls it. SPECIALs are loops over all instances.
/// @throws Error (domain) for a list that `verify` refuses, a name that is none, an op that llvm_has does not know, a SPECIAL
///         inside of a block or with a BARRIER; (budget) where blocks nest too deeply or locals are too large.
std::string uops_to_llvm(std::string_view name, const UOpGraph& uops, const LlvmOptions& options = {});

/// True iff the renderer knows `op` on operands of this dtype (the last operand's; CAST and BITCAST: always).
bool llvm_has(Ops op, DType operand);

}  // namespace strata
