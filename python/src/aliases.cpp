// Other names of methods and functions, those of NumPy, PyTorch and tinygrad: one table. And methods in place.
#include <array>

#include "python/src/call.h"
#include "strata/tensor/autograd.h"

namespace strata::python {

namespace {

struct OtherName {
  const char *name, *of;
  bool is_method_alone = false;  // a function of that name would hide Python's
};

// clang-format off
constexpr OtherName kOtherNames[] = {
    {"absolute", "abs"}, {"negative", "neg"}, {"arcsin", "asin"}, {"arccos", "acos"}, {"arctan", "atan"}, {"arcsinh", "asinh"},
    {"arccosh", "acosh"}, {"arctanh", "atanh"}, {"arctan2", "atan2"}, {"fix", "trunc"}, {"sgn", "sign"}, {"expit", "sigmoid"},
    {"radians", "deg2rad"}, {"degrees", "rad2deg"}, {"rint", "round"}, {"invert", "bitwise_not"},
    {"subtract", "sub"}, {"multiply", "mul"}, {"divide", "div"}, {"true_divide", "div"}, {"power", "pow"}, {"mod", "remainder"},
    {"not_equal", "ne"}, {"less", "lt"}, {"less_equal", "le"}, {"greater", "gt"}, {"greater_equal", "ge"},
    {"bitwise_left_shift", "lshift"}, {"bitwise_right_shift", "rshift"}, {"left_shift", "lshift"}, {"right_shift", "rshift"},
    {"xor", "bitwise_xor"}, {"idiv", "trunc_divide"},
    {"swish", "silu"}, {"log_sigmoid", "logsigmoid"}, {"leakyrelu", "leaky_relu"}, {"clamp", "clip"},
    {"astype", "cast"}, {"type", "cast", true},
    {"swapdims", "swapaxes"}, {"moveaxis", "movedim"}, {"expand_dims", "unsqueeze"},
    {"concat", "cat"}, {"concatenate", "cat"}, {"row_stack", "vstack"}, {"take_along_axis", "take_along_dim"},
    {"trapz", "trapezoid"},
    {"ger", "outer"}, {"vdot", "dot"}, {"nelement", "numel"}, {"ndimension", "dim"},
    {"binary_crossentropy", "binary_cross_entropy"}, {"binary_crossentropy_logits", "binary_cross_entropy_with_logits"},
    {"array", "tensor"}, {"asarray", "as_tensor"},
};

// NAME_ assigns what NAME gives.
constexpr const char* kInPlace[] = {
    "abs", "neg", "sign", "square", "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma", "digamma",
    "floor", "ceil", "round", "trunc", "frac", "relu", "relu6", "sigmoid", "silu", "mish", "selu", "hardsigmoid", "hardswish", "logit",
    "leaky_relu", "elu", "celu", "hardtanh", "threshold", "rrelu", "nan_to_num", "clip", "clamp", "deg2rad", "rad2deg",
    "logical_not", "bitwise_not", "add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder",
    "fmod", "pow", "float_power", "atan2", "hypot", "copysign", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or",
    "logical_xor", "eq", "ne", "lt", "le", "gt", "ge", "gcd", "lcm", "xlogy", "heaviside", "masked_fill", "masked_scatter", "lerp",
    "addcmul", "addcdiv", "addmm", "addmv", "addr", "baddbmm", "addbmm", "scatter", "scatter_add", "scatter_reduce", "index_add",
    "index_copy", "index_fill", "index_reduce", "put", "cumsum", "cumprod", "tril", "triu", "renorm", "dropout", "bernoulli",
};
// clang-format on

/// bool < integer < float: a result in place is of the tensor's kind or a lower one, as PyTorch has it.
int category_of(DType d) { return d.is_bool() ? 0 : d.is_int() ? 1 : 2; }

bool has(const py::handle& o, const char* name) {
  return PyObject_HasAttrString(o.ptr(), name) != 0;
}

}  // namespace

/// x.NAME_(...): x stands for x.NAME(...), in x's dtype. Gives x.
class InPlaceFunction final : public Function {
 public:
  InPlaceFunction(const char* name, std::shared_ptr<const Function> of)
      : Function(
            name, "", true,
            "The same in place: the tensor stands for the result from now on. Returns the tensor."),
        of_(std::move(of)) {
    parameters_ = of_->parameters_;
    positions_ = of_->positions_;
    result_ = "Tensor";
  }

 protected:
  PyObject* call(PyObject* const* values) const override {
    const py::object result = py::reinterpret_steal<py::object>(of_->call(values));
    const Tensor* const self = tensor_in(values[0]);
    const Tensor* const value = tensor_in(result.ptr());
    if (self == nullptr || value == nullptr)
      throw py::type_error(std::string(name()) + "(): a tensor is changed in place, nothing else");
    STRATA_CHECK(category_of(value->dtype()) <= category_of(self->dtype()), domain, "[", name(),
                 "] a result of ", value->dtype().name(), " in place of a tensor of ",
                 self->dtype().name(), " would lose what it is: cast one of them");
    set_in_place(*self, value->cast(self->dtype()), name());
    return Py_NewRef(values[0]);
  }

 private:
  std::shared_ptr<const Function> of_;
};

void bind_aliases(Functions& f) {
  const py::handle cls = f.tensor_class();
  const py::dict methods = cls.attr("__dict__").attr("copy")();
  for (const auto& [name, of, is_method_alone] : kOtherNames) {
    if (methods.contains(of) && !has(cls, name)) cls.attr(name) = methods[of];
    if (!is_method_alone && has(f.module(), of) && !has(f.module(), name))
      f.module().attr(name) = f.module().attr(of);
  }
  for (const char* of : kInPlace) {
    const py::object method = cls.attr(of);
    STRATA_ASSERT(function_of_object(method) != nullptr, of, " is no function of tensors");
    // Names live as long as the functions: as the process.
    const std::string* const name = new std::string(std::string(of) + "_");
    cls.attr(name->c_str()) = py::reinterpret_steal<py::object>(object_of_function(
        std::make_shared<InPlaceFunction>(name->c_str(), shared_function(method)), true));
  }
}

}  // namespace strata::python
