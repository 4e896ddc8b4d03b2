// Sums of products as matrix products and convolutions. In a graph of tensors both are a SUM of a MUL: of operands that
// are expanded to the same axes, and of windows, which are a view of the input.
#include <algorithm>
#include <array>

#include "strata/onnx/graph_writer.h"

namespace strata::onnx {
namespace {

/// A factor before it is expanded to the axes of the product.
LazyOp unexpanded(const LazyOp& n) {
  const LazyOp* at = &plain(n);
  while (at->op() == Ops::EXPAND && !is_realized(*at->node())) at = &plain(at->src(0));
  return *at;
}

/// The axes of a sum of products by who has them.
struct ProductAxes {
  Axes batch, left, right, summed;
  bool fits = true;  ///< every summed axis is one of both factors
};

ProductAxes axes_of(const Ints& shape, const LazyOp& a, const LazyOp& b, const Axes& summed) {
  ProductAxes out;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    const bool is_summed = std::find(summed.begin(), summed.end(), axis) != summed.end();
    if (is_one(shape[d])) continue;
    const bool in_a = !is_one(a.shape()[d]), in_b = !is_one(b.shape()[d]);
    if (is_summed) {
      out.fits = out.fits && in_a && in_b;
      out.summed.push_back(axis);
    } else if (in_a && in_b) {
      out.batch.push_back(axis);
    } else if (in_a) {
      out.left.push_back(axis);
    } else if (in_b) {
      out.right.push_back(axis);
    } else {
      out.fits = false;  // an axis that is expanded behind the product
    }
  }
  return out;
}

Ints sizes_of_axes(const Ints& shape, const Axes& axes) {
  Ints out;
  for (const std::int64_t a : axes) out.push_back(shape[static_cast<std::size_t>(a)]);
  return out;
}

/// `x` without its axes of size 1, in the order of `groups`; the axes of each of the last `joined` groups are one axis.
LazyOp arranged(const LazyOp& x, std::span<const Axes> groups, std::span<const bool> joins) {
  Axes wanted, kept, order;
  for (const Axes& g : groups)
    for (const std::int64_t a : g) wanted.push_back(a);
  Ints squeezed;
  for (std::size_t d = 0; d < x.shape().size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    if (std::find(wanted.begin(), wanted.end(), axis) == wanted.end()) continue;
    kept.push_back(axis);
    squeezed.push_back(x.shape()[d]);
  }
  for (const std::int64_t a : wanted) order.push_back(std::find(kept.begin(), kept.end(), a) - kept.begin());
  Ints to;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Ints sizes = sizes_of_axes(x.shape(), groups[g]);
    if (joins[g])
      to.push_back(product(sizes));
    else
      for (const Int& size : sizes) to.push_back(size);
  }
  return x.reshape(squeezed).permute(order).reshape(to);
}

/// The matrix B of (n, k), where `b` of shape (k, n) is its transpose.
std::optional<LazyOp> transposed_of(const LazyOp& b) {
  const LazyOp* at = &plain(b);
  while (!is_realized(*at->node()) && at->op() == Ops::RESHAPE) at = &plain(at->src(0));
  if (is_realized(*at->node()) || at->op() != Ops::PERMUTE || at->shape().size() != 2 || !(at->shape() == b.shape()))
    return std::nullopt;
  return at->src(0);
}

/// The size of `view` along its dimension, as a multiple of `inner`; 1 where the dimension has one element.
std::optional<std::int64_t> step_of(const Int& stride, const Int& inner, const Int& size) {
  if (is_one(size)) return 1;
  if (!stride.is_number() || !inner.is_number() || inner.value() <= 0 || stride.value() <= 0 ||
      stride.value() % inner.value() != 0)
    return std::nullopt;
  return stride.value() / inner.value();
}

/// Where windows lie on a tensor.
struct Windows {
  LazyOp x;  ///< (batch, channels, sizes...)
  std::vector<std::int64_t> strides, dilations;
};

/// Reads `moved`, a view of `x`, as windows: (batch, groups, in, counts..., kernel...).
std::optional<Windows> windows_on(const LazyOp& x, const ShapeTracker& moved, std::size_t spatial, const Int& groups) {
  const ShapeTracker st = moved.simplify();
  if (st.views().size() != 1) return std::nullopt;
  const View& view = st.views()[0];
  if (view.mask() || !(view.offset() == Int(0)) || x.shape().size() != spatial + 2) return std::nullopt;
  const Ints own = row_major_strides(x.shape());
  const Ints &shape = view.shape(), &strides = view.strides();
  if (!(x.shape()[0] == shape[0]) || !(x.shape()[1] == groups * shape[2])) return std::nullopt;
  const auto is = [&](std::size_t d, const Int& stride) { return is_one(shape[d]) || strides[d] == stride; };
  if (!is(0, own[0]) || !is(1, shape[2] * own[1]) || !is(2, own[1])) return std::nullopt;
  Windows out{x, {}, {}};
  for (std::size_t k = 0; k < spatial; ++k) {
    const auto stride = step_of(strides[3 + k], own[2 + k], shape[3 + k]);
    const auto dilation = step_of(strides[3 + spatial + k], own[2 + k], shape[3 + spatial + k]);
    if (!stride || !dilation || !x.shape()[2 + k].is_number()) return std::nullopt;
    // The number of windows follows from the sizes in ONNX.
    const std::int64_t reach = (shape[3 + spatial + k].value() - 1) * *dilation + 1, size = x.shape()[2 + k].value();
    const std::int64_t count = shape[3 + k].value();
    if (size < reach) return std::nullopt;
    std::int64_t step = *stride;
    if (count == 1) step = std::max<std::int64_t>(size - reach + 1, 1);
    if ((size - reach) / step + 1 != count) return std::nullopt;
    out.strides.push_back(step);
    out.dilations.push_back(*dilation);
  }
  return out;
}

/// The tensor of which `windows`, (batch, groups, in, counts..., kernel...), are windows: below movement operations.
std::optional<Windows> windows_below(const LazyOp& windows, std::size_t spatial, const Int& groups) {
  std::vector<const LazyNode*> moved;
  std::optional<Windows> found;
  for (const LazyOp* at = &windows;; at = &at->src(0)) {
    if (at->shape().size() == spatial + 2) {
      ShapeTracker st = ShapeTracker::from_shape(at->shape());
      for (auto it = moved.rbegin(); it != moved.rend(); ++it) st = moved_as(**it, st);
      if (std::optional<Windows> here = windows_on(*at, st, spatial, groups)) {
        found = here;
        if (at->op() == Ops::PAD) return found;  // the padding is one of the convolution's
      }
    }
    if (is_realized(*at->node()) || !(is_movement(at->op()) || is_annotation(at->op()))) return found;
    if (is_movement(at->op())) moved.push_back(at->node());
  }
}

/// The pads of a convolution on `x`, and the tensor without them.
std::vector<std::int64_t> taken_pads(LazyOp& x) {
  const std::size_t spatial = x.shape().size() - 2;
  std::vector<std::int64_t> none(2 * spatial, 0), out = none;
  const LazyOp inner = plain(x);
  if (inner.op() != Ops::PAD || is_realized(*inner.node())) return none;
  const Padding& padding = std::get<Padding>(inner.arg());
  for (std::size_t d = 0; d < padding.size(); ++d) {
    const auto& [before, after] = padding[d];
    if (!before.is_number() || !after.is_number()) return none;
    if (d < 2 && (before.value() != 0 || after.value() != 0)) return none;
    if (d < 2) continue;
    out[d - 2] = before.value();
    out[d - 2 + spatial] = after.value();
  }
  x = inner.src(0);
  return out;
}

std::vector<std::int64_t> sizes_from(const Ints& shape, std::size_t first) {
  std::vector<std::int64_t> out;
  for (std::size_t k = first; k < shape.size(); ++k) out.push_back(shape[k].value());
  return out;
}

bool are_numbers(const Ints& shape, std::size_t first) {
  return std::all_of(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end(),
                     [](const Int& n) { return n.is_number(); });
}

/// A convolution by the layout of conv_nd(): (batch, groups, out, counts..., in, kernel...), summed over the last ones.
std::optional<Plan> convolution_of(GraphWriter& w, const LazyOp& n) {
  const LazyOp& products = plain(n.src(0));
  if (products.op() != Ops::MUL || is_realized(*products.node())) return std::nullopt;
  const Ints shape = products.shape();
  const Axes& summed = std::get<Axes>(n.arg());
  const std::size_t rank = shape.size();
  if (rank < 6 || rank % 2 != 0 || !are_numbers(shape, 1)) return std::nullopt;
  const std::size_t spatial = (rank - 4) / 2;
  if (summed.size() != spatial + 1 || summed[0] != static_cast<std::int64_t>(spatial) + 3) return std::nullopt;
  const LazyOp input = unexpanded(products.src(0)), weight = unexpanded(products.src(1));
  // The windows have every axis but that of the output channels, and the weight none of the batch and of places.
  for (std::size_t d = 0; d < rank; ++d) {
    const bool is_of_weight = d == 1 || d == 2 || d >= spatial + 3, is_of_input = d != 2;
    if (!(weight.shape()[d] == (is_of_weight ? shape[d] : Int(1)))) return std::nullopt;
    if (!(input.shape()[d] == (is_of_input ? shape[d] : Int(1)))) return std::nullopt;
  }
  // (batch, groups, in, counts..., kernel...)
  Ints kept;
  Axes order;
  for (std::size_t d = 0; d < rank; ++d)
    if (d != 2) kept.push_back(shape[d]);
  order.push_back(0), order.push_back(1), order.push_back(static_cast<std::int64_t>(spatial) + 2);
  for (std::size_t k = 0; k < spatial; ++k) order.push_back(static_cast<std::int64_t>(k) + 2);
  for (std::size_t k = 0; k < spatial; ++k) order.push_back(static_cast<std::int64_t>(spatial + k) + 3);
  std::optional<Windows> windows = windows_below(input.reshape(kept).permute(order), spatial, shape[1]);
  if (!windows) return std::nullopt;
  LazyOp x = windows->x;
  const std::vector<std::int64_t> pads = taken_pads(x);
  const std::int64_t groups = shape[1].value();
  Ints weight_shape = {shape[1] * shape[2], shape[spatial + 3]}, result = {shape[0], shape[1] * shape[2]};
  for (std::size_t k = 0; k < spatial; ++k)
    weight_shape.push_back(shape[spatial + 4 + k]), result.push_back(shape[3 + k]);
  const LazyOp kernel = weight.reshape(weight_shape);
  const DType dtype = n.dtype();
  if (!dtype.is_float()) return std::nullopt;
  const std::vector<Attribute> attributes = {
      integers_attribute("dilations", windows->dilations), integer_attribute("group", groups),
      integers_attribute("kernel_shape", sizes_from(weight_shape, 2)), integers_attribute("pads", pads),
      integers_attribute("strides", windows->strides)};
  const Ints from = x.shape(), to = n.shape();
  return Plan{{w.keep(x), w.keep(kernel)}, [=, &w](std::span<const Written> in) {
                const Written a = w.full(in[0], from), b = w.full(in[1], weight_shape);
                return w.reshaped(w.add("Conv", {a, b}, attributes, dtype, result), to);
              }};
}

/// The largest elements of windows: (batch, channels, counts..., kernel...), reduced over the last axes.
std::optional<Plan> max_pool_of(GraphWriter& w, const LazyOp& n) {
  const Axes& axes = std::get<Axes>(n.arg());
  const LazyOp& windows = n.src(0);
  const std::size_t rank = windows.shape().size(), spatial = axes.size();
  const DType dtype = n.dtype();
  if ((bit(dtype) & (kFloats | bit(dtypes::int8) | bit(dtypes::uint8))) == 0) return std::nullopt;
  if (spatial < 1 || spatial > 3 || rank != 2 + 2 * spatial || !are_numbers(windows.shape(), 1)) return std::nullopt;
  for (std::size_t k = 0; k < spatial; ++k)
    if (axes[k] != static_cast<std::int64_t>(2 + spatial + k)) return std::nullopt;
  if (!is_movement(plain(windows).op())) return std::nullopt;
  Ints with_groups = {windows.shape()[0], 1};
  for (std::size_t d = 1; d < rank; ++d) with_groups.push_back(windows.shape()[d]);
  const std::optional<Windows> found = windows_below(windows.reshape(with_groups), spatial, 1);
  if (!found) return std::nullopt;
  const Ints &from = found->x.shape(), &to = n.shape();
  Ints result;
  for (std::size_t d = 0; d < 2 + spatial; ++d) result.push_back(windows.shape()[d]);
  const std::vector<Attribute> attributes = {
      integers_attribute("dilations", found->dilations),
      integers_attribute("kernel_shape", sizes_from(windows.shape(), 2 + spatial)),
      integers_attribute("strides", found->strides)};
  return Plan{{w.keep(found->x)}, [=, &w](std::span<const Written> in) {
                return w.reshaped(w.add("MaxPool", {w.full(in[0], from)}, attributes, dtype, result), to);
              }};
}

}  // namespace

std::optional<Plan> convolution_plan(GraphWriter& w, const LazyOp& n) {
  if (n.op() == Ops::SUM) return convolution_of(w, n);
  if (n.op() == Ops::REDUCE_MAX) return max_pool_of(w, n);
  return std::nullopt;
}

std::optional<Plan> product_plan(GraphWriter& w, const LazyOp& n) {
  if (n.op() != Ops::SUM || n.dtype().is_bool()) return std::nullopt;
  const LazyOp& products = plain(n.src(0));
  if (products.op() != Ops::MUL || is_realized(*products.node())) return std::nullopt;
  LazyOp a = unexpanded(products.src(0)), b = unexpanded(products.src(1));
  const Ints shape = products.shape();
  ProductAxes axes = axes_of(shape, a, b, std::get<Axes>(n.arg()));
  if (!axes.fits || axes.summed.empty() || (axes.left.empty() && axes.right.empty())) return std::nullopt;
  if (product(shape) == Int(0)) return std::nullopt;
  const bool is_turned = axes.left.empty() || (!axes.right.empty() && axes.right[0] < axes.left[0]);
  if (is_turned) std::swap(a, b), std::swap(axes.left, axes.right);
  const bool has_batch = !axes.batch.empty(), has_right = !axes.right.empty();
  const std::array left_groups = {axes.batch, axes.left, axes.summed};
  const std::array left_joins = {false, has_batch, true};
  const LazyOp left = arranged(a, left_groups, left_joins);
  // Without right axes a batch has matrices of one column; without both the right factor is a vector.
  const std::array right_groups = {axes.batch, axes.summed, axes.right};
  const std::array right_joins = {false, true, has_right || has_batch};
  const LazyOp right = arranged(b, right_groups, right_joins);
  Ints result = sizes_of_axes(shape, axes.batch);
  if (has_batch)
    result.push_back(product(sizes_of_axes(shape, axes.left)));
  else
    for (const Int& size : sizes_of_axes(shape, axes.left)) result.push_back(size);
  if (has_right || has_batch) result.push_back(product(sizes_of_axes(shape, axes.right)));
  const std::optional<LazyOp> other =
      left.shape().size() == 2 && right.shape().size() == 2 ? transposed_of(right) : std::nullopt;
  // Behind the product: all axes apart, then in their order.
  Axes now = axes.batch, order;
  for (const std::int64_t axis : axes.left) now.push_back(axis);
  for (const std::int64_t axis : axes.right) now.push_back(axis);
  const Ints apart = sizes_of_axes(shape, now);
  Axes sorted = now;
  std::sort(sorted.begin(), sorted.end());
  for (const std::int64_t axis : sorted) order.push_back(std::find(now.begin(), now.end(), axis) - now.begin());
  const DType dtype = n.dtype(), by = taken_dtype(dtype, kAllFloats | kWideInts);
  const Ints &left_shape = left.shape(), &to = n.shape();
  const Ints right_shape = other ? other->shape() : right.shape();
  const bool is_gemm = other.has_value();
  return Plan{{w.keep(left), w.keep(other ? *other : right)}, [=, &w](std::span<const Written> in) {
                const Written x = w.cast(w.full(in[0], left_shape), by), y = w.cast(w.full(in[1], right_shape), by);
                const Written out = is_gemm ? w.add("Gemm", {x, y}, {integer_attribute("transB", 1)}, by, result)
                                            : w.add("MatMul", {x, y}, {}, by, result);
                return w.cast(w.reshaped(w.transposed(w.reshaped(out, apart), order), to), dtype);
              }};
}

}  // namespace strata::onnx
