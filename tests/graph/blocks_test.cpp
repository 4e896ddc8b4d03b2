// Chains of kernels in blocks, against the kernel as a whole.
#include "strata/graph/blocks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strata/graph/interpret.h"
#include "strata/ops/kernel_text.h"
#include "tests/base/errors.h"
#include "tests/codegen/exact_kernels.h"

namespace strata {
namespace {

using oracle::Buffers, oracle::memory_for, oracle::memory_of, oracle::number_of;

LazyOp parsed(const std::string& text) { return parse_kernel(text).kernel; }

const std::string kAttention =
    "q: f32[2,3,20,4]; k: f32[2,3,9,4]; v: f32[2,3,9,5];"
    "s = (matmul(q, k.permute(0,1,3,2)) * 0.5).contiguous(); p = s.softmax(3).contiguous(); o = matmul(p, v)";

/// Runs the kernels of the chain of a block. `found` are the kernel's buffers, and those of the block before.
void run(const BlockChain& chain, bool is_first, bool is_last, std::size_t given, Buffers& found) {
  for (const BlockChain::Step& step : chain.steps) {
    const LazyOp& store = step.kernel.src(0);
    if (step.temporary >= static_cast<int>(found.size())) {
      EXPECT_EQ(step.temporary, static_cast<int>(found.size()));
      found.emplace_back(store.src(0).dtype(), number_of(product(store.shape()), {}));
    }
    if ((step.turn != BlockTurn::first || is_first) && (step.turn != BlockTurn::last || is_last))
      interpret(step.kernel, memory_of(found), {});
  }
  EXPECT_EQ(given + chain.temporaries.size(), found.size());
}

/// Runs the chain of each block, and compares the buffers with those of the whole kernel, to the bit.
void check_chain(const LazyOp& kernel, std::size_t axis, std::int64_t rows) {
  const BlockPlan plan = block_axes(kernel, axis);
  ASSERT_TRUE(plan.axes) << plan.reason;
  const Ints& shape = kernel.src(0).shape();
  Buffers found = memory_for(kernel, {}, 7), wanted = found;
  interpret(kernel, memory_of(wanted), {});
  std::vector<std::int64_t> at(plan.axes->others.size(), 0);
  for (bool more = true; more;) {
    for (std::int64_t begin = 0; begin < shape[axis].value(); begin += rows) {
      const std::int64_t count = std::min(rows, shape[axis].value() - begin);
      const BlockChain chain = block_chain(kernel, *plan.axes, begin, count, {at.begin(), at.end()});
      bool is_first = begin == 0, is_last = begin + count == shape[axis].value();
      for (std::size_t t = plan.axes->shared; t < at.size(); ++t) {
        is_first = is_first && at[t] == 0;
        is_last = is_last && at[t] + 1 == shape[plan.axes->others[t]].value();
      }
      run(chain, is_first, is_last, wanted.size(), found);
    }
    more = false;
    for (std::size_t t = at.size(); t-- > 0 && !more;) {
      more = ++at[t] < shape[plan.axes->others[t]].value();
      if (!more) at[t] = 0;
    }
  }
  found.erase(found.begin() + static_cast<std::ptrdiff_t>(wanted.size()), found.end());
  oracle::expect_same(found, wanted, kernel.text(), false);
}

TEST(Blocks, OfAttention) {
  const LazyOp kernel = parsed(kAttention);
  EXPECT_EQ(best_block_axis(kernel), 2U);
  const BlockPlan plan = block_axes(kernel, 2);
  ASSERT_TRUE(plan.axes);
  EXPECT_EQ(plan.axes->others, (std::vector<std::size_t>{0, 1}));
  for (const std::int64_t rows : {1, 4, 7, 20}) check_chain(kernel, 2, rows);
  const RowBytes row = bytes_of_row(kernel, *plan.axes);
  EXPECT_EQ(row.between, 2 * 9 * 4);            // a row of the scores, and of the weights
  EXPECT_EQ(row.whole, 9 * 4 * 4 + 9 * 5 * 4);  // the keys and values of a head
}

/// As the gradients of attention by the queries, keys and values, where `o` is the gradient by its result: of integers,
/// whose sums are the same in any order.
const std::string kGradients =
    "q: i32[2,3,20,4]; k: i32[2,3,9,4]; v: i32[2,3,9,5]; o: i32[2,3,20,5];"
    "r = matmul(q, k.permute(0,1,3,2)).contiguous(); p = (r - r.max(3)).contiguous();"
    "d = matmul(o, v.permute(0,1,3,2)).contiguous(); s = (p * (d - (p * d).sum(3))).contiguous();"
    "dq = matmul(s, k); dk = matmul(s.permute(0,1,3,2), q); dv = matmul(p.permute(0,1,3,2), o)";

TEST(Blocks, ThatAreAddedUp) {
  const LazyOp kernel = parsed(kGradients);
  EXPECT_EQ(best_block_axis(kernel), 2U);
  const BlockPlan plan = block_axes(kernel, 2);
  ASSERT_TRUE(plan.axes) << plan.reason;
  EXPECT_TRUE(plan.axes->add_up());
  EXPECT_EQ(plan.axes->others, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(plan.axes->shared, 2U);
  for (const std::int64_t rows : {1, 4, 7, 20}) check_chain(kernel, 2, rows);
}

TEST(Blocks, StoresOfOtherShapes) {
  for (const char* stores : {
           "y = x.sum(2); z = x * 2",                                       // rows of other shapes
           "y = x.sum(2); z = x.sum(1)",                                    // of a, for each index of the other axis
           "y = x.sum(2); z = x.sum(0,1)",                                  // of both axes
           "y = x.sum(2); z = x.sum(1).sum(0)",                             // in two steps
           "y = x.sum(2); z = x.sum(1).permute(2,0,1).pad(0:0, 1:0, 0:0)",  // behind movement
           "y = x.sum(2); z = x.sum(1) * 3 - b",                            // with an element of memory
           "y = x.sum(2); z = x.max(1); u = x.prod(1)",                     // several
           "y = x.sum(2); z = x.sum(0)",                                    // rows that are added up along the other
           "y = x * x.sum(2); z = (x * x.sum(2)).sum(1)",
       }) {
    const LazyOp kernel = parsed(std::string("a: i32[3,6,4]; b: i32[3,1,4]; x = (a * a).contiguous();") + stores);
    const BlockPlan plan = block_axes(kernel, 1);
    if (!plan.axes) {
      const bool is_announced = plan.reason.find("adds up some blocks of its rows") != std::string::npos ||
                                plan.reason.find("PAD moves rows") != std::string::npos;
      EXPECT_TRUE(is_announced) << stores << ": " << plan.reason;
      continue;
    }
    for (const std::int64_t rows : {1, 2, 4, 6}) check_chain(kernel, 1, rows);
  }
}

/// Heads that share keys.
const char* const kSharedKeys =
    "q: f32[4,5,2]; k: f32[2,5,2]; s = exp(matmul(q.reshape(2,2,5,2), k.reshape(2,1,2,5))).contiguous();"
    "o = s.reshape(4,5,5).sum(2)";

TEST(Blocks, FollowRowsThroughMovement) {
  for (const char* text : {
           "a: f32[6,8]; b: f32[8,4]; c: f32[4,5]; x = exp(matmul(a, b)).contiguous(); o = matmul(x, c)",
           "a: f32[12,8]; x = exp(a).contiguous(); y = x.reshape(3,4,8).sum(2)",
           "a: f32[12,8]; x = exp(a).contiguous(); y = x.reshape(3,4,8).permute(1,0,2).sum(2)",
           kSharedKeys,
           "a: f32[7,8]; x = exp(a).contiguous(); y = x.shrink(1:6, 0:8).sum(1)",
           "a: f32[7,8]; x = exp(a).contiguous(); y = x.pad(0:0, 1:2).flip(1).sum(1)",
           "a: f32[7,8]; x = exp(a).contiguous(); y = x.sum(1).contiguous() + a.max(1)",
       }) {
    const LazyOp kernel = parsed(text);
    const auto axis = best_block_axis(kernel);
    ASSERT_TRUE(axis) << text;
    for (const std::int64_t rows : {1, 2, 3}) check_chain(kernel, *axis, rows);
  }
}

TEST(Blocks, SayWhyThereAreNone) {
  const auto reason = [](const char* text, std::size_t axis) { return block_axes(parsed(text), axis).reason; };
  const auto says = [&](const char* text, std::size_t axis, const char* what) {
    EXPECT_NE(reason(text, axis).find(what), std::string::npos) << text << ": " << reason(text, axis);
  };
  says("a: f32[4,8]; y = a.sum(1)", 0, "no CONTIGUOUS");
  says(kAttention.c_str(), 4, "axis 4 is not an output axis");
  says(kAttention.c_str(), 3, "does not follow axis 3");
  says("a: f32[4,8]; y = exp(a).contiguous().sum(0)", 0, "does not follow axis 0");
  says("a: f32[8]; x = exp(a).contiguous(); y = x + x.flip(0)", 0, "moves rows");
  says("a: f32[8]; x = exp(a).contiguous(); y = x.shrink(0:6) * x.shrink(2:8)", 0, "with other rows");
  says("n: 1..9; a: f32[n,4]; y = exp(a).contiguous().sum(1)", 0, "symbolic size n");
  says("a: f32[6,4]; x = exp(a).contiguous(); y = x.reshape(4,6)", 0, "moves rows apart");
  says("a: f32[2,6,8]; x = exp(a).contiguous(); y = x.reshape(12,8).sum(1)", 0, "moves rows apart");
  EXPECT_FALSE(best_block_axis(parsed("a: f32[4,8]; y = a.sum(1)")));
  for (const std::size_t axis : {0U, 1U, 2U})  // nothing is divided by a size of 0
    EXPECT_FALSE(block_axes(parsed("a: f32[0,3]; x = exp(a).contiguous(); y = x.reshape(5,0,3)"), axis).axes) << axis;
  const auto says_of = [&](const std::string& stores, const char* what) {
    says(("a: f32[4,8]; b: f32[4,8]; x = exp(a).contiguous();" + stores).c_str(), 0, what);
  };
  says_of("y = x.sum(1); t = x.sum(0); z = x * t", "store 1 needs rows of a block, and the sum of all rows");
  says_of("y = x.sum(1); z = (x.sum(0) + b).sum(0)", "store 1 of shape (1, 8) is not made of the blocks");
  says_of("y = x.sum(1); z = x.sum(0) + b.sum(0)", "in several reductions");
  says_of("y = x.sum(1); z = b.sum(0)", "store 1 of shape (1, 8) is not made of the blocks");
  says_of("y = x.shrink(1:3, 0:8).sum(1); z = x.sum(0)", "is not made of the blocks");
  says_of("y = x.sum(1) + x.sum(0).contiguous().sum(1)", "does not follow axis 0");
  says_of("u = (b * b).contiguous(); t = x.sum(0); y = x.sum(1) + u.sum(1); z = t * 2; w = (u + t).sum(1)",
          "the sum of all blocks, of shape (1, 8), is needed by a block");
  says_of("y = x.sum(1); z = x.reshape(2,2,8).sum(0)", "store 1");
  EXPECT_EQ(best_block_axis(parsed("a: f32[4,8]; y = exp(a).contiguous().sum(0)")), 1U);  // columns
  EXPECT_FALSE(best_block_axis(parsed("a: f32[4,8]; y = exp(a).contiguous().sum(0,1)")));
}

}  // namespace
}  // namespace strata
