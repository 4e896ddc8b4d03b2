// Binds elementwise methods of tensors that are not in the table of operations.
#include "python/src/call.h"

namespace strata::python {

namespace {

bool is_one(const Number& n) { return n.value().as_double() == 1; }

Tensor rounded_quotient(const Tensor& x, const Operand& other, const std::optional<std::string>& mode) {
  if (!mode) return x.div(other);
  const std::size_t which = choice_of({py::str(*mode).ptr(), "div", "rounding_mode"}, {"floor", "trunc"});
  return which == 0 ? x.floor_divide(other) : x.trunc_divide(other);
}

/// PyTorch's x.where(condition, other), or tinygrad's condition.where(a, b): the first argument decides, by whether it
/// is a condition.
Tensor where_method(const Tensor& self, const Operand& a, const Operand& b) {
  if (a.tensor() != nullptr && a.tensor()->dtype().is_bool()) return a.tensor()->where(self, b);
  STRATA_CHECK(self.dtype().is_bool(), domain, "[where] neither the tensor, of ", self.dtype().name(),
               ", nor the first argument, ", a.tensor() != nullptr ? "of " + a.tensor()->dtype().name() : "a number",
               ", is a condition of bools: x.where(condition, other)");
  return self.where(a, b);
}

Tensor gelu_of(const Tensor& x, const py::object& approximate) {
  if (!PyUnicode_Check(approximate.ptr())) return x.gelu(truth_of({approximate.ptr(), "gelu", "approximate"}));
  return x.gelu(choice_of({approximate.ptr(), "gelu", "approximate"}, {"none", "tanh"}) == 1);
}

DType named_dtype(const Given& g) {
  if (const auto d = try_dtype(text_of(g))) return *d;
  std::string all;
  for (const DType d : dtypes::all()) all += (all.empty() ? "" : ", ") + std::string(d.name());
  throw Error(ErrorKind::domain, detail::message("[to] \"", text_of(g), "\" names neither a dtype: ", all,
                                                 "; nor a device: ", known_devices()));
}

/// The method to(dtype), to(device), to(other) or to(device, dtype).
Tensor moved_to(const Tensor& x, const py::object& what, const py::object& dtype, const py::object& device) {
  Tensor out = x;
  const auto apply = [&](const py::object& o) {
    if (o.is_none()) return;
    if (const Tensor* const like = tensor_in(o.ptr()))
      out = out.cast(like->dtype()).to(like->device());
    else if (py::isinstance<Device>(o))
      out = out.to(device_of({o.ptr(), "to", "device"}));
    else if (PyUnicode_Check(o.ptr())) {
      const Given text{o.ptr(), "to", "what"};
      if (const Device* const d = try_device(text_of(text)))
        out = out.to(*d);
      else
        out = out.cast(named_dtype(text));
    } else {
      out = out.cast(dtype_of_object(o));
    }
  };
  apply(what);
  apply(dtype);
  if (!device.is_none()) out = out.to(device_of({device.ptr(), "to", "device"}));
  return out;
}

template <class T>
Tensor cast_to(const Tensor& x) {
  return x.cast(dtype_of<T>());
}

void bind_casts(Functions& f) {
  f.method("to", "what=None, dtype=None, device=None", &moved_to,
           "The same elements in another dtype, on another device, or both: to(dtype), to(device), "
           "to(device, dtype). to(other) takes the dtype and the device of the tensor `other`. A dtype "
           "or a device may be given by name; a name that is neither raises DomainError.");
  f.method(
      "type_as", "other", [](const Tensor& x, const Tensor& other) { return x.cast(other.dtype()); },
      "The same values in the dtype of the tensor `other`.");
  f.method("float", "", &cast_to<float>, "The same values as float32.");
  f.method("double", "", &cast_to<double>, "The same values as float64.");
  f.method("half", "", [](const Tensor& x) { return x.cast(dtypes::float16); }, "The same values as float16.");
  f.method("bfloat16", "", [](const Tensor& x) { return x.cast(dtypes::bfloat16); }, "The same values as bfloat16.");
  f.method("int", "", &cast_to<std::int32_t>, "The same values as int32; fractions are cut off, as by cast().");
  f.method("long", "", &cast_to<std::int64_t>, "The same values as int64; fractions are cut off, as by cast().");
  f.method("short", "", &cast_to<std::int16_t>, "The same values as int16; fractions are cut off, as by cast().");
  f.method("char", "", &cast_to<std::int8_t>, "The same values as int8; fractions are cut off, as by cast().");
  f.method("byte", "", &cast_to<std::uint8_t>, "The same values as uint8; fractions are cut off, as by cast().");
  f.method("bool", "", &cast_to<bool>, "A tensor of bools: True for each element that is not 0.");
  f.op(
      "is_floating_point", "", [](const Tensor& x) { return x.dtype().is_float(); },
      "True if the dtype is a float dtype.");
  f.op(
      "is_signed", "", [](const Tensor& x) { return x.dtype().is_float() || x.dtype().is_signed_int(); },
      "True if the dtype has negative numbers: a float dtype or a signed integer dtype.");
  f.op(
      "element_size", "", [](const Tensor& x) { return static_cast<std::int64_t>(x.itemsize()); },
      "The size of an element in bytes.");
}

void bind_activations(Functions& f) {
  f.op("gelu", "approximate='none'", &gelu_of,
       "x times the cumulative distribution function of the standard normal distribution at x. "
       "approximate='tanh' uses the approximation with tanh.");
}

void bind_of_several(Functions& f) {
  f.function("where", "condition|mask, a|x|input, b|y|other", &Tensor::where,
             "Elements of `a` at which `condition`, a tensor of bools, is true, else elements of `b`. The "
             "three broadcast.");
  f.method("where", "condition|a, other|b", &where_method,
           "x.where(condition, other): elements of x at which `condition`, a tensor of bools, is true, "
           "else elements of `other`. On a tensor of bools, condition.where(a, b) means elements of `a` "
           "at which the tensor is true, else elements of `b`; the first argument is then not a tensor "
           "of bools. Raises DomainError if neither is a condition.");
  f.op("allclose", "other, rtol=1e-05, atol=1e-08, equal_nan=False", &Tensor::allclose,
       "True if isclose() is true for all elements: |x - other| <= atol + rtol * |other|. Realizes "
       "both tensors.",
       Gil::release);
  f.op("equal", "other", &Tensor::equal,
       "True if the shapes are equal and all elements are equal; False if an element is NaN. "
       "Realizes both tensors.",
       Gil::release);
  f.op(
      "nan_to_num", "nan=None, posinf|inf=None, neginf|neg_inf=None",
      [](const Tensor& x, const std::optional<double>& nan, const std::optional<double>& inf,
         const std::optional<double>& neg_inf) { return x.nan_to_num(nan.value_or(0), inf, neg_inf); },
      "Replaces NaN by `nan` (default 0), infinity by `posinf` and -infinity by `neginf` (by "
      "default the largest and the least number of the dtype).");
}

}  // namespace

void bind_elementwise(Functions& f) {
  // Methods with more parameters than in C++.
  f.op(
      "add", "other|b|y, *, alpha=1",
      [](const Tensor& x, const Operand& other, const Number& alpha) {
        return is_one(alpha) ? x.add(other) : x.add(other, alpha);
      },
      "x + alpha * other. The operands broadcast.");
  f.op(
      "sub", "other|b|y, *, alpha=1",
      [](const Tensor& x, const Operand& other, const Number& alpha) {
        return is_one(alpha) ? x.sub(other) : x.sub(other, alpha);
      },
      "x - alpha * other. The operands broadcast.");
  f.op("div", "other|b|y, *, rounding_mode=None", &rounded_quotient,
       "x / other; integers give float32. rounding_mode='floor' rounds towards -infinity and "
       "rounding_mode='trunc' towards 0; both keep integer dtypes.");
  f.op(
      "round", "decimals=0",
      [](const Tensor& x, std::int64_t decimals) { return decimals == 0 ? x.round() : x.round(decimals); },
      "Rounds to the nearest number of `decimals` decimal places, ties to even.");
  bind_casts(f);
  bind_activations(f);
  bind_of_several(f);
}

}  // namespace strata::python
