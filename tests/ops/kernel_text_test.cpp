// Texts of kernels: what they build, and where they are wrong.
#include "strata/ops/kernel_text.h"
#include "strata/ops/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "strata/graph/interpret.h"
#include "tests/base/bad_text.h"
#include "tests/base/texts.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

using namespace kernels;

LazyOp number(float v, const Ints& shape) { return LazyOp::constant(Scalar(v), shape); }

TEST(KernelText, SameAsByHand) {
  const LazyOp a = input(1, {2, 3}), b = input(2, {2, 3}), row = input(2, {3});
  const LazyOp i = input(1, {4}, dtypes::int32), j = input(2, {4}, dtypes::int32);
  const std::string ab = "a: f32[2,3]; b: f32[2,3]; ", ij = "i: i32[4]; j: i32[4]; ";
  const auto alu = [](Ops op, const LazyOp& x, const LazyOp& y) { return LazyOp::alu(op, {x, y}); };
  const std::vector<std::pair<std::string, LazyOp>> rows = {
      {ab + "c = a + b*a", a + b * a},
      {ab + "c = (a + b)*a", (a + b) * a},
      {ab + "c = a - b - a", (a - b) - a},
      {ab + "c = -a ** 2", LazyOp::alu(Ops::NEG, {a * a})},
      {ab + "c = a ** b ** a", alu(Ops::POW, a, alu(Ops::POW, b, a))},
      {ab + "c = a ** -b", alu(Ops::POW, a, LazyOp::alu(Ops::NEG, {b}))},
      {ab + "c = -a.T", LazyOp::alu(Ops::NEG, {a.permute({1, 0})})},
      {ab + "c = a.T.sum(1)", LazyOp::reduce(Ops::SUM, a.permute({1, 0}), {1})},
      {ab + "c = a < b", alu(Ops::CMPLT, a, b)},
      {ab + "c = a > b", alu(Ops::CMPLT, b, a)},
      {ab + "c = a <= b", alu(Ops::OR, alu(Ops::CMPLT, a, b), alu(Ops::CMPEQ, a, b))},
      {ab + "c = max(a, b, a)", alu(Ops::MAX, alu(Ops::MAX, a, b), a)},
      {ab + "c = where(a < b, a, 2)", LazyOp::alu(Ops::WHERE, {alu(Ops::CMPLT, a, b), a, number(2, {2, 3})})},
      {ab + "c = a // b", ops::floor_divide(ops::Value(a), ops::Value(b))},
      {ab + "c = 2 * 3 - a", number(6, {2, 3}) - a},
      {ab + "c = relu(a + b)", ops::Value(a + b).relu()},
      {ab + "c = (a + b).exp2()", LazyOp::alu(Ops::EXP2, {a + b})},
      {ab + "c = f16(a)", a.cast(dtypes::float16)},
      {ab + "c = a.cast(f16) + b.cast(bf16)",
       a.cast(dtypes::float16).cast(dtypes::float32) + b.cast(dtypes::bfloat16).cast(dtypes::float32)},
      {ab + "c = cast(a, i32).bitcast(u32)", a.cast(dtypes::int32).bitcast(dtypes::uint32)},
      {ab + "c = a.sum(1)", LazyOp::reduce(Ops::SUM, a, {1})},
      {ab + "c = sum(a, -1)", LazyOp::reduce(Ops::SUM, a, {1})},
      {ab + "c = a.max()", LazyOp::reduce(Ops::REDUCE_MAX, a, {0, 1})},
      {ab + "c = a.prod((0, 1))", LazyOp::reduce(Ops::PROD, a, {0, 1})},
      {ab + "c = mean(a, 0)", LazyOp::reduce(Ops::SUM, a, {0}) / number(2, {1, 3})},
      {ab + "c = a.reshape(3,2).permute(1, 0)", a.reshape({3, 2}).permute({1, 0})},
      {ab + "c = a.reshape((2,3,1)).expand(2, 3, 2*2)", a.reshape({2, 3, 1}).expand({2, 3, 4})},
      {ab + "c = a.pad(1:0, 0:2)", a.pad({{1, 0}, {0, 2}})},
      {ab + "c = a.pad((1,0), 2)", a.pad({{1, 0}, {2, 2}})},
      {ab + "c = a.shrink(:, 1:2)", a.shrink({{0, 2}, {1, 2}})},
      {ab + "c = a.flip(1).stride(1, -2)", a.flip({1}).stride({1, -2})},
      {"a: f32[2,3]; r: f32[3]; c = a + r", a + row.reshape({1, 3}).expand({2, 3})},
      {"a: f32[2,3]\nr: f32[3]\nc = (a +\n r)", a + row.reshape({1, 3}).expand({2, 3})},
      {"a: f32[2,3]\n\n;;c = a*2\n", a * number(2, {2, 3})},
      {ij + "c = i & j | i ^ j", alu(Ops::OR, alu(Ops::AND, i, j), alu(Ops::XOR, i, j))},
      {ij + "c = i + j << 1", alu(Ops::SHL, alu(Ops::ADD, i, j), LazyOp::constant(Scalar(1), {4}))},
      {ij + "c = ~i % j", alu(Ops::FLOORMOD, LazyOp::alu(Ops::NOT, {i}), j)},
      {ij + "c = i / j", i.cast(dtypes::float32) / j.cast(dtypes::float32)},
      {ij + "c = i <= j", alu(Ops::OR, alu(Ops::CMPLT, i, j), alu(Ops::CMPEQ, i, j))},
      {ij + "c = i ** 3", alu(Ops::MUL, i, alu(Ops::MUL, i, i))},
      {"c = 3", LazyOp::constant(Scalar(3), Ints{})},
      {"c = 2.5", LazyOp::constant(Scalar(2.5F), Ints{})},
      {"c = 0x10 + 1e2", LazyOp::constant(Scalar(116.0F), Ints{})},
      {"c = 1 < 2", LazyOp::constant(Scalar(true), Ints{})},
      {"c = iota(5)", LazyOp::iota(dtypes::int32, ShapeTracker::from_shape({5}))},
      {"c = full((2, 3), 1.5)", number(1.5F, {}).reshape({1, 1}).expand({2, 3})},
  };
  for (const auto& [text, value] : rows) {
    SCOPED_TRACE(text);
    const KernelText got = parse_kernel(text);
    EXPECT_EQ(got.kernel.src(0).src(0).text(), value.text());
    EXPECT_EQ(got.kernel.src(0).src(0), value);
  }
}

TEST(KernelText, Slots) {
  const KernelText k = parse_kernel("x: f32[4]; n: 1..9; y: f32[4]; t = x*2; u = t + y; v = t - y; y = y + x; w = y");
  EXPECT_EQ(k.names, (std::vector<std::string>{"u", "v", "w", "x", "y"}));
  ASSERT_EQ(k.variables.size(), 1U);
  EXPECT_EQ(k.variables[0].name(), "n");
  const std::vector<BufferUse> buffers = buffers_of(k.kernel);
  ASSERT_EQ(buffers.size(), 5U);
  EXPECT_TRUE(buffers[4].read && buffers[4].written);
  EXPECT_TRUE(buffers[3].read && !buffers[3].written);
  const LazyOp x = input(3, {4}), y = input(4, {4});
  EXPECT_EQ(k.kernel.src(2), kernel(y + x, 4).src(0));
  EXPECT_EQ(k.kernel.src(3), kernel(y + x, 2).src(0));  // `y` is the new value from there on
}

TEST(KernelText, StoresInPlaceBroadcast) {
  const KernelText k = parse_kernel("a: f32[2,3]; a = 0");
  EXPECT_EQ(k.names, (std::vector<std::string>{"a"}));
  EXPECT_EQ(k.kernel, kernel(number(0, {2, 3})));
}

TEST(KernelText, SymbolicSizes) {
  const KernelText k = parse_kernel("n: 1..100; a: f32[n+1, 2]; b: f32[n+1]; c = a.sum(0) * n");
  const Variable n("n", 1, 100);
  EXPECT_EQ(buffers_of(k.kernel)[1].size, Int((Expr(n) + 1) * 2));
  EXPECT_THROW(parse_kernel("n: 1..100; a: f32[n]; b: f32[3]; c = a + b"), Error);
  EXPECT_NO_THROW(parse_kernel("n: 1..100; a: f32[n*2]; b: f32[n+n]; c = a + b"));
}

/// The values of output 0 with inputs 1, 2, ... of f32.
std::vector<float> run(const std::string& text, std::vector<std::vector<float>> inputs, std::size_t size,
                       std::vector<std::pair<std::string, std::int64_t>> values = {}) {
  std::vector<float> out(size);
  std::vector<Memory> memory{{out.data(), static_cast<std::int64_t>(size)}};
  for (std::vector<float>& x : inputs) memory.push_back({x.data(), static_cast<std::int64_t>(x.size())});
  interpret(parse_kernel(text).kernel, memory, values);
  return out;
}

TEST(KernelText, Values) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(run("a: f32[2,3]; b: f32[3,2]; c = a @ b", {a, a}, 4), (std::vector<float>{22, 28, 49, 64}));
  EXPECT_EQ(run("a: f32[6]; b: f32[6]; c = matmul(a, b)", {a, a}, 1), (std::vector<float>{91}));
  EXPECT_EQ(run("a: f32[2,3]; b: f32[3]; c = a @ b", {a, {1, 0, 1}}, 2), (std::vector<float>{4, 10}));
  EXPECT_EQ(run("a: f32[3]; b: f32[3,2]; c = a @ b", {{1, 0, 1}, a}, 2), (std::vector<float>{6, 8}));
  EXPECT_EQ(run("a: f32[2,1,3]; b: f32[3,1]; c = a @ b", {a, {1, 1, 1}}, 2), (std::vector<float>{6, 15}));
  EXPECT_EQ(run("a: f32[2,3]; c = a.mean(1)", {a}, 2), (std::vector<float>{2, 5}));
  EXPECT_EQ(run("a: f32[2]; c = a % 3", {{-1, 4}}, 2), (std::vector<float>{2, 1}));
  EXPECT_EQ(run("n: 1..9; a: f32[n]; c = a.mean() * n", {{1, 2, 4}}, 1, {{"n", 3}}), (std::vector<float>{7}));
  const std::vector<float> s = run("a: f32[1,3]; c = softmax(a, 1)", {{0, 0, 0}}, 3);
  EXPECT_NEAR(s[0], 1.0F / 3, 1e-6F);
  EXPECT_NEAR(run("a: f32[1]; c = sigmoid(a)", {{1}}, 1)[0], 1 / (1 + std::exp(-1.0F)), 1e-6F);
  EXPECT_NEAR(run("a: f32[1]; c = gelu(a)", {{1}}, 1)[0], 0.8413447F, 1e-6F);
  EXPECT_EQ(run("a: f32[1]; c = where(isnan(nan + a), -inf, a)", {{1}}, 1)[0], -INFINITY);
}

/// The one element that a kernel stores, whose inputs are f64.
double element_of(const std::string& text, std::vector<double> inputs) {
  const KernelText k = parse_kernel(text);
  const DType dtype = k.kernel.src(0).src(0).dtype();
  std::uint64_t word = 0;
  std::vector<Memory> memory{{&word, 1}};
  for (double& x : inputs) memory.push_back({&x, 1});
  interpret(k.kernel, memory);
  return Scalar::from_bits(dtype, word).cast(dtypes::float32).as_double();
}

TEST(KernelText, NumbersAloneAreWhatTheFunctionMakesOfThem) {
  const auto expect_same = [](const std::string& folded, const std::string& computed) {
    SCOPED_TRACE(folded);
    const double got = element_of("c = " + folded, {}),
                 expected = element_of("a: f64; b: f64; c = " + computed, {0.75, 2.5});
    EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected))) << got << " " << expected;
  };
  const auto takes_floats = [](std::string_view rule) { return rule != "integer"; };
#define STRATA_UNARY(name, rule, ...) \
  if (takes_floats(#rule)) expect_same(#name "(0.75)", #name "(a)");
#define STRATA_BINARY(name, rule, ...) \
  if (takes_floats(#rule)) expect_same(#name "(0.75, 2.5)", #name "(a, b)");
#include "strata/ops/operations.def"
  EXPECT_EQ(element_of("c = 7 // -2", {}), -4);
  EXPECT_EQ(element_of("c = 7 % -2", {}), -1);
  EXPECT_EQ(element_of("c = gcd(12, 18) + (5 ^ 3) + (1 << 4)", {}), 28);
  EXPECT_EQ(element_of("c = 2 ** -1", {}), 0.5);
  EXPECT_EQ(element_of("c = 1 / 3 * 3", {}), 1);
  EXPECT_EQ(element_of("c = sqrt(2) ** 2 - 2 < 1e-15", {}), 1);  // in f64
}

TEST(KernelText, Errors) {
  const std::vector<BadText> rows = {
      {"", 1, "expected a statement"},
      {"a: f32[2]", 0, "must store an output", ErrorKind::domain},
      {"3 = a", 1, "expected a name, found '3'"},
      {"a", 2, "expected ':' or '=', found the end"},
      {"a: f33[2]", 4, "expected a dtype as f32"},
      {"a: f32[2", 9, "expected ']'"},
      {"a: f32[2)", 9, "expected ']', found ')'"},
      {"a: f32[n]; c = a", 8, "n"},
      {"a: f32[2,,3]; c = a", 10, "expected a size"},
      {"a: f32[2.5]; c = a", 8, "expected an integer"},
      {"a: f32[-1]; c = a", 1, "negative", ErrorKind::shape},
      {"n: 1..; c = n", 7, "expected an integer"},
      {"n: 5..1; c = n", 1, "", ErrorKind::domain},
      {"c = ", 5, "expected a value, found the end"},
      {"c = 1 +", 8, "expected a value"},
      {"c = (1", 5, "never closed"},
      {"c = 1)", 6, "')' without '('"},
      {"c = 1 2", 7, "expected an operator, found '2'"},
      {"c = 1, 2", 6, "','"},
      {"c = b", 5, "'b' has no value yet"},
      {"c = 1; c = 2", 8, "is there already"},
      {"c = 1 < 2 < 3", 11, "do not chain"},
      {"c = foo(1)", 5, "no function 'foo'"},
      {"c = exp()", 9, "expected a value"},
      {"c = exp(1, 2)", 5, "exp takes 1 operands, not 2"},
      {"c = where(1)", 5, "where takes 3"},
      {"a: f32[2]; c = a.foo(1)", 18, "no method 'foo'"},
      {"a: f32[2]; c = a.sum", 21, "expected '('"},
      {"a: f32[2]; c = a.sum(1", 23, "expected ')'"},
      {"a: f32[2]; c = a.sum(1]", 23, "expected ')', found ']'"},
      {"a: f32[2]; c = a.sum(1)", 18, "[sum] axis 1", ErrorKind::shape},
      {"a: f32[2]; c = a.shrink(1)", 18, "[shrink] expected begin:end"},
      {"a: f32[2]; c = a.reshape(3)", 18, "[reshape]", ErrorKind::shape},
      {"a: f32[2]; c = a.cast(f33)", 23, "expected a dtype"},
      {"a: f32[2]; b: f32[3]; c = a * b", 29, "[mul] shapes (2,) and (3,) do not broadcast", ErrorKind::shape},
      {"a: f32[2,3]; c = a @ a", 20, "[matmul]", ErrorKind::shape},
      {"a: i32[2]; c = a * 3000000000", 18, "3000000000 is not a value", ErrorKind::domain},
      {"a: u8[2]; c = a + 300", 17, "300 is not a value", ErrorKind::domain},
      {"a: f32[2]; c = a & 1", 18, "", ErrorKind::domain},
      {"a: i32[2]; a = a / 2", 12, "cast the value", ErrorKind::domain},
      {"a: f32[2]; a = iota(3).cast(f32)", 12, "[store]", ErrorKind::shape},
      {"a: f32[2]; a = a; a = a", 19, "stored into already"},
      {"c = 9223372036854775808", 5, "64 bits", ErrorKind::overflow},
      {"a: f32[9223372036854775807,4]; b = a.sum(1)", 1,
       "the number of elements of shape (9223372036854775807, 4) leaves 64 bits", ErrorKind::overflow},
      {"a: f32[3037000500,3037000500]; b = a + 1", 1, "of shape (3037000500, 3037000500) leaves 64 bits",
       ErrorKind::overflow},
      {"c = 0x", 5, "expected a number"},
      {"c = 1 $ 2", 7, "unexpected character '$'"},
      {"inf = 1", 1, "not reserved"},
      {"begin0: 1..2; c = begin0", 1, "not reserved"},
      {"c = full(, 1)", 10, "expected a shape"},
      {"c = full(3)", 11, "','"},
  };
  for (const BadText& row : rows) expect_refused(row, [](std::string_view text) { parse_kernel(text); });
}

TEST(KernelText, DeepAndLarge) {
  const std::size_t deep = 100000;
  EXPECT_EQ(parse_kernel("c = " + repeated("(", deep) + "1" + repeated(")", deep)).kernel,
            parse_kernel("c = 1").kernel);
  EXPECT_EQ(parse_kernel("c = " + repeated("-", deep) + "1").kernel, parse_kernel("c = 1").kernel);
  EXPECT_NO_THROW(parse_kernel("a: f32[2]; c = " + repeated("exp(", 20000) + "a" + repeated(")", 20000)));
  EXPECT_NO_THROW(parse_kernel("a: f32[2]; c = a" + repeated(".neg()", 20000)));
  for (const std::string& text :
       {"c = " + repeated("(", 200001), "c = " + repeated("(", 200000), repeated("a", kMostKernelText + 1),
        "c = iota(" + repeated("(", 200001) + ")", "c = iota(1" + repeated(",1", 100000) + ")",
        "a: f32[" + repeated("1,", 100000) + "1]; c = a", "c = " + repeated("full(", 100000), repeated("v: 1..2;", 300),
        repeated("c=1;", 10000)})
    EXPECT_THROW(parse_kernel(text), Error) << text.substr(0, 40);
}

TEST(KernelText, GarbageIsRefused) {
  const std::vector<std::string> parts = {
      "a",    "b",    "c",    "n",       "f32", "i32",    ":",   ";",   "=",   "[",       "]",     "(",
      ")",    ",",    ".",    "..",      "+",   "-",      "*",   "**",  "//",  "@",       "<",     "<=",
      "~",    "&",    "<<",   "1",       "2.5", "0x1",    "1e9", "sum", "max", "reshape", "where", "exp",
      "cast", "full", "iota", "softmax", "pad", "shrink", "\n",  " ",   "\\",  "\xff",    "$"};
  const std::string prefix = "n: 1..4; a: f32[2,3]; b: i32[3]; c = ";
  std::mt19937 random(7);
  int good = 0;
  for (int k = 0; k < 3000; ++k) {
    std::string text = k % 2 == 0 ? prefix : "";
    for (std::size_t size = random() % 12 + 1; size > 0; --size) text += parts[random() % parts.size()];
    try {
      good += parse_kernel(text).names.empty() ? 0 : 1;
    } catch (const Error& e) {
      EXPECT_LE(e.column(), text.size() + 1) << text;
    }
  }
  EXPECT_GT(good, 0);
}

}  // namespace
}  // namespace strata
