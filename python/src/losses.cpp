// Binds losses, under the names of torch.nn.functional, and as methods of the prediction.
#include "python/src/call.h"

namespace strata::python {

namespace {

using MaybeWeight = std::optional<Tensor>;

Tensor triplet_with_distance(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                             const py::object& distance, double margin, bool swap, Reduction reduction) {
  TripletDistanceOptions options{.margin = margin, .swap = swap, .reduction = reduction};
  if (!distance.is_none() && PyCallable_Check(distance.ptr()) == 0)
    Given{distance.ptr(), "triplet_margin_with_distance_loss", "distance_function"}.refuse("a function");
  if (!distance.is_none())
    options.distance = [distance](const Tensor& a, const Tensor& b) {
      return py::cast<Tensor>(distance(object_of(a), object_of(b)));
    };
  return triplet_margin_with_distance_loss(anchor, positive, negative, options);
}

/// tinygrad's sparse_categorical_crossentropy: targets are class numbers; those equal to ignore_index (-1) are left
/// out.
Tensor by_classes(const Tensor& x, const Tensor& target, std::int64_t ignore_index, double label_smoothing,
                  Reduction reduction) {
  const Tensor scores = x.ndim() > 2 ? x.movedim({-1}, {1}) : x;
  return cross_entropy(scores, target,
                       {.ignore_index = ignore_index, .label_smoothing = label_smoothing, .reduction = reduction});
}

void bind_distances(Functions& f) {
  f.op(
      "smooth_l1_loss", "target, *, reduction='mean', beta=1.0",
      [](const Tensor& x, const Tensor& t, Reduction r, double beta) { return smooth_l1_loss(x, t, beta, r); },
      "The smooth L1 loss: quadratic where |x - target| < beta, linear elsewhere.");
  f.op(
      "huber_loss", "target, *, reduction='mean', delta=1.0",
      [](const Tensor& x, const Tensor& t, Reduction r, double delta) { return huber_loss(x, t, delta, r); },
      "The Huber loss: delta * smooth_l1_loss() with beta = delta.");
  f.op(
      "triplet_margin_loss", "positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, reduction='mean'",
      [](const Tensor& a, const Tensor& p, const Tensor& n, double margin, double norm, double eps, bool swap,
         Reduction r) {
        return triplet_margin_loss(a, p, n, {.margin = margin, .p = norm, .eps = eps, .swap = swap, .reduction = r});
      },
      "max(0, d(x, positive) - d(x, negative) + margin), where d is pairwise_distance() with "
      "`p` and `eps`.");
  f.op("triplet_margin_with_distance_loss",
       "positive, negative, *, distance_function|distance=None, margin=1.0, swap=False, "
       "reduction='mean'",
       &triplet_with_distance,
       "triplet_margin_loss() with a distance function of two tensors. `distance_function` "
       "defaults to pairwise_distance().");
}

void bind_likelihoods(Functions& f) {
  f.op(
      "cross_entropy", "target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0",
      [](const Tensor& x, const Tensor& t, const MaybeWeight& w, std::int64_t ignore, Reduction r, double smoothing) {
        return cross_entropy(x, t, {.weight = w, .ignore_index = ignore, .label_smoothing = smoothing, .reduction = r});
      },
      "The cross entropy of scores (logits). The classes are axis 1 (axis 0 of a vector). "
      "Targets are class numbers (integers) or probabilities (floats). A target that is not a "
      "class and not `ignore_index` gives NaN. Raises ShapeError instead if the targets are in "
      "host memory at the call.");
  f.op("sparse_categorical_crossentropy", "target|Y, ignore_index=-1, label_smoothing=0.0, reduction='mean'",
       &by_classes,
       "The cross entropy of scores (logits) whose classes are the last axis. Targets are class "
       "numbers. Targets equal to `ignore_index` do not count.");
  f.op(
      "nll_loss", "target, weight=None, ignore_index=-100, reduction='mean'",
      [](const Tensor& x, const Tensor& t, const MaybeWeight& w, std::int64_t ignore, Reduction r) {
        return nll_loss(x, t, {.weight = w, .ignore_index = ignore, .reduction = r});
      },
      "The negative log-likelihood: cross_entropy() of log-probabilities instead of scores.");
  f.op(
      "binary_cross_entropy", "target, weight=None, reduction='mean'",
      [](const Tensor& x, const Tensor& t, const MaybeWeight& w, Reduction r) {
        return binary_cross_entropy(x, t, {.weight = w, .reduction = r});
      },
      "-(target * log(x) + (1 - target) * log(1 - x)). Logarithms below -100 are replaced by "
      "-100.");
  f.op(
      "binary_cross_entropy_with_logits", "target, weight=None, reduction='mean', pos_weight=None",
      [](const Tensor& x, const Tensor& t, const MaybeWeight& w, Reduction r, const MaybeWeight& pos) {
        return binary_cross_entropy_with_logits(x, t, {.weight = w, .reduction = r, .pos_weight = pos});
      },
      "binary_cross_entropy() of sigmoid(x), computed without overflow.");
  f.op(
      "poisson_nll_loss", "target, log_input=True, full=False, eps=1e-08, reduction='mean'",
      [](const Tensor& x, const Tensor& t, bool log_input, bool full, double eps, Reduction r) {
        return poisson_nll_loss(x, t, {.log_input = log_input, .full = full, .eps = eps, .reduction = r});
      },
      "The negative log-likelihood of counts (Poisson distribution).");
  f.op(
      "gaussian_nll_loss", "target, var, full=False, eps=1e-06, reduction='mean'",
      [](const Tensor& x, const Tensor& t, const Tensor& var, bool full, double eps, Reduction r) {
        return gaussian_nll_loss(x, t, var, {.full = full, .eps = eps, .reduction = r});
      },
      "The negative log-likelihood of a normal distribution with mean x and variance `var`.");
  f.op(
      "multi_margin_loss", "target, p=1, margin=1.0, weight=None, reduction='mean'",
      [](const Tensor& x, const Tensor& t, std::int64_t p, double margin, const MaybeWeight& w, Reduction r) {
        return multi_margin_loss(x, t, {.p = static_cast<int>(p), .margin = margin, .weight = w, .reduction = r});
      },
      "max(0, margin - x[target] + x[k])**p, summed over the classes k other than the target "
      "and divided by the number of classes. `p` is 1 or 2.");
  f.op(
      "ctc_loss", "targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False",
      [](const Tensor& x, const Tensor& t, const Tensor& in, const Tensor& out, std::int64_t blank, Reduction r,
         bool zero_infinity) {
        return ctc_loss(x, t, in, out, {.blank = blank, .reduction = r, .zero_infinity = zero_infinity});
      },
      "Connectionist temporal classification loss of log-probabilities of shape (time, batch, "
      "classes). `targets` are class sequences without alignment to the steps; `blank` is the "
      "class of the blank. 'mean' averages each loss divided by the length of its target. With "
      "zero_infinity, the loss of an impossible target is 0, not infinity.");
}

}  // namespace

void bind_losses(Functions& f) {
  bind_distances(f);
  bind_likelihoods(f);
}

}  // namespace strata::python
