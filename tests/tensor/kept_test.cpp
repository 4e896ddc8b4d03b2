// Packed copies of weights that jit functions keep: they follow every change that the tensors may have.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "strata/engine/kernel_cache.h"
#include "strata/engine/recording.h"
#include "strata/runtime/allocator.h"
#include "strata/tensor/dlpack.h"
#include "strata/tensor/functional.h"
#include "strata/tensor/interop.h"
#include "strata/tensor/jit.h"
#include "tests/tensor/arrays.h"

namespace strata::test {
namespace {

testing::AssertionResult keeps(Jit& function) {
  std::string kernels;
  for (const RecordedTime& t : function.times(1)) {
    for (const Opt& opt : t.kernel->kernel().opts)
      if (opt.kind == Opt::Kind::PACK) return testing::AssertionSuccess();
    kernels += detail::message(" ", t.kernel->kernel().name, ": ", text_of(t.kernel->kernel().opts), ";");
  }
  return testing::AssertionFailure() << function.runs() << " runs, " << function.replays() << " replays of" << kernels;
}

/// INTERP's target has no reassociation, without which nothing is packed; what the functions give is tested all the
/// same.
bool packs_here() { return Device::default_device().target().reassociate; }

class Kept : public testing::Test {
 protected:
  const Tensor x = whole_numbers({5, 70}, 1);
  const Tensor w = whole_numbers({70, 37}, 2);
};

TEST_F(Kept, WeightsArePackedOnce) {
  auto f = jit([&](const Tensor& a) { return a.matmul(w); });
  const std::vector<double> expected = values_of(x.matmul(w));
  for (int k = 0; k < 4; ++k) EXPECT_EQ(values_of(f(x)), expected);
  if (packs_here()) EXPECT_TRUE(keeps(*f.jit()));
  // Nobody may write through as() without a note: that the element is not seen shows that nothing is packed again.
  w.buffer().as<float>()[0] += 1;
  if (packs_here()) EXPECT_EQ(values_of(f(x)), expected);
  w.buffer().memory().note_write();
  EXPECT_EQ(values_of(f(x)), values_of(x.matmul(w)));
  EXPECT_NE(values_of(f(x)), expected);
}

/// Tensors of bytes, whose words are made once for the weights, and in each call for the argument.
Tensor bytes(const Ints& shape, DType dtype, unsigned seed) {
  return whole_numbers(shape, seed).cast(dtype).contiguous().realize();
}

TEST_F(Kept, WordsOfWeightsAreMadeOnceAndThoseOfArgumentsAlways) {
  for (const DType dtype : {dtypes::int8, dtypes::uint8}) {
    const Tensor weights = bytes({70, 37}, dtype, 2);
    const auto product = [&](const Tensor& a) { return a.cast(dtypes::int32).matmul(weights.cast(dtypes::int32)); };
    auto f = jit(product);
    for (unsigned k = 0; k < 6; ++k) {
      const Tensor a = bytes({5, 70}, dtypes::int8, 30 + k);
      EXPECT_EQ(values_of(f(a)), values_of(product(a))) << k;
      // The same memory with other elements.
      a.buffer().copy_from(bytes({5, 70}, dtypes::int8, 40 + k).buffer());
      EXPECT_EQ(values_of(f(a)), values_of(product(a))) << k;
      if (k % 2 == 1) weights.buffer().copy_from(bytes({70, 37}, dtype, 50 + k).buffer());
    }
    const Tensor a = bytes({5, 70}, dtypes::int8, 3);
    const std::vector<double> expected = values_of(f(a));
    if (!Device::default_device().target().native.has(Ops::DOT4)) continue;
    // What nobody may do shows that the words are kept.
    static_cast<unsigned char*>(weights.buffer().data())[0] ^= 1;
    EXPECT_EQ(values_of(f(a)), expected);
    weights.buffer().memory().note_write();
    EXPECT_EQ(values_of(f(a)), values_of(product(a)));
  }
}

// Whether numbers are subnormal is found for the weights when their words are made, and for the argument in each call.
TEST_F(Kept, WeightsOfBf16MayBecomeSubnormal) {
  const auto filled = [](const Ints& shape, double value) {
    return Tensor::full(shape, value).cast(dtypes::bfloat16).contiguous().realize();
  };
  const Tensor weights = filled({70, 37}, 1);
  const auto product = [&](const Tensor& a) { return a.cast(dtypes::float32).matmul(weights.cast(dtypes::float32)); };
  auto f = jit(product);
  const double large[] = {1, 0x1p100, 0x1p120}, least[] = {0x1p-10, 0x1p-60, 0x1p-127, 0x1p-133, 0};
  for (int k = 0; k < 30; ++k) {
    const double x = large[k % 3], w = least[k / 2 % 5];
    const Tensor a = filled({40, 70}, k % 4 == 3 ? w : x);
    weights.buffer().copy_from(filled({70, 37}, k % 4 == 3 ? x : w).buffer());
    for (int again = 0; again < 2; ++again)
      for (const double v : values_of(f(a))) ASSERT_EQ(v, 70 * x * w) << k;
  }
  if (Device::default_device().target().native_of_normals.has(Ops::DOT2))
    EXPECT_NE(f.jit()->times(1).front().kernel->of_normals(), nullptr);
}

/// The convolution of x by windows w of 3x3, with a border of 1, by loops. Zeros beside the image are terms, too.
std::vector<double> convolved(const Tensor& x, const Tensor& w) {
  const std::int64_t images = x.size(0).value(), channels = x.size(1).value(), rows = x.size(2).value(),
                     columns = x.size(3).value(), outputs = w.size(0).value();
  const std::vector<double> image = values_of(x), weights = values_of(w);
  const auto element = [&](std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j) {
    const bool is_inside = i >= 0 && i < rows && j >= 0 && j < columns;
    return is_inside ? image[static_cast<std::size_t>(((n * channels + c) * rows + i) * columns + j)] : 0.0;
  };
  std::vector<double> out;
  for (std::int64_t n = 0; n < images; ++n)
    for (std::int64_t o = 0; o < outputs; ++o)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t k = 0; k < 9; ++k)
              sum += element(n, c, i + k / 3 - 1, j + k % 3 - 1) *
                     weights[static_cast<std::size_t>((o * channels + c) * 9 + k)];
          out.push_back(sum);
        }
  return out;
}

// Rows of zeros are left out of sums where the weights are finite, which is found when the weights change.
TEST_F(Kept, WeightsOfConvolutionsMayBecomeInfinite) {
  const Tensor image = whole_numbers({2, 16, 5, 6}, 3), weights = whole_numbers({32, 16, 3, 3}, 4);
  auto f = jit([&](const Tensor& a) { return conv2d(a, weights, std::nullopt, {.padding = 1}); });
  for (int k = 0; k < 6; ++k) {
    const std::vector<double> expected = convolved(image, weights), found = values_of(f(image));
    ASSERT_EQ(found.size(), expected.size());
    int nans = 0;
    for (std::size_t j = 0; j < found.size(); ++j) {
      nans += std::isnan(expected[j]) ? 1 : 0;
      EXPECT_TRUE(found[j] == expected[j] || (std::isnan(found[j]) && std::isnan(expected[j]))) << k << ": " << j;
    }
    EXPECT_EQ(nans > 0, k % 2 == 1);
    std::vector<float> next(static_cast<std::size_t>(weights.buffer().size()), 1);
    if (k % 2 == 0) next[static_cast<std::size_t>(k)] = std::numeric_limits<float>::infinity();
    weights.buffer().copy_from(Tensor::from(next, weights.shape()).contiguous().realize().buffer());
  }
  const std::vector<Opt>& opts = f.jit()->times(1).back().kernel->kernel().opts;
  if (packs_here())
    EXPECT_TRUE(std::any_of(opts.begin(), opts.end(), [](const Opt& o) { return o.kind == Opt::Kind::TRIM; }))
        << text_of(opts);
}

// The words of one operand come from outside, those of the other from a kernel of the same function.
TEST_F(Kept, WordsOfWhatTheFunctionComputes) {
  const Tensor weights = bytes({70, 37}, dtypes::int8, 2);
  const auto quantized = [&](const Tensor& a) {
    const Tensor q = (a * 3).round().cast(dtypes::int8);
    return q.cast(dtypes::int32).matmul(weights.cast(dtypes::int32)).cast(dtypes::float32) / 3;
  };
  auto f = jit(quantized);
  for (unsigned k = 0; k < 5; ++k) {
    const Tensor a = whole_numbers({40, 70}, 30 + k);
    EXPECT_EQ(values_of(f(a)), values_of(quantized(a))) << k;
  }
}

TEST_F(Kept, AssignmentsAreSeen) {
  auto f = jit([&](const Tensor& a) { return a.matmul(w); });
  for (unsigned k = 0; k < 8; ++k) {
    EXPECT_EQ(values_of(f(x)), values_of(x.matmul(w))) << k;
    Tensor(w).assign(whole_numbers({70, 37}, 10 + k / 2));
  }
  EXPECT_EQ(f.jit()->runs(), 2U);
}

// Memory comes back: the weight's elements alternate between two blocks.
TEST_F(Kept, WhatAnotherFunctionAssignsIsSeen) {
  auto f = jit([&](const Tensor& a) { return a.matmul(w); });
  auto step = jit([&](const Tensor& by) {
    Tensor(w).assign(w + by);
    return w.sum();
  });
  for (unsigned k = 0; k < 12; ++k) {
    EXPECT_EQ(values_of(f(x)), values_of(x.matmul(w))) << k;
    if (k % 3 != 0) step(Tensor::from({static_cast<float>(k % 2)}));
  }
  if (packs_here()) EXPECT_TRUE(keeps(*f.jit()));
}

TEST_F(Kept, WhatIsWrittenToItsMemoryIsSeen) {
  auto f = jit([&](const Tensor& a) { return a.matmul(w); });
  auto twice = jit([](const Tensor& a) { return a * 2; });
  const Tensor other = whole_numbers({70, 37}, 5);
  for (int k = 0; k < 4; ++k) f(x), twice.into(w, other);
  EXPECT_EQ(values_of(f(x)), values_of(x.matmul(other * 2)));
  w.buffer().copy_from(other.buffer());
  EXPECT_EQ(values_of(f(x)), values_of(x.matmul(other)));
}

// The tensor is made in each call; a replay has the memory alone.
TEST_F(Kept, WhatIsWrittenToABufferIsSeen) {
  const Buffer buffer = w.buffer();
  auto f = jit([&](const Tensor& a) { return a.matmul(Tensor::from_buffer(buffer, {70, 37})); });
  for (int k = 0; k < 4; ++k) f(x);
  if (packs_here()) EXPECT_TRUE(keeps(*f.jit()));
  const Tensor other = whole_numbers({70, 37}, 5);
  buffer.copy_from(other.buffer());
  EXPECT_EQ(values_of(f(x)), values_of(x.matmul(other)));
}

TEST_F(Kept, MemoryThatDLPackExportsIsNotPackedFromThenOn) {
  auto f = jit([&](const Tensor& a) { return a.matmul(w); });
  for (int k = 0; k < 4; ++k) f(x);
  if (packs_here()) EXPECT_TRUE(keeps(*f.jit()));
  dlpack::ManagedTensor* const out = dlpack::exported(w, false);
  for (int k = 0; k < 3; ++k) {
    static_cast<float*>(out->dl_tensor.data)[k] += 1;  // the consumer
    EXPECT_EQ(values_of(f(x)), values_of(x.matmul(w)));
  }
  out->deleter(out);
}

// Asking whether an argument's memory changes is no use of the argument.
TEST_F(Kept, AnArgumentThatIsAlsoAssignedTo) {
  const Tensor m = whole_numbers({70, 3}, 6);
  auto f = jit([&](const Tensor& a) {
    const Tensor y = a.t().matmul(m);
    Tensor(w).assign(w * -1);
    y.realize();
    return y;
  });
  for (int k = 0; k < 4; ++k) {
    const std::vector<double> expected = values_of(w.t().matmul(m));
    EXPECT_EQ(values_of(f(w)), expected) << k;
  }
}

TEST_F(Kept, ArgumentsAreNotPacked) {
  auto f = jit([](const Tensor& a, const Tensor& b) { return a.matmul(b); });
  for (unsigned k = 0; k < 5; ++k) {
    const Tensor b = whole_numbers({70, 37}, 20 + k);
    EXPECT_EQ(values_of(f(x, b)), values_of(x.matmul(b)));
  }
  EXPECT_FALSE(keeps(*f.jit()));
}

TEST_F(Kept, MemoryThatOthersMayWriteIsNotPacked) {
  std::vector<float> storage(std::size_t{70} * 37, 1);
  const Tensor shared = as_tensor(std::span(storage), {70, 37});
  auto f = jit([&](const Tensor& a) { return a.matmul(shared); });
  for (int k = 0; k < 4; ++k) {
    std::fill(storage.begin(), storage.end(), static_cast<float>(k));
    EXPECT_EQ(values_of(f(x)), values_of(x.sum(1, true).expand({5, 37}) * k)) << k;
  }
  EXPECT_FALSE(keeps(*f.jit()));
  const Tensor constant = Tensor::from_blob(storage.data(), {70, 37}, {.constant = true});
  auto g = jit([&](const Tensor& a) { return a.matmul(constant); });
  for (int k = 0; k < 3; ++k) g(x);
  if (packs_here()) EXPECT_TRUE(keeps(*g.jit()));
}

// A step that trains the weights: they are packed in vain, and nothing is packed.
TEST_F(Kept, WeightsThatTheFunctionAssignsToAreNotPacked) {
  const Tensor plain = whole_numbers({70, 37}, 2);
  const auto step = [&](Tensor weights) {
    const Tensor y = x.matmul(weights);
    weights.assign(weights - x.t().matmul(y).sign());
    return y.sum();
  };
  auto f = jit([&](const Tensor&) { return step(w); });
  for (int k = 0; k < 6; ++k) EXPECT_EQ(f(x).item(), step(plain).item()) << k;
  EXPECT_EQ(values_of(w), values_of(plain));
  EXPECT_FALSE(keeps(*f.jit()));
}

TEST_F(Kept, TheCaptureUsesTheKernelsOfTheFirstCall) {
  auto f = jit([&](const Tensor& a) { return (a.matmul(w) * 3).exp2() - 17; });
  f(x);
  const auto before = KernelCache::instance().statistics().misses;
  f(x);
  EXPECT_LE(KernelCache::instance().statistics().misses, before + 1);  // the copy of the result
  if (packs_here()) EXPECT_TRUE(keeps(*f.jit()));
}

TEST_F(Kept, PackedCopiesAreMemoryOfTheFunction) {
  const auto held = [] { return Allocator::host().statistics().in_use; };
  const Tensor large = whole_numbers({512, 512}, 3), row = whole_numbers({1, 512}, 4);
  const auto before = held();
  {
    auto f = jit([&](const Tensor& a) { return a.matmul(large); });
    for (int k = 0; k < 3; ++k) f(row);
    if (packs_here()) EXPECT_GE(held(), before + large.buffer().nbytes());
  }
  EXPECT_LT(held(), before + large.buffer().nbytes());
}

TEST_F(Kept, EveryKindOfWeight) {
  std::size_t kept = 0;
  const auto expect = [&](const std::string& name, const auto& function, const Tensor& input) {
    auto f = jit(function);
    const std::vector<double> expected = values_of(function(input));
    for (int k = 0; k < 4; ++k) EXPECT_EQ(values_of(f(input)), expected) << name;
    kept += keeps(*f.jit()) ? 1 : 0;
  };
  for (const DType dtype : {dtypes::float32, dtypes::float64, dtypes::float16, dtypes::bfloat16, dtypes::int32})
    for (const std::int64_t rows : {1, 17})
      for (const std::int64_t columns : {29, 257}) {
        if (columns == 257 && dtype != dtypes::float32) continue;
        const Tensor a = whole_numbers({rows, 33}, 1, dtype), b = whole_numbers({33, columns}, 2, dtype),
                     across = whole_numbers({columns, 33}, 3, dtype);
        const std::string name = detail::message(dtype.name(), " ", rows, "x33x", columns);
        expect(name, [&](const Tensor& v) { return v.matmul(b); }, a);
        expect(name + " across", [&](const Tensor& v) { return v.matmul(across.t()) + 1; }, a);
      }
  for (const std::int64_t groups : {1, 2})
    for (const std::int64_t step : {1, 2})
      for (const std::int64_t size : {1, 3}) {
        const Tensor image = whole_numbers({2, 8, 13, 11}, 4), weights = whole_numbers({34, 8 / groups, size, size}, 5);
        const ConvOptions options{.stride = step, .padding = size / 2, .groups = groups};
        expect(
            detail::message("conv ", groups, " ", step, " ", size),
            [&](const Tensor& v) { return conv2d(v, weights, {}, options).relu(); }, image);
      }
  if (packs_here()) EXPECT_GT(kept, 20U);
}

}  // namespace
}  // namespace strata::test
