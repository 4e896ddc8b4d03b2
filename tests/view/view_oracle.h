// What stacks of Views mean, in plain definitions: the tests hold everything else against these.
//
// Nothing here looks at the engine. A stack is a list of strided boxes, memory first; a table holds the address of each
// index in row-major order, nothing where it is invalid.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/view/shape_tracker.h"
#include "strata/view/strided.h"
#include "strata/view/view.h"

namespace strata::oracle {

using Stack = std::vector<Strided>;
using Table = std::vector<std::optional<std::int64_t>>;

/// A View of numbers, read off field by field.
inline Strided plain(const View& v) {
  Strided out;
  for (const Int& n : v.shape()) out.shape.push_back(n.value());
  for (const Int& d : v.strides()) out.stride.push_back(d.value());
  out.offset = v.offset().value();
  for (std::size_t j = 0; j < out.shape.size(); ++j) {
    out.begin.push_back(v.mask() ? (*v.mask())[j].begin.value() : 0);
    out.end.push_back(v.mask() ? (*v.mask())[j].end.value() : out.shape[j]);
  }
  return out;
}
inline Stack plain(std::span<const View> views) {
  Stack out;
  for (const View& v : views) out.push_back(plain(v));
  return out;
}

inline View view_of(const Strided& v) {
  Mask mask;
  for (std::size_t j = 0; j < v.shape.size(); ++j) mask.push_back({v.begin[j], v.end[j]});
  return View::create(to_ints(v.shape), to_ints(v.stride), v.offset, std::move(mask));
}
/// The Views of a stack.
inline std::vector<View> views(std::span<const Strided> stack) {
  std::vector<View> out;
  for (const Strided& v : stack) out.push_back(view_of(v));
  return out;
}
inline ShapeTracker tracker_of(const Stack& stack) { return ShapeTracker(views(stack)); }

inline std::int64_t elements(const Index& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t out = 1;
  for (const std::int64_t n : shape) out *= n;
  return out;
}

/// The specification's unravelling: (address // acc) % size, the last dimension first. @pre no size is 0
inline Index unravel(__int128 address, const Index& shape) {
  Index out(shape.size(), 0);
  __int128 acc = 1;
  const auto floor = [](__int128 a, __int128 b) { return a / b - (a % b != 0 && a < 0 ? 1 : 0); };
  for (std::size_t t = shape.size(); t-- > 0;) {
    const __int128 q = floor(address, acc);
    out[t] = static_cast<std::int64_t>(q - shape[t] * floor(q, shape[t]));
    acc *= shape[t];
  }
  return out;
}

/// The definition: address of `i`, nothing where a mask on the way leaves it out.
inline std::optional<std::int64_t> address_of(std::span<const Strided> stack, Index i) {
  for (std::size_t k = stack.size(); k-- > 0;) {
    const Strided& v = stack[k];
    __int128 address = v.offset;
    for (std::size_t j = 0; j < i.size(); ++j) {
      if (i[j] < v.begin[j] || i[j] >= v.end[j]) return std::nullopt;
      address += static_cast<__int128>(v.stride[j]) * i[j];
    }
    if (k == 0) return static_cast<std::int64_t>(address);
    if (elements(stack[k - 1].shape) == 0) return std::nullopt;
    i = unravel(address, stack[k - 1].shape);
  }
  return std::nullopt;
}

/// The next index in row-major order; false after the last.
inline bool advance(Index& i, const Index& shape) {
  for (std::size_t j = shape.size(); j-- > 0;) {
    if (++i[j] < shape[j]) return true;
    i[j] = 0;
  }
  return false;
}

inline Table table(std::span<const Strided> stack) {
  Table out;
  const Index& shape = stack.back().shape;
  if (elements(shape) == 0) return out;
  Index i(shape.size(), 0);
  do {
    out.push_back(address_of(stack, i));
  } while (advance(i, shape));
  return out;
}

/// Calls f(index, address) for every index of a table.
template <class F>
void each(const Table& values, const Index& shape, F&& f) {
  Index i(shape.size(), 0);
  for (const std::optional<std::int64_t>& v : values) {
    f(static_cast<const Index&>(i), v);
    advance(i, shape);
  }
}

/// The one masked affine function that is this table, if there is one: canonical, as `Single` describes it.
inline std::optional<Strided> single_of(const Table& values, const Index& shape) {
  const std::size_t rank = shape.size();
  Strided out{shape, Index(rank, 0), 0, Index(rank, 0), Index(rank, 0)};
  std::int64_t valid = 0;
  each(values, shape, [&](const Index& i, const std::optional<std::int64_t>& v) {
    if (!v) return;
    for (std::size_t j = 0; j < rank; ++j) {
      out.begin[j] = valid == 0 ? i[j] : std::min(out.begin[j], i[j]);
      out.end[j] = std::max(out.end[j], i[j] + 1);
    }
    ++valid;
  });
  if (valid == 0) return rank == 0 ? std::nullopt : std::optional<Strided>(out);  // () has no mask
  std::int64_t volume = 1;
  for (std::size_t j = 0; j < rank; ++j) volume *= out.end[j] - out.begin[j];
  if (volume != valid) return std::nullopt;
  const auto at = [&](const Index& i) {
    std::int64_t n = 0;
    for (std::size_t j = 0; j < rank; ++j) n = n * shape[j] + i[j];
    return *values[static_cast<std::size_t>(n)];
  };
  out.offset = at(out.begin);
  for (std::size_t j = 0; j < rank; ++j) {
    Index next = out.begin;
    ++next[j];
    if (next[j] < out.end[j]) out.stride[j] = at(next) - at(out.begin);
  }
  for (std::size_t j = 0; j < rank; ++j) out.offset -= out.stride[j] * out.begin[j];
  bool affine = true;
  each(values, shape, [&](const Index& i, const std::optional<std::int64_t>& v) {
    std::int64_t line = out.offset;
    for (std::size_t j = 0; j < rank; ++j) line += out.stride[j] * i[j];
    affine = affine && (!v || *v == line);
  });
  return affine ? std::optional<Strided>(out) : std::nullopt;
}

// --- random stacks ---

struct StackOptions {
  int views = 4;               ///< at most
  int rank = 3;                ///< at most
  std::int64_t size = 6;       ///< of a dimension, at most
  std::int64_t elements = 60;  ///< of a view, at most
  bool masks = true;
  bool wrap = true;  ///< now and then addresses beyond the view below, which wrap around
};

class RandomStack {
 public:
  explicit RandomStack(std::uint64_t seed, const StackOptions& options = {}) : random_(seed), options_(options) {}

  std::int64_t number(std::int64_t least, std::int64_t most) {
    const auto span = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least) + 1;
    return least + static_cast<std::int64_t>(random_() % span);
  }
  bool one_in(std::int64_t n) { return number(1, n) == 1; }

  Stack operator()() {
    Stack out;
    const std::int64_t views = number(1, options_.views);
    for (std::int64_t k = 0; k < views; ++k) {
      Strided v = box(out.empty() || one_in(3) ? shape() : shape_of(elements(out.back().shape)));
      if (out.empty() || (options_.wrap && one_in(10))) {
        for (std::size_t j = 0; j < v.shape.size(); ++j) v.stride.push_back(number(-6, 12));
        v.offset = number(-20, 20);
      } else {
        address_inside(v, elements(out.back().shape));
      }
      out.push_back(v);
    }
    return out;
  }

  Index shape() {
    Index out;
    std::int64_t n = 1;
    for (std::int64_t left = one_in(12) ? 0 : number(1, options_.rank); left > 0; --left) {
      std::int64_t size = one_in(8) ? 1 : number(2, options_.size);
      if (n * size > options_.elements) size = 1;
      n *= size;
      out.push_back(size);
    }
    return out;
  }
  /// A shape of n elements.
  Index shape_of(std::int64_t n) {
    Index out;
    for (std::int64_t left = number(1, options_.rank); left > 1 && n > 0; --left) {
      std::int64_t size = number(1, n);
      while (n % size != 0) size = number(1, n);
      n /= size;
      out.push_back(size);
    }
    out.push_back(n);
    return out;
  }

  /// All of a shape or, where masks are asked for, in half of the cases a part of it: mostly a large one.
  Strided box(const Index& shape) {
    Strided v;
    v.shape = shape;
    const bool masked = options_.masks && one_in(2);
    for (const std::int64_t size : v.shape) {
      const bool narrow = one_in(8);
      const std::int64_t begin = !masked || one_in(2) ? 0 : number(0, narrow ? size - 1 : size / 4);
      const std::int64_t least = narrow ? begin + (one_in(8) ? 0 : 1) : size - (size - begin) / 4;
      v.begin.push_back(begin);
      v.end.push_back(!masked || one_in(2) ? size : number(least, size));
    }
    return v;
  }

  /// Strides and an offset with which every valid index addresses [0, n): either the row-major strides of the shape in
  /// another order of dimensions, or random ones that use much of the range.
  void address_inside(Strided& v, std::int64_t n) {
    const std::size_t rank = v.shape.size();
    v.stride = Index(rank, 0);
    std::vector<std::size_t> order;
    for (std::size_t j = 0; j < rank; ++j) order.push_back(j);
    for (std::size_t j = rank; j-- > 1;)
      if (one_in(2)) std::swap(order[j], order[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(j)))]);
    std::int64_t left = n - 1, next = 1, low = 0, high = 0, at_begin = 0;
    const bool regular = one_in(2);
    for (std::size_t k = rank; k-- > 0;) {
      const std::size_t j = order[k];
      const std::int64_t steps = std::max<std::int64_t>(1, v.end[j] - v.begin[j]) - 1;
      const std::int64_t most = steps > 0 ? left / steps : 3;
      std::int64_t d = regular ? std::min(next, most) : number(most > 3 ? most / 4 : 0, most);
      for (int t = 0; !regular && t < 3 && d != 0 && n % d != 0; ++t) d = number(0, most);
      left -= d * steps;
      next *= v.shape[j];
      v.stride[j] = one_in(4) ? -d : d;
      (v.stride[j] > 0 ? high : low) += v.stride[j] * steps;
      at_begin += v.stride[j] * v.begin[j];
    }
    v.offset = number(-low, std::max(-low, n - 1 - high)) - at_begin;
  }

 private:
  std::mt19937_64 random_;
  StackOptions options_;
};

/// A stack as text, for messages of failed tests.
inline std::string to_string(std::span<const Strided> stack) {
  std::string out;
  for (const Strided& v : stack) {
    out += render(v.shape);
    out += ":" + render(v.stride);
    out += "+" + std::to_string(v.offset);
    if (v.begin != Index(v.shape.size(), 0) || v.end != v.shape)
      out += " [" + render(v.begin) + ", " + render(v.end) + ")";
    out += "; ";
  }
  return out;
}

}  // namespace strata::oracle
