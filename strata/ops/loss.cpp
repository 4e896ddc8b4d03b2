// Loss functions: classification, regression, distributions, embeddings. margin_loss.cpp and ctc.cpp have further ones.

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "strata/ops/at_hand.h"
#include "strata/ops/functional.h"
#include "strata/ops/indexed.h"
#include "strata/ops/losses.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

Value reduced_losses(const Value& losses, Reduction how) {
  STRATA_CHECK(how != Reduction::batchmean, domain, "[loss] the reduction batchmean is for kl_div() alone");
  if (how == Reduction::none) return losses;
  return how == Reduction::sum ? losses.sum() : losses.mean();
}

namespace {

/// Both operands, broadcast to one shape and cast to one float dtype.
std::pair<Value, Value> promoted(const char* operation, const Value& a, const Value& b) {
  const Operand left(a), right(b);
  const DType dtype = promoted_dtype(std::array{&left, &right});
  const auto [x, y] = promote_operands(operation, {&left, &right}, dtype.is_float() ? dtype : dtypes::float32);
  return {x, y};
}

void check_same(const char* operation, const Value& x, const Value& target) {
  STRATA_CHECK(x.shape() == target.shape(), shape, "[", operation, "] an input of shape ", render(x.shape()),
               " does not match a target of shape ", render(target.shape()));
}

// --- classes ---

/// The class axis of scores or log-probabilities, and the weights of the classes.
struct Classes {
  Classes(const char* operation, const Value& x, const std::optional<Value>& class_weight)
      : axis(x.ndim() == 1 ? 0 : 1) {
    STRATA_CHECK(x.ndim() > 0, shape, "[", operation, "] the input is a scalar: at least one dimension is needed");
    count = number_of(x.size(axis), operation);
    sizes = Ints(x.shape().size(), 1);
    sizes[static_cast<std::size_t>(axis)] = count;
    if (!class_weight) return;
    STRATA_CHECK(class_weight->shape() == Ints{count}, shape, "[", operation, "] a weight of shape ",
                 render(class_weight->shape()), " does not match ", count, " classes");
    weight = class_weight->reshape(sizes);
  }
  std::int64_t axis, count = 0;
  Ints sizes;  // the shape of a tensor along the class axis: 1 elsewhere
  std::optional<Value> weight;
};

Value mean_or_sum(const Value& losses, const Value& weights, Reduction how) {
  if (how == Reduction::mean)
    return rounded_once(losses, [&](const Value& x) { return x.sum() / weights.cast(x.dtype()).sum(); });
  return reduced_losses(losses, how);
}

void check_classes(const char* operation, const Value& logs, const Value& target, const Classes& c) {
  STRATA_CHECK(target.dtype().is_int(), domain, "[", operation, "] the classes have dtype ", target.dtype().name(),
               "; an integer dtype is expected");
  Ints expected;
  for (std::int64_t k = 0; k < logs.ndim(); ++k)
    if (k != c.axis) expected.push_back(logs.size(k));
  STRATA_CHECK(target.shape() == expected, shape, "[", operation, "] an input of shape ", render(logs.shape()),
               " does not match classes of shape ", render(target.shape()), "; ", render(expected), " is expected");
}

/// The targets' classes as i64, and a mask of those that are not ignored.
struct Labels {
  Labels(const Value& target, std::int64_t ignore_index)
      : number(target.cast(dtypes::int64)),
        // NOTE: unsigned classes of 2^63 and more become negative as i64; they must not match a negative ignore_index.
        is_valid(target.dtype().is_unsigned() && ignore_index < 0 ? number.eq(number) : number.ne(ignore_index)) {}
  Value number, is_valid;
};

/// -log(probability of the target's class), mixed with the mean over classes by label smoothing. A target out of range
/// gives NaN, also for all gradients of its row: it selects all classes, with the factor NaN.
Value of_classes(const char* operation, const Value& logs, const Value& target, const CrossEntropyOptions& o) {
  const Classes c(operation, logs, o.weight);
  check_classes(operation, logs, target, c);
  const IndexRange range{operation, "class", c.count, false, o.ignore_index};
  check_at_hand(target, range);
  const auto [number, is_valid] = Labels(in_range(target, range), o.ignore_index);
  const Value is_none = is_valid & is_within(number, c.count).logical_not();
  const Value is_it = number.unsqueeze(c.axis).eq(counting(c.count).reshape(c.sizes));
  const Value counts = c.weight ? is_it.where(*c.weight, 0).sum(c.axis) : is_valid.cast(logs.dtype());
  const Value weights = is_valid.where(counts, 0);
  const Value factors = is_none.where(std::numeric_limits<double>::quiet_NaN(), weights);
  const Value taken = is_it | is_none.unsqueeze(c.axis);
  Value losses = taken.where(logs, 0).sum(c.axis).neg() * factors;
  if (o.label_smoothing != 0) {
    const Value all = (c.weight ? logs * *c.weight : logs).sum(c.axis).neg();
    const double share = o.label_smoothing / static_cast<double>(c.count);
    losses = losses * (1 - o.label_smoothing) + is_valid.where(all, 0) * share;
  }
  return mean_or_sum(is_valid.where(losses, 0), weights, o.reduction);
}

Value of_probabilities(const Value& logs, const Value& target, const CrossEntropyOptions& o) {
  const Classes c("cross_entropy", logs, o.weight);
  check_same("cross_entropy", logs, target);
  Value p = target;
  if (o.label_smoothing != 0) p = p * (1 - o.label_smoothing) + o.label_smoothing / static_cast<double>(c.count);
  if (c.weight) p = p * *c.weight;
  return reduced_losses((logs * p).sum(c.axis).neg(), o.reduction);
}

/// -log(sigmoid(x)).
Value minus_log_sigmoid(const Value& x) { return x.logsigmoid().neg(); }

}  // namespace

Value mse_loss(const Value& x, const Value& target, Reduction reduction) {
  return reduced_losses((as_real(x, target) - target).square(), reduction);
}
Value l1_loss(const Value& x, const Value& target, Reduction reduction) {
  return reduced_losses((as_real(x, target) - target).abs(), reduction);
}
Value smooth_l1_loss(const Value& x, const Value& target, double beta, Reduction reduction) {
  STRATA_CHECK(beta >= 0, domain, "[smooth_l1_loss] beta is ", beta, "; 0 or more is expected");
  if (beta == 0) return l1_loss(x, target, reduction);
  return reduced_losses(huber_loss(x, target, beta, Reduction::none) / beta, reduction);
}
Value huber_loss(const Value& x, const Value& target, double delta, Reduction reduction) {
  STRATA_CHECK(delta > 0, domain, "[huber_loss] delta is ", delta, "; more than 0 is expected");
  const Value d = (as_real(x, target) - target).abs();
  return reduced_losses(d.lt(delta).where(d.square() * 0.5, (d - 0.5 * delta) * delta), reduction);
}

Value cross_entropy(const Value& x, const Value& target, const CrossEntropyOptions& options) {
  STRATA_CHECK(options.label_smoothing >= 0 && options.label_smoothing <= 1, domain,
               "[cross_entropy] the label smoothing is ", options.label_smoothing, "; 0 to 1 is expected");
  STRATA_CHECK(x.ndim() > 0, shape, "[cross_entropy] the input is a scalar: at least one dimension is needed");
  const Value logs = x.log_softmax(x.ndim() == 1 ? 0 : 1);
  if (!target.dtype().is_float()) return of_classes("cross_entropy", logs, target, options);
  return of_probabilities(logs, target, options);
}
Value nll_loss(const Value& x, const Value& target, const NllOptions& options) {
  return of_classes("nll_loss", as_real(x), target,
                    {.weight = options.weight, .ignore_index = options.ignore_index, .reduction = options.reduction});
}

/// NOTE: logarithms are clamped to -100 before the multiplication, because 0 * -infinity is NaN.
Value binary_cross_entropy(const Value& input, const Value& target, const BinaryCrossEntropyOptions& options) {
  STRATA_CHECK(!options.pos_weight, domain,
               "[binary_cross_entropy] a weight of positive targets is given: "
               "binary_cross_entropy_with_logits() takes one");
  check_same("binary_cross_entropy", input, target);
  const auto [x, y] = promoted("binary_cross_entropy", input, target);
  const auto log_of = [](const Value& p) { return p.log().maximum(-100); };
  const Value losses = ((y - 1) * log_of(1 - x) - y * log_of(x));
  return reduced_losses(options.weight ? losses * *options.weight : losses, options.reduction);
}
Value binary_cross_entropy_with_logits(const Value& input, const Value& target,
                                       const BinaryCrossEntropyOptions& options) {
  check_same("binary_cross_entropy_with_logits", input, target);
  const auto [x, y] = promoted("binary_cross_entropy_with_logits", input, target);
  const Value log_part = minus_log_sigmoid(x);
  const Value losses = (1 - y) * x + (options.pos_weight ? ((*options.pos_weight - 1) * y + 1) * log_part : log_part);
  return reduced_losses(options.weight ? losses * *options.weight : losses, options.reduction);
}

Value kl_div(const Value& input, const Value& target, Reduction reduction, bool log_target) {
  const auto [x, y] = promoted("kl_div", input, target);
  const Value losses = log_target ? y.exp() * (y - x) : y.xlogy(y) - y * x;
  if (reduction != Reduction::batchmean) return reduced_losses(losses, reduction);
  STRATA_CHECK(losses.ndim() > 0, shape, "[kl_div] a batch is expected, not a scalar");
  return losses.sum() / static_cast<double>(number_of(losses.size(0), "kl_div"));
}

/// `full` adds Stirling's formula for log(target!) where the target is above 1.
Value poisson_nll_loss(const Value& input, const Value& target, const PoissonNllOptions& options) {
  const auto [x, y] = promoted("poisson_nll_loss", input, target);
  Value losses = options.log_input ? x.exp() - y * x : x - y * (x + options.eps).log();
  if (options.full) {
    const Value safe = y.gt(1).where(y, 1);
    const Value stirling = safe * safe.log() - safe + (safe * (2 * std::numbers::pi)).log() * 0.5;
    losses = losses + y.gt(1).where(stirling, 0);
  }
  return reduced_losses(losses, options.reduction);
}

/// The last axis of the variance may have size 1 or be missing. Where the variance is below eps its gradient is 0.
Value gaussian_nll_loss(const Value& x, const Value& target, const Value& var, const GaussianNllOptions& options) {
  const bool lacks_axis = var.ndim() > 0 && var.ndim() + 1 == x.ndim();
  const Value v = (lacks_axis ? var.unsqueeze(-1) : var).maximum(options.eps);
  Value losses = (v.log() + (as_real(x, target) - target).square() / v) * 0.5;
  if (options.full) losses = losses + 0.5 * std::log(2 * std::numbers::pi);
  return reduced_losses(losses, options.reduction);
}

Value soft_margin_loss(const Value& x, const Value& target, Reduction reduction) {
  return reduced_losses(minus_log_sigmoid(as_real(x, target) * target), reduction);
}
/// x where the target is 1, max(0, margin - x) where it is -1, and the sum of both for other targets.
Value hinge_embedding_loss(const Value& x, const Value& target, double margin, Reduction reduction) {
  const Value near = target.ne(-1).where(x, 0), far = target.ne(1).where((margin - x).maximum(0), 0);
  return reduced_losses(near + far, reduction);
}
Value cosine_embedding_loss(const Value& a, const Value& b, const Value& target, double margin, Reduction reduction) {
  const auto [x, y] = promoted("cosine_embedding_loss", a, b);
  const double eps = 1e-12;
  const auto squares = [&](const Value& t) { return t.square().sum(-1) + eps; };
  const Value cosine = (x * y).sum(-1) / (squares(x) * squares(y)).sqrt();
  const Value near = target.eq(1).where(1 - cosine, 0), far = target.eq(-1).where((cosine - margin).maximum(0), 0);
  return reduced_losses(near + far, reduction);
}
Value margin_ranking_loss(const Value& a, const Value& b, const Value& target, double margin, Reduction reduction) {
  return reduced_losses(((as_real(b, a) - a) * target + margin).maximum(0), reduction);
}
Value triplet_margin_loss(const Value& anchor, const Value& positive, const Value& negative,
                          const TripletMarginOptions& options) {
  const auto distance = [&](const Value& a, const Value& b) { return pairwise_distance(a, b, options.p, options.eps); };
  const Value apart = distance(anchor, negative);
  const Value far = options.swap ? apart.minimum(distance(positive, negative)) : apart;
  return reduced_losses((distance(anchor, positive) - far + options.margin).maximum(0), options.reduction);
}

}  // namespace strata::ops
