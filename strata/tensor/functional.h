// The functions of neural networks, free of modules: names and meanings are those of torch.nn.functional.
//
//   Tensor y = conv2d(x, w, bias, {.stride = 2, .padding = "same"}).relu();
//   Tensor loss = cross_entropy(logits, classes, {.label_smoothing = 0.1});
//
// Spatial inputs are (batch, channels, sizes...), or (channels, sizes...) for one. Options are structs, written with
// the names of what differs from the defaults. All throw Error (shape) for shapes that do not fit and (domain) for
// options out of range, with the operation's name and the values.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/tensor/tensor.h"

namespace strata {

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

// --- convolution (conv.cpp) ---

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

/// Of as many spatial axes as the weight (out channels, in channels / groups, kernel...) has. One reduction: a kernel
/// with what comes behind it.
Tensor conv_nd(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
               const ConvOptions& options = {}, At at = At::current());
Tensor conv1d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
              const ConvOptions& options = {}, At at = At::current());
Tensor conv2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
              const ConvOptions& options = {}, At at = At::current());
Tensor conv3d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
              const ConvOptions& options = {}, At at = At::current());
/// The weight is (in channels, out channels / groups, kernel...).
Tensor conv_transpose_nd(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
                         const ConvTransposeOptions& options = {}, At at = At::current());
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
                        const ConvTransposeOptions& options = {}, At at = At::current());
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
                        const ConvTransposeOptions& options = {}, At at = At::current());
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
                        const ConvTransposeOptions& options = {}, At at = At::current());

/// Of unfold() and fold().
struct UnfoldOptions {
  PerAxis dilation = 1, padding = 0, stride = 1;
};
/// The windows of two spatial axes as columns: (batch, channels * kernel, windows).
Tensor unfold(const Tensor& x, const PerAxis& kernel, const UnfoldOptions& options = {},
              At at = At::current());
/// Columns back where they came from, added up where windows overlap.
Tensor fold(const Tensor& columns, const PerAxis& output_size, const PerAxis& kernel,
            const UnfoldOptions& options = {}, At at = At::current());

// --- pooling (pool.cpp) ---

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
Tensor max_pool1d(const Tensor& x, const PerAxis& kernel, const MaxPoolOptions& options = {},
                  At at = At::current());
Tensor max_pool2d(const Tensor& x, const PerAxis& kernel, const MaxPoolOptions& options = {},
                  At at = At::current());
Tensor max_pool3d(const Tensor& x, const PerAxis& kernel, const MaxPoolOptions& options = {},
                  At at = At::current());
/// With the places of the largest (i64), counted over all spatial axes, row-major; the first of equal ones.
std::pair<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, const PerAxis& kernel,
                                                  const MaxPoolOptions& options = {},
                                                  At at = At::current());
std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, const PerAxis& kernel,
                                                  const MaxPoolOptions& options = {},
                                                  At at = At::current());
std::pair<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, const PerAxis& kernel,
                                                  const MaxPoolOptions& options = {},
                                                  At at = At::current());
Tensor avg_pool1d(const Tensor& x, const PerAxis& kernel, const AvgPoolOptions& options = {},
                  At at = At::current());
Tensor avg_pool2d(const Tensor& x, const PerAxis& kernel, const AvgPoolOptions& options = {},
                  At at = At::current());
Tensor avg_pool3d(const Tensor& x, const PerAxis& kernel, const AvgPoolOptions& options = {},
                  At at = At::current());
Tensor adaptive_avg_pool1d(const Tensor& x, const PerAxis& output_size, At at = At::current());
Tensor adaptive_avg_pool2d(const Tensor& x, const PerAxis& output_size, At at = At::current());
Tensor adaptive_max_pool1d(const Tensor& x, const PerAxis& output_size, At at = At::current());
Tensor adaptive_max_pool2d(const Tensor& x, const PerAxis& output_size, At at = At::current());
Tensor adaptive_avg_pool3d(const Tensor& x, const PerAxis& output_size, At at = At::current());
Tensor adaptive_max_pool3d(const Tensor& x, const PerAxis& output_size, At at = At::current());
std::pair<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& x, const PerAxis& output_size,
                                                           At at = At::current());
std::pair<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& x, const PerAxis& output_size,
                                                           At at = At::current());
std::pair<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& x, const PerAxis& output_size,
                                                           At at = At::current());
/// Of lp_pool1d() and its kin.
struct LpPoolOptions {
  std::optional<PerAxis> stride = {};
  bool ceil_mode = false;
};
/// (sum x^p)^(1/p) of each window.
Tensor lp_pool1d(const Tensor& x, double p, const PerAxis& kernel,
                 const LpPoolOptions& options = {}, At at = At::current());
Tensor lp_pool2d(const Tensor& x, double p, const PerAxis& kernel,
                 const LpPoolOptions& options = {}, At at = At::current());
Tensor lp_pool3d(const Tensor& x, double p, const PerAxis& kernel,
                 const LpPoolOptions& options = {}, At at = At::current());
/// Values where their indices (of max_pool2d_with_indices) say, zeros elsewhere. `output_size` defaults to the least
/// that fits.
Tensor max_unpool2d(const Tensor& x, const Tensor& indices, const PerAxis& kernel,
                    const std::optional<PerAxis>& stride = {}, const PerAxis& padding = 0,
                    const std::optional<PerAxis>& output_size = {}, At at = At::current());
Tensor max_unpool1d(const Tensor& x, const Tensor& indices, const PerAxis& kernel,
                    const std::optional<PerAxis>& stride = {}, const PerAxis& padding = 0,
                    const std::optional<PerAxis>& output_size = {}, At at = At::current());
Tensor max_unpool3d(const Tensor& x, const Tensor& indices, const PerAxis& kernel,
                    const std::optional<PerAxis>& stride = {}, const PerAxis& padding = 0,
                    const std::optional<PerAxis>& output_size = {}, At at = At::current());

// --- normalization (norm.cpp) ---

/// Of batch_norm().
struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1, eps = 1e-5;
};
/// Over all but axis 1. In training with the batch's mean and variance, which running ones, where given, move towards
/// (they are assigned to); else with the running ones.
Tensor batch_norm(const Tensor& x, const std::optional<Tensor>& running_mean,
                  const std::optional<Tensor>& running_var,
                  const std::optional<Tensor>& weight = {}, const std::optional<Tensor>& bias = {},
                  const BatchNormOptions& options = {}, At at = At::current());
/// Over the last dimensions, whose sizes are given.
Tensor layer_norm(const Tensor& x, const Ints& normalized_shape,
                  const std::optional<Tensor>& weight = {}, const std::optional<Tensor>& bias = {},
                  double eps = 1e-5, At at = At::current());
Tensor rms_norm(const Tensor& x, const Ints& normalized_shape,
                const std::optional<Tensor>& weight = {}, std::optional<double> eps = {},
                At at = At::current());
Tensor group_norm(const Tensor& x, std::int64_t groups, const std::optional<Tensor>& weight = {},
                  const std::optional<Tensor>& bias = {}, double eps = 1e-5, At at = At::current());
Tensor instance_norm(const Tensor& x, const std::optional<Tensor>& weight = {},
                     const std::optional<Tensor>& bias = {}, double eps = 1e-5, At at = At::current());
/// Of local_response_norm().
struct LocalResponseNormOptions {
  double alpha = 1e-4, beta = 0.75, k = 1;
};
Tensor local_response_norm(const Tensor& x, std::int64_t size,
                           const LocalResponseNormOptions& options = {}, At at = At::current());
/// x over its norm along an axis, which counts as eps where it is less.
Tensor normalize(const Tensor& x, double p = 2, std::int64_t axis = 1, double eps = 1e-12,
                 At at = At::current());

// --- layers and similarities (attention.cpp) ---

/// x @ weight.t() + bias.
Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
              At at = At::current());
/// a[i] @ weight[k] @ b[i] + bias[k] of (..., n) and (..., m) by a weight (out, n, m).
Tensor bilinear(const Tensor& a, const Tensor& b, const Tensor& weight,
                const std::optional<Tensor>& bias = {}, At at = At::current());
/// Rows of the weight by number: NaN where it has none of that number (0 where it is of integers). The row `padding_index` takes no
/// gradient.
Tensor embedding(const Tensor& indices, const Tensor& weight,
                 std::optional<std::int64_t> padding_index = {}, At at = At::current());
enum class BagMode : std::uint8_t { sum, mean, max };
/// Of embedding_bag().
struct EmbeddingBagOptions {
  std::optional<Tensor> offsets = {};  ///< where each bag begins; none: indices are (bags, size)
  BagMode mode = BagMode::mean;
  std::optional<Tensor> per_sample_weights = {};   ///< of `sum` alone
  std::optional<std::int64_t> padding_index = {};  ///< belongs to no bag
};
/// Rows of the weight by number, put together in bags. A bag of none is 0.
Tensor embedding_bag(const Tensor& indices, const Tensor& weight,
                     const EmbeddingBagOptions& options = {}, At at = At::current());
/// x where it is above 0, else x * weight, which has one element or one a channel (axis 1).
Tensor prelu(const Tensor& x, const Tensor& weight, At at = At::current());
/// (batch, groups * n, ...) with the channels of the groups in turns.
Tensor channel_shuffle(const Tensor& x, std::int64_t groups, At at = At::current());
/// Of scaled_dot_product_attention().
struct AttentionOptions {
  std::optional<Tensor> mask = {};   ///< bools: where to look; else what is added to scores
  bool causal = false;               ///< row i looks at columns up to i
  std::optional<double> scale = {};  ///< none: 1/sqrt(size of a query)
  bool enable_gqa = false;           ///< several heads of queries for one of keys and values
  double dropout = 0;                ///< which share of the weights is dropped, by chance
};
/// softmax(q @ k.t() * scale + mask) @ v of (..., length, size). A row that may look nowhere gives zeros.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options = {}, At at = At::current());
/// The first half of an axis times the sigmoid of the second.
Tensor glu(const Tensor& x, std::int64_t axis = -1, At at = At::current());
Tensor softmin(const Tensor& x, std::int64_t axis = -1, At at = At::current());
Tensor cosine_similarity(const Tensor& a, const Tensor& b, std::int64_t axis = 1, double eps = 1e-8,
                         At at = At::current());
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2, double eps = 1e-6,
                         bool keepdim = false, At at = At::current());
/// The distances of each two rows of (n, size), in the order (0, 1), (0, 2), ..., (1, 2), ...
Tensor pdist(const Tensor& x, double p = 2, At at = At::current());

// --- losses (loss.cpp) ---

/// `batchmean`: the sum over the size of axis 0; of kl_div() alone.
enum class Reduction : std::uint8_t { none, mean, sum, batchmean };

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean,
                At at = At::current());
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean,
               At at = At::current());
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta = 1,
                      Reduction reduction = Reduction::mean, At at = At::current());
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1,
                  Reduction reduction = Reduction::mean, At at = At::current());
/// Of cross_entropy().
struct CrossEntropyOptions {
  std::optional<Tensor> weight = {};  ///< of each class
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
  Reduction reduction = Reduction::mean;
};
/// Of scores whose classes are axis 1 (axis 0 of a vector). Targets are classes (integers) or probabilities (floats). What is no class
/// (but ignore_index) gives NaN, and so do the gradients of its row.
/// @throws Error (shape) with the class, its place and the range where the host has the targets at the call; and so do all losses
///   that take classes
Tensor cross_entropy(const Tensor& x, const Tensor& target, const CrossEntropyOptions& options = {},
                     At at = At::current());
/// Of nll_loss().
struct NllOptions {
  std::optional<Tensor> weight = {};
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
/// The same of log-probabilities.
Tensor nll_loss(const Tensor& x, const Tensor& target, const NllOptions& options = {},
                At at = At::current());
/// Of binary_cross_entropy() and binary_cross_entropy_with_logits().
struct BinaryCrossEntropyOptions {
  std::optional<Tensor> weight = {};
  Reduction reduction = Reduction::mean;
  std::optional<Tensor> pos_weight = {};  ///< of positive targets; with_logits alone
};
/// Logarithms count as -100 where they are less.
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target,
                            const BinaryCrossEntropyOptions& options = {}, At at = At::current());
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options = {},
                                        At at = At::current());
/// target * (log(target) - x), x being log-probabilities, and targets, too, where log_target says so.
Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean,
              bool log_target = false, At at = At::current());
/// Of poisson_nll_loss().
struct PoissonNllOptions {
  bool log_input = true, full = false;
  double eps = 1e-8;
  Reduction reduction = Reduction::mean;
};
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target,
                        const PoissonNllOptions& options = {}, At at = At::current());
/// Of gaussian_nll_loss().
struct GaussianNllOptions {
  bool full = false;
  double eps = 1e-6;
  Reduction reduction = Reduction::mean;
};
Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var,
                         const GaussianNllOptions& options = {}, At at = At::current());
Tensor soft_margin_loss(const Tensor& x, const Tensor& target,
                        Reduction reduction = Reduction::mean, At at = At::current());
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1,
                            Reduction reduction = Reduction::mean, At at = At::current());
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin = 0,
                             Reduction reduction = Reduction::mean, At at = At::current());
Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin = 0,
                           Reduction reduction = Reduction::mean, At at = At::current());
/// Of triplet_margin_loss().
struct TripletMarginOptions {
  double margin = 1, p = 2, eps = 1e-6;
  bool swap = false;
  Reduction reduction = Reduction::mean;
};
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options = {}, At at = At::current());
using DistanceFunction = std::function<Tensor(const Tensor&, const Tensor&)>;
/// Of triplet_margin_with_distance_loss().
struct TripletDistanceOptions {
  DistanceFunction distance = {};  ///< none: pairwise_distance()
  double margin = 1;
  bool swap = false;
  Reduction reduction = Reduction::mean;
};
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive,
                                         const Tensor& negative,
                                         const TripletDistanceOptions& options = {},
                                         At at = At::current());
/// Of multi_margin_loss().
struct MultiMarginOptions {
  int p = 1;  ///< or 2
  double margin = 1;
  std::optional<Tensor> weight = {};  ///< of each class
  Reduction reduction = Reduction::mean;
};
/// Of scores (batch, classes), or (classes), and each one's class: NaN for none. @throws as cross_entropy()
Tensor multi_margin_loss(const Tensor& x, const Tensor& target,
                         const MultiMarginOptions& options = {}, At at = At::current());
/// Targets are classes, as many as stand in front of a row's first -1: NaN for rows with what is neither. @throws as cross_entropy()
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target,
                              Reduction reduction = Reduction::mean, At at = At::current());
/// Targets are 0 or 1 for each class.
Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target,
                                   const std::optional<Tensor>& weight = {},
                                   Reduction reduction = Reduction::mean, At at = At::current());
/// Of ctc_loss().
struct CtcOptions {
  std::int64_t blank = 0;
  Reduction reduction = Reduction::mean;  ///< mean: of losses over the targets' lengths
  bool zero_infinity = false;             ///< impossible targets count 0, not infinity
};
/// Connectionist temporal classification: -log of what all alignments of a target sum up to.
/// @param log_probs (steps, batch, classes), or (steps, classes)
/// @param targets (batch, longest), or all one after another, which reads target_lengths
/// @post NaN where a class of a target is none, or a length is more than there is; so are gradients. @throws as cross_entropy()
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options = {}, At at = At::current());

// --- sizes and grids (interpolate.cpp, grid.cpp) ---

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
Tensor interpolate(const Tensor& x, const InterpolateOptions& options, At at = At::current());

/// The places in [-1, 1] that matrices (batch, n, n + 1) take those of an output (batch, channels, sizes...) of n axes to:
/// (batch, sizes..., n), the last axis first.
Tensor affine_grid(const Tensor& matrices, const Ints& size, bool align_corners = false,
                   At at = At::current());
/// Of grid_sample().
struct GridSampleOptions {
  Interpolation mode = Interpolation::linear;  ///< linear, nearest or cubic (of two axes)
  enum class Outside : std::uint8_t { zeros, border, reflection } padding_mode = Outside::zeros;
  bool align_corners = false;  ///< -1 and 1 are the centres of the outermost elements, not their edges
};
/// x (batch, channels, sizes...), of two spatial axes or three, at the places of a grid (batch, sizes..., axes).
Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options = {},
                   At at = At::current());

}  // namespace strata
