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
    throw py::type_error("tensordot(): axes must be a count or two sequences of axes");
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
  if (all.empty()) throw py::type_error("einsum(): a formula follows the tensor");
  const std::string formula = text_of({PyTuple_GET_ITEM(all.ptr(), 0), "einsum", "formula"});
  std::vector<Tensor> operands{*x};
  for (std::size_t k = 1; k < all.size(); ++k)
    operands.push_back(tensor_of({PyTuple_GET_ITEM(all.ptr(), static_cast<Py_ssize_t>(k)), "einsum", "operands"}));
  return Tensor::einsum(formula, operands);
}

/// Returns `out`, the result of an operation, after checking indices that were given as numbers. @throws Error (shape)
/// for one out of range
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
      "A norm of the matrices in the last two axes.");
  f.function(
      "multi_dot", "tensors", [](std::span<const Tensor> t) { return Tensor::multi_dot(t); },
      "The product of matrices, in the order that takes the least work.");
  f.op("tensordot", "other, axes=2", &tensordot_over,
       "Products summed over the last axes of one and the first of the other, or over pairs of "
       "axes.");
  f.op("cross", "other, axis=None", &crossed,
       "The cross product of vectors of three along an axis, by default the first of size 3.");
  f.joining(
      "einsum", "formula|equation, *operands",
      [](const std::string& formula, std::span<const Tensor> t) { return Tensor::einsum(formula, t); }, "*operands=()",
      &einsum_of, "Products and sums by letters of axes: einsum('ij,jk->ik', a, b), a.einsum('ij,jk->ik', b).");
}

void bind_gathers(Functions& f) {
  f.op(
      "gather", "axis, index",
      [](const Tensor& x, std::int64_t axis, const GivenIndex& index, At at) {
        return checked("gather", x.gather(axis, index.tensor, at), x, axis, index);
      },
      "out[i][j] = x[index[i][j]][j] for axis 0, and so on. What is outside gives 0 where a tensor "
      "says it, and is an error in a list.");
  f.op(
      "index_select", "axis, index",
      [](const Tensor& x, std::int64_t axis, const GivenIndex& index, At at) {
        return checked("index_select", x.index_select(axis, index.tensor, at), x, axis, index);
      },
      "The indices of an axis that a vector names. What is outside is as gather() has it.");
  f.op(
      "take", "index|indices",
      [](const Tensor& x, const GivenIndex& index, At at) {
        return checked("take", x.take(index.tensor, at), x, std::nullopt, index);
      },
      "Of all elements in row-major order. What is outside is as gather() has it.");
  f.op(
      "take_along_dim", "indices|index, axis=None",
      [](const Tensor& x, const GivenIndex& index, const std::optional<std::int64_t>& axis, At at) {
        return checked("take_along_dim", x.take_along_dim(index.tensor, axis, at), x, axis, index);
      },
      "As gather(), of shapes that broadcast; without an axis of all elements.");
  f.op("scatter", "axis, index, src|value, reduce=None", &scattered,
       "With out[index[i][j]][j] = value[i][j] for axis 0, and so on; of several the last. What is "
       "outside is put nowhere.");
  f.op(
      "index_put", "indices, values|value, accumulate=False",
      [](const Tensor& x, const py::object& indices, const Operand& value, bool accumulate) {
        return with_put(x, indices.ptr(), value, accumulate);
      },
      "This with values where x[indices] is; where a place is named twice: the last one, or "
      "(accumulate) the sum.");
  f.op("nonzero", "", &Tensor::nonzero, "The indices of what is not 0, (count, ndim) of int64. Realizes.",
       Gil::release);
  f.op("argwhere", "", &Tensor::argwhere, "As nonzero().", Gil::release);
  f.op("masked_select", "mask", &Tensor::masked_select,
       "The elements for which the mask holds, as one dimension. Realizes the mask.", Gil::release);
  f.op("one_hot", "num_classes|classes=-1", &Tensor::one_hot,
       "(..., classes) of int64: 1 where the class is this, none for what is no class. -1: one "
       "more than the largest, which "
       "is realized.",
       Gil::release);
  f.function(
      "searchsorted", "sorted_sequence|a, values|v, right=False",
      [](const Tensor& sorted, const Tensor& values, bool right) { return sorted.searchsorted(values, right); },
      "Where each value would go into what is sorted along its last axis: before those that are "
      "equal, or behind.");
  f.method("searchsorted", "values|v, right=False", &Tensor::searchsorted,
           "Where each value would go into this, which is sorted along its last axis.");
}

}  // namespace

void bind_indexed(Functions& f) {
  bind_products(f);
  bind_gathers(f);
}

}  // namespace strata::python
