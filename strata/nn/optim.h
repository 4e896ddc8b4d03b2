// Optimisers. An optimiser keeps all parameters of a dtype as one tensor, which they are views of: a step is one kernel, whatever
// their number, and reads gradients that were computed into one place.
//
//   nn::Adam optimizer(net.parameters(), {.lr = 1e-3});
//   optimizer.zero_grad();
//   loss.backward();
//   optimizer.step();
//
// An optimiser holds the tensors that it was given: where a module is given another parameter later (layer.weight = t), the optimiser
// goes on with the old one, as PyTorch's does, and one for the new is made.
//
// Learning rates are no part of a kernel: changing them compiles nothing, and captures (tensor/jit.h) see them change.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "strata/nn/module.h"

namespace strata::nn {

/// What optimisers share: the parameters, the learning rate, the step.
class Optimizer {
 public:
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  double lr() const { return scalars_->lr; }
  void set_lr(double lr) { scalars_->lr = lr; }
  /// Moves the parameters against their gradients; one without a gradient stays as it is, with what is kept beside it. Realizes.
  /// @throws Error (domain) where none has a gradient
  void step(At at = At::current());
  void zero_grad() const;
  /// What a run is taken up again with: "steps", "lr", and what is kept for each parameter, "state.<parameter>.<number>". The
  /// parameters are the module's to keep.
  NamedTensors state_dict() const;
  /// @throws as check_state(); nothing has changed then
  void load_state_dict(const NamedTensors& state);
  const std::vector<Tensor>& parameters() const { return parameters_; }

 protected:
  /// Numbers of step 1, 2, ... beside the learning rate.
  using Corrections = std::function<std::vector<double>(std::int64_t step)>;
  /// What changes from step to step: fed to kernels.
  struct Scalars {
    double lr;
    std::int64_t steps;
    Corrections corrections;
  };

  /// @throws Error (domain) where there is no parameter, one takes no gradient, or they are on two devices
  Optimizer(std::vector<Tensor> parameters, double lr, std::size_t states,
            Corrections corrections = {});

  /// The parameters of one dtype, flat, and what is kept beside them.
  struct Group {
    Tensor flat;
    std::vector<Tensor> states;
    std::vector<Tensor> members;
    std::vector<std::size_t> numbers;  // of the members among the parameters
    std::vector<LazyOp> nodes;         // of the members, as they were left
  };
  /// The parameters and states after a step, from those before, the gradient and the step's numbers: lr, then the
  /// corrections.
  virtual std::vector<Tensor> updated(const Group& group, const Tensor& gradient,
                                      const std::vector<Tensor>& numbers) const = 0;

 private:
  static void flatten(Group& group);
  static void point_members(Group& group);
  static Tensor gradient_of(const Group& group);
  static void keep_without_gradient(const Group& group, std::vector<Tensor>& results);

  std::vector<Tensor> parameters_;
  std::vector<Group> groups_;
  std::shared_ptr<Scalars> scalars_;
};

/// Of SGD.
struct SgdOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
/// Steps along the gradient, with momentum or without, as torch.optim.SGD takes them.
class SGD final : public Optimizer {
 public:
  explicit SGD(std::vector<Tensor> parameters, SgdOptions options = {});

 private:
  std::vector<Tensor> updated(const Group& group, const Tensor& gradient,
                              const std::vector<Tensor>& numbers) const override;
  SgdOptions options_;
};

/// Of Adam, AdamW and LAMB.
struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};
/// Kingma and Ba, 2015; weight decay as part of the gradient.
class Adam : public Optimizer {
 public:
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
/// Loshchilov and Hutter, 2019: weight decay apart from the gradient.
class AdamW final : public Adam {
 public:
  explicit AdamW(std::vector<Tensor> parameters, AdamOptions options = {.weight_decay = 0.01})
      : Adam(std::move(parameters), options, true) {}
};

/// Of RMSprop.
struct RmspropOptions {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
};
/// Steps over the root of the gradient's running mean square, as torch.optim.RMSprop takes them.
class RMSprop final : public Optimizer {
 public:
  explicit RMSprop(std::vector<Tensor> parameters, RmspropOptions options = {});

 private:
  std::vector<Tensor> updated(const Group& group, const Tensor& gradient,
                              const std::vector<Tensor>& numbers) const override;
  RmspropOptions options_;
};

/// You et al., 2020: Adam's step, scaled for each parameter to its own size.
class LAMB final : public Optimizer {
 public:
  explicit LAMB(std::vector<Tensor> parameters, AdamOptions options = {.eps = 1e-6});

 private:
  std::vector<Tensor> updated(const Group& group, const Tensor& gradient,
                              const std::vector<Tensor>& numbers) const override;
  AdamOptions options_;
};

/// Scales gradients so that their norm, all together, is at most `most`; gives the norm that it was.
Tensor clip_grad_norm(std::span<const Tensor> parameters, double most, At at = At::current());
/// Each element of each gradient between -most and most.
void clip_grad_value(std::span<const Tensor> parameters, double most, At at = At::current());

// --- learning rates by step, from the one that an optimiser begins with ---

double step_schedule(double lr, std::int64_t step, std::int64_t every, double factor = 0.1);
double exponential_schedule(double lr, std::int64_t step, double factor);
/// Half a cosine from lr at step 0 to `last` at `steps`.
double cosine_schedule(double lr, std::int64_t step, std::int64_t steps, double last = 0);
/// From 0 to lr over `warmup` steps, then half a cosine to 0 at `steps`.
double warmup_cosine_schedule(double lr, std::int64_t step, std::int64_t warmup, std::int64_t steps);

}  // namespace strata::nn
