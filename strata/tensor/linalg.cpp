// Products of vectors and matrices.

#include <algorithm>

#include "strata/tensor/access.h"
#include "strata/tensor/products.h"

namespace strata {

namespace {

void check_rank(const char* operation, const Tensor& x, std::int64_t ndim) {
  STRATA_CHECK(x.ndim() == ndim, shape, "[", operation, "] a tensor of shape ", render(x.shape()),
               ", where ", ndim, ndim == 1 ? " dimension is" : " dimensions are", " expected");
}
void check_inner(const char* operation, const Tensor& a, const Int& k, const Tensor& b,
                 const Int& other) {
  STRATA_CHECK(k == other || known(is_equal(k, other)), shape, "[", operation, "] shapes ",
               render(a.shape()), " and ", render(b.shape()), ": inner sizes ", k.render(), " and ",
               other.render());
}

/// (..., m, k) and (..., k, n) to (..., m, n).
Tensor matrix_product(const char* operation, const Tensor& a, const Tensor& b) {
  check_inner(operation, a, a.size(-1), b, b.size(-2));
  const Tensor left = a.unsqueeze(-1), right = b.unsqueeze(-3);
  const std::int64_t rank = std::max(left.ndim(), right.ndim());
  return sum_of_products(operation, left, right, {rank - 2});
}

/// `input`*beta + `product`*alpha; no `input` at all where beta is 0, so that its NaNs do not matter.
Tensor blend(const Tensor& input, const Tensor& product, double beta, double alpha) {
  Tensor scaled = alpha == 1 ? product : product * alpha;
  if (beta == 0) return scaled;
  return (beta == 1 ? input : input * beta) + scaled;
}

Axes axes_of(const char* operation, const Tensor& x, const Axes& axes) {
  Axes out;
  for (const std::int64_t a : axes) {
    out.push_back(axis_of(a, x.ndim(), operation));
    STRATA_CHECK(std::count(out.begin(), out.end(), out.back()) == 1, shape, "[", operation,
                 "] axis ", a, " is there twice");
  }
  return out;
}
/// Dimensions that are not among `axes`.
Axes others(const Tensor& x, const Axes& axes) {
  Axes out;
  for (std::int64_t k = 0; k < x.ndim(); ++k)
    if (std::find(axes.begin(), axes.end(), k) == axes.end()) out.push_back(k);
  return out;
}

}  // namespace

Tensor sum_of_products(const char* operation, const Tensor& a, const Tensor& b, const Axes& axes) {
  const Operand operands[] = {a, b};
  const Operand* both[] = {&operands[0], &operands[1]};
  const DType met = meeting_dtype(both), out = met.is_bool() ? dtypes::int64 : met;
  const DType wide = out.is_float() && out.itemsize() == 2 ? dtypes::float32 : out;
  const Met factors = meet(operation, {both[0], both[1]}, wide);
  const LazyOp sums = LazyOp::reduce(Ops::SUM, LazyOp::alu(Ops::MUL, factors.nodes), axes);
  Ints shape;
  for (std::size_t k = 0; k < sums.shape().size(); ++k)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(k)) == axes.end())
      shape.push_back(sums.shape()[k]);
  return TensorAccess::of(sums.reshape(shape).cast(out), *factors.device);
}

Tensor Tensor::matmul(const Tensor& other, At at) const {
  const OriginScope scope("matmul", at);
  STRATA_CHECK(ndim() > 0 && other.ndim() > 0, shape, "[matmul] shapes ", render(shape()), " and ",
               render(other.shape()), ": each needs a dimension");
  const bool is_row = ndim() == 1, is_column = other.ndim() == 1;
  Tensor out =
      matrix_product("matmul", is_row ? unsqueeze(0) : *this, is_column ? other.unsqueeze(1) : other);
  if (is_column) out = out.squeeze(-1);
  return is_row ? out.squeeze(is_column ? -1 : -2) : out;
}

Tensor Tensor::dot(const Tensor& other, At at) const {
  const OriginScope scope("dot", at);
  check_rank("dot", *this, 1), check_rank("dot", other, 1);
  check_inner("dot", *this, size(0), other, other.size(0));
  return sum_of_products("dot", *this, other, {0});
}
Tensor Tensor::inner(const Tensor& other, At at) const {
  const OriginScope scope("inner", at);
  if (ndim() == 0 || other.ndim() == 0) return *this * other;
  return tensordot(other, {-1}, {-1});
}
Tensor Tensor::outer(const Tensor& other, At at) const {
  const OriginScope scope("outer", at);
  check_rank("outer", *this, 1), check_rank("outer", other, 1);
  return unsqueeze(1) * other;
}
Tensor Tensor::bmm(const Tensor& other, At at) const {
  const OriginScope scope("bmm", at);
  check_rank("bmm", *this, 3), check_rank("bmm", other, 3);
  STRATA_CHECK(size(0) == other.size(0), shape, "[bmm] shapes ", render(shape()), " and ",
               render(other.shape()), ": batches of ", size(0).render(), " and ",
               other.size(0).render());
  return matrix_product("bmm", *this, other);
}
Tensor Tensor::mv(const Tensor& vector, At at) const {
  const OriginScope scope("mv", at);
  check_rank("mv", *this, 2), check_rank("mv", vector, 1);
  return matmul(vector);
}
Tensor Tensor::addmm(const Tensor& a, const Tensor& b, double beta, double alpha, At at) const {
  const OriginScope scope("addmm", at);
  check_rank("addmm", a, 2), check_rank("addmm", b, 2);
  return blend(*this, matrix_product("addmm", a, b), beta, alpha);
}
Tensor Tensor::baddbmm(const Tensor& a, const Tensor& b, double beta, double alpha, At at) const {
  const OriginScope scope("baddbmm", at);
  return blend(*this, a.bmm(b), beta, alpha);
}

Tensor Tensor::tensordot(const Tensor& other, std::int64_t count, At at) const {
  const OriginScope scope("tensordot", at);
  STRATA_CHECK(count >= 0 && count <= ndim() && count <= other.ndim(), shape, "[tensordot] over ",
               count, " dimensions of shapes ", render(shape()), " and ", render(other.shape()));
  Axes last, first;
  for (std::int64_t k = 0; k < count; ++k) last.push_back(ndim() - count + k), first.push_back(k);
  return tensordot(other, last, first);
}
/// The others of this, then the others of `other`, then what is summed over.
Tensor Tensor::tensordot(const Tensor& other, const Axes& own, const Axes& others_axes, At at) const {
  const OriginScope scope("tensordot", at);
  STRATA_CHECK(own.size() == others_axes.size(), shape, "[tensordot] over ", own.size(), " and ",
               others_axes.size(), " dimensions");
  const Axes mine = axes_of("tensordot", *this, own),
             theirs = axes_of("tensordot", other, others_axes);
  for (std::size_t k = 0; k < mine.size(); ++k)
    check_inner("tensordot", *this, size(mine[k]), other, other.size(theirs[k]));
  Axes left = others(*this, mine), right = others(other, theirs), summed;
  Ints rows, columns(left.size(), 1);
  for (const std::int64_t a : left) rows.push_back(size(a));
  for (const std::int64_t a : right) rows.push_back(1), columns.push_back(other.size(a));
  for (std::size_t k = 0; k < mine.size(); ++k) {
    summed.push_back(static_cast<std::int64_t>(rows.size()));
    rows.push_back(size(mine[k])), columns.push_back(other.size(theirs[k]));
    left.push_back(mine[k]), right.push_back(theirs[k]);
  }
  return sum_of_products("tensordot", permute(left).reshape(rows),
                         other.permute(right).reshape(columns), summed);
}

Tensor Tensor::kron(const Tensor& other, At at) const {
  const OriginScope scope("kron", at);
  const std::int64_t rank = std::max(ndim(), other.ndim());
  Ints outer_sizes, inner_sizes, sizes;
  for (std::int64_t k = 0; k < rank; ++k) {
    const std::int64_t mine = k - (rank - ndim()), theirs = k - (rank - other.ndim());
    const Int n = mine < 0 ? Int(1) : size(mine), m = theirs < 0 ? Int(1) : other.size(theirs);
    outer_sizes.push_back(n), outer_sizes.push_back(1);
    inner_sizes.push_back(1), inner_sizes.push_back(m);
    sizes.push_back(n * m);
  }
  return (reshape(outer_sizes) * other.reshape(inner_sizes)).reshape(sizes);
}

Tensor Tensor::trace(At at) const {
  const OriginScope scope("trace", at);
  check_rank("trace", *this, 2);
  return diagonal().sum();
}

/// Products of the axis turned by one and by two.
Tensor Tensor::cross(const Tensor& other, std::int64_t axis, At at) const {
  const OriginScope scope("cross", at);
  const std::int64_t a = axis_of(axis, std::max(ndim(), other.ndim()), "cross");
  const Operand self(*this, at), theirs(other, at);
  const Met met = meet("cross", {&self, &theirs});
  const Tensor x = TensorAccess::of(met.nodes[0], *this), y = TensorAccess::of(met.nodes[1], *this);
  STRATA_CHECK(x.ndim() > 0 && x.size(a) == Int(3) && y.size(a) == Int(3), shape, "[cross] shapes ",
               render(shape()), " and ", render(other.shape()), ": axis ", axis,
               " has to have size 3");
  const auto turned = [a](const Tensor& t, std::int64_t by) { return t.roll({-by}, {a}); };
  return turned(x, 1) * turned(y, 2) - turned(x, 2) * turned(y, 1);
}

Tensor Tensor::cdist(const Tensor& other, At at) const {
  const OriginScope scope("cdist", at);
  STRATA_CHECK(ndim() >= 2 && other.ndim() >= 2, shape, "[cdist] shapes ", render(shape()), " and ",
               render(other.shape()), ": each needs two dimensions");
  check_inner("cdist", *this, size(-1), other, other.size(-1));
  const Tensor squares =
      (as_real(*this).unsqueeze(-2) - as_real(other).unsqueeze(-3)).square().sum(-1);
  const Tensor is_apart = squares.ne(0);  // the root of 0 has no slope: 0 is taken
  return is_apart.where(is_apart.where(squares, 1).sqrt(), 0);
}

}  // namespace strata
