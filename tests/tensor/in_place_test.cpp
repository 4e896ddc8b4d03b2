// Operands that change in place after an operation: its slopes stay those at the operands that it was computed from.
// The operations are the unary and binary rows of operations.def, and those that say their gradients.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "strata/ops/indexed.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/linear_algebra.h"
#include "tests/tensor/arrays.h"

namespace strata::test {
namespace {

using OfOperands = std::function<Tensor(const Many&)>;

/// Each of the ways to change a tensor in place.
using Change = void (*)(const Tensor& x);
const std::vector<std::pair<std::string, Change>> kInPlaceChanges = {
    {"assigned", [](const Tensor& x) { x.assign(x.zeros_like()); }}, {"set", [](const Tensor& x) {
                                                                        const NoGrad no_grad;
                                                                        set_in_place(x, x + 1, "add_");
                                                                      }}};

/// The weighted sum of f's elements, made of operands that are computed or are parameters themselves.
struct Run {
  Many parameters, operands;
  Tensor sum{0};
};
Run run_of(const OfOperands& f, const std::vector<std::vector<double>>& values, const std::vector<Ints>& shapes,
           bool computed, const std::string& device) {
  Run out;
  for (std::size_t k = 0; k < values.size(); ++k) {
    out.parameters.push_back(f64(values[k], shapes[k]).to(device));
    out.parameters.back().requires_grad(true);
    out.operands.push_back(computed ? out.parameters.back() * 1 : out.parameters.back());
  }
  const Tensor y = f(out.operands);
  if (y.dtype().is_float())
    out.sum = (y * f64(spread(product(y.shape()).value(), 0.5, 1.5, 7), y.shape()).to(device)).sum();
  return out;
}

std::vector<std::vector<double>> slopes_of(const Run& run) {
  std::vector<std::vector<double>> out;
  if (!run.sum.requires_grad()) return out;
  run.sum.backward();
  for (const Tensor& x : run.parameters) out.push_back((x.grad() ? *x.grad() : x.zeros_like()).to_vector<double>());
  return out;
}

/// `more`: tensors that f uses and that are no operands of it; they are changed, too, and put back.
void expect_slopes_stay(const OfOperands& f, const std::vector<std::vector<double>>& values,
                        const std::vector<Ints>& shapes, const Many& more = {}, const std::string& device = "INTERP") {
  const std::vector<std::vector<double>> expected = slopes_of(run_of(f, values, shapes, false, device));
  Many before;
  for (const Tensor& t : more) before.push_back(t.contiguous().realize());
  for (const auto& [name, change] : kInPlaceChanges)
    for (const bool computed : {false, true}) {
      SCOPED_TRACE(name + (computed ? ", computed" : ""));
      const Run run = run_of(f, values, shapes, computed, device);
      for (const Tensor& x : run.operands) change(x);
      for (const Tensor& t : more) change(t);
      EXPECT_EQ(slopes_of(run), expected);
      for (std::size_t k = 0; k < more.size(); ++k) more[k].assign(before[k]);
    }
}

TEST(InPlace, SlopesOfEachUnaryFunction) {
#define STRATA_UNARY(name, ...)                                                             \
  {                                                                                         \
    SCOPED_TRACE(#name);                                                                    \
    const bool is_above_1 = std::string(#name) == "acosh";                                  \
    if (std::string(#name) != "bitwise_not")                                                \
      expect_slopes_stay([](const Many& x) { return x[0].name(); },                         \
                         {spread(6, is_above_1 ? 1.2 : 0.1, is_above_1 ? 3 : 0.9)}, {{6}}); \
  }
#include "strata/ops/operations.def"
}

bool is_of_integers(const std::string& name) {
  for (const char* n : {"gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "lshift", "rshift"})
    if (name == n) return true;
  return false;
}

TEST(InPlace, SlopesOfEachBinaryFunction) {
#define STRATA_BINARY(name, ...)                                                                                     \
  {                                                                                                                  \
    SCOPED_TRACE(#name);                                                                                             \
    if (!is_of_integers(#name))                                                                                      \
      expect_slopes_stay([](const Many& x) { return x[0].name(x[1]); }, {spread(6, 0.1, 2), spread(6, 0.1, 0.9, 3)}, \
                         {{2, 3}, {2, 3}});                                                                          \
  }
#include "strata/ops/operations.def"
}

TEST(InPlace, SlopesThatAreSaid) {
  const std::vector<std::pair<std::string, OfOperands>> functions = {
      {"polygamma", [](const Many& x) { return x[0].polygamma(2); }},
      {"mvlgamma", [](const Many& x) { return (x[0] + 2).mvlgamma(2); }},
      {"logit", [](const Many& x) { return x[0].logit(); }},
      {"frexp", [](const Many& x) { return x[0].frexp().first; }},
      {"cumprod", [](const Many& x) { return x[0].cumprod(1); }},
      {"logcumsumexp", [](const Many& x) { return x[0].logcumsumexp(1); }},
      {"det", [](const Many& x) { return linalg::det(x[0]); }},
      {"slogdet", [](const Many& x) { return linalg::slogdet(x[0]).second; }},
      {"inv", [](const Many& x) { return linalg::inv(x[0]); }},
      {"solve", [](const Many& x) { return linalg::solve(x[0], x[0].exp()); }},
      {"solve_triangular", [](const Many& x) { return linalg::solve_triangular(x[0], x[0], {}); }},
      {"cholesky", [](const Many& x) { return linalg::cholesky(x[0].matmul(x[0].transpose(0, 1))); }},
      {"l of lu", [](const Many& x) { return linalg::lu(x[0]).l; }},
      {"u of lu", [](const Many& x) { return linalg::lu(x[0]).u; }},
      {"q", [](const Many& x) { return linalg::qr(x[0]).first; }},
      {"r", [](const Many& x) { return linalg::qr(x[0]).second; }},
      {"matrix_exp", [](const Many& x) { return linalg::matrix_exp(x[0]); }},
  };
  for (const auto& [name, f] : functions) {
    SCOPED_TRACE(name);
    expect_slopes_stay(f, {spread(9, 0.1, 0.9, 5)}, {{3, 3}});
  }
}

/// Gradients that scatter.
TEST(InPlace, SlopesByIndicesThatChange) {
  constexpr std::int64_t kPlaces = 50000, kPicks = 1000;
  std::vector<std::int64_t> places;
  for (std::int64_t k = 0; k < kPicks; ++k) places.push_back(k * 7919 % kPlaces);
  const Tensor index = i64(places).to("LLVM");
  const std::vector<double> values = spread(kPlaces, -1, 1), more = spread(kPicks, -1, 1, 3);
  expect_slopes_stay([&](const Many& x) { return x[0].take(index).square(); }, {values}, {{kPlaces}}, {index}, "LLVM");
  expect_slopes_stay([&](const Many& x) { return x[0].scatter_add(0, index, x[1]).square(); }, {values, more},
                     {{kPlaces}, {kPicks}}, {index}, "LLVM");
}

TEST(InPlace, SlopesOfSlopes) {
  const std::vector<std::pair<std::string, OfOperands>> functions = {
      {"lgamma", [](const Many& x) { return x[0].lgamma(); }},
      {"digamma", [](const Many& x) { return x[0].digamma(); }},
      {"erfinv", [](const Many& x) { return x[0].erfinv(); }},
      {"i1e", [](const Many& x) { return x[0].i1e(); }},
      {"asin", [](const Many& x) { return x[0].asin(); }},
      {"sigmoid", [](const Many& x) { return x[0].sigmoid(); }},
      {"exp", [](const Many& x) { return x[0].exp(); }},
      {"logaddexp", [](const Many& x) { return x[0].logaddexp(x[0] * x[0]); }},
      {"fmod", [](const Many& x) { return x[0].square().fmod(x[0]); }},
      {"cumprod", [](const Many& x) { return x[0].cumprod(1); }},
      {"det", [](const Many& x) { return linalg::det(x[0]); }},
      {"inv", [](const Many& x) { return linalg::inv(x[0]); }},
      {"cholesky", [](const Many& x) { return linalg::cholesky(x[0].matmul(x[0].transpose(0, 1))); }},
      {"qr", [](const Many& x) { return linalg::qr(x[0]).second; }},
  };
  for (const auto& [name, f] : functions) {
    SCOPED_TRACE(name);
    const OfOperands first = [&f](const Many& x) {
      const Tensor y = f(x);
      const Tensor dy = f64(spread(product(y.shape()).value(), 0.5, 1.5, 9), y.shape());
      return gradients(y, x, dy)[0].square();
    };
    expect_slopes_stay(first, {spread(9, 0.1, 0.9, 5)}, {{3, 3}});
    // The first slopes themselves, taken when the operands have changed.
    Tensor x = f64(spread(9, 0.1, 0.9, 5), {3, 3});
    x.requires_grad(true);
    const Tensor operand = x * 1, y = f({operand});
    const Tensor before = gradients(gradients(y.sum(), {&x, 1})[0].square().sum(), {&x, 1})[0];
    operand.assign(operand.zeros_like());
    const Tensor after = gradients(gradients(y.sum(), {&x, 1})[0].square().sum(), {&x, 1})[0];
    EXPECT_EQ(after.to_vector<double>(), before.to_vector<double>());
  }
}

}  // namespace
}  // namespace strata::test
