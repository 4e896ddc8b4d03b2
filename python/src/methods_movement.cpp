// Binds methods of tensors that move elements, and that join and split tensors.
#include <algorithm>

#include "python/src/call.h"

namespace strata::python {

namespace {

using Tensors = std::vector<Tensor>;

Given given(const py::object& o, const char* function, const char* parameter) { return {o.ptr(), function, parameter}; }

Axes axes_in(const std::vector<std::int64_t>& axes) {
  Axes out;
  for (const std::int64_t a : axes) out.push_back(a);
  return out;
}

/// PyTorch's view(): of another shape, or bitcast to a dtype of the same size.
Tensor viewed(const Tensor& x, const py::object& shape) {
  if (py::isinstance<DType>(shape)) return x.bitcast(py::cast<DType>(shape));
  if (PyTuple_Check(shape.ptr()) && PyTuple_GET_SIZE(shape.ptr()) == 1 &&
      py::isinstance<DType>(py::handle(PyTuple_GET_ITEM(shape.ptr(), 0))))
    return x.bitcast(dtype_of_object(py::handle(PyTuple_GET_ITEM(shape.ptr(), 0))));
  return x.reshape(sizes_of(given(shape, "view", "shape")));
}

/// Swaps two axes, by default the last two. A list of another length is NumPy's: the order of all axes.
Tensor transposed(const Tensor& x, const std::vector<std::int64_t>& axes, const std::optional<std::int64_t>& a,
                  const std::optional<std::int64_t>& b) {
  if (a || b) return x.transpose(a.value_or(axes.empty() ? -2 : axes[0]), b.value_or(-1));
  if (axes.empty()) return x.transpose();
  return axes.size() == 2 ? x.transpose(axes[0], axes[1]) : x.permute(axes_in(axes));
}

Tensor squeezed(const Tensor& x, const std::optional<Axes>& axes) { return axes ? x.squeeze(*axes) : x.squeeze(); }

Tensor rolled(const Tensor& x, const Ints& shifts, const std::optional<Axes>& axes) {
  if (axes) return x.roll(std::span<const Int>(shifts), *axes);
  STRATA_CHECK(shifts.size() == 1, shape, "[roll] ", shifts.size(), " shifts need axes");
  return x.roll(shifts[0]);
}

/// repeat_interleave() by a count, or by a tensor with a count for each index of the axis, which is realized, because
/// the sum of the counts is a size of the result.
Tensor repeated_each(const Tensor& x, const py::object& repeats, const std::optional<std::int64_t>& axis) {
  const Tensor* const counts = tensor_in(repeats.ptr());
  if (counts == nullptr) return x.repeat_interleave(integer_of(given(repeats, "repeat_interleave", "repeats")), axis);
  if (counts->ndim() == 0 && counts->dtype().is_int())
    return x.repeat_interleave(running([&] { return counts->item<std::int64_t>(); }), axis);
  const Tensor values = axis ? x : x.flatten();
  const std::int64_t a = axis.value_or(0);
  STRATA_CHECK(counts->ndim() == 1 && counts->dtype().is_int() &&
                   (counts->size(0) == values.size(a) || counts->size(0) == Int(1)),
               shape, "[repeat_interleave] counts of ", counts->dtype().name(), " ", render(counts->shape()),
               " do not match axis ", a, " of shape ", render(values.shape()));
  const Tensor ends = counts->expand({values.size(a)}).cumsum(0);
  const std::int64_t total = ends.size(0) == Int(0) ? 0 : running([&] { return ends.max().item<std::int64_t>(); });
  return values.index_select(a, ends.searchsorted(Tensor::arange(total).to(x.device()), true));
}

py::object item_at(const py::object& sequence, Py_ssize_t k) {
  return py::reinterpret_steal<py::object>(PySequence_GetItem(sequence.ptr(), k));
}

/// Pairs (before, after) for each dimension: given as pairs, first dimension first; or as PyTorch's flat list, last
/// dimension first; or as one number.
Padding padding_of(const Tensor& x, const py::object& padding) {
  const auto is_number = [](const py::object& o) { return PyIndex_Check(o.ptr()) || py::isinstance<Expr>(o); };
  Padding out;
  for (std::int64_t a = 0; a < x.ndim(); ++a) out.push_back({Int(0), Int(0)});
  if (is_number(padding)) {
    for (auto& [before, after] : out) before = after = size_of(given(padding, "pad", "padding"));
    return out;
  }
  const Py_ssize_t size = PySequence_Size(padding.ptr());
  if (size < 0) throw py::error_already_set();
  if (size > 0 && !is_number(item_at(padding, 0))) {
    STRATA_CHECK(static_cast<std::int64_t>(size) == x.ndim(), shape, "[pad] ", static_cast<std::int64_t>(size),
                 " pairs do not match a tensor of ", x.ndim(), " dimensions");
    for (Py_ssize_t k = 0; k < size; ++k) {
      const py::object pair = item_at(padding, k);
      if (pair.is_none()) continue;
      const Ints both = sizes_of(given(pair, "pad", "padding"));
      STRATA_CHECK(both.size() == 2, shape, "[pad] ", both.size(),
                   " numbers are given; a pair (before, after) is expected");
      out[static_cast<std::size_t>(k)] = {both[0], both[1]};
    }
    return out;
  }
  const Ints flat = sizes_of(given(padding, "pad", "padding"));
  STRATA_CHECK(flat.size() % 2 == 0 && flat.size() <= 2 * out.size(), shape, "[pad] ", flat.size(),
               " numbers do not match a tensor of ", x.ndim(), " dimensions");
  for (std::size_t k = 0; k < flat.size() / 2; ++k) out[out.size() - 1 - k] = {flat[2 * k], flat[2 * k + 1]};
  return out;
}

Tensor padded(const Tensor& x, const py::object& padding, Tensor::PadMode mode, const Number& value) {
  return x.pad(padding_of(x, padding), mode, value);
}

/// shrink() by pairs (begin, end) for each dimension; None keeps the whole dimension.
Tensor shrunk(const Tensor& x, const py::object& bounds) {
  Mask out;
  if (!PyTuple_Check(bounds.ptr()) && !PyList_Check(bounds.ptr()))
    given(bounds, "shrink", "bounds").refuse("a sequence of pairs (begin, end)");
  const Py_ssize_t size = PySequence_Size(bounds.ptr());
  for (Py_ssize_t k = 0; k < size; ++k) {
    const py::object pair = item_at(bounds, k);
    if (pair.is_none()) {
      out.push_back({Int(0), x.size(static_cast<std::int64_t>(k))});
      continue;
    }
    const Ints both = sizes_of(given(pair, "shrink", "bounds"));
    STRATA_CHECK(both.size() == 2, shape, "[shrink] ", both.size(),
                 " numbers are given; a pair (begin, end) is expected");
    out.push_back({both[0], both[1]});
  }
  return x.shrink(out);
}

py::object sizes_of_tensor(const Tensor& x, const std::optional<std::int64_t>& axis) {
  if (axis) return object_of_int(x.size(*axis));
  return py::reinterpret_steal<py::object>(tuple_of_sizes(x.shape()));
}

Tensors split_in(const Tensor& x, const py::object& sizes, std::int64_t axis) {
  if (is_integer(sizes.ptr())) return x.split(integer_of(given(sizes, "split", "sizes")), axis);
  return x.split(sizes_of(given(sizes, "split", "sizes")), axis);
}
Tensors tensor_split_in(const Tensor& x, const py::object& where, std::int64_t axis) {
  if (is_integer(where.ptr())) return x.tensor_split(integer_of(given(where, "tensor_split", "indices")), axis);
  return x.tensor_split(integers_of(given(where, "tensor_split", "indices")), axis);
}

/// hsplit(), vsplit() and dsplit(): into a number of parts, or at indices.
Tensors split_at(const Tensor& x, const py::object& where, const char* name,
                 Tensors (Tensor::*into)(std::int64_t, At) const,
                 Tensors (Tensor::*before)(std::span<const std::int64_t>, At) const) {
  const Given indices = given(where, name, "indices_or_sections");
  if (is_integer(where.ptr())) return (x.*into)(integer_of(indices), At::current());
  return (x.*before)(integers_of(indices), At::current());
}

/// A joining function, e.g. vstack(), of several tensors or one sequence of them.
template <Tensor (*join)(std::span<const Tensor>, At)>
Tensor joined(std::span<const Tensor> tensors) {
  return join(tensors, At::current());
}

/// Adds an argument of a joining method: a tensor, or each tensor of a sequence.
void add_joined(Tensors& to, const Given& g) {
  const auto is_list = [](PyObject* o) { return PyTuple_Check(o) || PyList_Check(o); };
  if (try_number(g.object)) g.refuse("tensors (an axis is given by name: dim=1)");
  const auto is_tensor = [](const py::handle o) { return tensor_in(o.ptr()) != nullptr; };
  const py::handle object(g.object);
  if (is_list(g.object) && std::all_of(object.begin(), object.end(), is_tensor))
    for (const Tensor& t : tensors_of(g)) to.push_back(t);
  else
    to.push_back(tensor_of(g));
}

/// A joining method: a.cat(b, ...) joins the instance and the arguments; on the class, Tensor.cat([a, b], 1) joins all
/// tensors of a list.
template <Tensor (*join)(std::span<const Tensor>, std::int64_t, At)>
Tensor joined_to(const char* name, const FirstOrAll& first, const py::object& others, std::int64_t axis) {
  const Given all{first.object.ptr(), name, "tensors"};
  const py::tuple rest = rest_of(others);
  if (const Tensor* const x = tensor_in(all.object)) {
    Tensors tensors{*x};
    for (const py::handle item : rest) add_joined(tensors, all.with(item.ptr()));
    return join(tensors, axis, At::current());
  }
  if (rest.size() > 1) all.refuse("a tensor in front of others, or a list of all");
  const Tensors tensors = tensors_of(all);
  return join(tensors, rest.empty() ? axis : integer_of({rest[0].ptr(), name, "axis"}), At::current());
}
Tensor cat_to(const FirstOrAll& first, const py::object& others, std::int64_t axis) {
  return joined_to<&Tensor::cat>("cat", first, others, axis);
}
Tensor stack_on(const FirstOrAll& first, const py::object& others, std::int64_t axis) {
  return joined_to<&Tensor::stack>("stack", first, others, axis);
}

Tensors mesh(std::span<const Tensor> tensors, const std::string& indexing) {
  return Tensor::meshgrid(tensors, choice_of(given(py::str(indexing), "meshgrid", "indexing"), {"ij", "xy"}) == 0);
}

void bind_shapes(Functions& f) {
  f.op("view", "*shape", &viewed, "view(shape) is reshape(shape); view(dtype) is bitcast(dtype).");
  f.op("size", "axis=None", &sizes_of_tensor, "The shape as a tuple of sizes, or the size of one axis.");
  f.method("dim", "", &Tensor::ndim, "The number of dimensions.");
  f.op("transpose", "*axes=(), dim0|axis0=None, dim1|axis1=None", &transposed,
       "Swaps two axes, by default the last two. Three or more axes are the new order of all axes, "
       "as in NumPy.");
  f.op("squeeze", "axis=None", &squeezed,
       "Removes the axes of size 1: all, or those in `axis`. An axis of another size stays.");
}

void bind_moves(Functions& f) {
  f.op(
      "flip", "*axes=None",
      [](const Tensor& x, const std::optional<Axes>& axes) {
        return x.flip(axes ? *axes : AxesArg().of(x.ndim(), "flip"));
      },
      "Reverses the order of the elements along the axes, by default along all axes. Along no axis "
      "if `axes` is ().");
  f.op("shrink", "bounds|arg", &shrunk,
       "The elements in a box. `bounds` has a half-open pair (begin, end) for each dimension; None "
       "keeps the whole dimension. Raises ShapeError unless 0 <= begin <= end <= size.");
  f.op("repeat_interleave", "repeats|count, axis=None", &repeated_each,
       "Repeats each element `repeats` times, one after another, along `axis`; without `axis`, of "
       "the flattened tensor. `repeats` is a number, or a tensor of counts, one for each index of "
       "the axis; such a tensor is realized.");
  f.op("roll", "shifts|shift, axis=None", &rolled,
       "Shifts the elements along axes, by `shifts` places towards higher indices; elements that "
       "leave at one end enter at the other. Without `axis`, of the flattened tensor.");
  f.op(
      "rot90", "k|times=1, axes=()",
      [](const Tensor& x, std::int64_t k, const std::vector<std::int64_t>& axes) {
        return axes.size() == 2 ? x.rot90(k, axes[0], axes[1]) : x.rot90(k);
      },
      "Rotates by k quarter turns in the plane of two axes, by default the first two, from the "
      "first of them towards the second.");
  f.op("pad", "padding|pad|pad_width, mode='constant', value|constant_values=0.0", &padded,
       "Adds elements before and after each dimension. `padding` has a pair (before, after) for "
       "each dimension; or is PyTorch's flat list of numbers, which begins with the last dimension; "
       "or is one number for all ends. A negative number removes elements. mode='constant' adds "
       "`value`; 'reflect', 'replicate' and 'circular' continue the tensor.");
  f.method("unfold", "axis, size, step",
           static_cast<Tensor (Tensor::*)(std::int64_t, std::int64_t, std::int64_t, At) const>(&Tensor::unfold),
           "The windows of `size` elements along `axis`, every `step` elements. The axis counts the "
           "windows, and a new last axis has the elements of a window. Raises ShapeError if `size` is "
           "larger than the axis.");
  f.op(
      "slice_scatter", "source|src, axis=0, start=None, end=None, step=1",
      [](const Tensor& x, const Tensor& source, std::int64_t axis, const std::optional<std::int64_t>& start,
         const std::optional<std::int64_t>& end, std::int64_t step) {
        Slice slice{.step = step};
        if (start) slice.begin = *start;
        if (end) slice.end = *end;
        return x.slice_scatter(source, axis, slice);
      },
      "A copy of x with `source` in place of the slice start:end:step of `axis`.");
}

void bind_joins(Functions& f) {
  f.joining("cat", "tensors, axis=0", &Tensor::cat, "*tensors=(), axis=0", &cat_to,
            "Joins tensors along an existing axis: strata.cat([a, b], dim=1), a.cat(b, dim=1). Their "
            "other sizes are equal; their dtypes are promoted.");
  f.joining("stack", "tensors, axis=0", &Tensor::stack, "*tensors=(), axis=0", &stack_on,
            "Joins tensors of one shape along a new axis: strata.stack([a, b]), a.stack(b). Raises "
            "ShapeError if the shapes differ.");
  f.function("hstack", "tensors", &joined<&Tensor::hstack>,
             "Joins tensors along the second axis, vectors along the first.");
  f.function("vstack", "tensors", &joined<&Tensor::vstack>,
             "Joins tensors along the first axis. A vector counts as a matrix of one row.");
  f.function("dstack", "tensors", &joined<&Tensor::dstack>,
             "Joins tensors along the third axis, after each is given at least three dimensions, as by "
             "atleast_3d().");
  f.function("column_stack", "tensors", &joined<&Tensor::column_stack>,
             "Joins tensors along the second axis. A vector counts as a matrix of one column.");
  f.function("block_diag", "*tensors", &joined<&Tensor::block_diag>,
             "A matrix with the given matrices as blocks along its diagonal, and zeros elsewhere.");
  f.function("cartesian_prod", "*tensors", &joined<&Tensor::cartesian_prod>,
             "The Cartesian product of vectors: a matrix whose rows are all combinations of one element "
             "of each vector, in order.");
  f.function(
      "broadcast_tensors", "*tensors", [](std::span<const Tensor> t) { return Tensor::broadcast_tensors(t); },
      "The tensors, each expanded to the shape to which all broadcast.");
  f.function("meshgrid", "*tensors, indexing='ij'", &mesh,
             "Coordinate grids of n vectors: n tensors of n dimensions, the k-th with the elements of the "
             "k-th vector along axis k. indexing='xy' swaps the first two axes of each.");
  f.op("split", "split_size_or_sections|split_size|sizes|indices_or_sections, axis=0", &split_in,
       "Splits an axis into parts. A number is the size of each part; the last part may be smaller. "
       "A list has the size of each part. Raises ShapeError if the sizes do not add up to the size "
       "of the axis.");
  f.op("tensor_split", "indices_or_sections|indices|sections, axis=0", &tensor_split_in,
       "Splits an axis. A number n gives n parts whose sizes differ by at most 1, the larger ones "
       "first. A list of indices gives the parts between the indices.");
  f.op(
      "hsplit", "indices_or_sections",
      [](const Tensor& x, const py::object& where) {
        return split_at(x, where, "hsplit", &Tensor::hsplit, &Tensor::hsplit);
      },
      "Splits the second axis, of a vector the first: into a number of equal parts, or at a list "
      "of indices. Raises ShapeError if the number does not divide the size of the axis.");
  f.op(
      "vsplit", "indices_or_sections",
      [](const Tensor& x, const py::object& where) {
        return split_at(x, where, "vsplit", &Tensor::vsplit, &Tensor::vsplit);
      },
      "Splits the first axis: into a number of equal parts, or at a list of indices. Raises "
      "ShapeError below two dimensions, or if the number does not divide the size of the axis.");
  f.op(
      "dsplit", "indices_or_sections",
      [](const Tensor& x, const py::object& where) {
        return split_at(x, where, "dsplit", &Tensor::dsplit, &Tensor::dsplit);
      },
      "Splits the third axis: into a number of equal parts, or at a list of indices. Raises "
      "ShapeError below three dimensions, or if the number does not divide the size of the axis.");
}

}  // namespace

void bind_movement(Functions& f) {
  bind_shapes(f);
  bind_moves(f);
  bind_joins(f);
}

}  // namespace strata::python
