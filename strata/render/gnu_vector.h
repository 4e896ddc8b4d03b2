// GnuVectors: renders values with a power of two lanes in C, as GNU vectors (__attribute__((vector_size))), which gcc
// and clang compile to SIMD instructions. The Writer keeps the text; cstyle.cpp calls it. Internal to render/.
//
// C has neither `?:` nor `!` on vectors. So a vector of bool is a mask: signed integers, 0 or -1 in each lane, as wide
// as the lanes of the compared vectors. Where masks of different widths meet, one is widened or narrowed. A choice is
// `(m&a)|(~m&b)`. An op without a row in gnu_vector.cpp is computed lane by lane with the scalar rows. Loads and stores
// use types with the alignment of one element, because a vector may begin at any element.
#pragma once

#include <string>

#include "strata/render/writer.h"

namespace strata::rendering {

/// Renders UOps whose dtype is native, i.e. for which Writer::is_native() holds.
class GnuVectors {
 public:
  explicit GnuVectors(Writer& writer) : w_(writer) {}

  /// Gives the writer the value of an ALU, CAST, BITCAST or VECTORIZE. @pre u's dtype is native
  void value(UOp u);
  /// The value of a vector in memory, e.g. `*(const f32x8u*)(data1+i)`; a vector of bool is loaded as a mask of 8 bits.
  std::string load(DType dtype, const std::string& pointer, const std::string& index);
  /// Whether an access is a LOAD or STORE with a gate for each lane for which the language has a helper: of 32 or 64
  /// bytes, of lanes that are in memory as they are, and where a lane whose gate is closed is 0.
  bool can_mask(UOp access) const;
  /// The value of a LOAD with a gate for each lane, as signed integers with the same bits. @pre can_mask(load)
  std::string masked_load(UOp load);
  /// The statement of a STORE with a gate for each lane. @pre can_mask(store)
  std::string masked_store(UOp store);
  /// The statement that stores `value`.
  std::string store(UOp value, const std::string& pointer, const std::string& index);
  /// The statement that stores `value` with a non-temporal store, which bypasses the caches, if the pointer is a
  /// multiple of `bytes`, else with a plain store.
  std::string stream(UOp value, const std::string& pointer, const std::string& index, std::int64_t bytes);
  /// The text of a vector of bool as a mask whose lanes have `bits` bits.
  std::string mask(UOp u, int bits);
  /// Whether a vector of bool is true in a lane, in all lanes, as a scalar condition.
  std::string any(UOp u);
  std::string all(UOp u);

 private:
  void alu(UOp u);
  void logic(UOp u);
  void compare(UOp u);
  void where(UOp u);
  void extreme(UOp u);
  void shift(UOp u);
  void cast(UOp u);
  void bitcast(UOp u);
  void vectorize(UOp u);
  void by_lanes(UOp u);
  bool try_row(UOp u);

  std::string masked(UOp access, DType dtype, UOp gates);
  std::string in_memory(UOp value, DType stored);
  std::string lanes_joined(UOp u, const char* by, const char* against);

  void from_bool(UOp u);
  void to_float16(UOp u);
  void to_bfloat16(UOp u);
  void to_integer(UOp u);

  /// `text`, an f32 result, rounded to f16 or bf16 if that is the dtype.
  std::string rounded(DType dtype, const std::string& text);
  std::string round_bfloat16(int lanes, const std::string& text);
  std::string choose(DType dtype, const std::string& mask, const std::string& yes, const std::string& no);
  std::string is_nan(DType dtype, const std::string& text);
  std::string variable(const std::string& type, const std::string& text);
  std::string converted(const std::string& text, const std::string& type) const;
  int bits(DType dtype) const;  // of a lane in a register
  std::string mask_type(DType dtype) { return w_.mask_type(dtype.lanes(), bits(dtype)); }
  std::string unsigned_type(DType dtype);

  Writer& w_;
};

}  // namespace strata::rendering
