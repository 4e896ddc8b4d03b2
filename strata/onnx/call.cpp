// Inputs, attributes and tensors of a call.
#include "strata/onnx/call.h"

#include <algorithm>

#include "strata/onnx/operators.h"
#include "strata/tensor/access.h"
#include "strata/tensor/scan.h"

namespace strata::onnx {

Generator Call::generator() const {
  STRATA_CHECK(generator_ != nullptr, domain, "random numbers are drawn in a step of a loop");
  return *generator_;
}

const Datum& Call::datum(std::size_t i) const {
  STRATA_CHECK(has(i), domain, "input ", i, " is left out");
  return inputs_[i];
}

std::vector<Tensor> Call::all() const {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < inputs_.size(); ++i) out.push_back(x(i));
  return out;
}

namespace {

void check_numbers(const Datum& value, std::size_t i) {
  if (value.expressions() == nullptr) return;
  Ints all;
  for (const Int& e : *value.expressions()) all.push_back(e);
  STRATA_CHECK(std::all_of(all.begin(), all.end(), [](const Int& e) { return e.is_number(); }), shape,
               "numbers are needed for input ", i, ", which is ", render(all),
               ": load the model without bounds of these sizes");
}

}  // namespace

Sizes Call::integers_of(std::size_t i) const {
  check_numbers(datum(i), i);
  return read_integers(datum(i).tensor());
}
std::vector<double> Call::numbers_of(std::size_t i) const {
  check_numbers(datum(i), i);
  return read_numbers(datum(i).tensor());
}

Ints Call::sizes_of_input(std::size_t i) const {
  Ints out;
  if (const std::vector<Int>* const known = datum(i).expressions()) {
    for (const Int& e : *known) out.push_back(e);
  } else {
    for (const std::int64_t n : integers_of(i)) out.push_back(n);
  }
  return out;
}

std::int64_t Call::integer_of(std::size_t i) const {
  const Sizes all = integers_of(i);
  STRATA_CHECK(all.size() == 1, shape, "input ", i, " has ", all.size(), " elements instead of 1");
  return all[0];
}

double Call::number_of(std::size_t i) const {
  const std::vector<double> all = numbers_of(i);
  STRATA_CHECK(all.size() == 1, shape, "input ", i, " has ", all.size(), " elements instead of 1");
  return all[0];
}

const Attribute* Call::attribute(std::string_view name) const { return node_.find(name); }

const Attribute& Call::value_of(std::string_view name, AttributeType type) const {
  if (const Attribute* const given = attribute(name)) return *given;
  const AttributeRow* const row = node_.row->attribute(name);
  STRATA_ASSERT(row != nullptr && row->value.type == type, "the row of ", node_.op, " lacks the attribute ", name);
  const bool is_list =
      type == AttributeType::numbers || type == AttributeType::integers || type == AttributeType::texts;
  STRATA_CHECK(row->has_default || is_list, domain, "the attribute \"", name, "\" is missing");
  return row->value;
}

std::int64_t Call::integer(std::string_view name) const { return value_of(name, AttributeType::integer).integer; }
double Call::number(std::string_view name) const { return value_of(name, AttributeType::number).number; }
const std::string& Call::text(std::string_view name) const { return value_of(name, AttributeType::text).text; }
Sizes Call::integers(std::string_view name) const { return value_of(name, AttributeType::integers).integers; }
std::vector<double> Call::numbers(std::string_view name) const {
  return value_of(name, AttributeType::numbers).numbers;
}
std::vector<std::string> Call::texts(std::string_view name) const { return value_of(name, AttributeType::texts).texts; }
const Datum& Call::tensor(std::string_view name) const { return value_of(name, AttributeType::tensor).tensor; }
int Call::graph(std::string_view name) const { return value_of(name, AttributeType::graph).graph; }

Tensor Call::here(const Tensor& x) const { return moved(x, device_); }

Tensor Call::full(const Ints& shape, const Number& value, DType dtype) const {
  return TensorAccess::of(Tensor::full(shape, value, dtype).node(), device_);
}

Tensor Call::arange(const Int& count) const {
  return TensorAccess::of(LazyOp::iota(dtypes::int64, ShapeTracker::from_shape({count})), device_);
}

Tensor Call::from(const Sizes& elements, const Sizes& shape) const {
  return here(TensorAccess::of(Tensor::from(elements, to_shape(shape)).node(), Device::get("INTERP")));
}

Tensor Call::from(const std::vector<double>& elements, const Sizes& shape, DType dtype) const {
  const Buffer exact = Buffer::fromCPU(elements);
  if (dtype != dtypes::float32) return here(Tensor::from_buffer(exact, to_shape(shape))).cast(dtype);
  const std::vector<float> rounded(elements.begin(), elements.end());
  return here(Tensor::from(rounded, to_shape(shape)));
}

std::int64_t Call::axis_in(std::int64_t axis, std::int64_t rank) {
  STRATA_CHECK(axis >= -rank && axis < rank, shape, "axis ", axis, " is not an axis of a tensor of ", rank,
               " dimensions");
  return axis < 0 ? axis + rank : axis;
}

Tensor moved(const Tensor& x, const Device& device) {
  if (&x.device() == &device) return x;
  if (x.device().name() == "OPENCL" || device.name() == "OPENCL") return x.to(device);
  if (x.device().name() == "INTERP" && x.numel() == Int(1)) {
    const Scalar value = x.scalar();
    return TensorAccess::of(Tensor::full(x.shape(), Number(value), x.dtype()).node(), device);
  }
  realize_known(x);
  return TensorAccess::of(x.node(), device);
}

bool is_on_host(const Datum& value) {
  return !value.is_tensor() || (value.tensor().device().name() == "INTERP" && !detail::is_of_step(value.tensor()));
}

void realize_known(const Tensor& x) {
  STRATA_CHECK(!detail::is_of_step(x), domain, "an element of a tensor of shape ", render(x.shape()),
               " is needed on the host, and is known only when the loop runs");
  x.realize();
}

Sizes read_integers(const Tensor& x) {
  realize_known(x);
  const Buffer elements = x.buffer().toCPU();
  Sizes out;
  for (std::int64_t k = 0; k < x.numel().value(); ++k) out.push_back(elements[k].as_int());
  return out;
}

std::vector<double> read_numbers(const Tensor& x) {
  realize_known(x);
  const Buffer elements = x.buffer().toCPU();
  std::vector<double> out;
  for (std::int64_t k = 0; k < x.numel().value(); ++k) out.push_back(elements[k].as_double());
  return out;
}

}  // namespace strata::onnx
