// Losses and optimisers: the operators of training.
#include "strata/onnx/operators.h"
#include "strata/tensor/autograd.h"

namespace strata::onnx {
namespace {

/// The loss of log-probabilities (batch, classes, sizes...) at the target classes (batch, sizes...).
Tensor likelihood_loss(const Call& call, const Tensor& x, std::size_t weight_at) {
  const Tensor target = call.x(1).cast(dtypes::int64);
  STRATA_CHECK(x.ndim() >= 2 && target.ndim() == x.ndim() - 1, shape, "scores of ", x.ndim(),
               " dimensions, targets of ", target.ndim());
  const bool ignores = call.given("ignore_index");
  const Tensor counts =
      ignores ? target != call.integer("ignore_index") : call.full(target.shape(), true, dtypes::boolean);
  const Tensor safe = ignores ? counts.where(target, 0) : target;
  Tensor weight = counts.cast(x.dtype());
  if (call.has(weight_at))
    weight = call.x(weight_at).index_select(0, safe.reshape({-1})).reshape(safe.shape()) * weight;
  Tensor loss = counts.where(-x.gather(1, safe.unsqueeze(1)).squeeze(1) * weight, 0);
  const std::string& reduction = call.text("reduction");
  if (reduction == "none") return loss;
  if (reduction == "sum") return loss.sum();
  STRATA_CHECK(reduction == "mean", domain, "the reduction is ", reduction);
  return loss.sum() / weight.sum();
}

/// The k-th of `count` tensors of group `group` behind the first two inputs, which are the rate and the step.
struct Groups {
  const Call& call;
  std::size_t count;
  Groups(const Call& c, std::size_t groups) : call(c), count((c.count() - 2) / groups) {
    STRATA_CHECK(c.count() > 2 && count * groups + 2 == c.count(), parse, c.count() - 2, " tensors for groups of ",
                 groups);
  }
  Tensor of(std::size_t group, std::size_t k) const { return call.x(2 + group * count + k); }
};

}  // namespace

Results negative_log_likelihood(const Call& call) { return {likelihood_loss(call, call.x(0), 2)}; }

Results softmax_cross_entropy(const Call& call) {
  const Tensor log_probability = call.x(0).log_softmax(1);
  return {likelihood_loss(call, log_probability, 2), log_probability};
}

Results adagrad(const Call& call) {
  const Groups groups(call, 3);
  const double decay = call.number("decay_factor"), epsilon = call.number("epsilon"),
               norm = call.number("norm_coefficient");
  const Tensor rate = call.x(0) / (call.x(1).cast(call.x(0).dtype()) * decay + 1);
  Results states, out;
  for (std::size_t k = 0; k < groups.count; ++k) {
    const Tensor x = groups.of(0, k), gradient = groups.of(1, k) + x * norm;
    const Tensor squares = groups.of(2, k) + gradient * gradient;
    out.emplace_back(x - rate * gradient / (squares.sqrt() + epsilon));
    states.emplace_back(squares);
  }
  out.insert(out.end(), states.begin(), states.end());
  return out;
}

Results adam(const Call& call) {
  const Groups groups(call, 4);
  const double alpha = call.number("alpha"), beta = call.number("beta"), epsilon = call.number("epsilon");
  const double norm = call.number("norm_coefficient"), norm_after = call.number("norm_coefficient_post");
  const std::int64_t steps = call.integer_of(1);
  Tensor rate = call.x(0);
  if (steps > 0) {
    const Tensor t = call.full({}, steps, dtypes::float64);
    const auto left = [&](double factor) { return 1 - call.full({}, factor, dtypes::float64).pow(t); };
    rate = rate * (left(beta).sqrt() / left(alpha)).cast(rate.dtype());
  }
  Results means, squares, out;
  for (std::size_t k = 0; k < groups.count; ++k) {
    const Tensor x = groups.of(0, k), gradient = groups.of(1, k) + x * norm;
    const Tensor mean = groups.of(2, k) * alpha + gradient * (1 - alpha);
    const Tensor square = groups.of(3, k) * beta + gradient * gradient * (1 - beta);
    out.emplace_back((x - rate * mean / (square.sqrt() + epsilon)) * (1 - norm_after));
    means.emplace_back(mean);
    squares.emplace_back(square);
  }
  out.insert(out.end(), means.begin(), means.end());
  out.insert(out.end(), squares.begin(), squares.end());
  return out;
}

Results momentum(const Call& call) {
  const Groups groups(call, 3);
  const double alpha = call.number("alpha"), beta = call.number("beta"), norm = call.number("norm_coefficient");
  const std::string& mode = call.text("mode");
  STRATA_CHECK(mode == "standard" || mode == "nesterov", domain, "the mode is ", mode);
  const double factor = call.integer_of(1) > 0 ? beta : 1;
  Results states, out;
  for (std::size_t k = 0; k < groups.count; ++k) {
    const Tensor x = groups.of(0, k), gradient = groups.of(1, k) + x * norm;
    const Tensor velocity = groups.of(2, k) * alpha + gradient * factor;
    const Tensor step = mode == "nesterov" ? gradient + velocity * alpha : velocity;
    out.emplace_back(x - call.x(0) * step);
    states.emplace_back(velocity);
  }
  out.insert(out.end(), states.begin(), states.end());
  return out;
}

Results gradient(const Call& call) {
  // The run made the values of `xs` parameters, so y, the last input, records how it depends on them.
  const std::size_t count = call.texts("xs").size();
  STRATA_CHECK(count >= 1 && count + 1 == call.count() - call.texts("zs").size(), parse, call.count(),
               " inputs: the values of xs, of zs and of y are needed");
  std::vector<Tensor> xs;
  for (std::size_t k = 0; k < count; ++k) xs.push_back(call.x(k));
  const std::vector<Tensor> found = gradients(call.x(call.count() - 1), xs, {}, Unused::zeros);
  return {found.begin(), found.end()};
}

}  // namespace strata::onnx
