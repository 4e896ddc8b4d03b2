// The operations on Tensors: each row of the table of operations calls its formula.

#include "strata/ops/fourier.h"
#include "strata/ops/linear_algebra.h"
#include "strata/tensor/fourier.h"
#include "strata/tensor/front.h"
#include "strata/tensor/linear_algebra.h"

namespace strata {

using front::on_values, front::Value;

#define STRATA_ARRAY Tensor
#define STRATA_OPERAND Operand

#define STRATA_UNARY(name, ...)                                                  \
  Tensor Tensor::name(At at) const {                                             \
    return on_values(#name, at, [](const Value& x) { return x.name(); }, *this); \
  }
#define STRATA_BINARY(name, ...) \
  Tensor Tensor::name(const Operand& other) const { return on_values(#name, other.at(), ops::name, *this, other); }
#define STRATA_OPERATOR(symbol, name)                          \
  Tensor operator symbol(const Operand& a, const Operand& b) { \
    const OriginScope scope("operator " #symbol, a.at());      \
    return on_values(#name, a.at(), ops::name, a, b);          \
  }
#define STRATA_METHOD(result, name, parameters, ...)                                                           \
  STRATA_RESULT(result)                                                                                        \
  Tensor::name(STRATA_DEFINED(parameters) STRATA_COMMA_AFTER(parameters) At at) const {                        \
    const auto row_formula = [](const Value& x, const auto&... given) { return x.name(given...); };            \
    return on_values(#name, at, row_formula, *this STRATA_COMMA_BEFORE(parameters) STRATA_PASSED(parameters)); \
  }
#define STRATA_STATIC(result, name, parameters, ...)                                                    \
  STRATA_RESULT(result)                                                                                 \
  Tensor::name(STRATA_DEFINED(parameters) STRATA_COMMA_AFTER(parameters) At at) {                       \
    const auto row_formula = [](const auto&... given) { return Value::name(given...); };                \
    return on_values(#name, at, row_formula STRATA_COMMA_BEFORE(parameters) STRATA_PASSED(parameters)); \
  }
#define STRATA_FUNCTION(result, name, parameters, ...)                                                  \
  STRATA_RESULT(result)                                                                                 \
  name(STRATA_DEFINED(parameters) STRATA_COMMA_AFTER(parameters) At at) {                               \
    const auto row_formula = [](const auto&... given) { return ops::name(given...); };                  \
    return on_values(#name, at, row_formula STRATA_COMMA_BEFORE(parameters) STRATA_PASSED(parameters)); \
  }
#include "strata/ops/operations.def"

Tensor operator-(const Tensor& a) { return a.neg(); }
Tensor operator~(const Tensor& a) { return a.bitwise_not(); }

namespace linalg {

#define STRATA_LINALG(result, name, parameters, ...)                                                    \
  STRATA_RESULT(result)                                                                                 \
  name(STRATA_DEFINED(parameters) STRATA_COMMA_AFTER(parameters) At at) {                               \
    const auto row_formula = [](const auto&... given) { return ops::linalg::name(given...); };          \
    return on_values(#name, at, row_formula STRATA_COMMA_BEFORE(parameters) STRATA_PASSED(parameters)); \
  }
#include "strata/ops/operations.def"

Lu lu(const Tensor& a, At at) {
  const auto lu_formula = [](const Value& x) {
    const ops::linalg::Lu factors = ops::linalg::lu(x);
    return std::vector<Value>{factors.p, factors.l, factors.u};
  };
  const std::vector<Tensor> factors = on_values("lu", at, lu_formula, a);
  return {factors[0], factors[1], factors[2]};
}

}  // namespace linalg

namespace fft {

#define STRATA_FFT(result, name, parameters, ...)                                                       \
  STRATA_RESULT(result)                                                                                 \
  name(STRATA_DEFINED(parameters) STRATA_COMMA_AFTER(parameters) At at) {                               \
    const auto row_formula = [](const auto&... given) { return ops::fft::name(given...); };             \
    return on_values(#name, at, row_formula STRATA_COMMA_BEFORE(parameters) STRATA_PASSED(parameters)); \
  }
#include "strata/ops/operations.def"

}  // namespace fft

}  // namespace strata
