#include "strata/ir/sum_order.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace strata {

namespace {

constexpr std::int64_t kSide = 4;    // the lanes are two digits of kSide
constexpr std::int64_t kRuns = 8;    // runs that are added up in a lane before the lanes are added up
constexpr std::int64_t kChain = 64;  // the longest chain, in addition to the logarithm of the number of elements
constexpr std::int64_t kRadices[] = {8, 2};

static_assert(kSide * kSide == kSumLanes);

/// The main axis and the trailing axes (sum_order.h).
struct Parts {
  std::vector<std::size_t> axes;  ///< the axes longer than 1
  std::size_t main = 0;           ///< the position of the main axis in `axes`
  std::int64_t run = 1;           ///< the product of the sizes of the trailing axes
};

Parts parts_of(std::span<const Int> sizes) {
  Parts out;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    if (!(sizes[k] == Int(1))) out.axes.push_back(k);
  if (out.axes.empty()) return out;
  for (out.main = out.axes.size() - 1; out.main > 0; --out.main) {
    const Int& size = sizes[out.axes[out.main]];
    if (!size.is_number() || size.value() > kSumRun / out.run) break;
    out.run *= std::max<std::int64_t>(size.value(), 1);
  }
  return out;
}

/// Builds the digits, with digits of `radix` above the lanes.
class Order {
 public:
  Order(std::span<const Int> sizes, std::int64_t radix) : sizes_(sizes), radix_(radix) {}

  std::vector<SumDigit> run() {
    const Parts parts = parts_of(sizes_);
    if (parts.axes.empty()) return {};
    for (std::size_t k = 0; k < parts.main; ++k) digits_above(parts.axes[k], 1);
    const std::size_t main = parts.axes[parts.main];
    const std::int64_t steps = kSumRun / parts.run;
    digits_above(main, kSumLanes * steps * kRuns);
    digit(main, 1, kSide);
    digit(main, kSide, kSide);
    digit(main, kSumLanes * steps, kRuns);
    const bool has_steps = digit(main, kSumLanes, steps);
    for (std::size_t k = parts.main + 1; k < parts.axes.size(); ++k)
      digit(parts.axes[k], 1, kSumRun, has_steps || k > parts.main + 1);
    return std::move(out_);
  }

 private:
  std::int64_t size(std::size_t axis) const { return sizes_[axis].vmax(); }

  bool digit(std::size_t axis, std::int64_t stride, std::int64_t count, bool continues = false) {
    const std::int64_t most = size(axis) <= stride ? 1 : (size(axis) - 1) / stride + 1;
    if (most == 1) return false;
    out_.push_back({axis, stride, std::min(count, most), continues});
    return true;
  }
  /// Appends the digits of index // stride, the highest first.
  void digits_above(std::size_t axis, std::int64_t stride) {
    std::vector<std::int64_t> strides;
    for (; stride < size(axis); stride *= radix_) {
      strides.push_back(stride);
      if (stride > std::numeric_limits<std::int64_t>::max() / radix_) break;
    }
    for (; !strides.empty(); strides.pop_back()) digit(axis, strides.back(), radix_);
  }

  std::span<const Int> sizes_;
  std::int64_t radix_;
  std::vector<SumDigit> out_;
};

}  // namespace

std::vector<SumDigit> sum_order(std::span<const Int> sizes) {
  std::int64_t logarithm = 0;
  for (const Int& size : sizes)
    logarithm +=
        static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(size.vmax(), 1)))) -
        1;
  std::vector<SumDigit> out;
  for (const std::int64_t radix : kRadices) {
    out = Order(sizes, radix).run();
    if (longest_chain(out) <= kChain + logarithm) break;
  }
  return out;
}

namespace {

/// `digits` as they would be if `axis` had only `size` elements.
std::vector<SumDigit> clipped(std::span<const SumDigit> digits, std::size_t axis, std::int64_t size) {
  std::vector<SumDigit> out;
  bool is_first_gone = false;  // whether the digit that started the current accumulator was dropped
  for (SumDigit d : digits) {
    d.continues = d.continues && !is_first_gone;
    const std::int64_t most = d.axis == axis ? (size - 1) / d.stride + 1 : d.count;
    is_first_gone = most == 1 && !d.continues;
    if (most == 1) continue;
    d.count = std::min(d.count, most);
    out.push_back(d);
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> part_lengths(std::span<const Int> sizes, std::size_t axis) {
  std::vector<std::int64_t> out;
  if (!sizes[axis].is_number()) return out;
  const std::int64_t size = sizes[axis].value();
  const std::vector<SumDigit> digits = sum_order(sizes);
  std::vector<Int> part(sizes.begin(), sizes.end());
  const auto is_alone_as_in = [&](std::span<const SumDigit> inner, std::int64_t length) {
    part[axis] = length;
    return sum_order(part) == clipped(inner, axis, length);
  };
  std::int64_t around = size;  // the length of the parts that the next digit divides
  for (std::size_t k = 0; k < digits.size() && digits[k].axis == axis; ++k) {
    const std::span<const SumDigit> inner = std::span(digits).subspan(k + 1);
    const std::int64_t length = digits[k].stride, left = size % length;
    if (length * digits[k].count < around || (!inner.empty() && inner[0].continues)) break;
    if (!is_alone_as_in(inner, length) || (left > 0 && !is_alone_as_in(inner, left))) break;
    out.push_back(around = length);
  }
  return out;
}

int lane_axis_of(std::span<const Int> sizes) {
  const Parts parts = parts_of(sizes);
  if (parts.axes.empty() || parts.main + 1 != parts.axes.size()) return -1;
  return static_cast<int>(parts.axes[parts.main]);
}

std::int64_t longest_chain(std::span<const SumDigit> digits) {
  std::int64_t out = 0, trip_count = 1;
  for (const SumDigit& d : digits) {
    if (!d.continues) {
      out += trip_count - 1;
      trip_count = 1;
    }
    trip_count *= d.count;
  }
  return out + trip_count - 1;
}

bool is_ordered(Ops op, DType dtype) { return (op == Ops::SUM || op == Ops::PROD) && dtype.is_float(); }

DType accumulator_of(Ops op, DType dtype) {
  if (!is_ordered(op, dtype) || dtype.scalar().itemsize() != 2) return dtype;
  return dtypes::float32.vec(dtype.lanes());
}

}  // namespace strata
