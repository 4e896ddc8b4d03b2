// Seldom choices: what linearize() puts into IFs, and that values stay the same.
#include "strata/codegen/seldom.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "strata/codegen/kernel.h"
#include "strata/codegen/linearize.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

using namespace kernels;

/// Loops as brackets, IFs as parentheses, loads, stores, accumulators as letters: "[LA(P)S]".
std::string shape_of(const UOpGraph& list) {
  std::string out;
  for (const UOp u : list) switch (u.op()) {
      case UOps::LOOP: out += "["; break;
      case UOps::ENDLOOP: out += "]"; break;
      case UOps::IF: out += "("; break;
      case UOps::ENDIF: out += ")"; break;
      case UOps::LOAD: out += "L"; break;
      case UOps::STORE: out += "S"; break;
      case UOps::DEFINE_ACC: out += "A"; break;
      case UOps::PHI: out += "P"; break;
      default: break;
    }
  return out;
}
std::string shape_of(const LazyOp& of, std::string_view opts = "") {
  return shape_of(compile_kernel(kernel(of), Target(), parse_opts(opts)).uops);
}
LazyOp sine(const LazyOp& x) { return LazyOp::alu(Ops::SIN, {x}); }

TEST(Seldom, IsInAnIfOfItsLoop) {
  const LazyOp x = input(1, {8});
  EXPECT_EQ(shape_of(sine(x)), "[LA(P)S]");
  EXPECT_EQ(shape_of(sine(x), "LANES 0 4"), "[LA(P)S]");
  EXPECT_EQ(shape_of(sine(x), "UPCAST 0 2"), "[LA(P)SLA(P)S]");
  EXPECT_EQ(shape_of(sine(sine(x))), "[LA(P)A(P)S]");
  EXPECT_EQ(shape_of(LazyOp::reduce(Ops::SUM, sine(x), {0})), "A[LA(P)P]S");
  const LazyOp rows = input(1, {8, 1});
  EXPECT_EQ(shape_of(sine(rows).expand({8, 5}) * input(2, {8, 5})), "[LA(P)[LS]]");
}

TEST(Seldom, WhatSeveralChoicesNeedIsInTheIfOfEach) {
  const LazyOp x = input(1, {8}, dtypes::float64);
  const LazyOp both = sine(x) + LazyOp::alu(Ops::COS, {x});
  EXPECT_EQ(shape_of(both), "[LA(P)A(P)S]");
  std::size_t usual = 0, seldom = 0, open = 0;
  for (const UOp u : compile_kernel(kernel(both), Target(), {}).uops) {
    open += u.op() == UOps::IF ? 1 : 0;
    open -= u.op() == UOps::ENDIF ? 1 : 0;
    if (u.op() == UOps::ALU) ++(open != 0 ? seldom : usual);
  }
  EXPECT_LT(usual, 80U);
  EXPECT_GT(seldom, 300U);
}

/// A kernel without loops: data1 = some of the values that random operations make of data0.
class RandomChoices {
 public:
  explicit RandomChoices(std::uint64_t seed) : random_(seed), dtype_(dtypes::float32.vec(below(2) == 0 ? 1 : 4)) {}

  static constexpr int kValues = 6;

  Lowered make(bool marks) {
    Lowered out;
    UOpGraph& g = out.graph;
    const UOp from = g.add(UOps::DEFINE_GLOBAL, dtypes::float32.pointer(), {}, Global{0, "data0"});
    const UOp to = g.add(UOps::DEFINE_GLOBAL, dtypes::float32.pointer(), {}, Global{1, "data1"});
    const auto place = [&](int k) { return g.constant(dtypes::int32, std::int64_t{k} * dtype_.lanes()); };
    std::vector<UOp> values;
    for (int k = 0; k < kValues; ++k) values.push_back(g.add(UOps::LOAD, dtype_, {from, place(k)}));
    const auto pick = [&] { return values[values.size() - 1 - below(std::min<std::size_t>(values.size(), 8))]; };
    for (int k = 0; k < 40; ++k) {
      const UOp a = pick(), b = pick(), c = pick();
      if (below(3) != 0) {
        values.push_back(g.alu(std::array{Ops::ADD, Ops::MUL, Ops::MAX, Ops::SUB}[below(4)], {a, b}));
        continue;
      }
      const UOp condition = g.alu(Ops::CMPLT, {c, g.add(UOps::CONST, dtype_, {}, Scalar(-1.0F))});
      const UOp chosen = g.alu(Ops::WHERE, {condition, a, b});
      const bool is_seldom = below(4) != 0;
      if (marks && is_seldom) g.mark_seldom(chosen);
      values.push_back(chosen);
    }
    for (int k = 0; k < kValues; ++k)
      out.stores.push_back({g.add(UOps::STORE, dtypes::none, {to, place(k), pick()}), {}});
    return out;
  }
  std::size_t size() const { return std::size_t{kValues} * static_cast<std::size_t>(dtype_.lanes()); }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  std::mt19937_64 random_;
  DType dtype_;
};

TEST(Seldom, ValuesAreThoseOfPlainChoices) {
  std::size_t blocks = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    RandomChoices choices(seed);
    const UOpGraph list = linearize(choices.make(true), true);
    verify(list);
    for (const UOp u : list) blocks += u.op() == UOps::IF ? 1 : 0;
    const UOpGraph plain = linearize(RandomChoices(seed).make(false), true);
    for (const UOp u : plain) ASSERT_NE(u.op(), UOps::IF);
    std::mt19937_64 random(seed);
    std::vector<float> from(choices.size()), found(choices.size()), wanted(choices.size());
    for (float& v : from) v = static_cast<float>(random() % 9) - 5;
    const auto run = [&](const UOpGraph& of, std::vector<float>& to) {
      const auto size = static_cast<std::int64_t>(from.size());
      const std::array<Memory, 2> buffers{{{from.data(), size}, {to.data(), size}}};
      interpret(of, buffers);
    };
    run(list, found);
    run(plain, wanted);
    for (std::size_t k = 0; k < found.size(); ++k)
      ASSERT_EQ(Scalar(found[k]).bits(), Scalar(wanted[k]).bits()) << "element " << k << "\n" << list.text();
  }
  EXPECT_GT(blocks, 500U);
}

}  // namespace
}  // namespace strata
