// A kernel written as text and the same written with Tensors are one graph: the same nodes, as both are fronts of the
// table of operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/graph/rebuild.h"
#include "strata/ops/kernel_text.h"
#include "strata/ops/table.h"
#include "strata/tensor/access.h"
#include "strata/tensor/functional.h"

namespace strata::test {
namespace {

LazyOp loaded(int slot, DType dtype) { return LazyOp::load(slot, dtype, ShapeTracker::from_shape({2, 3})); }
Tensor over(const LazyOp& node) { return TensorAccess::of(node, Device::get("INTERP")); }

/// The value that the text stores, whose inputs are a, b and c of a dtype in slots 1, 2 and 3.
LazyOp node_written(const std::string& expression, DType dtype) {
  std::string text;
  for (const char* name : {"a", "b", "c"}) text += std::string(name) + ": " + std::string(dtype.name()) + "[2,3]; ";
  // Each input is used, so that slots do not depend on the expression.
  const KernelText kernel = parse_kernel(text + "y = " + expression);
  return kernel.kernel.src(0).src(0);
}

/// The first line of the words with which a text over a of a dtype is refused; "" where it is not.
std::string refused(const std::string& statement, DType dtype) {
  try {
    parse_kernel("a: " + std::string(dtype.name()) + "[2,3]; " + statement);
  } catch (const Error& error) {
    const std::string words = error.what();
    return words.substr(0, words.find('\n'));
  }
  return "";
}

using OfTensors = Tensor (*)(const Tensor& a, const Tensor& b, const Tensor& c);

/// An expression of a kernel text, and the same said with Tensors.
struct Expression {
  std::string text;
  OfTensors of_tensors;
};

/// What `make` makes, or nothing where it refuses.
std::optional<LazyOp> made_or_refused(const std::function<LazyOp()>& make) {
  try {
    return make();
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The nodes that a kernel has.
LazyOp without_formulas(const LazyOp& root) {
  detail::Rebuild rebuild([](const LazyOp& n, const std::vector<LazyOp>& sources) {
    return n.op() == Ops::FORMULA ? n.formula_of(sources[0]) : n.with_sources(sources);
  });
  return rebuild(root);
}

/// Whether both make the same node, or both refuse.
void expect_one_graph(const std::string& expression, DType dtype,
                      const std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>& of_tensors) {
  SCOPED_TRACE(expression + " of " + std::string(dtype.name()));
  const LazyOp a = loaded(1, dtype), b = loaded(2, dtype), c = loaded(3, dtype);
  const auto built = made_or_refused([&] { return without_formulas(of_tensors(over(a), over(b), over(c)).node()); });
  const auto written = made_or_refused([&] { return node_written(expression, dtype); });
  ASSERT_EQ(written.has_value(), built.has_value());
  if (!written) return;
  EXPECT_EQ(written->text(), built->text());
  EXPECT_TRUE(*written == *built);
}

constexpr DType kDTypes[] = {dtypes::float32, dtypes::float16, dtypes::float64, dtypes::int32,
                             dtypes::uint8,   dtypes::int64,   dtypes::boolean};

void expect_one_graph(const std::vector<Expression>& expressions) {
  for (const DType dtype : kDTypes)
    for (const Expression& expression : expressions) expect_one_graph(expression.text, dtype, expression.of_tensors);
}

// NOTE: the rows are data, not a statement each: a function of hundreds of statements takes a sanitizer's build
// minutes.
TEST(KernelFunctions, EachRowOfOneTensorIsTheSameGraph) {
  struct Row {
    const char* name;
    std::initializer_list<const char*> other_names;
    OfTensors of_tensors;
  };
  static const Row kRows[] = {
#define STRATA_UNARY(name, rule, in_place, names, ...) \
  {#name, {STRATA_NAMES(names)}, [](const Tensor& a, const Tensor&, const Tensor&) { return a.name(); }},
#include "strata/ops/operations.def"
  };
  std::vector<Expression> expressions;
  for (const Row& row : kRows) {
    expressions.push_back({row.name + std::string("(a)"), row.of_tensors});
    for (const char* other : row.other_names) expressions.push_back({other + std::string("(a)"), row.of_tensors});
  }
  expect_one_graph(expressions);
}

TEST(KernelFunctions, EachRowOfTwoOperandsIsTheSameGraph) {
  struct Row {
    const char* name;
    std::initializer_list<const char*> other_names;
    OfTensors of_tensors, of_one_and_a_number;
  };
  static const Row kRows[] = {
#define STRATA_BINARY(name, rule, in_place, names, ...)                       \
  {#name,                                                                     \
   {STRATA_NAMES(names)},                                                     \
   [](const Tensor& a, const Tensor& b, const Tensor&) { return a.name(b); }, \
   [](const Tensor& a, const Tensor&, const Tensor&) { return a.name(1); }},
#include "strata/ops/operations.def"
  };
  std::vector<Expression> expressions;
  for (const Row& row : kRows) {
    expressions.push_back({row.name + std::string("(a, b)"), row.of_tensors});
    expressions.push_back({row.name + std::string("(a, 1)"), row.of_one_and_a_number});
    for (const char* other : row.other_names) expressions.push_back({other + std::string("(a, b)"), row.of_tensors});
  }
  expect_one_graph(expressions);
}

TEST(KernelFunctions, EachOperatorIsTheSameGraph) {
  expect_one_graph({
#define STRATA_OPERATOR(symbol, name) \
  {"a " #symbol " b", [](const Tensor& a, const Tensor& b, const Tensor&) { return a symbol b; }},
#include "strata/ops/operations.def"
      {"-a", [](const Tensor& a, const Tensor&, const Tensor&) { return -a; }},
      {"~a", [](const Tensor& a, const Tensor&, const Tensor&) { return ~a; }},
      {"a // b", [](const Tensor& a, const Tensor& b, const Tensor&) { return a.floor_divide(b); }},
  });
  for (const DType dtype : kDTypes)
    for (const int n : {2, 3, 7, 16, 17})
      expect_one_graph("a ** " + std::to_string(n), dtype,
                       [n](const Tensor& a, const Tensor&, const Tensor&) { return a.pow(n); });
}

TEST(KernelFunctions, NumbersArePromotedAlike) {
  expect_one_graph({
#define STRATA_OPERATOR(symbol, name)                                                            \
  {"a " #symbol " 2", [](const Tensor& a, const Tensor&, const Tensor&) { return a symbol 2; }}, \
      {"a " #symbol " 2.5", [](const Tensor& a, const Tensor&, const Tensor&) { return a symbol 2.5; }},
#include "strata/ops/operations.def"
      {"where(a < 0.5, a, 1.5)", [](const Tensor& a, const Tensor&, const Tensor&) { return a.lt(0.5).where(a, 1.5); }},
  });
  // A Tensor wraps a number around that its integers do not hold; a text refuses it.
  EXPECT_EQ(refused("b = a + 300", dtypes::uint8),
            "[add] the number 300 is not a value of the other operand's dtype u8: cast that operand first");
  EXPECT_EQ(refused("b = a - -1", dtypes::uint64),
            "[sub] the number -1 is not a value of the other operand's dtype u64: cast that operand first");
}

TEST(KernelFunctions, TheOthersAreTheSameGraph) {
  for (const DType dtype : kDTypes) {
    expect_one_graph("max(a, b, c)", dtype,
                     [](const Tensor& a, const Tensor& b, const Tensor& c) { return a.maximum(b).maximum(c); });
    expect_one_graph("min(a, b)", dtype, [](const Tensor& a, const Tensor& b, const Tensor&) { return a.minimum(b); });
    expect_one_graph("where(a, b, c)", dtype,
                     [](const Tensor& a, const Tensor& b, const Tensor& c) { return a.where(b, c); });
    expect_one_graph("gelu(a)", dtype, [](const Tensor& a, const Tensor&, const Tensor&) { return a.gelu(); });
    expect_one_graph("a @ b.permute(1, 0)", dtype,
                     [](const Tensor& a, const Tensor& b, const Tensor&) { return a.matmul(b.transpose()); });
    expect_one_graph("softmax(a, 1)", dtype,
                     [](const Tensor& a, const Tensor&, const Tensor&) { return a.softmax(1); });
    expect_one_graph("a.max(1)", dtype, [](const Tensor& a, const Tensor&, const Tensor&) { return a.max(1, true); });
    if (!dtype.is_float()) continue;
    expect_one_graph("a.sum(0)", dtype, [](const Tensor& a, const Tensor&, const Tensor&) { return a.sum(0, true); });
    expect_one_graph("a.mean()", dtype, [](const Tensor& a, const Tensor&, const Tensor&) { return a.mean({}, true); });
  }
}

/// Every function that a text knows is one of the above.
TEST(KernelFunctions, TheTableNamesEveryRowOnce) {
  std::vector<std::string_view> names;
  for (const ops::OperationRow& row : ops::operation_rows()) {
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_FALSE(row.reference.empty()) << row.name;
    const bool is_there = row.reference.starts_with("np.") || row.reference.starts_with("torch.");
    EXPECT_TRUE(is_there || row.reference.starts_with("none: ")) << row.name;
    if (row.kind == ops::OperationKind::unary || row.kind == ops::OperationKind::binary) {
      EXPECT_EQ(std::count(names.begin(), names.end(), row.name), 0) << row.name;
      names.push_back(row.name);
      for (const std::string_view other : row.names) {
        EXPECT_EQ(std::count(names.begin(), names.end(), other), 0) << other;
        names.push_back(other);
      }
    }
  }
}

}  // namespace
}  // namespace strata::test
