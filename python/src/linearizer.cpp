// The class Linearizer of the specification, and compile_kernel().
#include "strata/codegen/spec_linearizer.h"

#include "python/src/pictures.h"
#include "python/src/running.h"
#include "python/src/uop_casters.h"
#include "strata/runtime/device.h"
#include "strata/runtime/trace_kernel.h"

namespace strata::python {

namespace {

Target chosen_target(const std::optional<std::string>& device) {
  return device ? target_of(Device::get(*device)) : Target();
}

/// The specification's Linearizer. Its list of UOps is also an object in Python.
class LinearizerObject {
  // The range of a loop, given as a Variable or as (Variable, begin, end).
  static LoopRange range_of(const py::handle& loop) {
    if (py::isinstance<Variable>(loop)) return {loop.cast<Variable>()};
    const auto [variable, begin, end] = loop.cast<std::tuple<Variable, ExprArg, ExprArg>>();
    return {variable, *begin, *end};
  }

  // Lends the list to the inner Linearizer while `f` runs.
  template <class F>
  auto with_list(const F& f) {
    STRATA_CHECK(!uops_.is_frozen, domain, "[Linearizer] the list of a compiled kernel does not change");
    struct Lent {
      UOpGraph &a, &b;
      Lent(UOpGraph& x, UOpGraph& y) : a(x), b(y) { std::swap(a, b); }
      Lent(const Lent&) = delete;
      Lent& operator=(const Lent&) = delete;
      ~Lent() { std::swap(a, b); }
    };
    const Lent lent(*uops_.graph, inner_.uops);
    return f();
  }

 public:
  LinearizerObject(const LazyOp& ast, const std::optional<std::string>& device)
      : ast_(ast), target_(chosen_target(device)), inner_(ast_, target_) {}

  void linearize(const std::string& opts) {
    const std::vector<Opt> given = parse_opts(opts);
    Linearizer fresh(ast_, target_);  // without the GIL, so other threads may use inner_
    {
      const Unlocked unlocked;
      fresh.linearize(given);
    }
    set_uops({std::make_shared<UOpGraph>(std::move(fresh.uops)), false});
  }

  const UOpList& uops() const { return uops_; }
  void set_uops(const UOpList& uops) {
    inner_.loop_uops.clear();  // they belong to the old list
    uops_ = uops;
  }

  std::vector<UOpObject> render_loop(const py::iterable& loops) {
    std::vector<LoopRange> ranges;
    for (const py::handle loop : loops) ranges.push_back(range_of(loop));
    std::vector<UOpObject> out;
    for (const UOp u : with_list([&] { return inner_.render_loop(ranges); })) out.push_back({uops_.graph, u});
    return out;
  }
  void close_loops() {
    with_list([&] {
      inner_.close_loops();
      return 0;
    });
  }
  UOpObject render(const ExprArg& e) {
    return {uops_.graph, with_list([&] { return inner_.render(*e); })};
  }
  UOpObject constant(std::int64_t value, DType dtype) {
    return {uops_.graph, with_list([&] { return inner_.constant(value, dtype); })};
  }

  py::list loop_uops() const {
    py::list out;
    for (const auto& [variable, uop] : inner_.loop_uops)
      out.append(py::make_tuple(variable, UOpObject{uops_.graph, uop}));
    return out;
  }
  void set_loop_uops(const py::iterable& loops) {
    std::vector<std::pair<Variable, UOp>> given;
    for (const py::handle loop : loops) {
      const auto pair = loop.cast<py::tuple>();
      STRATA_CHECK(pair.size() == 2, domain, "[Linearizer] loop_uops must be pairs of a Variable and its LOOP");
      const auto& uop = pair[1].cast<const UOpObject&>();
      STRATA_CHECK(uop.graph == uops_.graph && uop.uop.op() == UOps::LOOP, domain,
                   "[Linearizer] loop_uops must be LOOPs of the current list");
      given.emplace_back(pair[0].cast<Variable>(), uop.uop);
    }
    inner_.loop_uops = std::move(given);
  }

 private:
  LazyOp ast_;
  Target target_;
  Linearizer inner_;
  UOpList uops_;
};

void bind_linearizer_class(py::module_& m) {
  py::class_<LinearizerObject>(m, "Linearizer",
                               "A kernel and the list of UOps made of it. The list may also be built by hand.\n\n"
                               ">>> k = Linearizer(parse_kernel('a: f32[4]; c = a + 1'))\n"
                               ">>> k.linearize()\n"
                               ">>> len(k.uops)\n"
                               "10")
      .def(py::init<const LazyOp&, const std::optional<std::string>&>(), py::arg("ast"), py::arg("device") = py::none(),
           "`ast` is a SINK. `device` gives the vectors and ops that the code may use; default: "
           "vectors of 32 bytes. Raises DomainError if `ast` is not a SINK.")
      .def("linearize", &LinearizerObject::linearize, py::arg("opts") = "",
           "Replaces `uops` by the list of the kernel. `opts` is a text of Opts, e.g. 'UPCAST 0 4, "
           "PARALLEL 0'. Raises DomainError for an Opt that is not legal.")
      .def_property("uops", &LinearizerObject::uops, &LinearizerObject::set_uops, "The list of UOps, a UOpGraph.")
      .def_property("loop_uops", &LinearizerObject::loop_uops, &LinearizerObject::set_loop_uops,
                    "The open loops, outermost first: pairs of a Variable and its LOOP.")
      .def("render_loop", &LinearizerObject::render_loop, py::arg("loops"),
           "Adds a LOOP for each Variable or (Variable, begin, end), the first outermost. The loops "
           "stay open until close_loops().")
      .def("close_loops", &LinearizerObject::close_loops, "Adds an ENDLOOP for each open loop, innermost first.")
      .def("render", &LinearizerObject::render, py::arg("e"),
           "Adds the UOps of an expression. Variables of open loops are the loop counters; other "
           "variables become DEFINE_VARs.")
      .def(
          "constant",
          [](LinearizerObject& k, const Int& value, const DTypeArg& dtype) { return k.constant(value.value(), dtype); },
          py::arg("value"), py::arg("dtype") = object_of_dtype(dtypes::int32),
          "Adds a CONST with the value and the dtype.");
}

using KernelPointer = std::shared_ptr<Kernel>;

UOpList list_of_kernel(const KernelPointer& kernel) { return {std::shared_ptr<UOpGraph>(kernel, &kernel->uops), true}; }

py::list buffers_of_kernel(const KernelPointer& kernel) {
  py::list out;
  for (const BufferUse& b : kernel->buffers) {
    py::dict row;
    row["dtype"] = object_of_dtype_or_none(b.dtype);
    row["size"] = b.size;
    row["read"] = b.read;
    row["written"] = b.written;
    out.append(row);
  }
  return out;
}

void bind_kernel_class(py::module_& m) {
  py::class_<Kernel, KernelPointer> kernel(
      m, "Kernel", "A kernel as a list of UOps. Every access is proven to be inside its buffer.");
  kernel
      .def_readonly("name", &Kernel::name,
                    "The name, e.g. 'r_64_128': E for elementwise kernels, r for kernels with reductions, "
                    "then the sizes of the axes.")
      .def_readonly("ast", &Kernel::ast, "The SINK that the kernel computes.")
      .def_property_readonly(
          "opts", [](const Kernel& k) { return text_of(k.opts); }, "The Opts as a text.")
      .def_readonly("axes", &Kernel::axes, "The axes of the kernel as a text, one line for each axis.")
      .def_property_readonly("uops", &list_of_kernel, "The list of UOps, which cannot be changed.")
      .def_readonly("variables", &Kernel::variables, "The variables that the kernel takes in addition to buffers.")
      .def_property_readonly("buffers", &buffers_of_kernel,
                             "The buffers by slot: a dict with dtype, size, read and written for each.")
      .def_property_readonly(
          "proof", [](const Kernel& k) { return k.proof.text(); }, "The bounds proof of the accesses, in one line.")
      .def(
          "_trace",
          [](const KernelPointer& k) {
            const std::shared_ptr<const Kernel> shared = k;
            return trace_of_kernels({&shared, 1}, nullptr, TraceFile::first_line(k->name) + "\n");
          },
          "The kernel as the lines of a trace.")
      .def("__repr__", [](const Kernel& k) { return detail::message("<Kernel ", k.name, ">"); });
  bind_pictures(kernel);
  m.def(
      "compile_kernel",
      [](const LazyOp& ast, const std::optional<std::string>& device, const std::optional<std::string>& opts) {
        std::optional<std::vector<Opt>> given;
        if (opts) given = parse_opts(*opts);
        const Target target = chosen_target(device);
        const Unlocked unlocked;
        return std::make_shared<Kernel>(compile_kernel(ast, target, std::move(given)));
      },
      py::arg("ast"), py::arg("device") = py::none(), py::arg("opts") = py::none(),
      "Compiles a SINK to a Kernel. `opts` is a text of Opts; by default a heuristic chooses "
      "the Opts.\n\n"
      ">>> compile_kernel(parse_kernel('a: f32[8]; c = a * 2'), opts='').name\n"
      "'E_8'");
}

}  // namespace

void bind_linearizer(py::module_& m) {
  bind_linearizer_class(m);
  bind_kernel_class(m);
}

}  // namespace strata::python
