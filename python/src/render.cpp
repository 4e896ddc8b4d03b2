// The renderers of lists of UOps: to C, CUDA, OpenCL C, Metal, WGSL and LLVM IR.
#include "python/src/uop_casters.h"
#include "strata/render/cstyle.h"
#include "strata/render/llvm.h"

namespace strata::python {

namespace {

/// A language of uops_to_cstyle.
struct LanguageObject {
  const Language* language;
};

struct LanguageRow {
  const char* name;
  const Language& (*language)();
};
constexpr LanguageRow kLanguages[] = {{"CLanguage", &CLanguage},
                                      {"CUDALanguage", &CUDALanguage},
                                      {"OpenCLLanguage", &OpenCLLanguage},
                                      {"MetalLanguage", &MetalLanguage},
                                      {"WGSLLanguage", &WGSLLanguage}};

}  // namespace

void bind_render(py::module_& m) {
  py::class_<LanguageObject>(m, "Language", "A language of the C family, in which uops_to_cstyle() writes kernels.")
      .def_property_readonly(
          "name", [](const LanguageObject& l) { return std::string(l.language->name); }, "The name of the language.")
      .def("__repr__", [](const LanguageObject& l) { return detail::message("<Language ", l.language->name, ">"); });
  for (const LanguageRow& row : kLanguages)
    m.def(
        row.name, [language = row.language] { return LanguageObject{&language()}; },
        "The language of that name, for uops_to_cstyle().");
  m.def(
      "uops_to_cstyle",
      [](const LanguageObject& language, const std::string& function_name, const UOpList& uops, bool entry) {
        return uops_to_cstyle(*language.language, function_name, *uops.graph, {.entry = entry});
      },
      py::arg("language"), py::arg("function_name"), py::arg("uops"), py::arg("entry") = false,
      "The source text of a kernel, a list of UOps, as a function of that name in `language`. With "
      "`entry`, in C only, the text also has the function NAME_entry(void* const* buffers, const "
      "long long* values), which calls the kernel. Raises DomainError for a list that verify() "
      "refuses, and for an op or a dtype that the language lacks.\n\n"
      ">>> k = Linearizer(parse_kernel('a: f32[4]; c = a + 1'))\n"
      ">>> k.linearize()\n"
      ">>> uops_to_cstyle(CLanguage(), 'add', k.uops).splitlines()[0]\n"
      "'void add(float* restrict data0, const float* restrict data1) {'");
  m.def(
      "uops_to_llvm",
      [](const std::string& function_name, const UOpList& uops, bool contract, bool reassociate) {
        return uops_to_llvm(function_name, *uops.graph, {.contract = contract, .reassociate = reassociate});
      },
      py::arg("function_name"), py::arg("uops"), py::arg("contract") = false, py::arg("reassociate") = false,
      "The text of an LLVM IR module of a kernel, a list of UOps, with the functions NAME and "
      "NAME_entry. With `contract`, LLVM may merge a product and the sum that uses it into one "
      "operation with one rounding. With `reassociate`, LLVM may regroup sums and products. Raises "
      "DomainError for a list that verify() refuses.");
}

}  // namespace strata::python
