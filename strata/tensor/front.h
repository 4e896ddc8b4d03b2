// on_values(): runs an operation on Tensors as its formula on Values (ops/). It turns Tensor arguments into their graph
// nodes, checks that they are all on one device, calls the formula, and makes Tensors on that device from the resulting
// nodes. While the formula runs, an OriginScope records the operation and the user's source line for the nodes that the
// formula makes.
//
//   Tensor Tensor::renorm(double p, ..., At at) const { return on_values("renorm", at, [](const Value& x, ...) {...},
//   *this, p, ...); }
//
// What an operation computes is defined by its formula alone.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "strata/ops/formula_node.h"
#include "strata/ops/functional.h"
#include "strata/tensor/access.h"
#include "strata/tensor/functional.h"

namespace strata::front {

using ops::Value;

/// The one device of all tensors that are passed to an operation; the default device where there are none.
class CommonDevice {
 public:
  explicit CommonDevice(const char* operation) : operation_(operation), is_detaching_(NoGrad::is_active()) {}
  /// The graph node of `x`; under NoGrad a detached one. @throws Error (domain) where `x` is on another device than
  /// earlier tensors
  Value node_of(const Tensor& x) {
    STRATA_CHECK(device_ == nullptr || device_ == &x.device(), domain, "[", operation_, "] tensors on ",
                 device_->name(), " and on ", x.device().name(), ": move one with to()");
    device_ = &x.device();
    return is_detaching_ ? x.node().detached() : x.node();
  }
  const Device& device() const { return device_ != nullptr ? *device_ : Device::default_device(); }

 private:
  const char* operation_;
  const Device* device_ = nullptr;
  bool is_detaching_;
};

/// Owns the Value or number behind an ops::Operand (which only points to a Value) for the duration of a formula's call.
class HeldOperand {
 public:
  HeldOperand(const Operand& x, CommonDevice& devices) : number_(x.number()) {
    if (x.tensor() != nullptr) value_ = devices.node_of(*x.tensor());
  }
  operator ops::Operand() const { return value_ ? ops::Operand(*value_) : ops::Operand(number_); }

 private:
  std::optional<Value> value_;
  Number number_;
};
class MaybeHeldOperand {
 public:
  MaybeHeldOperand(const std::optional<Operand>& x, CommonDevice& devices) {
    if (x) held_.emplace(*x, devices);
  }
  operator std::optional<ops::Operand>() const { return held_ ? std::optional<ops::Operand>(*held_) : std::nullopt; }

 private:
  std::optional<HeldOperand> held_;
};

// lowered(argument, devices): the argument as the formula takes it. Tensors become Values; an argument without tensors
// is passed on unchanged.
inline Value lowered(const Tensor& x, CommonDevice& d) { return d.node_of(x); }
inline HeldOperand lowered(const Operand& x, CommonDevice& d) { return {x, d}; }
inline MaybeHeldOperand lowered(const std::optional<Operand>& x, CommonDevice& d) { return {x, d}; }
inline std::optional<Value> lowered(const std::optional<Tensor>& x, CommonDevice& d) {
  return x ? std::optional<Value>(d.node_of(*x)) : std::nullopt;
}
inline std::vector<Value> lowered(std::span<const Tensor> xs, CommonDevice& d) {
  std::vector<Value> out;
  out.reserve(xs.size());
  for (const Tensor& x : xs) out.push_back(d.node_of(x));
  return out;
}
/// Options with tensors in them, e.g. BasicAttentionOptions<Tensor>: options.of<Value>(f) are the same options on
/// Values.
template <class T>
concept HasTensors = requires(const T& options, Value (*f)(const std::optional<Tensor>&)) {
  options.template of<Value>([](const std::optional<Tensor>&) { return std::optional<Value>(); });
};
template <HasTensors T>
auto lowered(const T& options, CommonDevice& d) {
  return options.template of<Value>([&](const std::optional<Tensor>& x) { return lowered(x, d); });
}
template <class T>
  requires(!HasTensors<std::remove_cvref_t<T>>)
T&& lowered(T&& x, CommonDevice&) {
  return std::forward<T>(x);
}

// raised(result, device): the result of a formula as Tensors on `device`.
inline Tensor raised(const Value& x, const Device& d) { return TensorAccess::of(x.node(), d); }
inline std::pair<Tensor, Tensor> raised(const std::pair<Value, Value>& x, const Device& d) {
  return {raised(x.first, d), raised(x.second, d)};
}
inline std::vector<Tensor> raised(const std::vector<Value>& xs, const Device& d) {
  std::vector<Tensor> out;
  out.reserve(xs.size());
  for (const Value& x : xs) out.push_back(raised(x, d));
  return out;
}

/// Returns formula(lowered(args)...) as Tensors: a Tensor for a Value, a pair or vector of Tensors for those of Values.
/// @pre `operation` lives as long as the program: a literal
/// @throws Error (domain) naming `operation` for tensors on different devices; what the formula throws
template <class F, class... Args>
auto on_values(const char* operation, const At& at, const F& formula, const Args&... args) {
  const OriginScope scope(operation, at);
  const ops::FormulaScope formulas;
  CommonDevice devices(operation);
  // NOTE: braces guarantee evaluation from left to right.
  const std::tuple<decltype(lowered(args, devices))...> nodes{lowered(args, devices)...};
  return raised(std::apply(formula, nodes), devices.device());
}

}  // namespace strata::front
