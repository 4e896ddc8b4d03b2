#include "strata/onnx/capture.h"

#include <algorithm>

#include "strata/base/check.h"
#include "strata/onnx/run.h"
#include "strata/tensor/captured.h"

namespace strata::onnx {
namespace {

/// Why a value is no argument or result of a captured function.
void check_tensor(const char* what, const std::string& name, const Datum& value) {
  STRATA_CHECK(value.is_tensor(), domain, "[onnx] the ", what, " \"", name, "\" is ", value.type_text(),
               ": a captured call has tensors alone");
}

/// `x` with bound sizes, cut by one position along their axes, or with one more of zeros where the size is the smallest
/// one: a second value of each size, without which a capture would be for one.
Tensor of_other_sizes(const Tensor& x, const Tensor& bound) {
  if (bound.shape() == x.shape()) return x;
  Padding more;
  Mask kept;
  for (std::int64_t k = 0; k < x.ndim(); ++k) {
    const Int &size = x.size(k), &variable = bound.size(k);
    const bool is_bound = !variable.is_number(), is_least = is_bound && size == Int(variable.vmin());
    kept.push_back({0, is_bound && !is_least ? size - 1 : size});
    more.push_back({0, is_least ? 1 : 0});
  }
  return x.shrink(kept).pad(more).realize();
}

}  // namespace

Capture capture(const Model& model, const NamedValues& inputs, const NamedValues& constants) {
  Capture out;
  for (const auto& [name, value] : constants) {
    const bool is_twice =
        std::any_of(inputs.begin(), inputs.end(), [&, &n = name](const auto& x) { return x.first == n; });
    STRATA_CHECK(!is_twice, domain, "[onnx] the input \"", name, "\" is an argument and a constant");
  }
  for (const auto& [name, value] : inputs) {
    check_tensor("input", name, value);
    out.inputs.push_back(name);
    // An argument of its own, also where two inputs are one tensor or a constant expression.
    out.arguments.push_back(value.tensor().detach());
    out.arguments.back().realize();
  }
  const auto call = [&model, names = out.inputs, constants](std::span<const Tensor> arguments) {
    NamedValues given = constants;
    for (std::size_t k = 0; k < names.size(); ++k) given.emplace_back(names[k], arguments[k]);
    std::vector<Tensor> results;
    for (const auto& [name, value] : model(given)) {
      check_tensor("output", name, value);
      results.push_back(value.tensor());
    }
    return results;
  };
  for (const Port& port : model.outputs()) out.outputs.push_back(port.name);
  out.function = std::make_unique<Jit>(call, 8, model.definition().graphs[0].name);
  NamedValues given, others;
  for (std::size_t k = 0; k < out.inputs.size(); ++k) given.emplace_back(out.inputs[k], out.arguments[k]);
  const NamedValues bound = model.bound(given);
  for (std::size_t k = 0; k < bound.size(); ++k)
    others.emplace_back(out.inputs[k], of_other_sizes(out.arguments[k], bound[k].second.tensor()));
  others = model.bound(others);
  std::vector<Tensor> first;
  for (std::size_t k = 0; k < bound.size(); ++k) {
    first.push_back(others[k].second.tensor());
    out.arguments[k] = bound[k].second.tensor();
  }
  (*out.function)(first);
  (*out.function)(out.arguments);
  for (const std::size_t k : out.function->captured().read_by_host) out.decisive.push_back(out.inputs[k]);
  return out;
}

}  // namespace strata::onnx
