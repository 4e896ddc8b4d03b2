// Parameter types of operations: option structs for designated initializers, modes, numbers per spatial axis, slices.
// Names, meanings and defaults are PyTorch's.
//
// Options that hold arrays are templates over the array type: the AttentionOptions of Tensors are
// BasicAttentionOptions<Tensor>. Their member of<U>(f) converts the arrays with f and keeps the rest.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/view/int.h"

namespace strata {

/// begin:end:step, as in Python: every step-th index in [begin, end). Negative bounds count from the end, bounds beyond
/// the axis are clamped, a negative step goes backwards.
struct Slice {
  std::optional<Int> begin = {};
  std::optional<Int> end = {};
  std::int64_t step = 1;
};
/// `...` in brackets: a full slice of each axis that no other entry names.
struct Ellipsis {};
/// None (newaxis) in brackets: a new dimension of size 1.
struct NewAxis {};

/// The elements around a padded array: a constant; the mirror image (without repeating the edge); copies of the edge
/// element; the elements from the opposite end.
enum class PadMode : std::uint8_t { constant, reflect, replicate, circular };
/// The result of a quantile whose rank lies between two elements.
enum class Between : std::uint8_t { linear, lower, higher, midpoint, nearest };
/// How scatter_reduce() and others combine the values that go to one place.
enum class Reduce : std::uint8_t { sum, prod, mean, amax, amin };

/// A number for each spatial axis, given as one number for all axes or one per axis: `2` or `{2, 3}`.
class PerAxis {
 public:
  template <std::integral T>
  PerAxis(T all) : each_{static_cast<std::int64_t>(all)}, is_one_(true) {}
  PerAxis(std::initializer_list<std::int64_t> each) : each_(each) {}
  PerAxis(std::vector<std::int64_t> each) : each_(std::move(each)) {}
  /// The numbers of `ndim` axes. @throws Error naming `operation` and `what`: (shape) for another number of axes,
  /// (domain) for a number outside of [least, 2^40]
  std::vector<std::int64_t> of(const char* operation, const char* what, std::size_t ndim, std::int64_t least) const;

 private:
  std::vector<std::int64_t> each_;
  bool is_one_ = false;
};

/// The padding of a convolution or pool: one number for all sides, a number per axis for both of its sides, or pairs
/// (before, after) per axis. "valid" is no padding. "same" keeps the sizes; it needs stride 1 and pads an odd total
/// with one more element behind.
class ConvPadding {
 public:
  template <std::integral T>
  ConvPadding(T all) : each_(all) {}
  ConvPadding(std::initializer_list<std::int64_t> each) : each_(each) {}
  ConvPadding(PerAxis each) : each_(std::move(each)) {}
  ConvPadding(std::vector<std::pair<std::int64_t, std::int64_t>> sides) : each_(0), sides_(std::move(sides)) {}
  ConvPadding(std::initializer_list<std::pair<std::int64_t, std::int64_t>> sides) : each_(0), sides_(sides) {}
  ConvPadding(const char* word) : each_(0), word_(word) {}

  using Sides = std::vector<std::pair<std::int64_t, std::int64_t>>;
  /// The padding (before, after) of each axis. @param reach per axis, dilation * (kernel size - 1)
  /// @throws Error (shape) for another number of axes, (domain) for a negative number, an unknown word, or "same" with
  ///   another stride than 1
  Sides of(const char* operation, const std::vector<std::int64_t>& reach,
           const std::vector<std::int64_t>& stride) const;

 private:
  PerAxis each_;
  Sides sides_;
  std::string_view word_;
};

/// Options of conv_nd(), conv1d(), conv2d() and conv3d().
struct ConvOptions {
  PerAxis stride = 1;
  ConvPadding padding = 0;
  PerAxis dilation = 1;
  std::int64_t groups = 1;
};
/// Options of the transposed convolutions.
struct ConvTransposeOptions {
  PerAxis stride = 1;
  ConvPadding padding = 0;  ///< what is cut off at each side of the result
  PerAxis output_padding = 0;
  std::int64_t groups = 1;
  PerAxis dilation = 1;
  /// The sizes of the result, in place of `output_padding`: those that it would have, and less than the larger of
  /// stride and dilation more.
  std::optional<PerAxis> output_size = {};
};
/// Options of unfold() and fold().
struct UnfoldOptions {
  PerAxis dilation = 1, padding = 0, stride = 1;
};
/// Options of max_pool1d(), max_pool2d(), ... A window with gaps whose elements are all padding has the least value of
/// the dtype, and no place.
struct MaxPoolOptions {
  std::optional<PerAxis> stride = {};  ///< none: the size of the kernel
  ConvPadding padding = 0;             ///< each side less than what a window spans
  PerAxis dilation = 1;
  bool ceil_mode = false;
};
/// Options of avg_pool1d(), avg_pool2d(), ...
struct AvgPoolOptions {
  std::optional<PerAxis> stride = {};  ///< none: the size of the kernel
  ConvPadding padding = 0;             ///< each side less than what a window spans
  bool ceil_mode = false, count_include_pad = true;
  std::optional<std::int64_t> divisor_override = {};  ///< divides the sums in place of the number of elements
  PerAxis dilation = 1;
};
/// Options of lp_pool1d(), lp_pool2d(), ...
struct LpPoolOptions {
  std::optional<PerAxis> stride = {};  ///< none: the size of the kernel
  bool ceil_mode = false;
};
/// Options of batch_norm().
struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1, eps = 1e-5;
};
/// Options of local_response_norm().
struct LocalResponseNormOptions {
  double alpha = 1e-4, beta = 0.75, k = 1;
};
/// How embedding_bag() reduces the rows of a bag.
enum class BagMode : std::uint8_t { sum, mean, max };
/// Options of embedding_bag().
template <class T>
struct BasicEmbeddingBagOptions {
  std::optional<T> offsets =
      {};  ///< the position of each bag's first index; none: the indices have the shape (bags, size)
  BagMode mode = BagMode::mean;
  std::optional<T> per_sample_weights = {};        ///< with BagMode::sum only
  std::optional<std::int64_t> padding_index = {};  ///< an index that no bag counts
  /// The same options with f applied to each array.
  template <class U, class F>
  BasicEmbeddingBagOptions<U> of(const F& f) const {
    return {f(offsets), mode, f(per_sample_weights), padding_index};
  }
};
/// Options of scaled_dot_product_attention().
template <class T>
struct BasicAttentionOptions {
  std::optional<T> mask = {};        ///< bools: true where a query may attend to a key; floats: added to the scores
  bool causal = false;               ///< query i attends to keys 0 ... i
  std::optional<double> scale = {};  ///< factor of the scores; none: 1/sqrt(size of a query)
  bool enable_gqa = false;           ///< grouped queries: several heads of queries share a head of keys and values
  double dropout = 0;                ///< the probability with which a weight is set to 0
  /// The same options with f applied to each array.
  template <class U, class F>
  BasicAttentionOptions<U> of(const F& f) const {
    return {f(mask), causal, scale, enable_gqa, dropout};
  }
};
/// How a loss reduces its elements. `batchmean` is the sum divided by the size of axis 0, for kl_div() only.
enum class Reduction : std::uint8_t { none, mean, sum, batchmean };
/// Options of cross_entropy().
template <class T>
struct BasicCrossEntropyOptions {
  std::optional<T> weight = {};      ///< a factor for each class
  std::int64_t ignore_index = -100;  ///< targets of this class do not count
  double label_smoothing = 0;        ///< share of the target's probability that is spread over all classes
  Reduction reduction = Reduction::mean;
  /// The same options with f applied to each array.
  template <class U, class F>
  BasicCrossEntropyOptions<U> of(const F& f) const {
    return {f(weight), ignore_index, label_smoothing, reduction};
  }
};
/// Options of nll_loss().
template <class T>
struct BasicNllOptions {
  std::optional<T> weight = {};      ///< a factor for each class
  std::int64_t ignore_index = -100;  ///< targets of this class do not count
  Reduction reduction = Reduction::mean;
  /// The same options with f applied to each array.
  template <class U, class F>
  BasicNllOptions<U> of(const F& f) const {
    return {f(weight), ignore_index, reduction};
  }
};
/// Options of binary_cross_entropy() and binary_cross_entropy_with_logits().
template <class T>
struct BasicBinaryCrossEntropyOptions {
  std::optional<T> weight = {};  ///< a factor for each element
  Reduction reduction = Reduction::mean;
  std::optional<T> pos_weight = {};  ///< a factor for the terms of positive targets; with_logits only
  /// The same options with f applied to each array.
  template <class U, class F>
  BasicBinaryCrossEntropyOptions<U> of(const F& f) const {
    return {f(weight), reduction, f(pos_weight)};
  }
};
/// Options of poisson_nll_loss().
struct PoissonNllOptions {
  bool log_input = true, full = false;
  double eps = 1e-8;
  Reduction reduction = Reduction::mean;
};
/// Options of gaussian_nll_loss().
struct GaussianNllOptions {
  bool full = false;
  double eps = 1e-6;
  Reduction reduction = Reduction::mean;
};
/// Options of triplet_margin_loss().
struct TripletMarginOptions {
  double margin = 1, p = 2, eps = 1e-6;
  bool swap = false;
  Reduction reduction = Reduction::mean;
};
/// Options of triplet_margin_with_distance_loss().
template <class T>
struct BasicTripletDistanceOptions {
  std::function<T(const T&, const T&)> distance = {};  ///< none: pairwise_distance()
  double margin = 1;
  bool swap = false;
  Reduction reduction = Reduction::mean;
};
/// Options of multi_margin_loss().
template <class T>
struct BasicMultiMarginOptions {
  int p = 1;  ///< the power of the margins: 1 or 2
  double margin = 1;
  std::optional<T> weight = {};  ///< a factor for each class
  Reduction reduction = Reduction::mean;
  /// The same options with f applied to each array.
  template <class U, class F>
  BasicMultiMarginOptions<U> of(const F& f) const {
    return {p, margin, f(weight), reduction};
  }
};
/// Options of ctc_loss().
struct CtcOptions {
  std::int64_t blank = 0;                 ///< the class of the blank
  Reduction reduction = Reduction::mean;  ///< mean: of each loss divided by the length of its target
  bool zero_infinity = false;             ///< the loss of an impossible target is 0, not infinity
  /// The length of the longest target, for targets concatenated in one dimension. None: ctc_loss() of Tensors reads it
  /// from the lengths.
  std::optional<std::int64_t> longest = {};
};
/// `area`: adaptive average pooling.
enum class Interpolation : std::uint8_t { nearest, nearest_exact, linear, cubic, area };
/// Where output o of an axis lies, in elements of the input: ONNX's coordinate transformation modes. `scale` is the
/// factor of the axis, `length` the number of outputs before it is rounded down.
enum class CoordinateTransformation : std::uint8_t {
  half_pixel,            ///< (o + 0.5) / scale - 0.5: the outer edges lie at one place
  pytorch_half_pixel,    ///< half_pixel; a single output lies at element 0
  half_pixel_symmetric,  ///< half_pixel, with the centres at one place also where the length is rounded
  align_corners,         ///< o * (size - 1) / (length - 1): the centres of the outermost elements lie at one place
  asymmetric,            ///< o / scale
  tf_half_pixel_for_nn,  ///< (o + 0.5) / scale
  tf_crop_and_resize     ///< align_corners on a part of the axis, `roi`
};
/// The element that the modes nearest take for a place: `round_` the nearest one, and of two the one named.
enum class NearestMode : std::uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };
/// Sizes that keep the ratio of the axes: the largest that are not larger than those given, or the smallest that are
/// not smaller.
enum class AspectRatio : std::uint8_t { stretch, not_larger, not_smaller };
/// Options of interpolate(). Exactly one of `size` and `scale_factor` is given.
struct InterpolateOptions {
  std::optional<PerAxis> size = {};       ///< the sizes of the result
  std::vector<double> scale_factor = {};  ///< one factor for all axes, or one per axis
  /// linear and cubic work along each axis: bilinear, trilinear, bicubic.
  Interpolation mode = Interpolation::nearest;
  bool align_corners = false;
  bool recompute_scale_factor = false;  ///< places are computed from the sizes, which the factors gave
  /// Where an axis gets shorter, linear and cubic weight all elements that an output stands for.
  bool antialias = false;
  std::optional<std::vector<std::int64_t>> axes = {};  ///< none: all but the first two
  /// None: as PyTorch has it, which is `asymmetric` for the mode nearest, else `half_pixel`, or `align_corners`.
  std::optional<CoordinateTransformation> coordinate_transformation_mode = {};
  std::optional<NearestMode> nearest_mode = {};  ///< none: floor; of nearest_exact round_prefer_ceil
  std::optional<double> cubic_coeff_a = {};      ///< none: -0.75; with antialias -0.5
  /// True: elements beyond the ends do not count; false: they equal those at the ends. None: whether `antialias` is.
  std::optional<bool> exclude_outside = {};
  std::vector<double> roi = {};  ///< of tf_crop_and_resize: the begins of all axes, then the ends, in parts of an axis
  double extrapolation_value = 0;  ///< of tf_crop_and_resize: the outputs that lie outside of the input
  AspectRatio keep_aspect_ratio_policy = AspectRatio::stretch;
};
/// Options of grid_sample().
struct GridSampleOptions {
  Interpolation mode = Interpolation::linear;  ///< linear, nearest or cubic (of two axes)
  enum class Outside : std::uint8_t { zeros, border, reflection } padding_mode = Outside::zeros;
  /// True: -1 and 1 are the centres of the outermost elements; false: their outer edges.
  bool align_corners = false;
};

/// Which way of a Fourier transform of n numbers divides: the inverse by n, both by the square root of n, the other by
/// n.
enum class FftNorm : std::uint8_t { backward, ortho, forward };
/// Options of the functions in the namespace fft.
struct FftOptions {
  std::optional<std::int64_t> n = {};  ///< numbers of the transform: the axis is cut, or padded with zeros, first
  std::int64_t axis = -1;              ///< not counting the axis of pairs
  FftNorm norm = FftNorm::backward;
};
/// Options of stft() and istft().
struct StftOptions {
  std::optional<std::int64_t> hop_length = {};  ///< samples from one frame to the next; none: a quarter of a frame
  std::optional<std::int64_t> win_length = {};  ///< elements of the window; none: those of a frame
  bool center = true;                           ///< frame k is around sample k * hop_length; false: it begins there
  PadMode pad_mode = PadMode::reflect;          ///< what stands beyond the ends, with `center`
  bool normalized = false;                      ///< divides by the square root of the frame's size
  bool onesided = true;                         ///< the bins up to half of the sample rate alone
};

namespace linalg {

/// Options of solve_triangular().
struct TriangularOptions {
  bool upper = false;          ///< whether the upper or the lower triangle is read
  bool unitriangular = false;  ///< the diagonal counts as 1
  bool left = true;            ///< solves a @ x == b; false: x @ a == b
};

}  // namespace linalg

}  // namespace strata
