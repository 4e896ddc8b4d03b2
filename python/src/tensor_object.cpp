// The class Tensor: its type slots (operators, iteration, construction). The methods are bound in other files, e.g.
// methods_*.cpp.
#include "python/src/tensor_object.h"

#include <Python.h>
#include <structmember.h>

#include <algorithm>
#include <string>
#include <vector>

#include "python/src/call.h"
#include "python/src/location.h"
#include "python/src/memory.h"
#include "python/src/refusals.h"
#include "python/src/subscripts.h"
#include "python/src/tensor_values.h"
#include "strata/tensor/access.h"

namespace strata::python {

PyTypeObject* tensor_class = nullptr;

namespace {

/// Returns f(), run as the operation `name` for errors; an exception becomes a Python exception.
template <class F>
PyObject* operation(const char* name, const F& f) {
  try {
    const LocationScope scope(name);
    return f();
  } catch (const std::exception&) {
    raise_current_exception();
    return nullptr;
  }
}

/// An operand of an operator; is_operand() is false for an object that cannot be one.
class Side {
 public:
  explicit Side(PyObject* o) : operand_(0) {
    if (const Tensor* const t = tensor_in(o)) {
      operand_ = Operand(*t);
    } else if (const auto number = try_number(o)) {
      operand_ = Operand(*number);
    } else if (o != Py_None && !PyUnicode_Check(o) &&
               (PyList_Check(o) || PyTuple_Check(o) || PyObject_CheckBuffer(o) || integer_in(o) != nullptr ||
                PyObject_HasAttrString(o, "__dlpack__") != 0)) {
      operand_ = Operand(made_.emplace(tensor_from_object(o, "operator")));
    } else {
      is_operand_ = false;
    }
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  bool is_operand() const { return is_operand_; }
  const Operand& operand() const { return operand_; }
  /// The operand as a tensor. A number gets the dtype that it has in an operation with `other`.
  Tensor tensor_beside(const Side& other) const {
    if (operand_.tensor() != nullptr) return *operand_.tensor();
    const DType number = operand_.number().value().dtype(), beside = other.operand_.tensor()->dtype();
    const bool gives_way = beside.is_float() || (beside.is_int() && !number.is_float()) || number.is_bool();
    return Tensor::full({}, operand_.number(), gives_way ? beside : number.is_float() ? dtypes::float32 : number);
  }

 private:
  bool is_operand_ = true;
  std::optional<Tensor> made_;
  Operand operand_;
};

template <class F>
PyObject* binary(const char* name, PyObject* a, PyObject* b, const F& f) {
  return operation(name, [&]() -> PyObject* {
    const Side x(a), y(b);
    if (!x.is_operand() || !y.is_operand()) Py_RETURN_NOTIMPLEMENTED;
    return new_tensor(f(x, y));
  });
}

// Binary operators. STRATA_OPERATOR defines the operators that C++ has, too; the others follow.
#define STRATA_OPERATOR(symbol, name)                                                                        \
  PyObject* slot_##name(PyObject* a, PyObject* b) {                                                          \
    return binary(#name, a, b, [](const Side& x, const Side& y) { return x.operand() symbol y.operand(); }); \
  }
#include "strata/ops/operations.def"

// clang-format off
PyObject* slot_floor_divide(PyObject* a, PyObject* b) {
  return binary("floor_divide", a, b, [](const Side& x, const Side& y) { return x.tensor_beside(y).floor_divide(y.operand()); });
}
PyObject* slot_matmul(PyObject* a, PyObject* b) {
  return binary("matmul", a, b, [](const Side& x, const Side& y) { return x.tensor_beside(y).matmul(y.tensor_beside(x)); });
}
PyObject* slot_pow(PyObject* a, PyObject* b, PyObject*) {
  return binary("pow", a, b, [](const Side& x, const Side& y) { return x.tensor_beside(y).pow(y.operand()); });
}
PyObject* slot_divmod(PyObject* a, PyObject* b) {
  PyObject* const quotient = slot_floor_divide(a, b);
  if (quotient == nullptr || quotient == Py_NotImplemented) return quotient;
  PyObject* const rest = slot_remainder(a, b);
  if (rest == nullptr) { Py_DECREF(quotient); return nullptr; }
  return Py_BuildValue("(NN)", quotient, rest);
}
PyObject* slot_neg(PyObject* a) { return operation("neg", [&] { return new_tensor(tensor_in(a)->neg()); }); }
PyObject* slot_pos(PyObject* a) { return operation("positive", [&] { return new_tensor(tensor_in(a)->positive()); }); }
PyObject* slot_abs(PyObject* a) { return operation("abs", [&] { return new_tensor(tensor_in(a)->abs()); }); }
PyObject* slot_invert(PyObject* a) { return operation("bitwise_not", [&] { return new_tensor(~*tensor_in(a)); }); }
// clang-format on

PyObject* compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_EQ: return slot_eq(a, b);
    case Py_NE: return slot_ne(a, b);
    case Py_LT: return slot_lt(a, b);
    case Py_LE: return slot_le(a, b);
    case Py_GT: return slot_gt(a, b);
    default: return slot_ge(a, b);
  }
}

// --- values ---

int slot_bool(PyObject* self) {
  PyObject* const out = operation("bool", [&] { return PyBool_FromLong(truth_of_tensor(*tensor_in(self)) ? 1 : 0); });
  if (out == nullptr) return -1;
  Py_DECREF(out);
  return out == Py_True ? 1 : 0;
}
PyObject* slot_int(PyObject* self) {
  return operation("int", [&] { return PyNumber_Long(item_of_tensor(*tensor_in(self)).ptr()); });
}
PyObject* slot_float(PyObject* self) {
  return operation("float", [&] { return PyNumber_Float(item_of_tensor(*tensor_in(self)).ptr()); });
}
PyObject* slot_index(PyObject* self) {
  return operation("index", [&] {
    const Tensor& x = *tensor_in(self);
    if (x.dtype().is_float())
      throw py::type_error("only a tensor of one integer can be used as an index, not one of " + x.dtype().name());
    return PyNumber_Index(item_of_tensor(x).ptr());
  });
}
PyObject* slot_repr(PyObject* self) {
  return operation("repr", [&] { return py::str(text_of_tensor(*tensor_in(self))).release().ptr(); });
}

// --- as a sequence ---

Py_ssize_t slot_length(PyObject* self) {
  const Ints& shape = tensor_in(self)->shape();
  if (shape.empty()) {
    PyErr_SetString(PyExc_TypeError, "a tensor without dimensions has no len()");
    return -1;
  }
  if (!shape[0].is_number()) {
    PyErr_SetString(PyExc_TypeError, "the first size of the tensor is symbolic, so len() is not a number: use size(0)");
    return -1;
  }
  return static_cast<Py_ssize_t>(shape[0].value());
}
/// x[k] for iteration, which ends with IndexError.
PyObject* slot_item(PyObject* self, Py_ssize_t k) {
  return operation("select", [&] { return new_tensor(tensor_in(self)->select(0, static_cast<std::int64_t>(k))); });
}
/// iter(x). NOTE: reading the rows of a lazy tensor would run a kernel for each row. So a tensor of more than
/// kMostLazyRows rows is realized first, by one kernel. A tensor of few rows stays lazy, because `a, b = x` reads no
/// values.
PyObject* slot_iter(PyObject* self) {
  constexpr Py_ssize_t kMostLazyRows = 16;
  const Py_ssize_t rows = slot_length(self);
  if (rows < 0) return nullptr;
  return operation("iter", [&] {
    const Tensor& x = *tensor_in(self);
    if (rows > kMostLazyRows && !x.requires_grad()) running([&] { x.realize(); });
    return PySeqIter_New(self);
  });
}
int slot_contains(PyObject* self, PyObject* value) {
  PyObject* const equal = slot_eq(self, value);
  if (equal == nullptr) return -1;
  const py::object held = py::reinterpret_steal<py::object>(equal);
  if (equal == Py_NotImplemented) return 0;
  PyObject* const any =
      operation("any", [&] { return PyBool_FromLong(truth_of_tensor(tensor_in(equal)->any()) ? 1 : 0); });
  if (any == nullptr) return -1;
  Py_DECREF(any);
  return any == Py_True ? 1 : 0;
}
PyObject* slot_subscript(PyObject* self, PyObject* key) {
  return operation("index", [&] { return new_tensor(subscripted(*tensor_in(self), key)); });
}
int slot_put(PyObject* self, PyObject* key, PyObject* value) {
  PyObject* const done = operation("index_put", [&]() -> PyObject* {
    if (value == nullptr) throw py::type_error("elements of a tensor cannot be deleted");
    put_at(*tensor_in(self), key, value);
    Py_RETURN_NONE;
  });
  Py_XDECREF(done);
  return done == nullptr ? -1 : 0;
}

// --- the object ---

/// The Python object of a tensor, without a reference count. NOTE: only accessed with the GIL, although other threads
/// may use the tensor.
void*& object_slot(const Tensor& x) { return TensorAccess::state(x)->object; }

PyObject* made_object(PyTypeObject* type, Tensor&& tensor) {
  PyObject* const out = type->tp_alloc(type, 0);
  if (out == nullptr) throw py::error_already_set();
  new (&reinterpret_cast<TensorObject*>(out)->tensor) Tensor(std::move(tensor));
  void*& object = object_slot(*tensor_in(out));
  if (object == nullptr) object = out;
  return out;
}

/// The message for a keyword that is not in `known`; empty if there is none.
std::string unknown_keyword(PyObject* kwargs, const std::vector<std::string>& known) {
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; kwargs != nullptr && PyDict_Next(kwargs, &at, &name, &value) != 0;)
    if (const char* const text = PyUnicode_AsUTF8(name);
        text != nullptr && std::find(known.begin(), known.end(), text) == known.end())
      return unknown_argument("Tensor", text, known);
  PyErr_Clear();
  return {};
}

PyObject* slot_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"data", "dtype", "device", "requires_grad", nullptr};
  PyObject *data = nullptr, *dtype = Py_None, *device = Py_None;
  int requires_grad = 0;
  if (const std::string wrong = unknown_keyword(kwargs, {"data", "dtype", "device", "requires_grad"}); !wrong.empty()) {
    PyErr_SetString(PyExc_TypeError, wrong.c_str());
    return nullptr;
  }
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOp:Tensor", const_cast<char**>(keywords), &data, &dtype, &device,
                                  &requires_grad) == 0)
    return nullptr;
  return operation("Tensor", [&] {
    const py::tuple nothing(0);  // Tensor() is Tensor(()), without elements
    return made_object(type, made_tensor(data != nullptr ? data : nothing.ptr(), dtype, device, requires_grad != 0));
  });
}

void slot_dealloc(PyObject* self) {
  auto* const object = reinterpret_cast<TensorObject*>(self);
  if (void*& known = object_slot(object->tensor); known == self) known = nullptr;
  if (object->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Py_CLEAR(object->kept);
  object->tensor.~Tensor();
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

Py_hash_t slot_hash(PyObject* self) { return _Py_HashPointer(self); }

PyMemberDef tensor_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

constexpr const char* kTensorDoc = R"(Tensor(data=(), dtype=None, device=None, requires_grad=False)

A lazily computed array with a shape, a dtype and a device. Operations record a graph; reading the elements runs it.

`data` is a number, nested lists of numbers, a NumPy array, a tensor of another library (DLPack), or an object with a
buffer. Memory is shared, not copied, if the strides allow it; strata.tensor() copies. Without `dtype`, floats become
float32, integers int64 and bools bool, and arrays keep their dtype. `requires_grad` makes the tensor a parameter.

    x = strata.Tensor([[1.0, 2.0], [3.0, 4.0]])
    y = (x @ x.T).relu().sum(axis=1)     # nothing has run
    y.numpy()                            # one kernel runs

Names, broadcasting, dtypes and edge cases are PyTorch's. NumPy's names work, too.)";

template <class F>
PyType_Slot slot_of(int id, F* f) {
  return {id, reinterpret_cast<void*>(f)};
}

}  // namespace

PyObject* new_tensor(Tensor&& tensor) {
  if (void* const object = object_slot(tensor)) return Py_NewRef(static_cast<PyObject*>(object));
  return made_object(tensor_class, std::move(tensor));
}

void bind_tensor_class(py::module_& m) {
  PyType_Slot slots[] = {
      slot_of(Py_tp_new, &slot_new),
      slot_of(Py_tp_dealloc, &slot_dealloc),
      slot_of(Py_tp_repr, &slot_repr),
      slot_of(Py_tp_hash, &slot_hash),
      slot_of(Py_tp_richcompare, &compare),
      slot_of(Py_tp_iter, &slot_iter),
      {Py_tp_members, tensor_members},
      {Py_tp_getset, tensor_properties},
      {Py_tp_doc, const_cast<char*>(kTensorDoc)},
      slot_of(Py_nb_add, &slot_add),
      slot_of(Py_nb_subtract, &slot_sub),
      slot_of(Py_nb_multiply, &slot_mul),
      slot_of(Py_nb_true_divide, &slot_div),
      slot_of(Py_nb_floor_divide, &slot_floor_divide),
      slot_of(Py_nb_remainder, &slot_remainder),
      slot_of(Py_nb_divmod, &slot_divmod),
      slot_of(Py_nb_power, &slot_pow),
      slot_of(Py_nb_matrix_multiply, &slot_matmul),
      slot_of(Py_nb_and, &slot_bitwise_and),
      slot_of(Py_nb_or, &slot_bitwise_or),
      slot_of(Py_nb_xor, &slot_bitwise_xor),
      slot_of(Py_nb_lshift, &slot_lshift),
      slot_of(Py_nb_rshift, &slot_rshift),
      slot_of(Py_nb_negative, &slot_neg),
      slot_of(Py_nb_positive, &slot_pos),
      slot_of(Py_nb_absolute, &slot_abs),
      slot_of(Py_nb_invert, &slot_invert),
      slot_of(Py_nb_bool, &slot_bool),
      slot_of(Py_nb_int, &slot_int),
      slot_of(Py_nb_float, &slot_float),
      slot_of(Py_nb_index, &slot_index),
      slot_of(Py_mp_length, &slot_length),
      slot_of(Py_mp_subscript, &slot_subscript),
      slot_of(Py_mp_ass_subscript, &slot_put),
      slot_of(Py_sq_length, &slot_length),
      slot_of(Py_sq_item, &slot_item),
      slot_of(Py_sq_contains, &slot_contains),
      slot_of(Py_bf_getbuffer, &get_buffer),
      slot_of(Py_bf_releasebuffer, &release_buffer),
      {0, nullptr},
  };
  PyType_Spec spec{"strata.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  tensor_class = reinterpret_cast<PyTypeObject*>(type);
  m.add_object("Tensor", py::reinterpret_borrow<py::object>(type));
}

}  // namespace strata::python
