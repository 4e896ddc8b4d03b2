// A user's memory as tensors and back: strides as views, who frees what and when, what must not be written.

#include "strata/tensor/interop.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "strata/tensor/autograd.h"
#include "strata/tensor/jit.h"
#include "tests/tensor/arrays.h"

#if __has_include(<eigen3/Eigen/Core>)
#include <eigen3/Eigen/Core>
#define STRATA_TEST_EIGEN 1
#endif

namespace strata::test {
namespace {

using Floats = std::vector<float>;

Floats up_to(std::int64_t count) {
  Floats out;
  for (std::int64_t k = 0; k < count; ++k) out.push_back(static_cast<float>(k));
  return out;
}

/// All indices of a shape, in row-major order.
std::vector<Index> places_of(const Index& shape) {
  std::vector<Index> out = {Index(shape.size(), 0)};
  if (product(shape) == 0) return {};
  for (;;) {
    Index next = out.back();
    std::size_t k = shape.size();
    while (k > 0 && ++next[k - 1] == shape[k - 1]) next[--k] = 0;
    if (k == 0) return out;
    out.push_back(next);
  }
}

std::int64_t place_in_memory(const Index& strides, const Index& at) {
  std::int64_t out = 0;
  for (std::size_t k = 0; k < at.size(); ++k) out += strides[k] * at[k];
  return out;
}

// --- pointers and strides ---

struct BlobCase {
  const char* name;
  Index shape, strides;
};

/// The memory is not copied, and one View says the strides.
void check_in_place(const BlobCase& c) {
  SCOPED_TRACE(detail::message(c.name, ": ", render(c.shape), " by ", render(c.strides)));
  const Floats storage = up_to(4000);
  const float* const first = storage.data() + 2000;
  const Tensor x = Tensor::from_blob(first, to_ints(c.shape), {.strides = c.strides});
  ASSERT_EQ(x.shape(), to_ints(c.shape));
  const StridedBuffer b = strided_buffer(x);
  const MemoryRef<const float> elements = to_memory_ref<float>(x);
  for (const Index& at : places_of(c.shape))
    ASSERT_EQ(elements.ptr(at), first + place_in_memory(c.strides, at)) << render(at);
  EXPECT_TRUE(b.buffer.is_read_only());
  for (std::size_t k = 0; k < c.shape.size(); ++k) {
    if (c.shape[k] > 1) {
      EXPECT_EQ(b.strides[k], c.strides[k]);
    }
  }
}

TEST(Interop, BytesThatAreNoBoolsAreTrue) {
  unsigned char bytes[] = {0, 1, 2, 255, 0, 128, 0, 4};
  const Tensor x = Tensor::from_blob(bytes, {8}, dtypes::boolean);
  EXPECT_EQ(x.sum().item<std::int64_t>(), 5);
  EXPECT_EQ(x.eq(x.logical_not().logical_not()).sum().item<std::int64_t>(), 8);
  EXPECT_EQ(x.nonzero().flatten().to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 3, 5, 7}));
  EXPECT_EQ(x.to_vector<bool>(), (std::vector<bool>{false, true, true, true, false, true, false, true}));
  EXPECT_TRUE(x[2].item<bool>());
}

TEST(Interop, StridesAreViewsOfTheMemory) {
  const std::vector<BlobCase> cases = {
      {"scalar", {}, {}},
      {"one", {1, 1}, {5, 0}},
      {"row-major", {2, 3, 4}, {12, 4, 1}},
      {"column-major", {2, 3, 4}, {1, 2, 6}},
      {"permuted", {4, 2, 3}, {1, 12, 4}},
      {"every third", {5}, {3}},
      {"part of rows", {3, 4}, {10, 1}},
      {"part of rows, transposed", {4, 3}, {1, 10}},
      {"every second of a part", {3, 4}, {16, 2}},
      {"three levels apart", {2, 3, 4}, {100, 20, 3}},
      {"no stride divides another", {3, 4, 2}, {101, 17, 3}},
      {"with ones", {1, 3, 1, 4}, {-7, 10, 0, 1}},
      {"repeated", {3, 4}, {0, 1}},
      {"all the same", {3, 4}, {0, 0}},
      {"backwards", {4}, {-1}},
      {"rows backwards", {3, 4}, {-4, 1}},
      {"both backwards, apart", {3, 4}, {-20, -3}},
      {"windows", {5, 3}, {1, 1}},
      {"windows, every second", {4, 5}, {2, 1}},
      {"windows of windows", {3, 2, 4}, {4, 3, 1}},
  };
  for (const BlobCase& c : cases) check_in_place(c);
}

TEST(Interop, RandomStridesAreViewsOfTheMemory) {
  std::minstd_rand random(7);
  for (int turn = 0; turn < 150; ++turn) {
    BlobCase c{"random", {}, {}};
    const std::size_t rank = random() % 4 + 1;
    std::int64_t stride = static_cast<std::int64_t>(random() % 3) + 1;
    for (std::size_t k = 0; k < rank; ++k) {
      c.shape.push_back(static_cast<std::int64_t>(random() % 4 + 1));
      c.strides.push_back(random() % 3 == 0 ? -stride : stride);
      stride = stride * c.shape[k] + (random() % 2 == 0 ? 0 : static_cast<std::int64_t>(random() % 5));
    }
    for (std::size_t k = rank; k-- > 1;) {
      const std::size_t other = random() % (k + 1);
      std::swap(c.shape[k], c.shape[other]);
      std::swap(c.strides[k], c.strides[other]);
    }
    check_in_place(c);
  }
}

TEST(Interop, KernelsReadStridedMemory) {
  const Floats storage = up_to(200);
  const Tensor x = Tensor::from_blob(storage.data() + 60, {3, 2, 4}, {.strides = Index{-20, 5, 1}}) + 1;
  Floats expected;
  for (const Index& at : places_of({3, 2, 4}))
    expected.push_back(storage[static_cast<std::size_t>(60 + place_in_memory({-20, 5, 1}, at))] + 1);
  EXPECT_EQ(floats(x), expected);
  EXPECT_EQ(floats(x.to("INTERP")), expected);
  const Tensor windows = Tensor::from_blob(storage.data(), {5, 3}, {.strides = Index{2, 1}});
  EXPECT_EQ(floats(windows.sum(1)), (Floats{3, 9, 15, 21, 27}));
}

TEST(Interop, RealizingStridedMemoryMakesItRowMajor) {
  const Floats storage = up_to(6);
  const Tensor x = Tensor::from_blob(storage.data(), {3, 2}, {.strides = Index{1, 3}});
  EXPECT_EQ(floats(x), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_NE(x.buffer().data(), storage.data());
  EXPECT_FALSE(x.buffer().is_read_only());
  const Tensor plain = Tensor::from_blob(storage.data(), {2, 3});
  EXPECT_TRUE(plain.is_realized());
  EXPECT_EQ(plain.buffer().data(), storage.data());
}

TEST(Interop, GradientsOfStridedMemory) {
  Floats storage = up_to(12);
  Tensor x = Tensor::from_blob(storage.data(), {3, 2}, {.strides = Index{1, 6}});
  x.requires_grad(true);
  (x * x).sum().backward();
  EXPECT_EQ(floats(*x.grad()), (Floats{0, 12, 2, 14, 4, 16}));
}

// --- who frees what, and when ---

/// Memory that tells how often it was freed.
struct Counted {
  std::shared_ptr<int> frees = std::make_shared<int>(0);
  float* memory = new float[8]{0, 1, 2, 3, 4, 5, 6, 7};
  BlobOptions options(std::optional<Index> strides = {}) const {
    return {.strides = std::move(strides), .deleter = [n = frees, p = memory](void* at) {
              EXPECT_EQ(at, p);
              ++*n;
              delete[] p;
            }};
  }
};

TEST(Interop, TheLastUserFreesOnce) {
  const Counted counted;
  std::optional<Tensor> sum;
  {
    const Tensor x = Tensor::from_blob(counted.memory, {4, 2}, counted.options(Index{1, 4}));
    const Tensor copy = x;
    sum = x.sum(0);
  }
  EXPECT_EQ(*counted.frees, 0);  // what is not computed yet needs it
  EXPECT_EQ(floats(*sum), (Floats{6, 22}));
  EXPECT_EQ(*counted.frees, 1);
}

TEST(Interop, BuffersAndRefsKeepWhatTheySay) {
  const Counted counted;
  std::optional<StridedBuffer> held;
  {
    const Tensor x = Tensor::from_blob(counted.memory, {2, 3}, counted.options());
    held = strided_buffer(x.t());
    EXPECT_EQ(held->buffer.data(), counted.memory);
    EXPECT_EQ(held->strides, (Index{1, 3}));
  }
  EXPECT_EQ(*counted.frees, 0);
  held.reset();
  EXPECT_EQ(*counted.frees, 1);
}

TEST(Interop, BackwardsMemoryIsFreedByItsFirstElement) {
  // The deleter gets the pointer that was given, not the lowest address.
  Floats storage = up_to(4);
  void* told = nullptr;
  {
    const Tensor x = Tensor::from_blob(&storage[3], {4}, {.strides = Index{-1}, .deleter = [&](void* p) { told = p; }});
    EXPECT_EQ(floats(x + 0), (Floats{3, 2, 1, 0}));
  }
  EXPECT_EQ(told, &storage[3]);
}

TEST(Interop, WhatIsNotAlignedIsCopied) {
  std::array<char, 41> bytes{};
  const Floats values = up_to(10);
  std::memcpy(&bytes[1], values.data(), 40);
  int frees = 0;
  const Tensor x =
      Tensor::from_blob(&bytes[1], {5}, dtypes::float32,
                        {.strides = Index{2}, .deleter = [&](void* p) { frees += p == &bytes[1] ? 1 : 100; }});
  EXPECT_EQ(frees, 1);
  bytes.fill(0);
  EXPECT_EQ(floats(x), (Floats{0, 2, 4, 6, 8}));
}

TEST(Interop, NoElementsNeedNoMemory) {
  int frees = 0;
  const auto count = [&](void*) { ++frees; };
  const Tensor x = Tensor::from_blob(nullptr, {3, 0, std::int64_t{1} << 62}, dtypes::int32, {.deleter = count});
  EXPECT_EQ(frees, 1);
  EXPECT_EQ(x.to_vector<int>(), std::vector<int>());
  EXPECT_EQ(strided_buffer(x).shape[1], 0);
  EXPECT_EQ(x.span<int>().size(), 0U);
}

TEST(Interop, WhatIsRefusedStaysTheCallers) {
  int frees = 0;
  const auto refused = [&](ErrorKind kind, const char* text, const Ints& shape, std::optional<Index> strides, float* at,
                           DType dtype = dtypes::float32) {
    const std::string what = error_of(kind, [&] {
      Tensor::from_blob(static_cast<void*>(at), shape, dtype, {.strides = strides, .deleter = [&](void*) { ++frees; }});
    });
    EXPECT_TRUE(has(what, text)) << what;
  };
  Floats storage = up_to(4);
  float* const p = storage.data();
  const std::int64_t huge = std::int64_t{1} << 62;
  refused(ErrorKind::domain, "null address", {4}, {}, nullptr);
  refused(ErrorKind::domain, "is not the dtype of an element", {4}, {}, p, dtypes::none);
  refused(ErrorKind::shape, "has the size -1", {2, -1}, {}, p);
  refused(ErrorKind::shape, "1 strides for shape (2, 2)", {2, 2}, Index{1}, p);
  refused(ErrorKind::shape, "has the size", {Int(Expr(Variable("n", 1, 4)))}, {}, p);
  refused(ErrorKind::overflow, "64 bits", {huge, 4}, {}, p);
  refused(ErrorKind::overflow, "2^63 - 1 elements", {3}, Index{huge}, p);
  refused(ErrorKind::overflow, "2^63 - 1 elements", {3, 3}, Index{-huge, huge}, p);
  refused(ErrorKind::overflow, "2^63 - 1 elements", {3}, Index{kNegInf}, p);
  refused(ErrorKind::overflow, "address space", {huge}, {}, p);
  refused(ErrorKind::overflow, "address space", {2}, Index{-huge / 2}, p);
  EXPECT_EQ(frees, 0);
}

// --- what must not be written ---

TEST(Interop, ReadOnlyMemoryIsNotWritten) {
  const Floats storage = up_to(4);
  const Tensor x = Tensor::from_blob(storage.data(), {4});
  EXPECT_TRUE(x.buffer().is_read_only());
  EXPECT_TRUE(has(error_of(ErrorKind::domain, [&] { x.buffer().copy_from(x.buffer()); }), "read-only"));
  Floats mine = storage;
  EXPECT_FALSE(Tensor::from_blob(mine.data(), {4}).buffer().is_read_only());
  EXPECT_TRUE(Tensor::from_blob(mine.data(), {4}, {.read_only = true}).buffer().is_read_only());
}

TEST(Interop, ACaptureDoesNotReuseMemoryThatItDoesNotOwn) {
  Floats first = {1, 1}, second = {5, 5};
  const Tensor state = Tensor::from_blob(first.data(), {2});
  auto step = jit([&](const Tensor& a) {
    state.assign(state + a);
    return state * 1;
  });
  const Tensor one = Tensor::from({1.F, 1.F});
  for (int k = 0; k < 4; ++k) step(one);
  state.assign(Tensor::from_blob(second.data(), {2}, {.read_only = true}));
  for (float k = 1; k < 6; ++k) EXPECT_EQ(floats(step(one)), (Floats{5 + k, 5 + k}));
  EXPECT_EQ(first, (Floats{1, 1}));
  EXPECT_EQ(second, (Floats{5, 5}));
}

// --- vectors and spans ---

template <class T>
concept SpanOfTemporary = requires(T x) { std::move(x).template span<float>(); };
template <class T>
concept SpanOfName = requires(T& x) { x.template span<float>(); };
static_assert(SpanOfName<Tensor> && SpanOfName<const Tensor> && !SpanOfTemporary<Tensor>);

TEST(Interop, AVectorIsMovedIn) {
  Floats v = up_to(6);
  const float* const memory = v.data();
  std::optional<Tensor> x = Tensor::from(std::move(v), {2, 3});
  EXPECT_EQ(x->span<float>().data(), memory);
  EXPECT_EQ(floats(*x), up_to(6));
  EXPECT_EQ(floats(Tensor::from(Floats{}, {0, 2})), Floats());
  EXPECT_EQ(Tensor::from(std::vector<bool>{true, false}, {2}).to_vector<bool>(), (std::vector<bool>{true, false}));
  Floats kept = up_to(3);
  x = Tensor::from(kept, {3});  // an lvalue is copied
  kept[0] = 9;
  EXPECT_EQ(floats(*x), up_to(3));
  EXPECT_TRUE(has(error_of(ErrorKind::shape, [] { Tensor::from(up_to(6), {4}); }), "do not fill"));
}

TEST(Interop, SpansGoInAndOut) {
  Floats storage = up_to(6);
  const Tensor x = as_tensor(std::span(storage), {2, 3});
  EXPECT_EQ(x.span<float>().data(), storage.data());
  EXPECT_EQ(x.span<float>().size(), 6U);
  EXPECT_EQ(as_tensor(std::span(storage)).shape(), Ints{6});
  EXPECT_TRUE(as_tensor(std::span<const float>(storage)).buffer().is_read_only());
  const Tensor y = x * 2;
  const std::span<const float> s = y.span<float>();
  EXPECT_EQ(Floats(s.begin(), s.end()), (Floats{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(y.span<float>().data(), s.data());
  error_of(ErrorKind::domain, [&] { (void)x.span<double>(); });
  EXPECT_TRUE(has(error_of(ErrorKind::shape, [&] { as_tensor(std::span(storage), {5}); }),
                  "6 elements do not fill shape (5,)"));
}

TEST(Interop, MemoryRefsGoInAndOut) {
  Floats storage = up_to(20);
  const MemoryRef<float> ref(storage, {3, 2}, {-5, 2}, 12);
  const Tensor x = as_tensor(ref);
  EXPECT_EQ(floats(x + 0), (Floats{12, 14, 7, 9, 2, 4}));
  const Tensor t = as_tensor(ref).t();
  const MemoryRef<const float> back = to_memory_ref<float>(t);
  EXPECT_EQ(back.ptr({1, 2}), ref.ptr({2, 1}));
  const Tensor padded = as_tensor(ref).pad({{1, 0}, {0, 0}});  // no strides say this: it is realized
  EXPECT_EQ((to_memory_ref<float>(padded)[{3, 1}]), 4);
  error_of(ErrorKind::domain, [&] { to_memory_ref<double>(x); });
}

// --- matrices ---

/// What Eigen's matrices answer, in columns of three.
struct Columns {
  using Scalar = double;
  static constexpr bool IsRowMajor = false;
  std::shared_ptr<std::vector<double>> values = std::make_shared<std::vector<double>>(6, 1.5);
  double* data() const { return values->data(); }
  static int rows() { return 2; }
  static int cols() { return 2; }
  static int innerStride() { return 1; }
  static int outerStride() { return 3; }
};

TEST(Interop, MatricesAreBorrowedOrKept) {
  Columns m;
  (*m.values)[3] = 4;
  const Tensor x = as_tensor(m);
  EXPECT_EQ(to_memory_ref<double>(x).strides(), (Index{1, 3}));
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1.5, 4, 1.5, 1.5}));
  const std::weak_ptr<std::vector<double>> watched = m.values;
  std::optional<Tensor> kept = as_tensor(std::move(m));
  m.values.reset();
  EXPECT_FALSE(watched.expired());
  kept.reset();
  EXPECT_TRUE(watched.expired());
}

#ifdef STRATA_TEST_EIGEN

using ByRows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using AnyStride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;

Eigen::MatrixXf numbered_matrix() {
  Eigen::MatrixXf m(3, 4);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 4; ++c) m(r, c) = static_cast<float>(10 * r + c);
  return m;
}

TEST(Interop, EigenMatricesAreBorrowed) {
  Eigen::MatrixXf m = numbered_matrix();
  const Tensor x = as_tensor(m);
  EXPECT_EQ(strided_buffer(x).buffer.data(), m.data());
  EXPECT_EQ(strided_buffer(x).strides, (Index{1, 3}));
  EXPECT_EQ(floats(x.select(0, 2) + 0), (Floats{20, 21, 22, 23}));
  auto block = m.block(1, 1, 2, 2);
  EXPECT_EQ(floats(as_tensor(block)), (Floats{11, 12, 21, 22}));
  auto transposed = m.transpose();
  EXPECT_EQ(as_tensor(transposed).shape(), (Ints{4, 3}));
  auto column = m.col(1);
  EXPECT_EQ(floats(as_tensor(column)), (Floats{1, 11, 21}));
  const Eigen::MatrixXf& fixed = m;
  EXPECT_TRUE(strided_buffer(as_tensor(fixed)).buffer.is_read_only());
  EXPECT_FALSE(strided_buffer(x).buffer.is_read_only());
}

TEST(Interop, EigenMatricesThatAreMovedAreKept) {
  Eigen::MatrixXf m = numbered_matrix();
  const float* const memory = m.data();
  const Tensor x = as_tensor(std::move(m));
  EXPECT_EQ(strided_buffer(x).buffer.data(), memory);
  EXPECT_EQ(floats(x.select(1, 3) + 0), (Floats{3, 13, 23}));
  const Eigen::Vector4f v(1, 2, 3, 4);
  EXPECT_EQ(floats(as_tensor(Eigen::Vector4f(v))), (Floats{1, 2, 3, 4}));
}

TEST(Interop, TensorsAreEigenMaps) {
  const Tensor x = Tensor::from(up_to(6), {2, 3});
  const auto rows = to_map<Eigen::Map<const ByRows>>(x);
  EXPECT_EQ(rows.data(), x.span<float>().data());
  EXPECT_EQ(rows(1, 0), 3);
  const Tensor t = x.t();
  const auto columns = to_map<Eigen::Map<const Eigen::MatrixXf>>(t);
  EXPECT_EQ(columns.data(), rows.data());
  EXPECT_EQ(columns(2, 1), 5);
  const Tensor part = x.shrink({{0, 2}, {1, 3}});
  const auto outer = to_map<Eigen::Map<const ByRows, 0, Eigen::OuterStride<>>>(part);
  EXPECT_EQ(outer(1, 1), 5);
  EXPECT_EQ(outer.outerStride(), 3);
  const auto any = to_map<Eigen::Map<const Eigen::MatrixXf, 0, AnyStride>>(part);
  EXPECT_EQ(any(1, 0), 4);
  const Tensor flat = Tensor::from(up_to(4), {4}), every = flat.flip({0});
  EXPECT_EQ(to_map<Eigen::Map<const Eigen::Vector4f>>(flat)(3), 3);
  EXPECT_EQ(to_map<Eigen::Map<const Eigen::RowVectorXf>>(flat).cols(), 4);
  EXPECT_EQ((to_map<Eigen::Map<const Eigen::VectorXf, 0, Eigen::InnerStride<>>>(every)(3)), 0);
  EXPECT_FLOAT_EQ((rows * columns).trace(), 0 + 1 + 4 + 9 + 16 + 25);
  const Tensor none = Tensor::zeros({0, 3});
  EXPECT_EQ((to_map<Eigen::Map<const Eigen::MatrixXf, 0, AnyStride>>(none).cols()), 3);
}

TEST(Interop, MapsThatCannotSayATensorAreRefused) {
  const Tensor x = Tensor::from(up_to(6), {2, 3}).realize();
  const auto refused = [&](ErrorKind kind, const char* text, auto&& make) {
    const std::string what = error_of(kind, make);
    EXPECT_TRUE(has(what, text)) << what;
  };
  refused(ErrorKind::undefined, "inner stride is 3, the stride of the map is 1",
          [&] { to_map<Eigen::Map<const Eigen::MatrixXf>>(x); });
  refused(ErrorKind::undefined, "outer stride is 3, the stride of the map is 2", [&] {
    const Tensor part = x.shrink({{0, 2}, {1, 3}});
    to_map<Eigen::Map<const ByRows>>(part);
  });
  refused(ErrorKind::undefined, "stride is 0", [&] {
    const Tensor wide = x.select(0, 0).expand({2, 3});
    to_map<Eigen::Map<const ByRows, 0, AnyStride>>(wide);
  });
  refused(ErrorKind::shape, "4 rows and 1 columns", [&] { to_map<Eigen::Map<const Eigen::Vector4f>>(x); });
  refused(ErrorKind::shape, "not a matrix", [&] {
    const Tensor deep = x.unsqueeze(0);
    to_map<Eigen::Map<const ByRows>>(deep);
  });
  refused(ErrorKind::domain, "[as]", [&] { to_map<Eigen::Map<const Eigen::MatrixXd>>(x); });
  alignas(16) std::array<float, 5> storage{};
  const Tensor askew = as_tensor(std::span(storage).subspan(1), {2, 2});
  refused(ErrorKind::domain, "not aligned to 16", [&] { to_map<Eigen::Map<const ByRows, Eigen::Aligned16>>(askew); });
}

#endif

}  // namespace
}  // namespace strata::test
