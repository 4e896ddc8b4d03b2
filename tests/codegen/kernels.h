// Small kernels that tests of the compiler share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/codegen/lower.h"
#include "strata/graph/lazy_op.h"
#include "strata/ops/products.h"
#include "tests/base/errors.h"

namespace strata::kernels {

inline ShapeTracker plain(const Ints& shape) { return ShapeTracker::from_shape(shape); }
inline LazyOp input(int slot, const Ints& shape, DType dtype = dtypes::float32) {
  return LazyOp::load(slot, dtype, plain(shape));
}
inline LazyOp output(const LazyOp& value, int slot = 0) { return LazyOp::store(slot, plain(value.shape()), value); }
inline LazyOp kernel(const LazyOp& value, int slot = 0) { return LazyOp::sink({output(value, slot)}); }

inline LazyOp two_plus_three() {
  return kernel(LazyOp::constant(Scalar(2.0F), Ints{1}) + LazyOp::constant(Scalar(3.0F), Ints{1}));
}
/// data0 = data1 + data2
inline LazyOp added(const Ints& shape) { return kernel(input(1, shape) + input(2, shape)); }
/// (m, k) by (k, n)
inline LazyOp matmul(const Int& m, const Int& k, const Int& n) {
  const LazyOp a = input(1, {m, k}).reshape({m, k, 1}).expand({m, k, n});
  const LazyOp b = input(2, {k, n}).reshape({1, k, n}).expand({m, k, n});
  return kernel(LazyOp::reduce(Ops::SUM, a * b, {1}));
}
inline LazyOp softmax(const Int& rows, const Int& columns) {
  const Ints shape = {rows, columns};
  const LazyOp x = input(1, shape);
  const LazyOp largest = LazyOp::reduce(Ops::REDUCE_MAX, x, {1}).expand(shape);
  const LazyOp e = LazyOp::alu(Ops::EXP, {x - largest});
  return kernel(e / LazyOp::reduce(Ops::SUM, e, {1}).expand(shape));
}

/// The windows of a padded image (channels, rows, columns), as the ShapeTracker of a LOAD: (channels, windows...,
/// window).
inline ShapeTracker windows_of_image(const Ints& image, std::int64_t padding, const ops::Window& w) {
  ShapeTracker st = ShapeTracker::from_shape(image).pad({{0, 0}, {padding, padding}, {padding, padding}});
  const LazyOp leaf = LazyOp::load(1, dtypes::float32, st);
  const std::int64_t count = (image[1].value() + 2 * padding - w.reach().value()) / w.step + 1;
  const LazyOp seen = ops::windows_of(leaf, std::vector{w, w}, std::vector<Int>{count, count});
  for (const LazyNode* n : postorder(seen))
    if (is_movement(n->op)) st = moved_as(*n, st);
  return st;
}
/// The convolution of a square image with `out` kernels, with its movement in the loads, as the scheduler makes it.
inline LazyOp convolution(const Ints& image, std::int64_t out, std::int64_t padding, const ops::Window& w) {
  const ShapeTracker seen = windows_of_image(image, padding, w);
  Ints shape = {out}, whole = {1};
  for (const Int& size : seen.shape()) shape.push_back(size), whole.push_back(size);
  const LazyOp x = LazyOp::load(1, dtypes::float32, seen.reshape(whole).expand(shape));
  const ShapeTracker taps = ShapeTracker::from_shape({out, image[0], 1, 1, w.size, w.size}).expand(shape);
  return kernel(LazyOp::reduce(Ops::SUM, x * LazyOp::load(2, dtypes::float32, taps), {1, 4, 5}));
}

/// How many UOps of a kind a list has.
inline std::size_t count(const UOpGraph& list, UOps op) {
  std::size_t n = 0;
  for (const UOp u : list) n += u.op() == op ? 1 : 0;
  return n;
}
inline std::size_t count(const UOpGraph& list, Ops op) {
  std::size_t n = 0;
  for (const UOp u : list) n += u.op() == UOps::ALU && u.alu() == op ? 1 : 0;
  return n;
}

}  // namespace strata::kernels
