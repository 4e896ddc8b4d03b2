// LlvmOps: writes ALU ops and conversions as instructions of LLVM IR, on scalars and vectors, for llvm.cpp. Internal to
// render/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "strata/ir/uop.h"
#include "strata/render/llvm.h"
#include "strata/render/llvm_lacks.h"
#include "strata/render/llvm_text.h"

namespace strata::rendering {

/// Writes instructions to an LlvmText. Each function returns the text of its result: "%name", or an operand if no
/// instruction is needed.
class LlvmOps : private LlvmTypes {
 public:
  LlvmOps(LlvmText& text, const LlvmOptions& options);

  /// The ALU UOp `u` on the operands `v`. `is_index`: the value does not overflow, so signed arithmetic is "nsw".
  /// @throws Error (domain) unless llvm_has() the op
  std::string alu(std::string_view name, UOp u, std::span<const std::string> v, bool is_index);
  /// Whether `v`, a bool or a vector of them, is true in a lane.
  std::string any(std::string_view name, DType dtype, const std::string& v);
  std::string cast(std::string_view name, DType from, DType to, const std::string& v);
  std::string bitcast(std::string_view name, DType from, DType to, const std::string& v);

 private:
  std::string arithmetic(std::string_view name, UOp u, DType dtype, std::span<const std::string> v, bool is_index);
  std::string narrow_alu(std::string_view name, UOp u, std::span<const std::string> v);
  std::string hidden(std::string_view name, DType dtype, const std::string& v);
  std::string rounding(std::string_view name, Ops op, DType dtype, const std::string& v);
  std::string root(std::string_view name, DType dtype, const std::string& v);
  std::string extreme(std::string_view name, UOp u, DType dtype, std::span<const std::string> v);
  std::string shift(std::string_view name, UOp u, std::span<const std::string> v);
  std::string mulacc(std::string_view name, DType dtype, std::span<const std::string> v);
  std::string dot(std::string_view name, UOp u, std::span<const std::string> v);
  std::string shuffle(std::string_view name, DType dtype, const std::string& a, const std::string& b,
                      std::span<const int> mask);

  // Conversions between f32 and f16 or bf16.
  std::string widen(std::string_view name, DType from, const std::string& v);
  std::string narrow(std::string_view name, DType to, const std::string& v);
  std::string narrow_bf16(std::string_view name, DType to, const std::string& v);
  std::string widen_bits(std::string_view name, DType from, const std::string& v);
  std::string narrow_bits(std::string_view name, DType to, const std::string& v);
  /// f64 to f32, rounded to odd: if bits are lost, the last bit of the f32 is 1. Rounding the result to f16 or bf16
  /// then equals rounding the f64 once.
  std::string round_to_odd(std::string_view name, int lanes, const std::string& v);

  std::string from_bool(std::string_view name, DType from, DType to, const std::string& v);
  std::string to_bool(std::string_view name, DType from, const std::string& v);
  std::string int_to_int(std::string_view name, DType from, DType to, const std::string& v);
  std::string int_to_float(std::string_view name, DType from, DType to, const std::string& v);
  std::string int_to_bf16(std::string_view name, DType from, DType to, const std::string& v);
  std::string float_to_int(std::string_view name, DType from, DType to, const std::string& v);
  std::string float_to_small_int(std::string_view name, DType from, DType to, const std::string& v);
  std::string float_to_float(std::string_view name, DType from, DType to, const std::string& v);

  LlvmText& text_;
  std::string flags_;  // fast-math flags of float arithmetic, each followed by a blank
  bool exact_mulacc_;
  LlvmLacks lacks_;
};

}  // namespace strata::rendering
