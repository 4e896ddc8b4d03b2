// Captured functions: the same results, states that go on, what makes another capture.

#include "strata/tensor/jit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "strata/base/interrupt.h"
#include "strata/engine/recording.h"
#include "strata/tensor/random.h"
#include "tests/tensor/arrays.h"

namespace strata::test {
namespace {

using Floats = std::vector<float>;

TEST(Jit, GivesWhatTheFunctionGives) {
  auto f = jit([](const Tensor& a, const Tensor& b) { return (a * b).sum() + a; });
  for (float k = 1; k < 6; ++k) EXPECT_EQ(floats(f(f32({k, 2}), f32({3, k}))), (Floats{3 * k + 2 * k + k, 5 * k + 2}));
  EXPECT_EQ(f.jit()->runs(), 2U);
  EXPECT_EQ(f.jit()->replays(), 3U);
}

TEST(Jit, ResultsAreTheCallers) {
  auto f = jit([](const Tensor& a) { return a + 1; });
  std::vector<Tensor> held;
  for (float k = 0; k < 6; ++k) held.push_back(f(f32({k})));
  for (std::size_t k = 0; k < held.size(); ++k) EXPECT_EQ(floats(held[k]), (Floats{static_cast<float>(k) + 1}));
}

TEST(Jit, OneTensorTwice) {
  auto f = jit([](const Tensor& a, const Tensor& b) { return a * 10 + b; });
  const Tensor x = f32({1});
  f(x, x), f(x, x);
  EXPECT_EQ(floats(f(x, f32({2}))), (Floats{12}));
}

TEST(Jit, WhatItGivesBackMayBeAnInputOrAState) {
  const Tensor w = f32({7});
  auto f = jit([&](const Tensor& a) { return std::vector<Tensor>{a, w, Tensor(2.5)}; });
  for (float k = 0; k < 4; ++k) {
    const std::vector<Tensor> y = f(f32({k}));
    EXPECT_EQ(floats(y[0]), (Floats{k}));
    EXPECT_EQ(floats(y[1]), (Floats{7}));
    EXPECT_EQ(y[2].item(), 2.5);
  }
}

TEST(Jit, StatesGoOn) {
  const Tensor total = f32({0, 0});
  auto add = jit([&](const Tensor& a) {
    total.assign(total + a);
    return total * 2;
  });
  Floats expected = {0, 0};
  std::vector<std::pair<Tensor, Floats>> before;
  for (float k = 1; k < 8; ++k) {
    const Tensor y = add(f32({k, 1}));
    expected = {expected[0] + k, expected[1] + 1};
    EXPECT_EQ(floats(y), (Floats{2 * expected[0], 2 * expected[1]}));
    EXPECT_EQ(floats(total), expected);
    before.emplace_back(total + 0, expected);  // not computed yet
  }
  for (const auto& [lazy, value] : before) EXPECT_EQ(floats(lazy), value);
}

TEST(Jit, SeesWhatIsAssignedOutside) {
  const Tensor w = f32({1, 2});
  auto scaled = jit([&](const Tensor& a) { return a * w; });
  auto grow = jit([&](const Tensor& by) {
    w.assign(w + by);
    return w.sum();
  });
  const Tensor one = f32({1, 1});
  for (int k = 0; k < 3; ++k) scaled(one);
  w.assign(f32({5, 6}));
  EXPECT_EQ(floats(scaled(one)), (Floats{5, 6}));
  for (float k = 1; k < 5; ++k) {
    grow(one);
    EXPECT_EQ(floats(scaled(one)), (Floats{5 + k, 6 + k}));
  }
  w.assign(f32({3}).expand({2}));  // another view: captured again
  EXPECT_EQ(floats(scaled(one)), (Floats{3, 3}));
  EXPECT_EQ(floats(scaled(one)), (Floats{3, 3}));
}

TEST(Jit, RandomNumbersGoOn) {
  auto f = jit([](const Tensor& a) { return a + rand({4}).to("INTERP"); });
  const Tensor zero = f32({0, 0, 0, 0});
  std::vector<Floats> drawn;
  manual_seed(11);
  for (int k = 0; k < 5; ++k) drawn.push_back(floats(f(zero)));
  manual_seed(11);
  for (int k = 0; k < 5; ++k) EXPECT_EQ(floats(rand({4})), drawn[static_cast<std::size_t>(k)]);
}

TEST(Jit, OtherShapesAreOtherCaptures) {
  auto f = jit([](const Tensor& a) { return a.sum(); });
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(f(f32({1, 2})).item(), 3);
    EXPECT_EQ(f(f32({1, 2, 3})).item(), 6);
  }
  EXPECT_EQ(f.jit()->runs(), 4U);
  EXPECT_EQ(f.jit()->replays(), 4U);
}

TEST(Jit, OneCaptureForAllValuesOfAVariable) {
  const Variable n("n", 1, 8);
  auto f = jit([](const Tensor& a) { return std::vector<Tensor>{a.sum(), a * 2}; });
  for (std::int64_t size = 1; size < 8; ++size) {
    const Tensor x = Tensor::from_buffer(Buffer::fromCPU(Floats(8, 1)), {n.bind(size)}).to("INTERP");
    const std::vector<Tensor> y = f(x);
    EXPECT_EQ(y[0].item(), static_cast<double>(size));
    EXPECT_EQ(floats(y[1]).size(), static_cast<std::size_t>(size));
  }
  EXPECT_EQ(f.jit()->runs(), 2U);
}

TEST(Jit, BoundVariablesAreArguments) {
  const Variable n("n", 1, 7), m("m", 0, 3);
  const Tensor x = f32({1, 2, 3, 4, 5, 6, 7, 8}), y = f32({10, 20});
  auto f = jit([](const Expr& end, const Tensor& a, const Expr& begin, const Tensor& b) {
    return a.shrink({{0, end}}).sum() + a.shrink({{begin, begin + 1}}).sum() * 100 + b.sum();
  });
  auto g = jit([](const Expr& end) {
    return Tensor::arange(8).shrink({{0, end}}).sum() + (Tensor(end) - Tensor(end * 2 - 20)).abs();
  });
  for (std::int64_t k = 1; k < 8; ++k) {
    const std::int64_t terms = k * (k + 1) / 2, at = k * 5 % 4;
    const auto sum = static_cast<double>(terms);
    EXPECT_EQ(f(n.bind(k), x, m.bind(at), y).item(), sum + static_cast<double>(at + 1) * 100 + 30) << k;
    EXPECT_EQ(f(n.bind(k) + 1, x, m.bind(at), y).item(), sum + static_cast<double>(k + 1 + (at + 1) * 100 + 30)) << k;
    EXPECT_EQ(g(n.bind(k)).item(), sum - static_cast<double>(k) + static_cast<double>(20 - k)) << k;
  }
  EXPECT_EQ(f.jit()->runs(), 4U);  // another expression is another capture
  EXPECT_EQ(f.jit()->replays(), 10U);
  EXPECT_EQ(g.jit()->runs(), 2U);
  const Tensor out = f32({0}).sum().realize();
  f.into(out, n.bind(3), x, m.bind(2), y);
  EXPECT_EQ(out.item(), 6 + 300 + 30);
  EXPECT_EQ(f.jit()->runs(), 4U);
  EXPECT_THROW(f(n, x, m.bind(1), y), Error);          // no value
  EXPECT_THROW(f(n.bind(2), x, n.bind(1), y), Error);  // two values
  EXPECT_EQ(f(n.bind(2), x, m.bind(1), y).item(), 3 + 200 + 30);
}

TEST(Jit, AFunctionThatThrowsLeavesNothingBehind) {
  int calls = 0;
  auto f = jit([&](const Tensor& a) {
    if (++calls == 2) throw Error(ErrorKind::domain, "not now");
    return a + 1;
  });
  EXPECT_EQ(floats(f(f32({1}))), (Floats{2}));
  EXPECT_THROW(f(f32({1})), Error);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(floats(f(f32({1}))), (Floats{2}));
}

TEST(Jit, TensorsThatSharedMemoryMayPart) {
  const Buffer memory = Buffer::fromCPU(std::vector<float>{1, 2});
  const Tensor a = Tensor::from_buffer(memory, {2}), b = Tensor::from_buffer(memory, {2});
  auto f = jit([&](const Tensor& x) { return a * 10.0F + b + x; });
  const Tensor zero = Tensor::from({0.0F, 0.0F});
  for (int k = 0; k < 3; ++k) EXPECT_EQ(f(zero).to_vector<float>(), (std::vector<float>{11, 22}));
  a.assign(Tensor::from({5.0F, 5.0F}));
  for (int k = 0; k < 3; ++k) EXPECT_EQ(f(zero).to_vector<float>(), (std::vector<float>{51, 52}));
}

TEST(Jit, WhatItAssignsToAnInputTheInputGets) {
  const auto body = [](const Tensor& t, const Tensor& by) {
    t.assign(t.index_put({0}, by));
    t.assign(t * 2.0F);
    return t + 1.0F;
  };
  auto f = jit(body);
  Tensor mine = f32({1, 2}), plain = f32({1, 2});
  for (float k = 0; k < 7; ++k) {
    if (k == 5) mine = f32({8, 9}), plain = f32({8, 9});  // another tensor in its place
    const Tensor by = f32({k}).reshape({});
    EXPECT_EQ(floats(f(mine, by)), floats(body(plain, by)));
    EXPECT_EQ(floats(mine), floats(plain));
  }
  EXPECT_EQ(f.jit()->replays(), 5U);
}

TEST(Jit, InputsThatPassOnTheirValues) {
  const Tensor state = f32({0});
  auto f = jit([&](const Tensor& a, const Tensor& b) {
    state.assign(a);  // the input's own memory
    const Tensor before = b + 0.0F;
    b.assign(a);
    a.assign(before);
    return a;
  });
  const Tensor a = f32({1}), b = f32({2});
  for (float x = 1, y = 2, k = 0; k < 6; ++k) {
    EXPECT_EQ(floats(f(a, b)), (Floats{y}));
    EXPECT_EQ(floats(state), (Floats{x}));
    std::swap(x, y);
    EXPECT_EQ(floats(a), (Floats{x}));
    EXPECT_EQ(floats(b), (Floats{y}));
  }
}

TEST(Jit, OneTensorGivenTwiceIsOne) {
  auto f = jit([](const Tensor& a, const Tensor& b) {
    a.assign(a + 1.0F);
    return b * 10.0F;
  });
  for (int turn = 0; turn < 2; ++turn) {
    const Tensor one = f32({0}), other = f32({5});
    for (float k = 1; k < 6; ++k) EXPECT_EQ(floats(f(one, one)), (Floats{10 * k}));
    for (float k = 6; k < 11; ++k) {
      EXPECT_EQ(floats(f(one, other)), (Floats{50}));
      EXPECT_EQ(floats(one), (Floats{k}));
    }
  }
}

TEST(Jit, AnInputThatIsKnownFromOutsideIsChangedInOneWay) {
  const Tensor w = f32({1});
  auto f = jit([&](const Tensor& x) {
    x.assign(x + 1.0F);
    return w * 10.0F;
  });
  const Tensor y = f32({0});
  for (int k = 0; k < 4; ++k) EXPECT_EQ(floats(f(y)), (Floats{10}));
  EXPECT_EQ(floats(f(w)), (Floats{20}));
  try {
    f(w);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::domain);
    EXPECT_EQ(std::string(e.what()).find("[jit] a tensor is an argument"), 0U) << e.what();
  }
  EXPECT_EQ(floats(w), (Floats{2}));
  EXPECT_EQ(floats(f(y)), (Floats{20}));
}

TEST(Jit, AUsersMemoryIsNeverWritten) {
  const Tensor state = Tensor::from({0.0F, 0.0F});
  auto add = jit([&](const Tensor& t) {
    t.assign(t + 1.0F);
    state.assign(state + t);
    return t;
  });
  std::vector<std::vector<float>> memory(8, {1, 2});
  for (std::size_t k = 0; k < memory.size(); ++k) {
    const Tensor t = Tensor::from_blob(memory[k].data(), {2});
    if (k % 3 == 2) state.assign(Tensor::from_blob(memory[k - 1].data(), {2}));
    add(t);
    EXPECT_EQ(floats(t), (Floats{2, 3}));
  }
  for (const auto& m : memory) EXPECT_EQ(m, (std::vector<float>{1, 2}));
}

TEST(Jit, ACaptureThatThrewIsMadeAnew) {
  bool throws = false;
  auto f = jit([&](const Tensor& t) {
    if (throws) throw std::runtime_error("not now");
    t.assign(t + 1.0F);
    return t * 2.0F;
  });
  const Variable n("n", 1, 8);
  for (int k = 0; k < 5; ++k) {
    const Tensor x = Tensor::from_buffer(Buffer::fromCPU(Floats(8, 1)), {n.bind(3)});
    throws = k == 1;
    if (throws) {
      EXPECT_THROW(f(x), std::runtime_error);
    } else {
      EXPECT_EQ(f(x).sum().item<float>(), 12);
    }
  }
  EXPECT_EQ(f.jit()->replays(), 2U);
}

// --- outputs that the caller has ---

TEST(JitInto, GivesWhatTheCallGives) {
  auto f = jit([](const Tensor& a, const Tensor& b) { return a * b + 1; });
  const Tensor y = f32({0, 0}).realize();
  for (float k = 1; k < 6; ++k) {
    f.into(y, f32({k, 2}), f32({3, k}));
    EXPECT_EQ(floats(y), (Floats{3 * k + 1, 2 * k + 1}));
    const void* const memory = y.buffer().data();
    f.into(y, f32({k, 2}), f32({3, k}));
    EXPECT_EQ(y.buffer().data(), memory);
  }
  EXPECT_EQ(floats(f(f32({1, 2}), f32({3, 4}))), (Floats{4, 9}));  // and in memory of its own again
  EXPECT_EQ(floats(y), (Floats{16, 11}));
  EXPECT_EQ(f.jit()->runs(), 2U);
}

TEST(JitInto, RefusesWhatItCannotWrite) {
  const auto made = [](const Floats& values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())}).realize();
  };
  const Tensor w = made({5, 6});
  auto f = jit([&](const Tensor& a) { return a + w; });
  const Tensor x = made({1, 2}), y = made({0, 0});
  const Tensor wide = made({0, 0, 0});
  for (int k = 0; k < 4; ++k) f.into(y, x);
  const auto says = [&](const Tensor& output, const std::string& words) {
    try {
      f.into(output, x);
      ADD_FAILURE() << words;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
  };
  says(wide, "has shape (2,), but the output for the result has shape (3,)");
  says(y.cast(dtypes::int32).realize(), "has dtype f32, but the output for the result has dtype i32");
  says(x, "shares memory with input 0");
  says(w, "shares memory with tensor that the function reads from outside 0");
  says(wide.shrink({{0, 2}}), "or a part of other memory");
  Tensor parameter = made({0, 0});
  parameter.requires_grad(true);
  says(parameter, "is a parameter");
  static const float fixed[2] = {0, 0};
  says(Tensor::from_blob(fixed, {2}), "is in memory that is read-only");
  EXPECT_EQ(floats(x), (Floats{1, 2}));
  EXPECT_EQ(floats(y), (Floats{6, 8}));
  auto counts = jit([&](const Tensor& a) {
    w.assign(a + 1);
    return a * 2;
  });
  for (int k = 0; k < 4; ++k) {
    if (k > 0) counts.into(y, x);
    EXPECT_THROW(counts.into(x, x), Error);  // in each call, replays or not
    if (k > 1) {
      EXPECT_THROW(counts.into(w, x), Error);
    }
  }
  EXPECT_EQ(floats(x), (Floats{1, 2}));
  EXPECT_EQ(floats(y), (Floats{2, 4}));
  const std::vector<Tensor> none;
  EXPECT_THROW(f.into(std::span<const Tensor>(none), x), Error);
}

// --- one thread at a time ---

// The memory of a call's arguments and outputs may be gone when its kernels are measured; results and states stay.
TEST(Jit, TimesRunOnMemoryThatIsThere) {
  const Tensor state = f32({1}), weight = f32({3});
  auto f = jit([&](const Tensor& a) {
    Tensor(state).assign(state + 1);
    return a * weight + state;
  });
  std::vector<Tensor> results;
  for (float k = 0; k < 4; ++k) results.push_back(f(f32({k})));
  Tensor(weight).assign(f32({5}));
  results.push_back(f(f32({4})));
  for (int k = 0; k < 2; ++k) {  // memory of vectors: what reads it later reads freed memory
    const Tensor out = Tensor::from(Floats{0}, {1}).to("INTERP").realize(),
                 a = Tensor::from(Floats{1}, {1}).to("INTERP");
    f.into(out, a);
  }
  const std::vector<RecordedTime> times = f.jit()->times(2);
  EXPECT_GE(times.size(), 2U);
  for (const RecordedTime& t : times) EXPECT_GT(t.seconds, 0);
  for (float k = 0; k < 5; ++k)
    EXPECT_EQ(floats(results[static_cast<std::size_t>(k)]), (Floats{k < 4 ? k * 3 + k + 2 : 26})) << k;
  EXPECT_EQ(floats(state), (Floats{8}));
  EXPECT_EQ(floats(f(f32({2}))), (Floats{19}));
}

// A tensor from outside that is changed between the first call and the second one, and not computed yet, is no constant
// of the capture.
TEST(Jit, SeesWhatWasChangedBeforeTheCapture) {
  const std::vector<std::function<void(const Tensor&)>> changes = {
      [](const Tensor& w) { Tensor(w).assign(w + 1); }, [](const Tensor& w) { Tensor(w).assign(w.flip(0) * 2); },
      [](const Tensor& w) { Tensor(w).assign(Tensor::full({3}, 2.0).cast(dtypes::float32).to("INTERP")); }};
  for (const auto& change : changes)
    for (const int lazy_calls : {1, 2, 3}) {
      const Tensor w = f32({1, 2, 3}), scale = Tensor(0.5F).to("INTERP");
      auto f = jit([&](const Tensor& a) { return a * w * scale; });
      for (int k = 0; k < 8; ++k) {
        EXPECT_EQ(floats(f(f32({1, 1, 2}))), floats(f32({1, 1, 2}) * w * scale)) << k;
        if (k < lazy_calls || k > 4) change(w);
        if (k == 6) Tensor(scale).assign(scale * 2);
      }
      EXPECT_GT(f.jit()->replays(), 2U);
    }
}

// A view that is realized has memory of its own, which other memory replaces.
TEST(Jit, SeesWhatReplacesARealizedView) {
  const Tensor w = f32({1, 2, 3, 4, 5, 6}, {2, 3}), first = w.t(), second = w.t();
  first.realize();
  auto f = jit([&](const Tensor& a) { return a + second; });
  const Tensor x = f32({0, 0, 0, 0, 0, 0}, {3, 2});
  for (int k = 0; k < 6; ++k) {
    EXPECT_EQ(floats(f(x)), floats(second.contiguous())) << k;
    if (k > 2) Tensor(second).assign(second * 2);
  }
}

// What a function calls is a part of its capture, also where the called function has a capture of its own.
TEST(Jit, FunctionsOfFunctions) {
  const Tensor total = f32({0});
  auto inner = jit([&](const Tensor& a) {
    Tensor(total).assign(total + a.sum());
    return a * 2;
  });
  auto outer = jit([&](const Tensor& a) { return inner(a + 1) + inner(a) + total; });
  for (float k = 0; k < 3; ++k) EXPECT_EQ(floats(inner(f32({k}))), (Floats{2 * k}));
  float sum = 3;
  for (float k = 0; k < 6; ++k) {
    sum += 2 * k + 1;
    EXPECT_EQ(floats(outer(f32({k}))), (Floats{4 * k + 2 + sum})) << k;
    EXPECT_EQ(floats(total), (Floats{sum})) << k;
  }
  EXPECT_EQ(outer.jit()->replays(), 4U);
  sum += 7;
  EXPECT_EQ(floats(inner(f32({7}))), (Floats{14}));
  EXPECT_EQ(floats(total), (Floats{sum}));

  const Tensor y = f32({0});
  auto writes = jit([&](const Tensor& a) {
    inner.into(y, a);
    return a;
  });
  EXPECT_NE(error_of(ErrorKind::domain, [&] { writes(f32({1})); }).find("return the results"), std::string::npos);
}

TEST(Jit, OneThatCallsItselfSaysSo) {
  std::shared_ptr<JitFunction<std::function<Tensor(const Tensor&)>>> f, g;
  f = std::make_shared<JitFunction<std::function<Tensor(const Tensor&)>>>(
      jit(std::function<Tensor(const Tensor&)>([&](const Tensor& a) { return (*f)(a) + 1; })));
  const auto says = [&] {
    try {
      (*f)(f32({1}));
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("jit_test.cpp:"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("calls itself"), std::string::npos) << e.what();
    }
  };
  says();
  says();
  g = std::make_shared<JitFunction<std::function<Tensor(const Tensor&)>>>(
      jit(std::function<Tensor(const Tensor&)>([&](const Tensor& a) { return (*f)(a) * 2; })));
  f = std::make_shared<JitFunction<std::function<Tensor(const Tensor&)>>>(
      jit(std::function<Tensor(const Tensor&)>([&](const Tensor& a) { return (*g)(a) + 1; })));
  says();  // through another one
}

TEST(JitThread, OthersWaitAndCanBeInterrupted) {
  struct Ended {};
  std::atomic<bool> is_inside{false}, may_go{false};
  auto f = jit([&](const Tensor& a) {
    is_inside = true;
    while (!may_go) std::this_thread::yield();
    return a + 1;
  });
  std::vector<float> results(3);
  std::thread first([&] { results[0] = f(f32({1})).item<float>(); });
  while (!is_inside) std::this_thread::yield();
  {
    const InterruptCheck check([] { throw Ended(); }, std::chrono::milliseconds(5));
    EXPECT_THROW(f(f32({2})), Ended);
  }
  std::thread second([&] { results[1] = f(f32({2})).item<float>(); });
  may_go = true;
  results[2] = f(f32({3})).item<float>();
  first.join();
  second.join();
  EXPECT_EQ(results, (Floats{2, 3, 4}));
}

}  // namespace
}  // namespace strata::test
