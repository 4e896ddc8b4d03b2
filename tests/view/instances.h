// Symbolic Views at values of their variables, by the definition alone: what the tests of symbolic sizes compare with.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/view/shape_tracker.h"
#include "strata/view/strided.h"

namespace strata::oracle {

/// A View's parts at one assignment. The mask may reach beyond the shape, or be empty.
struct Instance {
  Index shape, stride, begin, end;
  std::int64_t offset = 0;
};

inline std::int64_t value_of(const Int& v, const Values& at) {
  return v.is_number() ? v.value() : evaluate(v.expr(), at);
}

inline Instance instance(const View& v, const Values& at) {
  Instance out;
  for (std::size_t j = 0; j < v.rank(); ++j) {
    out.shape.push_back(value_of(v.shape()[j], at));
    out.stride.push_back(value_of(v.strides()[j], at));
    out.begin.push_back(v.mask() ? value_of((*v.mask())[j].begin, at) : 0);
    out.end.push_back(v.mask() ? value_of((*v.mask())[j].end, at) : out.shape[j]);
  }
  out.offset = value_of(v.offset(), at);
  return out;
}

inline std::optional<std::int64_t> address(const Instance& v, const Index& i) {
  std::int64_t out = v.offset;
  for (std::size_t j = 0; j < i.size(); ++j) {
    if (i[j] < v.begin[j] || i[j] >= v.end[j] || i[j] >= v.shape[j]) return std::nullopt;
    out += v.stride[j] * i[j];
  }
  return out;
}

/// The row-major index with number `n`; nothing where there is none.
inline std::optional<Index> unravel(const Index& shape, std::int64_t n) {
  Index out(shape.size(), 0);
  for (std::size_t t = shape.size(); t-- > 0;) {
    if (shape[t] == 0) return std::nullopt;
    out[t] = floor_mod(n, shape[t]);
    n = floor_div(n, shape[t]);
  }
  return out;
}

/// Memory first, as in ShapeTracker.
inline std::optional<std::int64_t> address(std::span<const Instance> stack, Index i) {
  std::optional<std::int64_t> at;
  for (std::size_t k = stack.size(); k-- > 0;) {
    at = address(stack[k], i);
    if (!at || k == 0) return at;
    const std::optional<Index> next = unravel(stack[k - 1].shape, *at);
    if (!next) return std::nullopt;
    i = *next;
  }
  return at;
}

/// Addresses in row-major order of indices, -1 for invalid ones (a valid negative address is told apart by its offset).
inline std::vector<std::optional<std::int64_t>> table(std::span<const Instance> stack) {
  const Index& shape = stack.back().shape;
  const std::int64_t size = product(shape);
  std::vector<std::optional<std::int64_t>> out;
  for (std::int64_t n = 0; n < size; ++n) out.push_back(address(stack, *unravel(shape, n)));
  return out;
}

inline std::vector<Instance> instances(std::span<const View> views, const Values& at) {
  std::vector<Instance> out;
  for (const View& v : views) out.push_back(instance(v, at));
  return out;
}

/// The same as numbers for the exact decision. @pre masks lie inside shapes
inline Strided strided(const Instance& v) { return {v.shape, v.stride, v.offset, v.begin, v.end}; }

/// Calls f with every assignment of `names`, or with `most` spread over them where there are more.
inline void for_each_assignment(const std::vector<Variable>& names, std::size_t most,
                                const std::function<void(const Values&)>& f) {
  std::uint64_t total = 1;
  for (const Variable& v : names) total *= static_cast<std::uint64_t>(v.max() - v.min()) + 1;
  const std::uint64_t step = total / most + 1;
  for (std::uint64_t n = 0; n < total; n += step) {
    Values at;
    std::uint64_t rest = n;
    for (const Variable& v : names) {
      const std::uint64_t extent = static_cast<std::uint64_t>(v.max() - v.min()) + 1;
      at.emplace_back(v, v.min() + static_cast<std::int64_t>(rest % extent));
      rest /= extent;
    }
    f(at);
  }
}

inline std::string text_of(const Values& at) {
  std::string out;
  for (const auto& [v, value] : at) {
    out += v.name();
    out += "=" + std::to_string(value) + " ";
  }
  return out;
}

}  // namespace strata::oracle
