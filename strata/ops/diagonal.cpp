// Triangles and diagonals.

#include <algorithm>

#include "strata/ops/meet.h"
#include "strata/ops/indexed.h"

namespace strata::ops {

namespace {

/// Farther than any diagonal, and far from overflow.
constexpr std::int64_t kFar = std::int64_t{1} << 62;

/// The places (row, column) whose column minus row is at most `diagonal`.
Value up_to(const Value& x, std::int64_t diagonal) {
  const Value rows = counting(x.size(-2)).unsqueeze(1), columns = counting(x.size(-1));
  return columns.lt(rows + std::clamp(diagonal, -kFar, kFar - 1) + 1);
}

void check_matrices(const Value& x, const char* operation) {
  STRATA_CHECK(x.ndim() >= 2, shape, "[", operation, "] of shape ", render(x.shape()),
               ": two dimensions at least are needed");
}

/// Two different axes of a tensor of `ndim` dimensions, from 0.
std::pair<std::int64_t, std::int64_t> two_axes(std::int64_t ndim, std::int64_t first,
                                               std::int64_t second, const char* operation) {
  const std::int64_t a = axis_of(first, ndim, operation), b = axis_of(second, ndim, operation);
  STRATA_CHECK(ndim >= 2 && a != b, shape, "[", operation, "] axes ", first, " and ", second,
               " of a tensor of ", ndim, " dimensions are not two");
  return {a, b};
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
  STRATA_CHECK(ndim() == 1 || ndim() == 2, shape, "[diag] of shape ", render(shape()),
               ": one dimension or two are needed");
  return ndim() == 1 ? diag_embed(diagonal) : this->diagonal(diagonal);
}

/// In a square of n by n, in one row, every (n + 1)-th element.
Value Value::diagonal(std::int64_t offset, std::int64_t axis1, std::int64_t axis2) const {
  const auto [a, b] = two_axes(ndim(), axis1, axis2, "diagonal");
  const Value x = movedim({a, b}, {-2, -1});
  const std::int64_t rows = number_of(x.size(-2), "diagonal"),
                     columns = number_of(x.size(-1), "diagonal");
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

/// n zeros behind each element, and what is one row then is cut into rows of n.
Value Value::diag_embed(std::int64_t offset, std::int64_t axis1, std::int64_t axis2) const {
  STRATA_CHECK(ndim() > 0, shape, "[diag_embed] of a scalar");
  STRATA_CHECK(-kFar < offset && offset < kFar, shape, "[diag_embed] the offset ", offset,
               " is too far away");
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

}  // namespace strata::ops
