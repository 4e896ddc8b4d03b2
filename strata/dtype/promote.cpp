// Promotion. bool is below the integers, and the integers are below the floats, as in the array-API standard and
// PyTorch. A signed and an unsigned integer give the smallest integer that holds both, as in NumPy; u64 and a signed
// integer give f64.
//
// NOTE: not associative for a signed integer, u64 and f16, bf16 or f32: (i32, u64) is f64, but (u64, f16) is f16.
#include <array>

#include "strata/base/check.h"
#include "strata/dtype/dtype.h"

namespace strata {

namespace {

using PromotionRow = std::array<DType, DType::kCount>;

constexpr DType b1 = dtypes::boolean, f2 = dtypes::float16, bf = dtypes::bfloat16, f4 = dtypes::float32,
                f8 = dtypes::float64;
constexpr DType i1 = dtypes::int8, i2 = dtypes::int16, i4 = dtypes::int32, i8 = dtypes::int64;
constexpr DType u1 = dtypes::uint8, u2 = dtypes::uint16, u4 = dtypes::uint32, u8 = dtypes::uint64;

// Names count bytes: i2 is int16. Rows and columns are in the order of dtypes.def.
// clang-format off
constexpr std::array<PromotionRow, DType::kCount> kPromotion{{
  //        b1  i1  i2  i4  i8  u1  u2  u4  u8  f2  bf  f4  f8
  /*b1*/ {{ b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, bf, f4, f8 }},
  /*i1*/ {{ i1, i1, i2, i4, i8, i2, i4, i8, f8, f2, bf, f4, f8 }},
  /*i2*/ {{ i2, i2, i2, i4, i8, i2, i4, i8, f8, f2, bf, f4, f8 }},
  /*i4*/ {{ i4, i4, i4, i4, i8, i4, i4, i8, f8, f2, bf, f4, f8 }},
  /*i8*/ {{ i8, i8, i8, i8, i8, i8, i8, i8, f8, f2, bf, f4, f8 }},
  /*u1*/ {{ u1, i2, i2, i4, i8, u1, u2, u4, u8, f2, bf, f4, f8 }},
  /*u2*/ {{ u2, i4, i4, i4, i8, u2, u2, u4, u8, f2, bf, f4, f8 }},
  /*u4*/ {{ u4, i8, i8, i8, i8, u4, u4, u4, u8, f2, bf, f4, f8 }},
  /*u8*/ {{ u8, f8, f8, f8, f8, u8, u8, u8, u8, f2, bf, f4, f8 }},
  /*f2*/ {{ f2, f2, f2, f2, f2, f2, f2, f2, f2, f2, f4, f4, f8 }},
  /*bf*/ {{ bf, bf, bf, bf, bf, bf, bf, bf, bf, f4, bf, f4, f8 }},
  /*f4*/ {{ f4, f4, f4, f4, f4, f4, f4, f4, f4, f4, f4, f4, f8 }},
  /*f8*/ {{ f8, f8, f8, f8, f8, f8, f8, f8, f8, f8, f8, f8, f8 }},
}};
// clang-format on

std::size_t promotion_index(DType dtype) { return static_cast<std::size_t>(dtype.id()) - 1; }

void append_cell(std::string& out, std::string_view text) {
  constexpr std::size_t width = 5;
  out.append(width - text.size(), ' ').append(text);
}

}  // namespace

DType promote(DType a, DType b) {
  const bool values = !a.is_none() && !b.is_none() && !a.is_pointer() && !b.is_pointer();
  STRATA_CHECK(values, domain, "[promote] ", a.name(), " and ", b.name(), " are not both dtypes of values");
  STRATA_CHECK(a.lanes() == b.lanes(), domain, "[promote] ", a.name(), " and ", b.name(), " differ in lanes");
  return kPromotion[promotion_index(a)][promotion_index(b)].vec(a.lanes());
}

std::string promotion_table() {
  std::string out(5, ' ');
  for (DType column : dtypes::all()) append_cell(out, column.name());
  for (DType a : dtypes::all()) {
    out += '\n';
    append_cell(out, a.name());
    for (DType b : dtypes::all()) append_cell(out, promote(a, b).name());
  }
  return out += '\n';
}

}  // namespace strata
