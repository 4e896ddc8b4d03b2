// Binds the other names of operations (NumPy's, PyTorch's, tinygrad's) and their in-place methods, as the table of
// operations lists them.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "python/src/call.h"
#include "strata/ops/table.h"
#include "strata/tensor/autograd.h"

namespace strata::python {

namespace {

/// Other names of functions that are not in the table of operations, and names that are keywords in C++.
constexpr std::pair<const char*, const char*> kOtherNames[] = {{"xor", "bitwise_xor"},   {"nelement", "numel"},
                                                               {"ndimension", "dim"},    {"array", "tensor"},
                                                               {"asarray", "as_tensor"}, {"idiv", "trunc_divide"}};
/// Names that are only bound as methods, because a function of the module would hide Python's builtin.
constexpr std::string_view kMethodsAlone[] = {"type"};
/// Random functions with an in-place method, which are not in the table.
constexpr const char* kInPlaceOfChance[] = {"rrelu", "dropout", "bernoulli"};

/// The category of a dtype, bool < integer < float. As in PyTorch, the category of an in-place result must not exceed
/// the tensor's.
int category_of(DType d) { return d.is_bool() ? 0 : d.is_int() ? 1 : 2; }

bool has(const py::handle& o, const char* name) { return PyObject_HasAttrString(o.ptr(), name) != 0; }

}  // namespace

/// The method x.NAME_(...): assigns x.NAME(...), cast to x's dtype, to x, and returns x.
class InPlaceFunction final : public Function {
 public:
  InPlaceFunction(const char* name, std::shared_ptr<const Function> of)
      : Function(name, "", true,
                 "The operation in place: the tensor stands for the result afterwards. Returns the tensor."),
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
      throw py::type_error(std::string(name()) + "(): only a tensor can be changed in place");
    STRATA_CHECK(category_of(value->dtype()) <= category_of(self->dtype()), domain, "[", name(), "] a result of ",
                 value->dtype().name(), " in place of a tensor of ", self->dtype().name(),
                 " would lose information: cast one of them");
    set_in_place(*self, value->cast(self->dtype()), name());
    return Py_NewRef(values[0]);
  }

 private:
  std::shared_ptr<const Function> of_;
};

namespace {

void bind_name(Functions& f, const py::dict& methods, const std::string& name, const std::string& of) {
  const py::handle cls = f.tensor_class();
  if (methods.contains(of) && !has(cls, name.c_str())) cls.attr(name.c_str()) = methods[of.c_str()];
  const bool is_method_alone = std::ranges::find(kMethodsAlone, name) != std::end(kMethodsAlone);
  if (!is_method_alone && has(f.module(), of.c_str()) && !has(f.module(), name.c_str()))
    f.module().attr(name.c_str()) = f.module().attr(of.c_str());
}

/// Binds NAME_, which assigns the result of NAME.
void bind_in_place(Functions& f, const std::string& of) {
  const py::handle cls = f.tensor_class();
  const py::object method = cls.attr(of.c_str());
  STRATA_ASSERT(function_of_object(method) != nullptr, of, " is no function of tensors");
  // Leaked: the name must live as long as the function, i.e. as the process.
  const std::string* const name = new std::string(of + "_");
  cls.attr(name->c_str()) = py::reinterpret_steal<py::object>(
      object_of_function(std::make_shared<InPlaceFunction>(name->c_str(), shared_function(method)), true));
}

}  // namespace

void bind_aliases(Functions& f) {
  const py::dict methods = f.tensor_class().attr("__dict__").attr("copy")();
  for (const auto& [name, of] : kOtherNames) bind_name(f, methods, name, of);
  for (const ops::OperationRow& row : ops::operation_rows()) {
    const std::string of(row.name);
    for (const std::string_view name : row.names) bind_name(f, methods, std::string(name), of);
    if (!row.in_place) continue;
    bind_in_place(f, of);
    for (const std::string_view name : row.names) bind_in_place(f, std::string(name));
  }
  for (const char* of : kInPlaceOfChance) bind_in_place(f, of);
}

}  // namespace strata::python
