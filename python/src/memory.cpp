#include "python/src/memory.h"

#include <pybind11/numpy.h>

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "python/src/running.h"
#include "strata/base/fork.h"

namespace strata::python {

namespace {

/// Objects whose references are to be dropped, see memory.h.
class PutAside {
 public:
  static PutAside& instance() {
    static PutAside* const one = new PutAside;  // never destroyed: deleters run late
    return *one;
  }
  void hold() { mutex_.lock(); }
  void release() { mutex_.unlock(); }

  void add(PyObject* object) {
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      is_first = objects_.empty();
      objects_.push_back(object);
    }
    // The queue of pending calls may be full: then the next call of letting_go() drops these references.
    if (is_first && Py_IsInitialized() != 0) Py_AddPendingCall(&PutAside::pending, nullptr);
  }

  /// @pre the GIL is held
  void let_go() {
    std::vector<PyObject*> objects;
    {
      const std::lock_guard lock(mutex_);
      objects.swap(objects_);
    }
    for (PyObject* const o : objects) Py_DECREF(o);
  }

 private:
  static int pending(void*) {
    instance().let_go();
    return 0;
  }

  std::mutex mutex_;
  std::vector<PyObject*> objects_;
};

const ForkHook put_aside_hook(
    ForkOrder::memory, [] { PutAside::instance().hold(); }, [] { PutAside::instance().release(); });

py::dtype numpy_element(DType d) {
  static std::array<PyObject*, DType::kCount + 1> known{};  // live as long as the process
  PyObject*& dtype = known[static_cast<std::size_t>(d.id())];
  if (dtype == nullptr) dtype = py::object(object_of_dtype(d).attr("numpy")).release().ptr();
  return py::reinterpret_borrow<py::dtype>(dtype);
}

/// The data of an exported Py_buffer: the tensor's memory, and arrays of sizes and strides.
struct Exported {
  StridedBuffer memory;
  std::vector<Py_ssize_t> shape, strides;
};

Exported exported_memory(const Tensor& x) {
  Exported out{host_memory(x), {}, {}};
  const auto itemsize = static_cast<std::int64_t>(x.itemsize());
  for (const std::int64_t n : out.memory.shape) out.shape.push_back(n);
  for (const std::int64_t s : out.memory.strides) out.strides.push_back(s * itemsize);
  return out;
}

void* first_element(const StridedBuffer& b) {
  return static_cast<std::byte*>(b.buffer.data()) + b.offset * static_cast<std::int64_t>(b.buffer.dtype().itemsize());
}

bool wants_rows(int flags) {
  return (flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
         (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
}

Index row_strides(const Index& shape) { return *numbers(row_major_strides(to_ints(shape))); }

void fill_view(PyObject* self, Py_buffer* view, int flags, std::unique_ptr<Exported> out) {
  const DType dtype = out->memory.buffer.dtype();
  view->buf = first_element(out->memory);
  view->itemsize = static_cast<Py_ssize_t>(dtype.itemsize());
  view->len = view->itemsize;
  for (const Py_ssize_t n : out->shape) view->len *= n;
  view->readonly = 1;
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format_of(dtype)) : nullptr;
  view->ndim = static_cast<int>(out->shape.size());
  view->shape = (flags & PyBUF_ND) != 0 ? out->shape.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? out->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = out.release();
  view->obj = Py_NewRef(self);
}

}  // namespace

Buffer::Deleter letting_go(py::object object) {
  PutAside::instance().let_go();
  PyObject* const held = object.release().ptr();
  return [held](void*) { PutAside::instance().add(held); };
}

std::shared_ptr<PyObject> kept_object(py::object object) {
  return {object.release().ptr(), [](PyObject* o) { PutAside::instance().add(o); }};
}

const char* format_of(DType dtype) {
  switch (dtype.id()) {
    case DType::Id::boolean: return "?";
    case DType::Id::int8: return "b";
    case DType::Id::int16: return "h";
    case DType::Id::int32: return "i";
    case DType::Id::int64: return "q";
    case DType::Id::uint8: return "B";
    case DType::Id::uint16: return "H";
    case DType::Id::uint32: return "I";
    case DType::Id::uint64: return "Q";
    case DType::Id::float16: return "e";
    case DType::Id::float32: return "f";
    case DType::Id::float64: return "d";
    default: return nullptr;
  }
}

std::optional<DType> dtype_of_format(const char* format) {
  std::string_view f = format == nullptr ? "B" : format;
  if (f.starts_with('@') || f.starts_with('=') || f.starts_with('<') || f.starts_with('|')) f.remove_prefix(1);
  if (f == "l") f = "q";  // long has eight bytes on all supported systems
  if (f == "L") f = "Q";
  for (const DType d : dtypes::all()) {
    const char* const own = format_of(d);
    if (own != nullptr && f == own) return d;
  }
  return std::nullopt;
}

StridedBuffer host_memory(const Tensor& x) {
  return running([&] {
    StridedBuffer b = strided_buffer(x);
    if (b.buffer.device() != "CPU") b.buffer = b.buffer.toCPU();
    return b;
  });
}

py::object shared_array(const Tensor& x) {
  const py::dtype dtype = numpy_element(x.dtype());
  Exported out = exported_memory(x);
  void* const first = first_element(out.memory);
  const py::capsule keeper(new Buffer(out.memory.buffer), [](void* b) { delete static_cast<Buffer*>(b); });
  py::array array(dtype, std::move(out.shape), std::move(out.strides), first, keeper);
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

py::object copied_array(const Tensor& x) { return shared_array(x).attr("copy")(); }

Tensor copied_tensor(const Tensor& x) {
  const Tensor rows = x.detach().contiguous();
  const StridedBuffer b = host_memory(rows);
  const std::int64_t count = product(b.shape);
  return Tensor::from_buffer(Buffer::fromCPU(first_element(b), count, x.dtype()), x.shape()).to(x.device());
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  try {
    const Tensor& x = *tensor_in(self);
    if (format_of(x.dtype()) == nullptr)
      throw py::buffer_error("a tensor of bfloat16 has no buffer format: cast it first");
    if ((flags & PyBUF_WRITABLE) != 0) throw py::buffer_error("the memory of a tensor is read-only");
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && x.ndim() > 1)
      throw py::buffer_error("the elements of a tensor are in row-major order");
    auto out = std::make_unique<Exported>(exported_memory(x));
    if (wants_rows(flags) && out->memory.strides != row_strides(out->memory.shape))
      *out = exported_memory(x.contiguous());
    fill_view(self, view, flags, std::move(out));
    return 0;
  } catch (const std::exception&) {
    raise_current_exception();
    view->obj = nullptr;
    return -1;
  }
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Exported*>(view->internal); }

}  // namespace strata::python
