// The class Layout and the functions of strata.layout.
#include <variant>

#include "python/src/expr_casters.h"
#include "python/src/pictures.h"
#include "strata/layout/layout_algebra.h"
#include "strata/layout/layout_by_mode.h"
#include "strata/layout/layout_convert.h"
#include "strata/layout/swizzle.h"

namespace strata::python {

namespace {

// --- nested tuples ---

struct IntTree {
  Profile nodes;
  Ints values;
};

Int size_of_leaf(const py::handle& object) {
  py::detail::make_caster<Int> size;
  if (!size.load(object, false))
    throw py::type_error(
        detail::message("a size or stride must be an int or Expr, not ", py::repr(object).cast<std::string>()));
  return py::detail::cast_op<Int>(size);
}

IntTree tree_of_object(const py::object& object) {
  IntTree out;
  std::vector<py::object> left{object};
  while (!left.empty()) {
    const py::object at = std::move(left.back());
    left.pop_back();
    if (!py::isinstance<py::tuple>(at) && !py::isinstance<py::list>(at)) {
      out.nodes.push_back(kLeaf);
      out.values.push_back(size_of_leaf(at));
      continue;
    }
    const auto items = at.cast<py::tuple>();
    out.nodes.push_back(static_cast<std::int32_t>(items.size()));
    for (std::size_t k = items.size(); k > 0; --k) left.push_back(items[k - 1]);
  }
  return out;
}

py::object object_of_tree(const Profile& nodes, const Ints& values) {
  struct OpenTuple {
    py::list items;
    std::int32_t left;
  };
  std::vector<OpenTuple> open;
  std::size_t leaf = 0;
  for (const std::int32_t n : nodes) {
    if (n > 0) {
      open.push_back({py::list(), n});
      continue;
    }
    py::object done = n == kLeaf ? object_of_int(values[leaf++]) : py::object(py::tuple());
    for (;; open.pop_back()) {
      if (open.empty()) return done;
      open.back().items.append(done);
      if (--open.back().left > 0) break;
      done = py::tuple(open.back().items);
    }
  }
  throw InternalError("internal error: a profile that is not a tree");
}

Coordinate coordinate_of(const py::object& object) {
  const IntTree tree = tree_of_object(object);
  return Coordinate::create(tree.nodes, tree.values);
}

Ints leaf_sizes(const Layout& l) {
  Ints out;
  for (const auto& leaf : l.leaves()) out.push_back(leaf.size);
  return out;
}
Ints leaf_strides(const Layout& l) {
  Ints out;
  for (const auto& leaf : l.leaves()) out.push_back(leaf.stride);
  return out;
}

Ints compact_strides(const Ints& sizes) {
  Ints out;
  Int next = 1;
  for (const Int& size : sizes) {
    out.push_back(next);
    next *= size;
  }
  return out;
}

Layout layout_of(const AnyObject& shape, const std::optional<AnyObject>& stride) {
  if (py::isinstance<Layout>(shape.value) && !stride) return shape.value.cast<Layout>();
  if (py::isinstance<py::str>(shape.value) && !stride) return parse_layout(shape.value.cast<std::string>());
  const IntTree sizes = tree_of_object(shape.value);
  IntTree strides{sizes.nodes, {}};
  if (stride)
    strides = tree_of_object(stride->value);
  else
    strides.values = compact_strides(sizes.values);
  STRATA_CHECK(detail::without_singletons(sizes.nodes) == detail::without_singletons(strides.nodes), shape,
               "[layout] the strides and the sizes have different nesting");
  Layout::Leaves leaves;
  for (std::size_t k = 0; k < sizes.values.size(); ++k) leaves.push_back({sizes.values[k], strides.values[k]});
  return Layout::create(sizes.nodes, leaves);
}

}  // namespace

/// The layout of an argument: a Layout, an integer n, which means n:1, or a text.
struct LayoutArg {
  Layout value;
};

}  // namespace strata::python

namespace pybind11::detail {

template <>
struct type_caster<strata::python::LayoutArg> {
  PYBIND11_TYPE_CASTER(strata::python::LayoutArg, const_name("Layout | int | Expr | str"));
  bool load(handle source, bool) {
    if (isinstance<tuple>(source) || isinstance<list>(source)) return false;
    value.value = strata::python::layout_of({reinterpret_borrow<object>(source)}, std::nullopt);
    return true;
  }
};

}  // namespace pybind11::detail

namespace strata::python {

namespace {

using LayoutClass = py::class_<Layout>;
using TilerArg = std::variant<LayoutArg, std::vector<LayoutArg>>;

Tiler tiler_of(const std::vector<LayoutArg>& layouts) {
  Tiler out;
  for (const LayoutArg& l : layouts) out.push_back(l.value);
  return out;
}

// Binds a function as a method of Layout and as a function of strata.layout.
template <class F, class... Arguments>
void def_twice(LayoutClass& c, py::module_& m, const char* name, const F& f, const char* doc,
               const Arguments&... arguments) {
  c.def(name, f, arguments..., doc);
  m.def(name, f, py::arg("layout"), arguments..., doc);
}

template <class F>
auto by_layout_or_mode(const F& f) {
  return [f](const Layout& a, const TilerArg& b) {
    if (const auto* whole = std::get_if<LayoutArg>(&b)) return f(a, whole->value);
    return f(a, tiler_of(std::get<std::vector<LayoutArg>>(b)));
  };
}

void bind_layout_divisions(LayoutClass& c, py::module_& m) {
  def_twice(c, m, "composition", by_layout_or_mode([](const Layout& a, const auto& b) { return composition(a, b); }),
            "Composes the layout A with B = `other`: the layout R with R(c) == A(B(c)) for every "
            "coordinate c of B. R has the modes of B, or finer ones. A list of layouts is applied "
            "mode by mode.\n"
            "Raises UndefinedError with the reason if no layout is the composition.\n\n"
            ">>> Layout('(6,2):(8,2)').composition('(4,3):(3,1)')\n"
            "Layout('((2,2),3):((24,2),8)')",
            py::arg("other"));
  def_twice(c, m, "logical_divide",
            by_layout_or_mode([](const Layout& a, const auto& b) { return logical_divide(a, b); }),
            "Splits the layout into tiles. Mode 0 of the result runs over the elements of a tile, as "
            "selected by `tiler`; mode 1 runs over the tiles. A list of layouts is applied mode by "
            "mode.",
            py::arg("tiler"));
  def_twice(c, m, "zipped_divide",
            by_layout_or_mode([](const Layout& a, const auto& b) { return zipped_divide(a, b); }),
            "logical_divide() with the modes regrouped: all tile modes, then all rest modes, ((T0, "
            "T1, ...), (R0, R1, ...)).",
            py::arg("tiler"));
  def_twice(c, m, "tiled_divide", by_layout_or_mode([](const Layout& a, const auto& b) { return tiled_divide(a, b); }),
            "logical_divide() with the tile modes as one mode and each rest mode apart: ((T0, T1, "
            "...), R0, R1, ...).",
            py::arg("tiler"));
  def_twice(c, m, "flat_divide", by_layout_or_mode([](const Layout& a, const auto& b) { return flat_divide(a, b); }),
            "logical_divide() with each tile mode and each rest mode apart: (T0, T1, ..., R0, R1, "
            "...).",
            py::arg("tiler"));
}

using LayoutProduct = Layout (*)(const Layout&, const Layout&, std::uint64_t);

void bind_layout_products(LayoutClass& c, py::module_& m) {
  struct ProductRow {
    const char* name;
    LayoutProduct f;
    const char* doc;
  };
  const ProductRow rows[] = {
      {"logical_product", &logical_product<Int>,
       "Repeats this layout A in the pattern of `other`: the layout (A, P), where P runs over "
       "the copies."},
      {"zipped_product", &zipped_product<Int>, "The same layout (A, P) as logical_product()."},
      {"tiled_product", &tiled_product<Int>, "logical_product() with each mode of P apart: (A, P0, P1, ...)."},
      {"flat_product", &flat_product<Int>,
       "logical_product() with each mode of A and of P apart: (A0, A1, ..., P0, P1, ...)."},
      {"blocked_product", &blocked_product<Int>,
       "logical_product() with the modes paired: ((A0, P0), (A1, P1), ...). Copies of this "
       "layout are blocks side by side."},
      {"raked_product", &raked_product<Int>,
       "logical_product() with the modes paired: ((P0, A0), (P1, A1), ...). Copies of this "
       "layout are interleaved."},
  };
  for (const ProductRow& row : rows)
    def_twice(
        c, m, row.name, [f = row.f](const Layout& a, const LayoutArg& b) { return f(a, b.value, kMergeBudget); },
        row.doc, py::arg("other"));
}

void bind_layout_functions(LayoutClass& c, py::module_& m) {
  def_twice(
      c, m, "coalesce", [](const Layout& l) { return coalesce(l); },
      "The layout of the same function with the fewest leaves.\n\n"
      ">>> Layout((2, (1, 6)), (1, (6, 2))).coalesce()\n"
      "Layout('12:1')");
  def_twice(
      c, m, "flatten", [](const Layout& l) { return flatten(l); }, "The layout with all leaves as modes of one tuple.");
  def_twice(
      c, m, "complement", [](const Layout& l, const Int& n) { return complement(l, n); },
      "The layout R such that each integer from 0 to p * ceil(n / p) - 1 is self(i) + R(j) for "
      "exactly one j and one value self(i). The period p is the largest size * stride of a "
      "leaf. Raises UndefinedError for a negative stride, or if the leaves, sorted by stride, "
      "do not satisfy that size[k] * stride[k] divides stride[k + 1].\n\n"
      ">>> Layout(4, 2).complement(24)\n"
      "Layout('(2,3):(1,8)')",
      py::arg("n"));
  def_twice(
      c, m, "right_inverse", [](const Layout& l) { return right_inverse(l); },
      "The longest layout R with self(R(i)) == i for all i < R.size().");
  def_twice(
      c, m, "left_inverse", [](const Layout& l) { return left_inverse(l); },
      "The layout R with R(self(i)) == i for all i < self.size(). Raises UndefinedError if "
      "there is no such layout.");
  def_twice(
      c, m, "nullspace", [](const Layout& l) { return nullspace(l); },
      "The layout R of the leaves with stride 0: self(R(i)) == 0 for all i.");
  def_twice(
      c, m, "size", [](const Layout& l) { return l.size(); }, "The number of coordinates: the product of the sizes.");
  def_twice(
      c, m, "cosize", [](const Layout& l) { return l.cosize(); },
      "The number of elements that memory must span: largest value - smallest value + 1.");
  def_twice(
      c, m, "idx2crd",
      [](const Layout& l, const Int& index) {
        const Coordinate at = idx2crd(l, index);
        return AnyObject{object_of_tree(at.profile(), at.values())};
      },
      "The coordinate of an index, nested as the layout.\n\n"
      ">>> Layout((2, 4), (1, 2)).idx2crd(5)\n"
      "(1, 2)",
      py::arg("index"));
  def_twice(
      c, m, "crd2idx", [](const Layout& l, const AnyObject& at) { return l(coordinate_of(at.value)); },
      "The value at a coordinate. The coordinate is an integer or a nested tuple.", py::arg("coordinate"));
  def_twice(
      c, m, "table", [](const Layout& l) { return table(l); },
      "The values at the indices 0, 1, ..., size() - 1. Raises UndefinedError if a size or "
      "stride is an expression.");
}

void bind_layout_class(LayoutClass& c) {
  c.def(py::init(&layout_of), py::arg("shape"), py::arg("stride") = py::none(),
        "A layout of nested tuples of sizes and strides, or of a text. Without `stride` the "
        "layout is compact, with the first mode fastest.\n\n"
        ">>> Layout((2, 4), (4, 1))\n"
        "Layout('(2,4):(4,1)')\n"
        ">>> Layout('((2,4),8):((1,16),2)').size()\n"
        "64");
  c.def_static(
      "parse",
      [](const std::string& text, const std::vector<Variable>& variables) { return parse_layout(text, variables); },
      py::arg("text"), py::arg("variables") = std::vector<Variable>(),
      "Reads the text of a layout. Sizes and strides may be expressions over `variables`, e.g. "
      "'(n,4):(4,1)'. Raises ParseError with the column of the error.");
  c.def_property_readonly(
      "shape", [](const Layout& l) { return AnyObject{object_of_tree(l.profile(), leaf_sizes(l))}; },
      "The sizes: an int, an Expr or a nested tuple of them.");
  c.def_property_readonly(
      "stride", [](const Layout& l) { return AnyObject{object_of_tree(l.profile(), leaf_strides(l))}; },
      "The strides, nested as the shape.");
  c.def_property_readonly("rank", &Layout::rank, "The number of modes; 1 for a leaf.");
  c.def_property_readonly("depth", &Layout::depth, "The depth of the nesting; 0 for a leaf.");
  c.def("mode", &Layout::mode, py::arg("k"), "Mode k as a layout. Mode 0 of a leaf is the leaf itself.");
  c.def("__len__", &Layout::rank);
  c.def(
      "__getitem__",
      [](const Layout& l, std::int64_t k) {
        const auto rank = static_cast<std::int64_t>(l.rank());
        if (k < -rank || k >= rank) throw py::index_error(detail::message("[layout] there is no mode ", k));
        return l.mode(static_cast<std::size_t>(k < 0 ? k + rank : k));
      },
      py::arg("k"),
      "Mode k as a layout. A negative k counts from the end. Raises IndexError if k is out of "
      "range.");
  c.def(
      "__call__",
      [](const Layout& l, const py::args& coordinates) {
        return l(coordinate_of(coordinates.size() == 1 ? py::object(coordinates[0]) : py::object(coordinates)));
      },
      "The value at an index or at a coordinate. A coordinate has one argument for each mode, "
      "an integer or a nested tuple.");
}

void bind_layout_protocol(LayoutClass& c) {
  bind_pictures(c);
  c.def(
      "__eq__", [](const Layout& a, const Layout& b) { return a == b; }, py::arg("other"), py::is_operator(),
      "True iff both layouts have the same nesting, sizes and strides.");
  c.def("__ne__", [](const Layout& a, const Layout& b) { return !(a == b); }, py::arg("other"), py::is_operator());
  c.def("__hash__", [](const Layout& l) {
    return py::hash(
        py::make_tuple(object_of_tree(l.profile(), leaf_sizes(l)), object_of_tree(l.profile(), leaf_strides(l))));
  });
  c.def("render", [](const Layout& l) { return render(l); }, "The text of the layout, e.g. '((2,4),8):((1,16),2)'.");
  c.def("__str__", [](const Layout& l) { return render(l); });
  c.def("__repr__", [](const Layout& l) { return detail::message("Layout('", render(l), "')"); });
  c.def("__reduce__", [](const py::object& self) {
    return py::make_tuple(py::type::of<Layout>(), py::make_tuple(self.attr("shape"), self.attr("stride")));
  });
}

void bind_placed_layout(LayoutClass& c, py::module_& m) {
  py::class_<PlacedLayout>(m, "PlacedLayout",
                           "A shape, its valid box, an offset, and a layout for each dimension inside the box.")
      .def_readonly("modes", &PlacedLayout::modes, "The layouts, one for each dimension.")
      .def_readonly("offset", &PlacedLayout::offset, "The address of the first valid index, `begin`.")
      .def_readonly("shape", &PlacedLayout::shape, "The sizes, one for each dimension.")
      .def_readonly("begin", &PlacedLayout::begin, "The first valid index of each dimension.")
      .def("layout", &PlacedLayout::layout,
           "The modes as one layout over the coordinates inside the valid box, without the offset.")
      .def(
          "to_view", [](const PlacedLayout& l) { return to_view(l); },
          "The View with the same addresses; None if no single View has the same addresses.")
      .def(
          "to_shape_tracker", [](const PlacedLayout& l) { return to_shape_tracker(l); },
          "The ShapeTracker with the same addresses.");
  c.def(
      "to_view", [](const Layout& l, const Int& offset) { return to_view(l, offset); }, py::arg("offset") = Int(0),
      "The View with the same addresses and one dimension for each mode; None if a mode has no "
      "single stride. The addresses begin at `offset`.");
  c.def(
      "to_shape_tracker", [](const Layout& l, const Int& offset) { return to_shape_tracker(place(l, offset)); },
      py::arg("offset") = Int(0),
      "The ShapeTracker with the same addresses and one dimension for each mode. The addresses "
      "begin at `offset`.");
  m.def(
      "to_layout", [](const View& v) { return to_layout(v); }, py::arg("view"),
      "The layout of a View or ShapeTracker as a PlacedLayout; None if there is no such layout "
      "or none is found.");
  m.def(
      "to_layout", [](const ShapeTracker& st) { return to_layout(st); }, py::arg("view"),
      "The layout of a View or ShapeTracker as a PlacedLayout; None if there is no such layout "
      "or none is found.");
}

void bind_swizzle(py::module_& m) {
  py::class_<Swizzle>(m, "Swizzle",
                      "A function of addresses that flips some bits by an exclusive or with other bits, "
                      "against bank conflicts.")
      .def(py::init<std::int64_t, std::int64_t, std::int64_t>(), py::arg("bits"), py::arg("base"), py::arg("shift"),
           "The function i -> i ^ s, where s is the `bits` bits of i from bit base + max(shift, 0), "
           "moved down by `shift` (up if `shift` is negative). Raises DomainError if `bits` or "
           "`base` is negative, and UndefinedError if abs(shift) < bits.")
      .def("size", &Swizzle::size,
           "The size 2**(bits + base + |shift|). The swizzle permutes the integers from 0 to size() "
           "- 1.")
      .def("__call__", &Swizzle::operator(), py::arg("i"), "The swizzled address. Raises DomainError for i < 0.")
      .def(
          "table", [](const Swizzle& s) { return table(s); }, "The addresses of 0, 1, ..., size() - 1.")
      .def(
          "__eq__", [](const Swizzle& a, const Swizzle& b) { return a == b; }, py::arg("other"), py::is_operator())
      .def("__hash__", [](const Swizzle& s) { return s.size(); });
}

}  // namespace

void bind_layout(py::module_& m) {
  py::module_ functions = m.def_submodule("_layout", "The algebra of layouts.");
  LayoutClass layout(m, "Layout",
                     "A function from coordinates to integers, given by a hierarchy of sizes and strides as "
                     "in CuTe. Immutable.\n\n"
                     ">>> l = Layout(((2, 4), 8), ((1, 16), 2))\n"
                     ">>> l\n"
                     "Layout('((2,4),8):((1,16),2)')\n"
                     ">>> l(((1, 2), 3))\n"
                     "39");
  bind_layout_class(layout);
  bind_layout_protocol(layout);
  bind_layout_divisions(layout, functions);
  bind_layout_products(layout, functions);
  bind_layout_functions(layout, functions);
  bind_placed_layout(layout, functions);
  bind_swizzle(functions);
  functions.def(
      "make_layout", [](const std::vector<LayoutArg>& modes) { return make_layout(tiler_of(modes)); }, py::arg("modes"),
      "The layout with the given modes; a single mode is returned as it is.");
}

}  // namespace strata::python
