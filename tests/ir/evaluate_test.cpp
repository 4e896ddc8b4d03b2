// Every op on every class of values, at the edges that ops.def states.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/ir/uop.h"
#include "tests/dtype/special_values.h"

namespace strata {
namespace {

/// `op` on numbers of `dtype`, as text.
std::string on(Ops op, DType dtype, std::initializer_list<std::int64_t> numbers) {
  std::vector<Scalar> operands;
  for (const std::int64_t v : numbers) operands.push_back(Scalar::of(dtype, v));
  return evaluate(op, operands).text();
}
std::string on_floats(Ops op, DType dtype, std::initializer_list<double> numbers) {
  std::vector<Scalar> operands;
  for (const double v : numbers) operands.push_back(Scalar::of(dtype, v));
  return evaluate(op, operands).text();
}

constexpr std::int64_t kLeast64 = std::numeric_limits<std::int64_t>::min();

struct Case {
  Ops op;
  DType dtype;
  std::vector<std::int64_t> operands;
  std::string_view expected;
};

TEST(Evaluate, Integers) {
  using namespace dtypes;
  const Case cases[] = {
      {Ops::ADD, int8, {127, 1}, "-128"},
      {Ops::ADD, uint8, {255, 2}, "1"},
      {Ops::ADD, int64, {INT64_MAX, 1}, "-9223372036854775808"},
      {Ops::SUB, uint32, {0, 1}, "4294967295"},
      {Ops::MUL, int32, {65536, 65536}, "0"},
      {Ops::MUL, int64, {INT64_MAX, 2}, "-2"},
      {Ops::NEG, int16, {-32768}, "-32768"},
      {Ops::NEG, uint16, {1}, "65535"},
      {Ops::ABS, int32, {-5}, "5"},
      {Ops::ABS, int8, {-128}, "-128"},
      {Ops::ABS, uint8, {200}, "200"},
      {Ops::NOT, int32, {0}, "-1"},
      {Ops::NOT, uint8, {1}, "254"},
      {Ops::NOOP, int32, {7}, "7"},
      {Ops::IDIV, int32, {-7, 2}, "-3"},
      {Ops::IDIV, int32, {7, 0}, "0"},
      {Ops::IDIV, int8, {-128, -1}, "-128"},
      {Ops::IDIV, int64, {kLeast64, -1}, "-9223372036854775808"},
      {Ops::IDIV, uint64, {-1, 2}, "9223372036854775807"},
      {Ops::MOD, int32, {-7, 2}, "-1"},
      {Ops::MOD, int32, {-7, 0}, "0"},
      {Ops::MOD, int64, {kLeast64, -1}, "0"},
      {Ops::FLOORDIV, int32, {-7, 2}, "-4"},
      {Ops::FLOORDIV, int32, {7, -2}, "-4"},
      {Ops::FLOORDIV, int32, {-7, 0}, "0"},
      {Ops::FLOORDIV, int64, {kLeast64, -1}, "-9223372036854775808"},
      {Ops::FLOORMOD, int32, {-7, 2}, "1"},
      {Ops::FLOORMOD, int32, {7, -2}, "-1"},
      {Ops::FLOORMOD, int32, {6, -2}, "0"},
      {Ops::FLOORMOD, uint32, {7, 0}, "0"},
      {Ops::MAX, uint64, {-1, 1}, "18446744073709551615"},
      {Ops::MAX, int64, {-1, 1}, "1"},
      {Ops::MIN, int8, {-1, 1}, "-1"},
      {Ops::AND, int32, {12, 10}, "8"},
      {Ops::OR, uint8, {12, 10}, "14"},
      {Ops::XOR, int64, {-1, 1}, "-2"},
      {Ops::SHL, int32, {3, 4}, "48"},
      {Ops::SHL, int32, {3, 31}, "-2147483648"},
      {Ops::SHL, int32, {3, 32}, "0"},
      {Ops::SHL, int8, {1, -1}, "0"},
      {Ops::SHL, uint64, {1, 64}, "0"},
      {Ops::SHR, int32, {-8, 1}, "-4"},
      {Ops::SHR, int32, {-8, 100}, "-1"},
      {Ops::SHR, int8, {-128, 8}, "-1"},
      {Ops::SHR, int64, {kLeast64, -1}, "-1"},
      {Ops::SHR, uint8, {128, 8}, "0"},
      {Ops::SHR, uint64, {-1, 63}, "1"},
      {Ops::SHR, uint64, {-1, 64}, "0"},
      {Ops::CMPLT, int32, {-1, 1}, "True"},
      {Ops::CMPLT, uint32, {-1, 1}, "False"},
      {Ops::CMPEQ, uint8, {256, 0}, "True"},
      {Ops::CMPNE, int32, {3, 3}, "False"},
      {Ops::MULACC, int8, {16, 16, 3}, "3"},
      {Ops::MULACC, uint64, {-1, 2, 1}, "18446744073709551615"},
      {Ops::DOT4, int32, {0x04030201, 0x01010101, 5}, "15"},
      {Ops::DOT4, int32, {-1, -1, 0}, "-1020"},       // 255 * -1, four times
      {Ops::DOT4, int32, {0x80, 0x80, 0}, "-16384"},  // 128 * -128
      {Ops::DOT4, int32, {-1, 0x7f7f7f7f, -2147483648LL}, "-2147354108"},
      {Ops::DOT4, int32, {-1, -2139062144, -2147483648LL}, "2147353088"},  // wraps
      {Ops::ADD, boolean, {1, 1}, "True"},
      {Ops::ADD, boolean, {0, 0}, "False"},
      {Ops::MUL, boolean, {1, 0}, "False"},
      {Ops::MAX, boolean, {0, 1}, "True"},
      {Ops::MIN, boolean, {0, 1}, "False"},
      {Ops::NOT, boolean, {1}, "False"},
      {Ops::AND, boolean, {1, 1}, "True"},
      {Ops::XOR, boolean, {1, 1}, "False"},
      {Ops::CMPLT, boolean, {0, 1}, "True"},
  };
  for (const Case& c : cases) {
    std::vector<Scalar> operands;
    for (const std::int64_t v : c.operands) operands.push_back(Scalar::of(c.dtype, v));
    EXPECT_EQ(evaluate(c.op, operands).text(), c.expected) << spec_name(c.op) << " " << c.dtype.name();
  }
}

TEST(Evaluate, PairsOfBf16) {
  const auto dot = [](std::uint32_t a, std::uint32_t b, float c) {
    const Scalar operands[] = {Scalar::from_bits(dtypes::int32, a), Scalar::from_bits(dtypes::int32, b), Scalar(c)};
    return evaluate(Ops::DOT2, operands).as_double();
  };
  EXPECT_EQ(dot(0x40003f80, 0x40404040, 5), 14);        // 2*3 + 1*3 + 5
  EXPECT_EQ(dot(0xbf803f80, 0x3f803f80, 0.5F), 0.5);    // -1 + 1 + 0.5
  EXPECT_EQ(dot(0x00000001, 0x00003f80, 0), 0x1p-133);  // subnormal numbers count
  EXPECT_EQ(dot(0x4b800000, 0x3f800000, 0), 0x1p24);    // the product of the high halves is added first:
  EXPECT_EQ(dot(0x4b80cb80, 0x3f803f80, 1), 0);         // (1 + 2^24) - 2^24
  EXPECT_EQ(dot(0xcb804b80, 0x3f803f80, 1), 1);         // (1 - 2^24) + 2^24
  EXPECT_TRUE(std::isnan(dot(0x7f800000, 0, 0)));       // infinity * 0
  EXPECT_TRUE(std::isinf(dot(0x7f800000, 0x3f800000, 0)));
}

TEST(Evaluate, SmallIntegersAsInWiderOnes) {
  // All pairs of i8: what is defined without wrapping is the same in 64 bits.
  const auto wrapped = [](std::int64_t v) { return Scalar::of(dtypes::int8, v).text(); };
  for (std::int64_t a = -128; a < 128; ++a)
    for (std::int64_t b = -128; b < 128; b += 3) {
      EXPECT_EQ(on(Ops::ADD, dtypes::int8, {a, b}), wrapped(a + b));
      EXPECT_EQ(on(Ops::MUL, dtypes::int8, {a, b}), wrapped(a * b));
      if (b == 0) continue;
      const std::int64_t floored = static_cast<std::int64_t>(std::floor(double(a) / double(b)));
      EXPECT_EQ(on(Ops::IDIV, dtypes::int8, {a, b}), wrapped(a / b));
      EXPECT_EQ(on(Ops::MOD, dtypes::int8, {a, b}), wrapped(a % b));
      EXPECT_EQ(on(Ops::FLOORDIV, dtypes::int8, {a, b}), wrapped(floored)) << a << " " << b;
      EXPECT_EQ(on(Ops::FLOORMOD, dtypes::int8, {a, b}), wrapped(a - b * floored)) << a << " " << b;
    }
}

TEST(Evaluate, Floats) {
  for (const DType dtype : {dtypes::float16, dtypes::bfloat16, dtypes::float32, dtypes::float64}) {
    EXPECT_EQ(on_floats(Ops::DIV, dtype, {1, 0}), "inf");
    EXPECT_EQ(on_floats(Ops::DIV, dtype, {0, 0}), "nan");
    EXPECT_EQ(on_floats(Ops::RECIP, dtype, {-4}), "-0.25");
    EXPECT_EQ(on_floats(Ops::NEG, dtype, {0}), "-0.0");
    EXPECT_EQ(on_floats(Ops::ABS, dtype, {-0.0}), "0.0");
    EXPECT_EQ(on_floats(Ops::SQRT, dtype, {-1}), "nan");
    EXPECT_EQ(on_floats(Ops::ROUND, dtype, {2.5}), "2.0");
    EXPECT_EQ(on_floats(Ops::ROUND, dtype, {-3.5}), "-4.0");
    EXPECT_EQ(on_floats(Ops::TRUNC, dtype, {-1.5}), "-1.0");
    EXPECT_EQ(on_floats(Ops::FLOOR, dtype, {-1.5}), "-2.0");
    EXPECT_EQ(on_floats(Ops::CEIL, dtype, {-0.5}), "-0.0");
    EXPECT_EQ(on_floats(Ops::MAX, dtype, {kNaN, 1}), "nan");
    EXPECT_EQ(on_floats(Ops::MAX, dtype, {1, kNaN}), "nan");
    EXPECT_EQ(on_floats(Ops::MIN, dtype, {kNaN, 1}), "nan");
    EXPECT_EQ(on_floats(Ops::MIN, dtype, {1, kNaN}), "nan");
    EXPECT_EQ(on_floats(Ops::MAX, dtype, {-kInf, 1}), "1.0");
    EXPECT_EQ(on_floats(Ops::CMPLT, dtype, {kNaN, 1}), "False");
    EXPECT_EQ(on_floats(Ops::CMPEQ, dtype, {kNaN, kNaN}), "False");
    EXPECT_EQ(on_floats(Ops::CMPNE, dtype, {kNaN, kNaN}), "True");
    EXPECT_EQ(on_floats(Ops::CMPEQ, dtype, {0, -0.0}), "True");
    EXPECT_EQ(on_floats(Ops::POW, dtype, {kNaN, 0}), "1.0");
    EXPECT_EQ(on_floats(Ops::EXP2, dtype, {-1}), "0.5");
    EXPECT_EQ(on_floats(Ops::LOG2, dtype, {8}), "3.0");
    EXPECT_EQ(on_floats(Ops::SIN, dtype, {-0.0}), "-0.0");
  }
}

TEST(Evaluate, RoundsOncePerOp) {
  // fma(a, b, c) where a*b alone would round to -c.
  EXPECT_EQ(on_floats(Ops::MULACC, dtypes::float32, {1 + 0x1p-12, 1 + 0x1p-12, -1 - 0x1p-11}), Scalar(0x1p-24F).text());
  // 16 bits: in f32, and rounded to nearest even.
  EXPECT_EQ(on_floats(Ops::ADD, dtypes::float16, {2048, 1}), "2048.0");
  EXPECT_EQ(on_floats(Ops::ADD, dtypes::float16, {2050, 1}), "2052.0");
  EXPECT_EQ(on_floats(Ops::MUL, dtypes::float16, {256, 256}), "inf");
  EXPECT_EQ(on_floats(Ops::ADD, dtypes::bfloat16, {256, 1}), "256.0");
}

TEST(Evaluate, FunctionsAreRoundedFromTheWiderOne) {
  for (double x = 0.01; x < 20; x *= 1.07) {
    const auto narrow = static_cast<double>(static_cast<float>(x));
    const auto expected = [&](double v) { return Scalar(static_cast<float>(v)).text(); };
    EXPECT_EQ(on_floats(Ops::EXP, dtypes::float32, {x}), expected(std::exp(narrow)));
    EXPECT_EQ(on_floats(Ops::EXPM1, dtypes::float32, {x}), expected(std::expm1(narrow)));
    EXPECT_EQ(on_floats(Ops::LOG, dtypes::float32, {x}), expected(std::log(narrow)));
    EXPECT_EQ(on_floats(Ops::LOG1P, dtypes::float32, {x}), expected(std::log1p(narrow)));
    EXPECT_EQ(on_floats(Ops::COS, dtypes::float32, {x}), expected(std::cos(narrow)));
    EXPECT_EQ(on_floats(Ops::TAN, dtypes::float32, {x}), expected(std::tan(narrow)));
    EXPECT_EQ(on_floats(Ops::ATAN, dtypes::float32, {x}), expected(std::atan(narrow)));
    EXPECT_EQ(on_floats(Ops::TANH, dtypes::float32, {x}), expected(std::tanh(narrow)));
    EXPECT_EQ(on_floats(Ops::ERF, dtypes::float32, {x}), expected(std::erf(narrow)));
    EXPECT_EQ(on_floats(Ops::ATAN2, dtypes::float32, {x, -2}), expected(std::atan2(narrow, -2)));
    const double wide = std::stod(on_floats(Ops::SIN, dtypes::float64, {x}));
    EXPECT_NEAR(wide, std::sin(x), 1e-16);
  }
}

TEST(Evaluate, WhereAndConversions) {
  const Scalar yes(true), no(false), one(1.5), two(-2.5);
  EXPECT_EQ(evaluate(Ops::WHERE, std::vector{yes, one, two}), one);
  EXPECT_EQ(evaluate(Ops::WHERE, std::vector{no, one, two}), two);
  EXPECT_EQ(evaluate(Ops::WHERE, std::vector{no, yes, no}), no);
  EXPECT_EQ(evaluate(Ops::CAST, std::vector{two}, dtypes::int32).text(), "-2");
  EXPECT_EQ(evaluate(Ops::CAST, std::vector{Scalar(kNaN)}, dtypes::int32).text(), "0");
  EXPECT_EQ(evaluate(Ops::CAST, std::vector{Scalar(1e30)}, dtypes::int32).text(), "2147483647");
  EXPECT_EQ(evaluate(Ops::BITCAST, std::vector{Scalar(1.0F)}, dtypes::int32).text(), "1065353216");
}

TEST(Evaluate, RefusesWhatIsNotDefined) {
  EXPECT_THROW(on(Ops::NEG, dtypes::boolean, {1}), Error);
  EXPECT_THROW(on(Ops::EXP2, dtypes::int32, {1}), Error);
  EXPECT_THROW(on(Ops::SHL, dtypes::float32, {1, 1}), Error);
  EXPECT_THROW(on(Ops::ADD, dtypes::int32, {1}), Error);
  EXPECT_THROW(on(Ops::SUM, dtypes::int32, {1}), Error);
  EXPECT_THROW(on(Ops::LOAD, dtypes::int32, {}), Error);
  EXPECT_THROW(evaluate(Ops::ADD, std::vector{Scalar(1.0), Scalar(1.0F)}), Error);
}

TEST(Evaluate, EveryElementwiseOpHasARow) {
  for (const OpRow& r : op_rows()) {
    if (!is_elementwise(r.op)) continue;
    bool any = false;
    for (const DType dtype : dtypes::all()) {
      std::vector<Scalar> operands(r.arity, Scalar::of(dtype, std::int64_t{1}));
      if (r.typing == OpTyping::select) operands[0] = Scalar(true);
      if (r.typing == OpTyping::pairs) operands[0] = operands[1] = Scalar::of(dtypes::int32, std::int64_t{1});
      try {
        evaluate(r.op, operands, dtype);
        any = true;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::domain) << error.what();
      }
    }
    EXPECT_TRUE(any) << spec_name(r.op);
  }
}

}  // namespace
}  // namespace strata
