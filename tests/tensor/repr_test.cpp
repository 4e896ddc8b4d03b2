// Tensors as texts.
#include <gtest/gtest.h>

#include "strata/graph/origin.h"
#include "strata/tensor/tensor.h"

namespace strata {
namespace {

const Device& interp() { return Device::get("INTERP"); }

TEST(Repr, RunsNothing) {
  const Tensor x = Tensor::arange(4).reshape({2, 2}).to(interp());
  EXPECT_EQ(x.repr(), "Tensor(shape=(2, 2), dtype=i64, device=INTERP, not realized)");
  EXPECT_FALSE(x.is_realized());
}

TEST(Repr, ShowsWhatIsInMemory) {
  const Tensor x = (Tensor::arange(4).reshape({2, 2}).to(interp()) * 0.5).realize();
  EXPECT_EQ(x.repr(), "Tensor([[0.0, 0.5],\n        [1.0, 1.5]], shape=(2, 2), dtype=f32, device=INTERP)");
  EXPECT_EQ((Tensor(1).to(interp()) + 1).realize().repr(), "Tensor(2, shape=(), dtype=i64, device=INTERP)");
}

TEST(Repr, CutsWhatIsLong) {
  const Tensor x = (Tensor::arange(1001).to(interp()) + 1).realize();
  EXPECT_EQ(x.repr(), "Tensor([1, 2, 3, ..., 999, 1000, 1001], shape=(1001,), dtype=i64, device=INTERP)");
}

TEST(Repr, ShowsWhatHasNoElements) {
  const auto text = [](const Ints& shape) {
    const std::string all = Tensor::zeros(shape).to(interp()).realize().repr();
    return all.substr(0, all.find(", shape"));
  };
  EXPECT_EQ(text({0}), "Tensor([]");
  EXPECT_EQ(text({0, 3}), "Tensor([]");
  EXPECT_EQ(text({2, 0}), "Tensor([[],\n        []]");
}

TEST(Repr, ShowsAndCutsEveryAxis) {
  const Tensor x = Tensor::arange(8).reshape({2, 2, 2}).to(interp()).contiguous().realize();
  EXPECT_EQ(x.repr(),
            "Tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]], "
            "shape=(2, 2, 2), dtype=i64, device=INTERP)");
  const Tensor y = Tensor::arange(1400).reshape({2, 7, 100}).to(interp()).contiguous().realize();
  const std::string row = "[0, 1, 2, ..., 97, 98, 99],\n         [100, 101, 102, ";
  EXPECT_EQ(y.repr().substr(0, 9 + row.size()), "Tensor([[" + row);
  EXPECT_NE(y.repr().find("299],\n         ...,\n         [400, "), std::string::npos) << y.repr();
}

// NOTE: by recursion over axes it took a stack frame an axis, and the stack ended near 40,000 of them.
TEST(Repr, ManyAxesTakeNoStack) {
  constexpr std::size_t rank = 100'000;
  const std::vector<float> one{1};
  const Tensor x = Tensor::from_buffer(Buffer::fromCPU(std::span(one)), Ints(rank, Int(1)));
  ASSERT_TRUE(x.is_realized());
  const std::string text = x.repr(), shown = "Tensor(" + std::string(rank, '[') + "1.0" + std::string(rank, ']');
  EXPECT_TRUE(text.starts_with(shown));
}

TEST(Origins, OfOtherLanguagesAreGiven) {
  const OriginScope scope(Origin{"log", "program.py", 12});
  EXPECT_EQ(Origin::current().text(), "log, written at program.py:12");
}

}  // namespace
}  // namespace strata
