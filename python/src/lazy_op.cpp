// The class LazyOp, the nodes of the graphs of tensors and kernels, and the schedule of a graph.
#include "strata/graph/lazy_op.h"
#include "strata/engine/realize.h"

#include "python/src/running.h"
#include "python/src/tensor_object.h"
#include "python/src/uop_casters.h"
#include "python/src/view_casters.h"
#include "strata/engine/buffer_storage.h"
#include "strata/graph/step_graph.h"
#include "strata/ops/kernel_text.h"
#include "strata/schedule/schedule.h"
#include "strata/tensor/access.h"

namespace strata::python {

namespace {

struct LazyArgToObject {
  py::object operator()(std::monostate) const { return py::none(); }
  py::object operator()(const BufferArg& b) const { return py::make_tuple(b.slot, b.size, b.st); }
  py::object operator()(const ConstArg& c) const { return py::make_tuple(object_of_scalar(c.value), c.st); }
  py::object operator()(const ShapeTracker& st) const { return py::cast(st); }
  py::object operator()(DType dtype) const { return object_of_dtype(dtype); }
  py::object operator()(const Ints& sizes) const { return py::cast(sizes); }
  py::object operator()(const Axes& axes) const { return py::cast(axes); }
  py::object operator()(const OrderArg& order) const {
    return py::make_tuple(order.of_places ? "places" : "values", order.is_descending, order.axis, order.first);
  }
  py::object operator()(const AxisArg& scan) const { return py::make_tuple(object_of_op(scan.op), scan.axis); }
  py::object operator()(const Padding& padding) const { return py::cast(padding); }
  py::object operator()(const Mask& mask) const { return py::cast(pairs_of_mask(mask)); }
  py::object operator()(const IdentityArg& identity) const { return py::int_(identity.id); }
  py::object operator()(const IndexRange& range) const { return py::str(range.text()); }
  py::object operator()(const FormulaArg& of) const { return py::int_(of.formula->nodes); }
  py::object operator()(const PlacementArg& of) const { return py::str(of.placement->text()); }
  py::object operator()(const StepArg& of) const { return py::cast(of.step->count); }
};

using LazyClass = py::class_<LazyOp>;

void bind_lazy_parts(LazyClass& c) {
  c.def_property_readonly(
      "op", [](const LazyOp& n) { return AnyObject{object_of_op(n.op())}; },
      "The op, a member of UnaryOps, BinaryOps, ...");
  c.def_property_readonly(
      "src",
      [](const LazyOp& n) {
        py::tuple out(n.src().size());
        for (std::size_t k = 0; k < n.src().size(); ++k) out[k] = n.src(k);
        return out;
      },
      "The source nodes, from which the node is computed.");
  c.def_property_readonly(
      "arg", [](const LazyOp& n) { return AnyObject{std::visit(LazyArgToObject(), n.arg())}; },
      "The argument of the op: (slot, size, ShapeTracker) for LOAD and STORE, (value, "
      "ShapeTracker) for CONST; for other ops the shape, axes, dtype, pairs or None.");
  c.def_property_readonly(
      "dtype", [](const LazyOp& n) { return AnyObject{object_of_dtype_or_none(n.dtype())}; },
      "The dtype of the elements; None for STORE and SINK.");
  c.def_property_readonly("shape", &LazyOp::shape, "The shape.");
  c.def_property_readonly(
      "is_realized", [](const LazyOp& n) { return is_realized(*n.node()); }, "True iff the elements are in memory.");
  c.def_property_readonly(
      "buffer", [](const LazyOp& n) { return AnyObject{is_realized(*n.node()) ? py::cast(buffer_of(n)) : py::none()}; },
      "The Buffer of the elements in row-major order; None if the node is not realized.");
}

void bind_lazy_protocol(LazyClass& c) {
  c.def("text", &LazyOp::text,
        "The graph as text, one line for each node, sources first: number, op, dtype, shape, "
        "sources, argument.");
  c.def("__str__", &LazyOp::text);
  c.def("__repr__", [](const LazyOp& n) {
    return detail::message("<LazyOp ", spec_name(n.op()), " ", n.dtype().name(), render(n.shape()), ">");
  });
  c.def(
      "__eq__", [](const LazyOp& a, const LazyOp& b) { return a == b; }, py::arg("other"), py::is_operator(),
      "True iff both are the same node. Nodes with the same content are the same node.");
  c.def("__ne__", [](const LazyOp& a, const LazyOp& b) { return !(a == b); }, py::arg("other"), py::is_operator());
  c.def("__hash__", &LazyOp::hash);
}

LazyOp load_op(int slot, const DTypeArg& dtype, const ShapeTracker& st, const std::optional<Int>& size) {
  return size ? LazyOp::load(slot, dtype, st, *size) : LazyOp::load(slot, dtype, st);
}

LazyOp store_op(int slot, const ShapeTracker& st, const LazyOp& value, const std::optional<Int>& size) {
  return size ? LazyOp::store(slot, st, value, *size) : LazyOp::store(slot, st, value);
}

LazyOp alu_op(const py::object& op, const py::args& operands) {
  std::vector<LazyOp> src;
  for (const py::handle n : operands) src.push_back(n.cast<LazyOp>());
  return LazyOp::alu(op_of_object(op), src);
}

void bind_lazy_building(LazyClass& c) {
  c.def_static("load", &load_op, py::arg("slot"), py::arg("dtype"), py::arg("st"), py::arg("size") = py::none(),
               "The elements of the buffer argument `slot` at the addresses of a ShapeTracker. `size` "
               "is the number of elements in the buffer. Raises DomainError for a negative slot.");
  c.def_static(
      "constant",
      [](const py::object& value, const DTypeArg& dtype, const Ints& shape) {
        return LazyOp::constant(scalar_of_object(value, dtype), shape);
      },
      py::arg("value"), py::arg("dtype"), py::arg("shape"), "A node with `value` at each index.");
  c.def_static(
      "iota", [](const DTypeArg& dtype, const ShapeTracker& st) { return LazyOp::iota(dtype, st); }, py::arg("dtype"),
      py::arg("st"), "The address of each index of a ShapeTracker; 0 where the index is invalid.");
  c.def_static(
      "from_buffer", [](const Buffer& buffer, const Ints& shape) { return leaf_of(buffer, shape); }, py::arg("buffer"),
      py::arg("shape"), "A realized node with the elements of a Buffer in row-major order.");
  c.def_static("alu", &alu_op, py::arg("op"),
               "Applies an op element by element. Raises ShapeError if the shapes of the operands "
               "differ, and DomainError if the op is not elementwise or the number of operands is wrong.");
  c.def_static(
      "reduce",
      [](const py::object& op, const LazyOp& x, const Axes& axes) {
        const std::string name = py::str(op);
        const std::optional<Ops> reduction = find_op(detail::message("ReduceOps.", name));
        return LazyOp::reduce(reduction ? *reduction : op_of_object(op), x, axes);
      },
      py::arg("op"), py::arg("x"), py::arg("axes"),
      "Reduces axes of `x` by 'SUM', 'PROD', 'MAX' or 'MIN'. The reduced axes keep size 1. "
      "Raises ShapeError for an axis that is out of range or given twice.");
  c.def_static("store", &store_op, py::arg("slot"), py::arg("st"), py::arg("value"), py::arg("size") = py::none(),
               "Stores `value` to the buffer argument `slot` at the addresses of a ShapeTracker. Raises "
               "ShapeError if the shapes differ.");
  c.def_static(
      "sink", [](const std::vector<LazyOp>& stores) { return LazyOp::sink(stores); }, py::arg("stores"),
      "A kernel of the given stores.");
}

void bind_lazy_running(LazyClass& c) {
  c.def("copied", &LazyOp::copied,
        "The same elements on another device (op FROM). The code that realizes the node chooses "
        "the device.");
  c.def("contiguous", &LazyOp::contiguous, "The same elements, stored row-major in memory of their own.");
  c.def(
      "tensor",
      [](const LazyOp& n, const std::optional<std::string>& device) {
        return TensorAccess::of(n, device ? Device::get(*device) : Device::default_device());
      },
      py::arg("device") = py::none(), "A Tensor of this node on `device`; default: the default device.");
  c.def(
      "realize",
      [](const LazyOp& n, const std::optional<std::string>& device) {
        const Device& where = device ? Device::get(*device) : Device::default_device();
        running([&] {
          realize(n, where);
          return 0;
        });
      },
      py::arg("device") = py::none(),
      "Computes the elements on `device` (default: the default device). Afterwards `buffer` "
      "has the memory.");
}

void bind_lazy_movement(LazyClass& c) {
  c.def(
      "cast", [](const LazyOp& n, const DTypeArg& dtype) { return n.cast(dtype); }, py::arg("dtype"),
      "The elements converted to another dtype.");
  c.def("reshape", &LazyOp::reshape, py::arg("shape"), "As View.reshape.");
  c.def("permute", &LazyOp::permute, py::arg("order"), "As View.permute.");
  c.def("expand", &LazyOp::expand, py::arg("shape"), "As View.expand.");
  c.def("pad", &LazyOp::pad, py::arg("padding"), "As View.pad. The added elements are 0.");
  c.def(
      "shrink", [](const LazyOp& n, const Padding& bounds) { return n.shrink(mask_of_pairs(bounds)); },
      py::arg("bounds"), "As View.shrink.");
  c.def("flip", &LazyOp::flip, py::arg("axes"), "As View.flip.");
  c.def("stride", &LazyOp::stride, py::arg("steps"), "As View.stride.");
}

void bind_schedule(py::module_& m) {
  py::class_<ScheduleItem>(m, "ScheduleItem",
                           "A step of a schedule: a kernel, a copy between devices, or an output that is the memory "
                           "of an input.")
      .def_readonly("ast", &ScheduleItem::ast,
                    "For a kernel, a SINK whose slots are the outputs, then the inputs. For a copy, a FROM. "
                    "For an output that is the memory of an input, a LOAD.")
      .def_readonly("outputs", &ScheduleItem::outputs, "The nodes that the step stores.")
      .def_readonly("inputs", &ScheduleItem::inputs, "The nodes that the step reads.")
      .def_property_readonly(
          "values", [](const ScheduleItem& s) { return dict_of_values(s.values); },
          "The values of the variables of the kernel: a dict from variables to integers.")
      .def_property_readonly("is_kernel", &ScheduleItem::is_kernel, "True iff the step is a kernel.")
      .def("text", &ScheduleItem::text, "The step as one line, with the reason why the result is materialized.")
      .def("__repr__", &ScheduleItem::text);
  m.def(
      "schedule",
      [](const std::vector<LazyOp>& roots) {
        const Unlocked unlocked;
        return schedule(roots, fusion_options(Device::default_device()));
      },
      py::arg("roots"), "The steps that realize the nodes `roots`, in execution order. Runs nothing.");
  m.def(
      "lazy_op", [](const Tensor& tensor) { return tensor.node(); }, py::arg("tensor"),
      "The graph node of a tensor. LazyOp.tensor() is the inverse.");
  m.def(
      "parse_kernel", [](const std::string& text) { return parse_kernel(text).kernel; }, py::arg("text"),
      "Reads the text of a kernel and returns the kernel as a LazyOp. Raises ParseError with "
      "the column of the error.\n\n"
      ">>> parse_kernel('a: f32[4]; b: f32[4]; c = a + b').op\n"
      "<BufferOps.SINK: 3>");
}

}  // namespace

void bind_lazy_op(py::module_& m) {
  LazyClass lazy(m, "LazyOp",
                 "A node of a graph of tensor operations or of a kernel. Immutable. Nodes with the same "
                 "content are the same node.");
  bind_lazy_parts(lazy);
  bind_lazy_protocol(lazy);
  bind_lazy_building(lazy);
  bind_lazy_running(lazy);
  bind_lazy_movement(lazy);
  bind_schedule(m);
}

}  // namespace strata::python
