// Binds linear algebra (solvers, determinants, factorizations), and methods about the memory layout of tensors.
#include "python/src/call.h"
#include "python/src/tensor_values.h"
#include "strata/tensor/linear_algebra.h"

namespace strata::python {

namespace {

std::vector<Tensor> lu_of(const Tensor& a) {
  const linalg::Lu f = linalg::lu(a);
  return {f.p, f.l, f.u};
}

std::vector<Tensor> qr_of(const Tensor& a, const std::string& mode) {
  const std::size_t which = choice_of({py::str(mode).ptr(), "qr", "mode"}, {"reduced", "complete", "r"});
  const auto [q, r] = linalg::qr(a, which != 1);
  return which == 2 ? std::vector{a.new_empty({0}).cast(q.dtype()), r} : std::vector{q, r};
}

void bind_systems(Functions& f) {
  f.op("det", "", &linalg::det,
       "The determinants of the matrices in the last two axes. The gradient at a singular matrix is "
       "NaN.");
  f.op("slogdet", "", &linalg::slogdet,
       "The sign of the determinant, and the logarithm of its absolute value, which is -infinity "
       "for the determinant 0.");
  f.op("logdet", "", &linalg::logdet, "The logarithm of the determinant; NaN for a negative determinant.");
  f.op("inverse", "", &linalg::inv,
       "The inverses of the matrices in the last two axes. A singular matrix gives infinities or "
       "NaN.");
  f.function("solve", "A|a, B|b", &linalg::solve,
             "The solution X of A @ X == B. `A` is (..., n, n). `B` is (..., n, k), or (..., n) if it has "
             "one dimension less than `A`. A singular A gives infinities or NaN. Raises ShapeError if A "
             "is not square, or has another number of rows than B.");
  f.function(
      "solve_triangular", "A|a, B|b, *, upper, left=True, unitriangular=False",
      [](const Tensor& a, const Tensor& b, bool upper, bool left, bool unitriangular) {
        return linalg::solve_triangular(a, b, {.upper = upper, .unitriangular = unitriangular, .left = left});
      },
      "The solution X of A @ X == B, or of X @ A == B with left=False, for a triangular A. Only "
      "the upper or the lower triangle of A is read; with `unitriangular` its diagonal counts as "
      "ones.");
  f.op("cholesky", "upper=False", &linalg::cholesky,
       "The Cholesky factor L, a lower triangular matrix with L @ L.T == x, or L.T with `upper`. "
       "Only the lower triangle of x is read. NaN if x is not positive definite.");
  f.op("qr", "mode='reduced'", &qr_of,
       "The QR factorization of matrices (..., m, n): Q, whose columns are orthonormal, and the "
       "upper triangular R, with Q @ R == x. For mode='reduced' Q is (..., m, min(m, n)), for "
       "'complete' (..., m, m). For 'r' Q is an empty tensor.");
  f.function("_lu", "A|a", &lu_of,
             "The LU factorization with partial pivoting: P @ L @ U == A, with a permutation matrix P, a "
             "lower triangular L with ones on its diagonal, and an upper triangular U.");
  f.op("matrix_exp", "", &linalg::matrix_exp,
       "The exponential of the square matrices in the last two axes: the sum of x^k / k! over all k "
       ">= 0.");
}

/// The strides of a shape in row-major order.
Axes strides_of(const Tensor& x) {
  Axes out(x.shape().size(), 1);
  for (std::size_t k = out.size(); k-- > 1;) {
    STRATA_CHECK(x.shape()[k].is_number(), shape, "[stride] a size is symbolic: ", x.shape()[k].render());
    out[k - 1] = out[k] * std::max<std::int64_t>(x.shape()[k].value(), 1);
  }
  return out;
}

py::object stride_of(const Tensor& x, const std::optional<std::int64_t>& axis) {
  const Axes all = strides_of(x);
  if (axis) {
    STRATA_CHECK(x.ndim() > 0, shape, "[stride] a scalar has no axis ", *axis);
    return py::int_(all[static_cast<std::size_t>(axis_of(*axis, x.ndim(), "stride"))]);
  }
  py::tuple out(all.size());
  for (std::size_t k = 0; k < all.size(); ++k) out[k] = py::int_(all[k]);
  return out;
}

Tensor made_like(const Tensor& x, const py::object& data, const std::optional<DType>& dtype, bool requires_grad) {
  const py::object wanted = object_of_dtype(dtype.value_or(x.dtype()));
  Tensor out = made_tensor(data.ptr(), wanted.ptr(), nullptr, false).detach();
  out = out.to(x.device()).contiguous();
  return out.requires_grad(requires_grad);
}

void bind_layout_of_elements(Functions& f) {
  f.method("stride", "axis=None", &stride_of,
           "The strides of the tensor's memory in elements, as a tuple, or the stride of one axis. The "
           "memory is row-major.");
  f.method(
      "is_contiguous", "", [](const Tensor&) { return true; },
      "Always True: the memory of a tensor is read in row-major order.");
  f.method(
      "storage_offset", "", [](const Tensor&) { return std::int64_t{0}; },
      "Always 0: the memory of a tensor begins with its first element.");
  f.method("new_tensor", "data, dtype=None, requires_grad=False", &made_like,
           "A tensor with a copy of `data` on the device of this tensor, by default with the dtype of "
           "this tensor.");
  f.op(
      "as_strided_scatter", "src|source, size|shape, stride|strides, storage_offset|offset=0",
      [](const Tensor& x, const Tensor& source, const Ints& size, const Ints& strides, std::int64_t offset) {
        const Tensor places =
            Tensor::arange(x.numel().value()).to(x.device()).reshape(x.shape()).as_strided(size, strides, offset);
        STRATA_CHECK(source.shape() == places.shape(), shape, "[as_strided_scatter] a tensor of shape ",
                     render(source.shape()), " does not match the shape ", render(places.shape()));
        return x.put(places, source.cast(x.dtype()));
      },
      "A copy of x in which the elements that as_strided(size, stride, storage_offset) reads are "
      "those of `src`. Raises ShapeError if the shape of `src` is not `size`.");
  f.function(
      "chain_matmul", "*matrices", [](std::span<const Tensor> t) { return Tensor::multi_dot(t); },
      "The same as multi_dot(): the matrix product of all arguments, in the order of "
      "multiplications that takes the least work.");
}

}  // namespace

void bind_matrices(Functions& f) {
  bind_systems(f);
  bind_layout_of_elements(f);
}

}  // namespace strata::python
