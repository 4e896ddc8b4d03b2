// Values that are vectors of the compiler's (GNU C, a power of two lanes). Internal to render/.
//
// C has no `?:` on vectors and no `!`: bools are masks, signed integers of 0 or -1 in each lane, as wide as what was
// compared; they are widened or narrowed where widths meet, and choose by `(m&a)|(~m&b)`. What has no row here is done
// lane by lane with the scalars' rows. Memory is accessed through types that may stand at any address of an element.
#pragma once

#include <string>

#include "strata/render/writer.h"

namespace strata::rendering {

class GnuVectors {
 public:
  explicit GnuVectors(Writer& writer) : w_(writer) {}

  /// The value of an ALU, CAST, BITCAST or VECTORIZE goes to the writer. @pre u's dtype is native
  void value(UOp u);
  /// `*(const f32x8u*)(data1+i)` as a value; of bool a mask of 8 bits.
  std::string load(DType dtype, const std::string& pointer, const std::string& index);
  /// The statement.
  std::string store(UOp value, const std::string& pointer, const std::string& index);
  /// The same past the caches, where the pointer is a multiple of `bytes`.
  std::string stream(UOp value, const std::string& pointer, const std::string& index,
                     std::int64_t bytes);
  /// A vector of bool as a mask of `bits`.
  std::string mask(UOp u, int bits);

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

  std::string in_memory(UOp value, DType stored);

  void from_bool(UOp u);
  void to_float16(UOp u);
  void to_bfloat16(UOp u);
  void to_integer(UOp u);

  /// After an op on floats of 16 bits.
  std::string rounded(DType dtype, const std::string& text);
  std::string round_bfloat16(int lanes, const std::string& text);
  std::string choose(DType dtype, const std::string& mask, const std::string& yes,
                     const std::string& no);
  std::string is_nan(DType dtype, const std::string& text);
  std::string variable(const std::string& type, const std::string& text);
  std::string converted(const std::string& text, const std::string& type) const;
  int bits(DType dtype) const;  // of a lane in a register
  std::string mask_type(DType dtype) { return w_.mask_type(dtype.lanes(), bits(dtype)); }
  std::string unsigned_type(DType dtype);

  Writer& w_;
};

}  // namespace strata::rendering
