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
      ASSERT_EQ(chain.kernels.size(), chain.temporaries.size() + 1);
      for (std::size_t k = 0; k < chain.kernels.size(); ++k) {
        if (k < chain.temporaries.size()) {
          EXPECT_EQ(chain.temporaries[k], static_cast<int>(found.size()));
          const LazyOp& store = chain.kernels[k].src(0);
          found.emplace_back(store.src(0).dtype(), number_of(product(store.shape()), {}));
        }
        interpret(chain.kernels[k], memory_of(found), {});
      }
      found.erase(found.begin() + static_cast<std::ptrdiff_t>(wanted.size()), found.end());
    }
    more = false;
    for (std::size_t t = at.size(); t-- > 0 && !more;) {
      more = ++at[t] < shape[plan.axes->others[t]].value();
      if (!more) at[t] = 0;
    }
  }
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
    EXPECT_NE(reason(text, axis).find(what), std::string::npos) << reason(text, axis);
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
  says("a: f32[4,8]; x = exp(a).contiguous(); y = x.sum(1); z = x * 2", 0, "the stores have shapes");
  EXPECT_EQ(best_block_axis(parsed("a: f32[4,8]; y = exp(a).contiguous().sum(0)")), 1U);  // columns
  EXPECT_FALSE(best_block_axis(parsed("a: f32[4,8]; y = exp(a).contiguous().sum(0,1)")));
}

}  // namespace
}  // namespace strata
