// What a processor has no instruction for, in instructions that each processor has (LlvmLacks). Internal to render/.
#pragma once

#include <string>

#include "strata/dtype/scalar.h"
#include "strata/render/llvm_text.h"

namespace strata::rendering {

/// The texts of types and constants where values of f16 may be their bits: in front of the functions of llvm_text.h,
/// whose names they have.
class LlvmTypes {
 public:
  explicit LlvmTypes(bool halves_are_bits) : halves_are_bits_(halves_are_bits) {}
  std::string llvm_type(DType dtype) const { return rendering::llvm_type(held(dtype)); }
  std::string llvm_memory_type(DType dtype) const { return rendering::llvm_memory_type(held(dtype)); }
  std::string llvm_suffix(DType dtype) const { return rendering::llvm_suffix(held(dtype)); }
  std::string llvm_constant(DType dtype, const Scalar& value) const;

 private:
  DType held(DType dtype) const;
  bool halves_are_bits_;
};

/// `scalar` with as many lanes as `like` has.
inline DType with_lanes(DType scalar, DType like) { return scalar.vec(like.lanes()); }

/// The function of a square root by integers: `@strata_sqrt_f32`, or of f64.
std::string llvm_sqrt_function(DType dtype);

}  // namespace strata::rendering
