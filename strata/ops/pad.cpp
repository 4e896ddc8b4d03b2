// pad(): a constant, the mirror image, the edge elements or the opposite end around a tensor; negative padding crops.

#include <algorithm>
#include <vector>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

bool is_negative(const Int& size) { return known(is_less(size, 0)); }
Int positive_part(const Int& size) { return is_negative(size) ? Int(0) : size; }

/// `x` cropped by the negative entries of `padding`.
Value cropped(const Value& x, const Padding& padding) {
  Mask bounds;
  for (std::size_t k = 0; k < padding.size(); ++k) {
    const auto& [before, after] = padding[k];
    const Int &size = x.shape()[k], begin = is_negative(before) ? -before : Int(0),
              end = is_negative(after) ? size + after : size;
    STRATA_CHECK(!known(is_less(end, begin)) && !is_negative(end), shape, "[pad] the padding (", before.render(), ", ",
                 after.render(), ") removes more than the ", size.render(), " elements of dimension ", k);
    bounds.push_back({begin, end});
  }
  return x.shrink(bounds);
}

Value with_constant(const Value& x, const Padding& padding, const Number& value) {
  Padding around;
  for (const auto& [before, after] : padding) around.push_back({positive_part(before), positive_part(after)});
  const Value inner = cropped(x, padding);
  const LazyOp padded = inner.node().pad(around);
  const Scalar v = scalar_of(value, x.dtype());
  if (v == Scalar::of(x.dtype(), std::int64_t{0}) || padded == inner.node()) return Value(padded);
  const LazyOp is_inside = LazyOp::constant(Scalar(true), inner.shape()).pad(around);
  const LazyOp other = LazyOp::constant(v, padded.shape());
  return Value(LazyOp::alu(Ops::WHERE, {is_inside, padded, other}));
}

/// The `count` elements that the padding mode puts at the front or back of an axis.
Value continued(const Value& x, std::int64_t axis, PadMode mode, const Int& count, bool is_front) {
  const Int n = x.size(axis);
  if (mode == PadMode::reflect) return x.narrow(axis, is_front ? Int(1) : n - Int(1) - count, count).flip(axis);
  if (mode == PadMode::circular) return x.narrow(axis, is_front ? n - count : Int(0), count);
  Ints sizes = x.shape();
  sizes[static_cast<std::size_t>(axis)] = count;
  return x.narrow(axis, is_front ? Int(0) : n - Int(1), 1).expand(sizes);
}

/// The most elements that the mode can add at each end of an axis of n elements; none: any number. A symbolic size that
/// may be 0 has no edge.
std::optional<Int> most_beyond(PadMode mode, const Int& n) {
  if (mode == PadMode::circular || !known(is_less(0, n))) return n;
  return mode == PadMode::reflect ? std::optional(n - Int(1)) : std::nullopt;
}

Value with_more(const Value& x, std::int64_t axis, PadMode mode, const Int& before, const Int& after) {
  if (before == Int(0) && after == Int(0)) return x;
  const Int& n = x.size(axis);
  const std::optional<Int> most = most_beyond(mode, n);
  STRATA_CHECK(!most || (known(is_at_most(before, *most)) && known(is_at_most(after, *most))), shape,
               "[pad] the padding (", before.render(), ", ", after.render(), ") of dimension ", axis, " of size ",
               n.render(), " is more than ", most->render(), ", the most in this mode");
  std::vector<Value> parts;
  if (!(before == Int(0))) parts.push_back(continued(x, axis, mode, before, true));
  parts.push_back(x);
  if (!(after == Int(0))) parts.push_back(continued(x, axis, mode, after, false));
  return Value::cat(parts, axis);
}

}  // namespace

/// NOTE: a constant pads the cropped tensor; the other modes extend the whole tensor first and crop afterwards.
Value Value::pad(const Padding& padding, PadMode mode, Number value) const {
  STRATA_CHECK(padding.size() == shape().size(), shape, "[pad] ", padding.size(), " pairs for the ", ndim(),
               " dimensions of ", render(shape()));
  if (mode == PadMode::constant) return with_constant(*this, padding, value);
  Value out = *this;
  for (std::int64_t k = 0; k < ndim(); ++k) {
    const auto& [before, after] = padding[static_cast<std::size_t>(k)];
    out = with_more(out, k, mode, positive_part(before), positive_part(after));
  }
  return cropped(out, padding);
}

}  // namespace strata::ops
