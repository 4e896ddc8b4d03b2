// Triangles and diagonals of matrices.

#include <algorithm>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

/// An offset beyond every diagonal, and far from overflow.
constexpr std::int64_t kFar = std::int64_t{1} << 62;

/// A mask of the matrices of x: column - row <= diagonal.
Value up_to(const Value& x, std::int64_t diagonal) {
  const Value rows = counting(x.size(-2)).unsqueeze(1), columns = counting(x.size(-1));
  return columns.lt(rows + std::clamp(diagonal, -kFar, kFar - 1) + 1);
}

void check_matrices(const Value& x, const char* operation) {
  STRATA_CHECK(x.ndim() >= 2, shape, "[", operation, "] the tensor has shape ", render(x.shape()),
               ": two dimensions at least are needed");
}

/// The two axes as numbers in [0, ndim). @throws Error (shape) for an axis out of range, or equal axes
std::pair<std::int64_t, std::int64_t> two_axes(std::int64_t ndim, std::int64_t first, std::int64_t second,
                                               const char* operation) {
  const std::int64_t a = axis_of(first, ndim, operation), b = axis_of(second, ndim, operation);
  STRATA_CHECK(ndim >= 2 && a != b, shape, "[", operation, "] axes ", first, " and ", second, " of a tensor of ", ndim,
               " dimensions are not two different axes");
  return {a, b};
}

/// (2, count): the rows and columns of a triangle's places, in row-major order. range(r) gives the columns [begin, end)
/// of row r.
template <class F>
Value triangle_places(const char* operation, std::int64_t rows, std::int64_t columns, const F& range) {
  STRATA_CHECK(rows >= 0 && columns >= 0, shape, "[", operation, "] ", rows, " rows and ", columns, " columns");
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  std::vector<std::int64_t> row_of, column_of;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto [begin, end] = range(r);
    STRATA_CHECK(std::ssize(row_of) + std::max<std::int64_t>(end - begin, 0) + r <= kMost, budget, "[", operation,
                 "] more than ", kMost, " places");
    for (std::int64_t c = begin; c < end; ++c) row_of.push_back(r), column_of.push_back(c);
  }
  const std::int64_t count = std::ssize(row_of);
  row_of.insert(row_of.end(), column_of.begin(), column_of.end());
  return Value::from(row_of, {2, count});
}

/// The first column behind the diagonal in a row.
std::int64_t behind_diagonal(std::int64_t row, std::int64_t offset, std::int64_t columns) {
  const std::int64_t near = std::clamp(offset, -(std::int64_t{1} << 61), std::int64_t{1} << 61);
  return std::clamp<std::int64_t>(row + near + 1, 0, columns);
}

}  // namespace

Value Value::tril(std::int64_t diagonal) const {
  check_matrices(*this, "tril");
  return up_to(*this, diagonal).where(*this, false);
}
Value Value::triu(std::int64_t diagonal) const {
  check_matrices(*this, "triu");
  return up_to(*this, std::max(diagonal, kNegInf + 1) - 1).where(false, *this);
}

Value Value::diag(std::int64_t diagonal) const {
  STRATA_CHECK(ndim() == 1 || ndim() == 2, shape, "[diag] the tensor has shape ", render(shape()),
               ": one dimension or two are needed");
  return ndim() == 1 ? diag_embed(diagonal) : this->diagonal(diagonal);
}

/// A square of n by n, flattened, has its diagonal at every (n + 1)-th element.
Value Value::diagonal(std::int64_t offset, std::int64_t axis1, std::int64_t axis2) const {
  const auto [a, b] = two_axes(ndim(), axis1, axis2, "diagonal");
  const Value x = movedim({a, b}, {-2, -1});
  if (!x.size(-1).is_number() && x.size(-1) == x.size(-2) && offset == 0) {  // n behind all: a column of (n, n + 1)
    const Int& side = x.size(-1);
    const Value row = x.flatten(-2, -1);
    Padding behind(row.shape().size(), {0, 0});
    behind.back().second = side;
    Ints wide = x.shape();
    wide.back() = side + 1;
    return row.pad(behind).reshape(wide).select(-1, 0);
  }
  const std::int64_t rows = number_of(x.size(-2), "diagonal"), columns = number_of(x.size(-1), "diagonal");
  const std::int64_t down = std::min(rows, offset < 0 ? -std::max(offset, -kFar) : 0),
                     right = std::min(columns, std::max<std::int64_t>(offset, 0)),
                     n = std::min(rows - down, columns - right);
  Mask bounds;
  Ints flat, steps;
  for (std::int64_t k = 0; k + 2 < ndim(); ++k) {
    bounds.push_back({0, x.size(k)}), flat.push_back(x.size(k)), steps.push_back(1);
  }
  bounds.push_back({down, Int(down) + n}), bounds.push_back({right, Int(right) + n});
  flat.push_back(Int(n) * n), steps.push_back(n + 1);
  return Value(x.shrink(bounds).reshape(flat).node().stride(steps));
}

/// The inverse of diagonal(): n zeros behind each element, flattened, and cut into rows of n.
Value Value::diag_embed(std::int64_t offset, std::int64_t axis1, std::int64_t axis2) const {
  STRATA_CHECK(ndim() > 0, shape, "[diag_embed] the tensor is a scalar: at least one dimension is needed");
  STRATA_CHECK(-kFar < offset && offset < kFar, shape, "[diag_embed] the offset ", offset, " is too far from 0");
  const auto [a, b] = two_axes(ndim() + 1, axis1, axis2, "diag_embed");
  const Int n = size(-1);
  Padding behind(shape().size(), {0, 0}), around = behind;
  behind.push_back({0, n});
  around.back() = {std::max<std::int64_t>(-offset, 0), std::max<std::int64_t>(offset, 0)};
  around.push_back({std::max<std::int64_t>(offset, 0), std::max<std::int64_t>(-offset, 0)});
  const Value row = unsqueeze(-1).pad(behind).flatten(-2, -1);
  Ints square = shape();
  square.push_back(n);
  const Value out = row.narrow(-1, 0, n * n).reshape(square).pad(around);
  return out.movedim({-2, -1}, {a, b});
}

Value Value::block_diag(std::span<const Value> tensors) {
  STRATA_CHECK(!tensors.empty(), shape, "[block_diag] there is no tensor");
  std::vector<Value> blocks, rows;
  Int columns = 0, begin = 0;
  for (const Value& x : tensors) {
    STRATA_CHECK(x.ndim() <= 2, shape, "[block_diag] a tensor has shape ", render(x.shape()),
                 ": two dimensions at most are allowed");
    blocks.push_back(x.atleast_2d());
    columns += blocks.back().size(1);
  }
  for (const Value& x : blocks) {
    const Int end = begin + x.size(1);
    rows.push_back(x.pad({{0, 0}, {begin, columns - end}}));
    begin = end;
  }
  return cat(rows, 0);
}

Value Value::diagflat(std::int64_t offset) const { return flatten().diag(offset); }

Value Value::tril_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset) {
  return triangle_places("tril_indices", rows, columns, [&](std::int64_t r) {
    return std::pair<std::int64_t, std::int64_t>(0, behind_diagonal(r, offset, columns));
  });
}
Value Value::triu_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset) {
  return triangle_places("triu_indices", rows, columns,
                         [&](std::int64_t r) { return std::pair(behind_diagonal(r - 1, offset, columns), columns); });
}

}  // namespace strata::ops
