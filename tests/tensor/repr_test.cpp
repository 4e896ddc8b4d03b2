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
  EXPECT_EQ(x.repr(),
            "Tensor([[0.0, 0.5],\n        [1.0, 1.5]], shape=(2, 2), dtype=f32, device=INTERP)");
  EXPECT_EQ((Tensor(1).to(interp()) + 1).realize().repr(),
            "Tensor(2, shape=(), dtype=i64, device=INTERP)");
}

TEST(Repr, CutsWhatIsLong) {
  const Tensor x = (Tensor::arange(1001).to(interp()) + 1).realize();
  EXPECT_EQ(x.repr(),
            "Tensor([1, 2, 3, ..., 999, 1000, 1001], shape=(1001,), dtype=i64, device=INTERP)");
}

TEST(Origins, OfOtherLanguagesAreGiven) {
  const OriginScope scope(Origin{"log", "program.py", 12});
  EXPECT_EQ(Origin::current().text(), "log, written at program.py:12");
}

}  // namespace
}  // namespace strata
