// export_c() of a captured function of Python: the words of the call as ExportOptions, and what is returned.
#include "python/src/jit_export.h"

#include "python/src/convert.h"
#include "python/src/running.h"
#include "strata/export/export_c.h"

namespace strata::python {

const char* const kExportText =
    "export_c($self, path, *, target='generic', weights='embed', lines=True, deterministic=None, selftest=False, "
    "inputs=None, outputs=None, states=None, max_ram=None, max_flash=None, cpp=False, weight_dtype='f32', "
    "kernels=None, object=None, cpu=None, features=None)\n--\n\n"
    "Writes the most recently used capture as one C file with a header, PATH.h and PATH.c.\n\n"
    "target: 'plain' (ISO C), 'generic', 'avx2' or 'avx512'; or a list, e.g. ['avx512', 'avx2', 'generic'], of which\n"
    "the first that the processor has runs. weights: 'embed', or 'pointer': a blob, PATH.bin, whose address the C\n"
    "function takes. lines: comments name the lines of the user. deterministic: the bits of the flag DETERMINISTIC;\n"
    "None: as the flag. selftest: also writes PATH_test.c, a program that compares. inputs, outputs,\n"
    "states: the names of parameters in C. max_ram, max_flash: bytes; a function that needs more is refused.\n"
    "cpp: also writes PATH.hpp, a class for C++20 that takes spans. weight_dtype: 'f16', 'int8': weights of\n"
    "1024 elements or more are stored so, rounded (int8: 32 elements share a power of two), and kernels widen\n"
    "them. kernels: 'opencl', 'cuda', 'metal' or 'wgsl': instead of C, the sources of the kernels, and PATH.json,\n"
    "a table of what a program launches. object: 'x86_64', 'aarch64', 'armv7em', 'riscv64', 'wasm32', or a triple of\n"
    "such a machine: LLVM compiles the kernels now, into PATH_kernels.o, for its `cpu` and with its `features`,\n"
    "e.g. '+sse4.1', by the names of LLVM.\n"
    "Returns the files and what the function needs: sizes in bytes, the steps of a run, the parts of its memory, and a "
    "report as\n"
    "text and as svg.";

std::vector<std::string> names_in(PyObject* list) {
  return list == nullptr || list == Py_None ? std::vector<std::string>()
                                            : py::cast<std::vector<std::string>>(py::handle(list));
}

namespace {

/// A word, or the words of a list with commas between.
std::string joined(py::handle words) {
  if (PyUnicode_Check(words.ptr())) return py::cast<std::string>(words);
  if (!PyList_Check(words.ptr()) && !PyTuple_Check(words.ptr()))
    throw py::type_error("export_c: target is a word or a list of words, not " +
                         py::cast<std::string>(py::repr(words)));
  return py::cast<std::string>(py::str(",").attr("join")(words));
}

}  // namespace

PyObject* exported_jit(Jit* jit, const std::vector<std::string>& names, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"path",         "target",  "weights", "lines",   "deterministic", "selftest",
                                   "inputs",       "outputs", "states",  "max_ram", "max_flash",     "cpp",
                                   "weight_dtype", "kernels", "object",  "cpu",     "features",      nullptr};
  PyObject *path = nullptr, *deterministic = nullptr, *inputs = nullptr, *outputs = nullptr, *states = nullptr;
  PyObject *max_ram = nullptr, *max_flash = nullptr, *target = nullptr;
  const char *weights = "embed", *weight_dtype = "f32", *kernels = nullptr;
  const char *object = nullptr, *cpu = nullptr, *features = nullptr;
  int lines = 1, selftest = 0, cpp = 0;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OspOpOOOOOpszzzz:export_c", const_cast<char**>(keywords), &path,
                                  &target, &weights, &lines, &deterministic, &selftest, &inputs, &outputs, &states,
                                  &max_ram, &max_flash, &cpp, &weight_dtype, &kernels, &object, &cpu, &features) == 0)
    return nullptr;
  if (jit == nullptr) throw Error(ErrorKind::domain, "[export] the function was never called: call it twice first");
  ExportOptions options;
  if (target != nullptr) options.target = joined(py::handle(target));
  options.weights = weights;
  options.weight_dtype = weight_dtype;
  if (kernels != nullptr) options.kernels = kernels;
  if (object != nullptr) options.object = object;
  if (cpu != nullptr) options.cpu = cpu;
  if (features != nullptr) options.features = features;
  options.lines = lines != 0;
  if (deterministic != nullptr && deterministic != Py_None) options.deterministic = PyObject_IsTrue(deterministic) == 1;
  options.selftest = selftest != 0;
  options.cpp = cpp != 0;
  options.inputs = names_in(inputs);
  if (options.inputs.empty()) options.inputs = names;
  options.outputs = names_in(outputs);
  options.states = names_in(states);
  const auto bytes = [](PyObject* given) {
    const bool is_given = given != nullptr && given != Py_None;
    return is_given ? std::optional(py::cast<std::int64_t>(py::handle(given))) : std::nullopt;
  };
  options.max_ram = bytes(max_ram);
  options.max_flash = bytes(max_flash);
  const std::string file = py::str(py::module_::import("os").attr("fspath")(py::handle(path)));
  const ExportedModel model = running([&] { return export_c(*jit, file, options); });
  py::dict out;
  out["name"] = model.name;
  out["files"] = files_of(model);
  out["arena_bytes"] = model.arena_bytes;
  out["state_bytes"] = model.state_bytes;
  out["constant_bytes"] = model.constant_bytes;
  out["code_bytes"] = model.code_bytes;
  out["kernels"] = model.kernels;
  out["stack_bytes"] = model.stack_bytes;
  out["operations"] = model.operations;
  out["moved_bytes"] = model.moved_bytes;
  out["steps"] = model.steps;
  const auto parts = [&](const char* name, const std::vector<ExportedPart>& all) {
    py::list rows;
    for (const ExportedPart& p : all) {
      py::dict row;
      row["name"] = p.name;
      row["bytes"] = p.bytes;
      row["at"] = p.at;
      row["first"] = p.first;
      row["last"] = p.last;
      rows.append(row);
    }
    out[name] = rows;
  };
  parts("arena", model.arena);
  parts("state", model.state);
  parts("constants", model.constants);
  out["text"] = report_text(model);
  out["svg"] = report_svg(model);
  return out.release().ptr();
}

}  // namespace strata::python
