// Losses of margins between classes, and of distances.

#include <limits>

#include "strata/tensor/access.h"
#include "strata/tensor/at_hand.h"
#include "strata/tensor/functional.h"
#include "strata/tensor/indexed.h"
#include "strata/tensor/losses.h"

namespace strata {

Tensor nan_where(const Tensor& wrong, const Tensor& x) {
  return x * wrong.where(std::numeric_limits<double>::quiet_NaN(), x.new_ones({}));
}

namespace {

/// Scores as (batch, classes).
Tensor scores_of(const char* operation, const Tensor& x) {
  STRATA_CHECK(x.ndim() == 1 || x.ndim() == 2, shape, "[", operation, "] an input of shape ",
               render(x.shape()), ", where (batch, classes) or (classes) is expected");
  return as_real(x.ndim() == 1 ? x.unsqueeze(0) : x);
}
/// Without a batch that the input had not.
Tensor of_batch(const Tensor& losses, const Tensor& x) {
  return x.ndim() == 1 ? losses.squeeze(0) : losses;
}

void check_integers(const char* operation, const Tensor& target) {
  STRATA_CHECK(target.dtype().is_int(), domain, "[", operation, "] classes of ",
               target.dtype().name(), ": integers are expected");
}

}  // namespace

Tensor multi_margin_loss(const Tensor& input, const Tensor& target,
                         const MultiMarginOptions& options, At at) {
  const OriginScope scope("multi_margin_loss", at);
  check_integers("multi_margin_loss", target);
  STRATA_CHECK(options.p == 1 || options.p == 2, domain, "[multi_margin_loss] the power ",
               options.p, ", where 1 or 2 is expected");
  const Tensor scores = scores_of("multi_margin_loss", input);
  STRATA_CHECK(target.ndim() <= 1 &&
                   (input.ndim() == 1 ? target.numel() : target.atleast_1d().size(0)) == scores.size(0),
               shape, "[multi_margin_loss] an input of shape ", render(input.shape()),
               " and classes of shape ", render(target.shape()));
  const std::int64_t classes = number_of(scores.size(1), "multi_margin_loss");
  const IndexRange range{"multi_margin_loss", "class", classes};
  check_at_hand(target, range);
  const Tensor given = in_range(target, range).reshape({-1, 1}).cast(dtypes::int64);
  const Tensor is_class = is_within(given, classes), own = is_class.where(given, 0);
  const Tensor is_none = is_class.logical_not(), x = nan_where(is_none, scores);
  Tensor margins = (x - x.gather(1, own) + options.margin).relu();
  if (options.p == 2) margins = margins.square();
  if (options.weight) {
    STRATA_CHECK(options.weight->shape() == Ints{classes}, shape,
                 "[multi_margin_loss] a weight of shape ", render(options.weight->shape()), " for ",
                 classes, " classes");
    margins = margins * options.weight->take(own);
  }
  const Tensor losses = own.eq(counting(classes, x)).where(0, margins).sum(1) / classes;
  return reduced_losses(of_batch(nan_where(is_none.squeeze(1), losses), input), options.reduction);
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, Reduction reduction, At at) {
  const OriginScope scope("multilabel_margin_loss", at);
  check_integers("multilabel_margin_loss", target);
  STRATA_CHECK(input.shape() == target.shape(), shape, "[multilabel_margin_loss] an input of shape ",
               render(input.shape()), " and a target of shape ", render(target.shape()));
  const Tensor scores = scores_of("multilabel_margin_loss", input);
  const std::int64_t count = number_of(scores.size(1), "multilabel_margin_loss");
  const IndexRange range{"multilabel_margin_loss", "class", count, false, -1};
  check_at_hand(target, range);
  const Tensor given = in_range(target, range).reshape(scores.shape()).cast(dtypes::int64);
  const bool ends = !target.dtype().is_unsigned();  // what is unsigned is no -1, however large
  const Tensor is_none = is_within(given, count).logical_not();
  const Tensor is_wrong = ends ? is_none & given.ne(-1) : is_none, is_bad = is_wrong.any(1, true);
  const Tensor x = nan_where(is_bad, scores), classes = is_wrong.where(0, given);
  const Tensor is_asked = classes.lt(0).cast(dtypes::int64).cumsum(1).eq(0);
  const Tensor own = x.gather(1, is_asked.where(classes, 0));
  const Tensor is_class = classes.unsqueeze(2).eq(counting(count, x)) & is_asked.unsqueeze(2);
  const Tensor is_target = is_class.any(1, true);  // (batch, 1, classes)
  const Tensor margins = (x.unsqueeze(1) - own.unsqueeze(2) + 1).relu();
  const Tensor counted = is_asked.unsqueeze(2) & is_target.logical_not();
  const Tensor losses = counted.where(margins, 0).sum({1, 2}) / count;
  return reduced_losses(of_batch(nan_where(is_bad.squeeze(1), losses), input), reduction);
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const std::optional<Tensor>& weight, Reduction reduction, At at) {
  const OriginScope scope("multilabel_soft_margin_loss", at);
  STRATA_CHECK(input.shape() == target.shape() && input.ndim() > 0, shape,
               "[multilabel_soft_margin_loss] an input of shape ", render(input.shape()),
               " and a target of shape ", render(target.shape()));
  const Tensor x = as_real(input);
  const Tensor each =
      (target * x.logsigmoid() + (1 - as_real(target, x)) * x.neg().logsigmoid()).neg();
  return reduced_losses((weight ? each * *weight : each).mean(-1), reduction);
}

Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive,
                                         const Tensor& negative,
                                         const TripletDistanceOptions& options, At at) {
  const OriginScope scope("triplet_margin_with_distance_loss", at);
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return options.distance ? options.distance(a, b) : pairwise_distance(a, b);
  };
  const Tensor near = distance(anchor, positive), apart = distance(anchor, negative);
  const Tensor far = options.swap ? apart.minimum(distance(positive, negative)) : apart;
  return reduced_losses((near - far + options.margin).clip(0), options.reduction);
}

}  // namespace strata
