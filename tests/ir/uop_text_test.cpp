// Lists as text and back: the specification's listings, every argument, every constant, and what is refused where.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/ir/uop.h"

namespace strata {
namespace {

using dtypes::float32;
using dtypes::int32;
using dtypes::none;

// The specification's six UOps of 2+3.
constexpr std::string_view kSum =
    "   0 UOps.DEFINE_GLOBAL  : ptr.dtypes.float          []                               "
    "('data0', dtypes.float)\n"
    "   1 UOps.CONST          : dtypes.float              []                               2.0\n"
    "   2 UOps.CONST          : dtypes.float              []                               3.0\n"
    "   3 UOps.ALU            : dtypes.float              [1, 2]                           "
    "BinaryOps.ADD\n"
    "   4 UOps.CONST          : dtypes.int                []                               0\n"
    "   5 UOps.STORE          :                           [0, 4, 3]                        None\n";

TEST(UOpText, SixOpsOfTheSpecification) {
  UOpGraph g;
  const UOp data = g.add(UOps::DEFINE_GLOBAL, float32.pointer(), {}, Global{0, "data0"});
  const UOp sum = g.alu(Ops::ADD, {g.constant(float32, 2), g.constant(float32, 3)});
  g.add(UOps::STORE, none, {data, g.constant(int32, 0), sum});
  EXPECT_EQ(g.text(), kSum);
}

TEST(UOpText, LoopOfTheSpecification) {
  UOpGraph g;
  const UOp begin = g.constant(int32, 0), end = g.constant(int32, 11);
  g.add(UOps::LOOP, int32, {begin, end}, {}, false);
  EXPECT_EQ(g.text(),
            "   0 UOps.CONST          : dtypes.int                []                               0\n"
            "   1 UOps.CONST          : dtypes.int                []                               11\n"
            "   2 UOps.LOOP           : dtypes.int                [0, 1]                           "
            "None\n");
}

TEST(UOpText, PrintsToStandardOutput) {
  testing::internal::CaptureStdout();
  parse_uops(kSum).print();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), kSum);
}

TEST(UOpText, CompactFormOfTheSpecification) {
  const UOpGraph g = parse_uops(
      "0 UOps.DEFINE_GLOBAL : ptr.dtypes.float [] ('data0', dtypes.float)\n"
      "1 UOps.CONST : dtypes.float [] 2.0\n"
      "2 UOps.CONST : dtypes.float [] 3.0\n"
      "3 UOps.ALU : dtypes.float [1, 2] BinaryOps.ADD\n"
      "4 UOps.CONST : dtypes.int [] 0\n"
      "5 UOps.STORE : [0, 4, 3] None");
  EXPECT_EQ(g.text(), kSum);
}

TEST(UOpText, StoresPastTheCachesSayTheirBytes) {
  const std::string text =
      "0 UOps.DEFINE_GLOBAL : ptr.dtypes.float [] ('data0', dtypes.float)\n"
      "1 UOps.CONST : dtypes.float.vec(4) [] 2.0\n"
      "2 UOps.CONST : dtypes.int [] 0\n"
      "3 UOps.STORE : [0, 2, 1] 16";
  const UOpGraph g = parse_uops(text);
  EXPECT_EQ(std::get<std::int64_t>(g[3].arg()), 16);
  EXPECT_EQ(parse_uops(g.text()).text(), g.text());
}

TEST(UOpText, BlanksDoNotMatter) {
  const UOpGraph g = parse_uops(
      "\n\t0 UOps.CONST:dtypes.int[]0\r\n\n  \n"
      "1 UOps.LOOP:dtypes.int[ 0 ,0\t]None  \n"
      "2 UOps.DEFINE_VAR : dtypes.int [] Variable ( 'n' ,1, 10 )\n\n");
  ASSERT_EQ(g.size(), 3u);
  EXPECT_EQ(g[1].src(1), g[0]);
  EXPECT_EQ(parse_uops("").size(), 0u);
  EXPECT_EQ(parse_uops(" \n\n ").size(), 0u);
}

void expect_equal(const UOpGraph& a, const UOpGraph& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(a[k].op(), b[k].op());
    EXPECT_EQ(a[k].dtype(), b[k].dtype());
    ASSERT_EQ(a[k].src().size(), b[k].src().size());
    for (std::size_t s = 0; s < a[k].src().size(); ++s) EXPECT_EQ(a[k].src(s).num(), b[k].src(s).num());
    ASSERT_EQ(a[k].arg().index(), b[k].arg().index());
    if (a[k].op() == UOps::CONST) {
      EXPECT_EQ(a[k].constant(), b[k].constant());
    }
  }
}

void expect_round_trip(const UOpGraph& g) {
  const UOpGraph back = parse_uops(g.text());
  expect_equal(g, back);
  EXPECT_EQ(back.text(), g.text());
}

// A list with each UOp and each kind of argument.
UOpGraph everything() {
  UOpGraph g;
  const UOp data = g.add(UOps::DEFINE_GLOBAL, float32.pointer(), {}, Global{0, "data0"});
  g.add(UOps::DEFINE_GLOBAL, float32.pointer(), {}, Global{1, "weights"});
  g.add(UOps::DEFINE_GLOBAL, float32.pointer(), {}, Global{2, "data02"});
  const UOp temp = g.add(UOps::DEFINE_LOCAL, float32.pointer(), {}, Local{"temp0", 512});
  const UOp n = g.add(UOps::DEFINE_VAR, int32, {}, Variable("n", -1, 10));
  g.add(UOps::SPECIAL, int32, {}, Special{"gidx0", 1, 64});
  const UOp zero = g.constant(int32, 0), yes = g.constant(Scalar(true));
  const UOp loop = g.add(UOps::LOOP, int32, {zero, n}, {}, false);
  const UOp value = g.add(UOps::LOAD, float32.vec(3), {data, loop});
  const UOp other = g.broadcast(g.constant(float32, -1), 3);
  const UOp gated = g.add(UOps::LOAD, float32.vec(3), {data, loop, yes, other});
  const UOp acc = g.add(UOps::DEFINE_ACC, float32.vec(3), {other});
  g.add(UOps::PHI, float32.vec(3), {acc, g.alu(Ops::MULACC, {value, gated, acc})});
  const UOp branch = g.add(UOps::IF, none, {yes}, {}, false);
  g.add(UOps::STORE, none, {temp, loop, g.lane(value, 2), yes});
  g.add(UOps::ENDIF, none, {branch});
  g.add(UOps::ENDLOOP, none, {loop});
  g.add(UOps::BARRIER, none);
  g.add(UOps::REDUCE, float32.vec(3), {acc, value, loop}, LoopReduction{Ops::REDUCE_MAX, 1});
  const UOp carry = g.add(UOps::CARRY, float32.vec(3), {other, loop});
  g.add(UOps::CARRIED, float32.vec(3), {carry, value});
  g.broadcast(g.cast(g.bitcast(g.lane(acc, 0), int32), dtypes::int64), 64);
  return g;
}

TEST(UOpText, EveryUOpComesBack) {
  const UOpGraph g = everything();
  std::vector<bool> seen(static_cast<std::size_t>(UOps::BARRIER) + 1);
  for (const UOp u : g) seen[static_cast<std::size_t>(u.op())] = true;
  for (std::size_t k = 0; k < seen.size(); ++k) EXPECT_TRUE(seen[k]) << spec_name(UOps(k));
  expect_round_trip(g);
  const UOpGraph back = parse_uops(g.text());
  EXPECT_EQ(std::get<Global>(back[1].arg()), (Global{1, "weights"}));
  EXPECT_EQ(std::get<Global>(back[2].arg()), (Global{2, "data02"}));
  EXPECT_EQ(std::get<Local>(back[3].arg()), (Local{"temp0", 512}));
  EXPECT_EQ(std::get<Variable>(back[4].arg()).min(), -1);
  EXPECT_EQ(std::get<Special>(back[5].arg()), (Special{"gidx0", 1, 64}));
}

TEST(UOpText, ArgumentsOfEachKind) {
  const std::string text = everything().text();
  for (const char* arg : {" ('data0', dtypes.float)\n", " ('weights', dtypes.float, 1)\n",
                          " ('data02', dtypes.float, 2)\n", " ('temp0', 512)\n", " Variable('n', -1, 10)\n",
                          " ('gidx0', 1, 64)\n", " TernaryOps.MULACC\n", " (ReduceOps.MAX, 1)\n", " True\n", " 2\n"})
    EXPECT_NE(text.find(arg), std::string::npos) << arg << text;
}

TEST(UOpText, ConstantsAreBitEqual) {
  UOpGraph g;
  const std::vector<std::uint64_t> bits = {0,
                                           1,
                                           2,
                                           7,
                                           0x7f,
                                           0x80,
                                           0xff,
                                           0x3f80,
                                           0x7bff,
                                           0x7c00,
                                           0x7c01,
                                           0x7e00,
                                           0x7f80,
                                           0x7f81,
                                           0x7fc0,
                                           0x7fff,
                                           0x8000,
                                           0xfc00,
                                           0xfe00,
                                           0xffff,
                                           0x3dcccccd,
                                           0x7f7fffff,
                                           0x7f800000,
                                           0x7f800001,
                                           0x7fc00000,
                                           0x7fc00001,
                                           0x80000000,
                                           0xff800000,
                                           0xffc00000,
                                           0xffffffff,
                                           0x3fb999999999999a,
                                           0x7fefffffffffffff,
                                           0x7ff0000000000000,
                                           0x7ff0000000000001,
                                           0x7ff8000000000000,
                                           0x7ff8000000000001,
                                           0x8000000000000000,
                                           0xfff0000000000000,
                                           0xffffffffffffffff};
  for (const DType dtype : dtypes::all())
    for (const std::uint64_t b : bits) g.constant(Scalar::from_bits(dtype, b));
  expect_round_trip(g);
}

TEST(UOpText, EveryFloatOf16BitsComesBack) {
  for (const DType dtype : {dtypes::float16, dtypes::bfloat16}) {
    UOpGraph g;
    for (std::uint64_t b = 0; b < 1U << 16; b += 7) g.constant(Scalar::from_bits(dtype, b));
    expect_round_trip(g);
  }
}

TEST(UOpText, NaNsWithTheirBits) {
  UOpGraph g;
  g.constant(Scalar::from_bits(float32, 0x7fc00000));
  g.constant(Scalar::from_bits(float32, 0x7fc00001));
  g.constant(Scalar::from_bits(dtypes::float16, 0xfe00));
  const std::string text = g.text();
  EXPECT_NE(text.find(" nan\n"), std::string::npos);
  EXPECT_NE(text.find(" nan:0x7fc00001\n"), std::string::npos);
  EXPECT_NE(text.find(" nan:0xfe00\n"), std::string::npos);
}

TEST(UOpText, EqualLinesStayTwo) {
  const std::string twice =
      "   0 UOps.CONST          : dtypes.int                []                               0\n"
      "   1 UOps.CONST          : dtypes.int                []                               0\n";
  EXPECT_EQ(parse_uops(twice).text(), twice);
}

TEST(UOpText, AHundredThousandLines) {
  UOpGraph g;
  UOp u = g.constant(float32, 1);
  while (g.size() < 100'000) u = g.alu(Ops::NEG, {u});
  const std::string text = g.text();
  const UOpGraph back = parse_uops(text);
  EXPECT_EQ(back.size(), g.size());
  EXPECT_EQ(back.text(), text);
}

// What is refused: the message, and the byte of the text that it points to.
void expect_refused(std::string_view text, std::string_view message, std::size_t column,
                    ErrorKind kind = ErrorKind::parse) {
  try {
    parse_uops(text);
    FAIL() << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), message);
    EXPECT_EQ(error.column(), column);
    EXPECT_EQ(error.kind(), kind);
  }
}
/// The same for a second line, behind a constant. `at` is the column.
void expect_second_refused(std::string_view line, std::size_t at, std::string_view message,
                           ErrorKind kind = ErrorKind::parse) {
  const std::string first = "0 UOps.CONST : dtypes.int [] 0\n";
  std::string whole = "[parse_uops] line 2, column " + std::to_string(at) + ": ";
  expect_refused(first + std::string(line), whole.append(message), first.size() + at, kind);
}

TEST(UOpTextErrors, OfTheFrame) {
  expect_refused("x", "[parse_uops] line 1, column 1: expected the number of a line, not 'x'", 1);
  expect_refused("1 UOps.CONST : dtypes.int [] 0", "[parse_uops] line 1, column 1: the number is 1, but 0 is expected",
                 1);
  expect_second_refused("1", 2, "expected a UOp, not the end of the line");
  expect_second_refused("1 UOps.FOO : []", 3, "'UOps.FOO' is not a UOp");
  expect_second_refused("1 CONST : []", 3, "'CONST' is not a UOp");
  expect_second_refused("1 UOps.NOOP", 3, "'UOps.NOOP' is not a UOp");
  expect_second_refused("1 UOps.LOOP [0, 0] None", 13, "expected ':', not '['");
  expect_second_refused("1 UOps.LOOP : dtypes.int 0", 26, "expected '[', not '0'");
  expect_second_refused("1 UOps.LOOP : dtypes.int [0 0]", 29, "expected ']', not '0'");
  expect_second_refused("1 UOps.LOOP : dtypes.int [0, 1] None", 30, "source 1 is not in a line above");
  expect_second_refused("1 UOps.LOOP : dtypes.int [0, -1] None", 30, "'-1' is not the number of a source");
  expect_second_refused("1 UOps.LOOP : dtypes.int [0,", 29, "expected the number of a source, not the end of the line");
  expect_second_refused("1 UOps.LOOP : dtypes.int [0, 0]", 32, "expected None, not the end of the line");
  expect_second_refused("1 UOps.LOOP : dtypes.int [0, 0] 5", 33, "expected None, not '5'");
  expect_second_refused("1 UOps.LOOP : dtypes.int [0, 0] None None", 38, "expected the end of the line, not 'N'");
  expect_second_refused("99999999999999999999 UOps", 1, "'99999999999999999999' is not the number of a line");
}

TEST(UOpTextErrors, OfArguments) {
  expect_second_refused("1 UOps.CONST : dtypes.int [] 2.0", 30, "'2.0' is not a value of i32");
  expect_second_refused("1 UOps.CONST : dtypes.int [] 2147483648", 30, "'2147483648' is not a value of i32");
  expect_second_refused("1 UOps.CONST : dtypes.uchar [] -1", 32, "'-1' is not a value of u8");
  expect_second_refused("1 UOps.CONST : dtypes.bool [] 1", 31, "'1' is not a value of bool");
  for (const char* text :
       {"1e99", "2.0f", "x", "infinity", "nan:0x3f800000", "nan:", "nan(1)", "nan:0x17fc00000", "-nan", "0x1p3"})
    expect_second_refused("1 UOps.CONST : dtypes.float [] " + std::string(text), 32,
                          "'" + std::string(text) + "' is not a value of f32");
  expect_second_refused("1 UOps.CONST : dtypes.half [] 70000", 31, "'70000' is not a value of f16");
  expect_second_refused("1 UOps.CONST : [] 1", 19, "dtype none has no constants");
  expect_second_refused("1 UOps.ALU : dtypes.int [0] ReduceOps.ADD", 29, "'ReduceOps.ADD' is not an op");
  expect_second_refused("1 UOps.DEFINE_GLOBAL : ptr.dtypes.int [] ('out', dtypes.int)", 60,
                        "expected ',' and the slot, not ')'");
  expect_second_refused("1 UOps.DEFINE_GLOBAL : ptr.dtypes.int [] ('data0', dtypes.long)", 62,
                        "a i32* does not point to i64");
  expect_second_refused("1 UOps.DEFINE_LOCAL : ptr.dtypes.int [] ('temp0", 42, "the name is not closed");
  expect_second_refused("1 UOps.DEFINE_VAR : dtypes.int [] N('n', 1, 2)", 35, "expected Variable, not 'N'");
  expect_second_refused("1 UOps.SPECIAL : dtypes.int [] ('g', 0, 9223372036854775808)", 41,
                        "'9223372036854775808' is not a size");
}

TEST(UOpTextErrors, OfAddHaveTheirPlace) {
  expect_second_refused("1 UOps.ENDLOOP : [0] None", 3, "[ENDLOOP] ends UOps.CONST, not UOps.LOOP", ErrorKind::domain);
  try {
    parse_uops("0 UOps.DEFINE_VAR : dtypes.int [] Variable('n', 2, 1)");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::domain);
    EXPECT_EQ(error.column(), 35u);
  }
  try {
    parse_uops("0 UOps.CONST : dtypes.quad [] 0");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.column(), 16u);
  }
}

// Each prefix, and each text with one byte changed, is read or refused.
TEST(UOpTextErrors, DamagedTextIsReadOrRefused) {
  const std::string text = everything().text();
  const auto read = [](std::string_view damaged) {
    try {
      const UOpGraph g = parse_uops(damaged);
      return parse_uops(g.text()).text() == g.text();
    } catch (const Error& error) {
      return error.column() >= 1 && error.column() <= damaged.size() + 1;
    }
  };
  for (std::size_t k = 0; k <= text.size(); k += 3) EXPECT_TRUE(read(text.substr(0, k))) << k;
  for (std::size_t k = 0; k < text.size(); ++k) {
    std::string damaged = text;
    damaged[k] = "0[]()',\n \0-Z\xff"[k % 13];
    EXPECT_TRUE(read(damaged)) << k;
  }
}

}  // namespace
}  // namespace strata
