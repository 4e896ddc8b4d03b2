// Joining tensors: cat(), stack() and their relatives, meshgrid().

#include <algorithm>
#include <vector>

#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

/// A join of more parts or more elements stores each part directly to its place (CONCAT). A smaller one is an
/// elementwise sum of parts padded with zeros, which fuses with its users.
constexpr std::size_t kMostAdded = 16;
constexpr std::int64_t kMostElements = std::int64_t{1} << 20;

DType common_dtype(std::span<const Value> tensors) {
  DType out = tensors[0].dtype();
  for (const Value& x : tensors) out = promote(out, x.dtype());
  return out;
}

/// The tensors in one dtype, without empty tensors of one dimension, which PyTorch ignores; at least one remains.
std::vector<Value> parts_of(std::span<const Value> tensors) {
  const DType dtype = common_dtype(tensors);
  std::vector<Value> out;
  for (const Value& x : tensors) {
    if (x.ndim() != 1 || !(x.size(0) == Int(0))) out.push_back(x.cast(dtype));
  }
  if (out.empty()) out.push_back(tensors[0].cast(dtype));
  return out;
}

void check_fits(const Value& first, const Value& x, std::int64_t axis) {
  STRATA_CHECK(x.ndim() == first.ndim(), shape, "[cat] shapes ", render(first.shape()), " and ", render(x.shape()),
               " have ", first.ndim(), " and ", x.ndim(), " dimensions");
  for (std::int64_t k = 0; k < x.ndim(); ++k)
    STRATA_CHECK(k == axis || known(is_equal(x.size(k), first.size(k))), shape, "[cat] shapes ", render(first.shape()),
                 " and ", render(x.shape()), " differ in dimension ", k, ", not in ", axis, " alone");
}

/// A mask of `shape`: true where the index along `axis` is below `end`.
LazyOp in_front_of(std::int64_t end, std::size_t axis, const Ints& shape) {
  Ints along(shape.size(), 1);
  along[axis] = shape[axis];
  const LazyOp index = LazyOp::iota(dtypes::int64, ShapeTracker::from_shape({shape[axis]}));
  const LazyOp bound = LazyOp::constant(Scalar(end), along);
  return LazyOp::alu(Ops::CMPLT, {index.reshape(along), bound}).expand(shape);
}

/// The join by padding. NOTE: x + 0 changes -0 to 0; floats of numeric sizes are therefore selected with WHERE, not
/// added.
LazyOp added(const std::vector<Value>& parts, std::size_t axis, const Int& total) {
  std::optional<LazyOp> out;
  Int begin = 0;
  for (const Value& part : parts) {
    Padding around(part.shape().size(), {0, 0});
    const Int end = begin + part.shape()[axis];
    around[axis] = {begin, total - end};
    const LazyOp padded = part.node().pad(around);
    if (!out)
      out = padded;
    else if (part.dtype().is_float() && begin.is_number())
      out = LazyOp::alu(Ops::WHERE, {in_front_of(begin.value(), axis, padded.shape()), *out, padded});
    else
      out = LazyOp::alu(Ops::ADD, {*out, padded});
    begin = end;
  }
  return *out;
}

/// The join by CONCAT.
Value placed(const std::vector<Value>& parts, std::int64_t axis) {
  std::vector<LazyOp> pieces;
  for (const Value& part : parts) {
    Ints shape = parts[0].shape();  // sizes may be equal and written in another way
    shape[static_cast<std::size_t>(axis)] = part.size(axis);
    pieces.push_back(part.node().reshape(shape));
  }
  return Value(LazyOp::concatenated(pieces, axis));
}

std::vector<Value> each(std::span<const Value> tensors, Value (Value::*f)() const) {
  std::vector<Value> out;
  for (const Value& x : tensors) out.push_back((x.*f)());
  return out;
}

/// total + part.size(axis). @throws Error (overflow) naming the axis and the shape
Int joined_size(const Int& total, const Value& part, std::int64_t axis) {
  try {
    return total + part.size(axis);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::overflow) throw;
    throw Error(ErrorKind::overflow,
                detail::message("[cat] along axis ", axis, ", ", total.render(), " elements and the elements of shape ",
                                render(part.shape()), " do not fit in 64 bits"));
  }
}
void check_some(std::span<const Value> tensors, const char* operation) {
  STRATA_CHECK(!tensors.empty(), shape, "[", operation, "] there is no tensor");
}

}  // namespace

Value Value::cat(std::span<const Value> tensors, std::int64_t axis) {
  check_some(tensors, "cat");
  for (const Value& x : tensors) STRATA_CHECK(x.ndim() > 0, shape, "[cat] a scalar has no axis: use stack()");
  std::vector<Value> parts = parts_of(tensors);
  const std::int64_t a = axis_of(axis, parts[0].ndim(), "cat");
  Ints sizes = parts[0].shape();
  Int& total = sizes[static_cast<std::size_t>(a)];
  total = 0;
  for (const Value& part : parts) {
    check_fits(parts[0], part, a);
    total = joined_size(total, part, a);
  }
  if (!(product(sizes) == Int(0))) std::erase_if(parts, [&](const Value& part) { return part.size(a) == Int(0); });
  if (parts.size() == 1) return parts[0];
  const Int elements = product(sizes);
  if (parts.size() > kMostAdded || (elements.is_number() && elements.value() > kMostElements)) return placed(parts, a);
  return Value(added(parts, static_cast<std::size_t>(a), total));
}

Value Value::stack(std::span<const Value> tensors, std::int64_t axis) {
  check_some(tensors, "stack");
  std::vector<Value> parts;
  for (const Value& x : tensors) {
    STRATA_CHECK(x.shape() == tensors[0].shape(), shape, "[stack] shapes ", render(tensors[0].shape()), " and ",
                 render(x.shape()), " differ");
    parts.push_back(x.unsqueeze(axis));
  }
  return cat(parts, axis_of(axis, parts[0].ndim(), "stack"));
}

Value Value::hstack(std::span<const Value> tensors) {
  check_some(tensors, "hstack");
  const std::vector<Value> parts = each(tensors, &Value::atleast_1d);
  return cat(parts, parts[0].ndim() == 1 ? 0 : 1);
}
Value Value::vstack(std::span<const Value> tensors) {
  check_some(tensors, "vstack");
  return cat(each(tensors, &Value::atleast_2d), 0);
}
Value Value::dstack(std::span<const Value> tensors) {
  check_some(tensors, "dstack");
  return cat(each(tensors, &Value::atleast_3d), 2);
}
Value Value::column_stack(std::span<const Value> tensors) {
  check_some(tensors, "column_stack");
  std::vector<Value> parts;
  for (const Value& x : tensors) parts.push_back(x.ndim() < 2 ? x.atleast_1d().unsqueeze(1) : x);
  return cat(parts, 1);
}

std::vector<Value> Value::meshgrid(std::span<const Value> axes, bool ij) {
  check_some(axes, "meshgrid");
  Ints sizes;
  for (const Value& x : axes) {
    STRATA_CHECK(x.ndim() <= 1, shape, "[meshgrid] a tensor has shape ", render(x.shape()),
                 ": one dimension at most is allowed");
    sizes.push_back(x.numel());
  }
  std::vector<Value> out;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    Ints along(sizes.size(), 1);
    along[k] = sizes[k];
    const Value grid = axes[k].reshape(along).expand(sizes);
    out.push_back(ij || sizes.size() < 2 ? grid : grid.transpose(0, 1));
  }
  return out;
}

}  // namespace strata::ops
