// Connectionist temporal classification (Graves et al., 2006): the sum over all alignments by the forward algorithm,
// step by step.
//
// The states of an alignment are the target's classes in order, with a blank before, between and behind them. A blank
// between two different classes may be skipped. An impossible state has the logarithm kNever, not -infinity, so that
// differences are not NaN.

#include <algorithm>
#include <limits>
#include <vector>

#include "strata/ops/at_hand.h"
#include "strata/ops/functional.h"
#include "strata/ops/indexed.h"
#include "strata/ops/losses.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

constexpr double kNever = -1e30, kSeldom = -1e29;

/// (batch, longest): concatenated targets as rows, filled up with 0; -1 where a length exceeds the targets that are
/// there.
Value padded_targets(const Value& targets, const Value& lengths, const CtcOptions& options) {
  STRATA_CHECK(options.longest || lengths.numel() == Int(0), domain,
               "[ctc_loss] the targets are concatenated, and the length of the longest target is "
               "unknown: set CtcOptions::longest");
  const std::int64_t longest = options.longest.value_or(0);
  STRATA_CHECK(longest >= 0, domain, "[ctc_loss] the length of the longest target is ", longest,
               "; 0 or more is expected");
  const Value begin = lengths.cumsum(0) - lengths, place = counting(longest);
  const Value at = begin.unsqueeze(1) + place;
  const Value is_there = is_within(at, number_of(targets.size(0), "ctc_loss"));
  return place.lt(lengths.unsqueeze(1)).where(is_there.where(picked(targets, at), -1), 0);
}

/// (batch, 2*longest + 1): the states, blank, class, blank, class, ..., blank.
Value with_blanks(const Value& targets, std::int64_t blank) {
  const std::vector both = {targets.full_like(blank), targets};
  return Value::stack(both, 2).flatten(1).pad({{0, 0}, {0, 1}}, PadMode::constant, blank);
}

/// x shifted right by `by` along the last axis, with `filler` in front.
Value shifted(const Value& x, std::int64_t by, const Number& filler) {
  return x.pad({{0, 0}, {by, -by}}, PadMode::constant, filler);
}

Value log_of_sum_of_three(const Value& a, const Value& b, const Value& c) {
  const Value most = a.maximum(b).maximum(c).detach();
  return ((a - most).exp() + (b - most).exp() + (c - most).exp()).log() + most;
}

/// The checked inputs. `is_wrong` is true for a target (one of the batch) with a class or length out of range; such
/// classes are replaced by 0.
struct CtcInputs {
  Value log_probs, targets, input_lengths, target_lengths, is_wrong;
};

/// (batch, states): the log-probability of all alignments of the whole input that end in a state.
Value last_logarithms(const CtcInputs& in, std::int64_t steps, std::int64_t blank) {
  const Value classes = with_blanks(in.targets, blank);
  const std::int64_t width = number_of(classes.size(1), "ctc_loss");
  const Value place = counting(width);
  Ints all = {in.log_probs.size(0), classes.size(0), classes.size(1)};
  const Value seen = in.log_probs.gather(2, classes.unsqueeze(0).expand(all)).maximum(kNever).contiguous();
  const Value skips = classes.ne(blank) & classes.ne(shifted(classes, 2, blank));
  Value out = place.lt(2).where(seen.select(0, 0), kNever);
  for (std::int64_t t = 1; t < steps; ++t) {
    const Value before = out.contiguous();
    const Value jump = skips.where(shifted(before, 2, kNever), kNever);
    const Value next = log_of_sum_of_three(before, shifted(before, 1, kNever), jump) + seen.select(0, t);
    out = in.input_lengths.gt(t).unsqueeze(1).where(next, before);
  }
  return out;
}

/// The losses: alignments end in the last class or the blank behind it.
Value losses_of(const CtcInputs& in, const Value& last) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Value end = in.is_wrong.where(0, in.target_lengths * 2).unsqueeze(1);
  const Value blank = last.gather(1, end).squeeze(1), own = last.gather(1, (end - 1).maximum(0)).squeeze(1);
  const Value is_empty = in.target_lengths.eq(0);
  const Value sum = is_empty.where(blank, blank.logaddexp(is_empty.where(kNever, own)));
  const Value loss = sum.le(kSeldom).where(infinity, sum.neg());
  const Value losses = in.input_lengths.eq(0).where(is_empty.where(0.0, infinity), loss);
  return nan_where(in.is_wrong, losses.cast(last.dtype()));
}

/// Checks the classes if targets and lengths are in host memory.
void check_classes_at_hand(const Value& targets, const Value& lengths, std::int64_t classes) {
  const auto each = integers_at_hand(targets), counts = integers_at_hand(lengths);
  if (!each || !counts) return;
  const IndexRange range{"ctc_loss", "class", classes};
  const bool is_padded = targets.ndim() == 2;
  std::int64_t begin = 0;
  for (std::size_t row = 0; row < counts->size(); ++row) {
    const auto r = static_cast<std::int64_t>(row);
    if (is_padded) begin = r * targets.size(1).value();
    STRATA_CHECK(begin + (*counts)[row] <= std::ssize(*each), shape, "[ctc_loss] target ", r, " has length ",
                 (*counts)[row], ", but of ", std::ssize(*each), " classes only ", std::ssize(*each) - begin,
                 " are left");
    for (std::int64_t k = begin; k < begin + (*counts)[row]; ++k) {
      const std::int64_t v = (*each)[static_cast<std::size_t>(k)];
      if (!range.has(v))
        throw Error(ErrorKind::shape,
                    words_on_outside(range, std::to_string(v), is_padded ? Index{r, k - begin} : Index{k}));
    }
    begin += (*counts)[row];
  }
}

/// Checks lengths and classes that are in host memory. @throws Error (shape)
void check_ctc_at_hand(const Value& logs, const Value& targets, const Value& input_lengths,
                       const Value& target_lengths) {
  const std::int64_t steps = number_of(logs.size(0), "ctc_loss"), longest = number_of(targets.size(-1), "ctc_loss");
  check_at_hand(input_lengths, {"ctc_loss", "input length", steps + 1});
  check_at_hand(target_lengths, {"ctc_loss", "target length", longest + 1});
  check_classes_at_hand(targets, target_lengths, number_of(logs.size(2), "ctc_loss"));
}

/// (batch): true where a class or a length of a target is out of range.
Value wrong_targets(const CtcInputs& in, const Value& is_class) {
  const std::int64_t longest = number_of(in.targets.size(1), "ctc_loss"),
                     steps = number_of(in.log_probs.size(0), "ctc_loss");
  const Value fits = is_within(in.target_lengths, longest + 1) & is_within(in.input_lengths, steps + 1);
  return is_class.logical_not().any(1) | fits.logical_not();
}

CtcInputs ctc_inputs(const Value& log_probs, const Value& targets, const Value& input_lengths,
                     const Value& target_lengths, const CtcOptions& options) {
  const std::int64_t blank = options.blank;
  STRATA_CHECK(log_probs.ndim() == 2 || log_probs.ndim() == 3, shape, "[ctc_loss] log_probs has shape ",
               render(log_probs.shape()), "; (steps, batch, classes) or (steps, classes) is expected");
  const bool is_one = log_probs.ndim() == 2;
  const Value logs = as_real(is_one ? log_probs.unsqueeze(1) : log_probs);
  const std::int64_t classes = number_of(logs.size(2), "ctc_loss");
  STRATA_CHECK(0 <= blank && blank < classes, domain, "[ctc_loss] the blank class ", blank, " is outside of the ",
               classes, " classes");
  for (const Value* t : {&targets, &input_lengths, &target_lengths})
    STRATA_CHECK(t->dtype().is_int(), domain, "[ctc_loss] targets or lengths have dtype ", t->dtype().name(),
                 "; an integer dtype is expected");
  const Value in_lengths =
      in_range(input_lengths.reshape({-1}), {"ctc_loss", "input length", number_of(logs.size(0), "ctc_loss") + 1})
          .cast(dtypes::int64);
  const Value out_lengths =
      in_range(target_lengths.reshape({-1}), {"ctc_loss", "target length", number_of(targets.size(-1), "ctc_loss") + 1})
          .cast(dtypes::int64);
  STRATA_CHECK(in_lengths.size(0) == logs.size(1) && out_lengths.size(0) == logs.size(1), shape,
               "[ctc_loss] lengths of shapes ", render(input_lengths.shape()), " and ", render(target_lengths.shape()),
               " do not match a batch of ", logs.size(1).render());
  const Value all = targets.cast(dtypes::int64);
  STRATA_CHECK(all.ndim() == 1 || (!is_one && all.ndim() == 2 && all.size(0) == logs.size(1)), shape,
               "[ctc_loss] targets of shape ", render(targets.shape()), " do not match log_probs of shape ",
               render(log_probs.shape()));
  check_ctc_at_hand(logs, targets, input_lengths, target_lengths);
  const Value rows = all.ndim() == 2 ? all : is_one ? all.unsqueeze(0) : padded_targets(all, out_lengths, options);
  const Value is_used = counting(rows.size(1)).lt(out_lengths.unsqueeze(1));
  const Value used = in_range(is_used.where(rows, 0), {"ctc_loss", "class", classes});
  const Value is_class = is_within(used, classes);
  CtcInputs out{logs, used, in_lengths, out_lengths, is_class};
  out.is_wrong = wrong_targets(out, is_class);
  out.targets = is_class.where(used, 0);
  out.log_probs = nan_where(out.is_wrong.unsqueeze(1), logs);
  return out;
}

}  // namespace

Value ctc_loss(const Value& log_probs, const Value& targets, const Value& input_lengths, const Value& target_lengths,
               const CtcOptions& options) {
  const CtcInputs in = ctc_inputs(log_probs, targets, input_lengths, target_lengths, options);
  const std::int64_t steps = number_of(in.log_probs.size(0), "ctc_loss");
  STRATA_CHECK(steps > 0, shape, "[ctc_loss] log_probs of shape ", render(log_probs.shape()), " has no steps");
  Value losses = losses_of(in, last_logarithms(in, steps, options.blank));
  if (options.zero_infinity) losses = losses.isinf().where(0, losses);
  if (options.reduction == Reduction::mean) return (losses / in.target_lengths.maximum(1).cast(losses.dtype())).mean();
  const Value out = log_probs.ndim() == 2 ? losses.squeeze(0) : losses;
  return reduced_losses(out, options.reduction);
}

}  // namespace strata::ops
