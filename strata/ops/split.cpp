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

Int smaller(const Int& a, const Int& b) {
  return known(is_at_most(a, b)) ? a : known(is_at_most(b, a)) ? b : Int(min(a.expr(), b.expr()));
}
Int larger(const Int& a, const Int& b) {
  return known(is_at_most(b, a)) ? a : known(is_at_most(a, b)) ? b : Int(max(a.expr(), b.expr()));
}

void check_parts(std::int64_t count, const char* operation) {
  constexpr std::int64_t kMostParts = std::int64_t{1} << 20;
  STRATA_CHECK(count <= kMostParts, budget, "[", operation, "] ", count, " parts are more than ", kMostParts);
}

/// The parts of these sizes along the axis, in order.
std::vector<Value> parts_of(const Value& x, std::int64_t axis, const Ints& sizes) {
  std::vector<Value> out;
  Int begin = 0;
  for (const Int& size : sizes) {
    out.push_back(x.narrow(axis, begin, size));
    begin += size;
  }
  return out;
}

/// a / b, rounded down. @pre a >= 0 and b > 0
Int quotient(const Int& a, std::int64_t b) { return a.is_number() ? Int(a.value() / b) : Int(a.expr() / Expr(b)); }

/// The sizes of parts of `size` elements, the last one possibly smaller; at least one part. @throws Error (shape) where
/// the number of parts differs among the values of a symbolic size
Ints sizes_up_to(const Int& n, const Int& size, const char* operation) {
  const auto parts = [&](std::int64_t count, std::int64_t of) { return count == 0 ? 1 : (count - 1) / of + 1; };
  std::int64_t count = 0;
  if (n.is_number()) {
    count = n == Int(0) ? 1 : parts(n.value(), size.value());
  } else {
    count = parts(std::max<std::int64_t>(n.vmax(), 1), std::max<std::int64_t>(size.vmax(), 1));
    STRATA_CHECK(known(is_less(Int(count - 1) * size, n)) && known(is_at_most(n, Int(count) * size)), shape, "[",
                 operation, "] axis of size ", n.render(), " in parts of ", size.render(),
                 ": the number of parts differs among the sizes within the bounds");
  }
  check_parts(count, operation);
  Ints out(static_cast<std::size_t>(count - 1), size);
  out.push_back(n - Int(count - 1) * size);
  return out;
}

/// `axis`, for hsplit() and its relatives. @throws Error (shape) for fewer than `least` dimensions, or where `count`
/// equal parts do not fit
std::int64_t cut_axis(const char* operation, const Value& x, std::int64_t least, std::int64_t axis,
                      std::int64_t count) {
  STRATA_CHECK(x.ndim() >= least, shape, "[", operation, "] the tensor has shape ", render(x.shape()), ": ", least,
               least == 1 ? " dimension is needed" : " dimensions at least are needed");
  const Int& n = x.size(axis);
  STRATA_CHECK(count > 0 && known(is_multiple(n, count)), shape, "[", operation, "] axis ", axis, " of size ",
               n.render(), " cannot be split into ", count, " equal parts");
  return axis;
}
std::int64_t horizontal(const Value& x) { return x.ndim() < 2 ? 0 : 1; }

}  // namespace

std::vector<Value> Value::split(std::int64_t size, std::int64_t axis) const {
  const std::int64_t a = axis_to_cut(*this, axis, "split");
  const Int& n = this->size(a);
  STRATA_CHECK(size > 0 || (size == 0 && n == Int(0)), shape, "[split] axis ", axis, " of size ", n.render(),
               " cannot be split into parts of ", size);
  return parts_of(*this, a, sizes_up_to(n, size, "split"));
}

std::vector<Value> Value::split(std::span<const std::int64_t> sizes, std::int64_t axis) const {
  Ints all;
  for (const std::int64_t size : sizes) all.push_back(size);
  return split(all, axis);
}

std::vector<Value> Value::split(const Ints& sizes, std::int64_t axis) const {
  const std::int64_t a = axis_to_cut(*this, axis, "split");
  const Int& n = size(a);
  Int left = n;
  for (const Int& part : sizes) {
    STRATA_CHECK(known(is_at_most(0, part)) && known(is_at_most(part, left)), shape, "[split] axis ", axis, " of size ",
                 n.render(), " has no ", part.render(), " left: ", left.render());
    left -= part;
  }
  STRATA_CHECK(known(is_equal(left, 0)), shape, "[split] the sizes for axis ", axis, " of size ", n.render(), " leave ",
               left.render(), " elements over");
  return parts_of(*this, a, sizes);
}

std::vector<Value> Value::chunk(std::int64_t count, std::int64_t axis) const {
  const std::int64_t a = axis_to_cut(*this, axis, "chunk");
  const Int& n = size(a);
  STRATA_CHECK(count > 0, shape, "[chunk] axis ", axis, " of size ", n.render(), " cannot be split into ", count,
               " parts");
  if (n == Int(0)) {
    check_parts(count, "chunk");
    return std::vector<Value>(static_cast<std::size_t>(count), *this);
  }
  return parts_of(*this, a, sizes_up_to(n, quotient(n + Int(count - 1), count), "chunk"));
}

std::vector<Value> Value::tensor_split(std::int64_t count, std::int64_t axis) const {
  const std::int64_t a = axis_to_cut(*this, axis, "tensor_split");
  const Int& n = size(a);
  STRATA_CHECK(count > 0, shape, "[tensor_split] axis ", axis, " of size ", n.render(), " cannot be split into ", count,
               " parts");
  check_parts(count, "tensor_split");
  Ints sizes;
  // Part k has an element more iff k is less than the rest: (n + count - 1 - k) / count elements.
  for (std::int64_t k = 0; k < count; ++k) sizes.push_back(quotient(n + Int(count - 1 - k), count));
  return parts_of(*this, a, sizes);
}

/// As Python slices: indices beyond the axis are clamped, and a part whose end precedes its begin is empty.
std::vector<Value> Value::tensor_split(std::span<const std::int64_t> indices, std::int64_t axis) const {
  const std::int64_t a = axis_to_cut(*this, axis, "tensor_split");
  const Int& n = size(a);
  std::vector<Value> out;
  Int begin = 0;
  for (std::size_t k = 0; k <= indices.size(); ++k) {
    const Int end = k == indices.size() ? n : indices[k] < 0 ? larger(n + Int(indices[k]), 0) : smaller(indices[k], n);
    out.push_back(narrow(a, smaller(begin, end), larger(end - begin, 0)));
    begin = end;
  }
  return out;
}

std::vector<Value> Value::unbind(std::int64_t axis) const {
  const std::int64_t a = axis_to_cut(*this, axis, "unbind");
  STRATA_CHECK(size(a).is_number(), shape, "[unbind] the size ", size(a).render(), " of axis ", axis,
               " is symbolic: the number of parts has to be known");
  const std::int64_t n = size(a).value();
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
