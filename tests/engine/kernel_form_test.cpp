// Kernels whose numbers and offsets are arguments: the same form for all, the same bits as with them in the code, and
// as few kernels.

#include "strata/engine/kernel_form.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "strata/engine/buffer_storage.h"
#include "strata/engine/kernel_cache.h"
#include "strata/engine/realize.h"
#include "strata/graph/absorb.h"
#include "tests/codegen/kernel_ranges.h"
#include "tests/codegen/random_kernel.h"

namespace strata::test {
namespace {

constexpr std::array kOps = {Ops::ADD, Ops::SUB,   Ops::MUL, Ops::DIV,   Ops::MAX,   Ops::MIN,
                             Ops::POW, Ops::ATAN2, Ops::MOD, Ops::CMPLT, Ops::CMPEQ, Ops::CMPNE};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The kernel out[k] = f(x, c) for x of shape (3, 4) in `dtype`, c the number `value`.
template <class F>
LazyOp kernel_with(const F& f, double value, DType dtype = dtypes::float32) {
  const LazyOp x = LazyOp::load(1, dtype, ShapeTracker::from_shape({3, 4}));
  const LazyOp y = f(x, [&](const Ints& shape) { return LazyOp::constant(Scalar::of(dtype, value), shape); });
  return absorb_movement(LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape(y.shape()), y)}));
}

TEST(KernelForm, IsOneForAllNumbers) {
  const auto alu = [](Ops op) {
    return [op](const LazyOp& x, const auto& c) { return LazyOp::alu(op, {x, c(x.shape())}); };
  };
  const auto form = [](const LazyOp& kernel) {
    const auto found = form_of(kernel);
    return found ? std::optional(found->kernel) : std::nullopt;
  };
  const std::vector<double> numbers = {0.3, -7, 1e30, kInfinity, -kInfinity, std::nan(""), 1e-42};
  const auto expect_one = [&](const auto& f, std::size_t count) {
    const auto first = form_of(kernel_with(f, numbers[0]));
    ASSERT_TRUE(first);
    EXPECT_EQ(first->numbers.size(), count);
    for (const double v : numbers) EXPECT_EQ(form(kernel_with(f, v)), first->kernel) << v;
    for (const double v : {0.0, -0.0, 1.0, -1.0, 2.0}) EXPECT_NE(form(kernel_with(f, v)), first->kernel) << v;
  };
  for (const Ops op : kOps) expect_one(alu(op), 1);
  expect_one([](const LazyOp& x, const auto& c) { return LazyOp::alu(Ops::SUB, {c(x.shape()), x}); }, 1);
  expect_one([](const LazyOp& x, const auto& c) { return x * c({1, 1}).expand({3, 4}); }, 1);
  expect_one([](const LazyOp& x, const auto& c) { return x * c({2, 4}).pad({{1, 0}, {0, 0}}); }, 1);
  expect_one([](const LazyOp&, const auto& c) { return c({3, 4}); }, 1);
  expect_one([](const LazyOp& x, const auto& c) { return LazyOp::reduce(Ops::SUM, x * c(x.shape()), {1}) + c({3, 1}); },
             2);
  EXPECT_FALSE(form(kernel_with(alu(Ops::MUL), 3, dtypes::int32)));
  EXPECT_FALSE(form(kernel_with(
      [](const LazyOp& x, const auto& c) { return x.cast(dtypes::int32) * c(x.shape()).cast(dtypes::int32); }, 0.3)));
}

TEST(KernelForm, IsOneForAllOffsets) {
  const auto kernel = [](std::int64_t at, std::int64_t stride, int slot = 1, const Int& size = 60) {
    const View row = View::create({5}, Ints{stride}, at);
    const LazyOp x = LazyOp::load(slot, dtypes::float32, ShapeTracker({row}), size);
    return LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape({5}), x + x)});
  };
  const auto first = form_of(kernel(7, 3));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->offsets, (std::vector<std::pair<std::string, std::int64_t>>{{"offset0", 7}}));
  for (const std::int64_t at : {0, 1, 47}) EXPECT_EQ(form_of(kernel(at, 3))->kernel, first->kernel) << at;
  EXPECT_EQ(form_of(kernel(59, -3))->kernel, form_of(kernel(12, -3))->kernel);
  EXPECT_NE(form_of(kernel(7, 2))->kernel, first->kernel);
  EXPECT_FALSE(form_of(kernel(0, 1, 1, 5)));  // all of the buffer: there is no other offset
  EXPECT_FALSE(form_of(kernel(7, 3, 0)));     // the buffer is written
  EXPECT_FALSE(form_of(kernel(7, 3, 1, Variable("n", 60, 70))));
  EXPECT_FALSE(form_of(kernel(7, 3), {{Variable("offset0", 0, 9), 3}}));  // a name of the user's
}

TEST(KernelForm, IsOneForAllOffsetsOfStores) {
  const auto kernel = [](std::int64_t at, std::int64_t count, std::int64_t size, int stores = 1, int loaded = 1) {
    const LazyOp x = LazyOp::load(loaded, dtypes::float32, ShapeTracker::from_shape({count}), size);
    std::vector<LazyOp> all;
    for (int k = 0; k < stores; ++k)
      all.push_back(LazyOp::store(0, ShapeTracker({View::create({count}, Ints{1}, at + k * count)}), x + x, size));
    return LazyOp::sink(all);
  };
  const auto first = form_of(kernel(7, 5, 60));
  ASSERT_TRUE(first);
  using Offsets = std::vector<std::pair<std::string, std::int64_t>>;
  EXPECT_EQ(first->offsets, (Offsets{{"offset0", 0}, {"offset1", 7}}));
  for (const std::int64_t at : {0, 1, 55}) EXPECT_EQ(form_of(kernel(at, 5, 60))->kernel, first->kernel) << at;
  EXPECT_EQ(form_of(kernel(7, 5, 60, 2))->offsets.size(), 1U);  // two stores to the buffer
  EXPECT_FALSE(form_of(kernel(7, 5, 60, 1, 0)));                // the buffer is read
  // Stores past the caches are of whole lines.
  constexpr std::int64_t kCount = 1 << 23;
  const auto large = form_of(kernel(32, kCount, kCount * 2));
  ASSERT_TRUE(large);
  EXPECT_EQ(large->offsets, (Offsets{{"offset0", 0}, {"offset1", 2}}));
  EXPECT_EQ(form_of(kernel(48, kCount, kCount * 2))->kernel, large->kernel);
  EXPECT_EQ(form_of(kernel(33, kCount, kCount * 2))->offsets.size(), 1U);
}

Buffer random_buffer(const BufferUse& use, const oracle::KernelValues& values, std::mt19937_64& random) {
  const std::int64_t count = oracle::number_of(use.size, values);
  const DType dtype = use.dtype.is_none() ? dtypes::uint8 : use.dtype;
  Buffer out = Buffer::allocate(count, dtype);
  for (std::int64_t k = 0; k < count; ++k) {
    const std::uint64_t bits = random();
    const Scalar value =
        random() % 8 == 0  ? Scalar::from_bits(dtype, bits)
        : dtype.is_float() ? Scalar::of(dtype, static_cast<double>(static_cast<std::int64_t>(bits % 4001) - 2000) / 64)
                           : Scalar::of(dtype, static_cast<std::int64_t>(bits % 7));
    const std::uint64_t raw = value.bits();
    std::memcpy(static_cast<char*>(out.data()) + k * static_cast<std::int64_t>(dtype.itemsize()), &raw,
                dtype.itemsize());
  }
  return out;
}

Buffer copy_of(const Buffer& b) {
  Buffer out = Buffer::allocate(b.size(), b.dtype());
  if (b.size() > 0) std::memcpy(out.data(), b.data(), b.nbytes());
  return out;
}

/// Runs `kernel` and its form on `device`, and compares all bits. False where there is no form, or the device refuses
/// the kernel.
bool have_same_bits(const LazyOp& kernel, const Device& device, const std::vector<Buffer>& before,
                    const oracle::KernelValues& values) {
  const std::optional<KernelForm> found = form_of(kernel, {}, contraction_of(device));
  if (!found) return false;
  const KernelForm& form = *found;
  std::vector<std::vector<Buffer>> after;
  try {
    const CompiledKernel own = compile(kernel, device);
    const std::vector<Opt> opts = own.kernel().opts;
    if (!opts.empty() && opts[0].kind == Opt::Kind::SPLITREDUCE) return false;
    const CompiledKernel loads = compile(form.kernel, device, opts);
    for (const CompiledKernel* k : {&own, &loads}) {
      std::vector<Buffer>& memory = after.emplace_back();
      for (const Buffer& b : before) memory.push_back(copy_of(b));
      for (const Scalar& number : form.numbers) {
        if (k == &own) continue;
        memory.push_back(Buffer::allocate(1, number.dtype()));
        const std::uint64_t bits = number.bits();
        std::memcpy(memory.back().data(), &bits, number.dtype().itemsize());
      }
      oracle::KernelValues all = values;
      if (k == &loads) all.insert(all.end(), form.offsets.begin(), form.offsets.end());
      k->run(memory, all);
    }
  } catch (const Error&) {
    return false;
  }
  for (std::size_t b = 0; b < before.size(); ++b)
    for (std::int64_t k = 0; k < before[b].size(); ++k) {
      const Scalar x = after[0][b][k], y = after[1][b][k];
      if (x.bits() == y.bits() || (x.is_nan() && y.is_nan())) continue;
      ADD_FAILURE() << device.name() << ": " << x.text() << ", but " << y.text() << " in buffer " << b << "\n"
                    << kernel.text();
      return true;
    }
  return true;
}

TEST(KernelForm, AllNumbersGiveTheSameBits) {
  const Ints shape = {67};
  for (const DType dtype : {dtypes::float16, dtypes::bfloat16, dtypes::float32, dtypes::float64}) {
    std::mt19937_64 random(7);
    for (const double value : {0.3, -7.5, 1e30, 5e-8, kInfinity, std::nan("")}) {
      const LazyOp x = LazyOp::load(static_cast<int>(2 * kOps.size()), dtype, ShapeTracker::from_shape(shape));
      const LazyOp c = LazyOp::constant(Scalar::of(dtype, value), shape);
      std::vector<LazyOp> stores;
      for (const Ops op : kOps)
        for (const bool is_left : {false, true}) {
          const LazyOp y = is_left ? LazyOp::alu(op, {c, x}) : LazyOp::alu(op, {x, c});
          stores.push_back(LazyOp::store(static_cast<int>(stores.size()), ShapeTracker::from_shape(shape), y));
        }
      const LazyOp kernel = absorb_movement(LazyOp::sink(stores));
      const auto form = form_of(kernel);
      ASSERT_TRUE(form || Scalar::of(dtype, value).as_double() == 0) << value;
      if (!form) continue;
      std::vector<Buffer> before;
      for (const BufferUse& use : buffers_of(kernel)) before.push_back(random_buffer(use, {}, random));
      for (const char* device : {"LLVM", "INTERP"}) {
        if (!Device::get(device).missing().empty()) continue;
        EXPECT_TRUE(have_same_bits(kernel, Device::get(device), before, {})) << device;
      }
    }
  }
}

// Compilers contract products of numbers in the code otherwise than others: what they may do so is no argument.
TEST(KernelForm, ContractionsGiveTheSameBits) {
  const Ints shape = {4096};
  std::mt19937_64 random(3);
  const auto x = [&](int k) { return LazyOp::load(1 + k, dtypes::float32, ShapeTracker::from_shape(shape)); };
  const auto c = [&](double v) { return LazyOp::constant(Scalar::of(dtypes::float32, v), shape); };
  const auto alu = [](Ops op, const LazyOp& a, const LazyOp& b) { return LazyOp::alu(op, {a, b}); };
  const auto neg = [](const LazyOp& a) { return LazyOp::alu(Ops::NEG, {a}); };
  const LazyOp a = x(0), b = x(1);
  const std::vector<LazyOp> results = {
      alu(Ops::SUB, b, neg(a * c(0.37))),
      a * c(0.37) + b * c(1.3),
      alu(Ops::SUB, a * c(0.37), b * c(1.3)),
      c(0.37) * c(1.7) + b,
      a * c(0.37) + b,
      alu(Ops::SUB, b, a * c(0.37)),
      alu(Ops::SUB, b, alu(Ops::MAX, a, c(0.11)) * c(0.37)),
      alu(Ops::SUB, b, a * c(0.37) * c(-1)),
      LazyOp::alu(Ops::EXP, {alu(Ops::MAX, a, c(0)) * c(0.37)}),
      LazyOp::alu(Ops::TANH, {neg(a * c(0.37)) + b}),
      LazyOp::alu(Ops::WHERE, {alu(Ops::CMPLT, a, c(0.2)), c(1.3), b}) * c(0.37) + a,
  };
  int compared = 0;
  for (const LazyOp& y : results) {
    const LazyOp kernel = absorb_movement(LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape(shape), y)}));
    std::vector<Buffer> before;
    for (const BufferUse& use : buffers_of(kernel)) {
      before.push_back(Buffer::allocate(use.size.value(), dtypes::float32));
      std::normal_distribution<float> normal;
      for (float& v : before.back().as<float>()) v = normal(random);
    }
    for (const Device* device : Device::all())
      if (device->missing().empty() && device->name() != "NULL" && have_same_bits(kernel, *device, before, {}))
        ++compared;
  }
  EXPECT_GE(compared, STRATA_HAS_LLVM ? 4 : 1);
}

/// The kernel, whose stores to buffers that it does not read are at an offset in larger memory.
LazyOp in_larger_memory(const LazyOp& kernel, std::int64_t at) {
  const std::vector<BufferUse> buffers = buffers_of(kernel);
  std::vector<LazyOp> stores;
  for (const LazyOp& s : kernel.src()) {
    const auto& arg = std::get<BufferArg>(s.arg());
    const ShapeTracker st = arg.st.simplify();
    const bool is_moved = st.views().size() == 1 && !buffers[static_cast<std::size_t>(arg.slot)].read &&
                          arg.size.is_number() && kernel.src().size() == 1;
    if (!is_moved) {
      stores.push_back(s);
      continue;
    }
    const View& v = st.views()[0];
    const View moved = View::create(v.shape(), v.strides(), v.offset() + Int(at), v.mask());
    stores.push_back(LazyOp::store(arg.slot, ShapeTracker({moved}), s.src(0), arg.size + Int(40)));
  }
  return LazyOp::sink(stores);
}

TEST(KernelForm, RandomKernelsGiveTheSameBits) {
  int compared = 0;
  for (std::uint64_t seed = 1; compared < 100 && seed < 4000; ++seed) {
    oracle::Choices choices(seed);
    const oracle::RandomKernel made = oracle::random_kernel(choices);
    const LazyOp kernel = in_larger_memory(absorb_movement(made.sink), static_cast<std::int64_t>(seed % 41));
    if (!form_of(kernel)) continue;
    std::mt19937_64 random(seed);
    std::vector<Buffer> before;
    for (const BufferUse& use : buffers_of(kernel)) before.push_back(random_buffer(use, made.values, random));
    for (const Device* device : Device::all()) {
      if (!device->missing().empty() || device->name() == "NULL") continue;
      if (device->name() != "LLVM" && seed % 10 != 0) continue;  // their compilers take long
      if (have_same_bits(kernel, *device, before, made.values)) ++compared;
      ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
  }
  EXPECT_GE(compared, 100);
}

TEST(KernelForm, AThousandNumbersAreTwoKernels) {
  std::vector<float> values;
  for (int k = 0; k < 100; ++k) values.push_back(static_cast<float>(k) * 0.37F - 9);
  const LazyOp x = leaf_of(Buffer::fromCPU(values), {100});
  KernelCache::instance().clear();
  const std::uint64_t before = KernelCache::instance().statistics().misses;
  for (int k = 0; k < 1000; ++k) {
    const float c = k == 500 ? 1e30F : 0.1F + static_cast<float>(k) * 0.7F;
    const LazyOp y = LazyOp::alu(Ops::MAX, {x, LazyOp::constant(Scalar(c), {100})});
    const LazyOp z = y * LazyOp::constant(Scalar(c * 3), {100});
    realize({&z, 1}, Device::default_device());
    const Buffer found = buffer_of(z);
    for (int j = 0; j < 100; ++j)
      ASSERT_EQ(found.as<float>()[static_cast<std::size_t>(j)],
                std::max(values[static_cast<std::size_t>(j)], c) * (c * 3))
          << k << ", " << j;
  }
  EXPECT_EQ(KernelCache::instance().statistics().misses, before + 2);
}

// A kernel that is what a form is, a user's, has Opts of its own.
TEST(KernelForm, IsKeptApart) {
  const LazyOp x = LazyOp::load(1, dtypes::float32, ShapeTracker::from_shape({64}));
  const LazyOp kernel = LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape({64}), x + x)});
  const Device& plain = Device::get("INTERP");
  KernelCache& cache = KernelCache::instance();
  const auto own = cache.get(kernel, plain);
  EXPECT_FALSE(cache.has(kernel, plain, {}, true));
  EXPECT_FALSE(cache.is_known_form(kernel, plain, {}));
  EXPECT_TRUE(cache.is_known_form(kernel, plain, {}));
  const auto form = cache.get_form(kernel, kernel, plain, {});
  EXPECT_TRUE(cache.has(kernel, plain, {}, true));
  EXPECT_NE(own, form);
  EXPECT_EQ(cache.get(kernel, plain), own);
}

// The parts of one memory, which weights lie in and gradients are stored to, as in an optimiser: one kernel computes
// all.
TEST(KernelForm, PartsOfMemoryAreOneKernel) {
  constexpr std::int64_t kParts = 6, kSize = 8;
  std::vector<float> values;
  for (int k = 0; k < kParts * kSize * kSize; ++k) values.push_back(static_cast<float>(k % 37) - 9);
  const LazyOp x = leaf_of(Buffer::fromCPU(values), {kParts, kSize, kSize});
  for (const Device* device : Device::all()) {
    if (!device->missing().empty() || device->name() == "NULL") continue;
    std::vector<LazyOp> parts;
    for (std::int64_t p = 0; p < kParts; ++p)
      parts.push_back(LazyOp::reduce(Ops::SUM, x.shrink({{p, p + 1}, {0, kSize}, {0, kSize}}), {1}).reshape({kSize}));
    const LazyOp all = LazyOp::concatenated(parts);
    KernelCache::instance().clear();
    const std::uint64_t before = KernelCache::instance().statistics().misses;
    realize({&all, 1}, *device);
    EXPECT_EQ(KernelCache::instance().statistics().misses, before + 1) << device->name();
    for (std::int64_t k = 0; k < kParts * kSize; ++k) {
      float sum = 0;
      for (std::int64_t j = 0; j < kSize; ++j)
        sum += values[static_cast<std::size_t>((k / kSize * kSize + j) * kSize + k % kSize)];
      ASSERT_EQ(buffer_of(all).as<float>()[static_cast<std::size_t>(k)], sum) << device->name() << ", " << k;
    }
  }
}

TEST(KernelForm, RowsOfAMatrixAreTwoKernels) {
  std::vector<float> values;
  for (int k = 0; k < 600; ++k) values.push_back(static_cast<float>(k % 37) - 9);
  const LazyOp x = leaf_of(Buffer::fromCPU(values), {60, 10});
  KernelCache::instance().clear();
  const std::uint64_t before = KernelCache::instance().statistics().misses;
  for (std::int64_t k = 0; k < 60; ++k) {
    const LazyOp y = LazyOp::reduce(Ops::SUM, x.shrink({{k, k + 1}, {0, 10}}), {0, 1});
    realize({&y, 1}, Device::default_device());
    float sum = 0;
    for (std::int64_t j = 0; j < 10; ++j) sum += values[static_cast<std::size_t>(10 * k + j)];
    ASSERT_EQ(buffer_of(y).as<float>()[0], sum) << k;
  }
  EXPECT_EQ(KernelCache::instance().statistics().misses, before + 2);
}

}  // namespace
}  // namespace strata::test
