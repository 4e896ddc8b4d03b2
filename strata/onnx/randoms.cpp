// Random tensors. A seed of the node makes a generator of its own, so that each call draws the same numbers.
#include <bit>

#include "strata/onnx/operators.h"
#include "strata/tensor/access.h"
#include "strata/tensor/random.h"

namespace strata::onnx {
namespace {

Generator generator_of(const Call& call) {
  if (!call.given("seed")) return call.generator();
  return Generator(std::bit_cast<std::uint32_t>(static_cast<float>(call.number("seed"))));
}

DType float_of(const Call& call, DType otherwise) {
  const DType dtype = call.given("dtype") ? dtype_of_element(call.integer("dtype"), "the result") : otherwise;
  STRATA_CHECK(dtype.is_float(), domain, "random ", dtype.name(), " instead of floats");
  return dtype;
}

Tensor uniform_of(const Call& call, const Sizes& shape, DType dtype) {
  for (const std::int64_t size : shape) STRATA_CHECK(size >= 0, shape, "the shape ", sizes_text(shape));
  return TensorAccess::of(rand(to_shape(shape), dtype, generator_of(call)).node(), call.device());
}

Results normal_of(const Call& call, const Sizes& shape, DType dtype) {
  for (const std::int64_t size : shape) STRATA_CHECK(size >= 0, shape, "the shape ", sizes_text(shape));
  const Tensor x = TensorAccess::of(randn(to_shape(shape), dtype, generator_of(call)).node(), call.device());
  return {(x * call.number("scale") + call.number("mean")).cast(dtype)};
}

Results between(const Call& call, const Sizes& shape, DType dtype) {
  const double low = call.number("low"), high = call.number("high");
  return {(uniform_of(call, shape, dtype) * (high - low) + low).cast(dtype)};
}

}  // namespace

Results random_normal(const Call& call) {
  return normal_of(call, call.integers("shape"), float_of(call, dtypes::float32));
}
Results random_normal_like(const Call& call) {
  return normal_of(call, call.datum(0).shape(), float_of(call, call.datum(0).tensor().dtype()));
}
Results random_uniform(const Call& call) {
  return between(call, call.integers("shape"), float_of(call, dtypes::float32));
}
Results random_uniform_like(const Call& call) {
  return between(call, call.datum(0).shape(), float_of(call, call.datum(0).tensor().dtype()));
}

Results bernoulli(const Call& call) {
  const Tensor p = call.x(0);
  const DType dtype = call.given("dtype") ? dtype_of_element(call.integer("dtype"), "the result") : p.dtype();
  return {(uniform_of(call, sizes_of(p), p.dtype()) < p).cast(dtype)};
}

Results multinomial(const Call& call) {
  const Tensor x = call.x(0);
  STRATA_CHECK(x.ndim() == 2, shape, "the input has ", x.ndim(), " dimensions instead of 2");
  const std::int64_t count = call.integer("sample_size");
  STRATA_CHECK(count >= 1, domain, "the number of samples is ", count);
  const DType dtype = dtype_of_element(call.integer("dtype"), "the result");
  // The class of a sample is the number of cumulative probabilities that are not above a uniform number.
  const Tensor reached = x.softmax(1).cumsum(1).unsqueeze(1);
  const Tensor drawn = uniform_of(call, {x.size(0).value(), count}, dtypes::float32).unsqueeze(2);
  return {(drawn >= reached).cast(dtypes::int64).sum(2).clip(Operand(0), Operand(x.size(1).value() - 1)).cast(dtype)};
}

}  // namespace strata::onnx
