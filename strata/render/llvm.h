// uops_to_llvm(): renders a kernel, a list of UOps, as a module of LLVM IR (opaque pointers, LLVM 17 or later) for any
// target. The device LLVM compiles it, through kernel_source.h.
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
// A value is named after its index in the list (%alu3), a loop's counter %ridx0, %ridx1, ... The text is in SSA form:
// accumulators are phi nodes. A loop tests its condition at the end, behind one test before the first iteration, so
// that LLVM can move invariant code out of it.
//
//   dtype     in registers               in memory
//   bool      i1                         i8, 0 or 1
//   f16       half                       half
//   bf16      its bits, i16              i16
//   others    as LLVM has them           the same
//
// Ops on f16 and bf16 are computed in f32 and rounded after each op.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "strata/codegen/polls.h"
#include "strata/ir/uop.h"
#include "strata/render/source_lines.h"

namespace strata {

/// What a processor has no instruction for, and LLVM would call a function of libm or of the compiler for. The text
/// then has it in instructions that each processor has, with the same bits.
struct LlvmLacks {
  bool roundings = false;                   ///< TRUNC, FLOOR, CEIL and ROUND: by sums with a power of two
  bool sqrt_f32 = false, sqrt_f64 = false;  ///< by integers, in a function of the module
  bool halves = false;  ///< conversions from and to f16: by integers; values of f16 are their bits then, i16
};

/// Options of the text. By default LLVM may not change a float: each op is rounded once, in the order of the list.
struct LlvmOptions {
  bool contract = false;      ///< LLVM may form an fma of a product and the sum that uses it
  bool reassociate = false;   ///< LLVM may regroup sums and products
  bool exact_mulacc = false;  ///< true: MULACC is llvm.fma, rounded once on every machine, slowly without an FMA
                              ///< instruction; false: llvm.fmuladd, rounded once only where that is fast
  /// The loops that ask whether to stop: buffers[polls.slot] of the entry is `int poll(void)`. The kernel returns where
  /// that gives 1.
  Polls polls = {};
  LlvmLacks lacks = {};
  SourceLines* lines = nullptr;  ///< if not null, is set to the UOps of each line of the text
  /// The former name of polls, for one version. NOTE: not [[deprecated]], of which g++ warns in each initializer list.
  Polls looks = {};
};

/// The most blocks (LOOP, IF, SPECIAL) that may nest, and the most bytes of all DEFINE_LOCALs, which are on the stack.
inline constexpr std::size_t kMostLlvmBlocks = 200;
inline constexpr std::int64_t kMostLlvmLocalBytes = std::int64_t{1} << 20;

/// The text of a module with two functions: `NAME`, internal, whose parameters are the buffers by slot, then `look` if
/// options.polls has loops, then the variables in the order of the list; and `void NAME_entry(void* const* buffers,
/// const long long* values)`, which calls NAME with buffers[slot] and the values in that order. A SPECIAL is a loop
/// over its values: one call runs all instances.
/// @throws Error (domain) if verify() refuses the list, `name` is not an identifier, llvm_has() is false for an op, or
///   a SPECIAL is inside a block or in a list with a BARRIER; (budget) above kMostLlvmBlocks or kMostLlvmLocalBytes
std::string uops_to_llvm(std::string_view name, const UOpGraph& uops, const LlvmOptions& options = {});

/// The text of a kernel in parts, for modules with several kernels.
struct LlvmParts {
  std::string function;                ///< `define hidden void @NAME(...)`
  std::set<std::string> declarations;  ///< intrinsics, and functions of the module that the kernel calls
};
/// The kernel of uops_to_llvm() without an entry, for a file that others link: others in the program call it as a
/// function of C, with the same parameters. It stores by plain stores and has no probes of the stack.
/// @pre `options` have no polls and no lines @throws as uops_to_llvm()
LlvmParts uops_to_llvm_parts(std::string_view name, const UOpGraph& uops, const LlvmOptions& options = {});
/// The module of all parts. Its compiler is asked to state the stack of each function ("warn-stack-size").
std::string llvm_module(std::span<const LlvmParts> parts);

/// True iff the renderer has `op` for operands of this dtype, which is that of the last operand; always for CAST and
/// BITCAST. Other ops must be decomposed first (Target::native).
bool llvm_has(Ops op, DType operand);

}  // namespace strata
