// Optimisers (SGD, Adam, AdamW, RMSprop, LAMB), gradient clipping, and schedules of learning rates. The formulas are
// those of torch.optim.
//
//   nn::Adam optimizer(net.parameters(), {.lr = 1e-3});
//   optimizer.zero_grad();
//   loss.backward();
//   optimizer.step();
//
// An optimiser stores all parameters of one dtype as one flat tensor, and makes each parameter a view of its part. The
// gradients are computed into one flat tensor, too. So a step is one kernel a dtype, for any number of parameters.
//
// An optimiser keeps the tensors that it was constructed with, as PyTorch's does. After layer.weight = t it still steps
// the old weight: make a new optimiser.
//
// The learning rate and the corrections of a step are fed to kernels as inputs (engine/feed.h), rounded to f32. A
// changed rate compiles nothing, and a capture (tensor/jit.h) uses the new rate at its next replay.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "strata/nn/module.h"

namespace strata::nn {

/// The base class of optimisers: it holds the parameters, the learning rate and the per-parameter state, and applies
/// the formula of the derived class, updated(), in step().
class Optimizer {
 public:
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  double lr() const { return scalars_->lr; }
  /// Sets the rate of the next steps. Not checked.
  void set_lr(double lr) { scalars_->lr = lr; }
  /// Updates the parameters by their gradients, and realizes them. A parameter without a gradient keeps its values and
  /// its state. The step number t of the formulas counts the calls of step(), not the steps of a parameter.
  /// @throws Error (domain) if no parameter has a gradient
  void step(At at = At::current());
  /// Clears the gradients of all parameters: grad() is std::nullopt then.
  void zero_grad() const;
  /// The tensors to resume training with: "steps" (i64), "lr" (f64), and the state tensors of each parameter,
  /// "state.P.K" for number K of parameter P, e.g. "state.0.1" for the second moment of Adam's first parameter. Does
  /// not contain the parameters: Module::state_dict() does.
  NamedTensors state_dict() const;
  /// Restores what state_dict() returned. @throws as check_state(); the optimiser is then unchanged
  void load_state_dict(const NamedTensors& state);
  const std::vector<Tensor>& parameters() const { return parameters_; }

 protected:
  /// The scalars of the formula that depend on the step number (1, 2, ...), e.g. Adam's bias corrections.
  using Corrections = std::function<std::vector<double>(std::int64_t step)>;
  /// The values that change from step to step. They are fed to kernels as inputs.
  struct Scalars {
    double lr;
    std::int64_t steps;
    Corrections corrections;
  };

  /// @param states the number of state tensors a parameter, each with its shape and dtype, initially 0
  /// @throws Error (domain) if there is no parameter, a parameter does not require gradients, or they are on different
  /// devices
  Optimizer(std::vector<Tensor> parameters, double lr, std::size_t states, Corrections corrections = {});

  /// All parameters of one dtype, with their state; or one parameter of which ranks have parts.
  struct Group {
    Tensor flat;                                       // the parameters, flattened and concatenated; the one as it is
    std::vector<Tensor> states;                        // state tensors, each of the shape of `flat`
    std::vector<Tensor> members;                       // the parameters: views of `flat`
    std::vector<std::size_t> numbers;                  // their indices in parameters()
    std::vector<std::weak_ptr<const LazyNode>> nodes;  // their nodes after the last step
    bool is_alone = false;                             // whether it is one parameter in parts
  };
  /// The formula of a step. Returns the new `flat`, then the new states.
  /// @param gradient of the shape of group.flat; 0 where a parameter has none
  /// @param numbers scalar tensors: the learning rate, then the corrections of the step
  virtual std::vector<Tensor> updated(const Group& group, const Tensor& gradient,
                                      const std::vector<Tensor>& numbers) const = 0;

 private:
  static Tensor in_group(const Group& group, const std::vector<Tensor>& parts);
  static void flatten(Group& group);
  static void point_members(Group& group);
  static Tensor gradient_of(const Group& group);
  static void point_gradients(const Group& group, const Tensor& flat);
  static void keep_without_gradient(const Group& group, std::vector<Tensor>& results);

  std::vector<Tensor> parameters_;
  std::vector<Group> groups_;
  std::shared_ptr<Scalars> scalars_;
};

/// Options of SGD. Their names, defaults and meaning are torch.optim.SGD's.
struct SgdOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
/// Stochastic gradient descent, as torch.optim.SGD: g += weight_decay * w; v = momentum * v + (1 - dampening) * g (v =
/// g at the first step); w -= lr * v, or with nesterov w -= lr * (g + momentum * v). One state tensor, v, if momentum
/// is not 0.
class SGD final : public Optimizer {
 public:
  /// @throws Error (domain) if lr, momentum or weight_decay is negative or not finite, or nesterov has no momentum or a
  ///   dampening; and as Optimizer
  explicit SGD(std::vector<Tensor> parameters, SgdOptions options = {});

 private:
  std::vector<Tensor> updated(const Group& group, const Tensor& gradient,
                              const std::vector<Tensor>& numbers) const override;
  SgdOptions options_;
};

/// Options of Adam, AdamW and LAMB. Their names and meaning are torch.optim.Adam's; the default weight_decay of AdamW
/// is 0.01, the default eps of LAMB 1e-6.
struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};
/// Kingma and Ba, 2015: g += weight_decay * w; m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2;
/// w -= lr * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) at step t. Two state tensors, m and v.
class Adam : public Optimizer {
 public:
  /// @throws Error (domain) if an option is negative or not finite, or beta1 or beta2 is 1 or more; and as Optimizer
  explicit Adam(std::vector<Tensor> parameters, AdamOptions options = {})
      : Adam(std::move(parameters), options, false) {}

 protected:
  Adam(std::vector<Tensor> parameters, AdamOptions options, bool decoupled);

 private:
  std::vector<Tensor> updated(const Group& group, const Tensor& gradient,
                              const std::vector<Tensor>& numbers) const override;
  AdamOptions options_;
  bool decoupled_;
};
/// Loshchilov and Hutter, 2019: Adam whose decay is decoupled from the gradient. w is first multiplied by 1 - lr *
/// weight_decay; m and v do not see the decay.
class AdamW final : public Adam {
 public:
  explicit AdamW(std::vector<Tensor> parameters, AdamOptions options = {.weight_decay = 0.01})
      : Adam(std::move(parameters), options, true) {}
};

/// Options of RMSprop. Their names, defaults and meaning are torch.optim.RMSprop's.
struct RmspropOptions {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
};
/// As torch.optim.RMSprop: g += weight_decay * w; s = alpha * s + (1 - alpha) * g^2; d = g / (sqrt(s) + eps); w -= lr *
/// d, or with momentum v = momentum * v + d; w -= lr * v. State tensors: s, and v if momentum is not 0.
class RMSprop final : public Optimizer {
 public:
  /// @throws Error (domain) if an option is negative or not finite, or alpha is 1 or more; and as Optimizer
  explicit RMSprop(std::vector<Tensor> parameters, RmspropOptions options = {});

 private:
  std::vector<Tensor> updated(const Group& group, const Tensor& gradient,
                              const std::vector<Tensor>& numbers) const override;
  RmspropOptions options_;
};

/// You et al., 2020: d is Adam's direction, with its bias corrections, plus weight_decay * w; w -= lr * |w| / |d| * d,
/// where the norms are L2 norms of each parameter (the ratio is 1 if a norm is 0). Two state tensors, m and v.
class LAMB final : public Optimizer {
 public:
  /// @throws as Adam
  explicit LAMB(std::vector<Tensor> parameters, AdamOptions options = {.eps = 1e-6});

 private:
  std::vector<Tensor> updated(const Group& group, const Tensor& gradient,
                              const std::vector<Tensor>& numbers) const override;
  AdamOptions options_;
};

/// Multiplies all gradients by min(1, most / (norm + 1e-6)), where `norm` is the L2 norm of all gradients together.
/// Returns `norm` as a scalar tensor. Computes nothing: the next step() does, or reading the norm.
/// @throws Error (domain) if no parameter has a gradient
Tensor clip_grad_norm(std::span<const Tensor> parameters, double most, At at = At::current());
/// Clips each element of each gradient to [-most, most]. @throws Error (domain) if most < 0
void clip_grad_value(std::span<const Tensor> parameters, double most, At at = At::current());

// --- schedules: the learning rate of `step` (0, 1, ...), from the initial rate `lr`; pass the result to
// Optimizer::set_lr() ---

/// lr * factor^(step / every), with an integer quotient. @throws Error (domain) unless every > 0
double step_schedule(double lr, std::int64_t step, std::int64_t every, double factor = 0.1);
/// lr * factor^step
double exponential_schedule(double lr, std::int64_t step, double factor);
/// Half a cosine wave, from lr at step 0 down to `last` at `steps` and after: last + (lr - last) * (1 + cos(pi * step /
/// steps)) / 2. `last` where steps <= 0.
double cosine_schedule(double lr, std::int64_t step, std::int64_t steps, double last = 0);
/// Linear from 0 at step 0 to lr at step `warmup`, then cosine_schedule() down to 0 at `steps`.
double warmup_cosine_schedule(double lr, std::int64_t step, std::int64_t warmup, std::int64_t steps);

}  // namespace strata::nn
