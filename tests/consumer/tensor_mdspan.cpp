// Tensors over std::mdspan's memory and std::mdspan over tensors', with a standard library that has it: a program
// without GoogleTest. Prints what does not hold, and then returns 1.
#include "strata/tensor/interop.h"

#if !defined(__cpp_lib_mdspan)
#error "this standard library has no std::mdspan"
#endif

#include <array>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace strata;
using Sizes = std::dextents<int, 2>;

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::printf("tensor_mdspan: %s\n", what.c_str());
}

/// Each element of the tensor is the one that the mdspan has there, there and back.
template <class Layout>
void check_both_ways(const char* name, const std::mdspan<float, Sizes, Layout>& m) {
  const Tensor x = as_tensor(m);
  const StridedMdspan<const float, 2> back = to_mdspan<float, 2>(x);
  const Tensor turned = x.t();
  const StridedMdspan<const float, 2> other = to_mdspan<float, 2>(turned);
  for (int i = 0; i < m.extent(0); ++i)
    for (int j = 0; j < m.extent(1); ++j) {
      const std::array<int, 2> at{i, j}, across{j, i};
      expect(&back[at] == &m[at], std::string(name) + ": there and back");
      expect(&other[across] == &m[at], std::string(name) + ": transposed");
    }
  const std::vector<float> values = (x + 1).to_vector<float>();
  expect(values.at(1) == m[std::array<int, 2>{0, 1}] + 1, std::string(name) + ": a kernel");
}

void check_const_and_refused() {
  const std::array<float, 6> storage{0, 1, 2, 3, 4, 5};
  const std::mdspan<const float, std::extents<std::size_t, 2, 3>> m(storage.data());
  const Tensor x = as_tensor(m);
  expect(x.buffer().is_read_only(), "const elements are not read-only");
  const Tensor wide = x.select(0, 0).expand({2, 3});
  try {
    to_mdspan<float, 2>(wide);
    expect(false, "repeated: not refused");
  } catch (const Error& error) {
    expect(error.kind() == ErrorKind::undefined, error.what());
  }
  const Tensor sum = x.sum(1);
  expect(to_mdspan<float, 1>(sum)[std::array<std::size_t, 1>{1}] == 12, "what is computed");
}

void check_all() {
  std::vector<float> storage(40);
  std::iota(storage.begin(), storage.end(), 0.F);
  check_both_ways("layout_right", std::mdspan<float, Sizes>(storage.data(), 3, 4));
  check_both_ways("layout_left", std::mdspan<float, Sizes, std::layout_left>(storage.data(), 3, 4));
  const std::layout_stride::mapping<Sizes> part(Sizes(3, 4), std::array<int, 2>{10, 2});
  check_both_ways("layout_stride", std::mdspan<float, Sizes, std::layout_stride>(storage.data() + 1, part));
  check_const_and_refused();
}

}  // namespace

int main() {
  try {
    check_all();
  } catch (const std::exception& error) {
    expect(false, error.what());
  }
  if (failures == 0) std::printf("tensor_mdspan: in and out\n");
  return failures == 0 ? 0 : 1;
}
