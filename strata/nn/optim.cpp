#include "strata/nn/optim.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "strata/engine/feed.h"
#include "strata/engine/placed.h"
#include "strata/engine/realize.h"
#include "strata/runtime/allocator.h"
#include "strata/tensor/access.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/sharded.h"

namespace strata::nn {

namespace {

/// The concatenation of the flattened tensors; each is computed directly into its place in the result.
Tensor joined(const std::vector<Tensor>& parts) {
  std::vector<LazyOp> nodes;
  for (const Tensor& p : parts) nodes.push_back(p.detach().node());
  return TensorAccess::of(LazyOp::concatenated(nodes), parts[0]);
}

/// Whether the ranks of a mesh have parts of the tensor.
bool is_in_parts(const Tensor& t) {
  const std::optional<Sharding> sharding = t.sharding();
  return sharding && !sharding->splits()->empty();
}

std::string state_name(std::size_t parameter, std::size_t k) { return detail::message("state.", parameter, ".", k); }

/// The part of a flat tensor that begins at `begin`, with the shape `shape`; the tensor itself where it is not flat.
Tensor part_of(const Tensor& flat, const Int& begin, const Ints& shape) {
  return flat.shape() == shape ? flat : flat.shrink({{begin, begin + product(shape)}}).reshape(shape);
}

void realize_all(const std::vector<Tensor>& tensors) {
  std::vector<LazyOp> nodes;
  for (const Tensor& t : tensors) nodes.push_back(t.node());
  strata::realize(nodes, tensors[0].device());
}

}  // namespace

namespace {
/// @throws Error (domain) unless 0 <= value, and value < end
void check_option(const char* optimizer, const char* option, double value,
                  double end = std::numeric_limits<double>::infinity()) {
  STRATA_CHECK(value >= 0 && value < end, domain, "[", optimizer, "] ", option, " is ", value,
               std::isfinite(end) ? "; 0 or more and less than 1 is expected" : "; 0 or more is expected");
}
void check_options(const char* optimizer, const AdamOptions& o) {
  check_option(optimizer, "lr", o.lr);
  check_option(optimizer, "beta1", o.beta1, 1);
  check_option(optimizer, "beta2", o.beta2, 1);
  check_option(optimizer, "eps", o.eps);
  check_option(optimizer, "weight_decay", o.weight_decay);
}
}  // namespace

Optimizer::Optimizer(std::vector<Tensor> parameters, double lr, std::size_t states, Corrections corrections)
    : parameters_(std::move(parameters)), scalars_(std::make_shared<Scalars>(Scalars{lr, 0, std::move(corrections)})) {
  STRATA_CHECK(!parameters_.empty(), domain, "[Optimizer] no parameters are given");
  for (const Tensor& p : parameters_) {
    STRATA_CHECK(TensorAccess::state(p)->slot != nullptr, domain, "[Optimizer] a tensor of shape ", render(p.shape()),
                 " takes no gradient: call requires_grad(true)");
    STRATA_CHECK(&p.device() == &parameters_[0].device(), domain, "[Optimizer] parameters are on two devices, ",
                 parameters_[0].device().name(), " and ", p.device().name());
    const bool is_alone = is_in_parts(p);
    const auto known = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
      return !is_alone && !g.is_alone && g.flat.dtype() == p.dtype();
    });
    Group& group = known != groups_.end() ? *known : groups_.emplace_back(Group{p, {}, {}, {}, {}, is_alone});
    group.numbers.push_back(static_cast<std::size_t>(&p - parameters_.data()));
    group.members.push_back(p);
  }
  for (Group& group : groups_) {
    flatten(group);
    for (std::size_t k = 0; k < states; ++k) {
      const LazyOp zeros = group.flat.zeros_like().contiguous().node();
      group.states.push_back(TensorAccess::of(placed_like(zeros, group.flat.node()), group.flat));
      group.states.back().realize();
    }
  }
  Allocator::host().release_large();  // the memory that the parameters had
}

Tensor Optimizer::in_group(const Group& group, const std::vector<Tensor>& parts) {
  return group.is_alone ? parts[0].detach() : joined(parts);
}

void Optimizer::flatten(Group& group) {
  group.flat = in_group(group, group.members);
  group.flat.realize();
  point_members(group);
}

void Optimizer::point_members(Group& group) {
  Int begin = 0;
  group.nodes.clear();
  for (const Tensor& p : group.members) {
    p.assign(part_of(group.flat, begin, p.shape()));
    group.nodes.push_back(p.node().node()->weak_from_this());
    begin += p.numel();
  }
}

Tensor Optimizer::gradient_of(const Group& group) {
  std::vector<Tensor> parts;
  for (const Tensor& p : group.members) parts.push_back(p.grad() ? *p.grad() : p.zeros_like());
  return in_group(group, parts);
}

/// Makes the gradients views of `flat`, which is realized, so that they keep no graph.
void Optimizer::point_gradients(const Group& group, const Tensor& flat) {
  Int begin = 0;
  for (const Tensor& p : group.members) {
    if (const std::optional<Tensor> gradient = p.grad(); gradient && !gradient->node().is_tracked())
      TensorAccess::state(*gradient)->set_node(part_of(flat, begin, p.shape()).node());
    begin += p.numel();
  }
}

void Optimizer::keep_without_gradient(const Group& group, std::vector<Tensor>& results) {
  const auto has_gradient = [](const Tensor& p) { return p.grad().has_value(); };
  if (std::all_of(group.members.begin(), group.members.end(), has_gradient)) return;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Tensor& before = k == 0 ? group.flat : group.states[k - 1];
    std::vector<Tensor> parts;
    Int begin = 0;
    for (const Tensor& p : group.members) {
      parts.push_back(
          part_of(has_gradient(p) ? results[k] : before, begin, group.is_alone ? p.shape() : Ints{p.numel()}));
      begin += p.numel();
    }
    results[k] = in_group(group, parts);
  }
}

void Optimizer::step(At at) {
  const OriginScope scope("step", at);
  const NoGrad none;
  STRATA_CHECK(
      std::any_of(parameters_.begin(), parameters_.end(), [](const Tensor& p) { return p.grad().has_value(); }), domain,
      "[step] no parameter has a gradient: call backward() first");
  const std::size_t count = 1 + (scalars_->corrections ? scalars_->corrections(1).size() : 0);
  FeedRule rule;
  rule.coming = [scalars = scalars_](std::int64_t runs) {
    std::vector<float> out = {static_cast<float>(scalars->lr)};
    if (scalars->corrections)
      for (const double c : scalars->corrections(scalars->steps + 1 + runs)) out.push_back(static_cast<float>(c));
    return out;
  };
  const auto fill = [scalars = scalars_](void* elements) {
    auto* to = static_cast<float*>(elements);
    *to++ = static_cast<float>(scalars->lr);
    ++scalars->steps;
    if (!scalars->corrections) return;
    for (const double c : scalars->corrections(scalars->steps)) *to++ = static_cast<float>(c);
  };
  const LazyOp fed = feed(dtypes::float32, static_cast<std::int64_t>(count), fill, std::move(rule));
  std::vector<Tensor> all;
  std::vector<std::vector<Tensor>> results;
  std::vector<Tensor> gradients;  // by group, flat
  for (Group& group : groups_) {
    for (std::size_t k = 0; k < group.members.size(); ++k)
      if (group.members[k].node().node() !=
          group.nodes[k].lock().get()) {  // the parameter was assigned to since the last step
        flatten(group);
        break;
      }
    std::vector<Tensor> numbers;
    for (std::size_t k = 0; k < count; ++k) {
      const auto place = static_cast<std::int64_t>(k);
      numbers.push_back(
          TensorAccess::of(fed.shrink({{place, place + 1}}).reshape({}), group.flat).cast(group.flat.dtype()));
    }
    gradients.push_back(gradient_of(group));
    results.push_back(updated(group, gradients.back(), numbers));
    keep_without_gradient(group, results.back());
    all.insert(all.end(), results.back().begin(), results.back().end());
    if (group.members.size() > 1) all.push_back(gradients.back());
  }
  realize_all(all);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].members.size() > 1) point_gradients(groups_[g], gradients[g].realize());
    for (const Tensor& t : results[g]) t.realize();  // already computed; drops the graph behind it
    groups_[g].flat.assign(results[g][0]);
    for (std::size_t k = 0; k < groups_[g].states.size(); ++k) groups_[g].states[k].assign(results[g][k + 1]);
    point_members(groups_[g]);
  }
}

void Optimizer::zero_grad() const {
  for (const Tensor& p : parameters_) p.set_grad(std::nullopt);
}

NamedTensors Optimizer::state_dict() const {
  NamedTensors out = {{"steps", Tensor::full({}, scalars_->steps, dtypes::int64)},
                      {"lr", Tensor::full({}, scalars_->lr, dtypes::float64)}};
  for (const Group& group : groups_) {
    Int begin = 0;
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      const Tensor& p = group.members[m];
      for (std::size_t k = 0; k < group.states.size(); ++k)
        out.emplace_back(state_name(group.numbers[m], k), part_of(group.states[k], begin, p.shape()));
      begin += p.numel();
    }
  }
  return out;
}

void Optimizer::load_state_dict(const NamedTensors& state) {
  const NoGrad none;
  check_state(state_dict(), state);
  for (Group& group : groups_)
    for (std::size_t k = 0; k < group.states.size(); ++k) {
      std::vector<Tensor> parts;
      for (const std::size_t number : group.numbers)
        parts.push_back(tensor_named(state, state_name(number, k)).to(group.flat.device()).cast(group.flat.dtype()));
      group.states[k].assign(in_group(group, parts));
      group.states[k].realize();
    }
  scalars_->steps = tensor_named(state, "steps").cast(dtypes::int64).item<std::int64_t>();
  scalars_->lr = tensor_named(state, "lr").cast(dtypes::float64).item();
}

// --- SGD: state 0 is the velocity; number 1 is the factor of the gradient in it, 1 - dampening ---

namespace {
/// At the first step the velocity is the undamped gradient, as PyTorch's.
std::function<std::vector<double>(std::int64_t)> first_undamped(double dampening) {
  return [dampening](std::int64_t step) -> std::vector<double> { return {step == 1 ? 1 : 1 - dampening}; };
}
}  // namespace

SGD::SGD(std::vector<Tensor> parameters, SgdOptions options)
    : Optimizer(std::move(parameters), options.lr, options.momentum != 0 ? 1 : 0, first_undamped(options.dampening)),
      options_(options) {
  check_option("SGD", "lr", options.lr);
  check_option("SGD", "momentum", options.momentum);
  check_option("SGD", "weight_decay", options.weight_decay);
  STRATA_CHECK(!options.nesterov || (options.momentum > 0 && options.dampening == 0), domain,
               "[SGD] Nesterov's momentum needs a momentum above 0 and no dampening");
}
std::vector<Tensor> SGD::updated(const Group& group, const Tensor& gradient, const std::vector<Tensor>& numbers) const {
  const Tensor g = options_.weight_decay != 0 ? gradient + group.flat * options_.weight_decay : gradient;
  if (options_.momentum == 0) return {group.flat - numbers[0] * g};
  const Tensor v = group.states[0] * options_.momentum + numbers[1] * g;
  return {group.flat - numbers[0] * (options_.nesterov ? g + v * options_.momentum : v), v};
}

// --- Adam: states 0 and 1 are the moments; numbers 1 and 2 are their bias corrections ---

namespace {

/// The factors 1 / (1 - beta^t), which correct the bias of moments that begin with 0.
std::function<std::vector<double>(std::int64_t)> bias_corrections(const AdamOptions& o) {
  return [o](std::int64_t step) -> std::vector<double> {
    const auto t = static_cast<double>(step);
    return {1 / (1 - std::pow(o.beta1, t)), 1 / (1 - std::pow(o.beta2, t))};
  };
}

struct Moments {
  Tensor m, v, direction;
};
Moments moments(const AdamOptions& o, const Tensor& m0, const Tensor& v0, const Tensor& g,
                const std::vector<Tensor>& numbers) {
  const Tensor m = m0 * o.beta1 + g * (1 - o.beta1), v = v0 * o.beta2 + g * g * (1 - o.beta2);
  return {m, v, m * numbers[1] / ((v * numbers[2]).sqrt() + o.eps)};
}

}  // namespace

Adam::Adam(std::vector<Tensor> parameters, AdamOptions options, bool decoupled)
    : Optimizer(std::move(parameters), options.lr, 2, bias_corrections(options)),
      options_(options),
      decoupled_(decoupled) {
  check_options(decoupled ? "AdamW" : "Adam", options);
}
std::vector<Tensor> Adam::updated(const Group& group, const Tensor& gradient,
                                  const std::vector<Tensor>& numbers) const {
  const bool decays = options_.weight_decay != 0;
  const Tensor g = decays && !decoupled_ ? gradient + group.flat * options_.weight_decay : gradient;
  const Tensor w = decays && decoupled_ ? group.flat * (1 - numbers[0] * options_.weight_decay) : group.flat;
  const Moments next = moments(options_, group.states[0], group.states[1], g, numbers);
  return {w - numbers[0] * next.direction, next.m, next.v};
}

// --- RMSprop: state 0 is the mean square, state 1 the velocity ---

RMSprop::RMSprop(std::vector<Tensor> parameters, RmspropOptions options)
    : Optimizer(std::move(parameters), options.lr, options.momentum != 0 ? 2 : 1), options_(options) {
  check_option("RMSprop", "lr", options.lr);
  check_option("RMSprop", "alpha", options.alpha, 1);
  check_option("RMSprop", "eps", options.eps);
  check_option("RMSprop", "weight_decay", options.weight_decay);
  check_option("RMSprop", "momentum", options.momentum);
}
std::vector<Tensor> RMSprop::updated(const Group& group, const Tensor& gradient,
                                     const std::vector<Tensor>& numbers) const {
  const Tensor g = options_.weight_decay != 0 ? gradient + group.flat * options_.weight_decay : gradient;
  const Tensor square = group.states[0] * options_.alpha + g * g * (1 - options_.alpha);
  const Tensor direction = g / (square.sqrt() + options_.eps);
  if (options_.momentum == 0) return {group.flat - numbers[0] * direction, square};
  const Tensor v = group.states[1] * options_.momentum + direction;
  return {group.flat - numbers[0] * v, square, v};
}

// --- LAMB ---

LAMB::LAMB(std::vector<Tensor> parameters, AdamOptions options)
    : Optimizer(std::move(parameters), options.lr, 2, bias_corrections(options)), options_(options) {
  check_options("LAMB", options);
}
std::vector<Tensor> LAMB::updated(const Group& group, const Tensor& gradient,
                                  const std::vector<Tensor>& numbers) const {
  const Moments next = moments(options_, group.states[0], group.states[1], gradient, numbers);
  const Tensor direction = next.direction + group.flat * options_.weight_decay;
  std::vector<Tensor> parts;
  Int begin = 0;
  for (const Tensor& p : group.members) {
    const Tensor w = part_of(group.flat, begin, {p.numel()}), d = part_of(direction, begin, {p.numel()});
    const Tensor size = w.norm(), length = d.norm();
    const Tensor ratio = (size.gt(0) & length.gt(0)).where(size / length, 1);
    parts.push_back(w - numbers[0] * ratio * d);
    begin += p.numel();
  }
  return {joined(parts), next.m, next.v};
}

// --- gradients ---

Tensor clip_grad_norm(std::span<const Tensor> parameters, double most, At at) {
  const OriginScope scope("clip_grad_norm", at);
  const NoGrad none;
  std::vector<Tensor> squares;
  for (const Tensor& p : parameters)
    if (p.grad()) squares.push_back(p.grad()->square().sum());
  STRATA_CHECK(!squares.empty(), domain, "[clip_grad_norm] no parameter has a gradient");
  Tensor total = squares[0];
  for (std::size_t k = 1; k < squares.size(); ++k) total = total + squares[k];
  const Tensor norm = total.sqrt().contiguous(), factor = (most / (norm + 1e-6)).minimum(1).contiguous();
  for (const Tensor& p : parameters)
    if (p.grad()) p.set_grad(*p.grad() * factor);
  return norm;
}

void clip_grad_value(std::span<const Tensor> parameters, double most, At at) {
  const OriginScope scope("clip_grad_value", at);
  const NoGrad none;
  STRATA_CHECK(most >= 0, domain, "[clip_grad_value] the largest value is ", most, "; 0 or more is expected");
  for (const Tensor& p : parameters)
    if (p.grad()) p.set_grad(p.grad()->clip(-most, most));
}

// --- learning rates ---

double step_schedule(double lr, std::int64_t step, std::int64_t every, double factor) {
  STRATA_CHECK(every > 0, domain, "[step_schedule] every is ", every, " steps; 1 or more is expected");
  const std::int64_t drops = step / every;
  return lr * std::pow(factor, static_cast<double>(drops));
}
double exponential_schedule(double lr, std::int64_t step, double factor) {
  return lr * std::pow(factor, static_cast<double>(step));
}
double cosine_schedule(double lr, std::int64_t step, std::int64_t steps, double last) {
  const double t = steps > 0 ? std::clamp(static_cast<double>(step) / static_cast<double>(steps), 0.0, 1.0) : 1;
  return last + (lr - last) * 0.5 * (1 + std::cos(std::numbers::pi * t));
}
double warmup_cosine_schedule(double lr, std::int64_t step, std::int64_t warmup, std::int64_t steps) {
  if (step < warmup) return lr * static_cast<double>(step) / static_cast<double>(warmup);
  return cosine_schedule(lr, step - warmup, steps - warmup);
}

}  // namespace strata::nn
