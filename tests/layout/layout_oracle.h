// Layouts by their definition, for the tests: values digit by digit, random layouts, and which
// functions are layouts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "strata/layout/layout_algebra.h"

namespace strata::layout_oracle {

using Table = std::vector<std::int64_t>;

/// L(n), also beyond its size and below 0.
inline std::int64_t value(const StaticLayout& l, std::int64_t n) {
  std::int64_t out = 0;
  for (std::size_t t = 0; t < l.leaves().size(); ++t) {
    const auto& [size, stride] = l.leaves()[t];
    if (t + 1 == l.leaves().size()) return out + n * stride;
    const std::int64_t digit = ((n % size) + size) % size;
    out += digit * stride;
    n = (n - digit) / size;
  }
  return out;
}

inline Table values(const StaticLayout& l) {
  Table out;
  for (std::int64_t i = 0; i < l.size(); ++i) out.push_back(value(l, i));
  return out;
}

/// A(B(i)) for all i.
inline Table composed(const StaticLayout& a, const StaticLayout& b) {
  Table out;
  for (const std::int64_t v : values(b)) out.push_back(value(a, v));
  return out;
}

/// Is the function, with f[0] == 0, a layout of its flat index?  From its unique expansion sum of
/// c_q * (i / q).
inline bool is_layout(const Table& f) {
  const std::int64_t n = static_cast<std::int64_t>(f.size());
  Table so_far(f.size(), 0);
  std::int64_t last = 1;
  for (std::int64_t q = 1; q < n; ++q) {
    const std::int64_t c = f[static_cast<std::size_t>(q)] - so_far[static_cast<std::size_t>(q)];
    if (c == 0) continue;
    if (q % last != 0) return false;
    last = q;
    for (std::int64_t i = q; i < n; ++i) so_far[static_cast<std::size_t>(i)] += c * (i / q);
  }
  return n % last == 0;
}

/// Is there a refinement of the sizes that makes f affine in all leaves: is each axis a layout, and
/// do they add up?
inline bool is_refined_layout(const Table& f, const std::vector<std::int64_t>& sizes) {
  Table sum(f.size(), 0);
  std::size_t place = 1;
  for (const std::int64_t n : sizes) {
    const auto size = static_cast<std::size_t>(n);
    Table axis;
    for (std::size_t i = 0; i < size; ++i) axis.push_back(f[i * place]);
    if (!is_layout(axis)) return false;
    for (std::size_t i = 0; i < f.size(); ++i) sum[i] += axis[i / place % size];
    place *= size;
  }
  return sum == f;
}

/// Is each leaf of b a leaf, or a tuple with as many elements, of r, in the same place of the tree?
inline bool refines(const StaticLayout& r, const StaticLayout& b) {
  std::size_t at = 0, leaf = 0, number = 0;
  for (const std::int32_t n : b.profile()) {
    if (n != kLeaf) {
      if (r.profile()[at++] != n) return false;
      continue;
    }
    std::int64_t size = 1;
    for (const std::size_t end = detail::subtree_end(r.profile(), at); at < end; ++at)
      if (r.profile()[at] == kLeaf) size *= r.leaves()[leaf++].size;
    if (size != b.leaves()[number++].size) return false;
  }
  return at == r.profile().size();
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::int64_t pick(std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(to - from + 1));
  }

  /// At most `most` elements, up to four leaves, often with leaves that continue one another, at
  /// any depth.
  StaticLayout layout(std::int64_t most, bool negative) {
    static constexpr std::int64_t kSizes[] = {1, 2, 2, 3, 4, 4, 5, 6, 8};
    static constexpr std::int64_t kStrides[] = {0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16};
    std::vector<Layout> modes;
    std::int64_t left = most, next = 1;
    for (std::int64_t count = pick(1, 4); count-- > 0;) {
      const std::int64_t size = std::min(kSizes[pick(0, 8)], left);
      std::int64_t stride = pick(0, 2) == 0 ? next : kStrides[pick(0, 13)];
      if (negative && pick(0, 5) == 0) stride = -stride;
      modes.push_back(Layout(size, stride));
      left /= size;
      next = size * stride;
    }
    while (modes.size() > 1 && pick(0, 2) != 0) {
      const auto at = static_cast<std::ptrdiff_t>(pick(0, static_cast<std::int64_t>(modes.size()) - 2));
      modes[static_cast<std::size_t>(at)] =
          make_layout(modes[static_cast<std::size_t>(at)], modes[static_cast<std::size_t>(at) + 1]);
      modes.erase(modes.begin() + at + 1);
    }
    return *numbers(make_layout(modes));
  }

 private:
  std::mt19937_64 engine_;
};

/// The result, or nothing where it is refused as undefined; anything else is thrown on.
template <class F>
std::optional<StaticLayout> defined(const F& f) {
  try {
    return f();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::undefined) throw;
    return std::nullopt;
  }
}

inline StaticLayout parsed(std::string_view text) { return *numbers(parse_layout(text)); }

/// "undefined", "shape", ... and "" when f() succeeds.
template <class F>
std::string refusal(const F& f) {
  try {
    f();
    return "";
  } catch (const Error& e) {
    return std::string(to_string(e.kind()));
  }
}

}  // namespace strata::layout_oracle
