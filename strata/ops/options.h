// What operations take beside arrays and numbers: options with names, modes, sizes for each spatial axis, slices.
//
// Options that hold arrays are templates by the type of array: AttentionOptions of Tensors is BasicAttentionOptions<Tensor>.
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

/// From begin to before end, every step-th, as Python has it: what is below 0 counts from the end, what is beyond an
/// end is cut, a step below 0 goes backwards.
struct Slice {
  std::optional<Int> begin = {};
  std::optional<Int> end = {};
  std::int64_t step = 1;
};
/// All axes that nothing else names.
struct Ellipsis {};
/// A dimension of size 1.
struct NewAxis {};

/// What lies around a padded array: a value, the mirror image at the first and last element, these elements themselves, or the
/// other end.
enum class PadMode : std::uint8_t { constant, reflect, replicate, circular };
/// What a quantile between two elements is.
enum class Between : std::uint8_t { linear, lower, higher, midpoint, nearest };
/// How values that go to one place become one.
enum class Reduce : std::uint8_t { sum, prod, mean, amax, amin };

/// A number for each spatial axis: one for all of them, or one each.
class PerAxis {
 public:
  template <std::integral T>
  PerAxis(T all) : each_{static_cast<std::int64_t>(all)}, is_one_(true) {}
  PerAxis(std::initializer_list<std::int64_t> each) : each_(each) {}
  PerAxis(std::vector<std::int64_t> each) : each_(std::move(each)) {}
  /// One for each of `ndim` axes. @throws Error (shape) unless there are as many, (domain) for one below `least`
  std::vector<std::int64_t> of(const char* operation, const char* what, std::size_t ndim,
                               std::int64_t least) const;

 private:
  std::vector<std::int64_t> each_;
  bool is_one_ = false;
};

/// Zeros around: as many on both sides of all axes, of each axis, pairs (before, after) for each axis, or "same" (as
/// many outputs as inputs; stride 1; where they are odd, one more behind) and "valid" (none).
class ConvPadding {
 public:
  template <std::integral T>
  ConvPadding(T all) : each_(all) {}
  ConvPadding(std::initializer_list<std::int64_t> each) : each_(each) {}
  ConvPadding(PerAxis each) : each_(std::move(each)) {}
  ConvPadding(std::vector<std::pair<std::int64_t, std::int64_t>> sides)
      : each_(0), sides_(std::move(sides)) {}
  ConvPadding(std::initializer_list<std::pair<std::int64_t, std::int64_t>> sides)
      : each_(0), sides_(sides) {}
  ConvPadding(const char* word) : each_(0), word_(word) {}

  using Sides = std::vector<std::pair<std::int64_t, std::int64_t>>;
  /// For each axis, before and after; `reach`: of the kernel, less one.
  Sides of(const char* operation, const std::vector<std::int64_t>& reach,
           const std::vector<std::int64_t>& stride) const;

 private:
  PerAxis each_;
  Sides sides_;
  std::string_view word_;
};

/// Of conv_nd(), conv1d(), conv2d() and conv3d().
struct ConvOptions {
  PerAxis stride = 1;
  ConvPadding padding = 0;
  PerAxis dilation = 1;
  std::int64_t groups = 1;
};
/// Of the transposed convolutions.
struct ConvTransposeOptions {
  PerAxis stride = 1, padding = 0, output_padding = 0;
  std::int64_t groups = 1;
  PerAxis dilation = 1;
};
/// Of unfold() and fold().
struct UnfoldOptions {
  PerAxis dilation = 1, padding = 0, stride = 1;
};
/// Of max_pool1d() and its kin.
struct MaxPoolOptions {
  std::optional<PerAxis> stride = {};  ///< none: the kernel's size
  PerAxis padding = 0, dilation = 1;
  bool ceil_mode = false;
};
/// Of avg_pool1d() and its kin.
struct AvgPoolOptions {
  std::optional<PerAxis> stride = {};
  PerAxis padding = 0;
  bool ceil_mode = false, count_include_pad = true;
  std::optional<std::int64_t> divisor_override = {};
};
/// Of lp_pool1d() and its kin.
struct LpPoolOptions {
  std::optional<PerAxis> stride = {};
  bool ceil_mode = false;
};
/// Of batch_norm().
struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1, eps = 1e-5;
};
/// Of local_response_norm().
struct LocalResponseNormOptions {
  double alpha = 1e-4, beta = 0.75, k = 1;
};
enum class BagMode : std::uint8_t { sum, mean, max };
/// Of embedding_bag().
template <class T>
struct BasicEmbeddingBagOptions {
  std::optional<T> offsets = {};  ///< where each bag begins; none: indices are (bags, size)
  BagMode mode = BagMode::mean;
  std::optional<T> per_sample_weights = {};        ///< of `sum` alone
  std::optional<std::int64_t> padding_index = {};  ///< belongs to no bag
  /// The same with each array as f gives it.
  template <class U, class F>
  BasicEmbeddingBagOptions<U> of(const F& f) const {
    return {f(offsets), mode, f(per_sample_weights), padding_index};
  }
};
/// Of scaled_dot_product_attention().
template <class T>
struct BasicAttentionOptions {
  std::optional<T> mask = {};        ///< bools: where to look; else what is added to scores
  bool causal = false;               ///< row i looks at columns up to i
  std::optional<double> scale = {};  ///< none: 1/sqrt(size of a query)
  bool enable_gqa = false;           ///< several heads of queries for one of keys and values
  double dropout = 0;                ///< which share of the weights is dropped, by chance
  /// The same with each array as f gives it.
  template <class U, class F>
  BasicAttentionOptions<U> of(const F& f) const {
    return {f(mask), causal, scale, enable_gqa, dropout};
  }
};
/// `batchmean`: the sum over the size of axis 0; of kl_div() alone.
enum class Reduction : std::uint8_t { none, mean, sum, batchmean };
/// Of cross_entropy().
template <class T>
struct BasicCrossEntropyOptions {
  std::optional<T> weight = {};  ///< of each class
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
  Reduction reduction = Reduction::mean;
  /// The same with each array as f gives it.
  template <class U, class F>
  BasicCrossEntropyOptions<U> of(const F& f) const {
    return {f(weight), ignore_index, label_smoothing, reduction};
  }
};
/// Of nll_loss().
template <class T>
struct BasicNllOptions {
  std::optional<T> weight = {};
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
  /// The same with each array as f gives it.
  template <class U, class F>
  BasicNllOptions<U> of(const F& f) const {
    return {f(weight), ignore_index, reduction};
  }
};
/// Of binary_cross_entropy() and binary_cross_entropy_with_logits().
template <class T>
struct BasicBinaryCrossEntropyOptions {
  std::optional<T> weight = {};
  Reduction reduction = Reduction::mean;
  std::optional<T> pos_weight = {};  ///< of positive targets; with_logits alone
  /// The same with each array as f gives it.
  template <class U, class F>
  BasicBinaryCrossEntropyOptions<U> of(const F& f) const {
    return {f(weight), reduction, f(pos_weight)};
  }
};
/// Of poisson_nll_loss().
struct PoissonNllOptions {
  bool log_input = true, full = false;
  double eps = 1e-8;
  Reduction reduction = Reduction::mean;
};
/// Of gaussian_nll_loss().
struct GaussianNllOptions {
  bool full = false;
  double eps = 1e-6;
  Reduction reduction = Reduction::mean;
};
/// Of triplet_margin_loss().
struct TripletMarginOptions {
  double margin = 1, p = 2, eps = 1e-6;
  bool swap = false;
  Reduction reduction = Reduction::mean;
};
/// Of triplet_margin_with_distance_loss().
template <class T>
struct BasicTripletDistanceOptions {
  std::function<T(const T&, const T&)> distance = {};  ///< none: pairwise_distance()
  double margin = 1;
  bool swap = false;
  Reduction reduction = Reduction::mean;
};
/// Of multi_margin_loss().
template <class T>
struct BasicMultiMarginOptions {
  int p = 1;  ///< or 2
  double margin = 1;
  std::optional<T> weight = {};  ///< of each class
  Reduction reduction = Reduction::mean;
  /// The same with each array as f gives it.
  template <class U, class F>
  BasicMultiMarginOptions<U> of(const F& f) const {
    return {p, margin, f(weight), reduction};
  }
};
/// Of ctc_loss().
struct CtcOptions {
  std::int64_t blank = 0;
  Reduction reduction = Reduction::mean;  ///< mean: of losses over the targets' lengths
  bool zero_infinity = false;             ///< impossible targets count 0, not infinity
  /// The longest target, where targets stand one after another; none: of tensors, it is read from the lengths.
  std::optional<std::int64_t> longest = {};
};
/// `area`: adaptive averages.
enum class Interpolation : std::uint8_t { nearest, nearest_exact, linear, cubic, area };
/// Of interpolate().
struct InterpolateOptions {
  std::optional<PerAxis> size = {};       ///< or
  std::vector<double> scale_factor = {};  ///< one for all axes, or one each
  Interpolation mode =
      Interpolation::nearest;  ///< linear and cubic along each axis: bilinear, trilinear, bicubic
  bool align_corners = false;
};
/// Of grid_sample().
struct GridSampleOptions {
  Interpolation mode = Interpolation::linear;  ///< linear, nearest or cubic (of two axes)
  enum class Outside : std::uint8_t { zeros, border, reflection } padding_mode = Outside::zeros;
  bool align_corners = false;  ///< -1 and 1 are the centres of the outermost elements, not their edges
};

namespace linalg {

/// What solve_triangular() takes for granted.
struct TriangularOptions {
  bool upper = false;          ///< which triangle is read
  bool unitriangular = false;  ///< the diagonal counts as 1
  bool left = true;            ///< a @ x == b, else x @ a == b
};

}  // namespace linalg

}  // namespace strata
