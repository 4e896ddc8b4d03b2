// Functions of neural networks that do more than apply a formula: update running statistics, drop weights at random,
// read lengths, call a user's function.
#include "strata/tensor/functional.h"

#include "strata/ops/functional.h"
#include "strata/tensor/front.h"
#include "strata/tensor/random.h"

namespace strata {

using front::on_values, front::Value;

Tensor batch_norm(const Tensor& x, const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                  const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                  const BatchNormOptions& options, At at) {
  const OriginScope scope("batch_norm", at);
  const Tensor out = on_values("batch_norm", at, ops::batch_norm, x, running_mean, running_var, weight, bias, options);
  if (!options.training) return out;
  const auto moved = [&](const std::optional<Tensor>& running, bool is_mean) {
    if (!running) return;
    const auto formula = [&](const Value& input, const Value& old) {
      const auto both = ops::running_statistics(input, is_mean ? std::optional(old) : std::nullopt,
                                                is_mean ? std::nullopt : std::optional(old), options.momentum);
      return is_mean ? *both.first : *both.second;
    };
    running->assign(on_values("batch_norm", at, formula, x, *running));
  };
  moved(running_mean, true);
  moved(running_var, false);
  return out;
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                                    At at) {
  constexpr const char* name = "scaled_dot_product_attention";
  const OriginScope scope(name, at);
  if (options.dropout == 0) return on_values(name, at, ops::scaled_dot_product_attention, q, k, v, options);
  const Tensor weights = on_values(name, at, ops::attention_weights, q, k, v, options);
  return on_values(name, at, ops::attended, dropout(weights, options.dropout), q, v, options);
}

/// The user's distance is a function of Tensors; it is adapted to a function of Values.
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletDistanceOptions& options, At at) {
  const Device& device = anchor.device();
  ops::TripletDistanceOptions of_values{.margin = options.margin, .swap = options.swap, .reduction = options.reduction};
  if (options.distance)
    of_values.distance = [&](const Value& a, const Value& b) -> Value {
      return options.distance(front::raised(a, device), front::raised(b, device)).node();
    };
  return on_values("triplet_margin_with_distance_loss", at, ops::triplet_margin_with_distance_loss, anchor, positive,
                   negative, of_values);
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options, At at) {
  const OriginScope scope("ctc_loss", at);
  CtcOptions known = options;
  const bool is_read = !options.longest && targets.ndim() == 1 && log_probs.ndim() == 3 &&
                       target_lengths.dtype().is_int() && !(target_lengths.numel() == Int(0));
  if (is_read) known.longest = target_lengths.cast(dtypes::int64).max().item<std::int64_t>();
  return on_values("ctc_loss", at, ops::ctc_loss, log_probs, targets, input_lengths, target_lengths, known);
}

}  // namespace strata
