// Conversions of tensors to numbers, lists, arrays, texts, pickles and DLPack capsules; the properties of the class
// Tensor.
#include "python/src/tensor_values.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "python/src/call.h"
#include "python/src/dlpack_capsule.h"
#include "python/src/location.h"
#include "python/src/memory.h"
#include "python/src/running.h"

namespace strata::python {

namespace {

/// The element at `at` as a bool, int or float.
PyObject* element_object(DType dtype, const void* at) {
  const Scalar s = load_scalar(dtype, at);
  if (dtype.is_bool()) return PyBool_FromLong(s.as_bool() ? 1 : 0);
  if (dtype.is_float()) return PyFloat_FromDouble(s.as_double());
  if (dtype.is_unsigned()) return PyLong_FromUnsignedLongLong(s.as_uint());
  return PyLong_FromLongLong(s.as_int());
}

template <class T>
PyObject* number_object(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return PyBool_FromLong(value ? 1 : 0);
  else if constexpr (std::is_floating_point_v<T>)
    return PyFloat_FromDouble(static_cast<double>(value));
  else if constexpr (std::is_unsigned_v<T>)
    return PyLong_FromUnsignedLongLong(value);
  else
    return PyLong_FromLongLong(value);
}

/// Sets all items of `list` to the elements from `at` on, `step` bytes apart; false where an object is not made.
using FillRow = bool (*)(PyObject* list, DType dtype, const std::byte* at, std::int64_t step);
template <class T>
bool fill_row(PyObject* list, DType, const std::byte* at, std::int64_t step) {
  const Py_ssize_t n = PyList_GET_SIZE(list);
  for (Py_ssize_t k = 0; k < n; ++k, at += step) {
    T value;
    std::memcpy(&value, at, sizeof value);
    PyObject* const item = number_object(value);
    if (item == nullptr) return false;
    PyList_SET_ITEM(list, k, item);
  }
  return true;
}
bool fill_row_by_scalars(PyObject* list, DType dtype, const std::byte* at, std::int64_t step) {
  const Py_ssize_t n = PyList_GET_SIZE(list);
  for (Py_ssize_t k = 0; k < n; ++k, at += step) {
    PyObject* const item = element_object(dtype, at);
    if (item == nullptr) return false;
    PyList_SET_ITEM(list, k, item);
  }
  return true;
}
FillRow fill_row_of(DType dtype) {
  const std::pair<DType, FillRow> rows[] = {
      {dtypes::float32, fill_row<float>},        {dtypes::float64, fill_row<double>},
      {dtypes::int8, fill_row<std::int8_t>},     {dtypes::int16, fill_row<std::int16_t>},
      {dtypes::int32, fill_row<std::int32_t>},   {dtypes::int64, fill_row<std::int64_t>},
      {dtypes::uint8, fill_row<std::uint8_t>},   {dtypes::uint16, fill_row<std::uint16_t>},
      {dtypes::uint32, fill_row<std::uint32_t>}, {dtypes::uint64, fill_row<std::uint64_t>}};
  for (const auto& [of, fill] : rows)
    if (of == dtype) return fill;
  return fill_row_by_scalars;
}

/// A level of the nested lists that nested_list() is filling.
struct OpenList {
  PyObject* list;  // borrowed: the outermost list owns all others
  std::int64_t filled;
  const std::byte* at;  // where the next item begins in memory
};

/// The elements of `b` as nested lists, without recursion. `at`: the first element.
py::object nested_list(const StridedBuffer& b, const std::byte* at) {
  const DType dtype = b.buffer.dtype();
  const auto itemsize = static_cast<std::int64_t>(dtype.itemsize());
  if (b.shape.empty()) return py::reinterpret_steal<py::object>(element_object(dtype, at));
  py::list out(static_cast<std::size_t>(b.shape[0]));
  const FillRow fill = fill_row_of(dtype);
  std::vector<OpenList> open{{out.ptr(), 0, at}};
  while (!open.empty()) {
    const std::size_t axis = open.size() - 1;
    OpenList& last = open.back();
    if (open.size() == b.shape.size()) {
      if (!fill(last.list, dtype, last.at, b.strides[axis] * itemsize)) throw py::error_already_set();
      open.pop_back();
      continue;
    }
    if (last.filled == b.shape[axis]) {
      open.pop_back();
      continue;
    }
    const std::byte* const here = last.at;
    last.at += b.strides[axis] * itemsize;
    PyObject* const item = py::list(static_cast<std::size_t>(b.shape[open.size()])).release().ptr();
    PyList_SET_ITEM(last.list, static_cast<Py_ssize_t>(last.filled++), item);
    open.push_back({item, 0, here});
  }
  return out;
}

const std::byte* first_of(const StridedBuffer& b) {
  return static_cast<const std::byte*>(b.buffer.data()) +
         b.offset * static_cast<std::int64_t>(b.buffer.dtype().itemsize());
}

py::object list_of_tensor(const Tensor& x) {
  const StridedBuffer b = host_memory(x);
  return nested_list(b, first_of(b));
}

Int element_count(const Tensor& x) { return x.numel(); }

// --- properties ---

template <class F>
PyObject* property_value(PyObject* self, const char* name, const F& f) {
  try {
    const LocationScope scope(name);
    return f(*tensor_in(self));
  } catch (const std::exception&) {
    raise_current_exception();
    return nullptr;
  }
}

/// The dictionary __array_interface__. Nobody else owns the memory that it points to, so the object keeps the memory as
/// long as it lives, also after an assignment.
py::object array_interface(PyObject* self) {
  const Tensor& x = *tensor_in(self);
  const char* const format = format_of(x.dtype());
  if (format == nullptr) throw py::attribute_error("a tensor of bfloat16 has no array interface: cast it first");
  const StridedBuffer b = host_memory(x);
  PyObject*& kept = reinterpret_cast<TensorObject*>(self)->kept;
  if (kept == nullptr) kept = py::list().release().ptr();
  const py::capsule keeper(new Buffer(b.buffer), [](void* memory) { delete static_cast<Buffer*>(memory); });
  if (PyList_Append(kept, keeper.ptr()) != 0) throw py::error_already_set();
  py::tuple strides(b.strides.size());
  for (std::size_t k = 0; k < b.strides.size(); ++k)
    strides[k] = b.strides[k] * static_cast<std::int64_t>(x.itemsize());
  py::dict out;
  out["version"] = 3;
  out["shape"] = py::reinterpret_steal<py::object>(tuple_of_sizes(x.shape()));
  out["typestr"] = object_of_dtype(x.dtype()).attr("numpy").attr("str");
  out["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(first_of(b)), true);
  out["strides"] = strides;
  return out;
}

py::object gradient_of_tensor(const Tensor& x) {
  const auto g = x.grad();
  return g ? object_of(*g) : py::none();
}

int set_gradient(PyObject* self, PyObject* value, void*) {
  PyObject* const done = property_value(self, "grad", [&](const Tensor& x) -> PyObject* {
    if (value == nullptr || value == Py_None)
      x.set_grad(std::nullopt);
    else
      x.set_grad(tensor_of({value, "grad", "value"}));
    Py_RETURN_NONE;
  });
  Py_XDECREF(done);
  return done == nullptr ? -1 : 0;
}

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  PyObject* const done = property_value(self, "requires_grad", [&](const Tensor&) -> PyObject* {
    if (value == nullptr) throw py::type_error("requires_grad cannot be deleted");
    reinterpret_cast<TensorObject*>(self)->tensor.requires_grad(truth_of({value, "requires_grad", "value"}));
    Py_RETURN_NONE;
  });
  Py_XDECREF(done);
  return done == nullptr ? -1 : 0;
}

/// The property T: reverses the order of all axes. (mT swaps the last two.)
Tensor reversed_axes(const Tensor& x) {
  Axes order;
  for (std::int64_t a = x.ndim(); a > 0; --a) order.push_back(a - 1);
  return x.permute(order);
}

// clang-format off
PyObject* get_shape(PyObject* self, void*) { return property_value(self, "shape", [](const Tensor& x) { return tuple_of_sizes(x.shape()); }); }
PyObject* get_ndim(PyObject* self, void*) { return property_value(self, "ndim", [](const Tensor& x) { return PyLong_FromLongLong(x.ndim()); }); }
PyObject* get_dtype(PyObject* self, void*) { return property_value(self, "dtype", [](const Tensor& x) { return object_of_dtype(x.dtype()).release().ptr(); }); }
PyObject* get_device(PyObject* self, void*) { return property_value(self, "device", [](const Tensor& x) { return object_of_device(x.device()).release().ptr(); }); }
PyObject* get_itemsize(PyObject* self, void*) { return property_value(self, "itemsize", [](const Tensor& x) { return PyLong_FromSize_t(x.itemsize()); }); }
PyObject* get_nbytes(PyObject* self, void*) { return property_value(self, "nbytes", [](const Tensor& x) { return object_of_int(x.numel() * Int(static_cast<std::int64_t>(x.itemsize()))).release().ptr(); }); }
PyObject* get_t(PyObject* self, void*) { return property_value(self, "T", [](const Tensor& x) { return new_tensor(reversed_axes(x)); }); }
PyObject* get_mt(PyObject* self, void*) { return property_value(self, "mT", [](const Tensor& x) { return new_tensor(x.transpose(-2, -1)); }); }
PyObject* get_grad(PyObject* self, void*) { return property_value(self, "grad", [](const Tensor& x) { return gradient_of_tensor(x).release().ptr(); }); }
PyObject* get_requires_grad(PyObject* self, void*) { return property_value(self, "requires_grad", [](const Tensor& x) { return PyBool_FromLong(x.requires_grad() ? 1 : 0); }); }
PyObject* get_array_interface(PyObject* self, void*) { return property_value(self, "numpy", [&](const Tensor&) { return array_interface(self).release().ptr(); }); }
// clang-format on

// --- methods ---

py::object array_of(const Tensor& x, const py::object& dtype, const py::object& copy) {
  const bool copies = !copy.is_none() && PyObject_IsTrue(copy.ptr()) == 1;
  py::object out = copies ? copied_array(x) : shared_array(x);
  if (dtype.is_none()) return out;
  return out.attr("astype")(dtype, py::arg("copy") = false);
}

py::object dlpack_of(const Tensor& x, const py::object&, const py::object& max_version, const py::object& device,
                     const py::object& copy) {
  if (!device.is_none() && py::cast<int>(device[py::int_(0)]) != 1)
    throw py::buffer_error("the memory is the host's: dl_device must be (1, 0)");
  const bool is_versioned = !max_version.is_none() && py::cast<int>(max_version[py::int_(0)]) >= 1;
  return dlpack_capsule(x, is_versioned, !copy.is_none() && py::cast<bool>(copy));
}

/// `tensor` as an object of the class of `self`, a subclass of Tensor, with these attributes.
py::object as_class_of(const py::object& self, const py::object& tensor, const py::object& attributes) {
  return py::module_::import("strata._pickles").attr("tensor_of_class")(py::type::of(self), tensor, attributes);
}

/// __reduce_ex__: a function and its arguments, among them the bytes of the elements; the attributes, too, of a
/// subclass.
py::object reduced(const py::object& self) {
  const Tensor& x = *tensor_in(self.ptr());
  const StridedBuffer b = host_memory(x.contiguous());
  py::bytes bytes(reinterpret_cast<const char*>(first_of(b)),
                  static_cast<std::size_t>(product(b.shape)) * x.itemsize());
  const py::object make = py::module_::import("strata._strata").attr("_tensor_from_bytes");
  const py::tuple arguments =
      py::make_tuple(bytes, x.dtype().name(), py::reinterpret_steal<py::object>(tuple_of_sizes(x.shape())),
                     std::string(x.device().name()), x.requires_grad());
  if (Py_TYPE(self.ptr()) == tensor_class) return py::make_tuple(make, arguments);
  const py::object attributes = py::getattr(self, "__dict__", py::dict());
  return py::make_tuple(py::module_::import("strata._pickles").attr("tensor_of_class"),
                        py::make_tuple(py::type::of(self), make(*arguments), attributes));
}

Tensor tensor_from_bytes(const std::string& bytes, DType dtype, const Ints& shape, const Device& device,
                         bool requires_grad) {
  const std::int64_t count = product(shape).value();
  STRATA_CHECK(static_cast<std::size_t>(count) * dtype.itemsize() == bytes.size(), shape, "[unpickle] ", bytes.size(),
               " bytes for ", count, " elements of ", dtype.name());
  Tensor out = Tensor::from_buffer(Buffer::fromCPU(bytes.data(), count, dtype), shape).to(device);
  if (requires_grad) out.requires_grad(true);
  return out;
}

/// __deepcopy__: copies the gradient, too, as in PyTorch.
py::object deep_copy(const py::object& self, const py::object& memo) {
  const Tensor& x = *tensor_in(self.ptr());
  Tensor out = copied_tensor(x);
  if (x.requires_grad()) out.requires_grad(true);
  if (const auto gradient = x.grad()) out.set_grad(copied_tensor(*gradient));
  if (Py_TYPE(self.ptr()) == tensor_class) return object_of(std::move(out));
  const py::object attributes = py::getattr(self, "__dict__", py::dict());
  return as_class_of(self, object_of(std::move(out)), py::module_::import("copy").attr("deepcopy")(attributes, memo));
}

py::object formatted(const Tensor& x, const std::string& spec) {
  if (spec.empty()) return py::str(text_of_tensor(x));
  return item_of_tensor(x).attr("__format__")(spec);
}

}  // namespace

PyGetSetDef tensor_properties[] = {
    {"shape", get_shape, nullptr, "The shape: a tuple with the size of each dimension.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"dtype", get_dtype, nullptr, "The dtype of the elements.", nullptr},
    {"device", get_device, nullptr, "The device on which the tensor is computed.", nullptr},
    {"itemsize", get_itemsize, nullptr, "The size of an element in bytes.", nullptr},
    {"nbytes", get_nbytes, nullptr, "The size of all elements in bytes.", nullptr},
    {"T", get_t, nullptr, "The tensor with all axes in reverse order.", nullptr},
    {"mT", get_mt, nullptr, "The tensor with its last two axes swapped.", nullptr},
    {"grad", get_grad, set_gradient, "The gradient that backward() has accumulated, or None.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad,
     "True if the tensor is a parameter or was computed from one. Assigning True makes the tensor "
     "a parameter: a leaf by which gradients are taken, detached from how it was computed. "
     "Assigning False makes it a constant again.",
     nullptr},
    {"__array_interface__", get_array_interface, nullptr,
     "NumPy's description of the memory, as a dictionary. Realizes the tensor.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

Tensor made_tensor(PyObject* data, PyObject* dtype, PyObject* device, bool requires_grad) {
  std::optional<DType> wanted;
  if (dtype != nullptr && dtype != Py_None) wanted = dtype_of_object(dtype);
  Tensor out = tensor_from_object(data, "Tensor", wanted);
  if (wanted && *wanted != out.dtype()) out = out.cast(*wanted);
  if (device != nullptr && device != Py_None) out = out.to(device_of({device, "Tensor", "device"}));
  // detach(): requires_grad must not change for other handles on the same tensor.
  if (requires_grad) out = out.detach().requires_grad(true);
  return out;
}

py::object item_of_tensor(const Tensor& x) {
  const Scalar s = running([&] { return x.scalar(); });
  std::uint64_t bits = s.bits();
  return py::reinterpret_steal<py::object>(element_object(s.dtype(), &bits));
}

bool truth_of_tensor(const Tensor& x) {
  STRATA_CHECK(x.numel() == Int(1), shape, "[bool] a tensor of shape ", render(x.shape()),
               " is neither true nor false: use any() or all()");
  return running([&] { return x.scalar(); }).as_bool();
}

std::string text_of_tensor(const Tensor& x) { return x.repr(); }

void bind_tensor_values(Functions& f) {
  f.method(
      "numpy", "", [](const Tensor& x) { return shared_array(x); },
      R"(The elements as a NumPy array. Realizes the tensor.

The array is read-only: it shares the memory of the tensor and keeps it alive. A movement of memory that strides can
describe, e.g. a transposed tensor, is not copied. numpy.array(x) makes a copy that may be written.)");
  f.method("__array__", "dtype=None, copy=None", &array_of,
           "The array that numpy.asarray() returns: numpy(), cast to `dtype`; with copy=True a copy "
           "that may be written. Realizes the tensor.");
  f.op(
      "item", "", [](const Tensor& x) { return item_of_tensor(x); },
      "The element of a tensor with one element, as a bool, int or float. Realizes the tensor. "
      "Raises ShapeError unless there is exactly one element.");
  f.method("tolist", "", &list_of_tensor,
           "The elements as nested lists of bools, ints or floats; of a tensor without dimensions, a "
           "number. Realizes the tensor.");
  f.op("numel", "", &element_count, "The number of elements.");
  f.method("__dlpack__", "stream=None, *, max_version=None, dl_device=None, copy=None", &dlpack_of,
           "The memory as a DLPack capsule. Realizes the tensor. Read-only memory is exported as "
           "read-only, or is copied if `max_version` is below (1, 0). Raises BufferError for a "
           "`dl_device` other than (1, 0), the host.");
  f.method(
      "__dlpack_device__", "", [](const Tensor&) -> py::object { return py::make_tuple(1, 0); },
      "(1, 0): the device of DLPack for memory of the host.");
  f.method(
      "__reduce_ex__", "protocol=2", [](const py::object& x, const py::object&) { return reduced(x); },
      "The state for pickle: the elements, the dtype, the shape, the device and requires_grad; of "
      "a subclass also the attributes. Realizes the tensor.");
  f.method("__copy__", "", [](const Tensor& x) { return x; }, "The same tensor: copy.copy() copies no elements.");
  f.method("__deepcopy__", "memo=None", &deep_copy,
           "A copy with the same elements in memory of its own, detached from the graph, with a copy of "
           "the gradient. Realizes the tensor.");
  f.method("__format__", "spec=''", &formatted,
           "With `spec`, the element of a tensor with one element, formatted as a number; without "
           "`spec`, the text of repr().");
  f.function(
      "_tensor_from_bytes", "bytes, dtype, shape, device, requires_grad",
      [](const py::object& bytes, DType dtype, const Ints& shape, const Device& device, bool requires_grad) {
        return tensor_from_bytes(py::cast<std::string>(bytes), dtype, shape, device, requires_grad);
      },
      "The tensor of a pickle: the inverse of __reduce_ex__().");
  f.making(
      "from_numpy", "array", [](const Tensor& x) { return x; },
      "A tensor that shares the memory of a NumPy array. The array must not be changed while the "
      "tensor is used.");
  f.function(
      "from_dlpack", "source", [](const py::object& source) { return tensor_from_dlpack(source); },
      "A tensor that shares the memory of an object with __dlpack__(), or of a DLPack capsule.");
}

}  // namespace strata::python
