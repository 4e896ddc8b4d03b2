// Fingerprints of stacks of Views, and tables of addresses.

#include <algorithm>

#include "strata/view/equal.h"
#include "strata/view/merge.h"

namespace strata {
namespace {

constexpr std::uint64_t kFingerprintBudget = std::uint64_t{1} << 22;  // in the unit of Pieces
constexpr std::uint64_t kAxisCost = 32;  // of the sum over a piece, for each axis, in the same unit

// --- numbers modulo the prime 2^61 - 1 ---

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
using Unsigned128 = unsigned __int128;

std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a + b >= kPrime ? a + b - kPrime : a + b; }
std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return plus(a, kPrime - b); }
std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<Unsigned128>(a) * b % kPrime);
}
std::uint64_t power(std::uint64_t x, std::uint64_t n) {
  std::uint64_t out = 1;
  for (; n != 0; n /= 2) {
    if (n % 2 != 0) out = times(out, x);
    x = times(x, x);
  }
  return out;
}
std::uint64_t inverse(std::uint64_t x) { return power(x, kPrime - 2); }
std::uint64_t residue(std::int64_t v) {
  return static_cast<std::uint64_t>(floor_mod(v, static_cast<std::int64_t>(kPrime)));
}

// The splitmix64 generator.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// A number in [2, 2^61 - 1).
  std::uint64_t operator()() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % (kPrime - 2) + 2;
  }

 private:
  std::uint64_t state_;
};

// The variable x of one coordinate. It is not 1.
struct AxisVariable {
  std::uint64_t x, over;  ///< over = 1 / (x - 1)
};

// The sum over a piece. With g = sum of x^i and h = sum of i * x^i along each axis, 0 <= i < extent, it is
//   prod x_j^lo_j * ((u * base + 1) * prod g_j + u * sum over j of slope_j * h_j * prod of the other g).
std::uint64_t sum_over(const Piece& p, const std::vector<AxisVariable>& axes, std::uint64_t u) {
  std::uint64_t shift = 1, all = 1;
  std::uint64_t sloped = 0;  // sum of slope_j * h_j * prod of the other g, over the axes so far
  for (std::size_t j = 0; j < axes.size(); ++j) {
    const auto [x, over] = axes[j];
    const std::uint64_t n = static_cast<std::uint64_t>(p.extent[j]);
    if (p.lo[j] != 0) shift = times(shift, power(x, static_cast<std::uint64_t>(p.lo[j])));
    if (n == 1) continue;  // g = 1, h = 0
    const std::uint64_t last = power(x, n);
    const std::uint64_t g = times(minus(last, 1), over);
    const std::uint64_t h = times(minus(times(n % kPrime, last), times(x, g)), over);
    sloped = plus(times(sloped, g), times(times(residue(p.slope[j]), h), all));
    all = times(all, g);
  }
  const std::uint64_t flat = times(plus(times(u, residue(p.base)), 1), all);
  return times(shift, plus(flat, times(u, sloped)));
}

std::vector<Strided> numbers_of(const ShapeTracker& st, std::string_view operation) {
  STRATA_CHECK(st.is_concrete(), undefined, "[", operation, "] ", st.render(), " has sizes that are not numbers");
  return to_strided(st.views());
}

// --- tables ---

/// Moves `i` to the next index of [0, extent) in row-major order, over the first `rank` coordinates; false after the
/// last.
bool advance(Index& i, const Index& extent, std::size_t rank) {
  for (std::size_t j = rank; j-- > 0;) {
    if (++i[j] < extent[j]) return true;
    i[j] = 0;
  }
  return false;
}

// Writes the values of a piece into the row-major table of `shape`, one run of the last dimension after another.
void write(const Piece& p, const Index& shape, std::vector<std::int64_t>& table) {
  const Strided rows = contiguous_box(shape);
  const std::size_t outer = shape.empty() ? 0 : shape.size() - 1;
  const std::int64_t run = shape.empty() ? 1 : p.extent[outer];
  const auto step = static_cast<std::uint64_t>(shape.empty() ? 0 : p.slope[outer]);
  Index i(shape.size(), 0);
  do {
    // Final values fit in 64 bits; intermediate ones may wrap, so the arithmetic is unsigned.
    auto value = static_cast<std::uint64_t>(p.base);
    std::int64_t at = 0;
    for (std::size_t j = 0; j < shape.size(); ++j) {
      value += static_cast<std::uint64_t>(p.slope[j]) * static_cast<std::uint64_t>(i[j]);
      at += rows.stride[j] * (p.lo[j] + i[j]);
    }
    for (std::int64_t k = 0; k < run; ++k, value += step)
      table[static_cast<std::size_t>(at + k)] = static_cast<std::int64_t>(value);
  } while (advance(i, p.extent, outer));
}

// Evaluates every index by itself.
void write_all(const Piecewise& f, const Index& shape, std::int64_t invalid, std::vector<std::int64_t>& table) {
  Index i(shape.size(), 0);
  for (std::int64_t& out : table) {
    bool valid = true;
    for (std::size_t j = 0; j < i.size(); ++j) valid = valid && i[j] >= f.lo()[j] && i[j] - f.lo()[j] < f.extent()[j];
    out = valid ? value_at(f, i).value_or(invalid) : invalid;
    advance(i, shape, shape.size());
  }
}

}  // namespace

std::uint64_t fingerprint(const ShapeTracker& st, std::uint64_t seed) {
  const std::vector<Strided> stack = numbers_of(st, "fingerprint");
  Random random(seed);
  const std::uint64_t u = random();
  std::vector<AxisVariable> axes;
  for (std::size_t j = 0; j < st.rank(); ++j) {
    const std::uint64_t x = random();
    axes.push_back({x, inverse(x - 1)});
  }
  const Piecewise f = piecewise(stack);
  Pieces pieces(f, kFingerprintBudget);
  std::uint64_t out = 0, left = kFingerprintBudget;
  const std::uint64_t cost = kAxisCost * std::max<std::size_t>(axes.size(), 1);
  Piece p;
  for (; left >= cost && pieces.next(p); left -= cost) out = plus(out, sum_over(p, axes, u));
  STRATA_CHECK(left >= cost && pieces.complete(), budget, "[fingerprint] ", st.render(), " has too many pieces");
  return out;
}

std::vector<std::int64_t> addresses(const ShapeTracker& st, std::int64_t most, std::int64_t invalid) {
  const std::vector<Strided> stack = numbers_of(st, "addresses");
  const Index shape = stack.back().shape;
  const std::int64_t size = product(shape);
  STRATA_CHECK(size <= most, budget, "[addresses] shape ", render(shape), " has ", size, " indices, more than ", most);
  std::vector<std::int64_t> out(static_cast<std::size_t>(size), invalid);
  const Piecewise f = piecewise(stack);
  // Few pieces are faster than one index after another; the budget is about the cost of the second way.
  Pieces pieces(f, static_cast<std::uint64_t>(size) + kMergeBudget);
  Piece p;
  while (pieces.next(p)) write(p, shape, out);
  if (!pieces.complete()) write_all(f, shape, invalid, out);
  return out;
}

}  // namespace strata
