// access_map(): the dimensions of the source are those of the View below the topmost one; where there is none, they are
// made of the strides: strides that are closer than the reach of the dimensions with smaller ones belong together.

#include "strata/codegen/access_map.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

#include "strata/base/sort_few.h"

namespace strata {

namespace {

std::vector<std::int64_t> zeros(std::size_t n) { return std::vector<std::int64_t>(n, 0); }

/// Each index as it is, but for dimensions that repeat an element: their index is 0.
AccessMap identity(const ShapeTracker& st) {
  const View& top = st.views().back();
  const std::size_t rank = st.rank();
  AccessMap out{st, std::vector(rank, zeros(rank)), zeros(rank)};
  for (std::size_t d = 0; d < rank; ++d)
    if (top.mask() || !(top.strides()[d] == Int(0)) || top.shape()[d].vmin() < 1) out.factor[d][d] = 1;
  return out;
}

/// The strides of a View; nothing where one of them, or the offset, is symbolic, or where the View has a mask.
std::optional<std::vector<std::int64_t>> plain_strides(const View& view) {
  std::vector<std::int64_t> out;
  if (view.mask() || !view.offset().is_number()) return std::nullopt;
  for (std::size_t d = 0; d < view.rank(); ++d) {
    if (!view.strides()[d].is_number() || view.shape()[d].vmax() < 1) return std::nullopt;
    out.push_back(view.shape()[d] == Int(1) ? 0 : view.strides()[d].value());
  }
  return out;
}

/// The largest index of dimension d, for all values of the variables.
std::int64_t last_index(const View& view, std::size_t d) { return view.shape()[d].vmax() - 1; }

/// A View of memory: dimensions with a stride below the reach of the others share a dimension of the source.
std::optional<AccessMap> of_memory(const View& top, const std::vector<std::int64_t>& strides) {
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < strides.size(); ++d)
    if (strides[d] != 0) order.push_back(d);
  sort_few(order, [&](std::size_t a, std::size_t b) {
    return std::pair(std::abs(strides[a]), a) < std::pair(std::abs(strides[b]), b);
  });
  struct Group {
    std::int64_t unit, reach;  // the smallest stride; the largest address difference
    std::vector<std::size_t> dims;
  };
  std::vector<Group> groups;
  for (const std::size_t d : order) {
    const std::int64_t step = std::abs(strides[d]);
    std::int64_t reach = 0;
    if (!try_mul(step, last_index(top, d), reach)) return std::nullopt;
    if (groups.empty() || step > groups.back().reach) {
      groups.push_back({step, reach, {d}});
      continue;
    }
    Group& last = groups.back();
    last.unit = std::gcd(last.unit, step);
    last.dims.push_back(d);
    if (!try_add(last.reach, reach, last.reach)) return std::nullopt;
  }
  std::reverse(groups.begin(), groups.end());
  Ints shape, units;
  Int first = top.offset();
  std::vector<std::vector<std::int64_t>> factor(groups.size(), zeros(strides.size()));
  std::vector<std::int64_t> offset = zeros(groups.size());
  for (std::size_t j = 0; j < groups.size(); ++j) {
    Int size = 1;
    for (const std::size_t d : groups[j].dims) {
      const std::int64_t by = strides[d] / groups[j].unit;
      factor[j][d] = by;
      size += (top.shape()[d] - 1) * Int(std::abs(by));
      if (by > 0) continue;
      if (!top.shape()[d].is_number()) return std::nullopt;
      offset[j] -= by * (top.shape()[d].value() - 1);
      first += Int(strides[d]) * (top.shape()[d] - 1);
    }
    shape.push_back(size);
    units.push_back(groups[j].unit);
  }
  return AccessMap{ShapeTracker({View::create(shape, units, first)}), std::move(factor), std::move(offset)};
}

/// The digits of an address: one for each dimension of a row-major View of `shape`, rounded towards 0. Nothing for
/// symbolic sizes behind the first dimension.
std::optional<std::vector<std::int64_t>> digits_of(std::int64_t address, const Ints& shape) {
  std::vector<std::int64_t> out(shape.size(), 0);
  for (std::size_t j = shape.size(); j-- > 0;) {
    if (j == 0) {
      out[0] = address;
      break;
    }
    if (!shape[j].is_number() || shape[j].value() < 1) return std::nullopt;
    out[j] = address % shape[j].value();
    address /= shape[j].value();
  }
  return out;
}

/// A View on top of others: the dimensions of the View below it.
std::optional<AccessMap> of_views(const ShapeTracker& st, const std::vector<std::int64_t>& strides) {
  const View& top = st.views().back();
  const View& below = st.views()[st.views().size() - 2];
  const std::size_t rank = below.rank();
  if (rank == 0) return std::nullopt;
  const auto offset = digits_of(top.offset().value(), below.shape());
  if (!offset) return std::nullopt;
  std::vector<std::vector<std::int64_t>> factor(rank, zeros(strides.size()));
  std::vector<std::int64_t> least = *offset, most = *offset;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    const auto digits = digits_of(strides[d], below.shape());
    if (!digits) return std::nullopt;
    for (std::size_t j = 0; j < rank; ++j) {
      factor[j][d] = (*digits)[j];
      std::int64_t reach = 0;
      std::int64_t& end = (*digits)[j] < 0 ? least[j] : most[j];
      if (!try_mul((*digits)[j], last_index(top, d), reach) || !try_add(end, reach, end)) return std::nullopt;
    }
  }
  // No digit is carried into the next one. (Out of the first one is outside of the View, where no index is.)
  for (std::size_t j = 0; j < rank; ++j)
    if (least[j] < 0 || (j > 0 && most[j] >= below.shape()[j].value())) return std::nullopt;
  AccessMap out{ShapeTracker(std::vector(st.views().begin(), st.views().end() - 1)), std::move(factor), *offset};
  for (std::size_t j = 0; j < rank; ++j) {
    const bool has_all = !below.mask() || is_full((*below.mask())[j], below.shape()[j]);
    if (!(below.strides()[j] == Int(0)) || !has_all) continue;
    out.factor[j] = zeros(strides.size());  // all elements along the dimension are the same
    out.offset[j] = 0;
  }
  return out;
}

}  // namespace

std::vector<Expr> AccessMap::at(std::span<const Expr> idxs) const {
  std::vector<Expr> out;
  for (std::size_t j = 0; j < factor.size(); ++j) {
    Expr sum = offset[j];
    for (std::size_t d = 0; d < factor[j].size(); ++d)
      if (factor[j][d] != 0) sum += idxs[d] * factor[j][d];
    out.push_back(sum);
  }
  return out;
}

AccessMap access_map(const ShapeTracker& st) {
  const View& top = st.views().back();
  if (const auto strides = plain_strides(top)) {
    auto out = st.views().size() == 1 ? of_memory(top, *strides) : of_views(st, *strides);
    if (out) return *std::move(out);
  }
  return identity(st);
}

}  // namespace strata
