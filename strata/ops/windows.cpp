// Sliding windows over an axis as a view, and unwindowed(), which adds their elements back.
//
// Overlapping windows use only movement ops: the axis, of length L, is repeated and cut into rows of length L +
// dilation, so that row k begins at element k*dilation. Row k has element k of all windows, and every step-th column is
// a window. The ShapeTracker merges these ops into one view with two strides. Windows that do not overlap are simply
// rows of length `step`.
//
// windows() and unwindowed() are each other's gradient, set explicitly: the gradient rules of the movement ops would
// sum over all repetitions of the axis.

#include <algorithm>

#include "strata/ops/operand_promotion.h"
#include "strata/ops/products.h"

namespace strata::ops {

namespace {

/// The shape of x with the size of `axis` replaced by the sizes `by`; with `drops_last` also without the last
/// dimension.
Ints with_sizes(const LazyOp& x, std::size_t axis, std::initializer_list<Int> by, bool drops_last = false) {
  Ints out;
  for (std::size_t k = 0; k + (drops_last ? 1 : 0) < x.shape().size(); ++k) {
    if (k != axis)
      out.push_back(x.shape()[k]);
    else
      for (const Int& size : by) out.push_back(size);
  }
  return out;
}
/// The first `count` elements of the axis.
LazyOp first_of(const LazyOp& x, std::size_t axis, const Int& count) {
  Mask bounds;
  for (std::size_t k = 0; k < x.shape().size(); ++k) bounds.push_back({0, k == axis ? count : x.shape()[k]});
  return x.shrink(bounds);
}
/// Every step-th element of the axis.
LazyOp every(const LazyOp& x, std::size_t axis, std::int64_t step) {
  Ints steps(x.shape().size(), 1);
  steps[axis] = step;
  return x.stride(steps);
}
/// x with step - 1 zeros between the elements of the axis.
LazyOp spaced(const LazyOp& x, std::size_t axis, std::int64_t step) {
  if (step == 1) return x;
  const Int &count = x.shape()[axis], size = count * Int(step);
  const LazyOp column = x.reshape(with_sizes(x, axis, {count, 1}));
  Padding gaps(column.shape().size(), {0, 0});
  gaps[axis + 1].second = step - 1;
  return first_of(column.pad(gaps).reshape(with_sizes(x, axis, {size})), axis, size - Int(step - 1));
}
/// The axis cut, or padded with zeros, to `count` elements. Of sizes that are symbolic it may be either.
LazyOp of_size(const LazyOp& x, std::size_t axis, const Int& count) {
  const Int& have = x.shape()[axis];
  if (known(is_at_most(count, have))) return first_of(x, axis, count);
  const Int more = count - have;
  const bool is_more = known(is_at_most(0, more));
  Padding padding(x.shape().size(), {0, 0});
  padding[axis].second = is_more ? more : Int(more.vmax());
  return is_more ? x.pad(padding) : first_of(x.pad(padding), axis, count);
}

/// The dimensions (window, element) in place of `axis`, for windows that do not overlap.
LazyOp apart(const LazyOp& x, std::size_t axis, const Window& w, const Int& count) {
  const LazyOp rows = of_size(x, axis, count * Int(w.step)).reshape(with_sizes(x, axis, {count, w.step}));
  return every(first_of(rows, axis + 1, w.reach()), axis + 1, w.dilation);
}

/// The dimensions (window, element) in place of `axis`, for windows that overlap.
LazyOp overlapping(const LazyOp& x, std::size_t axis, const Window& w, const Int& count) {
  const Int last = (count - Int(1)) * Int(w.step), length = last + w.reach();
  // What w.size rows are, each longer than the axis by w.dilation, rounded up; the largest one of symbolic sizes.
  const Int copies = Int(w.size) + Int((w.size * w.dilation - 1) / length.vmin() + 1);
  const LazyOp used = first_of(x, axis, length);
  const LazyOp repeated = used.reshape(with_sizes(used, axis, {1, length}))
                              .expand(with_sizes(used, axis, {copies, length}))
                              .reshape(with_sizes(used, axis, {copies * length}));
  const Int row = length + Int(w.dilation);
  const LazyOp rows = first_of(repeated, axis, row * Int(w.size)).reshape(with_sizes(used, axis, {w.size, row}));
  const LazyOp out = every(first_of(rows, axis + 1, last + Int(1)), axis + 1, w.step);
  Axes order;
  for (std::size_t k = 0; k < out.shape().size(); ++k) order.push_back(static_cast<std::int64_t>(k));
  std::swap(order[axis], order[axis + 1]);
  return out.permute(order);
}

/// x with dimension `from` moved to position `to`.
LazyOp element_moved(const LazyOp& x, std::size_t from, std::size_t to) {
  Axes order;
  for (std::size_t k = 0; k < x.shape().size(); ++k)
    if (k != from) order.push_back(static_cast<std::int64_t>(k));
  Axes out;
  for (std::size_t k = 0; k < x.shape().size(); ++k)
    out.push_back(k == to ? static_cast<std::int64_t>(from) : order[k < to ? k : k - 1]);
  return x.permute(out);
}

bool overlap(const Window& w) { return !known(is_at_most(w.reach(), Int(w.step))); }

/// Element k of each window at its place in an axis of `size`; zeros elsewhere.
LazyOp shifted(const LazyOp& rows, std::size_t axis, const Window& w, std::int64_t k, const Int& size) {
  Mask bounds;
  for (const Int& n : rows.shape()) bounds.push_back({0, n});
  bounds.back() = {k, k + 1};
  Ints sizes = rows.shape();
  sizes.pop_back();
  const LazyOp elements = spaced(rows.shrink(bounds).reshape(sizes), axis, w.step);
  Padding around(sizes.size(), {0, 0});
  const Int before = Int(k) * Int(w.dilation);
  around[axis] = {before, size - before - elements.shape()[axis]};
  return elements.pad(around);
}

/// The inverse of the rows of overlapping(): rows of length size + dilation, one after the other, cut into rows of
/// length `size`, so that each element stands in the column of its place in the axis. The columns are summed.
LazyOp sheared(const LazyOp& rows, std::size_t axis, const Window& w, const Int& size) {
  const LazyOp spread = spaced(element_moved(rows, rows.shape().size() - 1, axis), axis + 1, w.step);
  const LazyOp longer = of_size(spread, axis + 1, size + Int(w.dilation));
  const LazyOp flat = longer.reshape(with_sizes(rows, axis, {Int(w.size) * (size + Int(w.dilation))}, true));
  const LazyOp square = first_of(flat, axis, Int(w.size) * size).reshape(with_sizes(flat, axis, {w.size, size}));
  const LazyOp sum = LazyOp::reduce(Ops::SUM, square, {static_cast<std::int64_t>(axis)});
  return sum.reshape(with_sizes(flat, axis, {size}));
}

LazyOp plain_windows(const LazyOp& x, std::size_t axis, const Window& w, const Int& count) {
  const LazyOp pairs = overlap(w) ? overlapping(x, axis, w, count) : apart(x, axis, w, count);
  return element_moved(pairs, axis + 1, pairs.shape().size() - 1);
}

/// Materializes `rows` if they come from a reduction (a matrix product): its loops and the loops that add windows back
/// do not fuse well. In memory the elements of windows come first, so that neighbours along the axis are adjacent.
LazyOp settled(const LazyOp& rows, std::size_t axis) {
  const LazyNode* n = rows.node();
  while (is_movement(n->op) || n->op == Ops::CAST) n = n->src[0].node();
  if (!is_reduce(n->op)) return rows;
  Axes order, back;
  for (std::size_t k = axis + 1; k < rows.shape().size(); ++k) order.push_back(static_cast<std::int64_t>(k));
  for (std::size_t k = 0; k <= axis; ++k) order.push_back(static_cast<std::int64_t>(k));
  const std::size_t elements = rows.shape().size() - axis - 1;
  for (std::size_t k = 0; k < order.size(); ++k)
    back.push_back(static_cast<std::int64_t>(k <= axis ? k + elements : k - axis - 1));
  return rows.permute(order).contiguous().permute(back);
}

LazyOp plain_unwindowed(const LazyOp& given, std::size_t axis, const Window& w, const Int& size) {
  constexpr std::int64_t kMostShifts = 8;
  const LazyOp rows = overlap(w) ? settled(given, axis) : given;
  if (!overlap(w)) {
    const LazyOp pairs = spaced(element_moved(rows, rows.shape().size() - 1, axis + 1), axis + 1, w.dilation);
    const LazyOp whole = of_size(pairs, axis + 1, w.step);
    const Int count = whole.shape()[axis];
    return of_size(whole.reshape(with_sizes(rows, axis, {count * Int(w.step)}, true)), axis, size);
  }
  if (w.size > kMostShifts) return sheared(rows, axis, w, size);
  LazyOp out = shifted(rows, axis, w, 0, size);
  for (std::int64_t k = 1; k < w.size; ++k) out = out + shifted(rows, axis, w, k, size);
  return out;
}

class WindowsGradient final : public GradientFunction {
 public:
  WindowsGradient(std::size_t axis, const Window& w, Int size) : axis_(axis), w_(w), size_(std::move(size)) {}
  std::vector<LazyOp> gradients(const LazyOp& dy) const override { return {unwindowed(dy, axis_, w_, size_)}; }

 private:
  std::size_t axis_;
  Window w_;
  Int size_;
};
class UnwindowedGradient final : public GradientFunction {
 public:
  UnwindowedGradient(std::size_t axis, const Window& w, Int count) : axis_(axis), w_(w), count_(std::move(count)) {}
  std::vector<LazyOp> gradients(const LazyOp& dy) const override { return {windows(dy, axis_, w_, count_)}; }

 private:
  std::size_t axis_;
  Window w_;
  Int count_;
};

}  // namespace

Int Window::reach() const { return Int(size - 1) * Int(dilation) + Int(1); }
Int Window::count_in(const Int& all) const {
  const Int left = all - reach();
  return (left.is_number() ? Int(left.value() / step) : Int(left.expr() / Expr(step))) + Int(1);
}

LazyOp windows(const LazyOp& x, std::size_t axis, const Window& w, const Int& count) {
  LazyOp out = plain_windows(x, axis, w, count);
  if (!x.is_tracked()) return out;
  return out.with_gradient({&x, 1}, std::make_shared<WindowsGradient>(axis, w, x.shape()[axis]));
}

LazyOp unwindowed(const LazyOp& rows, std::size_t axis, const Window& w, const Int& size) {
  LazyOp out = plain_unwindowed(rows, axis, w, size);
  if (!rows.is_tracked()) return out;
  return out.with_gradient({&rows, 1}, std::make_shared<UnwindowedGradient>(axis, w, rows.shape()[axis]));
}

LazyOp windows_of(const LazyOp& x, std::span<const Window> each, std::span<const Int> counts) {
  const std::size_t first = x.shape().size() - each.size();
  LazyOp out = x;
  for (std::size_t k = 0; k < each.size(); ++k) out = windows(out, first + k, each[k], counts[k]);
  return out;
}

LazyOp unwindowed_of(const LazyOp& x, std::span<const Window> each, std::span<const Int> sizes) {
  const std::size_t first = x.shape().size() - 2 * each.size();
  LazyOp out = x;
  for (std::size_t k = each.size(); k-- > 0;) out = unwindowed(out, first + k, each[k], sizes[k]);
  return out;
}

}  // namespace strata::ops
