// Operators that select, place and order elements.
#include <algorithm>
#include <numeric>
#include <optional>

#include "strata/onnx/operators.h"
#include "strata/tensor/boxes.h"

namespace strata::onnx {
namespace {

std::int64_t count_of(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// Rows of coordinates (..., k) of the first k sizes as row-major positions: shape (rows). Negative ones count from the
/// end.
Tensor positions_of(const Tensor& coordinates, std::span<const std::int64_t> sizes) {
  const auto k = std::ssize(sizes);
  const Tensor rows = coordinates.cast(dtypes::int64).reshape({-1, k});
  Tensor out = rows.select(1, 0) * 0;
  for (std::int64_t d = 0; d < k; ++d) {
    const Tensor at = rows.select(1, d);
    const std::int64_t size = sizes[static_cast<std::size_t>(d)];
    out = out * size + (at < 0).where(at + size, at);
  }
  return out;
}

std::optional<Reduce> reduction_of(const Call& call, std::int64_t since) {
  const std::string reduction = call.opset() >= since ? call.text("reduction") : "none";
  if (reduction == "none") return std::nullopt;
  if (reduction == "add") return Reduce::sum;
  if (call.opset() >= 18 && reduction == "max") return Reduce::amax;
  if (call.opset() >= 18 && reduction == "min") return Reduce::amin;
  STRATA_CHECK(reduction == "mul", domain, "the reduction is ", reduction);
  return Reduce::prod;
}

/// The places of `given` among `sizes.size()` axes of x, joined.
Sizes joined(std::initializer_list<std::span<const std::int64_t>> parts) {
  Sizes out;
  for (const auto part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace

namespace {

/// Where the indices are known on the host and follow each other, e.g. one index: the first one, counted from 0.
std::optional<std::int64_t> known_range(const Call& call, const Int& size) {
  const Datum& index = call.datum(1);
  if (!size.is_number() || !is_on_host(index) || index.expressions() != nullptr || index.tensor().ndim() > 1)
    return std::nullopt;
  const Int count = index.tensor().numel();
  if (!count.is_number() || count.value() > size.value()) return std::nullopt;
  const Sizes at = call.integers_of(1);
  if (at.empty() || at[0] < -size.value() || at[0] >= size.value()) return std::nullopt;
  const std::int64_t first = at[0] < 0 ? at[0] + size.value() : at[0];
  if (first + static_cast<std::int64_t>(at.size()) > size.value()) return std::nullopt;
  for (std::size_t k = 0; k < at.size(); ++k)
    if (at[k] != at[0] + static_cast<std::int64_t>(k)) return std::nullopt;
  return first;
}

}  // namespace

Results gather(const Call& call) {
  const Tensor x = call.x(0), index = call.x(1);
  const std::int64_t axis = Call::axis_in(call.integer("axis"), x.ndim());
  if (const std::optional<std::int64_t> first = known_range(call, x.size(axis)))
    return {index.ndim() == 0 ? x.select(axis, *first) : x.narrow(axis, *first, index.size(0).value())};
  Ints shape;
  for (std::int64_t d = 0; d < axis; ++d) shape.push_back(x.size(d));
  for (const Int& size : index.shape()) shape.push_back(size);
  for (std::int64_t d = axis + 1; d < x.ndim(); ++d) shape.push_back(x.size(d));
  const Tensor at = index.cast(dtypes::int64).reshape({-1});
  return {x.index_select(axis, at).reshape(shape)};
}

Results gather_elements(const Call& call) {
  const Tensor x = call.x(0);
  return {x.gather(Call::axis_in(call.integer("axis"), x.ndim()), call.x(1).cast(dtypes::int64))};
}

Results gather_nd(const Call& call) {
  const Tensor x = call.x(0), index = call.x(1);
  const auto batch_axes = static_cast<std::size_t>(call.opset() >= 12 ? call.integer("batch_dims") : 0);
  const Sizes sizes = sizes_of(x), index_sizes = sizes_of(index);
  STRATA_CHECK(!index_sizes.empty() && batch_axes < index_sizes.size(), shape, "indices of shape ",
               sizes_text(index_sizes));
  const auto k = static_cast<std::size_t>(index_sizes.back());
  STRATA_CHECK(k >= 1 && batch_axes + k <= sizes.size(), shape, "indices of ", k, " coordinates for ",
               sizes_text(sizes));
  const std::span<const std::int64_t> all(sizes), rows(index_sizes);
  const std::int64_t batches = count_of(all.first(batch_axes)), picked = count_of(all.subspan(batch_axes, k));
  Tensor at = positions_of(index, all.subspan(batch_axes, k)).reshape({batches, -1});
  at = at + (call.arange(batches) * picked).unsqueeze(1);
  const Sizes rest = joined({all.subspan(batch_axes + k)});
  const Tensor flat = x.reshape(to_shape(joined({Sizes{batches * picked}, rest})));
  const Sizes shape = joined({rows.first(rows.size() - 1), rest});
  return {flat.index_select(0, at.reshape({-1})).reshape(to_shape(shape))};
}

Results scatter_elements(const Call& call) {
  const Tensor x = call.x(0), index = call.x(1).cast(dtypes::int64), values = call.x(2);
  const std::int64_t axis = Call::axis_in(call.integer("axis"), x.ndim());
  const std::optional<Reduce> reduce = call.node().op == "Scatter" ? std::nullopt : reduction_of(call, 16);
  if (!reduce) return {x.scatter(axis, index, values)};
  return {x.scatter_reduce(axis, index, values, *reduce).cast(x.dtype())};
}

Results scatter_nd(const Call& call) {
  const Tensor x = call.x(0), index = call.x(1), values = call.x(2);
  const Sizes sizes = sizes_of(x);
  STRATA_CHECK(index.ndim() >= 1, shape, "the indices are a scalar");
  const auto k = static_cast<std::size_t>(index.size(-1).value());
  STRATA_CHECK(k >= 1 && k <= sizes.size(), shape, "indices of ", k, " coordinates for ", sizes_text(sizes));
  const std::span<const std::int64_t> all(sizes);
  const Tensor at = positions_of(index, all.first(k));
  const std::int64_t picked = count_of(all.first(k)), rest = count_of(all.subspan(k));
  const Tensor flat = x.reshape({picked, rest}), source = values.reshape({at.size(0), Int(rest)});
  const std::optional<Reduce> reduce = reduction_of(call, 16);
  const Tensor out = reduce ? flat.index_reduce(0, at, source, *reduce) : flat.index_copy(0, at, source);
  return {out.cast(x.dtype()).reshape(x.shape())};
}

Results one_hot(const Call& call) {
  const Tensor index = call.x(0), values = call.x(2);
  const double wanted = call.number_of(1);
  STRATA_CHECK(wanted >= 0 && wanted <= 1e15, domain, "the depth is ", wanted);
  const auto depth = static_cast<std::int64_t>(wanted);
  const std::int64_t axis = Call::axis_in(call.integer("axis"), index.ndim() + 1);
  Tensor at = index.cast(dtypes::int64);
  at = (at < 0).where(at + depth, at).unsqueeze(axis);
  Ints shape(static_cast<std::size_t>(at.ndim()), 1);
  shape[static_cast<std::size_t>(axis)] = depth;
  return {(at == call.arange(depth).reshape(shape)).where(values.select(0, 1), values.select(0, 0))};
}

Results nonzero(const Call& call) {
  const Tensor x = call.x(0);
  realize_known(x);
  return {x.ndim() == 0 ? x.reshape({1}).nonzero().narrow(1, 0, 0).transpose(0, 1) : x.nonzero().transpose(0, 1)};
}

Results compress(const Call& call) {
  Tensor x = call.x(0);
  if (!call.given("axis")) x = x.reshape({-1});
  const std::int64_t axis = call.given("axis") ? Call::axis_in(call.integer("axis"), x.ndim()) : 0;
  const Sizes condition = call.integers_of(1);
  Sizes kept;
  for (std::size_t k = 0; k < condition.size() && Int(static_cast<std::int64_t>(k)) != x.size(axis); ++k)
    if (condition[k] != 0) kept.push_back(static_cast<std::int64_t>(k));
  return {x.index_select(axis, call.from(kept, {std::ssize(kept)}))};
}

Results unique(const Call& call) {
  Tensor x = call.x(0);
  const bool has_axis = call.given("axis");
  if (!has_axis) x = x.reshape({-1});
  const std::int64_t axis = has_axis ? Call::axis_in(call.integer("axis"), x.ndim()) : 0;
  realize_known(x);
  const Tensor::Unique found = x.unique(axis);
  const Sizes inverse = read_integers(found.inverse), counts = read_integers(found.counts),
              first = read_integers(found.first);
  Sizes order(counts.size()), rank(counts.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto first_of = [&](std::int64_t k) { return first[static_cast<std::size_t>(k)]; };
  if (call.integer("sorted") == 0)
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return first_of(a) < first_of(b); });
  for (std::size_t k = 0; k < order.size(); ++k)
    rank[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  Sizes first_in_order, counts_in_order, inverse_in_order;
  for (const std::int64_t k : order) {
    first_in_order.push_back(first_of(k));
    counts_in_order.push_back(counts[static_cast<std::size_t>(k)]);
  }
  for (const std::int64_t k : inverse) inverse_in_order.push_back(rank[static_cast<std::size_t>(k)]);
  const auto vector = [&](const Sizes& elements) { return call.from(elements, {std::ssize(elements)}); };
  return {found.values.index_select(axis, vector(order)), vector(first_in_order), vector(inverse_in_order),
          vector(counts_in_order)};
}

Results non_max_suppression(const Call& call) {
  const Sizes boxes_shape = call.datum(0).shape(), scores_shape = call.datum(1).shape();
  STRATA_CHECK(boxes_shape.size() == 3 && boxes_shape[2] == 4 && scores_shape.size() == 3 &&
                   scores_shape[0] == boxes_shape[0] && scores_shape[2] == boxes_shape[1],
               shape, "boxes of shape ", sizes_text(boxes_shape), " and scores of shape ", sizes_text(scores_shape));
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) realize_known(call.datum(k).tensor());
  const std::vector<float> boxes = call.datum(0).tensor().to_vector<float>(),
                           scores = call.datum(1).tensor().to_vector<float>();
  const NmsOptions options{.iou_threshold = call.has(3) ? call.number_of(3) : 0,
                           .score_threshold = call.has(4) ? std::optional(call.number_of(4)) : std::nullopt,
                           .max_boxes = std::max(call.has(2) ? call.integer_of(2) : 0, std::int64_t{0}),
                           .has_centres = call.integer("center_point_box") != 0};
  const std::int64_t classes = scores_shape[1];
  const auto count = static_cast<std::size_t>(boxes_shape[1]);
  Sizes out;
  for (std::int64_t batch = 0; batch < boxes_shape[0]; ++batch)
    for (std::int64_t c = 0; c < classes; ++c) {
      const auto image = static_cast<std::size_t>(batch), row = static_cast<std::size_t>(batch * classes + c);
      // Corners are (y, x) pairs, centres (x, y): overlaps are the same for either.
      for (const std::int64_t k : detail::kept_boxes(std::span(boxes).subspan(4 * count * image, 4 * count),
                                                     std::span(scores).subspan(count * row, count), options))
        out.insert(out.end(), {batch, c, k});
    }
  return {call.from(out, {std::ssize(out) / 3, 3})};
}

Results max_unpool(const Call& call) {
  const Tensor x = call.x(0), index = call.x(1);
  const Sizes sizes = sizes_of(x), kernel = call.integers("kernel_shape");
  STRATA_CHECK(kernel.size() + 2 == sizes.size(), shape, kernel.size(), " sizes of the kernel for ", sizes_text(sizes));
  Sizes pads = call.integers("pads"), strides = call.integers("strides");
  pads.resize(2 * kernel.size(), 0);
  strides.resize(kernel.size(), 1);
  Sizes full = {sizes[0], sizes[1]};
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    full.push_back((sizes[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[d + kernel.size()]);
    STRATA_CHECK(full.back() >= 0 && full.back() <= std::int64_t{1} << 40, shape, "the result has the size ",
                 full.back());
  }
  // Indices count the elements of the result that the kernel, the strides and the pads give. A larger shape that is
  // asked for has more zeros behind.
  const Tensor flat = call.full({count_of(full)}, 0, x.dtype()).scatter(0, index.reshape({-1}), x.reshape({-1}));
  const Tensor out = flat.reshape(to_shape(full));
  if (!call.has(2)) return {out};
  const Sizes wanted = call.integers_of(2);
  STRATA_CHECK(wanted.size() == full.size(), shape, "the output shape ", sizes_text(wanted), " for ", sizes_text(full));
  Padding behind;
  for (std::size_t d = 0; d < full.size(); ++d) behind.push_back({0, wanted[d] - full[d]});
  return {out.pad(behind)};
}

}  // namespace strata::onnx
