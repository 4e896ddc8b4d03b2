#include "tests/accuracy/rows.h"

#include <algorithm>
#include <array>
#include <limits>

namespace strata::test {
namespace {

constexpr double kLeast = -std::numeric_limits<double>::infinity();

// Functions with parameters, by the names that their rows have; the others are methods.
namespace named {
#define STRATA_UNARY(name, ...) \
  [[maybe_unused]] Tensor name(const Tensor& x) { return x.name(); }
#define STRATA_BINARY(name, ...) \
  [[maybe_unused]] Tensor name(const Tensor& x, const Tensor& y) { return x.name(y); }
#include "strata/ops/operations.def"
Tensor softplus(const Tensor& x) { return x.softplus(); }
Tensor gelu(const Tensor& x) { return x.gelu(); }
Tensor gelu_tanh(const Tensor& x) { return x.gelu(true); }
Tensor elu(const Tensor& x) { return x.elu(); }
Tensor logit(const Tensor& x) { return x.logit(); }
Tensor polygamma_1(const Tensor& x) { return x.polygamma(1); }
Tensor polygamma_2(const Tensor& x) { return x.polygamma(2); }
Tensor polygamma_3(const Tensor& x) { return x.polygamma(3); }
Tensor polygamma_40(const Tensor& x) { return x.polygamma(40); }
Tensor pow_3(const Tensor& x) { return x.pow(3); }
Tensor pow_4(const Tensor& x) { return x.pow(4); }
Tensor pow_13(const Tensor& x) { return x.pow(13); }
Tensor pow_minus_2(const Tensor& x) { return x.pow(-2); }
Tensor pow_minus_7(const Tensor& x) { return x.pow(-7); }
}  // namespace named

double least_of(std::string_view name) {
  return name.starts_with("polygamma") ? std::numeric_limits<double>::denorm_min() : kLeast;
}

}  // namespace

std::span<const Row> rows() {
  static const std::vector<Row> all = {
#define ACCURACY(name, reference, f32, f64, absolute, ...)   \
  {#name,                                                    \
   named::name,                                              \
   [](Real x) -> Real { return reference; },                 \
   nullptr,                                                  \
   nullptr,                                                  \
   f32,                                                      \
   f64,                                                      \
   []([[maybe_unused]] Real x) -> Real { return absolute; }, \
   #absolute,                                                \
   {__VA_ARGS__},                                            \
   least_of(#name)},
#define ACCURACY_OF_TWO(name, reference, f32, f64, absolute) \
  {#name,                                                    \
   nullptr,                                                  \
   nullptr,                                                  \
   named::name,                                              \
   [](Real x, Real y) -> Real { return reference; },         \
   f32,                                                      \
   f64,                                                      \
   []([[maybe_unused]] Real x) -> Real { return absolute; }, \
   #absolute,                                                \
   {},                                                       \
   kLeast},
#include "tests/accuracy/rows.def"
  };
  return all;
}

std::span<const std::string_view> functions_of_tensors() {
  static constexpr std::string_view kNames[] = {
#define STRATA_UNARY(name, ...) #name,
#define STRATA_BINARY(name, ...) #name,
#include "strata/ops/operations.def"
  };
  return kNames;
}

/// What is exact, whole or true: tests/tensor and tests/graph compare it with what C++ gives, number by number.
bool is_elsewhere(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "neg",         "positive",    "abs",         "sign",         "angle",        "floor",
      "ceil",        "round",       "trunc",       "isnan",        "isinf",        "isfinite",
      "isposinf",    "isneginf",    "isreal",      "signbit",      "logical_not",  "bitwise_not",
      "add",         "sub",         "mul",         "floor_divide", "trunc_divide", "remainder",
      "fmod",        "float_power", "maximum",     "minimum",      "clamp_min",    "clamp_max",
      "fmax",        "fmin",        "copysign",    "nextafter",    "heaviside",    "gcd",
      "lcm",         "bitwise_and", "bitwise_or",  "bitwise_xor",  "lshift",       "rshift",
      "logical_and", "logical_or",  "logical_xor", "eq",           "ne",           "lt",
      "le",          "gt",          "ge"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

}  // namespace strata::test
