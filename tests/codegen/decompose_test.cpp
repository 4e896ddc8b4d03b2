// Decompositions: what they are made of, and how near they come to the true values.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/codegen/decompose.h"
#include "tests/codegen/formula_block.h"
#include "tests/codegen/math_error.h"

namespace strata::test {
namespace {

std::vector<DType> dtypes_of(const Decomposition& row) {
  std::vector<DType> out;
  for (const DType dtype : dtypes::all())
    if (find_decomposition(row.op, dtype) == &row) out.push_back(dtype);
  return out;
}

// --- what formulas are made of ---

TEST(Decompositions, AreMadeOfWhatEveryBackendHas) {
  const OpSet allowed = basic_ops() | guarded_ops();
  for (const Decomposition& row : decompositions()) {
    EXPECT_FALSE(row.name.empty());
    const std::vector<DType> dtypes = dtypes_of(row);
    EXPECT_FALSE(dtypes.empty()) << row.name;
    for (const DType dtype : dtypes)
      for (const DType shape : {dtype, dtype.vec(3)}) {
        const Formula f = make_formula(row.op, shape);
        EXPECT_EQ(f.result.dtype(), shape) << spec_name(row.op);
        for (const UOp u : f.graph) {
          const bool good = u.op() != UOps::ALU || allowed.has(u.alu());
          EXPECT_TRUE(good) << spec_name(row.op) << " on " << dtype.name() << " is made of\n" << f.graph.text();
        }
      }
  }
}

/// Whether `op` is defined on `dtype`.
bool is_defined(const OpRow& r, DType dtype) {
  std::vector<DType> operands(r.arity, dtype);
  if (r.typing == OpTyping::select) operands[0] = dtypes::boolean;
  if (r.typing == OpTyping::pairs) operands[0] = operands[1] = dtypes::int32;
  try {
    result_dtype(r.op, operands);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(Decompositions, LeaveNothingUnused) {
  for (const Decomposition& row : decompositions()) {
    const Formula f = make_formula(row.op, dtypes_of(row).back());
    std::vector<bool> used(f.graph.size());
    used[f.result.num()] = true;
    for (const UOp u : f.graph)
      for (const UOp s : u.src()) used[s.num()] = true;
    for (const UOp u : f.graph) {
      const bool counts = u.op() == UOps::ALU || u.op() == UOps::CAST;
      EXPECT_TRUE(used[u.num()] || !counts) << spec_name(row.op) << " has no use for " << u.num();
    }
  }
}

TEST(Decompositions, CoverEveryOpThatIsNotBasic) {
  for (const OpRow& r : op_rows()) {
    if (!is_elementwise(r.op) || r.typing == OpTyping::convert || basic_ops().has(r.op)) continue;
    for (const DType dtype : dtypes::all()) {
      const bool has_row = find_decomposition(r.op, dtype) != nullptr;
      EXPECT_EQ(has_row, is_defined(r, dtype)) << spec_name(r.op) << " on " << dtype.name();
    }
  }
}

std::size_t count_alu(const UOpGraph& g) {
  std::size_t count = 0;
  for (const UOp u : g) count += u.op() == UOps::ALU;
  return count;
}

TEST(Decompositions, AreLeftOutWhereNative) {
  const OpSet native = basic_ops() | OpSet{Ops::EXP, Ops::SHL};
  EXPECT_EQ(count_alu(make_formula(Ops::EXP, dtypes::float32, native).graph), 1U);
  EXPECT_EQ(count_alu(make_formula(Ops::SHL, dtypes::int32, native).graph), 1U);
  // TANH builds upon EXP, where there is one.
  const Formula tanh = make_formula(Ops::TANH, dtypes::float32, native);
  bool has_exp = false;
  for (const UOp u : tanh.graph) has_exp = has_exp || (u.op() == UOps::ALU && u.alu() == Ops::EXP);
  EXPECT_TRUE(has_exp);
  EXPECT_LT(count_alu(tanh.graph), count_alu(make_formula(Ops::TANH, dtypes::float32).graph));
  EXPECT_LE(count_alu(make_formula(Ops::EXP, dtypes::float32).graph), 20U);
}

TEST(Decompositions, RefuseWhatIsNotDefined) {
  UOpGraph g;
  const UOp i = g.constant(dtypes::int32, 1), f = g.constant(Scalar(1.0F));
  const auto refuses = [&](Ops op, std::vector<UOp> operands) {
    try {
      emit(g, op, operands, basic_ops());
    } catch (const Error& error) {
      return error.kind() == ErrorKind::domain;
    }
    return false;
  };
  EXPECT_TRUE(refuses(Ops::EXP, {i}));
  EXPECT_TRUE(refuses(Ops::IDIV, {f, f}));
  EXPECT_TRUE(refuses(Ops::POW, {f}));
  EXPECT_TRUE(refuses(Ops::POW, {f, g.constant(Scalar(1.0))}));
}

TEST(Decompositions, ConstantOperandsNeedNoGuard) {
  UOpGraph g;
  const UOp x = g.add(UOps::DEFINE_VAR, dtypes::int32, {}, Variable("x", -9, 9));
  const auto direct = [&](Ops op, std::int64_t v) {
    const UOp operands[] = {x, g.constant(dtypes::int32, v)};
    const UOp u = emit(g, op, operands, basic_ops());
    return u.op() == UOps::ALU && u.alu() == op && u.src(1) == operands[1];
  };
  EXPECT_TRUE(direct(Ops::IDIV, 3));
  EXPECT_TRUE(direct(Ops::MOD, -2));
  EXPECT_TRUE(direct(Ops::SHL, 31));
  EXPECT_FALSE(direct(Ops::IDIV, 0));
  EXPECT_FALSE(direct(Ops::SHR, 32));
}

// --- integers: by `evaluate`, UOp by UOp ---

bool is_safe(Ops op, const std::vector<Scalar>& v) {
  if (op == Ops::SHL || op == Ops::SHR) return v[1].bits() < static_cast<std::uint64_t>(v[0].dtype().bits());
  if (op != Ops::IDIV && op != Ops::MOD) return true;
  const Scalar least = Scalar::from_bits(v[0].dtype(), std::uint64_t{1} << (v[0].dtype().bits() - 1));
  const bool wraps = v[0].dtype().is_signed_int() && v[0] == least && v[1].as_int() == -1;
  return v[1].bits() != 0 && !wraps;
}

Scalar evaluate_formula(const Formula& f, const std::vector<Scalar>& inputs) {
  std::vector<Scalar> values(f.graph.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) values[f.inputs[k].num()] = inputs[k];
  for (const UOp u : f.graph) {
    std::vector<Scalar> operands;
    for (const UOp s : u.src()) operands.push_back(values[s.num()]);
    if (u.op() == UOps::CONST) values[u.num()] = u.constant();
    if (u.op() == UOps::CAST) values[u.num()] = operands[0].cast(u.dtype());
    if (u.op() == UOps::BITCAST) values[u.num()] = operands[0].bitcast(u.dtype());
    if (u.op() != UOps::ALU) continue;
    EXPECT_TRUE(is_safe(u.alu(), operands)) << spec_name(u.alu());
    values[u.num()] = evaluate(u.alu(), operands);
  }
  return values[f.result.num()];
}

// By MULACC that rounds once, as that of evaluate().
TEST(Decompositions, PairsOfBf16AreExact) {
  std::mt19937_64 random(4);
  const Formula f = make_formula(Ops::DOT2, dtypes::float32);
  for (int k = 0; k < 2000; ++k) {
    std::vector<Scalar> operands;
    for (int j = 0; j < 2; ++j) operands.push_back(Scalar::from_bits(dtypes::int32, random() & 0xffffffff));
    operands.push_back(Scalar::from_bits(dtypes::float32, random() & 0xffffffff));
    const Scalar expected = evaluate(Ops::DOT2, operands), got = evaluate_formula(f, operands);
    if (!expected.is_nan() || !got.is_nan()) ASSERT_EQ(got.bits(), expected.bits()) << operands[0].text();
  }
}

constexpr std::array kIntegerOps = {Ops::IDIV, Ops::MOD, Ops::FLOORDIV, Ops::FLOORMOD, Ops::SHL, Ops::SHR};

TEST(Decompositions, IntegersAreExact) {
  const std::int64_t edges[] = {
      0,  1,  2,   3,    7,   -1,    -2,        -3,        31,        32,        33,
      63, 64, 127, -128, 255, 32767, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MIN + 1,
      8,  16, 100, -100};
  for (const DType dtype : dtypes::all()) {
    if (!dtype.is_int()) continue;
    for (const Ops op : kIntegerOps) {
      const Formula f = make_formula(op, dtype);
      for (const std::int64_t a : edges)
        for (const std::int64_t b : edges) {
          const std::vector v{Scalar::of(dtype, a), Scalar::of(dtype, b)};
          EXPECT_EQ(evaluate_formula(f, v), evaluate(op, v))
              << spec_name(op) << " " << dtype.name() << " " << v[0].text() << " " << v[1].text();
        }
    }
  }
}

/// `op` of a value and a constant.
Formula formula_by_constant(Ops op, DType dtype, std::int64_t constant) {
  Formula f;
  const UOp zero = f.graph.constant(dtypes::int32, 0);
  const UOp from = f.graph.add(UOps::DEFINE_GLOBAL, dtype.pointer(), {}, Global{0, "data0"});
  f.inputs.push_back(f.graph.add(UOps::LOAD, dtype, {from, zero}));
  const UOp operands[] = {f.inputs[0], f.graph.constant(dtype, constant)};
  f.result = emit(f.graph, op, operands, basic_ops());
  return f;
}
bool holds(const Formula& f, Ops op) {
  return std::any_of(f.graph.begin(), f.graph.end(), [&](UOp u) { return u.op() == UOps::ALU && u.alu() == op; });
}

// All of them; and LLVM is not given those that it gets wrong.
TEST(Decompositions, BytesByConstantsAreExact) {
  for (const DType dtype : {dtypes::int8, dtypes::uint8}) {
    const auto low = static_cast<std::int64_t>(lowest(dtype)), high = low + 255;
    for (std::int64_t d = low; d <= high; ++d)
      for (const Ops op : {Ops::IDIV, Ops::FLOORMOD}) {
        const Formula f = formula_by_constant(op, dtype, d);
        for (std::int64_t a = low; a <= high; ++a) {
          const Scalar x = Scalar::of(dtype, a), y = Scalar::of(dtype, d);
          ASSERT_EQ(evaluate_formula(f, {x}), evaluate(op, std::vector{x, y}))
              << spec_name(op) << " " << dtype.name() << " " << a << " " << d;
        }
      }
    EXPECT_FALSE(holds(formula_by_constant(Ops::IDIV, dtype, 7), Ops::IDIV));
    EXPECT_FALSE(holds(formula_by_constant(Ops::MOD, dtype, 100), Ops::MOD));
    EXPECT_TRUE(holds(formula_by_constant(Ops::IDIV, dtype, 8), Ops::IDIV));
  }
}

// --- floats ---

constexpr std::array kFunctions = {Ops::EXP2,  Ops::EXP, Ops::EXPM1, Ops::LOG2, Ops::LOG,  Ops::LOG1P,
                                   Ops::SIN,   Ops::COS, Ops::TAN,   Ops::ATAN, Ops::TANH, Ops::ERF,
                                   Ops::RECIP, Ops::POW, Ops::ATAN2, Ops::MOD};

/// What the row states; RECIP is exact up to its rounding, MOD is exact.
double bound_of(Ops op, DType dtype) {
  return op == Ops::MOD ? 0 : std::max(find_decomposition(op, dtype)->ulp, 0.501);
}

/// Checks the function on arguments that `next(k)` gives, for `count` of them.
template <class T, class Next>
void check_function(Ops op, DType dtype, bool fused, std::size_t count, Next next) {
  const Formula f = make_formula(op, dtype);
  Block block(f, fused);
  const double bound = bound_of(op, dtype);
  const std::size_t last = f.inputs.size() - 1;
  for (std::size_t done = 0; done < count; done += Block::kSize) {
    for (std::size_t k = 0; k < Block::kSize; ++k)
      for (std::size_t i = 0; i <= last; ++i) block.input<T>(i)[k] = next(done + k, i);
    block.run();
    for (std::size_t k = 0; k < Block::kSize; ++k) {
      const T x = block.input<T>(0)[k], y = block.input<T>(last)[k], got = block.result<T>()[k];
      const Wide<T> want = true_value<Wide<T>>(op, x, y);
      ASSERT_LE(ulp_error<T>(got, want), bound)
          << spec_name(op) << " " << dtype.name() << (fused ? "" : " rounding twice") << " at " << Scalar(x).text()
          << " " << Scalar(y).text() << " gives " << Scalar(got).text() << ", not " << double(want);
    }
  }
}

template <class T, class Bits>
T as_float(Bits bits) {
  static_assert(sizeof(T) == sizeof(Bits));
  T out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> out;
  for (const T v : {T(0),
                    Limits::denorm_min(),
                    Limits::denorm_min() * 1000,
                    Limits::min(),
                    Limits::min() / 2,
                    Limits::epsilon(),
                    T(0.1),
                    T(0.5),
                    T(0.75),
                    T(0x1.6a09e667f3bcdp-1),
                    T(1),
                    T(1) + Limits::epsilon(),
                    T(1) - Limits::epsilon() / 2,
                    T(1.5),
                    T(2),
                    T(3),
                    T(3.141592653589793),
                    T(1.5707963267948966),
                    T(4),
                    T(5),
                    T(7.5),
                    T(10),
                    T(22),
                    T(88.7),
                    T(88.8),
                    T(103.9),
                    T(104.1),
                    T(126),
                    T(127.9),
                    T(128),
                    T(149.5),
                    T(150.5),
                    T(709.7),
                    T(709.8),
                    T(745.1),
                    T(745.2),
                    T(1023.9),
                    T(1024),
                    T(1074.5),
                    T(1075.5),
                    T(65537),
                    T(16777215),
                    T(16777216),
                    T(0x1p53) - 1,
                    T(0x1p53),
                    T(1e22),
                    T(6381956970095103.0 * 0x1p77),
                    T(0x1p127),
                    Limits::max(),
                    Limits::infinity(),
                    Limits::quiet_NaN()}) {
    out.push_back(v);
    out.push_back(-v);
  }
  return out;
}

template <class T>
void check_special_values(DType dtype) {
  const std::vector<T> values = special_values<T>();
  const std::size_t n = values.size();
  for (const Ops op : kFunctions)
    for (const bool fused : {true, false})
      check_function<T>(op, dtype, fused, row(op).arity == 1 ? n : n * n,
                        [&](std::size_t k, std::size_t i) { return values[(i == 0 ? k : k / n) % n]; });
}

TEST(Functions, SpecialValuesF32) { check_special_values<float>(dtypes::float32); }
TEST(Functions, SpecialValuesF64) { check_special_values<double>(dtypes::float64); }

/// Any bits; and every other time a number from 2^-12 to 2^12.
template <class T, class Bits>
T random_value(std::mt19937_64& random) {
  const std::uint64_t bits = random();
  if (random() % 2 == 0) return as_float<T>(static_cast<Bits>(bits));
  const T size = std::ldexp(1 + T(bits >> 12) * T(0x1p-52), static_cast<int>(bits % 24) - 12);
  return bits & 32 ? -size : size;
}

TEST(Functions, RandomF32) {
  std::mt19937_64 random(20);
  const auto next = [&](std::size_t, std::size_t) { return random_value<float, std::uint32_t>(random); };
  for (const Ops op : kFunctions) {
    check_function<float>(op, dtypes::float32, true, 200'000, next);
    check_function<float>(op, dtypes::float32, false, 100'000, next);
  }
}

TEST(Functions, RandomF64) {
  std::mt19937_64 random(21);
  const auto next = [&](std::size_t, std::size_t) { return random_value<double, std::uint64_t>(random); };
  for (const Ops op : kFunctions)
    for (const bool fused : {true, false}) check_function<double>(op, dtypes::float64, fused, 20'000, next);
}

TEST(Functions, NearestMissesOfQuarterTurns) {
  // The float and the double nearest to a multiple of pi/2, and neighbours of small multiples.
  std::vector<float> narrow{0x1.f37be8p95F, 16367173.0F * 0x1p72F};
  std::vector<double> wide{6381956970095103.0 * 0x1p797};
  for (int k = 1; k < 9000; ++k) {  // near and far ones of f32
    narrow.push_back(static_cast<float>(k * 1.5707963267948966));
    wide.push_back(k * 1.5707963267948966);
    wide.push_back((1'044'076 + k) * 1.5707963267948966);  // up to and beyond the last near one of f64
  }
  for (const Ops op : {Ops::SIN, Ops::COS, Ops::TAN}) {
    check_function<float>(op, dtypes::float32, true, narrow.size(),
                          [&](std::size_t k, std::size_t) { return narrow[k % narrow.size()]; });
    check_function<double>(op, dtypes::float64, true, wide.size(),
                           [&](std::size_t k, std::size_t) { return wide[k % wide.size()]; });
  }
}

// --- 16 bits: all of them ---

template <class T>
void check_narrow(DType dtype, const Places& places) {
  std::mt19937_64 random(22);
  for (const Ops op : kFunctions) {
    if (op == Ops::RECIP) continue;  // a division of 16 bits
    const Formula f = make_formula(op, dtype);
    Block block(f, true);
    const double bound = bound_of(op, dtype);
    const std::size_t last = f.inputs.size() - 1;
    for (std::uint32_t done = 0; done < 65536; done += Block::kSize) {
      for (std::uint32_t k = 0; k < Block::kSize; ++k) {
        block.input<T>(last)[k] = {static_cast<std::uint16_t>(random())};
        block.input<T>(0)[k] = {static_cast<std::uint16_t>(done + k)};
      }
      block.run();
      for (std::size_t k = 0; k < Block::kSize; ++k) {
        const auto x = static_cast<float>(block.input<T>(0)[k]), y = static_cast<float>(block.input<T>(last)[k]);
        const auto got = static_cast<float>(block.result<T>()[k]);
        const double want = true_value<double>(op, x, y);
        ASSERT_LE(ulp_error<double>(got, want, places), bound)
            << spec_name(op) << " at " << x << " " << y << " gives " << got << ", not " << want;
      }
    }
  }
}

TEST(Functions, AllOfF16) { check_narrow<Half>(dtypes::float16, {11, -13, 16}); }
TEST(Functions, AllOfBF16) { check_narrow<Brain>(dtypes::bfloat16, {8, -125, 128}); }

// --- vectors: by the interpreter, lane by lane as the block has it ---

TEST(Functions, VectorsAreAsScalars) {
  constexpr int kLanes = 5;
  std::mt19937_64 random(23);
  for (const Ops op : kFunctions) {
    Formula f = make_formula(op, dtypes::float32.vec(kLanes));
    const UOp out = f.graph.add(UOps::DEFINE_GLOBAL, dtypes::float32.pointer(), {}, Global{7, "data7"});
    f.graph.add(UOps::STORE, dtypes::none, {out, f.graph.constant(dtypes::int32, 0), f.result});
    const Formula scalar = make_formula(op, dtypes::float32);
    Block block(scalar, true);
    for (int round = 0; round < 20; ++round) {
      std::array<std::array<float, kLanes>, 2> in{};
      std::array<float, kLanes> got{};
      std::vector<Memory> buffers(8);
      for (std::size_t i = 0; i < f.inputs.size(); ++i) {
        for (float& v : in[i]) v = random_value<float, std::uint32_t>(random);
        std::copy(in[i].begin(), in[i].end(), block.input<float>(i));
        buffers[i] = {in[i].data(), kLanes};
      }
      buffers[7] = {got.data(), kLanes};
      interpret(f.graph, buffers);
      block.run();
      for (std::size_t k = 0; k < kLanes; ++k)
        EXPECT_EQ(ulp_distance(Scalar(got[k]), Scalar(block.result<float>()[k])), 0U)
            << spec_name(op) << " of " << in[0][k];
    }
  }
}

}  // namespace
}  // namespace strata::test
