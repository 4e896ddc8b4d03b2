// Copies of a tensor with a slice, a diagonal or single elements replaced.

#include <vector>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"
#include "strata/ops/subscript.h"

namespace strata::ops {

namespace {

/// `self` with `source` at the place that `subscripts` select. @throws Error (shape) unless source has exactly the
/// selected shape
Value put_where(const char* operation, const Value& self, const std::vector<Subscript>& subscripts,
                const Value& source) {
  const Ints seen = index(self, subscripts).shape();
  STRATA_CHECK(source.shape() == seen, shape, "[", operation, "] a tensor of shape ", render(source.shape()),
               " does not match the shape ", render(seen));
  return index_put(self, subscripts, source.cast(self.dtype()), std::nullopt);
}

/// Subscripts for the axes in front of `axis`, in full, and `last` for `axis`.
std::vector<Subscript> up_to_axis(std::int64_t axis, const Subscript& last) {
  std::vector<Subscript> out;
  for (std::int64_t k = 0; k < axis; ++k) out.emplace_back(Slice{});
  out.push_back(last);
  return out;
}

std::int64_t axis_for(const char* operation, const Value& x, std::int64_t axis) {
  STRATA_CHECK(x.ndim() > 0, shape, "[", operation, "] a scalar has no axis ", axis);
  return axis_of(axis, x.ndim(), operation);
}

}  // namespace

Value Value::select_scatter(const Value& source, std::int64_t axis, std::int64_t index) const {
  const std::int64_t a = axis_for("select_scatter", *this, axis);
  return put_where("select_scatter", *this, up_to_axis(a, Int(index)), source);
}
Value Value::slice_scatter(const Value& source, std::int64_t axis, const Slice& slice) const {
  STRATA_CHECK(slice.step > 0, domain, "[slice_scatter] the step is ", slice.step, "; more than 0 is expected");
  const std::int64_t a = axis_for("slice_scatter", *this, axis);
  return put_where("slice_scatter", *this, up_to_axis(a, slice), source);
}

/// diag_embed() of the source, cropped or padded to the matrices, replaces the elements of the diagonal.
Value Value::diagonal_scatter(const Value& source, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) const {
  const Ints seen = diagonal(offset, axis1, axis2).shape();
  STRATA_CHECK(source.shape() == seen, shape, "[diagonal_scatter] a tensor of shape ", render(source.shape()),
               " does not match the shape ", render(seen));
  if (product(seen) == Int(0)) return *this;
  const std::int64_t a = axis_of(axis1, ndim(), "diagonal_scatter"), b = axis_of(axis2, ndim(), "diagonal_scatter");
  const Value matrices = movedim({a, b}, {-2, -1});
  const Value square = source.cast(dtype()).diag_embed(offset);
  Padding around(shape().size(), {0, 0});
  around[around.size() - 2].second = matrices.size(-2) - square.size(-2);
  around[around.size() - 1].second = matrices.size(-1) - square.size(-1);
  const Value rows = counting(matrices.size(-2)).unsqueeze(1), columns = counting(matrices.size(-1));
  const Value out = (columns - rows).eq(offset).where(square.pad(around), matrices);
  return out.movedim({-2, -1}, {a, b});
}

Value Value::put(const Value& index, const Value& source, bool accumulate) const {
  STRATA_CHECK(index.numel() == source.numel(), shape, "[put] indices of shape ", render(index.shape()),
               " and values of shape ", render(source.shape()), " differ in the number of elements");
  STRATA_CHECK(source.dtype() == dtype(), domain, "[put] values of dtype ", source.dtype().name(),
               " do not match a tensor of dtype ", dtype().name());
  const Value places = wrapped(index, numel(), "put").flatten();
  const Combine combine{accumulate ? std::optional(Reduce::sum) : std::nullopt};
  if (numel() == Int(0) || index.numel() == Int(0)) return *this;
  return put_at(flatten(), 0, places, source.flatten(), combine).reshape(shape());
}

}  // namespace strata::ops
