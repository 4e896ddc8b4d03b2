// The class View: shape, strides, offset and mask, and the movement ops.
#include "strata/view/view.h"

#include "python/src/pictures.h"
#include "python/src/view_casters.h"

namespace strata::python {

namespace {

using ViewClass = py::class_<View>;

// --- trees of UOps, as the specification prints them ---

// A line of Expr::tree() in the notation of the specification: `Expr(Op.RANGE, arg=ridx0, src=(` becomes
// `UOp(Ops.RANGE, dtypes.int, arg=0, src=(`. A node without sources gets `src=()`.
std::string uop_line(std::string_view line) {
  constexpr std::string_view kBegin = "Expr(Op.", kArg = ", arg=";
  const std::size_t begin = line.find(kBegin);
  if (begin == std::string_view::npos) return std::string(line);
  const std::string_view rest = line.substr(begin + kBegin.size());
  const std::size_t end = rest.find_first_of(",)");
  const std::string_view op = rest.substr(0, end);
  std::string_view tail = rest.substr(end), arg = "None";
  if (tail.starts_with(kArg)) {
    tail.remove_prefix(kArg.size());
    const std::size_t stop = tail.find_first_of(",)");
    arg = tail.substr(0, stop);
    tail.remove_prefix(stop);
  }
  if (op == "RANGE" && arg.starts_with("ridx")) arg.remove_prefix(4);
  const bool is_bool = op.starts_with("CMP") || op == "AND" || op == "OR";
  return detail::message(line.substr(0, begin), "UOp(Ops.", op, is_bool ? ", dtypes.bool" : ", dtypes.int", kArg, arg,
                         tail.starts_with(")") ? ", src=()" : "", tail);
}

std::string uop_tree(const IndexedExpr& e) {
  if (e.is_condition && e.is_constant())
    return detail::message("UOp(Ops.CONST, dtypes.bool, arg=", e.indexed().render(), ", src=())");
  const std::string tree = e.indexed().tree();
  std::string out;
  for (std::size_t at = 0; at <= tree.size();) {
    const std::size_t end = std::min(tree.find('\n', at), tree.size());
    out += uop_line(std::string_view(tree).substr(at, end - at));
    if (end < tree.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

View create_view(const Ints& shape, const std::optional<Ints>& strides, const Int& offset,
                 const std::optional<Padding>& mask) {
  return View::create(shape, strides, offset, mask_of_pairs(mask));
}

// The View of a constructor call as repr() writes it: `contiguous` is only compared with the View.
View view_as_written(const Ints& shape, const std::optional<Ints>& strides, const Int& offset,
                     const std::optional<Padding>& mask, std::optional<bool> contiguous) {
  View out = create_view(shape, strides, offset, mask);
  STRATA_CHECK(!contiguous || *contiguous == out.contiguous(), domain, "[View] ", out.render(), " is ",
               out.contiguous() ? "" : "not ", "contiguous");
  return out;
}

constexpr const char* kCreateDoc =
    "A view in its canonical form: row-major strides where none are given; `mask` is a half-open "
    "(begin, end) a dimension.\n"
    "Sizes, strides, offset and mask ends are ints or expressions. Raises ShapeError for a "
    "negative size, another number of\n"
    "strides or pairs than dimensions, or a mask outside of the shape; OverflowError where "
    "addresses leave 64 bits.\n\n"
    ">>> View.create((2, 3))\nView(shape=(2, 3), strides=(3, 1), offset=0, mask=None, "
    "contiguous=True)";

void bind_view_parts(ViewClass& c) {
  c.def_static("create", &create_view, py::arg("shape"), py::arg("strides") = py::none(), py::arg("offset") = Int(0),
               py::arg("mask") = py::none(), kCreateDoc);
  c.def(py::init(&view_as_written), py::arg("shape"), py::arg("strides") = py::none(), py::arg("offset") = Int(0),
        py::arg("mask") = py::none(), py::arg("contiguous") = py::none(),
        "As View.create: what repr() writes. Raises DomainError where `contiguous` is not so.");
  c.def_property_readonly("shape", &View::shape, "One size a dimension.");
  c.def_property_readonly("strides", &View::strides, "Elements of memory from one index to the next, one a dimension.");
  c.def_property_readonly("offset", &View::offset, "The address of index 0.");
  c.def_property_readonly(
      "mask", [](const View& v) { return pairs_of_mask(v.mask()); },
      "A half-open (begin, end) of valid indices a dimension, or None where all are valid.");
  c.def_property_readonly("contiguous", &View::contiguous,
                          "Whether each index's address is its row-major number, and all are valid.");
  c.def_property_readonly("rank", &View::rank, "The number of dimensions.");
  c.def("size", &View::size, "The number of indices: the product of the shape.");
}

void bind_view_movement(ViewClass& c) {
  c.def("permute", &View::permute, py::arg("order"), "Dimension k of the result is dimension order[k] of this.");
  c.def("reshape", &View::reshape, py::arg("shape"),
        "The same elements in row-major order in another shape; None where no single View says "
        "that.\n\n"
        ">>> View.create((3, 2)).permute((1, 0)).reshape((3, 2)) is None\nTrue");
  c.def("expand", &View::expand, py::arg("shape"), "Repeats dimensions of size 1.");
  c.def("pad", &View::pad, py::arg("padding"), "Adds invalid indices: (before, after) a dimension.");
  c.def(
      "shrink", [](const View& v, const Padding& bounds) { return v.shrink(mask_of_pairs(bounds)); }, py::arg("bounds"),
      "The indices from begin up to end, (begin, end) a dimension.");
  c.def("flip", &View::flip, py::arg("axes"), "Backwards along these dimensions.");
  c.def("stride", &View::stride, py::arg("steps"),
        "Every |step|-th index, one step a dimension; from the last one backwards where step < 0.");
  c.def("minify", &View::minify,
        "Without dimensions of size 1, and with dimensions joined whose strides continue one "
        "another.");
  c.def("invert", &View::invert, py::arg("out_shape"),
        "The View of shape `out_shape` (that of memory) that takes addresses back to row-major "
        "numbers of indices; None where\n"
        "no View does.");
  c.def("inverse", &View::inverse, py::arg("elements"),
        "As invert(), for a memory of so many elements in the shape of this View's own steps.");
  c.def(
      "__add__", [](const View& lower, const View& upper) { return lower + upper; }, py::arg("upper"),
      py::is_operator(), "Two Views of a stack, memory first, as one; None where no single View says it.");
}

void bind_view_exprs(ViewClass& c) {
  c.def(
      "expr",
      [](const View& v, const std::vector<ExprArg>& idxs, const ExprArg& valid) {
        return expr_pair_of(v.expr(exprs_of(idxs), *valid));
      },
      py::arg("idxs"), py::arg("valid") = 1,
      "Address and validity of an index: (Expr, condition). `valid` holds already.");
  c.def(
      "to_indexed_uops",
      [](const View& v, const IndexList& idxs, const std::optional<ExprArg>& valid) {
        if (!valid) return expr_pair_of(idxs ? v.to_indexed_uops(exprs_of(*idxs)) : v.to_indexed_uops());
        const IndexExprs e = v.expr(idxs ? exprs_of(*idxs) : index_variables(v.shape(), "ridx"), **valid);
        return expr_pair_of(IndexedUOps{{e.index, false}, {e.valid, true}});
      },
      py::arg("idxs") = py::none(), py::arg("valid") = py::none(),
      "Address and validity over `idxs`, or variables ridx0, ridx1, ...: two expressions that "
      "print as trees.\n\n"
      ">>> idx, valid = View.create((2, 2), (2, 1)).to_indexed_uops()\n"
      ">>> idx.render(), valid.render()\n('((ridx0*2)+ridx1)', 'True')");
  c.def("vars", &View::vars, "The variables that it is written with, in natural order.");
  c.def(
      "unbind",
      [](const View& v) {
        const auto [plain, values] = v.unbind();
        return std::pair{plain, dict_of_values(values)};
      },
      "The View with bound variables replaced by plain ones, and their values.");
  c.def(
      "substitute", [](const View& v, const py::dict& map) { return v.substitute(substitution_of_mapping(map)); },
      py::arg("map"), "Every expression with keys replaced by values.");
}

void bind_view_protocol(ViewClass& c) {
  c.def("render", &View::render, "The text that repr() gives.");
  c.def("__repr__", &View::render);
  c.def("__hash__", &View::hash);
  c.def("__reduce__", [](const View& v) {
    return py::make_tuple(py::type::of<View>(),
                          py::make_tuple(v.shape(), v.strides(), v.offset(), pairs_of_mask(v.mask())));
  });
}

void bind_indexed_uop(py::module_& m) {
  py::class_<IndexedExpr, Expr>(m, "IndexedUOp",
                                "An index or a condition that prints as the specification's UOps do: as a tree.")
      .def_readonly("is_condition", &IndexedExpr::is_condition, "Whether constants print as True and False.")
      .def(
          "render", [](const IndexedExpr& e) { return e.indexed().render(); }, "The text.")
      .def("tree", &uop_tree, "The tree of UOps, one node a line; what print() shows.")
      .def(py::pickle(
          [](const IndexedExpr& e) { return py::make_tuple(state_of_expr(e), e.is_condition); },
          [](const py::tuple& state) { return IndexedExpr({expr_of_state(state[0]), state[1].cast<bool>()}); }))
      .def("__str__", &uop_tree)
      .def("__repr__", &uop_tree);
}

}  // namespace

void bind_view(py::module_& m) {
  bind_indexed_uop(m);
  ViewClass view(m, "View",
                 "A map from indices to addresses: offset + sum of strides[j]*i[j], valid where "
                 "the mask holds i. Frozen.\n\n"
                 ">>> View.create((2, 2), (2, 1)).permute((1, 0)).strides\n(1, 2)");
  bind_view_parts(view);
  bind_view_movement(view);
  bind_view_exprs(view);
  view.def(
      "__eq__", [](const View& a, const View& b) { return a == b; }, py::arg("other"), py::is_operator(),
      "Whether they are written the same; for numbers: whether they are the same function.");
  view.def("__ne__", [](const View& a, const View& b) { return !(a == b); }, py::arg("other"), py::is_operator());
  bind_view_protocol(view);
  bind_pictures(view);
  bind_shape_tracker(m);
}

}  // namespace strata::python
