// Splitting a tensor along an axis: split(), chunk(), tensor_split(), unbind() and their relatives.

#include <algorithm>
#include <vector>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

std::int64_t axis_to_cut(const Value& x, std::int64_t axis, const char* operation) {
  STRATA_CHECK(x.ndim() > 0, shape, "[", operation, "] a scalar has no axis ", axis);
  return axis_of(axis, x.ndim(), operation);
}

void check_parts(std::int64_t count, const char* operation) {
  constexpr std::int64_t kMostParts = std::int64_t{1} << 20;
  STRATA_CHECK(count <= kMostParts, budget, "[", operation, "] ", count, " parts are more than ", kMostParts);
}

/// The parts of these sizes along the axis, in order.
std::vector<Value> parts_of(const Value& x, std::int64_t axis, std::span<const std::int64_t> sizes) {
  std::vector<Value> out;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    out.push_back(x.narrow(axis, begin, size));
    begin += size;
  }
  return out;
}

/// The sizes of parts of `size` elements, the last one possibly smaller; at least one part.
std::vector<std::int64_t> sizes_up_to(std::int64_t n, std::int64_t size, const char* operation) {
  std::vector<std::int64_t> out;
  if (n > 0) check_parts((n - 1) / size + 1, operation);
  for (std::int64_t left = n; left > 0; left -= size) out.push_back(std::min(left, size));
  if (out.empty()) out.push_back(0);
  return out;
}

/// `axis`, for hsplit() and its relatives. @throws Error (shape) for fewer than `least` dimensions, or where `count`
/// equal parts do not fit
std::int64_t cut_axis(const char* operation, const Value& x, std::int64_t least, std::int64_t axis,
                      std::int64_t count) {
  STRATA_CHECK(x.ndim() >= least, shape, "[", operation, "] the tensor has shape ", render(x.shape()), ": ", least,
               least == 1 ? " dimension is needed" : " dimensions at least are needed");
  const std::int64_t n = number_of(x.size(axis), operation);
  STRATA_CHECK(count > 0 && n % count == 0, shape, "[", operation, "] axis ", axis, " of size ", n,
               " cannot be split into ", count, " equal parts");
  return axis;
}
std::int64_t horizontal(const Value& x) { return x.ndim() < 2 ? 0 : 1; }

}  // namespace

std::vector<Value> Value::split(std::int64_t size, std::int64_t axis) const {
  const std::int64_t a = axis_to_cut(*this, axis, "split"), n = number_of(this->size(a), "split");
  STRATA_CHECK(size > 0 || (size == 0 && n == 0), shape, "[split] axis ", axis, " of size ", n,
               " cannot be split into parts of ", size);
  return parts_of(*this, a, sizes_up_to(n, size, "split"));
}

std::vector<Value> Value::split(std::span<const std::int64_t> sizes, std::int64_t axis) const {
  const std::int64_t a = axis_to_cut(*this, axis, "split"), n = number_of(size(a), "split");
  std::int64_t left = n;
  for (const std::int64_t part : sizes) {
    STRATA_CHECK(0 <= part && part <= left, shape, "[split] axis ", axis, " of size ", n, " has no ", part,
                 " left: ", left);
    left -= part;
  }
  STRATA_CHECK(left == 0, shape, "[split] the sizes for axis ", axis, " of size ", n, " leave ", left,
               " elements over");
  return parts_of(*this, a, sizes);
}

std::vector<Value> Value::chunk(std::int64_t count, std::int64_t axis) const {
  const std::int64_t a = axis_to_cut(*this, axis, "chunk"), n = number_of(size(a), "chunk");
  STRATA_CHECK(count > 0, shape, "[chunk] axis ", axis, " of size ", n, " cannot be split into ", count, " parts");
  if (n == 0) {
    check_parts(count, "chunk");
    return std::vector<Value>(static_cast<std::size_t>(count), *this);
  }
  return parts_of(*this, a, sizes_up_to(n, n / count + (n % count != 0), "chunk"));
}

std::vector<Value> Value::tensor_split(std::int64_t count, std::int64_t axis) const {
  const std::int64_t a = axis_to_cut(*this, axis, "tensor_split"), n = number_of(size(a), "tensor_split");
  STRATA_CHECK(count > 0, shape, "[tensor_split] axis ", axis, " of size ", n, " cannot be split into ", count,
               " parts");
  check_parts(count, "tensor_split");
  std::vector<std::int64_t> sizes;
  for (std::int64_t k = 0; k < count; ++k) sizes.push_back(n / count + (k < n % count));
  return parts_of(*this, a, sizes);
}

/// As Python slices: indices beyond the axis are clamped, and a part whose end precedes its begin is empty.
std::vector<Value> Value::tensor_split(std::span<const std::int64_t> indices, std::int64_t axis) const {
  const std::int64_t a = axis_to_cut(*this, axis, "tensor_split"), n = number_of(size(a), "tensor_split");
  std::vector<Value> out;
  std::int64_t begin = 0;
  for (std::size_t k = 0; k <= indices.size(); ++k) {
    const std::int64_t at_index = k < indices.size() ? indices[k] : n;
    const std::int64_t end = std::clamp(at_index < 0 ? at_index + n : at_index, std::int64_t{0}, n);
    out.push_back(narrow(a, std::min(begin, end), std::max(end - begin, std::int64_t{0})));
    begin = end;
  }
  return out;
}

std::vector<Value> Value::unbind(std::int64_t axis) const {
  const std::int64_t a = axis_to_cut(*this, axis, "unbind"), n = number_of(size(a), "unbind");
  check_parts(n, "unbind");
  std::vector<Value> out;
  for (std::int64_t k = 0; k < n; ++k) out.push_back(select(a, k));
  return out;
}

std::vector<Value> Value::hsplit(std::int64_t count) const {
  STRATA_CHECK(ndim() > 0, shape, "[hsplit] the tensor is a scalar: at least one dimension is needed");
  return tensor_split(count, cut_axis("hsplit", *this, 1, horizontal(*this), count));
}
std::vector<Value> Value::vsplit(std::int64_t count) const {
  return tensor_split(count, cut_axis("vsplit", *this, 2, 0, count));
}
std::vector<Value> Value::dsplit(std::int64_t count) const {
  return tensor_split(count, cut_axis("dsplit", *this, 3, 2, count));
}
std::vector<Value> Value::hsplit(std::span<const std::int64_t> indices) const {
  STRATA_CHECK(ndim() > 0, shape, "[hsplit] the tensor is a scalar: at least one dimension is needed");
  return tensor_split(indices, cut_axis("hsplit", *this, 1, horizontal(*this), 1));
}
std::vector<Value> Value::vsplit(std::span<const std::int64_t> indices) const {
  return tensor_split(indices, cut_axis("vsplit", *this, 2, 0, 1));
}
std::vector<Value> Value::dsplit(std::span<const std::int64_t> indices) const {
  return tensor_split(indices, cut_axis("dsplit", *this, 3, 2, 1));
}

}  // namespace strata::ops
