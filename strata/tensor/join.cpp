// Several tensors as one.

#include <algorithm>
#include <vector>

#include "strata/tensor/access.h"

namespace strata {

namespace {

/// More parts or elements than these are computed into their places; fewer are added, each with zeros around it.
constexpr std::size_t kMostAdded = 16;
constexpr std::int64_t kMostElements = std::int64_t{1} << 20;

DType common_dtype(std::span<const Tensor> tensors) {
  DType out = tensors[0].dtype();
  for (const Tensor& x : tensors) out = promote(out, x.dtype());
  return out;
}

/// In one dtype and on one device, without those of one dimension and size 0; one is left at least.
std::vector<Tensor> parts_of(std::span<const Tensor> tensors) {
  const DType dtype = common_dtype(tensors);
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) {
    STRATA_CHECK(&x.device() == &tensors[0].device(), domain, "[cat] tensors on ",
                 tensors[0].device().name(), " and on ", x.device().name(), ": move one with to()");
    if (x.ndim() != 1 || !(x.size(0) == Int(0))) out.push_back(x.cast(dtype));
  }
  if (out.empty()) out.push_back(tensors[0].cast(dtype));
  return out;
}

void check_fits(const Tensor& first, const Tensor& x, std::int64_t axis) {
  STRATA_CHECK(x.ndim() == first.ndim(), shape, "[cat] shapes ", render(first.shape()), " and ",
               render(x.shape()), " have ", first.ndim(), " and ", x.ndim(), " dimensions");
  for (std::int64_t k = 0; k < x.ndim(); ++k)
    STRATA_CHECK(k == axis || known(is_equal(x.size(k), first.size(k))), shape, "[cat] shapes ",
                 render(first.shape()), " and ", render(x.shape()), " differ in dimension ", k,
                 ", not in ", axis, " alone");
}

/// Where the axis's index is below `end`.
LazyOp in_front_of(std::int64_t end, std::size_t axis, const Ints& shape) {
  Ints along(shape.size(), 1);
  along[axis] = shape[axis];
  const LazyOp index = LazyOp::iota(dtypes::int64, ShapeTracker::from_shape({shape[axis]}));
  const LazyOp bound = LazyOp::constant(Scalar(end), along);
  return LazyOp::alu(Ops::CMPLT, {index.reshape(along), bound}).expand(shape);
}

/// NOTE: x + 0 is x but where x is -0: floats are chosen, where their sizes are numbers.
LazyOp added(const std::vector<Tensor>& parts, std::size_t axis, const Int& total) {
  std::optional<LazyOp> out;
  Int begin = 0;
  for (const Tensor& part : parts) {
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

/// The axis in front makes each part one piece of memory.
Tensor placed(const std::vector<Tensor>& parts, std::int64_t axis, Ints shape) {
  std::vector<LazyOp> pieces;
  for (const Tensor& part : parts) pieces.push_back(part.movedim({axis}, {0}).node());
  std::rotate(shape.begin(), shape.begin() + axis, shape.begin() + axis + 1);
  const LazyOp joined = LazyOp::concatenated(pieces).reshape(shape);
  return TensorAccess::of(joined, parts[0]).movedim({0}, {axis});
}

std::vector<Tensor> each(std::span<const Tensor> tensors, Tensor (Tensor::*f)(At) const, At at) {
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back((x.*f)(at));
  return out;
}

/// `total`, and the size of `part`.
Int joined_size(const Int& total, const Tensor& part, std::int64_t axis) {
  try {
    return total + part.size(axis);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::overflow) throw;
    throw Error(ErrorKind::overflow,
                detail::message("[cat] along axis ", axis, ", ", total.render(),
                                " elements and those of shape ", render(part.shape()),
                                " are more than 64 bits count"));
  }
}
void check_some(std::span<const Tensor> tensors, const char* operation) {
  STRATA_CHECK(!tensors.empty(), shape, "[", operation, "] there is no tensor");
}

}  // namespace

Tensor Tensor::cat(std::span<const Tensor> tensors, std::int64_t axis, At at) {
  const OriginScope scope("cat", at);
  check_some(tensors, "cat");
  for (const Tensor& x : tensors)
    STRATA_CHECK(x.ndim() > 0, shape, "[cat] a scalar has no axis: stack() is meant");
  std::vector<Tensor> parts = parts_of(tensors);
  const std::int64_t a = axis_of(axis, parts[0].ndim(), "cat");
  Ints sizes = parts[0].shape();
  Int& total = sizes[static_cast<std::size_t>(a)];
  total = 0;
  for (const Tensor& part : parts) {
    check_fits(parts[0], part, a);
    total = joined_size(total, part, a);
  }
  if (!(product(sizes) == Int(0)))
    std::erase_if(parts, [&](const Tensor& part) { return part.size(a) == Int(0); });
  if (parts.size() == 1) return parts[0];
  const Int elements = product(sizes);
  if (parts.size() > kMostAdded || (elements.is_number() && elements.value() > kMostElements))
    return placed(parts, a, sizes);
  return TensorAccess::of(added(parts, static_cast<std::size_t>(a), total), parts[0]);
}

Tensor Tensor::stack(std::span<const Tensor> tensors, std::int64_t axis, At at) {
  const OriginScope scope("stack", at);
  check_some(tensors, "stack");
  std::vector<Tensor> parts;
  for (const Tensor& x : tensors) {
    STRATA_CHECK(x.shape() == tensors[0].shape(), shape, "[stack] shapes ",
                 render(tensors[0].shape()), " and ", render(x.shape()), " differ");
    parts.push_back(x.unsqueeze(axis));
  }
  return cat(parts, axis_of(axis, parts[0].ndim(), "stack"));
}

Tensor Tensor::hstack(std::span<const Tensor> tensors, At at) {
  const OriginScope scope("hstack", at);
  check_some(tensors, "hstack");
  const std::vector<Tensor> parts = each(tensors, &Tensor::atleast_1d, at);
  return cat(parts, parts[0].ndim() == 1 ? 0 : 1);
}
Tensor Tensor::vstack(std::span<const Tensor> tensors, At at) {
  const OriginScope scope("vstack", at);
  check_some(tensors, "vstack");
  return cat(each(tensors, &Tensor::atleast_2d, at), 0);
}
Tensor Tensor::dstack(std::span<const Tensor> tensors, At at) {
  const OriginScope scope("dstack", at);
  check_some(tensors, "dstack");
  return cat(each(tensors, &Tensor::atleast_3d, at), 2);
}
Tensor Tensor::column_stack(std::span<const Tensor> tensors, At at) {
  const OriginScope scope("column_stack", at);
  check_some(tensors, "column_stack");
  std::vector<Tensor> parts;
  for (const Tensor& x : tensors) parts.push_back(x.ndim() < 2 ? x.atleast_1d().unsqueeze(1) : x);
  return cat(parts, 1);
}

std::vector<Tensor> Tensor::meshgrid(std::span<const Tensor> axes, bool ij, At at) {
  const OriginScope scope("meshgrid", at);
  check_some(axes, "meshgrid");
  Ints sizes;
  for (const Tensor& x : axes) {
    STRATA_CHECK(x.ndim() <= 1, shape, "[meshgrid] of shape ", render(x.shape()),
                 ": one dimension at most is meant");
    sizes.push_back(x.numel());
  }
  std::vector<Tensor> out;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    Ints along(sizes.size(), 1);
    along[k] = sizes[k];
    const Tensor grid = axes[k].reshape(along).expand(sizes);
    out.push_back(ij || sizes.size() < 2 ? grid : grid.transpose(0, 1));
  }
  return out;
}

}  // namespace strata
