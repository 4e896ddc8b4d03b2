// In which order einsum multiplies: the cheapest two at a time.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "strata/tensor/functional.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

using Labels = std::set<char>;

struct Sum {
  std::vector<std::string> operands;
  std::string result;
  std::int64_t sizes[26] = {};

  std::string formula() const {
    std::string out;
    for (const std::string& o : operands) out += (out.empty() ? "" : ",") + o;
    return out + "->" + result;
  }
  std::vector<Tensor> tensors() const {
    std::vector<Tensor> out;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      std::vector<std::int64_t> shape;
      for (const char c : operands[k]) shape.push_back(sizes[c - 'a']);
      out.push_back(Array(shape, k + 1).tensor());
    }
    return out;
  }
};

/// Multiplications of the cheapest order of all: each two factors first, whatever is cheapest after that.
double brute_force(const Sum& sum, std::vector<Labels> left) {
  for (Labels& mine : left)  // what one factor alone has is added up first
    std::erase_if(mine, [&](char c) {
      return sum.result.find(c) == std::string::npos &&
             std::count_if(left.begin(), left.end(), [c](const Labels& l) { return l.contains(c); }) == 1;
    });
  if (left.size() == 1) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t a = 0; a < left.size(); ++a)
    for (std::size_t b = a + 1; b < left.size(); ++b) {
      std::vector<Labels> rest;
      for (std::size_t k = 0; k < left.size(); ++k)
        if (k != a && k != b) rest.push_back(left[k]);
      Labels both = left[a];
      both.insert(left[b].begin(), left[b].end());
      double cost = 1;
      for (const char c : both) cost *= static_cast<double>(sum.sizes[c - 'a']);
      if (cost >= least) continue;
      rest.push_back(both);
      least = std::min(least, cost + brute_force(sum, rest));
    }
  return least;
}
double brute_force(const Sum& sum) {
  std::vector<Labels> factors;
  for (const std::string& o : sum.operands) factors.emplace_back(o.begin(), o.end());
  return brute_force(sum, factors);
}

/// Multiplications that a graph has.
double multiplications(const Tensor& x) {
  double out = 0;
  for (const LazyNode* n : postorder(x.node())) {
    if (n->op != Ops::MUL) continue;
    double elements = 1;
    for (const Int& size : n->shape) elements *= static_cast<double>(size.value());
    out += elements;
  }
  return out;
}

Sum random_sum(std::mt19937_64& random, std::size_t operands, std::int64_t labels, std::int64_t largest) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  Sum out;
  for (std::int64_t& size : out.sizes) size = 2 + below(largest - 1);
  std::string all;
  for (std::size_t k = 0; k < operands; ++k) {
    std::string mine;
    for (std::int64_t d = below(4); d >= 0; --d) {
      const char c = static_cast<char>('a' + below(labels));
      if (mine.find(c) == std::string::npos) mine += c;
    }
    out.operands.push_back(mine);
    all += mine;
  }
  for (std::int64_t k = 0; k < labels; ++k)
    if (const char c = static_cast<char>('a' + k); all.find(c) != std::string::npos && below(4) == 0) out.result += c;
  return out;
}

TEST(EinsumOrder, NoOrderIsCheaperForUpToEightOperands) {
  std::mt19937_64 random(1);
  for (int n = 0; n < 104; ++n) {
    const std::size_t operands = 2 + static_cast<std::size_t>(random() % (n < 100 ? 5 : 7));
    const Sum sum = random_sum(random, operands, 6, 30);
    std::vector<Tensor> tensors;
    for (const std::string& o : sum.operands) {
      Ints shape;
      for (const char c : o) shape.push_back(sum.sizes[c - 'a']);
      tensors.push_back(Tensor::empty(shape));
    }
    EXPECT_EQ(multiplications(Tensor::einsum(sum.formula(), tensors)), brute_force(sum)) << sum.formula();
  }
}

TEST(EinsumOrder, ChainsBeyondEightAreFarFromTheWorst) {
  // From left to right, each product would be of 1,000 rows; v at the end makes vectors of all.
  std::vector<Tensor> tensors;
  std::string formula;
  for (char c = 'a'; c < 'l'; ++c) {
    formula += (c == 'a' ? "" : ",") + std::string{c, static_cast<char>(c + 1)};
    tensors.push_back(Tensor::empty({c == 'a' ? 1000 : 20, 20}));
  }
  tensors.push_back(Tensor::empty({20}));
  const double found = multiplications(Tensor::einsum(formula + ",l->a", tensors));
  EXPECT_EQ(found, 10 * 20 * 20 + 1000 * 20);
}

TEST(EinsumOrder, AnyOrderMeansTheSame) {
  std::mt19937_64 random(2);
  for (int n = 0; n < 40; ++n) {
    const Sum sum = random_sum(random, 2 + random() % 9, 5, 3);
    const std::vector<Tensor> tensors = sum.tensors();
    // All labels at once: one product over all of them, summed.
    std::string order = sum.result;
    for (const std::string& o : sum.operands)
      for (const char c : o)
        if (order.find(c) == std::string::npos) order += c;
    std::vector<Tensor> wide;
    Tensor product = Tensor::ones({}, dtypes::float64).to("INTERP");
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      Ints shape;
      std::vector<std::pair<std::size_t, std::int64_t>> places;
      for (std::size_t d = 0; d < sum.operands[k].size(); ++d)
        places.emplace_back(order.find(sum.operands[k][d]), static_cast<std::int64_t>(d));
      std::sort(places.begin(), places.end());
      Axes axes;
      for (const auto& [place, axis] : places) axes.push_back(axis);
      for (const char c : order) shape.push_back(sum.operands[k].find(c) == std::string::npos ? 1 : sum.sizes[c - 'a']);
      product = product * tensors[k].cast(dtypes::float64).permute(axes).reshape(shape);
    }
    Axes gone;
    for (std::size_t d = sum.result.size(); d < order.size(); ++d) gone.push_back(static_cast<std::int64_t>(d));
    const Array want(gone.empty() ? product : product.sum(gone));
    SCOPED_TRACE(sum.formula());
    expect_near(Tensor::einsum(sum.formula(), tensors), want.shape, [&](const Place& at) { return want.at(at); });
  }
}

TEST(EinsumOrder, WhatIsSummedInBetweenHasMemoryOfItsOwn) {
  std::vector<Tensor> matrices;
  for (int k = 0; k < 7; ++k) matrices.push_back(Tensor::empty({20, 20}));
  const std::string lines = Tensor::einsum("ab,bc,cd,de,ef,fg,ga->", matrices).explain();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 6) << lines;
  // What is only multiplied has none.
  const Tensor x = Tensor::empty({8, 8});
  const std::string product = Tensor::einsum("ij,ij,ij->i", std::vector{x, x, x}).explain();
  EXPECT_EQ(std::count(product.begin(), product.end(), '\n'), 1) << product;
}

TEST(EinsumOrder, Gradients) {
  const auto of = [](const char* formula) { return [formula](const Many& x) { return Tensor::einsum(formula, x); }; };
  expect_gradients(of("ab,bc,cd->ad"), {{2, 3}, {3, 2}, {2, 2}});
  expect_gradients(of("a,ab,bc,c->"), {{2}, {2, 3}, {3, 2}, {2}});
  expect_gradients(of("ab,cd,be,ef->df"), {{2, 2}, {2, 3}, {2, 2}, {2, 2}});
  expect_gradients(of("...a,ab,b->..."), {{2, 3}, {3, 2}, {2}});
}

}  // namespace
}  // namespace strata::test
