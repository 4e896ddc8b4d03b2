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

py::object array_of_buffer(const Buffer& buffer) {
  const Buffer here = buffer.toCPU();
  const py::dtype dtype(py::object(object_of_dtype(here.dtype()).attr("numpy")));
  py::array out(dtype, {here.size()}, {static_cast<py::ssize_t>(here.dtype().itemsize())}, here.data(), py::cast(here));
  if (here.is_read_only()) out.attr("setflags")(py::arg("write") = false);
  return out;
}

py::buffer_info info_of_buffer(const Buffer& buffer) {
  const auto itemsize = static_cast<py::ssize_t>(buffer.dtype().itemsize());
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
        "Memory of the host for `size` elements, whose values are not defined.");
  c.def_static("from_numpy", &buffer_from_numpy, py::arg("array"), py::arg("copy") = false,
               "The elements of an array (or what NumPy makes one of), in row-major order. The "
               "memory is shared where the array is\n"
               "contiguous, unless `copy`; what is read-only there is so here.\n\n"
               ">>> a = numpy.array([2, 3], numpy.float32)\n>>> Buffer.from_numpy(a).numpy().base "
               "is not None\nTrue");
  c.def_static(
      "fromCPU", [](const py::object& array) { return buffer_from_numpy(array, true); }, py::arg("array"),
      "A copy of an array's elements.");
}

void bind_buffer_elements(BufferClass& c) {
  c.def_buffer([](const Buffer& b) { return info_of_buffer(b); });
  c.def("numpy", &array_of_buffer,
        "The elements as an array over the same memory, where the host sees it; else a copy.");
  c.def(
      "__array__",
      [](const Buffer& b, const py::object& dtype) {
        const py::object array = array_of_buffer(b);
        return dtype.is_none() ? array : py::object(array.attr("astype")(dtype, py::arg("copy") = false));
      },
      py::arg("dtype") = py::none());
  c.def("toCPU", &Buffer::toCPU, "The elements in memory of the host: this buffer where the memory is shared.");
  c.def("tolist", [](const Buffer& b) { return array_of_buffer(b).attr("tolist")(); }, "The elements as numbers.");
  c.def(
      "copy_from",
      [](const Buffer& b, const py::object& source) {
        b.copy_from(py::isinstance<Buffer>(source) ? source.cast<Buffer>() : buffer_from_numpy(source, false));
      },
      py::arg("source"),
      "Copies the elements of a buffer or array. Raises ShapeError unless dtype and size are the "
      "same.");
}

void bind_buffer_facts(BufferClass& c) {
  c.def_property_readonly("size", &Buffer::size, "The number of elements.");
  c.def_property_readonly("nbytes", &Buffer::nbytes, "The number of bytes.");
  c.def_property_readonly(
      "dtype", [](const Buffer& b) { return AnyObject{object_of_dtype(b.dtype())}; }, "The dtype of its elements.");
  c.def_property_readonly(
      "device", [](const Buffer& b) { return std::string(b.device()); }, "Whose memory it is: 'CPU', ...");
  c.def_property_readonly("is_read_only", &Buffer::is_read_only, "Whether the memory must not be written.");
  c.def("shares", &Buffer::shares, py::arg("other"), "Whether both are handles on the same memory.");
  c.def("__len__", &Buffer::size);
  c.def("__getitem__", &element_of_buffer, py::arg("k"), "Element k; below 0 from the end.");
  c.def("__repr__", [](const Buffer& b) {
    return detail::message("<Buffer of ", b.size(), " ", b.dtype().name(), " on ", b.device(), ">");
  });
}

void bind_buffer(py::module_& m) {
  BufferClass c(m, "Buffer", py::buffer_protocol(),
                "Memory of a device that holds elements of one dtype. The memory goes with the "
                "last handle; arrays keep it.\n\n"
                ">>> b = Buffer.from_numpy([2.0, 3.0])\n>>> b.numpy()\narray([2., 3.])");
  bind_buffer_making(c);
  bind_buffer_elements(c);
  bind_buffer_facts(c);
}

// --- programs ---

// The buffer of an argument of a program: a Buffer, or the memory of a contiguous array.
Buffer argument_of(const py::handle& object) {
  if (py::isinstance<Buffer>(object)) return object.cast<Buffer>();
  if (!py::isinstance<py::array>(object)) throw py::type_error("programs take Buffers, or arrays that are contiguous");
  const auto array = py::reinterpret_borrow<py::array>(object);
  const std::optional<Buffer> shared = shared_buffer(array);
  STRATA_CHECK(shared || array.size() == 0, domain,
               "[run] an array is not contiguous: its memory is not what a program would write");
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
    if (!is_variable && !py::isinstance<py::str>(key)) throw py::type_error("values are given by Variable or by name");
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
                            "A kernel compiled for a device, to be run on buffers. Every access "
                            "was proven to lie inside.")
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
          "The same, under the specification's name.")
      .def(
          "assembly", [](const ProgramObject& p) { return p.device->assembly(p.compiled->kernel()); },
          "Machine code, to read. Raises UndefinedError where the device has none.")
      .def("run", &run_program_object, py::arg("buffers"), py::arg("values") = py::dict(),
           "Runs it on buffers (or contiguous arrays) by slot, its variables set to `values`, by "
           "Variable or name. Raises ShapeError\n"
           "where a buffer is missing, too small or of another dtype, DomainError for a variable "
           "without a value.")
      .def(
          "__call__",
          [](const ProgramObject& p, const py::args& buffers, const py::kwargs& values) {
            run_program_object(p, buffers, values);
          },
          "run(), with buffers and values as arguments.")
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
      "The bytes of the shared object that a source in C becomes, by the host's compiler. Raises "
      "UndefinedError with its words.");
  py::class_<ClangProgram>(m, "ClangProgram",
                           "A function of a shared object, called on buffers.\n\n"
                           ">>> add = ClangProgram('add', compile_clang('void add(float *a, float "
                           "*b) { *a = *b + 1; }'))")
      .def(py::init([](const std::string& name, const py::bytes& object) {
             const std::string_view bytes(object);
             return std::make_unique<ClangProgram>(name, std::as_bytes(std::span(bytes.data(), bytes.size())));
           }),
           py::arg("name"), py::arg("object"), "Loads it. Raises UndefinedError where it has no such function.")
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
          "Calls the function, which has to take as many pointers and to stay inside of the "
          "buffers.");
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
      "The device of a name, whether it can be used here or not. Raises DomainError naming those "
      "that there are.");
  c.def_static(
      "open", [](const std::string& name) { return &open_device(name); }, py::arg("name"), reference,
      "The device of a name. Raises UndefinedError, saying how to get it, where it cannot be used "
      "here.");
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
      "The name of the device that kernels run on unless they are told another; None chooses one.");
}

void bind_device(py::module_& m) {
  DeviceClass c(m, "Device", "What makes programs of kernels, and runs them.\n\n>>> Device.DEFAULT = 'INTERP'");
  bind_device_registry(c);
  c.def_property_readonly(
      "name", [](const Device& d) { return std::string(d.name()); }, "'LLVM', 'CLANG', 'INTERP', ...");
  c.def_property_readonly("text", [](const Device& d) { return std::string(d.text()); }, "What it is, in a line.");
  c.def_property_readonly("missing", &Device::missing,
                          "'' where it can be used here; else why not, and how to get it.");
  c.def("compile", &compile_for, py::arg("ast"), py::arg("opts") = py::none(),
        "The program of a kernel, a SINK. `opts` is a text; without one the heuristic chooses.\n\n"
        ">>> Device.get('INTERP').compile(parse_kernel('a: f32[4]; c = a + 1')).name\n'E_4'");
  c.def("source", &Device::source, py::arg("kernel"), "The source of a kernel in the device's language.");
  c.def("assembly", &Device::assembly, py::arg("kernel"), "Machine code, to read.");
  c.def(
      "__eq__",
      [](const Device& d, const py::object& other) -> py::object {
        if (py::isinstance<Device>(other)) return py::bool_(&other.cast<const Device&>() == &d);
        if (py::isinstance<py::str>(other)) return py::bool_(other.cast<std::string>() == d.name());
        return py::reinterpret_borrow<py::object>(Py_NotImplemented);
      },
      py::arg("other"), "Whether it is that device, or the one of that name.");
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
        "Runs a list one UOp after another on buffers by slot, each access checked: what lists "
        "mean.");
}

}  // namespace strata::python
