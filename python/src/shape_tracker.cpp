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
               "A stack of one contiguous View of that shape.\n\n"
               ">>> ShapeTracker.from_shape((2, 3)).views[0].strides\n"
               "(3, 1)");
  c.def(py::init<std::vector<View>>(), py::arg("views"),
        "A stack of the given Views, the one next to the memory first. Raises ShapeError for an "
        "empty list.");
  c.def_property_readonly(
      "views",
      [](const ShapeTracker& st) {
        py::tuple out(st.views().size());
        for (std::size_t k = 0; k < st.views().size(); ++k) out[k] = st.views()[k];
        return out;
      },
      "A tuple of the Views, the one next to the memory first.");
  c.def_property_readonly("shape", &ShapeTracker::shape, "The shape of the last View.");
  c.def_property_readonly("rank", &ShapeTracker::rank, "The number of dimensions.");
  c.def("size", &ShapeTracker::size, "The number of indices: the product of the sizes.");
  c.def_property_readonly("contiguous", &ShapeTracker::contiguous, "True if the stack is one contiguous View.");
  c.def_property_readonly("consecutive", &ShapeTracker::consecutive,
                          "True if the stack is one View with row-major strides and no mask: consecutive elements of "
                          "memory, from any offset on.");
}

void bind_tracker_movement(TrackerClass& c) {
  using Tracker = ShapeTracker;
  c.def(
      "permute", [](const Tracker& st, const Axes& order) { return st.permute(order); }, py::arg("order"),
      "Reorders the dimensions: dimension k of the result is dimension order[k] of this stack. "
      "Raises ShapeError unless `order` has each dimension once.");
  c.def(
      "reshape", [](const Tracker& st, const Ints& shape) { return st.reshape(shape); }, py::arg("shape"),
      "The same elements in the same row-major order in another shape. Appends a View if the last "
      "View alone has no such shape. Raises ShapeError if the numbers of elements differ.");
  c.def(
      "expand", [](const Tracker& st, const Ints& shape) { return st.expand(shape); }, py::arg("shape"),
      "Repeats dimensions of size 1, e.g. (3, 1) becomes (3, 4). Raises ShapeError for a change of "
      "another size.");
  c.def(
      "pad", [](const Tracker& st, const Padding& padding) { return st.pad(padding); }, py::arg("padding"),
      "Adds invalid indices around the valid ones. `padding` has a pair (before, after) for each "
      "dimension. Raises ShapeError for a negative number.");
  c.def(
      "shrink", [](const Tracker& st, const Padding& bounds) { return st.shrink(mask_of_pairs(bounds)); },
      py::arg("bounds"),
      "Keeps the indices in a box. `bounds` has a half-open interval (begin, end) for each "
      "dimension. Raises ShapeError unless 0 <= begin <= end <= size.");
  c.def(
      "flip", [](const Tracker& st, const Axes& axes) { return st.flip(axes); }, py::arg("axes"),
      "Reverses the order of the indices of the dimensions `axes`.");
  c.def(
      "stride", [](const Tracker& st, const Ints& steps) { return st.stride(steps); }, py::arg("steps"),
      "Keeps every |step|-th index of each dimension, for step < 0 from the last one backwards. "
      "`steps` has a step for each dimension. The size becomes ceil(size / |step|). Raises "
      "ShapeError for a step 0.");
}

void bind_tracker_merging(TrackerClass& c) {
  using Tracker = ShapeTracker;
  c.def(
      "__add__", [](const Tracker& a, const Tracker& b) { return a + b; }, py::arg("other"), py::is_operator(),
      "The Views of this stack, then those of `other`: the addresses of `other` are row-major "
      "numbers of indices of this stack. Raises ShapeError if an address of `other` can be outside "
      "of this stack.");
  c.def(
      "simplify",
      [](const Tracker& st) {
        const Unlocked unlocked;
        return st.simplify();
      },
      "The same function in the fewest Views that exact merges of neighbouring Views reach: one "
      "View, whenever one View is the function. Views stay apart if symbolic sizes or the work "
      "budget leave a merge undecided.");
  c.def("invert", &Tracker::invert, py::arg("out_shape"),
        "The inverse: a stack of shape `out_shape`, the shape of the memory. It takes each address "
        "to the row-major number of its index, and is invalid at all other addresses. None unless "
        "each View has an inverse that is one View.");
  c.def("why_not_merged", &Tracker::why_not_merged,
        "A sentence that says why simplify() cannot make one View of this stack, with a witness. "
        "Empty if simplify() can.");
}

void bind_tracker_exprs(TrackerClass& c) {
  c.def(
      "expr_idxs",
      [](const ShapeTracker& st, const IndexList& idxs) {
        return expr_pair_of(idxs ? st.expr_idxs(exprs_of(*idxs)) : st.expr_idxs());
      },
      py::arg("idxs") = py::none(),
      "The pair (address, condition) of the index `idxs`, by default of variables idx0, idx1, ..., "
      "as expressions.\n\n"
      ">>> [e.render() for e in ShapeTracker.from_shape((2, 3)).expr_idxs()]\n"
      "['((idx0*3)+idx1)', '1']");
  c.def(
      "to_indexed_uops",
      [](const ShapeTracker& st, const IndexList& idxs) {
        return expr_pair_of(idxs ? st.to_indexed_uops(exprs_of(*idxs)) : st.to_indexed_uops());
      },
      py::arg("idxs") = py::none(),
      "The same as expr_idxs(), by default over variables ridx0, ridx1, ..., as expressions that "
      "print as trees of UOps.");
}

void bind_tracker_variables(TrackerClass& c) {
  c.def("vars", &ShapeTracker::vars, "The variables in all Views, in natural order of their names.");
  c.def_property_readonly(
      "var_vals", [](const ShapeTracker& st) { return dict_of_values(st.var_vals()); },
      "A dictionary of the values of the bound variables.");
  c.def(
      "unbind",
      [](const ShapeTracker& st) {
        const auto [plain, values] = st.unbind();
        return std::pair{plain, dict_of_values(values)};
      },
      "The pair (stack, values): this stack with every bound variable replaced by the same "
      "variable without a value, and a dictionary of the values.");
  c.def(
      "substitute",
      [](const ShapeTracker& st, const py::dict& map) { return st.substitute(substitution_of_mapping(map)); },
      py::arg("map"),
      "The stack with variables replaced in every expression; `map` is a dictionary from variables "
      "to their replacements.");
  c.def(
      "guarded_view",
      [](const ShapeTracker& st) -> std::optional<std::pair<ExprResult, View>> {
        const auto found = st.guarded_view();
        if (!found) return std::nullopt;
        return std::pair{ExprResult{found->condition}, found->view};
      },
      "The pair (condition, View): the View equals the stack wherever the condition on the "
      "symbolic sizes holds. None if no such View is known.");
}

using MaybeInts = SmallVec<std::optional<Int>, 6>;

MaybeInts real_strides_of(const ShapeTracker& st, bool ignore_valid) {
  MaybeInts out;
  for (std::optional<Int>& s : st.real_strides(ignore_valid)) out.push_back(std::move(s));
  return out;
}

void bind_tracker_questions(TrackerClass& c) {
  c.def("real_strides", &real_strides_of, py::arg("ignore_valid") = false,
        "A tuple with the step of the address along each dimension, between neighbouring valid "
        "indices; 0 if there are none. None for a dimension whose step is not one number or not "
        "known, and (unless `ignore_valid`) for a dimension that the validity depends on.");
  c.def("real_size", &ShapeTracker::real_size,
        "The number of elements that the memory must have: 1 + the largest address of a valid index, "
        "or 0 if no index is valid.");
  c.def("unit_stride_axes", &ShapeTracker::unit_stride_axes, py::arg("ignore_valid") = false,
        "The dimensions whose step, as real_strides() gives it, is 1.");
  c.def("axis_is_masked", &ShapeTracker::axis_is_masked, py::arg("axis"),
        "True if the validity depends on the dimension `axis`: a valid and an invalid index differ "
        "in this dimension alone.");
  const auto release = py::call_guard<Unlocked>();
  c.def(
      "equal", [](const ShapeTracker& a, const ShapeTracker& b) { return equal(a, b); }, py::arg("other"), release,
      "Proves or refutes that both stacks have the same shape and the same function, however they "
      "are written. The witness of a 'no' is an index at which address or validity differ.");
  c.def(
      "is_injective", [](const ShapeTracker& st) { return is_injective(st); }, release,
      "Proves or refutes that different valid indices have different addresses. The witness of a "
      "'no' is one of two indices that share an address.");
  c.def(
      "is_contiguous", [](const ShapeTracker& st) { return is_contiguous(st); }, release,
      "Proves or refutes that every index is valid and its address is its row-major number, "
      "however the stack is written. The witness of a 'no' is an index for which this is false.");
  c.def("fingerprint", &fingerprint, py::arg("seed") = 0, release,
        "A hash of the function: equal functions have equal fingerprints, however they are written. "
        "Raises UndefinedError for symbolic sizes.");
  c.def(
      "addresses", [](const ShapeTracker& st, std::int64_t most) { return addresses(st, most); },
      py::arg("most") = std::int64_t{1} << 24, release,
      "A list of the addresses of all indices in row-major order, with -1 for an invalid index. "
      "Raises BudgetError above `most` indices.\n\n"
      ">>> ShapeTracker.from_shape((3, 2)).permute((1, 0)).addresses()\n"
      "[0, 2, 4, 1, 3, 5]");
}

void bind_stack_proof(py::module_& m) {
  py::class_<StackProof>(m, "StackProof",
                         "The answer to a question about a stack of Views: 'yes', 'no' or 'unknown'. As a bool it is "
                         "True only for 'yes'.")
      .def_property_readonly(
          "answer", [](const StackProof& p) { return std::string(name_of_answer(p.answer)); },
          "'yes', 'no' or 'unknown'.")
      .def_readonly("witness", &StackProof::witness, "An index that shows a 'no', or None.")
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
                       "A stack of Views, from memory to the user's indices. A stack does not change.\n\n"
                       "A movement operation rewrites the last View. reshape() appends a View if no single View is "
                       "the result. Only simplify() merges Views.\n\n"
                       ">>> st = ShapeTracker.from_shape((3, 2)).permute((1, 0)).reshape((3, 2))\n"
                       ">>> len(st.views)\n"
                       "2");
  bind_tracker_parts(tracker);
  bind_tracker_movement(tracker);
  bind_tracker_merging(tracker);
  bind_tracker_exprs(tracker);
  bind_tracker_variables(tracker);
  bind_tracker_questions(tracker);
  tracker.def(
      "__eq__", [](const ShapeTracker& a, const ShapeTracker& b) { return a == b; }, py::arg("other"),
      py::is_operator(), "True if all Views are equal; equal() compares the functions.");
  tracker.def(
      "__ne__", [](const ShapeTracker& a, const ShapeTracker& b) { return !(a == b); }, py::arg("other"),
      py::is_operator());
  bind_pictures(tracker);
  tracker.def("render", &ShapeTracker::render, "The text of repr().");
  tracker.def("__repr__", &ShapeTracker::render);
  tracker.def("__hash__", &ShapeTracker::hash);
  tracker.def("__reduce__", [](const py::object& self) {
    return py::make_tuple(py::type::of<ShapeTracker>(), py::make_tuple(self.attr("views")));
  });
}

}  // namespace strata::python
