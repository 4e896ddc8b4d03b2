// Creates tensors from Python objects: numbers, nested lists, and objects with memory, which is shared if strides can
// describe it.
#include <cstring>
#include <memory>
#include <vector>

#include "python/src/convert.h"
#include "python/src/dlpack_capsule.h"
#include "python/src/memory.h"

namespace strata::python {

namespace {

constexpr std::size_t kMostDepth = 64;  // of nested lists, which may contain themselves

bool is_list(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o); }

// --- nested lists of numbers ---

enum class LeafKind : std::uint8_t { boolean, integer, real, other };

LeafKind leaf_kind(PyObject* o) {
  if (PyBool_Check(o)) return LeafKind::boolean;
  if (PyFloat_Check(o)) return LeafKind::real;
  if (PyLong_Check(o)) return LeafKind::integer;
  return LeafKind::other;
}

bool is_negative(const Scalar& integer) {
  return !integer.dtype().is_bool() && !integer.dtype().is_unsigned() && integer.as_int() < 0;
}

/// Flattens nested lists to a list of numbers, and finds the shape and the dtype.
class Nested {
 public:
  Nested(PyObject* list, const char* owner) : owner_(owner) {
    for (py::object at = py::reinterpret_borrow<py::object>(list); is_list(at.ptr());) {
      STRATA_CHECK(sizes_.size() < kMostDepth, shape, "[", owner_, "] lists are nested more than ", kMostDepth,
                   " deep");
      const Py_ssize_t size = PySequence_Size(at.ptr());
      sizes_.push_back(size);
      if (size == 0) break;
      at = py::reinterpret_steal<py::object>(PySequence_GetItem(at.ptr(), 0));
      if (!at) throw py::error_already_set();
    }
    collect(list, 0);
  }

  LeafKind kind() const { return kind_; }
  Ints shape() const {
    Ints out;
    for (const Py_ssize_t n : sizes_) out.push_back(static_cast<std::int64_t>(n));
    return out;
  }
  Buffer elements(std::optional<DType> wanted) const {
    const DType natural = leaves_.empty() || kind_ == LeafKind::real ? dtypes::float32
                          : kind_ == LeafKind::integer               ? integer_dtype()
                                                                     : dtypes::boolean;
    const DType dtype = wanted.value_or(natural);
    const Buffer out = Buffer::allocate(static_cast<std::int64_t>(leaves_.size()), dtype);
    auto* at = static_cast<std::byte*>(out.data());
    if (dtype == dtypes::float32)
      for (std::size_t k = 0; k < leaves_.size(); ++k) reinterpret_cast<float*>(at)[k] = static_cast<float>(real(k));
    else
      for (std::size_t k = 0; k < leaves_.size(); ++k, at += dtype.itemsize()) store_scalar(scalar(k, dtype), at);
    return out;
  }

 private:
  /// Recursive, but not deeper than kMostDepth.
  void collect(PyObject* o, std::size_t depth) {
    if (depth == sizes_.size()) {
      STRATA_CHECK(!is_list(o), shape, "[", owner_,
                   "] the lists differ in depth: a list has both lists and numbers as items");
      kind_ = std::max(kind_, leaf_kind(o));
      leaves_.push_back(py::reinterpret_borrow<py::object>(o));
      return;
    }
    // Copied to a tuple, because a subclass of list may report a wrong length.
    const py::object items =
        is_list(o) ? py::reinterpret_steal<py::object>(PySequence_Tuple(o)) : py::object(py::none());
    if (!items) throw py::error_already_set();
    const Py_ssize_t size = items.is_none() ? -1 : PyTuple_GET_SIZE(items.ptr());
    STRATA_CHECK(size == sizes_[depth], shape, "[", owner_, "] at depth ", depth, " one list has ", sizes_[depth],
                 " elements, another ", size < 0 ? "is not a list" : std::to_string(size));
    for (Py_ssize_t k = 0; k < size; ++k) collect(PyTuple_GET_ITEM(items.ptr(), k), depth + 1);
  }

  /// i64, or u64 if a number does not fit in i64.
  DType integer_dtype() const {
    const bool fit = std::all_of(leaves_.begin(), leaves_.end(), [](const py::object& leaf) {
      int overflow = 0;
      PyLong_AsLongLongAndOverflow(leaf.ptr(), &overflow);
      return overflow <= 0;
    });
    return fit ? dtypes::int64 : dtypes::uint64;
  }

  double real(std::size_t k) const {
    const double out = PyFloat_AsDouble(leaves_[k].ptr());
    if (out == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    return out;
  }

  Scalar scalar(std::size_t k, DType dtype) const {
    const Number number = *try_number(leaves_[k].ptr());
    const Scalar value = number.value().cast(dtype);
    const bool fits =
        !dtype.is_int() || number.value().dtype().is_float() ||
        (value.cast(number.value().dtype()) == number.value() && is_negative(value) == is_negative(number.value()));
    STRATA_CHECK(fits, overflow, "[", owner_, "] ", number.value().text(), " does not fit in ", dtype.name());
    return value;
  }

  const char* owner_;
  std::vector<Py_ssize_t> sizes_;
  std::vector<py::object> leaves_;
  LeafKind kind_ = LeafKind::boolean;
};

Tensor tensor_from_list(PyObject* list, const char* owner, std::optional<DType> dtype, std::size_t depth);

/// The tensor of a list that contains arrays or tensors. Recursive, but not deeper than kMostDepth.
Tensor stacked(PyObject* list, const char* owner, std::optional<DType> dtype, std::size_t depth) {
  STRATA_CHECK(depth < kMostDepth, shape, "[", owner, "] lists are nested more than ", kMostDepth, " deep");
  std::vector<Tensor> parts;
  const Py_ssize_t size = PySequence_Size(list);
  for (Py_ssize_t k = 0; k < size; ++k) {
    const py::object item = py::reinterpret_steal<py::object>(PySequence_GetItem(list, k));
    if (!item) throw py::error_already_set();
    parts.push_back(is_list(item.ptr()) ? tensor_from_list(item.ptr(), owner, dtype, depth + 1)
                                        : tensor_from_object(item.ptr(), owner));
  }
  return Tensor::stack(parts);
}

Tensor tensor_from_list(PyObject* list, const char* owner, std::optional<DType> dtype, std::size_t depth) {
  const Py_ssize_t size = PySequence_Size(list);
  bool is_plain = true;
  for (py::object at = py::reinterpret_borrow<py::object>(list); is_plain && size > 0;) {
    if (!is_list(at.ptr())) {
      is_plain = leaf_kind(at.ptr()) != LeafKind::other;
      break;
    }
    if (PySequence_Size(at.ptr()) == 0 || depth++ > kMostDepth) break;
    at = py::reinterpret_steal<py::object>(PySequence_GetItem(at.ptr(), 0));
  }
  if (is_plain) {
    const Nested nested(list, owner);
    if (nested.kind() != LeafKind::other) return Tensor::from_buffer(nested.elements(dtype), nested.shape());
  }
  return stacked(list, owner, dtype, depth);
}

// --- memory of others ---

/// A tensor with a copy of the elements of a buffer.
Tensor copied_view(const Py_buffer& view, DType dtype, const Ints& shape) {
  const Buffer out = Buffer::allocate(view.len / view.itemsize, dtype);
  if (view.len > 0 && PyBuffer_ToContiguous(out.data(), &view, view.len, 'C') != 0) throw py::error_already_set();
  if (dtype == dtypes::boolean) {
    auto* const bytes = static_cast<unsigned char*>(out.data());
    for (Py_ssize_t k = 0; k < view.len; ++k) bytes[k] = bytes[k] != 0 ? 1 : 0;
  }
  return Tensor::from_buffer(out, shape);
}

/// The strides of a buffer in elements; nothing if they are not multiples of the itemsize, or the buffer has
/// suboffsets.
std::optional<Index> element_strides(const Py_buffer& view) {
  if (view.suboffsets != nullptr) return std::nullopt;
  Index out;
  for (int k = 0; k < view.ndim; ++k) {
    if (view.strides[k] % view.itemsize != 0) return std::nullopt;
    out.push_back(view.strides[k] / view.itemsize);
  }
  return out;
}

/// A tensor on the memory of an object with the buffer protocol; nothing if no dtype matches its elements.
std::optional<Tensor> tensor_over_buffer(PyObject* object) {
  const py::object memory = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(object));
  if (!memory) {
    PyErr_Clear();
    return std::nullopt;
  }
  const Py_buffer& view = *PyMemoryView_GET_BUFFER(memory.ptr());
  const auto dtype = dtype_of_format(view.format);
  if (!dtype || static_cast<std::size_t>(view.itemsize) != dtype->itemsize()) return std::nullopt;
  Ints shape;
  for (int k = 0; k < view.ndim; ++k) shape.push_back(static_cast<std::int64_t>(view.shape[k]));
  const auto strides = element_strides(view);
  // Booleans are copied, because the bytes of other libraries may be other than 0 and 1.
  if (!strides || *dtype == dtypes::boolean || view.len == 0) return copied_view(view, *dtype, shape);
  return Tensor::from_blob(
      view.buf, shape, *dtype,
      {.strides = strides, .deleter = letting_go(memory), .read_only = view.readonly != 0, .constant = true});
}

/// A tensor of an object that is, or can be converted to, a NumPy array.
Tensor tensor_from_array(PyObject* object, const char* owner) {
  const py::module_ numpy = py::module_::import("numpy");
  py::object array = numpy.attr("asarray")(py::handle(object));
  const std::string name = py::cast<std::string>(array.attr("dtype").attr("name"));
  if (name == "bfloat16") {
    const auto bits = tensor_over_buffer(array.attr("view")("uint16").ptr());
    if (bits) return bits->bitcast(dtypes::bfloat16);
  }
  const std::string order = py::cast<std::string>(array.attr("dtype").attr("byteorder"));
  if (order == ">") array = array.attr("astype")(array.attr("dtype").attr("newbyteorder")("="));
  if (const auto t = tensor_over_buffer(array.ptr())) return *t;
  throw py::type_error(detail::message(owner, "(): there is no dtype for NumPy elements of ", name));
}

}  // namespace

Tensor tensor_from_object(PyObject* object, const char* owner) {
  return tensor_from_object(object, owner, std::nullopt);
}

Tensor tensor_from_object(PyObject* object, const char* owner, std::optional<DType> dtype) {
  if (const Tensor* const t = tensor_in(object)) return *t;
  if (const Expr* const e = integer_in(object)) {
    const Tensor t(*e);
    return dtype ? t.cast(*dtype) : t;
  }
  if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object)) {
    const Number n = *try_number(object);
    return dtype ? Tensor::full({}, n, *dtype)
                 : Tensor::full({}, n, n.value().dtype() == dtypes::float64 ? dtypes::float32 : n.value().dtype());
  }
  if (is_list(object)) return tensor_from_list(object, owner, dtype, 0);
  if (PyObject_CheckBuffer(object) != 0)
    if (const auto t = tensor_over_buffer(object)) return *t;
  if (PyObject_HasAttrString(object, "__dlpack__") != 0 && PyObject_CheckBuffer(object) == 0) {
    try {
      return tensor_from_dlpack(object);
    } catch (const py::error_already_set&) {
      // PyTorch 1 does not export bools by DLPack; __array__() below does.
      if (PyObject_HasAttrString(object, "__array__") == 0) throw;
    }
  }
  if (PyObject_HasAttrString(object, "__array_interface__") != 0 || PyObject_HasAttrString(object, "__array__") != 0)
    return tensor_from_array(object, owner);
  if (PySequence_Check(object) != 0 && !PyUnicode_Check(object) && PySequence_Size(object) >= 0) {
    const py::object list = py::reinterpret_steal<py::object>(PySequence_List(object));
    if (list) return tensor_from_list(list.ptr(), owner, dtype, 0);
  }
  PyErr_Clear();
  throw py::type_error(
      detail::message(owner, "(): cannot make a tensor of an object of type ", Py_TYPE(object)->tp_name));
}

}  // namespace strata::python
