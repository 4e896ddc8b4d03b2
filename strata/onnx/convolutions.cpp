// Convolutions, transposed ones and those of integers.
#include <algorithm>

#include "strata/base/int_math.h"
#include "strata/onnx/operators.h"
#include "strata/onnx/sizes.h"
#include "strata/onnx/windows.h"
#include "strata/tensor/functional.h"

namespace strata::onnx {
namespace {

ConvOptions conv_options(const Call& call, const Tensor& x, const Tensor& weight) {
  const Sizes shape = sizes_of(weight);
  STRATA_CHECK(shape.size() >= 3, shape, "the weight has the shape ", sizes_text(shape));
  const Sizes kernel(shape.begin() + 2, shape.end());
  STRATA_CHECK(!call.given("kernel_shape") || call.integers("kernel_shape") == kernel, shape, "kernel_shape is ",
               sizes_text(call.integers("kernel_shape")), ", the weight has the shape ", sizes_text(shape));
  const std::vector<WindowAxis> windows = windows_of(call, x.shape(), kernel, true);
  return {.stride = strides_of(windows),
          .padding = pads_of(windows),
          .dilation = dilations_of(windows),
          .groups = call.integer("group")};
}

/// A zero point of each output channel, or of all, beside a weight.
Tensor beside_weight(const Tensor& zero, const Tensor& weight) {
  if (zero.ndim() == 0 || zero.numel() == Int(1)) return zero.reshape({});
  Ints shape(static_cast<std::size_t>(weight.ndim()), 1);
  shape[0] = zero.numel();
  return zero.reshape(shape);
}

/// The sums of products of integers, less their zero points: i32.
Tensor integer_convolution(const Call& call, std::size_t x_at, std::size_t x_zero, std::size_t w_at,
                           std::size_t w_zero) {
  Tensor x = call.x(x_at).cast(dtypes::int32), weight = call.x(w_at).cast(dtypes::int32);
  if (call.has(x_zero)) x = x - call.x(x_zero).cast(dtypes::int32).reshape({});
  if (call.has(w_zero)) weight = weight - beside_weight(call.x(w_zero).cast(dtypes::int32), weight);
  const ConvOptions options = conv_options(call, x, weight);
  return conv_nd(x, weight, std::nullopt, options).cast(dtypes::int32);
}

}  // namespace

Results convolution(const Call& call) {
  const Tensor x = call.x(0), weight = call.x(1);
  return {conv_nd(x, weight, call.maybe(2), conv_options(call, x, weight))};
}

Results convolution_of_integers(const Call& call) { return {integer_convolution(call, 0, 2, 1, 3)}; }

Results quantized_convolution(const Call& call) {
  Tensor sums = integer_convolution(call, 0, 2, 3, 5);
  Ints per_channel(static_cast<std::size_t>(sums.ndim()), 1);
  per_channel[1] = -1;
  if (call.has(8)) sums = sums + call.x(8).reshape(per_channel);
  const Tensor weight_scale = call.x(4);
  const Tensor scale = call.x(1).reshape({}) *
                       (weight_scale.numel() == Int(1) ? weight_scale.reshape({}) : weight_scale.reshape(per_channel));
  const Tensor zero = call.x(7).reshape({});
  return {(sums.cast(dtypes::float32) * (scale / call.x(6).reshape({}))).quantize(1, zero, zero.dtype())};
}

Results transposed_convolution(const Call& call) {
  const Tensor x = call.x(0), weight = call.x(1);
  const Ints& shape = x.shape();
  const Sizes weight_shape = sizes_of(weight);
  STRATA_CHECK(shape.size() == weight_shape.size() && shape.size() >= 3, shape, "an input of shape ", render(shape),
               " and a weight of shape ", sizes_text(weight_shape));
  const std::size_t rank = shape.size() - 2;
  const auto list = [&](const char* name, std::size_t count, std::int64_t otherwise) {
    Sizes given = call.integers(name);
    STRATA_CHECK(given.empty() || given.size() == count, shape, name, " has ", given.size(), " numbers for ", rank,
                 " axes");
    if (given.empty()) given.assign(count, otherwise);
    for (const std::int64_t n : given)
      STRATA_CHECK(n >= 0 && n < std::int64_t{1} << 31, domain, name, " has the number ", n);
    return given;
  };
  const Sizes strides = list("strides", rank, 1), dilations = list("dilations", rank, 1),
              pads = list("pads", 2 * rank, 0);
  const Sizes extra = list("output_padding", rank, 0), wanted = list("output_shape", rank, 0);
  const std::string& automatic = call.text("auto_pad");
  const bool is_same = automatic.starts_with("SAME");
  ConvPadding::Sides cut;           // by the convolution
  Padding more = {{0, 0}, {0, 0}};  // zeros around its result
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t size = (number_of_size(x, static_cast<std::int64_t>(d) + 2) - 1) * strides[d] +
                              (weight_shape[d + 2] - 1) * dilations[d] + 1;
    std::int64_t before = pads[d], after = pads[d + rank];
    if (call.given("output_shape") || is_same) {
      const std::int64_t target = call.given("output_shape") ? wanted[d] : shape[d + 2].value() * strides[d];
      const std::int64_t total = size + extra[d] - target;
      const std::int64_t half = floor_div(total, 2);  // less than 0 where the result grows
      before = automatic == "SAME_UPPER" ? half : total - half;
      after = total - before;
    } else if (automatic == "VALID") {
      before = after = 0;
    }
    cut.emplace_back(std::max(before, std::int64_t{0}), std::max(after - extra[d], std::int64_t{0}));
    more.push_back({std::max(-before, std::int64_t{0}), std::max(extra[d] - after, std::int64_t{0})});
  }
  const Tensor y =
      conv_transpose_nd(x, weight, std::nullopt,
                        {.stride = strides, .padding = cut, .groups = call.integer("group"), .dilation = dilations})
          .pad(more);
  if (!call.has(2)) return {y};
  Ints per_channel(static_cast<std::size_t>(y.ndim()), 1);
  per_channel[1] = -1;
  return {y + call.x(2).reshape(per_channel)};
}

}  // namespace strata::onnx
