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
           "In another dtype, on another device, or both; or as another tensor is.");
  f.method(
      "type_as", "other", [](const Tensor& x, const Tensor& other) { return x.cast(other.dtype()); },
      "In the dtype of another tensor.");
  f.method("float", "", &cast_to<float>, "In float32.");
  f.method("double", "", &cast_to<double>, "In float64.");
  f.method("half", "", [](const Tensor& x) { return x.cast(dtypes::float16); }, "In float16.");
  f.method("bfloat16", "", [](const Tensor& x) { return x.cast(dtypes::bfloat16); }, "In bfloat16.");
  f.method("int", "", &cast_to<std::int32_t>, "In int32.");
  f.method("long", "", &cast_to<std::int64_t>, "In int64.");
  f.method("short", "", &cast_to<std::int16_t>, "In int16.");
  f.method("char", "", &cast_to<std::int8_t>, "In int8.");
  f.method("byte", "", &cast_to<std::uint8_t>, "In uint8.");
  f.method("bool", "", &cast_to<bool>, "Whether each element is not 0.");
  f.op(
      "is_floating_point", "", [](const Tensor& x) { return x.dtype().is_float(); },
      "Whether the elements are floats.");
  f.op(
      "is_signed", "", [](const Tensor& x) { return x.dtype().is_float() || x.dtype().is_signed_int(); },
      "Whether the dtype has numbers below 0.");
  f.op(
      "element_size", "", [](const Tensor& x) { return static_cast<std::int64_t>(x.itemsize()); },
      "Bytes of an element.");
}

void bind_activations(Functions& f) {
  f.op("gelu", "approximate='none'", &gelu_of,
       "x times the normal distribution's share below x; approximate='tanh' for the formula with "
       "tanh.");
}

void bind_of_several(Functions& f) {
  f.function("where", "condition|mask, a|x|input, b|y|other", &Tensor::where, "a where the condition holds, else b.");
  f.method("where", "condition|a, other|b", &where_method,
           "x.where(condition, other): x where the condition holds, else the other. A condition "
           "takes both: condition.where(a, b), where `a` is no tensor of bools.");
  f.op("allclose", "other, rtol=1e-05, atol=1e-08, equal_nan=False", &Tensor::allclose,
       "Whether all elements are close. Realizes.", Gil::release);
  f.op("equal", "other", &Tensor::equal, "Whether both have the same shape and elements. Realizes.", Gil::release);
  f.op(
      "nan_to_num", "nan=None, posinf|inf=None, neginf|neg_inf=None",
      [](const Tensor& x, const std::optional<double>& nan, const std::optional<double>& inf,
         const std::optional<double>& neg_inf) { return x.nan_to_num(nan.value_or(0), inf, neg_inf); },
      "NaN and infinities replaced, by default by 0, the largest and the least numbers.");
}

}  // namespace

void bind_elementwise(Functions& f) {
  // Methods with more parameters than in C++.
  f.op(
      "add", "other|b|y, *, alpha=1",
      [](const Tensor& x, const Operand& other, const Number& alpha) {
        return is_one(alpha) ? x.add(other) : x.add(other, alpha);
      },
      "x + alpha * other");
  f.op(
      "sub", "other|b|y, *, alpha=1",
      [](const Tensor& x, const Operand& other, const Number& alpha) {
        return is_one(alpha) ? x.sub(other) : x.sub(other, alpha);
      },
      "x - alpha * other");
  f.op("div", "other|b|y, *, rounding_mode=None", &rounded_quotient,
       "x / other; integers give float32. rounding_mode='floor' or 'trunc' rounds, and keeps "
       "integers.");
  f.op(
      "round", "decimals=0",
      [](const Tensor& x, std::int64_t decimals) { return decimals == 0 ? x.round() : x.round(decimals); },
      "To the nearest, ties to even, with so many decimals.");
  bind_casts(f);
  bind_activations(f);
  bind_of_several(f);
}

}  // namespace strata::python
