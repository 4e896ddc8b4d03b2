#include "strata/nn/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "strata/tensor/autograd.h"

namespace strata::nn {

namespace {

constexpr float kMostInput = 255, kMostWeight = 127;
constexpr float kMostBias = 0x1p30f;     // steps of a bias; half of what int32 holds
constexpr float kLeastScale = 0x1p-60f;  // of weights: products with an input's scale are normal numbers
constexpr float kLeastRange = 1e-12f, kMostRange = 1e12f;
constexpr float kMostWeights = 1e20f;

template <class T>
std::string text(T number) {
  return Scalar(number).text();
}

/// The range of the inputs of a layer.
class InputObserver {
 public:
  explicit InputObserver(std::optional<double> percentile) : percentile_(percentile) {}

  void see(const Tensor& input) {
    input.realize();  // once, for this layer and for what the network computes of the input
    const Tensor x = input.detach().cast(dtypes::float32);
    if (x.numel() == Int(0)) return;
    const auto number = [](const Tensor& t) { return t.to_vector<float>()[0]; };
    const float low = number(x.min()), high = number(x.max());
    is_finite_ = is_finite_ && std::isfinite(low) && std::isfinite(high);
    if (percentile_) {
      const double share = *percentile_ / 100;
      low_ += static_cast<double>(is_finite_ ? number(x.quantile(1 - share)) : low);
      high_ += static_cast<double>(is_finite_ ? number(x.quantile(share)) : high);
    } else {
      low_ = calls_ == 0 ? static_cast<double>(low) : std::min(low_, static_cast<double>(low));
      high_ = calls_ == 0 ? static_cast<double>(high) : std::max(high_, static_cast<double>(high));
    }
    ++calls_;
  }

  std::int64_t calls() const { return calls_; }
  bool is_finite() const { return is_finite_; }
  /// The range, with 0. @pre calls() > 0
  std::pair<float, float> range() const {
    const double count = percentile_ ? static_cast<double>(calls_) : 1;
    return {std::min(static_cast<float>(low_ / count), 0.0f), std::max(static_cast<float>(high_ / count), 0.0f)};
  }

 private:
  std::optional<double> percentile_;
  double low_ = 0, high_ = 0;  // with a percentile the sums of all calls
  std::int64_t calls_ = 0;
  bool is_finite_ = true;
};

/// The integers of a layer.
struct Quantized {
  Tensor weight, bias, scale, input_scale, input_zero_point;
};

/// The scale and the zero point of inputs. @throws Error (domain) naming the layer
std::pair<float, std::uint8_t> scale_of_inputs(const std::string& name, const InputObserver& seen) {
  STRATA_CHECK(seen.calls() > 0, domain, "[quantize] no calibration input reached the layer ", name,
               ": run it, or exclude it");
  STRATA_CHECK(seen.is_finite(), domain, "[quantize] the inputs of the layer ", name, " are not all finite");
  const auto [low, high] = seen.range();
  const float most = std::max(-low, high);
  if (most == 0) return {1.0f, std::uint8_t{0}};
  STRATA_CHECK(most >= kLeastRange && most <= kMostRange, domain, "[quantize] the inputs of the layer ", name,
               " lie from ", text(low), " to ", text(high), ": a largest magnitude from ", text(kLeastRange), " to ",
               text(kMostRange), " is expected");
  const float scale = (high - low) / kMostInput;
  return {scale, static_cast<std::uint8_t>(std::min(std::nearbyint(-low / scale), kMostInput))};
}

/// `per_row` (out,) beside a tensor of `ndim` axes whose first one is the output channels; a scalar stays.
Tensor beside_rows(const Tensor& per_row, std::int64_t ndim) {
  Ints shape(static_cast<std::size_t>(ndim), 1);
  shape[0] = -1;
  return per_row.ndim() == 0 ? per_row : per_row.reshape(shape);
}

/// @throws Error (domain) naming the layer
Quantized quantized_layer(const std::string& name, const Tensor& given, const std::optional<Tensor>& given_bias,
                          const InputObserver& seen, bool per_channel) {
  const auto [input_scale, zero] = scale_of_inputs(name, seen);
  const Device& device = given.device();
  const Tensor w = given.detach().cast(dtypes::float32);
  const std::int64_t rows = w.size(0).value();
  const Tensor b = given_bias ? given_bias->detach().cast(dtypes::float32) : Tensor::zeros({rows}).to(device);
  const Tensor flat = w.reshape({rows, -1});
  const auto largest = [&](const Tensor& of) {  // a row each, or of all; 0 of none
    const Tensor padded = of.abs().pad({{0, 0}, {0, 1}});
    return per_channel ? padded.max(1) : padded.max();
  };
  const Tensor most_weight = largest(flat), most_bias = largest(b.reshape({rows, 1}));
  for (const Tensor& t : {most_weight, most_bias})
    for (const float value : t.to_vector<float>())
      STRATA_CHECK(value <= kMostWeights, domain, "[quantize] the weights of the layer ", name, " reach ", text(value),
                   ": at most ", text(kMostWeights), " is expected");
  const Tensor of_input = Tensor::from({input_scale}).reshape({}).to(device);
  const Tensor weight_scale =
      (most_weight / kMostWeight).maximum(most_bias / (of_input * kMostBias).realize()).maximum(kLeastScale).realize();
  const Tensor scale = (of_input * weight_scale).realize();
  const Tensor weight = w.quantize(beside_rows(weight_scale, w.ndim()), 0, dtypes::int8).realize();
  const Tensor numbers = weight.cast(dtypes::int32).reshape({rows, -1});
  for (const std::int64_t sum : numbers.abs().cast(dtypes::int64).sum(1).to_vector<std::int64_t>())
    STRATA_CHECK(sum <= (std::int64_t{1} << 30) / 255, domain, "[quantize] the sums of the layer ", name,
                 " could leave int32: the weights of an output add up to ", sum, " steps");
  const Tensor sums = numbers.sum(1).cast(dtypes::int32);
  const Tensor bias =
      ((b / scale).round().cast(dtypes::int32) - sums * static_cast<std::int64_t>(zero)).cast(dtypes::int32).realize();
  return {weight, bias, scale, of_input.realize(), Tensor::from({zero}).reshape({}).to(device).realize()};
}

bool is_inside(const std::string& name, const std::string& of) {
  return name == of || (name.starts_with(of) && name.size() > of.size() && name[of.size()] == '.');
}

}  // namespace

void QuantizableLayer::add_members(Tensor& weight, std::optional<Tensor>& bias) {
  weight_ = &weight, bias_ = &bias;
  const Int out = weight.size(0);
  add_member("weight", weight);
  add_member("bias", bias, {out});
}

/// Checks that the layer can have the names of the tensors that quantised layers have.
void QuantizableLayer::check_names() const {
  for (const char* const name : {"output_scale", "input_scale", "input_zero_point"}) check_name(name);
}

void QuantizableLayer::set_quantized(const NamedTensors& tensors) {
  const auto given = [&](const char* name, DType dtype) {
    const auto at = std::find_if(tensors.begin(), tensors.end(), [&](const auto& e) { return e.first == name; });
    STRATA_CHECK(at != tensors.end(), domain, "[set_quantized] ", name, " is missing");
    STRATA_CHECK(at->second.dtype() == dtype, domain, "[set_quantized] ", name, " is of ", at->second.dtype().name(),
                 ", not ", dtype.name());
    return at->second;
  };
  const auto check = [&](const char* name, const Tensor& t, const Ints& shape) {
    STRATA_CHECK(t.shape() == shape, shape, "[set_quantized] ", name, " is of shape ", render(t.shape()), ", not ",
                 render(shape));
  };
  STRATA_CHECK(tensors.size() == 5, domain, "[set_quantized] ", tensors.size(), " tensors in place of 5");
  const Tensor w = given("weight", dtypes::int8), b = given("bias", dtypes::int32),
               s = given("output_scale", dtypes::float32), in = given("input_scale", dtypes::float32),
               zero = given("input_zero_point", dtypes::uint8);
  const Int out = weight_->size(0);
  check("weight", w, weight_->shape());
  check("bias", b, {out});
  check("output_scale", s, s.ndim() == 0 ? Ints{} : Ints{out});
  check("input_scale", in, {});
  check("input_zero_point", zero, {});
  if (!is_quantized()) {
    check_names();
    add_buffer_member("output_scale", output_scale, {out}, dtypes::float32);
    add_buffer_member("input_scale", input_scale, {}, dtypes::float32);
    add_buffer_member("input_zero_point", input_zero_point, {}, dtypes::uint8);
  }
  replace_by_buffer("weight", w);
  replace_by_buffer("bias", b);
  replace_by_buffer("output_scale", s);
  replace_by_buffer("input_scale", in);
  replace_by_buffer("input_zero_point", zero);
}

Tensor QuantizableLayer::quantized_input(const Tensor& x) const {
  return x.quantize(*input_scale, *input_zero_point, dtypes::uint8);
}

Tensor QuantizableLayer::rescaled(const Tensor& sums, std::int64_t channels) const {
  Ints shape(static_cast<std::size_t>(sums.ndim()), 1);
  shape[static_cast<std::size_t>(channels)] = -1;
  const auto beside = [&](const Tensor& t) { return t.ndim() == 0 ? t : t.reshape(shape); };
  return (sums.cast(dtypes::int32) + beside(**bias_)).cast(dtypes::float32) * beside(*output_scale);
}

void QuantizableLayer::observe(const Tensor& x) const {
  if (observer_) observer_(x);
}

void quantize_layers(const std::vector<std::pair<std::string, Module*>>& modules,
                     const std::function<void()>& calibrate, const QuantizeOptions& options) {
  const NoGrad none;
  STRATA_CHECK(!options.percentile || (*options.percentile > 50 && *options.percentile <= 100), domain,
               "[quantize] a percentile of ", text(options.percentile.value_or(0)),
               ": more than 50, and at most 100, is expected");
  STRATA_CHECK(modules.empty() || !modules.front().second->is_training(), domain,
               "[quantize] the model is in training: call eval() first");
  for (const std::string& excluded : options.exclude)
    STRATA_CHECK(std::any_of(modules.begin(), modules.end(), [&](const auto& m) { return m.first == excluded; }),
                 domain, "[quantize] exclude: there is no module ", excluded);
  std::vector<std::pair<std::string, QuantizableLayer*>> layers;
  for (const auto& [name, module] : modules) {
    auto* const layer = dynamic_cast<QuantizableLayer*>(module);
    const auto excludes = [&, &at = name](const std::string& excluded) { return is_inside(at, excluded); };
    if (layer == nullptr || std::any_of(options.exclude.begin(), options.exclude.end(), excludes)) continue;
    STRATA_CHECK(!layer->is_quantized(), domain, "[quantize] the layer ", name, " is quantised already");
    layer->check_names();
    layers.emplace_back(name.empty() ? "itself" : name, layer);
  }
  STRATA_CHECK(!layers.empty(), domain, "[quantize] the model has no Linear or Conv layer to quantise");

  struct Watch {  // detaches the observers, also where calibrate() throws
    Watch() = default;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() {
      for (QuantizableLayer* const layer : layers) layer->observer_ = nullptr;
    }
    std::vector<QuantizableLayer*> layers;
  } watch;
  std::vector<Quantized> results;
  std::vector<InputObserver> seen(layers.size(), InputObserver(options.percentile));
  for (std::size_t k = 0; k < layers.size(); ++k) {
    watch.layers.push_back(layers[k].second);
    layers[k].second->observer_ = [&observer = seen[k]](const Tensor& x) { observer.see(x); };
  }
  calibrate();
  results.reserve(layers.size());
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const auto& [name, layer] = layers[k];
    results.push_back(quantized_layer(name, *layer->weight_, *layer->bias_, seen[k], options.per_channel));
  }
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const Quantized& q = results[k];
    layers[k].second->set_quantized({{"weight", q.weight},
                                     {"bias", q.bias},
                                     {"output_scale", q.scale},
                                     {"input_scale", q.input_scale},
                                     {"input_zero_point", q.input_zero_point}});
  }
}

}  // namespace strata::nn
