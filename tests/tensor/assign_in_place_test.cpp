// Captured functions that assign: the new value is written over the old one where nobody can see that, and results are
// those of the function in every case.

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <vector>

#include "strata/base/interrupt.h"
#include "strata/runtime/allocator.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/jit.h"
#include "tests/tensor/arrays.h"

namespace strata::test {
namespace {

constexpr std::int64_t kMany = std::int64_t{1} << 15;  // 128 KiB of floats, enough to be written in place

Tensor many(float value) { return (Tensor::zeros({kMany}) + value).contiguous().realize(); }
double at(const Tensor& x, std::int64_t k = 0) { return x.buffer()[k].as_double(); }
const void* memory_of(const Tensor& x) { return x.buffer().data(); }
std::uint64_t held() { return Allocator::host().statistics().in_use; }

TEST(AssignInPlace, KeepsItsMemory) {
  const Tensor w = many(1), x = many(3);
  auto f = jit([&](const Tensor& v) {
    w.assign(w * 2 + v);
    return v.sum();
  });
  double expected = 1;
  const void* memory = nullptr;
  for (int k = 0; k < 8; ++k) {
    f(x);
    expected = expected * 2 + 3;
    EXPECT_EQ(at(w), expected) << k;
    EXPECT_EQ(at(w, kMany - 1), expected) << k;
    if (k > 2) {
      EXPECT_EQ(memory_of(w), memory) << k;
    }
    memory = memory_of(w);
  }
}

TEST(AssignInPlace, ReadersRunBefore) {
  const Tensor w = many(1), x = many(3);
  auto f = jit([&](const Tensor& v) {
    const Tensor old = w.detach();
    w.assign(w * 2 + v);
    w.realize();
    return (old * v).sum();  // of the old value
  });
  double now = 1;
  const void* memory = nullptr;
  for (int k = 0; k < 6; ++k) {
    EXPECT_EQ(at(f(x)), now * 3 * kMany) << k;
    now = now * 2 + 3;
    EXPECT_EQ(at(w), now);
    if (k > 2) {
      EXPECT_EQ(memory_of(w), memory) << k;
    }
    memory = memory_of(w);
  }
}

TEST(AssignInPlace, WhatOthersHoldDoesNotChange) {
  const Tensor w = many(1), x = many(3);
  auto f = jit([&](const Tensor& v) {
    w.assign(w + v);
    return v.sum();
  });
  for (int k = 0; k < 4; ++k) f(x);
  EXPECT_EQ(at(w), 13);
  const Tensor detached = w.detach(), part = w.shrink({{0, 4}}), later = w * 10;  // none of them is computed yet
  const Buffer memory = w.buffer();
  const Tensor realized = (w + 0).contiguous().realize();
  f(x);
  EXPECT_EQ(at(w), 16);
  EXPECT_EQ(at(detached), 13);
  EXPECT_EQ(at(part.contiguous()), 13);
  EXPECT_EQ(at(later), 130);
  EXPECT_EQ(memory[0].as_double(), 13);
  EXPECT_EQ(at(realized), 13);
  f(x);
  EXPECT_EQ(at(w), 19);
  EXPECT_EQ(at(detached), 13);
}

TEST(AssignInPlace, AHandleOfTheSameTensorSeesTheNewValue) {
  const Tensor w = many(1), x = many(3);
  const std::vector<Tensor> handles = {w};
  auto f = jit([&](const Tensor& v) {
    w.assign(w + v);
    return v.sum();
  });
  for (int k = 0; k < 5; ++k) f(x);
  EXPECT_EQ(at(handles[0]), 16);
}

TEST(AssignInPlace, OtherElementsAreReadFromAnotherCopy) {
  const Tensor x = many(0);
  const std::vector<std::function<Tensor(const Tensor&)>> values = {
      [](const Tensor& w) { return w.flip({0}) + 1; },    [](const Tensor& w) { return w + w.flip({0}); },
      [](const Tensor& w) { return w - w.mean() + 1; },   [](const Tensor& w) { return w.roll({1}, {0}); },
      [](const Tensor& w) { return w.cumsum(0) * 1e-3; },
  };
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Tensor start = (Tensor::arange(kMany).cast(dtypes::float32) * 1e-3).contiguous().realize();
    const Tensor w = start.clone().realize();
    Tensor plain = start.clone().realize();
    auto f = jit([&](const Tensor& v) {
      w.assign(values[k](w));
      return v.sum();
    });
    for (int turn = 0; turn < 5; ++turn) {
      f(x);
      plain = values[k](plain).contiguous().realize();
      EXPECT_TRUE(w.allclose(plain)) << k << " " << turn;
    }
  }
}

TEST(AssignInPlace, TwoTensorsThatChangePlaces) {
  const Tensor a = many(1), b = many(2), x = many(1);
  auto f = jit([&](const Tensor& v) {
    const Tensor old = a.detach();
    a.assign(b + v);
    b.assign(old * 1);
    return v.sum();
  });
  double one = 1, two = 2;
  for (int k = 0; k < 7; ++k) {
    f(x);
    const double before = one;
    one = two + 1, two = before;
    EXPECT_EQ(at(a), one) << k;
    EXPECT_EQ(at(b), two) << k;
  }
}

TEST(AssignInPlace, EachTensorFromTheOther) {
  const Tensor a = many(1), b = many(2), x = many(1);
  auto f = jit([&](const Tensor& v) {
    const Tensor next_a = a + b * v, next_b = b - a;
    a.assign(next_a);
    b.assign(next_b);
    return v.sum();
  });
  double one = 1, two = 2;
  for (int k = 0; k < 7; ++k) {
    f(x);
    const double before = one;
    one = one + two, two = two - before;
    EXPECT_EQ(at(a), one) << k;
    EXPECT_EQ(at(b), two) << k;
  }
}

TEST(AssignInPlace, TheNewValueIsReadInTheSameCall) {
  const Tensor w = many(1), x = many(3);
  auto f = jit([&](const Tensor& v) {
    w.assign(w + v);
    return (w * 2).sum();
  });
  for (int k = 0; k < 6; ++k) EXPECT_EQ(at(f(x)), 2.0 * (4 + 3 * k) * kMany) << k;
}

TEST(AssignInPlace, TwoViewsOfOneMemory) {
  const Tensor whole = many(1);
  const Tensor left = whole.shrink({{0, kMany / 2}}), right = whole.shrink({{kMany / 2, kMany}});
  const Tensor x = Tensor::ones({kMany / 2}).contiguous().realize();
  auto f = jit([&](const Tensor& v) {
    left.assign(left + v);
    return (right * v).sum();  // the memory of `left`, too
  });
  for (int k = 0; k < 6; ++k) {
    EXPECT_EQ(at(f(x)), kMany / 2);
    EXPECT_EQ(at(left.contiguous()), 2 + k);
    EXPECT_EQ(at(whole), 1);
  }
}

TEST(AssignInPlace, TwoFunctionsShareWeights) {
  const Tensor w = whole_numbers({256, 256}, 3), x = whole_numbers({1, 256}, 4);
  const Tensor plain = w.clone().realize();
  auto train = jit([&](const Tensor& v) {
    w.assign(w + v);
    return v.sum();
  });
  auto use = jit([&](const Tensor& v) { return v.matmul(w); });
  for (int k = 0; k < 8; ++k) {
    train(x);
    plain.assign((plain + x).contiguous().realize());
    for (int turn = 0; turn < k % 3 + 1; ++turn) EXPECT_TRUE(use(x).equal(x.matmul(plain))) << k;
  }
  EXPECT_GT(use.jit()->replays(), 0U);
}

TEST(AssignInPlace, TwoCapturesOfOneFunction) {
  const Tensor w = many(0);
  auto f = jit([&](const Tensor& v) {
    w.assign(w + v.sum());
    return v.sum();
  });
  double expected = 0;
  for (int k = 0; k < 12; ++k) {
    const std::int64_t count = k % 2 == 0 ? 2 : 3;
    f(Tensor::ones({count}).contiguous().realize());
    expected += static_cast<double>(count);
    EXPECT_EQ(at(w), expected) << k;
  }
}

TEST(AssignInPlace, AssignedByTheUserBetweenCalls) {
  const Tensor w = many(1), x = many(3);
  auto f = jit([&](const Tensor& v) {
    w.assign(w + v);
    return v.sum();
  });
  for (int k = 0; k < 4; ++k) f(x);
  const Tensor other = many(100);
  w.assign(other);
  f(x);
  EXPECT_EQ(at(w), 103);
  EXPECT_EQ(at(other), 100);
  f(x);
  EXPECT_EQ(at(w), 106);
  EXPECT_EQ(at(other), 100);
}

TEST(AssignInPlace, AnInterruptedCallAssignsAllOrNothing) {
  const Tensor a = many(0), b = many(0), x = Tensor::ones({512, 512}).contiguous().realize();
  auto f = jit([&](const Tensor& v) {
    Tensor y = v;
    for (int k = 0; k < 6; ++k) y = (y.matmul(v) * (1.0 / 512)).contiguous();
    a.assign(a + y.max());
    b.assign(b + y.max());
    return y.sum();
  });
  for (int k = 0; k < 3; ++k) f(x);
  EXPECT_EQ(at(a), 3);
  for (int stop = 0; stop < 12; ++stop) {
    int calls = 0;
    const InterruptCheck check(
        [&] {
          if (++calls > stop) throw std::runtime_error("stop");
        },
        std::chrono::milliseconds(0));
    try {
      f(x);
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "stop");
    }
    EXPECT_EQ(a.buffer()[0].as_double(), b.buffer()[kMany - 1].as_double()) << stop;
  }
  const double before = at(a);
  f(x);
  EXPECT_EQ(at(a), before + 1);
  EXPECT_EQ(at(b), before + 1);
}

TEST(AssignInPlace, AFunctionThatThrowsChangesNothingLater) {
  const Tensor w = many(1), x = many(3);
  bool throws = false;
  auto f = jit([&](const Tensor& v) {
    const Tensor next = w + v;
    if (throws) throw std::runtime_error("stop");
    w.assign(next);
    return v.sum();
  });
  f(x);
  throws = true;
  EXPECT_THROW(f(x), std::runtime_error);
  throws = false;
  for (int k = 0; k < 4; ++k) f(x);
  EXPECT_EQ(at(w), 16);
}

TEST(AssignInPlace, ReplaysAllocateNothing) {
  const Tensor w = many(1), x = many(3);
  auto f = jit([&](const Tensor& v) {
    w.assign(w + v);
    return v.sum();
  });
  for (int k = 0; k < 4; ++k) f(x);
  const std::uint64_t before = Allocator::host().statistics().allocated, in_use = held();
  for (int k = 0; k < 5; ++k) f(x);
  EXPECT_EQ(Allocator::host().statistics().allocated, before);
  EXPECT_EQ(held(), in_use);
}

TEST(AssignInPlace, ACaptureHoldsOneCopyOfWhatItAssignsTo) {
  const std::uint64_t bytes = 4 * kMany;
  const Tensor w = many(1), x = many(3);
  const std::uint64_t before = held();
  auto f = jit([&](const Tensor& v) {
    Tensor y = v;
    for (int k = 0; k < 10; ++k) y = (y + w.sum() * 1e-9).contiguous();  // ten results, two at once
    w.assign(w + y * 0);
    return y.sum();
  });
  for (int k = 0; k < 4; ++k) f(x);
  EXPECT_LE(held(), before + bytes + 3 * bytes);  // a copy of the input, two results and what is small
}

TEST(AssignInPlace, ParametersKeepTheirGradients) {
  Tensor w = many(1);
  w.requires_grad(true);
  const Tensor x = many(2);
  auto f = jit([&](const Tensor& v) {
    w.set_grad(std::nullopt);
    const Tensor loss = (w * v).sum();
    loss.backward();
    const Tensor gradient = *w.grad();
    const NoGrad none;
    w.assign(w - gradient * 0.5);
    return loss;
  });
  double now = 1;
  for (int k = 0; k < 6; ++k) {
    EXPECT_EQ(at(f(x)), now * 2 * kMany) << k;
    now -= 1;
    EXPECT_EQ(at(w), now) << k;
    EXPECT_TRUE(w.requires_grad());
  }
  (w * w).sum().backward();  // outside of the function
  EXPECT_TRUE(w.grad());
}

}  // namespace
}  // namespace strata::test
