// Products of vectors and matrices.

#include <algorithm>
#include <vector>

#include "strata/tensor/access.h"
#include "strata/tensor/indexed.h"
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
  Tensor scaled = alpha == 1 ? product : product * number_for(alpha, product.dtype());
  if (beta == 0) return scaled.requires_grad() ? scaled : flat_in(scaled, {input});
  return (beta == 1 ? input : input * number_for(beta, input.dtype())) + scaled;
}

/// Where to cut the product of matrices first to last, so that the fewest numbers are multiplied.
struct Cuts {
  explicit Cuts(const std::vector<Tensor>& matrices) : count(matrices.size()) {
    std::vector<double> sizes = {size_of(matrices[0], 0)};
    for (const Tensor& m : matrices) sizes.push_back(size_of(m, 1));
    std::vector<double> cost(count * count, 0);
    at.assign(count * count, 0);
    for (std::size_t length = 1; length < count; ++length)
      for (std::size_t i = 0; i + length < count; ++i) {
        const std::size_t j = i + length;
        double& best = cost[i * count + j];
        for (std::size_t k = i; k < j; ++k) {
          const double all = cost[i * count + k] + cost[(k + 1) * count + j] +
                             sizes[i] * sizes[k + 1] * sizes[j + 1];
          if (k == i || all < best) best = all, at[i * count + j] = k;
        }
      }
  }
  static double size_of(const Tensor& m, std::int64_t axis) {
    return m.size(axis).is_number() ? static_cast<double>(m.size(axis).value()) : 1.0;
  }
  std::size_t count;
  std::vector<std::size_t> at;  // behind which matrix, of first and last
};

/// Runs are put together from a list of what is still to do: nothing recurses.
Tensor product_in_order(const std::vector<Tensor>& matrices) {
  constexpr std::size_t kMost = 512;
  STRATA_CHECK(matrices.size() <= kMost, budget, "[multi_dot] of ", matrices.size(),
               " matrices, more than ", kMost);
  const Cuts cuts(matrices);
  struct Run {
    std::size_t first, last;
    bool is_open;
  };
  std::vector<Run> open = {{0, matrices.size() - 1, true}};
  std::vector<Tensor> done;
  while (!open.empty()) {
    const Run run = open.back();
    open.pop_back();
    if (run.first == run.last) {
      done.push_back(own(matrices[run.first]));
    } else if (run.is_open) {
      const std::size_t k = cuts.at[run.first * cuts.count + run.last];
      open.push_back({run.first, run.last, false});
      open.push_back({k + 1, run.last, true});
      open.push_back({run.first, k, true});
    } else {
      const Tensor right = done.back();
      done.pop_back();
      done.back() = matrix_product("multi_dot", done.back(), right);
    }
  }
  return done.back();
}

}  // namespace

Tensor sum_of_products(const char* operation, const Tensor& a, const Tensor& b, const Axes& axes) {
  const Operand operands[] = {a, b};
  const Operand* both[] = {&operands[0], &operands[1]};
  const DType met = meeting_dtype(both), out = met.is_bool() ? dtypes::int64 : met;
  const DType wide = out.is_float() && out.itemsize() == 2 ? dtypes::float32 : out;
  const Met factors = meet(operation, {both[0], both[1]}, wide);
  const LazyOp sums = LazyOp::reduce(Ops::SUM, LazyOp::alu(Ops::MUL, factors.nodes), axes);
  const Ints shape = sizes_without(sums.shape(), axes);
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
  return rounded_once_of(
      [&](const Tensor& c, const Tensor& x, const Tensor& y) {
        return blend(c, matrix_product("addmm", x, y), beta, alpha);
      },
      *this, a, b);
}
Tensor Tensor::baddbmm(const Tensor& a, const Tensor& b, double beta, double alpha, At at) const {
  const OriginScope scope("baddbmm", at);
  return rounded_once_of([&](const Tensor& c, const Tensor& x,
                             const Tensor& y) { return blend(c, x.bmm(y), beta, alpha); },
                         *this, a, b);
}

/// All batches as one inner dimension.
Tensor Tensor::addbmm(const Tensor& a, const Tensor& b, double beta, double alpha, At at) const {
  const OriginScope scope("addbmm", at);
  check_rank("addbmm", a, 3), check_rank("addbmm", b, 3);
  check_inner("addbmm", a, a.size(0), b, b.size(0)), check_inner("addbmm", a, a.size(2), b, b.size(1));
  const Tensor rows = a.transpose(0, 1).flatten(1), columns = b.flatten(0, 1);
  return rounded_once_of(
      [&](const Tensor& c, const Tensor& x, const Tensor& y) {
        return blend(c, matrix_product("addbmm", x, y), beta, alpha);
      },
      *this, rows, columns);
}
Tensor Tensor::addmv(const Tensor& matrix, const Tensor& vector, double beta, double alpha, At at) const {
  const OriginScope scope("addmv", at);
  return rounded_once_of([&](const Tensor& c, const Tensor& x,
                             const Tensor& y) { return blend(c, x.mv(y), beta, alpha); },
                         *this, matrix, vector);
}
Tensor Tensor::addr(const Tensor& a, const Tensor& b, double beta, double alpha, At at) const {
  const OriginScope scope("addr", at);
  return rounded_once_of([&](const Tensor& c, const Tensor& x,
                             const Tensor& y) { return blend(c, x.outer(y), beta, alpha); },
                         *this, a, b);
}
Tensor Tensor::mm(const Tensor& other, At at) const {
  const OriginScope scope("mm", at);
  check_rank("mm", *this, 2), check_rank("mm", other, 2);
  return matrix_product("mm", *this, other);
}

/// Squares of squares.
Tensor Tensor::matrix_power(std::int64_t power, At at) const {
  const OriginScope scope("matrix_power", at);
  STRATA_CHECK(ndim() >= 2 && size(-1) == size(-2), shape, "[matrix_power] of shape ",
               render(shape()), ": square matrices are needed");
  STRATA_CHECK(power >= 0, domain, "[matrix_power] to the power ", power, ", which is below 0");
  const Tensor column = counting(size(-1), *this).unsqueeze(1);
  if (power == 0)
    return flat_in(column.eq(counting(size(-1), *this)).cast(dtype()).expand(shape()), {*this});
  if (power == 1) return own(*this);
  std::optional<Tensor> out;
  Tensor base = *this;
  for (std::int64_t left = power; left > 0; left >>= 1) {
    if (left % 2 == 1) out = out ? out->matmul(base) : base;
    if (left > 1) base = base.matmul(base);
  }
  return *out;
}

/// The least products of each run of matrices are known from those of shorter ones.
Tensor Tensor::multi_dot(std::span<const Tensor> matrices, At at) {
  const OriginScope scope("multi_dot", at);
  STRATA_CHECK(!matrices.empty(), shape, "[multi_dot] there is no tensor");
  std::vector<Tensor> all(matrices.begin(), matrices.end());
  const bool is_row = all.size() > 1 && all.front().ndim() == 1,
             is_column = all.size() > 1 && all.back().ndim() == 1;
  if (is_row) all.front() = all.front().unsqueeze(0);
  if (is_column) all.back() = all.back().unsqueeze(1);
  for (const Tensor& m : all) check_rank("multi_dot", m, 2);
  Tensor out = product_in_order(all);
  if (is_column) out = out.squeeze(1);
  return is_row ? out.squeeze(0) : out;
}

Tensor Tensor::matrix_norm(std::string_view kind, bool keepdim, At at) const {
  const OriginScope scope("matrix_norm", at);
  STRATA_CHECK(ndim() >= 2, shape, "[matrix_norm] of shape ", render(shape()),
               ": two dimensions at least are needed");
  if (kind == "fro") return norm(2, {-2, -1}, keepdim);
  const bool is_of_columns = kind == "1" || kind == "-1", is_most = kind == "1" || kind == "inf";
  STRATA_CHECK(is_of_columns || is_most || kind == "-inf", domain,
               "[matrix_norm] there is no norm \"", kind, "\": fro, 1, -1, inf and -inf are known");
  const Tensor sums = as_real(*this).abs().sum(is_of_columns ? -2 : -1, true);
  return is_most ? sums.max({-2, -1}, keepdim) : sums.min({-2, -1}, keepdim);
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
  const Axes mine = axes_of(own, ndim(), "tensordot"),
             theirs = axes_of(others_axes, other.ndim(), "tensordot");
  for (std::size_t k = 0; k < mine.size(); ++k)
    check_inner("tensordot", *this, size(mine[k]), other, other.size(theirs[k]));
  Axes left = other_axes(mine, ndim()), right = other_axes(theirs, other.ndim()), summed;
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
  return rounded_once_of(
      [&turned](const Tensor& p, const Tensor& q) {
        return turned(p, 1) * turned(q, 2) - turned(p, 2) * turned(q, 1);
      },
      x, y);
}

Tensor Tensor::cdist(const Tensor& other, double p, At at) const {
  const OriginScope scope("cdist", at);
  STRATA_CHECK(p >= 0, domain, "[cdist] a norm of ", p);
  STRATA_CHECK(ndim() >= 2 && other.ndim() >= 2, shape, "[cdist] shapes ", render(shape()), " and ",
               render(other.shape()), ": each needs two dimensions");
  check_inner("cdist", *this, size(-1), other, other.size(-1));
  return (as_real(*this, other).unsqueeze(-2) - as_real(other, *this).unsqueeze(-3)).norm(p, -1);
}

}  // namespace strata
