// Binds the functions of neural networks, under the names of torch.nn.functional, and as methods, as in tinygrad.
#include "python/src/call.h"
#include "python/src/given_index.h"
#include "python/src/running.h"
#include "strata/ops/at_hand.h"
#include "strata/tensor/boxes.h"
#include "strata/tensor/random.h"

namespace strata::python {

template <>
struct Words<CoordinateTransformation> {
  static std::size_t of(const Given& g) {
    return choice_of(g, {"half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric",
                         "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  }
  static constexpr const char* type =
      "Literal['half_pixel', 'pytorch_half_pixel', 'half_pixel_symmetric', 'align_corners', 'asymmetric', "
      "'tf_half_pixel_for_nn', 'tf_crop_and_resize']";
};
template <>
struct OptionalType<CoordinateTransformation> {
  static constexpr const char* type =
      "Literal['half_pixel', 'pytorch_half_pixel', 'half_pixel_symmetric', 'align_corners', 'asymmetric', "
      "'tf_half_pixel_for_nn', 'tf_crop_and_resize'] | None";
};
template <>
struct Words<NearestMode> {
  static std::size_t of(const Given& g) {
    return choice_of(g, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  }
  static constexpr const char* type = "Literal['round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil']";
};
template <>
struct OptionalType<NearestMode> {
  static constexpr const char* type = "Literal['round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'] | None";
};
template <>
struct Words<AspectRatio> {
  static std::size_t of(const Given& g) { return choice_of(g, {"stretch", "not_larger", "not_smaller"}); }
  static constexpr const char* type = "Literal['stretch', 'not_larger', 'not_smaller']";
};
/// One number, or one per axis.
template <>
struct Incoming<std::vector<double>> {
  explicit Incoming(const Given& g) {
    if (PyTuple_Check(g.object) || PyList_Check(g.object))
      for (const py::handle each : py::reinterpret_borrow<py::sequence>(g.object))
        value.push_back(real_of({each.ptr(), g.function, g.parameter}));
    else
      value.push_back(real_of(g));
  }
  const std::vector<double>& get() const { return value; }
  std::vector<double> value;
};
template <>
struct OptionalType<std::vector<double>> {
  static constexpr const char* type = "float | Sequence[float] | None";
};

namespace {

using MaybeTensor = std::optional<Tensor>;
using MaybePerAxis = std::optional<PerAxis>;
using Convolution = Tensor (*)(const Tensor&, const Tensor&, const MaybeTensor&, const ConvOptions&, At);
using Transposed = Tensor (*)(const Tensor&, const Tensor&, const MaybeTensor&, const ConvTransposeOptions&, At);
using MaxPool = Tensor (*)(const Tensor&, const PerAxis&, const MaxPoolOptions&, At);
using MaxPoolPlaces = std::pair<Tensor, Tensor> (*)(const Tensor&, const PerAxis&, const MaxPoolOptions&, At);
using AvgPool = Tensor (*)(const Tensor&, const PerAxis&, const AvgPoolOptions&, At);
using AdaptivePool = Tensor (*)(const Tensor&, const PerAxis&, At);
using AdaptivePlaces = std::pair<Tensor, Tensor> (*)(const Tensor&, const PerAxis&, At);
using LpPool = Tensor (*)(const Tensor&, double, const PerAxis&, const LpPoolOptions&, At);
using Unpool = Tensor (*)(const Tensor&, const Tensor&, const PerAxis&, const MaybePerAxis&, const PerAxis&,
                          const MaybePerAxis&, At);
using DropFunction = Tensor (*)(const Tensor&, double, bool, Generator, At);

py::object pair_of(std::pair<Tensor, Tensor>&& both) {
  return py::reinterpret_steal<py::object>(Outgoing<std::pair<Tensor, Tensor>>::object(std::move(both)));
}

template <Convolution conv>
Tensor convolved(const Tensor& x, const Tensor& weight, const MaybeTensor& bias, const PerAxis& stride,
                 const ConvPadding& padding, const PerAxis& dilation, std::int64_t groups) {
  return conv(x, weight, bias, {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups},
              At::current());
}
template <Transposed conv>
Tensor conv_transposed(const Tensor& x, const Tensor& weight, const MaybeTensor& bias, const PerAxis& stride,
                       const ConvPadding& padding, const PerAxis& output_padding, std::int64_t groups,
                       const PerAxis& dilation, const MaybePerAxis& output_size) {
  return conv(x, weight, bias,
              {.stride = stride,
               .padding = padding,
               .output_padding = output_padding,
               .groups = groups,
               .dilation = dilation,
               .output_size = output_size},
              At::current());
}
template <MaxPool pool, MaxPoolPlaces with_places>
py::object max_pooled(const Tensor& x, const PerAxis& kernel, const MaybePerAxis& stride, const ConvPadding& padding,
                      const PerAxis& dilation, bool ceil_mode, bool return_indices) {
  const MaxPoolOptions options{.stride = stride, .padding = padding, .dilation = dilation, .ceil_mode = ceil_mode};
  return return_indices ? pair_of(with_places(x, kernel, options, At::current()))
                        : object_of(pool(x, kernel, options, At::current()));
}
template <AvgPool pool>
Tensor avg_pooled(const Tensor& x, const PerAxis& kernel, const MaybePerAxis& stride, const ConvPadding& padding,
                  bool ceil_mode, bool count_include_pad, const std::optional<std::int64_t>& divisor,
                  const PerAxis& dilation) {
  return pool(x, kernel,
              {.stride = stride,
               .padding = padding,
               .ceil_mode = ceil_mode,
               .count_include_pad = count_include_pad,
               .divisor_override = divisor,
               .dilation = dilation},
              At::current());
}
template <AdaptivePool pool, AdaptivePlaces with_places>
py::object adaptive_max_pooled(const Tensor& x, const PerAxis& size, bool return_indices) {
  return return_indices ? pair_of(with_places(x, size, At::current())) : object_of(pool(x, size, At::current()));
}
template <LpPool pool>
Tensor lp_pooled(const Tensor& x, double p, const PerAxis& kernel, const MaybePerAxis& stride, bool ceil_mode) {
  return pool(x, p, kernel, {.stride = stride, .ceil_mode = ceil_mode}, At::current());
}

void bind_convolutions(Functions& f) {
  constexpr const char *how = "weight, bias=None, stride=1, padding=0, dilation=1, groups=1",
                       *doc =
                           "Convolution of (batch, channels, sizes...) with a weight of shape (out channels, in "
                           "channels / groups, kernel...). `padding` is a number, one number per axis, pairs "
                           "(before, after) per axis, 'same' or 'valid'.";
  f.op("conv1d", how, &convolved<conv1d>, doc);
  f.op("conv2d", how, &convolved<conv2d>, doc);
  f.op("conv3d", how, &convolved<conv3d>, doc);
  f.op("conv_nd", how, &convolved<conv_nd>, doc);
  constexpr const char *back =
                           "weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, "
                           "output_size=None",
                       *back_doc =
                           "Transposed convolution with a weight of shape (in channels, out channels / groups, "
                           "kernel...). `padding` is cut off: one number, a number per axis, pairs (before, after), or "
                           "'same'. `output_size`, the sizes of the result, takes the place of `output_padding`.";
  f.op("conv_transpose1d", back, &conv_transposed<conv_transpose1d>, back_doc);
  f.op("conv_transpose2d", back, &conv_transposed<conv_transpose2d>, back_doc);
  f.op("conv_transpose3d", back, &conv_transposed<conv_transpose3d>, back_doc);
  f.op("conv_transpose_nd", back, &conv_transposed<conv_transpose_nd>, back_doc);
  constexpr const char* windows = "kernel_size|kernel, dilation=1, padding=0, stride=1";
  f.function(
      "unfold", "input|x, kernel_size|kernel, dilation=1, padding=0, stride=1",
      [](const Tensor& x, const PerAxis& kernel, const PerAxis& dilation, const PerAxis& padding,
         const PerAxis& stride) {
        return unfold(x, kernel, {.dilation = dilation, .padding = padding, .stride = stride});
      },
      "Returns the windows over two spatial axes as columns, of shape (batch, channels * "
      "kernel, windows).");
  f.op(
      "fold", ("output_size, " + std::string(windows)).c_str(),
      [](const Tensor& x, const PerAxis& size, const PerAxis& kernel, const PerAxis& dilation, const PerAxis& padding,
         const PerAxis& stride) {
        return fold(x, size, kernel, {.dilation = dilation, .padding = padding, .stride = stride});
      },
      "The inverse of unfold(): adds each column to the elements of its window. Elements of "
      "overlapping windows are summed. `output_size` gives the two spatial sizes.");
}

void bind_pools(Functions& f) {
  constexpr const char *max_how =
                           "kernel_size|kernel=2, stride=None, padding=0, dilation=1, "
                           "ceil_mode=False, return_indices=False",
                       *max_doc =
                           "The maximum of each window. With return_indices, returns (values, indices): the indices "
                           "(int64) count the elements of the spatial axes in row-major order. `stride` defaults to "
                           "the kernel size. `padding` is one number, a number per axis, pairs (before, after), or "
                           "'same'.";
  f.op("max_pool1d", max_how, &max_pooled<max_pool1d, max_pool1d_with_indices>, max_doc);
  f.op("max_pool2d", max_how, &max_pooled<max_pool2d, max_pool2d_with_indices>, max_doc);
  f.op("max_pool3d", max_how, &max_pooled<max_pool3d, max_pool3d_with_indices>, max_doc);
  constexpr const char *avg_how =
                           "kernel_size|kernel=2, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "
                           "divisor_override=None, dilation=1",
                       *avg_doc =
                           "The mean of each window. `stride` defaults to the kernel size. `divisor_override` "
                           "replaces the number of elements as the divisor. `padding` is one number, a number per "
                           "axis, pairs (before, after), or 'same'.";
  f.op("avg_pool1d", avg_how, &avg_pooled<avg_pool1d>, avg_doc);
  f.op("avg_pool2d", avg_how, &avg_pooled<avg_pool2d>, avg_doc);
  f.op("avg_pool3d", avg_how, &avg_pooled<avg_pool3d>, avg_doc);
  constexpr const char* largest_doc =
      "The maximum of each window, where the windows are chosen so that the result has the "
      "spatial sizes `output_size`. With return_indices, returns (values, indices), the "
      "indices as int64.";
  f.op("adaptive_max_pool1d", "output_size, return_indices=False",
       &adaptive_max_pooled<adaptive_max_pool1d, adaptive_max_pool1d_with_indices>, largest_doc);
  f.op("adaptive_max_pool2d", "output_size, return_indices=False",
       &adaptive_max_pooled<adaptive_max_pool2d, adaptive_max_pool2d_with_indices>, largest_doc);
  f.op("adaptive_max_pool3d", "output_size, return_indices=False",
       &adaptive_max_pooled<adaptive_max_pool3d, adaptive_max_pool3d_with_indices>, largest_doc);
  constexpr const char *lp_how = "norm_type|p, kernel_size|kernel, stride=None, ceil_mode=False",
                       *lp_doc =
                           "The p-norm (sum of x**p)**(1/p) of each window. `stride` defaults to the kernel size.";
  f.op("lp_pool1d", lp_how, &lp_pooled<lp_pool1d>, lp_doc);
  f.op("lp_pool2d", lp_how, &lp_pooled<lp_pool2d>, lp_doc);
  f.op("lp_pool3d", lp_how, &lp_pooled<lp_pool3d>, lp_doc);
  constexpr const char *back_how = "indices, kernel_size|kernel, stride=None, padding=0, output_size=None",
                       *back_doc =
                           "The inverse of max pooling: puts each value at the position in `indices`, and 0 at the "
                           "other positions. `output_size` defaults to the smallest size that fits.";
  f.op("max_unpool1d", back_how, &max_unpool1d, back_doc);
  f.op("max_unpool2d", back_how, &max_unpool2d, back_doc);
  f.op("max_unpool3d", back_how, &max_unpool3d, back_doc);
}

/// tinygrad's layernorm: over axes, without weight and bias.
Tensor layernorm(const Tensor& x, const AxesArg& axes, double eps) {
  const Tensor centred = x - x.mean(axes, true);
  return centred * (centred.square().mean(axes, true) + eps).rsqrt();
}

void bind_norms(Functions& f) {
  f.op(
      "batch_norm", "running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05",
      [](const Tensor& x, const MaybeTensor& mean, const MaybeTensor& var, const MaybeTensor& weight,
         const MaybeTensor& bias, bool training, double momentum, double eps) {
        return batch_norm(x, mean, var, weight, bias, {.training = training, .momentum = momentum, .eps = eps});
      },
      "Normalises over all axes except axis 1. With `training`, the mean and variance are "
      "those of the batch, and running_mean and running_var, where given, are updated. Without "
      "`training`, the mean and variance are running_mean and running_var.");
  f.op("layernorm", "axis=-1, eps=1e-05", &layernorm,
       "Normalises to mean 0 and variance 1 over the axes. Has no weight and no bias; see "
       "layer_norm() for PyTorch's function.");
  f.op(
      "local_response_norm", "size, alpha=0.0001, beta=0.75, k=1.0",
      [](const Tensor& x, std::int64_t size, double alpha, double beta, double k) {
        return local_response_norm(x, size, {.alpha = alpha, .beta = beta, .k = k});
      },
      "x / (k + alpha * m)**beta, where m is the mean of the squares over `size` neighbouring "
      "channels.");
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const MaybeTensor& mask, double dropout_p,
                 bool causal, const std::optional<double>& scale, bool enable_gqa) {
  return scaled_dot_product_attention(
      q, k, v, {.mask = mask, .causal = causal, .scale = scale, .enable_gqa = enable_gqa, .dropout = dropout_p});
}

void bind_layers(Functions& f) {
  f.op(
      "embedding", "weight, padding_idx=None",
      [](const GivenIndex& index, const Tensor& weight, const std::optional<std::int64_t>& padding, At at) {
        const Tensor out = embedding(index.tensor, weight, padding, at);
        if (index.is_written) ops::check_at_hand(index.tensor.node(), {"embedding", "index", weight.size(0).value()});
        return out;
      },
      "Looks up a row of `weight` for each index. An index out of range gives a row of NaN (0 "
      "for an integer weight) if the indices are a tensor; it raises an error if they are a "
      "list or an array. The row `padding_idx` receives no gradient.");
  f.op(
      "embedding_bag", "weight, offsets=None, mode='mean', per_sample_weights=None, padding_idx=None",
      [](const Tensor& x, const Tensor& weight, const MaybeTensor& offsets, const std::string& mode,
         const MaybeTensor& weights, const std::optional<std::int64_t>& padding) {
        const auto which =
            static_cast<BagMode>(choice_of({py::str(mode).ptr(), "embedding_bag", "mode"}, {"sum", "mean", "max"}));
        return embedding_bag(
            x, weight, {.offsets = offsets, .mode = which, .per_sample_weights = weights, .padding_index = padding});
      },
      "Looks up rows of `weight` and reduces the rows of each bag by `mode`: 'sum', 'mean' or "
      "'max'. `offsets` has the position of each bag's first index; without `offsets` the "
      "indices have the shape (bags, size). An empty bag gives 0. Indices equal to "
      "`padding_idx` do not count.");
  f.op("scaled_dot_product_attention",
       "key, value, attn_mask|mask=None, dropout_p=0.0, is_causal|causal=False, scale=None, "
       "enable_gqa=False",
       &attention,
       "softmax(query @ key.T * scale + mask) @ value, for tensors of shape (..., length, "
       "size). A mask of bools is True where a query may attend to a key; a mask of floats is "
       "added to the scores. With is_causal, query i attends to the keys 0 to i. A query that "
       "may attend to no key gives zeros. `scale` defaults to 1/sqrt(size of a query). "
       "`dropout_p` is the probability with which a weight is set to 0.");
}

void bind_dropouts(Functions& f) {
  constexpr const char *how = "p=0.5, training=True, generator=None",
                       *channels = "dropout() of whole channels of x (batch, channels, sizes...).";
  f.op("dropout", how, &dropout,
       "Sets each element to 0 with probability p and divides the others by 1 - p. Without "
       "`training`, the result equals x.");
  f.op("dropout1d", how, &dropout1d, channels);
  f.op("dropout2d", how, &dropout2d, channels);
  f.op("dropout3d", how, &dropout3d, channels);
  f.op("alpha_dropout", how, &alpha_dropout,
       "Dropout for networks of selu(). An input of mean 0 and variance 1 keeps its mean and "
       "variance.");
  f.op("feature_alpha_dropout", how, &feature_alpha_dropout,
       "alpha_dropout() of whole channels of x (batch, channels, ...).");
  f.op("rrelu", "lower=0.125, upper=0.3333333333333333, training=False, generator=None", &rrelu,
       "Where x > 0, x. Elsewhere, x * slope, where the slope is uniform in [lower, upper) for "
       "each element. Without `training`, the slope is (lower + upper) / 2.");
  f.op(
      "gumbel_softmax", "tau=1.0, hard=False, axis=-1, generator=None",
      [](const Tensor& x, double tau, bool hard, std::int64_t axis, const Generator& g) {
        return gumbel_softmax(x, {.tau = tau, .hard = hard, .axis = axis}, g);
      },
      "A differentiable sample of classes: softmax((logits + Gumbel noise) / tau) along "
      "`axis`. With `hard`, the result is one-hot and has the gradient of the soft sample.");
}

Interpolation interpolation_of(const std::string& word, const char* function) {
  constexpr std::array modes{Interpolation::nearest, Interpolation::nearest_exact, Interpolation::linear,
                             Interpolation::linear,  Interpolation::linear,        Interpolation::cubic,
                             Interpolation::cubic,   Interpolation::area};
  return modes[choice_of({py::str(word).ptr(), function, "mode"},
                         {"nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "cubic", "area"})];
}

using MaybeReals = std::optional<std::vector<double>>;

Tensor resized(const Tensor& x, const MaybePerAxis& size, const MaybeReals& scale_factor, const std::string& mode,
               const std::optional<bool>& align_corners, const std::optional<bool>& recompute_scale_factor,
               bool antialias, const std::optional<std::vector<std::int64_t>>& axes,
               const std::optional<CoordinateTransformation>& coordinates,
               const std::optional<NearestMode>& nearest_mode, const std::optional<double>& cubic_coeff_a,
               const std::optional<bool>& exclude_outside, const MaybeReals& roi, double extrapolation_value,
               AspectRatio policy) {
  return interpolate(x, {.size = size,
                         .scale_factor = scale_factor.value_or(std::vector<double>()),
                         .mode = interpolation_of(mode, "interpolate"),
                         .align_corners = align_corners.value_or(false),
                         .recompute_scale_factor = recompute_scale_factor.value_or(false),
                         .antialias = antialias,
                         .axes = axes,
                         .coordinate_transformation_mode = coordinates,
                         .nearest_mode = nearest_mode,
                         .cubic_coeff_a = cubic_coeff_a,
                         .exclude_outside = exclude_outside,
                         .roi = roi.value_or(std::vector<double>()),
                         .extrapolation_value = extrapolation_value,
                         .keep_aspect_ratio_policy = policy});
}

Tensor sampled(const Tensor& x, const Tensor& grid, const std::string& mode, const std::string& padding_mode,
               const std::optional<bool>& align_corners) {
  const auto outside = static_cast<GridSampleOptions::Outside>(
      choice_of({py::str(padding_mode).ptr(), "grid_sample", "padding_mode"}, {"zeros", "border", "reflection"}));
  return grid_sample(x, grid,
                     {.mode = interpolation_of(mode, "grid_sample"),
                      .padding_mode = outside,
                      .align_corners = align_corners.value_or(false)});
}

void bind_grids(Functions& f) {
  f.op("interpolate",
       "size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None, "
       "antialias=False, axes=None, coordinate_transformation_mode=None, nearest_mode=None, cubic_coeff_a=None, "
       "exclude_outside=None, roi=None, extrapolation_value=0.0, keep_aspect_ratio_policy='stretch'",
       &resized,
       "Resizes the spatial axes, or `axes`, to `size`, or by `scale_factor` (one factor, or one per "
       "axis); exactly one of both is given. `mode` is 'nearest', 'nearest-exact', 'linear', "
       "'bilinear', 'trilinear', 'bicubic', 'cubic' or 'area'. Without further options the result is "
       "PyTorch's; they are those of ONNX's Resize.\n\n"
       "coordinate_transformation_mode says where outputs lie in the input, in place of "
       "align_corners: PyTorch's are 'asymmetric' for 'nearest', else 'half_pixel'. nearest_mode says which of "
       "the elements around is the nearest (PyTorch's: 'floor', of 'nearest-exact' 'round_prefer_ceil'). "
       "With antialias, linear and cubic weight all elements that an output of a shorter axis "
       "stands for. cubic_coeff_a is the parameter of the cubic kernel (-0.75; with antialias -0.5). "
       "exclude_outside leaves out elements beyond the ends, which otherwise equal those at the "
       "ends (default: antialias). roi is the region of 'tf_crop_and_resize': the begins of all axes, "
       "then the ends, in parts of an axis; outputs outside of the input have extrapolation_value. "
       "keep_aspect_ratio_policy takes the largest sizes that are 'not_larger' than `size`, or "
       "the smallest that are 'not_smaller', with one factor for all axes. With recompute_scale_factor, "
       "places follow from the sizes that the factors give.");
  f.function("affine_grid", "theta|matrices, size, align_corners=False", &affine_grid,
             "The grid for grid_sample(): the positions to which the affine maps `theta` (batch, n, n "
             "+ 1) take the positions of an output of shape `size` (batch, channels, sizes...) with n "
             "spatial axes. Shape (batch, sizes..., n).");
  f.op("grid_sample", "grid, mode='bilinear', padding_mode='zeros', align_corners=None", &sampled,
       "Samples x (batch, channels, sizes...) at the positions of a grid (batch, sizes..., "
       "axes). Positions go from -1 to 1 along each axis. With align_corners, -1 and 1 are the "
       "centres of the outermost elements, otherwise their outer edges. `padding_mode` is "
       "'zeros', 'border' or 'reflection'.");
  f.function(
      "nms", "boxes, scores, iou_threshold=0.5, score_threshold=None, max_boxes=None, has_centres=False",
      [](const Tensor& boxes, const Tensor& scores, double iou_threshold, const std::optional<double>& score_threshold,
         const std::optional<std::int64_t>& max_boxes, bool has_centres) {
        return running([&] {
          return nms(boxes, scores,
                     {.iou_threshold = iou_threshold,
                      .score_threshold = score_threshold,
                      .max_boxes = max_boxes,
                      .has_centres = has_centres});
        });
      },
      "Non-maximum suppression: the indices (int64), by falling scores, of the boxes (n, 4) that overlap no box of a "
      "larger score by more than `iou_threshold`, intersection over union. Boxes are two corners (x1, y1, x2, y2), or "
      "with has_centres (centre x, centre y, width, height). At most `max_boxes` are kept, of scores above "
      "`score_threshold`. Realizes both.");
}

}  // namespace

void bind_functional(Functions& f) {
  bind_convolutions(f);
  bind_pools(f);
  bind_norms(f);
  bind_layers(f);
  bind_dropouts(f);
  bind_grids(f);
}

}  // namespace strata::python
