// What scans and SCATTERs may give: ranges of values, combined in the order that is defined.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "strata/graph/lazy_op.h"
#include "strata/ir/scan_order.h"
#include "tests/codegen/value_range.h"

namespace strata::oracle {

class AlongRanges {
 public:
  using Ranges = std::vector<ValueRange>;

  /// `is_exact`: products that are added are rounded. `ops` outlives this.
  AlongRanges(const RangeOps& ops, bool is_exact) : ops_(ops), is_exact_(is_exact) {}

  /// `operands`: of a recurrence the factors and the term.
  Ranges scanned(const LazyNode& n, const Index& shape, const std::vector<const Ranges*>& operands) const {
    const auto& [op, axis] = std::get<AxisArg>(n.arg);
    const Ranges& x = *operands.back();
    Ranges out = x;
    for (const std::vector<std::size_t>& row : rows_along(shape, static_cast<std::size_t>(axis))) {
      if (op == Ops::MULACC) {
        recur(n, row, operands, out);
        continue;
      }
      const Ops combining = combining_op(op);
      const ValueRange identity = exactly(identity_of(op, n.dtype));
      ValueRange groups = identity, runs = identity;  // rows are shorter than a block
      for (std::size_t k = 0; k < row.size(); ++k) {
        const std::size_t begin = k - k % kScanGroup;
        out[row[k]] =
            combined(combining, prefix(combining, x, row, begin, kScanGroup, k), combined(combining, runs, groups));
        if ((k + 1) % kScanGroup != 0) continue;
        groups = combined(combining, groups, prefix(combining, x, row, begin, kScanGroup, k));
        if ((k + 1) % kScanLengths[1] == 0) runs = combined(combining, runs, groups), groups = identity;
      }
    }
    return out;
  }
  Ranges scattered(const LazyNode& n, const Index& shape, const Index& of_values, const Ranges& target,
                   const Ranges& index, const Ranges& values) const {
    const auto& [op, along] = std::get<AxisArg>(n.arg);
    Ranges out = target;
    const auto axis = static_cast<std::size_t>(along);
    const auto to = rows_along(shape, axis), from = rows_along(of_values, axis);
    for (std::size_t r = 0; r < std::min(to.size(), from.size()); ++r)
      for (const std::size_t k : from[r])
        for (std::size_t place = 0; place < to[r].size(); ++place) {
          ValueRange& element = out[to[r][place]];
          const bool may_be = !index[k].is_exact;
          if (!may_be && !(index[k].exact.as_int() == static_cast<std::int64_t>(place))) continue;
          element = may_be            ? anything(n.dtype)
                    : op == Ops::NOOP ? values[k]
                                      : combined(combining_op(op), element, values[k]);
        }
    return out;
  }

 private:
  static constexpr double kRegrouped = 64;  // roundings of an element of a group in vectors (codegen/recurrence.h)

  void recur(const LazyNode& n, const std::vector<std::size_t>& row, const std::vector<const Ranges*>& operands,
             Ranges& out) const {
    const std::size_t factors = operands.size() - 1;
    const bool keeps_order = is_exact_ || !n.dtype.is_float();
    const bool is_regrouped = !keeps_order && row.size() >= static_cast<std::size_t>(kScanGroup);
    const double unit = n.dtype.itemsize() == 8 ? 0x1p-53 : 0x1p-24;
    std::vector<ValueRange> before(factors, exactly(Scalar::of(n.dtype, std::int64_t{0})));
    std::vector<double> sizes(factors, 0);  // of sums of absolute values
    for (const std::size_t k : row) {
      ValueRange y = (*operands.back())[k];
      double size = size_of(y);
      for (std::size_t j = factors; j-- > 0;) {
        const ValueRange& a = (*operands[j])[k];
        const std::array product{a, before[j], y};
        y = keeps_order ? combined(Ops::ADD, combined(Ops::MUL, a, before[j]), y) : ops_(Ops::MULACC, product, n.dtype);
        size += size_of(a) * sizes[j];
      }
      const double slack = kRegrouped * unit * size;
      if (is_regrouped && size > 0 && !y.is_nan())
        y = std::isfinite(slack) ? between(n.dtype, Scalar::of(n.dtype, y.low - slack).as_double(),
                                           Scalar::of(n.dtype, y.high + slack).as_double(), y.nan)
                                 : anything(n.dtype);
      before.pop_back(), sizes.pop_back();
      before.insert(before.begin(), y);
      sizes.insert(sizes.begin(), size);
      out[k] = y;
    }
  }
  static double size_of(const ValueRange& v) {
    return v.dtype().is_float() ? std::max(std::abs(v.low), std::abs(v.high)) : 0;
  }
  ValueRange combined(Ops op, const ValueRange& a, const ValueRange& b) const {
    const std::array operands{a, b};
    return ops_(op, operands, a.dtype());
  }
  /// The places of each row along an axis of a shape.
  static std::vector<std::vector<std::size_t>> rows_along(const Index& shape, std::size_t axis) {
    std::vector<std::vector<std::size_t>> out;
    std::int64_t stride = 1;
    for (std::size_t t = axis + 1; t < shape.size(); ++t) stride *= shape[t];
    const std::int64_t size = shape[axis];
    for (std::int64_t k = 0; k < product(shape); ++k) {
      if (k / stride % size != 0) continue;
      out.emplace_back();
      for (std::int64_t j = 0; j < size; ++j) out.back().push_back(static_cast<std::size_t>(k + j * stride));
    }
    return out;
  }
  /// Of element k of a row: the prefix inside of the elements [begin, begin + width), as ir/scan_order.h defines it.
  ValueRange prefix(Ops op, const Ranges& x, const std::vector<std::size_t>& row, std::size_t begin, std::size_t width,
                    std::size_t k) const {
    if (width == 1) return x[row[k]];
    const std::size_t half = width / 2;
    if (k < begin + half) return prefix(op, x, row, begin, half, k);
    return combined(op, prefix(op, x, row, begin + half, half, k), prefix(op, x, row, begin, half, begin + half - 1));
  }

  const RangeOps& ops_;
  bool is_exact_;
};

}  // namespace strata::oracle
