// Plans of kernels beside enumeration: element by element, what a rank reads.
#include "strata/spmd/kernel_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "strata/spmd/reads.h"
#include "tests/sample.h"
#include "tests/spmd/random_program.h"

namespace strata {
namespace {

using Elements = std::set<std::int64_t>;

/// What one element of a value reads, by the definitions of the ops.
class Needs {
 public:
  explicit Needs(std::size_t slots) : of_(slots) {}
  void add(const LazyOp& n, std::int64_t number) {
    if (!seen_.emplace(n.node(), number).second) return;
    const Index shape = *numbers(n.shape());
    if (n.op() == Ops::LOAD) {
      const auto& arg = std::get<BufferArg>(n.arg());
      if (const auto at = address(arg.st, number, shape)) of_[static_cast<std::size_t>(arg.slot)].insert(*at);
    } else if (is_movement(n.op())) {
      if (const auto at = address(movement_of(*n.node()), number, shape)) add(n.src(0), *at);
    } else if (is_reduce(n.op())) {
      const Index source = *numbers(n.src(0).shape());
      Index loops;
      for (const std::int64_t axis : std::get<Axes>(n.arg())) loops.push_back(source[static_cast<std::size_t>(axis)]);
      for (std::int64_t k = 0; k < product(to_ints(loops)).value(); ++k) {
        const Index digits = unravelled(k, loops);
        Index at = unravelled(number, shape);
        for (std::size_t j = 0; j < digits.size(); ++j)
          at[static_cast<std::size_t>(std::get<Axes>(n.arg())[j])] = digits[j];
        add(n.src(0), ravelled(at, source));
      }
    } else {
      for (const LazyOp& s : n.src()) add(s, number);
    }
  }
  const Elements& of(std::size_t slot) const { return of_[slot]; }

  static Index unravelled(std::int64_t number, const Index& shape) {
    Index out(shape.size(), 0);
    for (std::size_t j = shape.size(); j-- > 0; number /= shape[j]) out[j] = number % shape[j];
    return out;
  }
  static std::int64_t ravelled(const Index& at, const Index& shape) {
    std::int64_t out = 0;
    for (std::size_t j = 0; j < shape.size(); ++j) out = out * shape[j] + at[j];
    return out;
  }

 private:
  static std::optional<std::int64_t> address(const ShapeTracker& st, std::int64_t number, const Index& shape) {
    std::vector<Expr> idxs;
    for (const std::int64_t i : unravelled(number, shape)) idxs.emplace_back(i);
    const IndexExprs at = index(st.views(), idxs);
    if (evaluate(at.valid) == 0) return std::nullopt;
    return evaluate(at.index);
  }

  std::vector<Elements> of_;
  std::set<std::pair<const LazyNode*, std::int64_t>> seen_;
};

bool is_plain(const LazyOp& kernel) {
  for (const LazyNode* n : postorder(kernel))
    if (is_scan(n->op) || n->op == Ops::SCATTER || n->op == Ops::ORDER || n->op == Ops::GATHER) return false;
  return true;
}

/// Checks the exchanges of a plan of one step. Returns the number of operands that move.
int check(const KernelQuestion& q, const KernelPlan& plan, const std::string& text) {
  const KernelStep& step = plan.steps.back();
  int moving = 0;
  for (std::size_t r = 0; r < q.ranks->here().size(); ++r) {
    const auto rank = static_cast<std::int64_t>(r);
    Needs needs(q.inputs.size() + 1);
    const Sharding& result = step.results[0].computed;
    const LazyOp value = q.kernel.src(0).src(0).reshape(to_ints(q.shapes[0]));
    for (std::int64_t k = 0; k < product(value.shape()).value(); ++k) {
      const std::vector<std::int64_t> owners = result.owners(Needs::unravelled(k, q.shapes[0]));
      if (std::find(owners.begin(), owners.end(), rank) != owners.end()) needs.add(value, k);
    }
    for (const KernelStep::Source& source : step.sources) {
      const Sharding& from = q.inputs[source.value].sharding;
      std::int64_t missing = 0;
      for (const std::int64_t k : needs.of(source.value + 1)) {
        const std::vector<std::int64_t> owners = from.owners(Needs::unravelled(k, from.shape()));
        missing += std::find(owners.begin(), owners.end(), rank) == owners.end() ? 1 : 0;
      }
      const auto itemsize = static_cast<std::int64_t>(q.inputs[source.value].dtype.itemsize());
      const std::int64_t bytes = source.plans.empty() ? 0 : source.plans[r].bytes_received();
      EXPECT_EQ(bytes, missing * itemsize) << "rank " << rank << ", operand " << source.value << " of\n" << text;
      moving += bytes > 0 ? 1 : 0;
    }
  }
  return moving;
}

TEST(KernelPlan, MovesWhatIsReadAndNotOwned) {
  const std::vector<std::vector<Mesh>> meshes = {Mesh::simulated({2}, {"x"}), Mesh::simulated({3}, {"x"}),
                                                 Mesh::simulated({2, 2}, {"x", "y"})};
  int kernels = 0, moving = 0;
  for (std::uint64_t seed = 0; kernels < test::sample(500); ++seed) {
    const std::vector<Mesh>& ranks = meshes[seed % meshes.size()];
    spmd_oracle::Program program(seed + 5000, ranks, ranks[0].shape());
    std::vector<LazyOp> roots;
    for (const spmd_oracle::Twin& t : program.twins())
      if (!t.plain.is_realized() && !t.plain.node().node()->is_closed) roots.push_back(t.plain.node());
    for (const ScheduleItem& item : schedule(roots)) {
      if (!item.is_kernel() || item.outputs.size() != 1 || item.part || !is_plain(item.ast)) continue;
      if (product(item.outputs[0].shape()) == Int(0)) continue;
      KernelQuestion q{Ranks::of(ranks), item.ast, {*numbers(item.outputs[0].shape())}, {}, {std::nullopt}, {}, true};
      std::string text = item.ast.text();
      for (const LazyOp& n : item.inputs) {
        const std::vector<Split> splits = program.splits(n.shape());
        text += render(n.shape()) + " " + render(splits) + "\n";
        q.inputs.push_back({Sharding::create(ranks[0].shape(), *numbers(n.shape()), splits), n.dtype()});
      }
      if (seed % 3 == 0) q.stated[0] = program.splits(item.outputs[0].shape());
      const KernelPlan plan = plan_kernel(q);
      if (plan.steps.size() > 1) continue;  // reduced by rank
      moving += check(q, plan, text);
      if (HasFailure()) return;
      ++kernels;
    }
  }
  EXPECT_GT(moving, kernels / 4);
}

TEST(KernelPlan, AConvolutionGetsOneRowASide) {
  const std::vector<Mesh> ranks = Mesh::simulated({4}, {"x"});
  const Tensor image = Tensor::zeros({1, 1, 64, 32}).contiguous().realize(),
               weight = Tensor::zeros({1, 1, 3, 3}).contiguous().realize();
  const LazyOp y = conv2d(image, weight, {}, {.padding = {1, 1}}).node();
  const std::vector<ScheduleItem> items = schedule({&y, 1});
  ASSERT_EQ(items.size(), 1U);
  KernelQuestion q{Ranks::of(ranks), items[0].ast, {{1, 1, 64, 32}}, {}, {std::nullopt}, {}, true};
  for (const LazyOp& n : items[0].inputs)
    q.inputs.push_back({Sharding::create(ranks[0].shape(), *numbers(n.shape()),
                                         n.shape()[2] == Int(64) ? std::vector<Split>{{"x", 2}} : std::vector<Split>{}),
                        n.dtype()});
  const KernelPlan plan = plan_kernel(q);
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_EQ(render(*plan.steps[0].results[0].computed.splits()), "x:2");
  for (const KernelStep::Source& source : plan.steps[0].sources)
    if (!source.plans.empty()) {
      EXPECT_EQ(source.plans[0].bytes_received(), 32 * 4);
      EXPECT_EQ(source.plans[1].bytes_received(), 2 * 32 * 4);
    }
}

TEST(KernelPlan, RanksAddUpAPartEachOfWhatTheyHaveReduced) {
  const std::vector<Mesh> ranks = Mesh::simulated({4}, {"x"});
  const Tensor x = Tensor::zeros({16, 64, 64}).contiguous().realize();
  const LazyOp y = x.sum(0).node();
  const std::vector<ScheduleItem> items = schedule({&y, 1});
  KernelQuestion q{Ranks::of(ranks), items[0].ast, {{64, 64}}, {}, {std::nullopt}, {}, false};
  q.inputs.push_back({Sharding::create(ranks[0].shape(), {16, 64, 64}, {{"x", 0}}), dtypes::float32});
  const KernelPlan plan = plan_kernel(q);
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_TRUE(plan.steps[0].is_partial);
  const KernelStep& last = plan.steps[1];
  ASSERT_TRUE(last.results[0].kept.has_value());
  EXPECT_EQ(last.sources[0].plans[1].bytes_received() + last.results[0].plans[1].bytes_received(), 2 * 3 * 64 * 64);
  q.stated[0] = std::vector<Split>{{"x", 1}};
  const KernelPlan stated = plan_kernel(q);
  EXPECT_FALSE(stated.steps[1].results[0].kept.has_value());
  EXPECT_EQ(stated.steps[1].sources[0].plans[1].bytes_received(), 3 * 64 * 64);
}

TEST(KernelPlan, RanksHaveOneKernel) {
  const std::vector<Mesh> ranks = Mesh::simulated({4}, {"x"});
  const Tensor x = Tensor::zeros({64, 32}).contiguous().realize(), w = Tensor::zeros({32, 16}).contiguous().realize();
  for (const Tensor& t : {x.softmax(1), x.matmul(w).relu()}) {
    const LazyOp y = t.node();
    const std::vector<ScheduleItem> items = schedule({&y, 1});
    ASSERT_EQ(items.size(), 1U);
    KernelQuestion q{Ranks::of(ranks), items[0].ast, {*numbers(y.shape())}, {}, {std::nullopt}, {}, false};
    for (const LazyOp& n : items[0].inputs)
      q.inputs.push_back(
          {Sharding::create(ranks[0].shape(), *numbers(n.shape()),
                            n.shape()[0] == Int(64) ? std::vector<Split>{{"x", 0}} : std::vector<Split>{}),
           n.dtype()});
    const KernelPlan plan = plan_kernel(q);
    ASSERT_EQ(plan.steps.size(), 1U);
    for (std::size_t r = 1; r < 4; ++r) EXPECT_EQ(plan.steps[0].kernels[r], plan.steps[0].kernels[0]);
    // The kernel of the part alone, as if there were no whole.
    const LazyOp alone =
        t.ndim() == 2 && t.size(1) == Int(16)
            ? Tensor::zeros({16, 32}).contiguous().matmul(Tensor::zeros({32, 16}).contiguous()).relu().node()
            : Tensor::zeros({16, 32}).contiguous().softmax(1).node();
    const std::vector<ScheduleItem> of_part = schedule({&alone, 1});
    EXPECT_EQ(*plan.steps[0].kernels[0], of_part.back().ast)
        << plan.steps[0].kernels[0]->text() << of_part.back().ast.text();
  }
}

}  // namespace
}  // namespace strata
