// Pooling: reductions over sliding windows; adaptive pooling; unpooling.

#include <algorithm>

#include "strata/ops/functional.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"
#include "strata/ops/spatial.h"

namespace strata::ops {

namespace {

/// The windows of a pooling operation.
struct PoolPlan {
  std::vector<Window> windows;
  Ints counts;
  ConvPadding::Sides padding;  // as asked for
  // The padding with which the last window ends at the end of the axis; negative behind: cropped. Of symbolic sizes: as
  // asked for.
  ConvPadding::Sides sides;
};

/// The parameters of a pooling operation.
struct PoolSizes {
  const PerAxis& kernel;
  const std::optional<PerAxis>& stride;
  const ConvPadding& padding;
  const PerAxis& dilation;
  bool ceil_mode;
};

/// The number of windows in `size` elements, `before` of them padding in front of the input and `after` behind it.
/// NOTE: with ceil_mode a window that would begin in the padding behind the input is dropped.
std::int64_t count_of(const Window& w, std::int64_t size, std::int64_t after, bool ceil_mode) {
  const std::int64_t left = size - w.reach().value();
  std::int64_t out = (left + (ceil_mode ? w.step - 1 : 0)) / w.step + 1;
  if (ceil_mode && (out - 1) * w.step >= size - after) --out;
  return out;
}

PoolPlan plan(const char* operation, const Ints& sizes, const PoolSizes& o) {
  const std::size_t n = sizes.size();
  const Numbers kernel = o.kernel.of(operation, "kernel size", n, 1),
                dilation = o.dilation.of(operation, "dilation", n, 1),
                stride = o.stride ? o.stride->of(operation, "stride", n, 1) : kernel;
  PoolPlan out;
  Numbers reaches;
  for (std::size_t k = 0; k < n; ++k) {
    out.windows.push_back({kernel[k], stride[k], dilation[k]});
    reaches.push_back(out.windows[k].reach().value() - 1);
  }
  out.padding = o.padding.of(operation, reaches, stride);
  for (std::size_t k = 0; k < n; ++k) {
    const Window& w = out.windows[k];
    const auto [before, after] = out.padding[k];
    const std::int64_t reach = reaches[k] + 1;
    const Int size = sizes[k] + Int(before) + Int(after);
    STRATA_CHECK(before < reach && after < reach, domain, "[", operation, "] padding ", std::max(before, after),
                 " is not less than the ", reach, " elements that a window spans");
    STRATA_CHECK(known(is_at_most(reach, size)), shape, "[", operation, "] a window that spans ", reach,
                 " elements does not fit the ", size.render(), " elements of spatial axis ", k, " with its padding");
    if (!size.is_number() && !o.ceil_mode) {
      out.counts.push_back(w.count_in(size));
      out.sides.emplace_back(before, after);
      continue;
    }
    STRATA_CHECK(size.is_number(), shape, "[", operation, "] ceil_mode needs a number for spatial axis ", k,
                 " of size ", sizes[k].render());
    const std::int64_t count = count_of(w, size.value(), after, o.ceil_mode);
    const Int used = Int(count - 1) * Int(w.step) + w.reach();
    out.counts.push_back(count);
    out.sides.emplace_back(before, (used - sizes[k] - Int(before)).value());
  }
  return out;
}

/// The last `n` axes.
Axes last_axes(const Value& x, std::size_t n) {
  Axes out;
  for (std::size_t k = 0; k < n; ++k) out.push_back(x.ndim() - static_cast<std::int64_t>(n - k));
  return out;
}
/// x with n dimensions of size 1 appended.
Value with_ones_behind(const Value& x, std::size_t n) {
  Ints sizes = x.shape();
  for (std::size_t k = 0; k < n; ++k) sizes.push_back(1);
  return x.reshape(sizes);
}
/// A vector, shaped to broadcast along spatial axis k of n.
Value along(const Value& x, std::size_t k, std::size_t n) {
  Ints sizes(n, 1);
  sizes[k] = x.size(0);
  return x.reshape(sizes);
}

Number least_of(DType dtype) { return Number(identity_of(Ops::REDUCE_MAX, dtype)); }

/// The windows of the elements' row-major indices in the input. Padding has the largest i64, so that it never is the
/// minimum.
Value places(const Value& x, const PoolPlan& p) {
  Ints sizes;
  for (std::int64_t k = 2; k < x.ndim(); ++k) sizes.push_back(x.size(k));
  const Value each = counting(product(sizes)).reshape(sizes);
  return windows_of(padded(each, p.sides, Number(identity_of(Ops::REDUCE_MIN, dtypes::int64))), p.windows, p.counts);
}

std::pair<Value, Value> max_pool(const char* operation, const Value& input, const PerAxis& kernel, std::size_t n,
                                 const MaxPoolOptions& o, bool indices) {
  const Spatial x(operation, input, n);
  const PoolPlan p = plan(operation, x.sizes, {kernel, o.stride, o.padding, o.dilation, o.ceil_mode});
  const Value seen = windows_of(padded(x.batched(), p.sides, least_of(input.dtype())), p.windows, p.counts);
  const Value largest = seen.max(last_axes(seen, n));
  if (!indices) return {x.unbatched(largest), input};
  const Value is_it = seen.eq(with_ones_behind(largest, n)) | seen.isnan();
  const Value at = is_it.where(places(x.batched(), p), Number(identity_of(Ops::REDUCE_MIN, dtypes::int64)));
  return {x.unbatched(largest), x.unbatched(at.min(last_axes(at, n)))};
}

/// The number of elements that each window along spatial axis k counts: those in front of the end of what counts less
/// those in front of its begin.
Value counts_along(const PoolPlan& p, const Int& size, std::size_t k, bool with_padding) {
  const Window& w = p.windows[k];
  const Value first = counting(p.counts[k]) * w.step - p.padding[k].first;
  const auto in_front_of = [&](const Int& place) {
    const Value end = Value::of((place + Int(w.dilation - 1)).expr());
    return (end - first).floor_divide(w.dilation).maximum(0).minimum(w.size);
  };
  if (with_padding) return in_front_of(size + Int(p.padding[k].second));
  return in_front_of(size) - in_front_of(0);
}

/// The sums of windows divided by the number of counted elements, or by the given divisor.
Value averages(const Value& sums, const Spatial& x, const PoolPlan& p, const AvgPoolOptions& o) {
  if (o.divisor_override) return sums / *o.divisor_override;
  const std::size_t n = x.sizes.size();
  std::int64_t all = 1;
  bool are_full = true;
  for (std::size_t k = 0; k < n; ++k) {
    all *= p.windows[k].size;
    const auto& [before, after] = p.padding[k];
    are_full =
        are_full && p.sides[k].second <= after && (o.count_include_pad || (before == 0 && p.sides[k].second <= 0));
  }
  if (are_full) return sums / all;
  Value counts = along(counts_along(p, x.sizes[0], 0, o.count_include_pad), 0, n);
  for (std::size_t k = 1; k < n; ++k)
    counts = counts * along(counts_along(p, x.sizes[k], k, o.count_include_pad), k, n);
  return sums / counts.cast(sums.dtype());
}

Value avg_pool(const char* operation, const Value& input, const PerAxis& kernel, std::size_t n,
               const AvgPoolOptions& o) {
  STRATA_CHECK(!o.divisor_override || *o.divisor_override != 0, domain, "[", operation, "] the divisor is 0");
  STRATA_CHECK(input.dtype().is_float(), domain, "[", operation, "] the input has dtype ", input.dtype().name(),
               ": cast it to a float dtype first");
  return rounded_once(input, [&](const Value& wide) {
    const Spatial x(operation, wide, n);
    const PoolPlan p = plan(operation, x.sizes, {kernel, o.stride, o.padding, o.dilation, o.ceil_mode});
    const Value seen = windows_of(padded(x.batched(), p.sides), p.windows, p.counts);
    return x.unbatched(averages(seen.sum(last_axes(seen, n)), x, p, o));
  });
}

// --- adaptive pooling: a given number of outputs; the input is divided into cells, which may overlap and differ in
// size by one ---

/// The number of elements of each of `count` cells.
Value sizes_of_cells(std::int64_t count, std::int64_t size) {
  const Value cell = counting(count);
  return ((cell + 1) * size + (count - 1)).floor_divide(count) - (cell * size).floor_divide(count);
}

/// The cells along an axis: the axis gets the size `count`, and a new last dimension has the elements of the cell.
/// Where the cells differ in size, the last dimension has all elements of the axis, with `filler` for those outside of
/// the cell.
Value cells(const Value& x, std::int64_t axis, std::int64_t count, std::int64_t size, const Number& filler) {
  if (size % count == 0)
    return Value(windows(x.node(), static_cast<std::size_t>(axis), {size / count, size / count}, count));
  const Value element = counting(size), cell = counting(count).unsqueeze(1);
  // floor(cell*size/count) <= element < ceil((cell+1)*size/count), without divisions
  const Value is_in = (cell * size).lt((element + 1) * count) & (element * count).lt((cell + 1) * size);
  Ints mask(x.shape().size() + 1, 1);
  mask[static_cast<std::size_t>(axis)] = count, mask.back() = size;
  return is_in.reshape(mask).where(x.movedim({axis}, {-1}).unsqueeze(axis), filler);
}

/// The cells of all spatial axes: (batch, channels, counts..., elements...).
Value all_cells(const Value& batched, const Numbers& to, const Numbers& sizes, const Number& filler) {
  Value seen = batched;
  for (std::size_t k = 0; k < to.size(); ++k)
    seen = cells(seen, static_cast<std::int64_t>(k) + 2, to[k], sizes[k], filler);
  return seen;
}

Numbers adaptive_sizes(const char* operation, const Spatial& x, const PerAxis& output_size) {
  for (const std::int64_t n : x.numbers())
    STRATA_CHECK(n > 0, shape, "[", operation, "] of nothing: shape ", render(x.batched().shape()));
  return output_size.of(operation, "output size", x.sizes.size(), 1);
}

Value adaptive_average(const char* operation, const Value& input, const PerAxis& output_size, std::size_t n) {
  STRATA_CHECK(input.dtype().is_float(), domain, "[", operation, "] the input has dtype ", input.dtype().name(),
               ": cast it to a float dtype first");
  return rounded_once(input, [&](const Value& wide) {
    const Spatial x(operation, wide, n);
    const Numbers to = adaptive_sizes(operation, x, output_size), sizes = x.numbers();
    const Value seen = all_cells(x.batched(), to, sizes, 0);
    Value out = seen.sum(last_axes(seen, n));
    for (std::size_t k = 0; k < n; ++k) {
      out = sizes[k] % to[k] == 0 ? out / (sizes[k] / to[k])
                                  : out / along(sizes_of_cells(to[k], sizes[k]), k, n).cast(out.dtype());
    }
    return x.unbatched(out);
  });
}

/// Adaptive max pooling; with `indices` also the row-major index of each largest element.
std::pair<Value, Value> adaptive_maximum(const char* operation, const Value& input, const PerAxis& output_size,
                                         std::size_t n, bool indices) {
  const Spatial x(operation, input, n);
  const Numbers to = adaptive_sizes(operation, x, output_size), numbers = x.numbers();
  const Value seen = all_cells(x.batched(), to, numbers, least_of(input.dtype()));
  const Value largest = seen.max(last_axes(seen, n));
  if (!indices) return {x.unbatched(largest), input};
  const Number beyond(identity_of(Ops::REDUCE_MIN, dtypes::int64));
  Ints sizes = {1, 1};
  Int count = 1;
  for (const Int& size : x.sizes) sizes.push_back(size), count *= size;
  const Value each = all_cells(counting(count).reshape(sizes), to, numbers, beyond);
  const Value is_it = seen.eq(with_ones_behind(largest, n)) | seen.isnan();
  const Value at = is_it.where(each, beyond);
  return {x.unbatched(largest), x.unbatched(at.min(last_axes(at, n)))};
}

/// NOTE: with ceil_mode a window that reaches beyond the input is scaled as if it were full: the mean of its powers
/// times the kernel's elements.
Value lp_pool(const char* operation, const Value& input, double p, const PerAxis& kernel, std::size_t n,
              const LpPoolOptions& o) {
  STRATA_CHECK(p != 0, domain, "[", operation, "] the norm p is 0");
  std::int64_t elements = 1;
  for (const std::int64_t size : kernel.of(operation, "kernel size", n, 1)) elements *= size;
  const Value means = avg_pool(operation, input.pow(p), kernel, n, {.stride = o.stride, .ceil_mode = o.ceil_mode});
  const Value sums = means.relu() * elements,
              is_zero = sums.eq(0);  // the root has an infinite derivative at 0
  return is_zero.where(0, is_zero.where(1, sums).pow(1 / p));
}

/// The input's values at the places that `indices` name, zeros elsewhere, in spatial sizes `to`.
Value unpooled(const char* operation, const Value& input, const Value& indices, const Numbers& to) {
  const std::size_t n = to.size();
  const Spatial x(operation, input, n), where(operation, indices, n);
  Ints shape = {x.batched().size(0), x.batched().size(1)}, flat = shape;
  Int count = 1;
  for (const std::int64_t size : to) {
    STRATA_CHECK(size >= 0, shape, "[", operation, "] the output size ", size, " is below 0");
    shape.push_back(size), count *= Int(size);
  }
  flat.push_back(count);
  const Value places = in_range(where.batched().flatten(2), {operation, "index", number_of(count, operation)});
  const Value put = put_at(input.new_zeros(flat), -1, places, x.batched().flatten(2), {});
  return x.unbatched(put.reshape(shape));
}

/// The parameters of an unpooling operation.
struct UnpoolSizes {
  const PerAxis& kernel;
  const std::optional<PerAxis>& stride;
  const PerAxis& padding;
  const std::optional<PerAxis>& output_size;
};

Value max_unpool(const char* operation, const Value& input, const Value& indices, std::size_t n, const UnpoolSizes& o) {
  STRATA_CHECK(input.shape() == indices.shape(), shape, "[", operation, "] indices of shape ", render(indices.shape()),
               " do not match values of shape ", render(input.shape()));
  if (o.output_size) return unpooled(operation, input, indices, o.output_size->of(operation, "output size", n, 0));
  const Spatial x(operation, input, n);
  const Numbers size = o.kernel.of(operation, "kernel size", n, 1),
                step = o.stride ? o.stride->of(operation, "stride", n, 1) : size,
                around = o.padding.of(operation, "padding", n, 0);
  Numbers to;
  const Numbers sizes = x.numbers();
  for (std::size_t k = 0; k < n; ++k)
    to.push_back((Int(sizes[k] - 1) * Int(step[k]) - Int(2 * around[k]) + Int(size[k])).value());
  return unpooled(operation, input, indices, to);
}

}  // namespace

#define STRATA_MAX_POOL(name, n)                                                                                      \
  Value name(const Value& x, const PerAxis& kernel, const MaxPoolOptions& options) {                                  \
    return max_pool(#name, x, kernel, n, options, false).first;                                                       \
  }                                                                                                                   \
  std::pair<Value, Value> name##_with_indices(const Value& x, const PerAxis& kernel, const MaxPoolOptions& options) { \
    return max_pool(#name "_with_indices", x, kernel, n, options, true);                                              \
  }
STRATA_MAX_POOL(max_pool1d, 1)
STRATA_MAX_POOL(max_pool2d, 2)
STRATA_MAX_POOL(max_pool3d, 3)
#undef STRATA_MAX_POOL

#define STRATA_AVG_POOL(name, n)                                                     \
  Value name(const Value& x, const PerAxis& kernel, const AvgPoolOptions& options) { \
    return avg_pool(#name, x, kernel, n, options);                                   \
  }
STRATA_AVG_POOL(avg_pool1d, 1)
STRATA_AVG_POOL(avg_pool2d, 2)
STRATA_AVG_POOL(avg_pool3d, 3)
#undef STRATA_AVG_POOL

#define STRATA_ADAPTIVE_POOL(name, n)                                                                      \
  Value adaptive_avg_##name(const Value& x, const PerAxis& output_size) {                                  \
    return adaptive_average("adaptive_avg_" #name, x, output_size, n);                                     \
  }                                                                                                        \
  Value adaptive_max_##name(const Value& x, const PerAxis& output_size) {                                  \
    return adaptive_maximum("adaptive_max_" #name, x, output_size, n, false).first;                        \
  }                                                                                                        \
  std::pair<Value, Value> adaptive_max_##name##_with_indices(const Value& x, const PerAxis& output_size) { \
    return adaptive_maximum("adaptive_max_" #name "_with_indices", x, output_size, n, true);               \
  }
STRATA_ADAPTIVE_POOL(pool1d, 1)
STRATA_ADAPTIVE_POOL(pool2d, 2)
STRATA_ADAPTIVE_POOL(pool3d, 3)
#undef STRATA_ADAPTIVE_POOL

#define STRATA_LP_POOL(name, n)                                                               \
  Value name(const Value& x, double p, const PerAxis& kernel, const LpPoolOptions& options) { \
    return lp_pool(#name, x, p, kernel, n, options);                                          \
  }
STRATA_LP_POOL(lp_pool1d, 1)
STRATA_LP_POOL(lp_pool2d, 2)
STRATA_LP_POOL(lp_pool3d, 3)
#undef STRATA_LP_POOL

#define STRATA_MAX_UNPOOL(name, n)                                                                              \
  Value name(const Value& x, const Value& indices, const PerAxis& kernel, const std::optional<PerAxis>& stride, \
             const PerAxis& padding, const std::optional<PerAxis>& output_size) {                               \
    return max_unpool(#name, x, indices, n, {kernel, stride, padding, output_size});                            \
  }
STRATA_MAX_UNPOOL(max_unpool1d, 1)
STRATA_MAX_UNPOOL(max_unpool2d, 2)
STRATA_MAX_UNPOOL(max_unpool3d, 3)
#undef STRATA_MAX_UNPOOL

}  // namespace strata::ops
