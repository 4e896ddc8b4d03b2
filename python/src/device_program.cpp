// The classes Device, Buffer and Program.
#include <pybind11/numpy.h>

#include "python/src/memory.h"
#include "python/src/program_casters.h"
#include "python/src/running.h"
#include "strata/base/flags.h"
#include "strata/runtime/clang_program.h"

namespace strata::python {

namespace {

// --- buffers ---

using BufferClass = py::class_<Buffer>;

// A buffer on the memory of the array, if the array is contiguous, aligned and not empty; else nothing.
std::optional<Buffer> shared_buffer(const py::array& array) {
  const DType dtype = dtype_of_object(array.dtype());
  const int usable = static_cast<int>(py::array::c_style) | static_cast<int>(py::detail::npy_api::NPY_ARRAY_ALIGNED_);
  if ((array.flags() & usable) != usable || array.size() == 0) return std::nullopt;
  return Buffer::from_pointer(const_cast<void*>(array.data()), array.size(), dtype, letting_go(array),
                              !array.writeable());
}

Buffer buffer_from_numpy(const py::object& object, bool copy) {
  const py::array array = py::array::ensure(object, py::array::c_style);
  if (!array) throw py::error_already_set();
  if (!copy)
    if (auto shared = shared_buffer(array)) return *shared;
  return Buffer::fromCPU(array.data(), array.size(), dtype_of_object(array.dtype()));
}

py::object array_of_buffer(const Buffer& buffer, bool is_read_only) {
  const Buffer here = buffer.toCPU();
  const py::dtype dtype(py::object(object_of_dtype(here.dtype()).attr("numpy")));
  py::array out(dtype, {here.size()}, {static_cast<py::ssize_t>(here.dtype().itemsize())}, here.data(), py::cast(here));
  if (is_read_only) out.attr("setflags")(py::arg("write") = false);
  return out;
}
/// The caller may write through the array, if the buffer may be written.
py::object shared_array_of_buffer(const Buffer& buffer) {
  if (!buffer.is_read_only()) buffer.memory().let_others_write();
  return array_of_buffer(buffer, buffer.is_read_only());
}

py::buffer_info info_of_buffer(const Buffer& buffer) {
  const auto itemsize = static_cast<py::ssize_t>(buffer.dtype().itemsize());
  if (!buffer.is_read_only()) buffer.memory().let_others_write();
  return {buffer.data(), itemsize, format_of(buffer.dtype()), 1, {buffer.size()}, {itemsize}, buffer.is_read_only()};
}

py::object element_of_buffer(const Buffer& buffer, std::int64_t k) {
  const std::int64_t size = buffer.size();
  if (k < -size || k >= size) throw py::index_error(detail::message("[Buffer] there is no element ", k, " of ", size));
  return object_of_scalar(buffer[k < 0 ? k + size : k]);
}

void bind_buffer_making(BufferClass& c) {
  c.def(py::init([](const Int& size, const DTypeArg& dtype) { return Buffer::allocate(size.value(), dtype); }),
        py::arg("size"), py::arg("dtype") = object_of_dtype(dtypes::float32),
        "A buffer of `size` elements with undefined values, in the memory of the host.");
  c.def_static("from_numpy", &buffer_from_numpy, py::arg("array"), py::arg("copy") = false,
               "A buffer with the elements of `array`, or of an object that NumPy converts to an array, "
               "in row-major order. The buffer shares the memory of a contiguous array unless `copy` is "
               "True.\n"
               "A buffer that shares read-only memory is read-only.\n\n"
               ">>> a = numpy.array([2, 3], numpy.float32)\n"
               ">>> Buffer.from_numpy(a).numpy().base is not None\n"
               "True");
  c.def_static(
      "fromCPU", [](const py::object& array) { return buffer_from_numpy(array, true); }, py::arg("array"),
      "A buffer with a copy of the elements of `array`.");
}

void bind_buffer_elements(BufferClass& c) {
  c.def_buffer([](const Buffer& b) { return info_of_buffer(b); });
  c.def("numpy", &shared_array_of_buffer,
        "The elements as a NumPy array. The array shares the memory if the host can address the "
        "memory; otherwise the array is a copy.");
  c.def(
      "__array__",
      [](const Buffer& b, const py::object& dtype) {
        const py::object array = shared_array_of_buffer(b);
        return dtype.is_none() ? array : py::object(array.attr("astype")(dtype, py::arg("copy") = false));
      },
      py::arg("dtype") = py::none());
  c.def("toCPU", &Buffer::toCPU,
        "A buffer with the same elements in the memory of the host: this buffer if the host can "
        "address its memory, else a copy.");
  c.def(
      "tolist", [](const Buffer& b) { return array_of_buffer(b, true).attr("tolist")(); },
      "The elements as a list of Python numbers.");
  c.def(
      "copy_from",
      [](const Buffer& b, const py::object& source) {
        b.copy_from(py::isinstance<Buffer>(source) ? source.cast<Buffer>() : buffer_from_numpy(source, false));
      },
      py::arg("source"),
      "Overwrites all elements with those of a buffer or array. Raises ShapeError unless dtype "
      "and size are equal, and DomainError if this buffer is read-only.");
}

void bind_buffer_facts(BufferClass& c) {
  c.def_property_readonly("size", &Buffer::size, "The number of elements.");
  c.def_property_readonly("nbytes", &Buffer::nbytes, "The number of bytes.");
  c.def_property_readonly(
      "dtype", [](const Buffer& b) { return AnyObject{object_of_dtype(b.dtype())}; }, "The dtype of its elements.");
  c.def_property_readonly(
      "device", [](const Buffer& b) { return std::string(b.device()); },
      "The name of the device that owns the memory; 'CPU' for the memory of the host.");
  c.def_property_readonly("is_read_only", &Buffer::is_read_only, "True iff the memory must not be written.");
  c.def("shares", &Buffer::shares, py::arg("other"), "True iff both buffers refer to the same memory.");
  c.def("__len__", &Buffer::size);
  c.def("__getitem__", &element_of_buffer, py::arg("k"),
        "Element k. A negative k counts from the end. Raises IndexError if k is out of range.");
  c.def("__repr__", [](const Buffer& b) {
    return detail::message("<Buffer of ", b.size(), " ", b.dtype().name(), " on ", b.device(), ">");
  });
}

void bind_buffer(py::module_& m) {
  BufferClass c(m, "Buffer", py::buffer_protocol(),
                "A handle on elements of one dtype in the memory of a device. The memory is freed with "
                "the last handle or array on it.\n\n"
                ">>> b = Buffer.from_numpy([2.0, 3.0])\n"
                ">>> b.numpy()\n"
                "array([2., 3.])");
  bind_buffer_making(c);
  bind_buffer_elements(c);
  bind_buffer_facts(c);
}

// --- programs ---

// The buffer of an argument of a program: a Buffer, or the memory of a contiguous array.
Buffer argument_of(const py::handle& object) {
  if (py::isinstance<Buffer>(object)) return object.cast<Buffer>();
  if (!py::isinstance<py::array>(object))
    throw py::type_error("the arguments of a program must be Buffers or contiguous arrays");
  const auto array = py::reinterpret_borrow<py::array>(object);
  const std::optional<Buffer> shared = shared_buffer(array);
  STRATA_CHECK(shared || array.size() == 0, domain,
               "[run] an array is not contiguous: a program can only use contiguous memory");
  return shared ? *shared : Buffer::allocate(0, dtype_of_object(array.dtype()));
}

std::vector<Buffer> arguments_of(const py::iterable& objects) {
  std::vector<Buffer> out;
  for (const py::handle object : objects) out.push_back(argument_of(object));
  return out;
}

std::vector<std::pair<std::string, std::int64_t>> named_values(const py::dict& values) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  for (const auto& [key, value] : values) {
    const bool is_variable = py::isinstance<Variable>(key);
    if (!is_variable && !py::isinstance<py::str>(key))
      throw py::type_error("the keys of values must be Variables or names");
    const std::string name = is_variable ? std::string(key.cast<Variable>().name()) : key.cast<std::string>();
    out.emplace_back(name, int_of_object(value).value());
  }
  return out;
}

void run_program_object(const ProgramObject& p, const py::iterable& buffers, const py::dict& values) {
  const std::vector<Buffer> given = arguments_of(buffers);
  const auto named = named_values(values);
  const Unlocked unlocked;
  p.compiled->run(given, named);
}

void bind_program(py::module_& m) {
  py::class_<ProgramObject>(m, "Program",
                            "A kernel compiled for a device, which runs on buffers. Every access of the kernel is "
                            "proven to be inside its buffer.")
      .def_property_readonly(
          "name", [](const ProgramObject& p) { return p.compiled->kernel().name; }, "The kernel's name.")
      .def_property_readonly(
          "kernel", [](const ProgramObject& p) { return kernel_in(p.compiled); }, "The kernel.")
      .def_property_readonly(
          "device", [](const ProgramObject& p) { return p.device; }, py::return_value_policy::reference, "The device.")
      .def_property_readonly(
          "source", [](const ProgramObject& p) { return p.device->source(p.compiled->kernel()); },
          "The source in the device's language.")
      .def_property_readonly(
          "prg", [](const ProgramObject& p) { return p.device->source(p.compiled->kernel()); },
          "The same as `source`, under the name of the specification.")
      .def(
          "assembly", [](const ProgramObject& p) { return p.device->assembly(p.compiled->kernel()); },
          "The machine code as assembly text. Raises UndefinedError if the device has none.")
      .def("run", &run_program_object, py::arg("buffers"), py::arg("values") = py::dict(),
           "Runs the kernel on buffers or contiguous arrays, given in the order of the slots. "
           "`values` is a dict from variables, or names of variables, to integers. Raises "
           "ShapeError\n"
           "if a buffer is missing, too small or of another dtype, and DomainError for a variable "
           "without a value.")
      .def(
          "__call__",
          [](const ProgramObject& p, const py::args& buffers, const py::kwargs& values) {
            run_program_object(p, buffers, values);
          },
          "Runs the kernel as run() does. Positional arguments are buffers; keyword arguments are "
          "the values of variables.")
      .def("__repr__", [](const ProgramObject& p) {
        return detail::message("<Program ", p.compiled->kernel().name, " on ", p.device->name(), ">");
      });
}

void bind_clang_program(py::module_& m) {
  m.def(
      "compile_clang",
      [](const std::string& source, bool deterministic) {
        const CompileOptions options{.deterministic = deterministic};
        std::vector<std::byte> object;
        {
          const Unlocked unlocked;
          object = compile_clang(source, options);
        }
        return py::bytes(reinterpret_cast<const char*>(object.data()), object.size());
      },
      py::arg("source"), py::arg("deterministic") = false,
      "Compiles C source code with the host's compiler. Returns the bytes of the shared "
      "object. Raises UndefinedError with the compiler's message if the compilation fails.");
  py::class_<ClangProgram>(m, "ClangProgram",
                           "A function of a shared object, called on buffers.\n\n"
                           ">>> add = ClangProgram('add', compile_clang('void add(float *a, float "
                           "*b) { *a = *b + 1; }'))")
      .def(py::init([](const std::string& name, const py::bytes& object) {
             const std::string_view bytes(object);
             return std::make_unique<ClangProgram>(name, std::as_bytes(std::span(bytes.data(), bytes.size())));
           }),
           py::arg("name"), py::arg("object"),
           "Loads the shared object. Raises UndefinedError if the object cannot be loaded or has no "
           "function `name`.")
      .def_property_readonly("name", &ClangProgram::name, "The function's name.")
      .def(
          "__call__",
          [](ClangProgram& p, const py::args& buffers) {
            const std::vector<Buffer> given = arguments_of(buffers);
            std::vector<void*> addresses;
            for (const Buffer& b : given) addresses.push_back(b.data());
            const Unlocked unlocked;
            p.run(addresses, {});
          },
          "Calls the function with the addresses of the buffers. The function must take that many "
          "pointers and must access only the memory of the buffers.");
}

void interpret_list(const UOpList& uops, const py::iterable& buffers, const py::dict& values) {
  std::vector<Memory> memory;
  const std::vector<Buffer> given = arguments_of(buffers);
  for (const Buffer& b : given) memory.push_back({b.data(), b.size()});
  for (const UOp u : *uops.graph) {
    const bool is_store = u.op() == UOps::STORE;
    const Global* const g = std::get_if<Global>(is_store ? &u.src(0).arg() : &u.arg());
    if (g == nullptr || g->slot < 0 || static_cast<std::size_t>(g->slot) >= given.size()) continue;
    const Buffer& b = given[static_cast<std::size_t>(g->slot)];
    const DType wanted = (is_store ? u.src(0) : u).dtype().pointee();
    STRATA_CHECK(b.dtype() == wanted, shape, "[interpret] buffer ", g->slot, " is of ", b.dtype().name(), ", not ",
                 wanted.name());
    STRATA_CHECK(!is_store || !b.is_read_only(), domain, "[interpret] buffer ", g->slot,
                 " is written, and its memory is read-only");
  }
  interpret(*uops.graph, memory, named_values(values));
}

// --- devices ---

ProgramObject compile_for(const Device& device, const LazyOp& ast, const std::optional<std::string>& opts) {
  std::optional<std::vector<Opt>> given;
  if (opts) given = parse_opts(*opts);
  const Unlocked unlocked;
  return {std::make_shared<const CompiledKernel>(compile(ast, device, std::move(given))), &device};
}

const Device& open_device(const std::string& name) {
  const Device& out = Device::get(name);
  const std::string missing = out.missing();
  STRATA_CHECK(missing.empty(), undefined, missing);
  return out;
}

void set_default_device(const py::object& device) {
  if (device.is_none()) {
    flags::DEVICE.exchange({});
    return;
  }
  const bool is_device = py::isinstance<Device>(device);
  const std::string name(is_device ? std::string(device.cast<const Device&>().name()) : device.cast<std::string>());
  flags::DEVICE.exchange(std::string(open_device(name).name()));
}

using DeviceClass = py::class_<Device, std::unique_ptr<Device, py::nodelete>>;

void bind_device_registry(DeviceClass& c) {
  const auto reference = py::return_value_policy::reference;
  c.def_static(
      "get", [](const std::string& name) { return &Device::get(name); }, py::arg("name"), reference,
      "The device called `name`, whether or not the device can be used on this machine. Raises "
      "DomainError with the known names if there is no such device.");
  c.def_static(
      "open", [](const std::string& name) { return &open_device(name); }, py::arg("name"), reference,
      "The device called `name`. Raises UndefinedError, with what to install, if the device "
      "cannot be used on this machine.");
  c.def_static(
      "list",
      [] {
        py::list out;
        for (const Device* d : Device::all()) out.append(py::cast(d, py::return_value_policy::reference));
        return out;
      },
      "All devices, in the order of preference.");
  c.def_property_static(
      "DEFAULT", [](const py::object&) { return std::string(Device::default_device().name()); },
      [](const py::object&, const py::object& device) { set_default_device(device); },
      "The name of the default device, on which kernels run unless another device is given. "
      "Setting None returns to the automatic choice.");
}

void bind_device(py::module_& m) {
  DeviceClass c(m, "Device",
                "A backend that compiles kernels and runs them.\n\n"
                ">>> Device.DEFAULT = 'INTERP'");
  bind_device_registry(c);
  c.def_property_readonly(
      "name", [](const Device& d) { return std::string(d.name()); },
      "The name of the device: 'LLVM', 'CLANG', 'OPENCL', 'INTERP' or 'NULL'.");
  c.def_property_readonly(
      "text", [](const Device& d) { return std::string(d.text()); }, "A description of the device in one line.");
  c.def_property_readonly("missing", &Device::missing,
                          "'' if the device can be used on this machine; else the reason why not, and what to "
                          "install.");
  c.def("compile", &compile_for, py::arg("ast"), py::arg("opts") = py::none(),
        "Compiles a kernel, given as a SINK. `opts` is a text of Opts, e.g. 'UPCAST 0 4'; by "
        "default a heuristic chooses the Opts.\n\n"
        ">>> Device.get('INTERP').compile(parse_kernel('a: f32[4]; c = a + 1')).name\n"
        "'E_4'");
  c.def("source", &Device::source, py::arg("kernel"), "The source of a kernel in the device's language.");
  c.def("assembly", &Device::assembly, py::arg("kernel"),
        "The machine code of a kernel as assembly text. Raises UndefinedError if the device has "
        "none.");
  c.def(
      "__eq__",
      [](const Device& d, const py::object& other) -> py::object {
        if (py::isinstance<Device>(other)) return py::bool_(&other.cast<const Device&>() == &d);
        if (py::isinstance<py::str>(other)) return py::bool_(other.cast<std::string>() == d.name());
        return py::reinterpret_borrow<py::object>(Py_NotImplemented);
      },
      py::arg("other"), "True iff `other` is the same device or the name of this device.");
  c.def("__hash__", [](const Device& d) { return py::hash(py::str(std::string(d.name()))); });
  c.def("__str__", [](const Device& d) { return std::string(d.name()); });
  c.def("__reduce__", [](const Device& d) {
    return py::make_tuple(py::module_::import("strata._pickles").attr("device"), py::make_tuple(std::string(d.name())));
  });
  c.def("__repr__", [](const Device& d) { return detail::message("<Device ", d.name(), ": ", d.text(), ">"); });
}

}  // namespace

void bind_programs(py::module_& m) {
  bind_device(m);
  bind_buffer(m);
  bind_program(m);
  bind_clang_program(m);
  bind_kernel_log(m);
  m.def("interpret", &interpret_list, py::arg("uops"), py::arg("buffers"), py::arg("values") = py::dict(),
        "Runs a list of UOps, one UOp after another, on buffers given in the order of the slots. "
        "Checks each access. The reference for the meaning of lists.");
}

}  // namespace strata::python
