// Margin losses between classes, and triplet losses with a custom distance.

#include <limits>

#include "strata/ops/at_hand.h"
#include "strata/ops/functional.h"
#include "strata/ops/indexed.h"
#include "strata/ops/losses.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

Value nan_where(const Value& wrong, const Value& x) {
  return x * wrong.where(std::numeric_limits<double>::quiet_NaN(), x.new_ones({}));
}

namespace {

/// Scores as (batch, classes).
Value scores_of(const char* operation, const Value& x) {
  STRATA_CHECK(x.ndim() == 1 || x.ndim() == 2, shape, "[", operation, "] the input has shape ", render(x.shape()),
               "; (batch, classes) or (classes) is expected");
  return as_real(x.ndim() == 1 ? x.unsqueeze(0) : x);
}
/// `losses` without the batch dimension where the input x had none.
Value of_batch(const Value& losses, const Value& x) { return x.ndim() == 1 ? losses.squeeze(0) : losses; }

void check_integers(const char* operation, const Value& target) {
  STRATA_CHECK(target.dtype().is_int(), domain, "[", operation, "] the classes have dtype ", target.dtype().name(),
               "; an integer dtype is expected");
}

}  // namespace

Value multi_margin_loss(const Value& input, const Value& target, const MultiMarginOptions& options) {
  check_integers("multi_margin_loss", target);
  STRATA_CHECK(options.p == 1 || options.p == 2, domain, "[multi_margin_loss] the power p is ", options.p,
               "; 1 or 2 is expected");
  const Value scores = scores_of("multi_margin_loss", input);
  STRATA_CHECK(
      target.ndim() <= 1 && (input.ndim() == 1 ? target.numel() : target.atleast_1d().size(0)) == scores.size(0), shape,
      "[multi_margin_loss] an input of shape ", render(input.shape()), " does not match classes of shape ",
      render(target.shape()));
  const std::int64_t classes = number_of(scores.size(1), "multi_margin_loss");
  const IndexRange range{"multi_margin_loss", "class", classes};
  check_at_hand(target, range);
  const Value given = in_range(target, range).reshape({-1, 1}).cast(dtypes::int64);
  const Value is_class = is_within(given, classes), own = is_class.where(given, 0);
  const Value is_none = is_class.logical_not(), x = nan_where(is_none, scores);
  Value margins = (x - x.gather(1, own) + options.margin).relu();
  if (options.p == 2) margins = margins.square();
  if (options.weight) {
    STRATA_CHECK(options.weight->shape() == Ints{classes}, shape, "[multi_margin_loss] a weight of shape ",
                 render(options.weight->shape()), " does not match ", classes, " classes");
    margins = margins * options.weight->take(own);
  }
  const Value losses = own.eq(counting(classes)).where(0, margins).sum(1) / classes;
  return reduced_losses(of_batch(nan_where(is_none.squeeze(1), losses), input), options.reduction);
}

Value multilabel_margin_loss(const Value& input, const Value& target, Reduction reduction) {
  check_integers("multilabel_margin_loss", target);
  STRATA_CHECK(input.shape() == target.shape(), shape, "[multilabel_margin_loss] an input of shape ",
               render(input.shape()), " does not match a target of shape ", render(target.shape()));
  const Value scores = scores_of("multilabel_margin_loss", input);
  const std::int64_t count = number_of(scores.size(1), "multilabel_margin_loss");
  const IndexRange range{"multilabel_margin_loss", "class", count, false, -1};
  check_at_hand(target, range);
  const Value given = in_range(target, range).reshape(scores.shape()).cast(dtypes::int64);
  const bool ends = !target.dtype().is_unsigned();  // an unsigned target has no -1: a large value is not the end mark
  const Value is_none = is_within(given, count).logical_not();
  const Value is_wrong = ends ? is_none & given.ne(-1) : is_none, is_bad = is_wrong.any(1, true);
  const Value x = nan_where(is_bad, scores), classes = is_wrong.where(0, given);
  const Value is_asked = classes.lt(0).cast(dtypes::int64).cumsum(1).eq(0);
  const Value own = x.gather(1, is_asked.where(classes, 0));
  const Value is_class = classes.unsqueeze(2).eq(counting(count)) & is_asked.unsqueeze(2);
  const Value is_target = is_class.any(1, true);  // (batch, 1, classes)
  const Value margins = (x.unsqueeze(1) - own.unsqueeze(2) + 1).relu();
  const Value counted = is_asked.unsqueeze(2) & is_target.logical_not();
  const Value losses = counted.where(margins, 0).sum({1, 2}) / count;
  return reduced_losses(of_batch(nan_where(is_bad.squeeze(1), losses), input), reduction);
}

Value multilabel_soft_margin_loss(const Value& input, const Value& target, const std::optional<Value>& weight,
                                  Reduction reduction) {
  STRATA_CHECK(input.shape() == target.shape() && input.ndim() > 0, shape,
               "[multilabel_soft_margin_loss] an input of shape ", render(input.shape()),
               " does not match a target of shape ", render(target.shape()));
  const Value x = as_real(input);
  const Value each = (target * x.logsigmoid() + (1 - as_real(target, x)) * x.neg().logsigmoid()).neg();
  return reduced_losses((weight ? each * *weight : each).mean(-1), reduction);
}

Value triplet_margin_with_distance_loss(const Value& anchor, const Value& positive, const Value& negative,
                                        const TripletDistanceOptions& options) {
  const auto distance = [&](const Value& a, const Value& b) {
    return options.distance ? options.distance(a, b) : pairwise_distance(a, b);
  };
  const Value near = distance(anchor, positive), apart = distance(anchor, negative);
  const Value far = options.swap ? apart.minimum(distance(positive, negative)) : apart;
  return reduced_losses((near - far + options.margin).clip(0), options.reduction);
}

}  // namespace strata::ops
