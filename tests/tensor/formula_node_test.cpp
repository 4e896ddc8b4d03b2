// Elementwise functions of many ops are one node of a graph; the kernels are those of the ops.
#include "strata/ops/formula_node.h"

#include <array>
#include <vector>

#include "strata/graph/node_cost.h"
#include "strata/schedule/schedule.h"
#include "strata/tensor/access.h"
#include "tests/tensor/arrays.h"

namespace strata::test {
namespace {

using ops::FormulaScope, ops::Value;

struct Row {
  const char* name;
  Value (Value::*f)() const;
};
constexpr Row kRows[] = {
#define STRATA_UNARY(name, ...) {#name, &Value::name},
#include "strata/ops/operations.def"
};

/// Memory has none: it is itself.
LazyOp kernel_of(const LazyOp& root) {
  const std::vector<ScheduleItem> items = schedule(std::array{root});
  return items.empty() ? root : items.back().ast;
}

TEST(FormulaNode, KernelsAreMadeOfTheOpsOfEachUnaryRow) {
  int formulas = 0;
  for (const DType dtype : {dtypes::float16, dtypes::float32, dtypes::float64, dtypes::int32}) {
    const Value x(LazyOp::empty(dtype, {3, 5}));
    for (const Row& row : kRows) {
      SCOPED_TRACE(row.name);
      if (!complaint([&] { (x.*row.f)(); }).empty()) continue;  // no operation on this dtype
      const LazyOp ops = (x.*row.f)().node();
      const LazyOp nodes = [&] {
        const FormulaScope scope;
        return (x.*row.f)().node();
      }();
      EXPECT_TRUE(nodes.dtype() == ops.dtype() && nodes.shape() == ops.shape());
      if (nodes != ops) ++formulas;
      // Ops that are more than a kernel has are several kernels; as a formula they are one.
      if (schedule(std::array{ops}).size() <= 1) {
        EXPECT_EQ(kernel_of(nodes), kernel_of(ops));
      } else {
        EXPECT_EQ(schedule(std::array{nodes}).size(), 1U);
      }
    }
  }
  EXPECT_GT(formulas, 40);
}

TEST(FormulaNode, OfTensorsAndTheirGradients) {
  const Tensor x = Tensor::empty({4}, dtypes::float32), tracked = f32({0.5F, -1, 2, 0}).requires_grad(true);
  EXPECT_EQ(x.gelu().node().op(), Ops::FORMULA);
  EXPECT_EQ(x.gelu().node(), x.gelu().node());
  EXPECT_EQ(x.exp().node().op(), Ops::EXP);
  EXPECT_EQ(arg_text(*x.sigmoid().node().node()), "7 ops");
  EXPECT_EQ(tracked.gelu().node().op(), Ops::CUSTOM_GRAD);
  // No gradient of its own: that of the ops.
  EXPECT_NE(tracked.selu().node().op(), Ops::FORMULA);
  tracked.selu().sum().backward();
  EXPECT_TRUE(tracked.grad().has_value());
  // Of a number it is a number.
  EXPECT_NE(Tensor(0.5).gelu().node().op(), Ops::FORMULA);
}

TEST(FormulaNode, StandsForItsNodesInTheSchedule) {
  const LazyOp x = LazyOp::empty(dtypes::float32, {8});
  const FormulaScope scope;
  const LazyOp one = Value(x).gelu().node();
  const LazyNode& node = *one.node();
  std::size_t nodes = 0;
  int cost = 0;
  const LazyOp made = one.formula_of(x);
  for (const LazyNode* n : postorder(made))
    if (n != x.node() && n->op != Ops::CONST) ++nodes, cost += op_cost(n->op);
  EXPECT_EQ(nodes_of(node), nodes);
  EXPECT_EQ(node_cost(node), cost);
  // Kernels have as many nodes as without formulas: forty of them are more than one kernel.
  Value many(x);
  for (int k = 0; k < 40; ++k) many = many.gelu();
  EXPECT_GT(schedule(std::array{many.node()}).size(), 1U);
}

}  // namespace
}  // namespace strata::test
