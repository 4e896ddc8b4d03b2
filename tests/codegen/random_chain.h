// Random chains: kernels with results between parts that rows of a store follow, and stores that add them up. In blocks
// of rows they are computed as one (BLOCK).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "strata/graph/lazy_op.h"
#include "tests/codegen/random_kernel.h"

namespace strata::oracle {

/// Makes chains in a space of four dimensions: the sizes of each tensor are those of the space, or 1.
class ChainMaker {
 public:
  explicit ChainMaker(Choices& choices) : c_(choices) {}

  RandomKernel make() {
    constexpr std::int64_t sizes[] = {2, 3, 5, 7, 1, 4, 9};
    for (std::int64_t& size : space_) size = sizes[c_.below(7)];
    dtype_ = c_.of<DType>({dtypes::float32, dtypes::int32, dtypes::float64, dtypes::int8, dtypes::uint16,
                           dtypes::bfloat16, dtypes::int64});
    for (std::uint32_t k = 1 + c_.below(3); k > 0; --k) add_input();
    for (std::uint32_t k = 1 + c_.below(4); k > 0; --k) add_part();
    std::vector<LazyOp> values = {row()};
    for (std::uint32_t k = c_.below(4); k > 0; --k) values.push_back(any_store());
    std::vector<LazyOp> stores;
    for (const LazyOp& value : values)
      stores.push_back(LazyOp::store(static_cast<int>(stores.size()), ShapeTracker::from_shape(value.shape()), value));
    return {LazyOp::sink(stores), {}};
  }

 private:
  static constexpr std::size_t kRow = 1, kColumn = 2, kOther = 3;  // dimensions; the first one is a batch
  static constexpr int kStores = 4;

  LazyOp input(bool has_row, bool has_column, bool has_other) {
    const Ints shape = {c_.chance(80) ? space_[0] : 1, has_row ? space_[kRow] : 1, has_column ? space_[kColumn] : 1,
                        has_other ? space_[kOther] : 1};
    return LazyOp::load(kStores + inputs_++, dtype_, ShapeTracker::from_shape(shape));
  }
  void add_input() {
    LazyOp x = input(true, c_.chance(80), false);
    if (c_.chance(30)) {
      const LazyOp rows = input(true, false, true), columns = input(false, true, true);
      x = product(rows, columns, kOther);
    }
    parts_.push_back(c_.chance(40) ? x.contiguous() : x);
  }
  static LazyOp both(Ops op, LazyOp a, LazyOp b) {
    Ints shape;
    for (std::size_t t = 0; t < a.shape().size(); ++t)
      shape.push_back(a.shape()[t] == Int(1) ? b.shape()[t] : a.shape()[t]);
    return LazyOp::alu(op, {a.expand(shape), b.expand(shape)});
  }
  static LazyOp reduced(Ops op, const LazyOp& x, std::size_t axis) {
    return LazyOp::reduce(op, x, {static_cast<std::int64_t>(axis)});
  }
  static LazyOp product(const LazyOp& a, const LazyOp& b, std::size_t axis) {
    return reduced(Ops::SUM, both(Ops::MUL, a, b), axis);
  }
  Ops any_reduction() { return c_.of<Ops>({Ops::SUM, Ops::REDUCE_MAX, Ops::REDUCE_MIN, Ops::SUM}); }
  /// A part that each row of has for itself.
  void add_part() {
    const LazyOp a = c_.of(parts_), b = c_.of(parts_);
    LazyOp x = both(c_.of<Ops>({Ops::ADD, Ops::MUL, Ops::MAX, Ops::SUB}), a, b);
    if (c_.chance(30)) x = both(Ops::SUB, x, reduced(any_reduction(), x, kColumn));
    parts_.push_back(c_.chance(70) ? x.contiguous() : x);
  }
  LazyOp row() {
    const LazyOp& x = parts_.back();
    switch (c_.below(3)) {
      case 0: return reduced(any_reduction(), x, kColumn);
      case 1: return product(x, input(false, true, true), kColumn);
      default: return both(Ops::ADD, x, x);
    }
  }
  LazyOp any_store() {
    LazyOp x = c_.of(parts_);
    if (c_.chance(40)) x = both(Ops::MUL, x, c_.chance(50) ? input(true, false, true) : c_.of(parts_));
    const Ops op = any_reduction();
    if (c_.chance(85)) x = reduced(op, x, kRow);
    if (c_.chance(25)) x = reduced(c_.chance(70) ? op : Ops::SUM, x, 0);
    if (c_.chance(20)) x = reduced(op, x, kColumn);
    if (c_.chance(25)) x = both(Ops::ADD, x, input(c_.chance(20), true, false));
    return x;
  }

  Choices& c_;
  std::int64_t space_[4] = {};
  DType dtype_ = dtypes::float32;
  int inputs_ = 0;
  std::vector<LazyOp> parts_;
};

/// A chain, or a kernel of any form.
inline RandomKernel made_kernel(Choices& c) {
  return c.chance(10) ? ChainMaker(c).make() : in_parts(c, random_kernel(c));
}

}  // namespace strata::oracle
