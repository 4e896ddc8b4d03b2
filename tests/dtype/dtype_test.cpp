// The table of dtypes: names there and back, sizes, ranges, and what is refused.
#include "strata/dtype/dtype.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "strata/base/check.h"

namespace strata {
namespace {

const DType kPointer = dtypes::float32.pointer();

TEST(DType, IsASmallValue) {
  EXPECT_EQ(sizeof(DType), 3U);
  EXPECT_TRUE(DType().is_none());
  EXPECT_EQ(dtypes::all().size(), DType::kCount);
  for (std::size_t i = 0; i < DType::kCount; ++i) EXPECT_EQ(static_cast<std::size_t>(dtypes::all()[i].id()), i + 1);
}

TEST(DType, HasThePropertiesOfItsCType) {
  const auto check = [](DType dtype, auto value, std::string_view c) {
    using T = decltype(value);
    using Limits = std::numeric_limits<T>;
    EXPECT_EQ(dtype.itemsize(), sizeof(T)) << dtype.name();
    EXPECT_EQ(dtype.bits(), static_cast<int>(8 * sizeof(T))) << dtype.name();
    EXPECT_EQ(dtype.c_name(), c) << dtype.name();
    EXPECT_EQ(dtype.is_bool(), (std::is_same_v<T, bool>)) << dtype.name();
    EXPECT_EQ(dtype.is_float(), std::is_floating_point_v<T>) << dtype.name();
    EXPECT_EQ(dtype.is_int(), std::is_integral_v<T> && !dtype.is_bool()) << dtype.name();
    EXPECT_EQ(dtype.is_signed_int(), dtype.is_int() && std::is_signed_v<T>) << dtype.name();
    EXPECT_EQ(dtype.is_unsigned(), dtype.is_int() && std::is_unsigned_v<T>) << dtype.name();
    EXPECT_EQ(dtype.significand_bits(), dtype.is_float() ? Limits::digits : 0) << dtype.name();
    EXPECT_EQ(dtype.min_exponent(), dtype.is_float() ? Limits::min_exponent - 1 : 0);
    EXPECT_EQ(lowest(dtype), static_cast<double>(Limits::lowest())) << dtype.name();
    EXPECT_EQ(highest(dtype), static_cast<double>(Limits::max())) << dtype.name();
  };
  check(dtypes::boolean, bool{}, "bool");
  check(dtypes::int8, static_cast<signed char>(0), "signed char");
  check(dtypes::int16, short{}, "short");
  check(dtypes::int32, int{}, "int");
  check(dtypes::int64, std::int64_t{}, "long long");
  check(dtypes::uint8, static_cast<unsigned char>(0), "unsigned char");
  check(dtypes::uint16, static_cast<unsigned short>(0), "unsigned short");
  check(dtypes::uint32, 0U, "unsigned int");
  check(dtypes::uint64, std::uint64_t{}, "unsigned long long");
  check(dtypes::float32, float{}, "float");
  check(dtypes::float64, double{}, "double");
}

TEST(DType, HasTheSixteenBitFloats) {
  EXPECT_EQ(dtypes::float16.itemsize(), 2U);
  EXPECT_EQ(dtypes::float16.significand_bits(), 11);
  EXPECT_EQ(dtypes::float16.min_exponent(), -14);
  EXPECT_EQ(highest(dtypes::float16), 65504);
  EXPECT_EQ(lowest(dtypes::float16), -65504);
  EXPECT_EQ(dtypes::bfloat16.itemsize(), 2U);
  EXPECT_EQ(dtypes::bfloat16.significand_bits(), 8);
  EXPECT_EQ(dtypes::bfloat16.min_exponent(), -126);
  EXPECT_EQ(highest(dtypes::bfloat16), 0x1.fep127);
  EXPECT_EQ(lowest(dtypes::bfloat16), -0x1.fep127);
}

TEST(DType, HasVectorsAndPointers) {
  const DType v = dtypes::float32.vec(8);
  EXPECT_EQ(v.lanes(), 8);
  EXPECT_EQ(v.itemsize(), 32U);
  EXPECT_EQ(v.bits(), 32);
  EXPECT_TRUE(v.is_vector() && v.is_float() && !v.is_pointer());
  EXPECT_EQ(v.scalar(), dtypes::float32);
  EXPECT_EQ(v.pointer().pointee(), v);
  EXPECT_EQ(v.pointer().itemsize(), 8U);
  EXPECT_EQ(v.pointee(), v);
  EXPECT_NE(v, dtypes::float32);
  EXPECT_NE(v, v.pointer());
  EXPECT_EQ(dtypes::int8.vec(1), dtypes::int8);
  EXPECT_EQ(dtypes::boolean.vec(64).itemsize(), 64U);
  EXPECT_EQ(dtypes::none.itemsize(), 0U);
}

TEST(DType, Prints) {
  const auto check = [](DType dtype, std::string_view name, std::string_view spec) {
    EXPECT_EQ(dtype.name(), name);
    EXPECT_EQ(dtype.spec_name(), spec);
  };
  check(dtypes::float32, "f32", "dtypes.float");
  check(dtypes::float32.vec(8), "f32x8", "dtypes.float.vec(8)");
  check(dtypes::float32.pointer(), "f32*", "ptr.dtypes.float");
  check(dtypes::int64.vec(3).pointer(), "i64x3*", "ptr.dtypes.long.vec(3)");
  check(dtypes::boolean, "bool", "dtypes.bool");
  check(dtypes::bfloat16, "bf16", "dtypes.bfloat16");
  check(dtypes::none, "none", "");
}

TEST(DType, ReadsWhatItPrints) {
  std::set<std::string> names;
  for (DType scalar : dtypes::all())
    for (int lanes = 1; lanes <= DType::kMostLanes; ++lanes)
      for (DType dtype : {scalar.vec(lanes), scalar.vec(lanes).pointer()}) {
        EXPECT_EQ(dtypes::parse(dtype.name()), dtype) << dtype.name();
        EXPECT_EQ(dtypes::parse(dtype.spec_name()), dtype) << dtype.spec_name();
        EXPECT_TRUE(names.insert(dtype.name()).second) << dtype.name();
        EXPECT_TRUE(names.insert(dtype.spec_name()).second) << dtype.spec_name();
      }
}

TEST(DType, ReadsTheNamesOfOthers) {
  EXPECT_EQ(dtypes::parse("float"), dtypes::float32);
  EXPECT_EQ(dtypes::parse("double"), dtypes::float64);
  EXPECT_EQ(dtypes::parse("float64"), dtypes::float64);
  EXPECT_EQ(dtypes::parse("int32"), dtypes::int32);
  EXPECT_EQ(dtypes::parse("uint8"), dtypes::uint8);
  EXPECT_EQ(dtypes::parse("uchar"), dtypes::uint8);
  EXPECT_EQ(dtypes::parse("dtypes.half"), dtypes::float16);
  EXPECT_EQ(dtypes::parse("float.vec(4)"), dtypes::float32.vec(4));
}

TEST(DType, RefusesOtherNames) {
  for (const char* text : {"",
                           "none",
                           "f33",
                           "F32",
                           " f32",
                           "f32 ",
                           "f32x",
                           "f32x0",
                           "f32x1",
                           "f32x65",
                           "f32x08",
                           "f32x+8",
                           "f32x8x8",
                           "f32x99999999999",
                           "f32)",
                           "f32.vec(8",
                           "f32.vec()",
                           "f32.vec(1)",
                           "x8",
                           "*",
                           "f32**",
                           "ptr.f32*",
                           "ptr.",
                           "dtypes.",
                           "ptr.ptr.f32",
                           "dtypes.dtypes.f32",
                           "(",
                           ")",
                           ".vec(8)"})
    EXPECT_THROW((void)dtypes::parse(text), Error) << text;
  try {
    (void)dtypes::parse("f33");
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::parse);
    EXPECT_STREQ(e.what(),
                 "[dtype] 'f33' is none of bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, "
                 "f32, f64; a vector ends in x2 to x64");
  }
}

TEST(DType, RefusesVectorsOfWhatIsNoScalar) {
  for (int lanes : {0, -1, 65, 256, 257, std::numeric_limits<int>::min()})
    EXPECT_THROW((void)dtypes::float32.vec(lanes), Error) << lanes;
  EXPECT_THROW((void)dtypes::none.vec(2), Error);
  EXPECT_THROW((void)kPointer.vec(2), Error);
  EXPECT_THROW((void)dtypes::float32.vec(2).vec(2), Error);
}

TEST(DType, HasNoPropertiesWithoutAValue) {
  EXPECT_THROW((void)dtypes::none.kind(), InternalError);
  EXPECT_THROW((void)dtypes::none.bits(), InternalError);
  EXPECT_THROW((void)dtypes::none.c_name(), InternalError);
  EXPECT_THROW((void)lowest(dtypes::none), InternalError);
}

}  // namespace
}  // namespace strata
