// std::mdspan in and out with a standard library that has it: a program without GoogleTest, which is built against
// another standard library. Prints what does not hold, and then returns 1.
#include "strata/view/mdspan.h"

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

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::printf("mdspan: %s\n", what.c_str());
}

std::vector<int> numbered(std::size_t n) {
  std::vector<int> out(n);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

/// Each element of `m` is the one that `view` addresses, there and back.
void check_both_ways(const char* name, const View& view, std::size_t elements) {
  std::vector<int> storage = numbered(elements);
  const auto m = to_mdspan<2>(std::span<int>(storage), view);
  const MemoryRef<int> back = from_mdspan(m);
  const Index shape = *numbers(view.shape()), strides = *numbers(view.strides());
  expect(m.extent(0) == shape[0] && m.extent(1) == shape[1], std::string(name) + ": another shape");
  for (std::int64_t i = 0; i < shape[0]; ++i)
    for (std::int64_t j = 0; j < shape[1]; ++j) {
      const std::array<std::int64_t, 2> at{i, j};
      const std::int64_t address = view.offset().value() + i * strides[0] + j * strides[1];
      expect(m[at] == address, std::string(name) + ": out");
      expect(&m[at] == back.ptr({i, j}), std::string(name) + ": and back");
    }
}

void check_empty() {
  std::vector<int> storage = numbered(4);
  const auto m = to_mdspan<2>(std::span<int>(storage), View::create({3, 0}, Ints{-2, 0}, 7));
  expect(m.size() == 0 && m.extent(0) == 3 && m.extent(1) == 0, "empty: has elements");
  expect(m.stride(0) == 1 && m.stride(1) == 1, "empty: strides are not row-major");
  expect(from_mdspan(m).shape() == Index{3, 0}, "empty: another shape back");
  std::vector<int> none;
  const auto of_nothing = to_mdspan<2>(std::span<int>(none), View::create({0, 5}));
  expect(of_nothing.size() == 0 && of_nothing.stride(0) == 5, "empty: of no storage");
}

void check_in() {
  std::vector<int> storage = numbered(12);
  const std::mdspan<int, std::extents<unsigned, 3, std::dynamic_extent>> rows(storage.data(), 4);
  const std::mdspan<const int, std::dextents<short, 2>, std::layout_left> columns(storage.data(), 3, 4);
  expect(from_mdspan(rows).strides() == Index{4, 1}, "in: rows");
  expect(from_mdspan(columns).strides() == Index{1, 3}, "in: columns");
  expect(view_of(columns) == View::create({4, 3}).permute({1, 0}), "in: the view of columns");
}

void check_refused(const char* name, const View& view, const std::string& message) {
  std::vector<int> storage = numbered(24);
  try {
    to_mdspan<2>(std::span<int>(storage), view);
    expect(false, std::string(name) + ": not refused");
  } catch (const Error& error) {
    expect(error.what() == message, std::string(name) + ": " + error.what());
  }
}

void check_all() {
  check_both_ways("contiguous", View::create({3, 4}), 12);
  check_both_ways("strided", View::create({3, 4}, Ints{8, 2}, 1), 24);
  check_both_ways("transposed", View::create({3, 4}).permute({1, 0}), 12);
  check_both_ways("one row", View::create({1, 4}, Ints{0, 3}, 2), 12);
  check_empty();
  check_in();
  check_refused("masked", View::create({2, 3}).pad({{0, 0}, {1, 0}}),
                "[mdspan] dimension 1 is masked, which std::mdspan cannot say");
  check_refused("flipped", View::create({2, 3}).flip({0}),
                "[mdspan] dimension 0 has stride -3; std::layout_stride has positive strides");
  check_refused("expanded", View::create({1, 3}).expand({2, 3}),
                "[mdspan] dimension 0 has stride 0; std::layout_stride has positive strides");
}

}  // namespace

int main() {
  try {
    check_all();
  } catch (const std::exception& error) {
    expect(false, error.what());
  }
  if (failures == 0) std::printf("mdspan: in and out\n");
  return failures == 0 ? 0 : 1;
}
