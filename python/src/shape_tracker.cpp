// The class ShapeTracker: a stack of Views.
#include "strata/view/shape_tracker.h"

#include "python/src/pictures.h"
#include "python/src/running.h"
#include "python/src/view_casters.h"
#include "strata/view/equal.h"

namespace strata::python {

namespace {

using TrackerClass = py::class_<ShapeTracker>;

void bind_tracker_parts(TrackerClass& c) {
  c.def_static("from_shape", &ShapeTracker::from_shape, py::arg("shape"),
               "One contiguous View.\n\n>>> ShapeTracker.from_shape((2, 3)).views[0].strides\n(3, 1)");
  c.def(py::init<std::vector<View>>(), py::arg("views"),
        "Of Views, memory first. Raises ShapeError where there is none.");
  c.def_property_readonly(
      "views",
      [](const ShapeTracker& st) {
        py::tuple out(st.views().size());
        for (std::size_t k = 0; k < st.views().size(); ++k) out[k] = st.views()[k];
        return out;
      },
      "The Views, memory first.");
  c.def_property_readonly("shape", &ShapeTracker::shape, "The shape of the last View.");
  c.def_property_readonly("rank", &ShapeTracker::rank, "The number of dimensions.");
  c.def("size", &ShapeTracker::size, "The number of indices.");
  c.def_property_readonly("contiguous", &ShapeTracker::contiguous, "Whether there is one View and it is contiguous.");
  c.def_property_readonly("consecutive", &ShapeTracker::consecutive,
                          "Whether there is one View without a mask, of row-major strides: a run "
                          "of memory, from any offset.");
}

void bind_tracker_movement(TrackerClass& c) {
  using Tracker = ShapeTracker;
  c.def(
      "permute", [](const Tracker& st, const Axes& order) { return st.permute(order); }, py::arg("order"),
      "Dimension k of the result is dimension order[k] of this.");
  c.def(
      "reshape", [](const Tracker& st, const Ints& shape) { return st.reshape(shape); }, py::arg("shape"),
      "The same elements in another shape. Appends a View where the last one alone cannot say it.");
  c.def(
      "expand", [](const Tracker& st, const Ints& shape) { return st.expand(shape); }, py::arg("shape"),
      "Repeats dimensions of size 1.");
  c.def(
      "pad", [](const Tracker& st, const Padding& padding) { return st.pad(padding); }, py::arg("padding"),
      "Adds invalid indices: (before, after) a dimension.");
  c.def(
      "shrink", [](const Tracker& st, const Padding& bounds) { return st.shrink(mask_of_pairs(bounds)); },
      py::arg("bounds"), "The indices from begin up to end, (begin, end) a dimension.");
  c.def(
      "flip", [](const Tracker& st, const Axes& axes) { return st.flip(axes); }, py::arg("axes"),
      "Backwards along these dimensions.");
  c.def(
      "stride", [](const Tracker& st, const Ints& steps) { return st.stride(steps); }, py::arg("steps"),
      "Every |step|-th index, one step a dimension; from the last one backwards where step < 0.");
}

void bind_tracker_merging(TrackerClass& c) {
  using Tracker = ShapeTracker;
  c.def(
      "__add__", [](const Tracker& a, const Tracker& b) { return a + b; }, py::arg("other"), py::is_operator(),
      "This stack seen through another: addresses of `other` are indices of this one.");
  c.def(
      "simplify",
      [](const Tracker& st) {
        const Unlocked unlocked;
        return st.simplify();
      },
      "The same function in the fewest Views: one iff there is one.");
  c.def("invert", &Tracker::invert, py::arg("out_shape"),
        "The stack that takes addresses back to row-major numbers of indices, or None.");
  c.def("why_not_merged", &Tracker::why_not_merged,
        "Why simplify() cannot make one View of this, in a sentence with a witness; '' where it "
        "can.");
}

void bind_tracker_exprs(TrackerClass& c) {
  c.def(
      "expr_idxs",
      [](const ShapeTracker& st, const IndexList& idxs) {
        return expr_pair_of(idxs ? st.expr_idxs(exprs_of(*idxs)) : st.expr_idxs());
      },
      py::arg("idxs") = py::none(),
      "Address and validity over `idxs`, or variables idx0, idx1, ...: (Expr, condition).\n\n"
      ">>> [e.render() for e in ShapeTracker.from_shape((2, 3)).expr_idxs()]\n['((idx0*3)+idx1)', "
      "'1']");
  c.def(
      "to_indexed_uops",
      [](const ShapeTracker& st, const IndexList& idxs) {
        return expr_pair_of(idxs ? st.to_indexed_uops(exprs_of(*idxs)) : st.to_indexed_uops());
      },
      py::arg("idxs") = py::none(), "As expr_idxs(), over ridx0, ridx1, ..., as expressions that print as trees.");
}

void bind_tracker_variables(TrackerClass& c) {
  c.def("vars", &ShapeTracker::vars, "The variables that it is written with, in natural order.");
  c.def_property_readonly(
      "var_vals", [](const ShapeTracker& st) { return dict_of_values(st.var_vals()); },
      "The values of the bound variables.");
  c.def(
      "unbind",
      [](const ShapeTracker& st) {
        const auto [plain, values] = st.unbind();
        return std::pair{plain, dict_of_values(values)};
      },
      "The stack with bound variables replaced by plain ones, and their values.");
  c.def(
      "substitute",
      [](const ShapeTracker& st, const py::dict& map) { return st.substitute(substitution_of_mapping(map)); },
      py::arg("map"), "Every expression with keys replaced by values.");
  c.def(
      "guarded_view",
      [](const ShapeTracker& st) -> std::optional<std::pair<ExprResult, View>> {
        const auto found = st.guarded_view();
        if (!found) return std::nullopt;
        return std::pair{ExprResult{found->condition}, found->view};
      },
      "(condition, View): a View that says the same wherever the condition on the sizes holds; "
      "None where none is known.");
}

using MaybeInts = SmallVec<std::optional<Int>, 6>;

MaybeInts real_strides_of(const ShapeTracker& st, bool ignore_valid) {
  MaybeInts out;
  for (std::optional<Int>& s : st.real_strides(ignore_valid)) out.push_back(std::move(s));
  return out;
}

void bind_tracker_questions(TrackerClass& c) {
  c.def("real_strides", &real_strides_of, py::arg("ignore_valid") = false,
        "How far the address moves along each dimension, wherever both indices are valid; None "
        "where that is no one number,\n"
        "or (unless ignore_valid) where validity depends on the dimension.");
  c.def("real_size", &ShapeTracker::real_size, "Elements that memory must have: 1 + the largest valid address.");
  c.def("unit_stride_axes", &ShapeTracker::unit_stride_axes, py::arg("ignore_valid") = false,
        "Dimensions whose real stride is 1.");
  c.def("axis_is_masked", &ShapeTracker::axis_is_masked, py::arg("axis"), "Whether validity depends on the dimension.");
  const auto release = py::call_guard<Unlocked>();
  c.def(
      "equal", [](const ShapeTracker& a, const ShapeTracker& b) { return equal(a, b); }, py::arg("other"), release,
      "Whether both have the same shape and the same index function, however they are written.");
  c.def(
      "is_injective", [](const ShapeTracker& st) { return is_injective(st); }, release,
      "Whether different valid indices have different addresses.");
  c.def(
      "is_contiguous", [](const ShapeTracker& st) { return is_contiguous(st); }, release,
      "Whether each index's address is its row-major number, and all are valid, however it is "
      "written.");
  c.def("fingerprint", &fingerprint, py::arg("seed") = 0, release,
        "A number that stacks of one meaning share. For sizes that are numbers.");
  c.def(
      "addresses", [](const ShapeTracker& st, std::int64_t most) { return addresses(st, most); },
      py::arg("most") = std::int64_t{1} << 24, release,
      "The addresses of all indices in row-major order, -1 for an invalid one.\n\n"
      ">>> ShapeTracker.from_shape((3, 2)).permute((1, 0)).addresses()\n[0, 2, 4, 1, 3, 5]");
}

void bind_stack_proof(py::module_& m) {
  py::class_<StackProof>(m, "StackProof", "The answer to a question about a stack of Views. True iff it is 'yes'.")
      .def_property_readonly(
          "answer", [](const StackProof& p) { return std::string(name_of_answer(p.answer)); },
          "'yes', 'no' or 'unknown'.")
      .def_readonly("witness", &StackProof::witness, "An index that 'no' rests on, or None.")
      .def("__bool__", [](const StackProof& p) { return p.answer == Answer::yes; })
      .def("__repr__", [](const StackProof& p) {
        return detail::message("StackProof('", name_of_answer(p.answer),
                               "', witness=", p.witness ? render(*p.witness) : std::string("None"), ")");
      });
}

}  // namespace

void bind_shape_tracker(py::module_& m) {
  bind_stack_proof(m);
  TrackerClass tracker(m, "ShapeTracker",
                       "A stack of Views, from memory to the user's indices. Frozen.\n\n"
                       "Movement rewrites the last View; reshape() appends one where the last "
                       "alone cannot say it; only simplify() merges.\n\n"
                       ">>> st = ShapeTracker.from_shape((3, 2)).permute((1, 0)).reshape((3, 2))\n"
                       ">>> len(st.views)\n2");
  bind_tracker_parts(tracker);
  bind_tracker_movement(tracker);
  bind_tracker_merging(tracker);
  bind_tracker_exprs(tracker);
  bind_tracker_variables(tracker);
  bind_tracker_questions(tracker);
  tracker.def(
      "__eq__", [](const ShapeTracker& a, const ShapeTracker& b) { return a == b; }, py::arg("other"),
      py::is_operator(), "Whether they are written the same; equal() compares meanings.");
  tracker.def(
      "__ne__", [](const ShapeTracker& a, const ShapeTracker& b) { return !(a == b); }, py::arg("other"),
      py::is_operator());
  bind_pictures(tracker);
  tracker.def("render", &ShapeTracker::render, "The text that repr() gives.");
  tracker.def("__repr__", &ShapeTracker::render);
  tracker.def("__hash__", &ShapeTracker::hash);
  tracker.def("__reduce__", [](const py::object& self) {
    return py::make_tuple(py::type::of<ShapeTracker>(), py::make_tuple(self.attr("views")));
  });
}

}  // namespace strata::python
