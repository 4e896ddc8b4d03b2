// The promotion matrix against its definition, and the laws that it keeps.
#include <gtest/gtest.h>

#include <algorithm>

#include "strata/base/check.h"
#include "strata/dtype/dtype.h"

namespace strata {
namespace {

// The integers -2^below .. 2^above - 1, without the negative ones for below < 0.
struct Range {
  int below, above;
};
Range range(DType dtype) {
  if (dtype.is_bool()) return {-1, 1};
  return dtype.is_unsigned() ? Range{-1, dtype.bits()} : Range{dtype.bits() - 1, dtype.bits() - 1};
}
bool holds(DType outer, DType inner) {
  const Range a = range(outer), b = range(inner);
  return a.below >= b.below && a.above >= b.above;
}

// The narrowest integer dtype, or bool, that holds both; f64 where there is none.
DType integer_promotion(DType a, DType b) {
  DType best = dtypes::float64;
  for (DType c : dtypes::all()) {
    if (c.is_float() || !holds(c, a) || !holds(c, b)) continue;
    const int size = c.is_bool() ? 1 : c.bits();
    if (best.is_float() || size < (best.is_bool() ? 1 : best.bits())) best = c;
  }
  return best;
}

DType float_promotion(DType a, DType b) {
  if (!a.is_float()) return b;
  if (!b.is_float() || a == b) return a;
  return a.bits() == b.bits() ? dtypes::float32 : a.bits() > b.bits() ? a : b;
}

TEST(Promote, IsItsDefinition) {
  for (DType a : dtypes::all())
    for (DType b : dtypes::all()) {
      const bool floats = a.is_float() || b.is_float();
      EXPECT_EQ(promote(a, b), floats ? float_promotion(a, b) : integer_promotion(a, b)) << a.name() << " " << b.name();
    }
}

TEST(Promote, HoldsTheValuesOfBothIntegers) {
  for (DType a : dtypes::all())
    for (DType b : dtypes::all()) {
      const DType c = promote(a, b);
      if (a.is_float() || b.is_float() || c.is_float()) continue;
      EXPECT_TRUE(holds(c, a) && holds(c, b)) << a.name() << " " << b.name() << " " << c.name();
    }
}

TEST(Promote, IsCommutativeAndIdempotent) {
  for (DType a : dtypes::all()) {
    EXPECT_EQ(promote(a, a), a);
    EXPECT_EQ(promote(dtypes::boolean, a), a);
    for (DType b : dtypes::all()) EXPECT_EQ(promote(a, b), promote(b, a)) << a.name() << b.name();
  }
}

// (signed, u64) is f64, while both meet f16, bf16 and f32 at those. With the float in the middle both ways agree.
bool is_known_exception(DType a, DType b, DType c) {
  const auto narrow = [](DType d) { return d.is_float() && d.bits() < 64; };
  const auto far = [](DType x, DType y) {
    return (x.is_signed_int() && y == dtypes::uint64) || (x == dtypes::uint64 && y.is_signed_int());
  };
  return (far(a, b) && narrow(c)) || (narrow(a) && far(b, c));
}

TEST(Promote, IsAssociativeButFor48Triples) {
  int exceptions = 0;
  for (DType a : dtypes::all())
    for (DType b : dtypes::all())
      for (DType c : dtypes::all()) {
        const bool equal = promote(promote(a, b), c) == promote(a, promote(b, c));
        EXPECT_EQ(!equal, is_known_exception(a, b, c)) << a.name() << " " << b.name() << " " << c.name();
        exceptions += equal ? 0 : 1;
      }
  EXPECT_EQ(exceptions, 48);
}

TEST(Promote, PrintsItsTable) {
  EXPECT_EQ(promotion_table(), R"(      bool   i8  i16  i32  i64   u8  u16  u32  u64  f16 bf16  f32  f64
 bool bool   i8  i16  i32  i64   u8  u16  u32  u64  f16 bf16  f32  f64
   i8   i8   i8  i16  i32  i64  i16  i32  i64  f64  f16 bf16  f32  f64
  i16  i16  i16  i16  i32  i64  i16  i32  i64  f64  f16 bf16  f32  f64
  i32  i32  i32  i32  i32  i64  i32  i32  i64  f64  f16 bf16  f32  f64
  i64  i64  i64  i64  i64  i64  i64  i64  i64  f64  f16 bf16  f32  f64
   u8   u8  i16  i16  i32  i64   u8  u16  u32  u64  f16 bf16  f32  f64
  u16  u16  i32  i32  i32  i64  u16  u16  u32  u64  f16 bf16  f32  f64
  u32  u32  i64  i64  i64  i64  u32  u32  u32  u64  f16 bf16  f32  f64
  u64  u64  f64  f64  f64  f64  u64  u64  u64  u64  f16 bf16  f32  f64
  f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f32  f32  f64
 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16  f32 bf16  f32  f64
  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f64
  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64
)");
}

TEST(Promote, KeepsLanes) {
  EXPECT_EQ(promote(dtypes::int32.vec(8), dtypes::float16.vec(8)), dtypes::float16.vec(8));
  EXPECT_EQ(promote(dtypes::int8.vec(3), dtypes::uint8.vec(3)), dtypes::int16.vec(3));
}

TEST(Promote, RefusesWhatHasNoCommonDtype) {
  const auto refused = [](DType a, DType b, std::string_view message) {
    try {
      (void)promote(a, b);
      ADD_FAILURE() << a.name() << " " << b.name();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::domain);
      EXPECT_EQ(e.what(), message);
    }
  };
  const DType f = dtypes::float32;
  refused(f.vec(4), f.vec(8), "[promote] f32x4 and f32x8 differ in lanes");
  refused(f, f.vec(2), "[promote] f32 and f32x2 differ in lanes");
  refused(f.pointer(), f.pointer(), "[promote] f32* and f32* are not both dtypes of values");
  refused(f, dtypes::none, "[promote] f32 and none are not both dtypes of values");
  refused(dtypes::none, dtypes::none, "[promote] none and none are not both dtypes of values");
}

}  // namespace
}  // namespace strata
