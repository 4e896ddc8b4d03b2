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
    "A View in canonical form. Without `strides`, they are row-major. `mask` has a half-open "
    "interval (begin, end) of valid indices for each dimension; None means that all indices are "
    "valid. Sizes, strides, offset and mask bounds are ints or expressions. Raises ShapeError "
    "for a negative size, for a number of strides or pairs other than the number of dimensions, "
    "and for a mask outside of the shape; IntOverflowError if an address does not fit in 64 "
    "bits.\n\n"
    ">>> View.create((2, 3))\n"
    "View(shape=(2, 3), strides=(3, 1), offset=0, mask=None, contiguous=True)";

void bind_view_parts(ViewClass& c) {
  c.def_static("create", &create_view, py::arg("shape"), py::arg("strides") = py::none(), py::arg("offset") = Int(0),
               py::arg("mask") = py::none(), kCreateDoc);
  c.def(py::init(&view_as_written), py::arg("shape"), py::arg("strides") = py::none(), py::arg("offset") = Int(0),
        py::arg("mask") = py::none(), py::arg("contiguous") = py::none(),
        "The same as View.create(), in the form that repr() writes. `contiguous` is only compared "
        "with the View: DomainError if it differs.");
  c.def_property_readonly("shape", &View::shape, "The shape: a tuple with the size of each dimension.");
  c.def_property_readonly("strides", &View::strides,
                          "A tuple with the stride of each dimension: the distance in memory, in elements, from one "
                          "index to the next.");
  c.def_property_readonly("offset", &View::offset, "The address of the index (0, ..., 0), in elements.");
  c.def_property_readonly(
      "mask", [](const View& v) { return pairs_of_mask(v.mask()); },
      "A tuple with the half-open interval (begin, end) of valid indices of each dimension, or "
      "None if all indices are valid.");
  c.def_property_readonly("contiguous", &View::contiguous,
                          "True if every index is valid and its address is its row-major number.");
  c.def_property_readonly("rank", &View::rank, "The number of dimensions.");
  c.def("size", &View::size, "The number of indices: the product of the sizes.");
}

void bind_view_movement(ViewClass& c) {
  c.def("permute", &View::permute, py::arg("order"),
        "Reorders the dimensions: dimension k of the result is dimension order[k] of this View. "
        "Raises ShapeError unless `order` has each dimension once.");
  c.def("reshape", &View::reshape, py::arg("shape"),
        "The same elements in the same row-major order in another shape, or None if no single View "
        "is that function. Raises ShapeError if the numbers of elements differ.\n\n"
        ">>> View.create((3, 2)).permute((1, 0)).reshape((3, 2)) is None\n"
        "True");
  c.def("expand", &View::expand, py::arg("shape"),
        "Repeats dimensions of size 1, e.g. (3, 1) becomes (3, 4). Raises ShapeError for a change of "
        "another size.");
  c.def("pad", &View::pad, py::arg("padding"),
        "Adds invalid indices around the valid ones. `padding` has a pair (before, after) for each "
        "dimension. Raises ShapeError for a negative number.");
  c.def(
      "shrink", [](const View& v, const Padding& bounds) { return v.shrink(mask_of_pairs(bounds)); }, py::arg("bounds"),
      "Keeps the indices in a box. `bounds` has a half-open interval (begin, end) for each "
      "dimension. Raises ShapeError unless 0 <= begin <= end <= size.");
  c.def("flip", &View::flip, py::arg("axes"), "Reverses the order of the indices of the dimensions `axes`.");
  c.def("stride", &View::stride, py::arg("steps"),
        "Keeps every |step|-th index of each dimension, for step < 0 from the last one backwards. "
        "`steps` has a step for each dimension. The size becomes ceil(size / |step|). Raises "
        "ShapeError for a step 0.");
  c.def("minify", &View::minify,
        "The same addresses in the same row-major order in fewer dimensions: dimensions of size 1 "
        "are dropped, and neighbours whose strides continue one another are joined, where the mask "
        "allows it.");
  c.def("invert", &View::invert, py::arg("out_shape"),
        "The inverse: a View of shape `out_shape`, the shape of the memory. It takes each address to "
        "the row-major number of its index, and is invalid at all other addresses. None if no single "
        "View is the inverse.");
  c.def("inverse", &View::inverse, py::arg("elements"),
        "The same as invert(), for a memory of `elements` elements. The shape of the result follows "
        "from the strides of this View. None if there is no such shape or no single View is the "
        "inverse.");
  c.def(
      "__add__", [](const View& lower, const View& upper) { return lower + upper; }, py::arg("upper"),
      py::is_operator(),
      "A stack of two Views, this one next to the memory, as one View of the shape of `upper`; "
      "None if no single View is that function.");
}

void bind_view_exprs(ViewClass& c) {
  c.def(
      "expr",
      [](const View& v, const std::vector<ExprArg>& idxs, const ExprArg& valid) {
        return expr_pair_of(v.expr(exprs_of(idxs), *valid));
      },
      py::arg("idxs"), py::arg("valid") = 1,
      "The pair (address, condition) of the index `idxs`, as expressions. The condition is that of "
      "the mask and `valid`. Raises ShapeError unless there is one index for each dimension.");
  c.def(
      "to_indexed_uops",
      [](const View& v, const IndexList& idxs, const std::optional<ExprArg>& valid) {
        if (!valid) return expr_pair_of(idxs ? v.to_indexed_uops(exprs_of(*idxs)) : v.to_indexed_uops());
        const IndexExprs e = v.expr(idxs ? exprs_of(*idxs) : index_variables(v.shape(), "ridx"), **valid);
        return expr_pair_of(IndexedUOps{{e.index, false}, {e.valid, true}});
      },
      py::arg("idxs") = py::none(), py::arg("valid") = py::none(),
      "The pair (address, condition) of the index `idxs`, by default of variables ridx0, ridx1, "
      "...: two expressions that print as trees of UOps.\n\n"
      ">>> idx, valid = View.create((2, 2), (2, 1)).to_indexed_uops()\n"
      ">>> idx.render(), valid.render()\n"
      "('((ridx0*2)+ridx1)', 'True')");
  c.def("vars", &View::vars, "The variables in sizes, strides, offset and mask, in natural order of their names.");
  c.def(
      "unbind",
      [](const View& v) {
        const auto [plain, values] = v.unbind();
        return std::pair{plain, dict_of_values(values)};
      },
      "The pair (View, values): this View with every bound variable replaced by the same variable "
      "without a value, and a dictionary of the values.");
  c.def(
      "substitute", [](const View& v, const py::dict& map) { return v.substitute(substitution_of_mapping(map)); },
      py::arg("map"),
      "The View with variables replaced in every expression; `map` is a dictionary from variables "
      "to their replacements.");
}

void bind_view_protocol(ViewClass& c) {
  c.def("render", &View::render, "The text of repr().");
  c.def("__repr__", &View::render);
  c.def("__hash__", &View::hash);
  c.def("__reduce__", [](const View& v) {
    return py::make_tuple(py::type::of<View>(),
                          py::make_tuple(v.shape(), v.strides(), v.offset(), pairs_of_mask(v.mask())));
  });
}

void bind_indexed_uop(py::module_& m) {
  py::class_<IndexedExpr, Expr>(m, "IndexedUOp",
                                "An expression, an index or a condition, that prints as a tree of UOps, in the "
                                "specification's notation.")
      .def_readonly("is_condition", &IndexedExpr::is_condition,
                    "True for a condition; its constants print as True and False.")
      .def(
          "render", [](const IndexedExpr& e) { return e.indexed().render(); }, "The expression as a line of text.")
      .def("tree", &uop_tree, "The tree of UOps, one node a line. print() shows this text.")
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
                 "A function from an index i to an address, offset + sum of strides[j]*i[j], and a validity: "
                 "the mask contains i. A View does not change.\n\n"
                 ">>> View.create((2, 2), (2, 1)).permute((1, 0)).strides\n"
                 "(1, 2)");
  bind_view_parts(view);
  bind_view_movement(view);
  bind_view_exprs(view);
  view.def(
      "__eq__", [](const View& a, const View& b) { return a == b; }, py::arg("other"), py::is_operator(),
      "True if shape, strides, offset and mask are equal. For Views of numbers: if the shapes and "
      "the functions are equal.");
  view.def("__ne__", [](const View& a, const View& b) { return !(a == b); }, py::arg("other"), py::is_operator());
  bind_view_protocol(view);
  bind_pictures(view);
  bind_shape_tracker(m);
}

}  // namespace strata::python
