// Products of vectors and matrices.

#include <algorithm>
#include <vector>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"
#include "strata/ops/products.h"

namespace strata::ops {

namespace {

void check_rank(const char* operation, const Value& x, std::int64_t ndim) {
  STRATA_CHECK(x.ndim() == ndim, shape, "[", operation, "] a tensor has shape ", render(x.shape()), "; ", ndim,
               ndim == 1 ? " dimension is" : " dimensions are", " expected");
}
void check_inner(const char* operation, const Value& a, const Int& k, const Value& b, const Int& other) {
  STRATA_CHECK(k == other || known(is_equal(k, other)), shape, "[", operation, "] shapes ", render(a.shape()), " and ",
               render(b.shape()), ": inner sizes ", k.render(), " and ", other.render());
}

/// The matrix product of (..., m, k) and (..., k, n): (..., m, n).
Value matrix_product(const char* operation, const Value& a, const Value& b) {
  check_inner(operation, a, a.size(-1), b, b.size(-2));
  const Value left = a.unsqueeze(-1), right = b.unsqueeze(-3);
  const std::int64_t rank = std::max(left.ndim(), right.ndim());
  return sum_of_products(operation, left, right, {rank - 2});
}

/// input*beta + product*alpha. With beta == 0 `input` is ignored, so that its NaNs do not matter.
Value blend(const Value& input, const Value& product, double beta, double alpha) {
  Value scaled = alpha == 1 ? product : product * number_for(alpha, product.dtype());
  if (beta == 0) return scaled.is_tracked() ? scaled : flat_in(scaled, {input});
  return (beta == 1 ? input : input * number_for(beta, input.dtype())) + scaled;
}

/// The cheapest parenthesization of a chain of matrices, by dynamic programming. at[first * count + last] = k: the
/// product of matrices first to last is (first to k) times (k + 1 to last).
struct Cuts {
  explicit Cuts(const std::vector<Value>& matrices) : count(matrices.size()) {
    std::vector<double> sizes = {size_of(matrices[0], 0)};
    for (const Value& m : matrices) sizes.push_back(size_of(m, 1));
    std::vector<double> cost(count * count, 0);
    at.assign(count * count, 0);
    for (std::size_t length = 1; length < count; ++length)
      for (std::size_t i = 0; i + length < count; ++i) {
        const std::size_t j = i + length;
        double& best = cost[i * count + j];
        for (std::size_t k = i; k < j; ++k) {
          const double all = cost[i * count + k] + cost[(k + 1) * count + j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
          if (k == i || all < best) best = all, at[i * count + j] = k;
        }
      }
  }
  static double size_of(const Value& m, std::int64_t axis) {
    return m.size(axis).is_number() ? static_cast<double>(m.size(axis).value()) : 1.0;
  }
  std::size_t count;
  std::vector<std::size_t> at;
};

/// Multiplies the chain in the order of Cuts, with an explicit stack in place of recursion.
Value product_in_order(const std::vector<Value>& matrices) {
  constexpr std::size_t kMost = 512;
  STRATA_CHECK(matrices.size() <= kMost, budget, "[multi_dot] ", matrices.size(), " matrices are more than ", kMost);
  const Cuts cuts(matrices);
  struct Run {
    std::size_t first, last;
    bool is_open;
  };
  std::vector<Run> open = {{0, matrices.size() - 1, true}};
  std::vector<Value> done;
  while (!open.empty()) {
    const Run run = open.back();
    open.pop_back();
    if (run.first == run.last) {
      done.push_back(matrices[run.first]);
    } else if (run.is_open) {
      const std::size_t k = cuts.at[run.first * cuts.count + run.last];
      open.push_back({run.first, run.last, false});
      open.push_back({k + 1, run.last, true});
      open.push_back({run.first, k, true});
    } else {
      const Value right = done.back();
      done.pop_back();
      done.back() = matrix_product("multi_dot", done.back(), right);
    }
  }
  return done.back();
}

}  // namespace

Value sum_of_products(const char* operation, const Value& a, const Value& b, const Axes& axes) {
  const Operand operands[] = {a, b};
  const Operand* both[] = {&operands[0], &operands[1]};
  const DType promoted = promoted_dtype(both), out = promoted.is_bool() ? dtypes::int64 : promoted;
  const DType wide = out.is_float() && out.itemsize() == 2 ? dtypes::float32 : out;
  const LazyOp products = LazyOp::alu(Ops::MUL, promote_operands(operation, both, wide));
  const LazyOp sums = LazyOp::reduce(Ops::SUM, products, axes);
  const Ints shape = sizes_without(sums.shape(), axes);
  return Value(sums.reshape(shape).cast(out));
}

Value Value::matmul(const Value& other) const {
  STRATA_CHECK(ndim() > 0 && other.ndim() > 0, shape, "[matmul] shapes ", render(shape()), " and ",
               render(other.shape()), ": each needs at least one dimension");
  const bool is_row = ndim() == 1, is_column = other.ndim() == 1;
  Value out = matrix_product("matmul", is_row ? unsqueeze(0) : *this, is_column ? other.unsqueeze(1) : other);
  if (is_column) out = out.squeeze(-1);
  return is_row ? out.squeeze(is_column ? -1 : -2) : out;
}

Value Value::dot(const Value& other) const {
  check_rank("dot", *this, 1), check_rank("dot", other, 1);
  check_inner("dot", *this, size(0), other, other.size(0));
  return sum_of_products("dot", *this, other, {0});
}
Value Value::inner(const Value& other) const {
  if (ndim() == 0 || other.ndim() == 0) return *this * other;
  return tensordot(other, {-1}, {-1});
}
Value Value::outer(const Value& other) const {
  check_rank("outer", *this, 1), check_rank("outer", other, 1);
  return unsqueeze(1) * other;
}
Value Value::bmm(const Value& other) const {
  check_rank("bmm", *this, 3), check_rank("bmm", other, 3);
  STRATA_CHECK(size(0) == other.size(0), shape, "[bmm] shapes ", render(shape()), " and ", render(other.shape()),
               ": batches of ", size(0).render(), " and ", other.size(0).render());
  return matrix_product("bmm", *this, other);
}
Value Value::mv(const Value& vector) const {
  check_rank("mv", *this, 2), check_rank("mv", vector, 1);
  return matmul(vector);
}
Value Value::addmm(const Value& a, const Value& b, double beta, double alpha) const {
  check_rank("addmm", a, 2), check_rank("addmm", b, 2);
  return rounded_once_of([&](const Value& c, const Value& x,
                             const Value& y) { return blend(c, matrix_product("addmm", x, y), beta, alpha); },
                         *this, a, b);
}
Value Value::baddbmm(const Value& a, const Value& b, double beta, double alpha) const {
  return rounded_once_of(
      [&](const Value& c, const Value& x, const Value& y) { return blend(c, x.bmm(y), beta, alpha); }, *this, a, b);
}

/// The sum over the batch is part of the inner dimension of one matrix product.
Value Value::addbmm(const Value& a, const Value& b, double beta, double alpha) const {
  check_rank("addbmm", a, 3), check_rank("addbmm", b, 3);
  check_inner("addbmm", a, a.size(0), b, b.size(0)), check_inner("addbmm", a, a.size(2), b, b.size(1));
  const Value rows = a.transpose(0, 1).flatten(1), columns = b.flatten(0, 1);
  return rounded_once_of([&](const Value& c, const Value& x,
                             const Value& y) { return blend(c, matrix_product("addbmm", x, y), beta, alpha); },
                         *this, rows, columns);
}
Value Value::addmv(const Value& matrix, const Value& vector, double beta, double alpha) const {
  return rounded_once_of([&](const Value& c, const Value& x, const Value& y) { return blend(c, x.mv(y), beta, alpha); },
                         *this, matrix, vector);
}
Value Value::addr(const Value& a, const Value& b, double beta, double alpha) const {
  return rounded_once_of(
      [&](const Value& c, const Value& x, const Value& y) { return blend(c, x.outer(y), beta, alpha); }, *this, a, b);
}
Value Value::mm(const Value& other) const {
  check_rank("mm", *this, 2), check_rank("mm", other, 2);
  return matrix_product("mm", *this, other);
}

/// By repeated squaring.
Value Value::matrix_power(std::int64_t power) const {
  STRATA_CHECK(ndim() >= 2 && size(-1) == size(-2), shape, "[matrix_power] the tensor has shape ", render(shape()),
               ": square matrices are needed");
  STRATA_CHECK(power >= 0, domain, "[matrix_power] the power ", power, " is below 0");
  const Value column = counting(size(-1)).unsqueeze(1);
  if (power == 0) return flat_in(column.eq(counting(size(-1))).cast(dtype()).expand(shape()), {*this});
  if (power == 1) return *this;
  std::optional<Value> out;
  Value base = *this;
  for (std::int64_t left = power; left > 0; left >>= 1) {
    if (left % 2 == 1) out = out ? out->matmul(base) : base;
    if (left > 1) base = base.matmul(base);
  }
  return *out;
}

Value Value::multi_dot(std::span<const Value> matrices) {
  STRATA_CHECK(!matrices.empty(), shape, "[multi_dot] there is no tensor");
  std::vector<Value> all(matrices.begin(), matrices.end());
  const bool is_row = all.size() > 1 && all.front().ndim() == 1, is_column = all.size() > 1 && all.back().ndim() == 1;
  if (is_row) all.front() = all.front().unsqueeze(0);
  if (is_column) all.back() = all.back().unsqueeze(1);
  for (const Value& m : all) check_rank("multi_dot", m, 2);
  Value out = product_in_order(all);
  if (is_column) out = out.squeeze(1);
  return is_row ? out.squeeze(0) : out;
}

Value Value::matrix_norm(std::string_view kind, bool keepdim) const {
  STRATA_CHECK(ndim() >= 2, shape, "[matrix_norm] the tensor has shape ", render(shape()),
               ": two dimensions at least are needed");
  if (kind == "fro") return norm(2, {-2, -1}, keepdim);
  const bool is_of_columns = kind == "1" || kind == "-1", is_most = kind == "1" || kind == "inf";
  STRATA_CHECK(is_of_columns || is_most || kind == "-inf", domain, "[matrix_norm] there is no norm \"", kind,
               "\": fro, 1, -1, inf and -inf are known");
  const Value sums = as_real(*this).abs().sum(is_of_columns ? -2 : -1, true);
  return is_most ? sums.max({-2, -1}, keepdim) : sums.min({-2, -1}, keepdim);
}

Value Value::tensordot(const Value& other, std::int64_t count) const {
  STRATA_CHECK(count >= 0 && count <= ndim() && count <= other.ndim(), shape, "[tensordot] ", count,
               " dimensions cannot be summed over in shapes ", render(shape()), " and ", render(other.shape()));
  Axes last, first;
  for (std::int64_t k = 0; k < count; ++k) last.push_back(ndim() - count + k), first.push_back(k);
  return tensordot(other, last, first);
}
/// One sum of products with the dimensions: free axes of this, free axes of `other`, summed axes.
Value Value::tensordot(const Value& other, const Axes& own, const Axes& others_axes) const {
  STRATA_CHECK(own.size() == others_axes.size(), shape, "[tensordot] over ", own.size(), " and ", others_axes.size(),
               " dimensions");
  const Axes mine = axes_of(own, ndim(), "tensordot"), theirs = axes_of(others_axes, other.ndim(), "tensordot");
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
  return sum_of_products("tensordot", permute(left).reshape(rows), other.permute(right).reshape(columns), summed);
}

Value Value::kron(const Value& other) const {
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

Value Value::trace() const {
  check_rank("trace", *this, 2);
  return diagonal().sum();
}

/// cross(p, q) = roll(p, 1)*roll(q, 2) - roll(p, 2)*roll(q, 1), where roll(p, k)[i] = p[(i + k) % 3].
Value Value::cross(const Value& other, std::int64_t axis) const {
  const std::int64_t a = axis_of(axis, std::max(ndim(), other.ndim()), "cross");
  const Operand self(*this), theirs(other);
  const auto promoted = promote_operands("cross", {&self, &theirs});
  const Value x = Value(promoted[0]), y = Value(promoted[1]);
  STRATA_CHECK(x.ndim() > 0 && x.size(a) == Int(3) && y.size(a) == Int(3), shape, "[cross] shapes ", render(shape()),
               " and ", render(other.shape()), ": axis ", axis, " must have size 3");
  const auto turned = [a](const Value& t, std::int64_t by) { return t.roll({-by}, {a}); };
  return rounded_once_of(
      [&turned](const Value& p, const Value& q) { return turned(p, 1) * turned(q, 2) - turned(p, 2) * turned(q, 1); },
      x, y);
}

Value Value::cdist(const Value& other, double p) const {
  STRATA_CHECK(p >= 0, domain, "[cdist] the norm p is ", p, "; 0 or more is expected");
  STRATA_CHECK(ndim() >= 2 && other.ndim() >= 2, shape, "[cdist] shapes ", render(shape()), " and ",
               render(other.shape()), ": each needs at least two dimensions");
  check_inner("cdist", *this, size(-1), other, other.size(-1));
  return (as_real(*this, other).unsqueeze(-2) - as_real(other, *this).unsqueeze(-3)).norm(p, -1);
}

}  // namespace strata::ops
