// Binds streaming(): functions of whole signals as steps of blocks (tensor/streaming.h).
#include "python/src/call.h"
#include "python/src/running.h"
#include "python/src/tensor_object.h"
#include "strata/tensor/streaming.h"

namespace strata::python {

namespace {

Stream streamed(const py::object& f, std::int64_t axis, const Tensor& example) {
  return streaming(
      [&](const Tensor& x) {
        const py::object made = f(object_of(x));
        if (tensor_in(made.ptr()) == nullptr)
          throw py::type_error("streaming: the function returns " + std::string(Py_TYPE(made.ptr())->tp_name) +
                               ", not a tensor");
        return *tensor_in(made.ptr());
      },
      example, axis);
}

}  // namespace

void bind_streams(py::module_& m) {
  py::class_<StreamRing>(m, "StreamRing", "What a stream keeps of one value between blocks.")
      .def_readonly("name", &StreamRing::name, "The operation and source line of the value; 'x' for the input.")
      .def_property_readonly(
          "shape",
          [](const StreamRing& r) {
            py::tuple out(r.shape.size());
            for (std::size_t k = 0; k < r.shape.size(); ++k) out[k] = r.shape[k].value();
            return out;
          },
          "The shape, with the most positions that are kept.")
      .def_readonly("least", &StreamRing::least, "The fewest positions behind the start.")
      .def_readonly("most", &StreamRing::most, "The most positions; 0 for the state of a loop.")
      .def_readonly("bytes", &StreamRing::bytes, "The bytes of `shape`.")
      .def("__repr__", [](const StreamRing& r) {
        return detail::message("<strata.StreamRing ", r.name, ": ", r.most,
                               r.most == 1 ? " position, " : " positions, ", render(r.shape), ", ", r.bytes, " bytes>");
      });
  py::class_<Stream>(m, "Stream", "A function that takes a signal block by block. Made by streaming().")
      .def(
          "__call__", [](Stream& s, const Tensor& block) { return running([&] { return s(block); }); },
          py::arg("block"), "The results that are due after `block`, whose size along the axis is free.")
      .def(
          "reset", [](Stream& s) { running([&] { return s.reset(), 0; }); }, "Back to the beginning of the signal.")
      .def_property_readonly("rings", &Stream::rings, "What is kept, in the order of computation.")
      .def_property_readonly("period", &Stream::period,
                             "Blocks of multiples of this many positions leave the rings at their sizes.")
      .def_property_readonly("axis", &Stream::axis, "The axis of the results along which they are joined.")
      .def("describe", &Stream::describe, "A line for each ring, and their sum in bytes.")
      .def("__repr__", [](const Stream& s) { return "<strata.Stream\n" + s.describe() + ">"; });
  m.def("streaming", &streamed, py::arg("f"), py::arg("axis"), py::arg("example"),
        "The stream of `f`, a function of one tensor to one tensor, along `axis` of its argument. `f` runs for tensors "
        "of the shape of `example` and of twice its size along `axis`.");
}

}  // namespace strata::python
