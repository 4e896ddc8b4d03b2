// Binds methods of tensors for products, and for access by tensors of indices.
#include "python/src/call.h"
#include "python/src/given_index.h"
#include "python/src/subscripts.h"
#include "strata/ops/at_hand.h"

namespace strata::python {

namespace {

Tensor tensordot_over(const Tensor& x, const Tensor& other, const py::object& axes) {
  if (is_integer(axes.ptr()) || PyBool_Check(axes.ptr()))
    return x.tensordot(other, integer_of({axes.ptr(), "tensordot", "axes"}));
  if (tensor_in(axes.ptr()) != nullptr || PySequence_Size(axes.ptr()) != 2)
    throw py::type_error("tensordot(): axes must be a number of axes, or two sequences of axes");
  Axes both[2];
  for (Py_ssize_t k = 0; k < 2; ++k) {
    const py::object side = py::reinterpret_steal<py::object>(PySequence_GetItem(axes.ptr(), k));
    for (const std::int64_t a : integers_of({side.ptr(), "tensordot", "axes"})) both[k].push_back(a);
  }
  return x.tensordot(other, both[0], both[1]);
}

Tensor crossed(const Tensor& x, const Tensor& other, const std::optional<std::int64_t>& axis) {
  if (axis) return x.cross(other, *axis);
  for (std::int64_t k = 0; k < x.ndim(); ++k)
    if (x.size(k) == Int(3)) return x.cross(other, k);
  return x.cross(other);
}

/// The method x.einsum(formula, ...), and on the class einsum(formula, x, ...).
Tensor einsum_of(const FirstOrFormula& first, const py::object& more) {
  const Tensor* const x = tensor_in(first.object.ptr());
  const py::tuple all = rest_of(more);
  if (x == nullptr)
    return Tensor::einsum(text_of({first.object.ptr(), "einsum", "formula"}),
                          tensors_of({all.ptr(), "einsum", "operands"}));
  if (all.empty()) throw py::type_error("einsum(): a formula must follow the tensor");
  const std::string formula = text_of({PyTuple_GET_ITEM(all.ptr(), 0), "einsum", "formula"});
  std::vector<Tensor> operands{*x};
  for (std::size_t k = 1; k < all.size(); ++k)
    operands.push_back(tensor_of({PyTuple_GET_ITEM(all.ptr(), static_cast<Py_ssize_t>(k)), "einsum", "operands"}));
  return Tensor::einsum(formula, operands);
}

/// Checks indices that were given as numbers, and returns `out`, the result of the operation. @throws Error (shape)
/// for an index out of range
Tensor checked(const char* operation, const Tensor& out, const Tensor& x, const std::optional<std::int64_t>& axis,
               const GivenIndex& index) {
  if (!index.is_written) return out;
  const Int size = !axis ? x.numel() : x.ndim() == 0 ? Int(1) : x.size(*axis);
  ops::check_at_hand(index.tensor.node(), {operation, "index", size.value(), true});
  return out;
}

/// PyTorch's scatter(): writes the values, or combines them with the old ones by `reduce`.
Tensor scattered(const Tensor& x, std::int64_t axis, const Tensor& index, const Operand& value,
                 const std::optional<std::string>& reduce) {
  if (!reduce) return x.scatter(axis, index, value);
  const bool adds = choice_of({py::str(*reduce).ptr(), "scatter", "reduce"}, {"add", "multiply"}) == 0;
  return x.scatter_reduce(axis, index, value, adds ? Tensor::Reduce::sum : Tensor::Reduce::prod);
}

void bind_products(Functions& f) {
  f.op(
      "matrix_norm", "ord|kind='fro', keepdim=False",
      [](const Tensor& x, const std::string& kind, bool keepdim) { return x.matrix_norm(kind, keepdim); },
      "A norm of the matrices in the last two axes. `ord` is 'fro' (Frobenius); '1' or '-1', the "
      "largest or smallest sum of absolute values of a column; or 'inf' or '-inf', the same of a "
      "row. Raises DomainError for another `ord`, ShapeError below two dimensions.");
  f.function(
      "multi_dot", "tensors", [](std::span<const Tensor> t) { return Tensor::multi_dot(t); },
      "The matrix product of all tensors, in the order of multiplications that takes the least "
      "work. The first and the last may be vectors.");
  f.op("tensordot", "other, axes=2", &tensordot_over,
       "A sum of products over several axes. axes=n sums over the last n axes of x and the first n "
       "of `other`. axes=(a, b) sums over the axes `a` of x and the axes `b` of `other`, in pairs. "
       "The result has the remaining axes of x, then those of `other`.");
  f.op("cross", "other, axis=None", &crossed,
       "The cross product of vectors of three elements along `axis`, by default the first axis of "
       "size 3. Raises ShapeError if the axis does not have size 3.");
  f.joining(
      "einsum", "formula|equation, *operands",
      [](const std::string& formula, std::span<const Tensor> t) { return Tensor::einsum(formula, t); }, "*operands=()",
      &einsum_of,
      "Einstein summation: each letter names an axis, and axes that the result does not have are "
      "summed over. einsum('ij,jk->ik', a, b) and a.einsum('ij,jk->ik', b) are the matrix product. "
      "Raises ParseError for a formula with an error, ShapeError if it does not fit the operands.");
}

void bind_gathers(Functions& f) {
  f.op(
      "gather", "axis, index",
      [](const Tensor& x, std::int64_t axis, const GivenIndex& index, At at) {
        return checked("gather", x.gather(axis, index.tensor, at), x, axis, index);
      },
      "Elements of x at the indices `index` along `axis`: out[i][j] = x[index[i][j]][j] for axis "
      "0, and so on for other axes. The result has the shape of `index`. An index outside of the "
      "axis gives 0 if `index` is a tensor, and raises OutOfRangeError if it is a list or an array.");
  f.op(
      "index_select", "axis, index",
      [](const Tensor& x, std::int64_t axis, const GivenIndex& index, At at) {
        return checked("index_select", x.index_select(axis, index.tensor, at), x, axis, index);
      },
      "The slices of `axis` at the indices `index`, a vector. An index outside of the axis is "
      "treated as by gather().");
  f.op(
      "take", "index|indices",
      [](const Tensor& x, const GivenIndex& index, At at) {
        return checked("take", x.take(index.tensor, at), x, std::nullopt, index);
      },
      "The elements at the indices `index` into all elements in row-major order. The result has "
      "the shape of `index`. An index outside is treated as by gather().");
  f.op(
      "take_along_dim", "indices|index, axis=None",
      [](const Tensor& x, const GivenIndex& index, const std::optional<std::int64_t>& axis, At at) {
        return checked("take_along_dim", x.take_along_dim(index.tensor, axis, at), x, axis, index);
      },
      "gather() of a tensor and indices whose other axes broadcast. Without `axis`, both are "
      "flattened.");
  f.op("scatter", "axis, index, src|value, reduce=None", &scattered,
       "A copy of x with values at the indices `index` along `axis`: out[index[i][j]][j] = "
       "src[i][j] for axis 0, and so on for other axes. If an element has several values, the last "
       "one is written. reduce='add' or 'multiply' combines the values with the old element "
       "instead. Values at an index outside of the axis are ignored.");
  f.op(
      "index_put", "indices, values|value, accumulate=False, reduce=None",
      [](const Tensor& x, const py::object& indices, const Operand& value, bool accumulate,
         const std::optional<Tensor::Reduce>& reduce) {
        STRATA_CHECK(!accumulate || !reduce || *reduce == Tensor::Reduce::sum, domain,
                     "[index_put] accumulate=True adds the values, and reduce asks for something else");
        return with_put(x, indices.ptr(), value, accumulate ? std::optional(Tensor::Reduce::sum) : reduce);
      },
      "A copy of x in which the elements x[indices] are `values`, which broadcast. With "
      "`accumulate`, the values are added to the old elements; with `reduce` ('sum', 'prod', 'mean', 'amax' or 'amin') "
      "the old element and all of its values are combined. Otherwise, if an element has several values, the last one "
      "is written.");
  f.op("nonzero", "", &Tensor::nonzero,
       "The indices of the elements that are not 0, in row-major order: int64 of shape (count, "
       "ndim). Realizes the tensor.",
       Gil::release);
  f.op("argwhere", "", &Tensor::argwhere, "The same as nonzero().", Gil::release);
  f.op("masked_select", "mask", &Tensor::masked_select,
       "The elements at which `mask`, a tensor of bools, is true, in row-major order, as a vector. "
       "The tensor and the mask broadcast. Realizes the mask.",
       Gil::release);
  f.op("one_hot", "num_classes|classes=-1", static_cast<Tensor (Tensor::*)(const Int&, At) const>(&Tensor::one_hot),
       "int64 of shape (..., num_classes): 1 where the last index equals the element, else 0. An "
       "element outside of [0, num_classes) gives zeros. num_classes=-1 means the largest element + "
       "1, and realizes that element. Raises DomainError unless the elements are integers.",
       Gil::release);
  f.function(
      "searchsorted", "sorted_sequence|a, values|v, right=False",
      [](const Tensor& sorted, const Tensor& values, bool right) { return sorted.searchsorted(values, right); },
      "The indices (int64) at which `values` would be inserted into `sorted_sequence`, which is "
      "sorted along its last axis: in front of equal elements, or behind them with right=True. The "
      "result has the shape of `values`.");
  f.method("searchsorted", "values|v, right=False", &Tensor::searchsorted,
           "The indices (int64) at which `values` would be inserted into this tensor, which is sorted "
           "along its last axis: in front of equal elements, or behind them with right=True. The result "
           "has the shape of `values`.");
}

}  // namespace

void bind_indexed(Functions& f) {
  bind_products(f);
  bind_gathers(f);
}

}  // namespace strata::python
