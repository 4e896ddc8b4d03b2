// Binds realize(), assign(), backward(), no_grad, and functions that differentiate functions.
#include <array>
#include <memory>
#include <vector>

#include "python/src/call.h"
#include "python/src/memory.h"
#include "python/src/running.h"
#include "strata/engine/realize.h"
#include "strata/tensor/access.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/custom_gradient.h"

namespace strata::python {

namespace {

// --- running ---

/// Realizes several tensors in one schedule, so that common intermediate results are computed once.
void realize_all(const std::vector<Tensor>& tensors) {
  std::vector<LazyOp> nodes;
  for (const Tensor& t : tensors) nodes.push_back(t.node());
  running([&] {
    if (!nodes.empty()) realize(nodes, tensors[0].device());
    for (const Tensor& t : tensors) t.realize();
  });
}

/// The schedule for all tensors together.
std::string explained(std::span<const Tensor> tensors) {
  std::vector<LazyOp> nodes;
  for (const Tensor& t : tensors) nodes.push_back(t.node());
  return tensors.empty() ? explain(nodes) : explain(nodes, tensors[0].device());
}

py::object realized(const py::object& self) {
  const Tensor& x = *tensor_in(self.ptr());
  running([&] { x.realize(); });
  return self;
}

py::object assigned(const py::object& self, const Tensor& value) {
  tensor_in(self.ptr())->assign(value);
  return self;
}

/// Fills a tensor with one value, in place.
py::object filled(const py::object& self, const Number& value) {
  const Tensor& x = *tensor_in(self.ptr());
  set_in_place(x, x.full_like(value), "fill_");
  return self;
}

py::object copied_from(const py::object& self, const Tensor& source) {
  const Tensor& x = *tensor_in(self.ptr());
  set_in_place(x, source.cast(x.dtype()).to(x.device()).expand(x.shape()), "copy_");
  return self;
}

py::object with_requires_grad(const py::object& self, bool on) {
  reinterpret_cast<TensorObject*>(self.ptr())->tensor.requires_grad(on);
  return self;
}

// --- no_grad: strata/_functions.py makes a decorator of it, too ---

/// The context manager no_grad. One object may be entered several times, also inside itself.
class NoGradContext {
 public:
  void enter() { inside_.push_back(std::make_unique<NoGrad>()); }
  void exit() {
    if (!inside_.empty()) inside_.pop_back();
  }

 private:
  std::vector<std::unique_ptr<NoGrad>> inside_;
};

// --- functions of functions ---

std::vector<std::size_t> places_in(const py::object& argnums) {
  std::vector<std::size_t> out;
  for (const std::int64_t k : integers_of({argnums.ptr(), "grad", "argnums"})) {
    STRATA_CHECK(k >= 0, domain, "[grad] argnums has the negative index ", k);
    out.push_back(static_cast<std::size_t>(k));
  }
  return out;
}

/// f(*args), and its gradients with respect to the arguments at the indices `argnums`.
std::pair<py::object, py::object> value_and_gradients(const py::object& f, const py::object& argnums,
                                                      const py::args& args, const py::kwargs& kwargs) {
  py::list inputs(args);
  std::vector<Tensor> by;
  for (const std::size_t k : places_in(argnums)) {
    STRATA_CHECK(k < inputs.size(), domain, "[grad] argnums has the index ", k,
                 "; the number of positional arguments is ", inputs.size());
    const Tensor given = tensor_of({py::object(inputs[k]).ptr(), "grad", "argument"});
    STRATA_CHECK(given.dtype().is_float(), domain, "[grad] a tensor of dtype ", given.dtype().name(),
                 " has no gradient");
    const Tensor x = TensorAccess::of(given.node().tracked({}), given);
    by.push_back(x);
    inputs[k] = object_of(TensorAccess::of(x.node(), x));  // f may change it in place
  }
  const py::object result = f(*py::tuple(inputs), **kwargs);
  // If the result is a tuple (value, ...), the value is differentiated.
  const Tensor value =
      tensor_of({PyTuple_Check(result.ptr()) && PyTuple_GET_SIZE(result.ptr()) > 0 ? PyTuple_GET_ITEM(result.ptr(), 0)
                                                                                   : result.ptr(),
                 "grad", "result"});
  std::vector<Tensor> all = gradients(value, by, {}, Unused::zeros);
  if (PyIndex_Check(argnums.ptr())) return {result, object_of(all[0])};
  return {result, py::reinterpret_steal<py::object>(tuple_of(std::move(all)))};
}

py::object gradients_of(const Tensor& y, const py::object& xs, const std::optional<Tensor>& dy, bool allow_unused) {
  const Unused unused = allow_unused ? Unused::zeros : Unused::refused;
  if (const Tensor* const x = tensor_in(xs.ptr())) return object_of(gradients(y, {x, 1}, dy, unused)[0]);
  return py::reinterpret_steal<py::object>(
      tuple_of(gradients(y, tensors_of({xs.ptr(), "gradients", "xs"}), dy, unused)));
}

Tensor with_custom_gradient(const Tensor& value, const std::vector<Tensor>& inputs, const py::object& backward) {
  const auto function = kept_object(backward);  // released later by any thread, see memory.h
  return with_gradient(value, inputs, [function](const Tensor& dy) {
    const Locked acquire;
    const py::tuple args = py::make_tuple(object_of(dy));
    const auto result = py::reinterpret_steal<py::object>(call_python(function.get(), args.ptr(), nullptr));
    if (!result) throw py::error_already_set();
    if (const Tensor* const one = tensor_in(result.ptr())) return std::vector<Tensor>{*one};
    return tensors_of({result.ptr(), "with_gradient", "the result of backward"});
  });
}

void bind_no_grad(py::module_& m) {
  py::class_<NoGradContext>(m, "_NoGrad")
      .def(py::init<>())
      .def("__enter__",
           [](py::object self) {
             py::cast<NoGradContext&>(self).enter();
             return self;
           })
      .def("__exit__", [](NoGradContext& c, const py::args&) { c.exit(); });
  m.def(
      "is_grad_enabled", [] { return !NoGrad::is_active(); },
      "True iff the operations of this thread record gradients, i.e. no no_grad() is active.");
}

}  // namespace

void bind_gradients(Functions& f) {
  f.method("realize", "", &realized,
           "Computes the elements, stores them in memory, and returns the tensor. Afterwards the "
           "operands are released, except where a gradient may pass through the tensor.");
  f.function(
      "realize", "*tensors", [](std::span<const Tensor> t) { realize_all({t.begin(), t.end()}); },
      "Computes several tensors in one schedule. Common intermediate results are computed once.");
  f.op("is_realized", "", &Tensor::is_realized, "True iff the elements are in memory.");
  f.method("explain", "", &Tensor::explain,
           "The schedule that realize() would run: one line for each kernel. Runs nothing.");
  f.function("explain", "*tensors", &explained,
             "The schedule that realize() would run for the tensors together: one line for each "
             "kernel. Runs nothing.");
  f.method(
      "viz", "open=True",
      [](const py::object& self, bool open) {
        return py::module_::import("strata._viz").attr("show")(self, open).cast<std::string>();
      },
      "Returns the URL of a page that shows the graph, the schedule and each kernel of "
      "realize(). Opens the page in a browser unless `open` is False.");
  f.method(
      "_repr_html_", "",
      [](const py::object& self) {
        return py::module_::import("strata._viz").attr("picture")(self).cast<std::string>();
      },
      "The HTML that a notebook shows: the elements if they are few and in memory, else a "
      "description of the tensor.");
  f.method(
      "_trace", "", [](const Tensor& t) { return explain_as_trace(std::array{t.node()}, t.device()); },
      "The run of realize() as the lines of a trace. Runs nothing.");
  f.op("contiguous", "", &Tensor::contiguous,
       "A tensor with the same elements, stored row-major in memory of its own.");
  f.op("clone", "", &Tensor::contiguous, "A tensor with the same elements, stored row-major in memory of its own.");
  f.op("detach", "", &Tensor::detach, "A tensor with the same elements that blocks gradients.");
  f.method("cpu", "", [](const py::object& self) { return self; }, "Returns the tensor itself.");
  f.method("assign", "value", &assigned,
           "Makes the tensor stand for `value`, detached, and returns the tensor. Computes nothing. "
           "Raises ShapeError if the shapes differ, and DomainError if the dtypes or devices differ.");
  f.method("copy_", "source|src", &copied_from,
           "Sets the elements to those of `source`, broadcast to the tensor's shape and cast to its "
           "dtype. Gradients pass to `source`. Returns the tensor.");
  f.method("fill_", "value", &filled, "Sets every element to `value`. Returns the tensor.");
  f.method(
      "zero_", "", [](const py::object& self) { return filled(self, 0); },
      "Sets every element to 0. Returns the tensor.");
  f.method("requires_grad_", "requires_grad=True", &with_requires_grad,
           "Makes the tensor a parameter, by which gradients are taken, or with False a constant "
           "again. Returns the tensor. Raises DomainError for a parameter whose dtype is not a "
           "float.");
  f.method(
      "backward", "gradient=None", [](const Tensor& x, const std::optional<Tensor>& g) { x.backward(g); },
      "Adds d(self)/dx to x.grad for each parameter x from which the tensor was computed. "
      "`gradient` is the gradient by the tensor. It defaults to 1 if the tensor has one "
      "element.",
      Gil::release);
  f.function("gradients", "y, xs, dy=None, allow_unused=False", &gradients_of,
             "Returns dy/dx for each x of `xs`. The results can be differentiated again. `dy` is the "
             "gradient by y and defaults to 1 if y has one element. Raises DomainError for an x "
             "without requires_grad, and for an x on which y does not depend; with allow_unused, the "
             "gradient by the latter is zeros.");
  f.function("with_gradient", "value, inputs, backward", &with_custom_gradient,
             "Returns a tensor with the elements of `value` and a custom gradient. `backward(dy)` "
             "returns one gradient for each of `inputs`, where dy is the gradient by the result. "
             "`backward` runs when gradients are taken and reads the current values of the tensors "
             "that it uses, including changes in place. Use x.detach(), made before, to keep the "
             "values of the time of the call.");
  py::module_& m = f.module();
  bind_no_grad(m);
  m.def("_value_and_gradients",
        [](const py::object& function, const py::object& argnums, const py::args& args, const py::kwargs& kwargs) {
          auto both = value_and_gradients(function, argnums, args, kwargs);
          return py::make_tuple(both.first, both.second);
        });
}

}  // namespace strata::python
