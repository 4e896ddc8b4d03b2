#include "strata/ops/backward.h"

#include <algorithm>
#include <memory>

#include "strata/ops/gradient.h"

namespace strata::ops {

namespace {

/// Adapts a Backward, a function of Values, to the GradientFunction of nodes.
class FormulaGradient final : public GradientFunction {
 public:
  FormulaGradient(Backward f, Saved saved) : f_(f), saved_(std::move(saved)) {}
  std::vector<LazyOp> gradients(const LazyOp& dy) const override {
    std::vector<LazyOp> out;
    for (const Value& v : f_(dy, saved_)) out.push_back(v.node());
    return out;
  }

 private:
  Backward f_;
  Saved saved_;
};

}  // namespace

Value with_gradient(const Value& value, std::span<const Value> inputs, Backward backward, Saved saved) {
  std::vector<LazyOp> nodes;
  for (const Value& x : inputs) nodes.push_back(x.node());
  return value.node().with_gradient(nodes, std::make_shared<const FormulaGradient>(backward, std::move(saved)));
}

std::vector<Value> gradients(const Value& y, std::span<const Value> xs, const Value& dy) {
  std::vector<LazyOp> nodes;
  for (const Value& x : xs) nodes.push_back(x.node());
  const auto by = backpropagate(y, dy, nodes);
  std::vector<Value> out;
  for (const Value& x : xs) {
    const auto at = by.find(x.node().node());
    out.push_back(at == by.end() ? x.zeros_like() : Value(at->second));
  }
  return out;
}

Value flat_in(const Value& value, const std::vector<Value>& inputs) {
  const auto takes = [](const Value& x) { return x.is_tracked(); };
  if (!kTakesGradients || !value.dtype().is_float() || std::none_of(inputs.begin(), inputs.end(), takes)) return value;
  const auto backward = [](const Value&, const Saved& saved) {
    std::vector<Value> zeros;
    for (std::size_t k = 0; k < saved.size(); ++k) zeros.push_back(saved[k].zeros_like());
    return zeros;
  };
  return with_gradient(value.detach(), inputs, backward, Saved(inputs));
}

Value with_softmax_gradient(const Value& y, const Value& x, std::int64_t axis) {
  if (!kTakesGradients || !x.is_tracked()) return y;
  const auto backward = [](const Value& dy, const Saved& saved) {
    const std::int64_t along = saved.number(0);
    const Value of_x = with_softmax_gradient(saved[1], saved[0], along);
    return std::vector{of_x * (dy - (dy * of_x).sum(along, true))};
  };
  return with_gradient(y, {&x, 1}, backward, Saved({x, y}, {axis}));
}

}  // namespace strata::ops
