// Quantisation after training: the Linear and Conv layers of a trained network compute in integers. Inputs of a layer
// are u8, weights i8, sums i32, so that the processor's dot products of bytes (VNNI) compute four products at a time.
//
//   net.eval();
//   nn::quantize(net, std::vector{x});      // x: calibration inputs; changes the layers of `net` in place
//   net(x);                                 // in integers, within the layers
//
// quantize() runs the network's own function on the calibration inputs. Each layer observes the range of its inputs,
// and then holds integers in place of its floats. A layer takes and gives floats as before, so the functions between
// layers may be any; the compiler makes one kernel of the rescaling of a layer, the functions behind it, and the
// rounding to bytes for the next layer, and memory has the bytes alone.
//
// The arithmetic, where f32 operations round each result to nearest, ties to even, and round() is to the nearest
// integer, ties to even. low <= 0 <= high are the least and largest input that the layer observed, and 0.
//   input_scale      = (high - low) / 255 in f32;  1 if high == low
//   input_zero_point = min(round(-low / input_scale), 255)
//   weight_scale     = max(max|w| / 127, max|b| / (input_scale * 2^30), 2^-60) in f32; the maxima are of each output
//                      channel with per_channel, else of the whole layer; b is 0 without a bias
//   output_scale     = input_scale * weight_scale in f32
//   weight           = round(w / weight_scale), which is from -127 to 127
//   bias             = round(b / output_scale) - input_zero_point * sum(weight of the output channel), in i32
// A layer then computes of x
//   q = min(max(round(x / input_scale) + input_zero_point, 0), 255)    in u8; padding is input_zero_point
//   y = f32(sum(q * weight) + bias) * output_scale                     the sum in i32; one rounding to f32, one product
// Inputs are u8 and not symmetric because the instruction multiplies unsigned bytes by signed ones, and because inputs
// behind a relu() then use all 256 steps. Weights are symmetric, so that no sum of inputs is needed.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strata/nn/module.h"

namespace strata::nn {

/// How quantize() chooses scales, and of which layers.
struct QuantizeOptions {
  /// Whether each output channel of a weight has a scale of its own; else a layer has one.
  bool per_channel = true;
  /// Takes these percentiles of the inputs for their range, e.g. 99.9: of each call of a layer those at 1 - p/100 and
  /// p/100, and of these the means over the calls. None: the least and the largest input.
  std::optional<double> percentile = {};
  /// Names of layers, or of modules with all layers inside, that stay as they are, e.g. {"out"}.
  std::vector<std::string> exclude = {};
};

/// The base of Linear and Conv: a layer with a weight (out, ...) and a bias (out,) that quantize() can make compute in
/// integers. The weight of a quantised layer is int8, and the bias int32 and never absent.
class QuantizableLayer : public Module {
 public:
  /// Of a quantised layer: f32 (out,), or () without `per_channel`; f32 (); uint8 (). See the head of the file.
  std::optional<Tensor> output_scale, input_scale, input_zero_point;

  /// Whether the layer computes in integers: whether quantize() has changed it.
  bool is_quantized() const { return input_scale.has_value(); }
  /// Makes the layer a quantised one that holds these tensors, e.g. those of another one's state_dict(): "weight",
  /// "bias", "output_scale", "input_scale" and "input_zero_point".
  /// @throws Error (domain) for another name, a missing tensor or another dtype, or where a class that is derived from
  ///   the layer has registered one of the names; (shape) for another shape; nothing has changed then
  void set_quantized(const NamedTensors& tensors);

 protected:
  QuantizableLayer() = default;
  /// Registers these members of the layer. @pre the members live as long as the layer
  void add_members(Tensor& weight, std::optional<Tensor>& bias);
  /// The input as u8. @pre is_quantized()
  Tensor quantized_input(const Tensor& x) const;
  /// The sums of products as floats; axis `channels` has the output channels. @pre is_quantized()
  Tensor rescaled(const Tensor& sums, std::int64_t channels) const;
  /// Shows an input to quantize(), if that is under way.
  void observe(const Tensor& x) const;

 private:
  friend void quantize_layers(const std::vector<std::pair<std::string, Module*>>& modules,
                              const std::function<void()>& calibrate, const QuantizeOptions& options);
  void check_names() const;
  Tensor* weight_ = nullptr;
  std::optional<Tensor>* bias_ = nullptr;
  std::function<void(const Tensor&)> observer_;  // during quantize() only
};

/// Makes the Linear and Conv layers among `modules` compute in integers, after `calibrate` has run the network on
/// calibration inputs. The layers change in place, and are no longer trained: their weights and biases become buffers.
/// A jit function that was captured before keeps the floats.
/// @throws Error (domain) and nothing has changed: if the first module is in training; for a percentile outside of (50,
///   100]; a name in `exclude` that no module has; no layer that is not excluded; a layer that is quantised already,
///   that no input reached, whose inputs or weights are not finite, whose inputs are all nearer to 0 than 1e-12 or
///   reach beyond 1e12, or whose sums could leave int32. What `calibrate` throws is passed on
void quantize_layers(const std::vector<std::pair<std::string, Module*>>& modules,
                     const std::function<void()>& calibrate, const QuantizeOptions& options = {});

/// quantize_layers() of all layers of `model`, which `calibrate` has to call.
inline void quantize(Module& model, const std::function<void()>& calibrate, const QuantizeOptions& options = {}) {
  quantize_layers(model.named_modules(), calibrate, options);
}

/// The same for a model that is called with one tensor, on each of `inputs`. @throws Error (domain) also without inputs
template <class M>
  requires std::derived_from<M, Module> && std::invocable<M&, const Tensor&>
void quantize(M& model, const std::vector<Tensor>& inputs, const QuantizeOptions& options = {}) {
  STRATA_CHECK(!inputs.empty(), domain, "[quantize] no calibration inputs are given");
  const auto calibrate = [&] {
    for (const Tensor& x : inputs) static_cast<void>(model(x));
  };
  quantize_layers(model.named_modules(), calibrate, options);
}

}  // namespace strata::nn
