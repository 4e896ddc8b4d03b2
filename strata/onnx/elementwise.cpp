// Operators that work element by element, and those of several operands that broadcast.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "strata/onnx/operators.h"
#include "strata/tensor/random.h"

namespace strata::onnx {
namespace {

/// Unary operators whose function is one operation of Strata.
#define STRATA_ONNX_UNARY(function, ...) \
  }                                      \
  Results function(const Call& call) {   \
    const Tensor x = call.x(0);          \
    return {__VA_ARGS__};                \
  }                                      \
  namespace {
/// Binary operators, the same.
#define STRATA_ONNX_BINARY(function, ...)            \
  }                                                  \
  Results function(const Call& call) {               \
    const Tensor a = call.x(0), b = second(call, a); \
    check_same(a, b);                                \
    return {__VA_ARGS__};                            \
  }                                                  \
  namespace {

void check_same(const Tensor& a, const Tensor& b) {
  STRATA_CHECK(a.dtype() == b.dtype(), domain, "the operands are of ", a.dtype().name(), " and ", b.dtype().name());
}

/// The second operand. Before version 7 it broadcasts only where `broadcast` says so, from `axis` on.
Tensor second(const Call& call, const Tensor& a) {
  Tensor b = call.x(1);
  if (call.node().row->attribute("broadcast") == nullptr) return b;
  if (call.integer("broadcast") == 0 || !call.given("axis")) return b;
  const std::int64_t axis = Call::axis_in(call.integer("axis"), a.ndim());
  STRATA_CHECK(axis + b.ndim() <= a.ndim(), shape, "an operand of ", b.ndim(), " dimensions from axis ", axis, " on");
  Ints shape = b.shape();
  for (std::int64_t d = axis + b.ndim(); d < a.ndim(); ++d) shape.push_back(1);
  return b.reshape(shape);
}

Tensor as(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : x.cast(dtype); }

// clang-format off
STRATA_ONNX_UNARY(absolute, x.abs())
STRATA_ONNX_UNARY(arc_cosine, x.acos())
STRATA_ONNX_UNARY(area_cosine, x.acosh())
STRATA_ONNX_UNARY(arc_sine, x.asin())
STRATA_ONNX_UNARY(area_sine, x.asinh())
STRATA_ONNX_UNARY(arc_tangent, x.atan())
STRATA_ONNX_UNARY(area_tangent, x.atanh())
STRATA_ONNX_UNARY(ceiling, x.ceil())
STRATA_ONNX_UNARY(cosine, x.cos())
STRATA_ONNX_UNARY(hyperbolic_cosine, x.cosh())
STRATA_ONNX_UNARY(error_function, x.erf())
STRATA_ONNX_UNARY(exponential, x.exp())
STRATA_ONNX_UNARY(floored, x.floor())
STRATA_ONNX_UNARY(hard_swish, x * (x / 6 + 0.5).clip(Operand(0), Operand(1)))
STRATA_ONNX_UNARY(is_nan, x.isnan())
STRATA_ONNX_UNARY(logarithm, x.log())
STRATA_ONNX_UNARY(negated, x.neg())
STRATA_ONNX_UNARY(mish, as(x.mish(), x.dtype()))
STRATA_ONNX_UNARY(bits_inverted, x.bitwise_not())
STRATA_ONNX_UNARY(logical_not, x.logical_not())
STRATA_ONNX_UNARY(reciprocal, x.reciprocal())
STRATA_ONNX_UNARY(relu, x.relu())
STRATA_ONNX_UNARY(rounded, x.round())
STRATA_ONNX_UNARY(sigmoid, x.sigmoid())
STRATA_ONNX_UNARY(sign_of, x.sign())
STRATA_ONNX_UNARY(sine, x.sin())
STRATA_ONNX_UNARY(hyperbolic_sine, x.sinh())
STRATA_ONNX_UNARY(soft_plus, x.softplus(1, 1e30))
STRATA_ONNX_UNARY(soft_sign, x.softsign())
STRATA_ONNX_UNARY(square_root, x.sqrt())
STRATA_ONNX_UNARY(tangent, x.tan())
STRATA_ONNX_UNARY(hyperbolic_tangent, x.tanh())
STRATA_ONNX_UNARY(elu, as(x.elu(call.number("alpha")), x.dtype()))
STRATA_ONNX_UNARY(celu, as(x.celu(call.number("alpha")), x.dtype()))
STRATA_ONNX_UNARY(selu, (x > 0).where(x, (x.exp() - 1) * call.number("alpha")) * call.number("gamma"))
STRATA_ONNX_UNARY(leaky_relu, x.leaky_relu(call.number("alpha")))
STRATA_ONNX_UNARY(thresholded_relu, (x > call.number("alpha")).where(x, 0))
STRATA_ONNX_UNARY(hard_sigmoid, (x * call.number("alpha") + call.number("beta")).clip(Operand(0), Operand(1)))

STRATA_ONNX_BINARY(add, a + b)
STRATA_ONNX_BINARY(subtract, a - b)
STRATA_ONNX_BINARY(multiply, a * b)
STRATA_ONNX_BINARY(divide, a.dtype().is_float() ? a / b : a.trunc_divide(b))
STRATA_ONNX_BINARY(logical_and, a.logical_and(b))
STRATA_ONNX_BINARY(logical_or, a.logical_or(b))
STRATA_ONNX_BINARY(logical_xor, a.logical_xor(b))
STRATA_ONNX_BINARY(greater, a > b)
STRATA_ONNX_BINARY(greater_or_equal, a >= b)
STRATA_ONNX_BINARY(less, a < b)
STRATA_ONNX_BINARY(bits_and, a.bitwise_and(b))
STRATA_ONNX_BINARY(bits_or, a.bitwise_or(b))
STRATA_ONNX_BINARY(bits_xor, a.bitwise_xor(b))
STRATA_ONNX_BINARY(less_or_equal, a <= b)
// clang-format on

/// Folds all inputs, which broadcast, with `f`.
Results folded(const Call& call, const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
  Tensor out = call.x(0);
  for (std::size_t k = 1; k < call.count(); ++k) {
    const Tensor next = call.x(k);
    check_same(out, next);
    out = f(out, next);
  }
  return {out};
}

/// The text of a number in ONNX's test data, which is NumPy's: the shortest that reads back.
Texts texts_of(const Tensor& x) {
  realize_known(x);
  const Buffer elements = x.buffer().toCPU();
  Texts out{sizes_of(x), {}};
  for (std::int64_t k = 0; k < elements.size() && k < x.numel().value(); ++k)
    out.elements.push_back(elements[k].text());
  return out;
}

Tensor numbers_of_texts(const Call& call, const Texts& texts, DType dtype) {
  std::vector<double> numbers;
  for (const std::string& text : texts.elements) {
    char* end = nullptr;
    numbers.push_back(std::strtod(text.c_str(), &end));
    STRATA_CHECK(!text.empty() && *end == '\0', domain, "\"", text, "\" is not a number");
  }
  return call.from(numbers, texts.shape, dtype);
}

Results cast_to(const Call& call, const Datum& value, std::int64_t type) {
  if (type == kTextElements) return {value.is_texts() ? value : Datum(texts_of(value.tensor()))};
  const DType dtype = dtype_of_element(type, "the result");
  if (value.is_texts()) return {numbers_of_texts(call, value.texts(), dtype)};
  return {as(call.here(value.tensor()), dtype)};
}

Results clipped(const Call& call, const std::optional<Tensor>& low, const std::optional<Tensor>& high) {
  Tensor x = call.x(0);
  if (low) x = x.maximum(*low);
  if (high) x = x.minimum(*high);
  return {x};
}

/// x with its elements dropped, and the mask of those that stay.
Results dropped(const Call& call, double ratio, bool is_training, std::int64_t seed, bool has_seed) {
  STRATA_CHECK(ratio >= 0 && ratio < 1, domain, "the ratio is ", ratio);
  const Tensor x = call.x(0);
  if (!is_training || ratio == 0) return {x, call.full(x.shape(), true, dtypes::boolean)};
  const Generator own = has_seed ? Generator(static_cast<std::uint64_t>(seed)) : call.generator();
  const Tensor kept = rand_like(x, own) >= ratio;
  return {kept.where(x / (1 - ratio), 0), kept};
}

}  // namespace

Results gelu(const Call& call) {
  const Tensor x = call.x(0);
  const std::string& approximation = call.text("approximate");
  STRATA_CHECK(approximation == "none" || approximation == "tanh", domain, "approximate is ", approximation);
  const Tensor bent = approximation == "none" ? (x * std::sqrt(0.5)).erf()
                                              : ((x + x * x * x * 0.044715) * std::sqrt(2 / std::numbers::pi)).tanh();
  return {(x * 0.5 * (bent + 1)).cast(x.dtype())};
}

Results prelu(const Call& call) {
  const Tensor x = call.x(0);
  Tensor slope = call.x(1);
  check_same(x, slope);
  // Before version 7 a slope of one dimension is of the channels.
  if (call.opset() < 7 && slope.ndim() == 1 && x.ndim() > 2 && slope.numel() != Int(1)) {
    Ints shape(static_cast<std::size_t>(x.ndim()) - 1, 1);
    shape[0] = slope.numel();
    slope = slope.reshape(shape);
  }
  return {(x >= 0).where(x, x * slope)};
}

Results modulo(const Call& call) {
  const Tensor a = call.x(0), b = call.x(1);
  check_same(a, b);
  const bool is_c = call.integer("fmod") != 0;
  STRATA_CHECK(is_c || !a.dtype().is_float(), domain, "fmod is 0 for ", a.dtype().name());
  return {is_c ? a.fmod(b) : a.remainder(b)};
}

Results power(const Call& call) {
  const Tensor a = call.x(0), b = second(call, a);
  // A known number has formulas of its own: a square is a product.
  if (a.dtype().is_float() && b.numel() == Int(1) && b.ndim() <= a.ndim() && is_on_host(call.datum(1)))
    return {a.pow(call.number_of(1))};
  if (a.dtype() == b.dtype() || !(a.dtype().is_float() || b.dtype().is_float()))
    return {as(a.pow(as(b, a.dtype())), a.dtype())};
  if (a.dtype().is_float()) return {a.pow(as(b, a.dtype()))};
  return {as(as(a, dtypes::float64).pow(as(b, dtypes::float64)), a.dtype())};
}

Results equal(const Call& call) {
  if (call.datum(0).is_texts()) return equal_texts(call);
  if (!call.datum(0).is_texts()) {
    const Tensor a = call.x(0), b = second(call, a);
    check_same(a, b);
    return {a == b};
  }
  const Texts &a = call.datum(0).texts(), &b = call.datum(1).texts();
  STRATA_CHECK(a.shape == b.shape, shape, "texts of the shapes ", sizes_text(a.shape), " and ", sizes_text(b.shape));
  Sizes out;
  for (std::size_t k = 0; k < a.elements.size(); ++k) out.push_back(a.elements[k] == b.elements[k] ? 1 : 0);
  return {call.from(out, a.shape) != 0};
}

Results bit_shift(const Call& call) {
  const Tensor a = call.x(0), b = call.x(1);
  check_same(a, b);
  const std::string& direction = call.text("direction");
  STRATA_CHECK(direction == "LEFT" || direction == "RIGHT", domain, "the direction is ", direction);
  return {as(direction == "LEFT" ? a.lshift(b) : a.rshift(b), a.dtype())};
}

Results maximum(const Call& call) {
  return folded(call, [](const Tensor& a, const Tensor& b) { return a.maximum(b); });
}
Results minimum(const Call& call) {
  return folded(call, [](const Tensor& a, const Tensor& b) { return a.minimum(b); });
}
Results sum_of_all(const Call& call) {
  return folded(call, [](const Tensor& a, const Tensor& b) { return a + b; });
}
Results mean_of_all(const Call& call) {
  const Tensor sum = sum_of_all(call)[0].tensor();
  return {sum / static_cast<double>(call.count())};
}

Results clip_by_attributes(const Call& call) {
  const DType dtype = call.x(0).dtype();
  std::optional<Tensor> low, high;
  if (call.given("min")) low = call.full({}, call.number("min"), dtype);
  if (call.given("max")) high = call.full({}, call.number("max"), dtype);
  return clipped(call, low, high);
}
Results clip(const Call& call) { return clipped(call, call.maybe(1), call.maybe(2)); }

Results where(const Call& call) {
  const Tensor condition = call.x(0), a = call.x(1), b = call.x(2);
  check_same(a, b);
  return {condition.where(a, b)};
}

Results is_infinite(const Call& call) {
  const Tensor x = call.x(0);
  const bool low = call.integer("detect_negative") != 0, high = call.integer("detect_positive") != 0;
  if (low && high) return {x.isinf()};
  if (low || high) return {low ? x.isneginf() : x.isposinf()};
  return {call.full(x.shape(), false, dtypes::boolean)};
}

Results shrink(const Call& call) {
  const Tensor x = call.x(0);
  const double lambda = call.number("lambd"), bias = call.number("bias");
  return {as((x < -lambda).where(x + bias, (x > lambda).where(x - bias, 0)), x.dtype())};
}

Results identity(const Call& call) { return {call.datum(0).is_tensor() ? Datum(call.x(0)) : call.datum(0)}; }

Results cast(const Call& call) { return cast_to(call, call.datum(0), call.integer("to")); }

Results cast_like(const Call& call) {
  const Datum& like = call.datum(1);
  if (like.is_texts()) return cast_to(call, call.datum(0), kTextElements);
  const DType dtype = like.tensor().dtype();
  if (call.datum(0).is_texts()) return {numbers_of_texts(call, call.datum(0).texts(), dtype)};
  return {as(call.x(0), dtype)};
}

Results dropout_by_attributes(const Call& call) { return dropped(call, call.number("ratio"), false, 0, false); }
Results dropout(const Call& call) {
  const double ratio = call.has(1) ? call.number_of(1) : 0.5;
  const bool is_training = call.has(2) && call.integer_of(2) != 0;
  return dropped(call, ratio, is_training, call.integer("seed"), call.given("seed"));
}

Results cumulative_sum(const Call& call) {
  Tensor x = call.x(0);
  const std::int64_t axis = Call::axis_in(call.integer_of(1), x.ndim());
  const DType dtype = x.dtype();
  const bool is_reverse = call.integer("reverse") != 0;
  if (is_reverse) x = x.flip(axis);
  if (call.integer("exclusive") != 0) {
    Padding before;
    for (std::int64_t d = 0; d < x.ndim(); ++d) before.push_back({d == axis ? 1 : 0, d == axis ? -1 : 0});
    x = x.pad(before);
  }
  x = as(x.cumsum(axis), dtype);
  return {is_reverse ? x.flip(axis) : x};
}

}  // namespace strata::onnx
