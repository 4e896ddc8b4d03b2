// Rearrangements as compositions of the movement operations of movement.cpp: nothing is copied.

#include <algorithm>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"
#include "strata/ops/products.h"

namespace strata::ops {

namespace {

std::size_t at_axis(std::int64_t axis) { return static_cast<std::size_t>(axis); }

/// The elements [begin, end) of an axis.
Value cut(const Value& x, std::int64_t axis, const Int& begin, const Int& end) {
  Mask bounds;
  for (const Int& size : x.shape()) bounds.push_back({0, size});
  bounds[at_axis(axis)] = {begin, end};
  return x.shrink(bounds);
}

/// `axis` as a number in [0, x.ndim()). @throws Error (shape) for a scalar, or an axis out of range
std::int64_t real_axis(const Value& x, std::int64_t axis, const char* operation) {
  STRATA_CHECK(x.ndim() > 0, shape, "[", operation, "] a scalar has no axis ", axis);
  return axis_of(axis, x.ndim(), operation);
}

/// roll() of one axis: the axis repeated twice, from which the rotated axis is cut out.
Value rolled(const Value& x, const Int& shift, std::int64_t axis) {
  const Int& size = x.size(axis);
  if (size == Int(0)) return x;
  Int by = shift;
  if (size.is_number() && shift.is_number()) by = floor_mod(shift.value(), size.value());
  if (by == Int(0)) return x;
  if (!known(is_at_most(0, by)) || !known(is_at_most(by, size))) {
    const auto number = [](const Int& n) { return Value::of(n.expr()); };
    return x.index_select(axis, (counting(size) - number(shift)).remainder(number(size)));
  }
  Ints counts(x.shape().size(), 1);
  counts[at_axis(axis)] = 2;
  return cut(x.repeat(counts), axis, size - by, size - by + size);
}

}  // namespace

Value Value::t() const {
  STRATA_CHECK(ndim() <= 2, shape, "[t] shape ", render(shape()), " has more than 2 dimensions");
  return ndim() < 2 ? *this : transpose(0, 1);
}

Value Value::movedim(const Axes& from, const Axes& to) const {
  STRATA_CHECK(from.size() == to.size(), shape, "[movedim] ", from.size(), " axes cannot move to ", to.size(),
               " places");
  if (ndim() == 0) {
    for (const Axes& axes : {from, to})
      for (const std::int64_t a : axes) axis_of(a, 0, "movedim");
    return *this;
  }
  SmallVec<std::int64_t, 6> order(shape().size(), -1);
  SmallVec<bool, 8> is_taken(shape().size(), false);
  for (std::size_t k = 0; k < from.size(); ++k) {
    const std::int64_t source = real_axis(*this, from[k], "movedim");
    std::int64_t& place = order[at_axis(real_axis(*this, to[k], "movedim"))];
    STRATA_CHECK(place < 0 && !is_taken[at_axis(source)], shape, "[movedim] axis ", place < 0 ? from[k] : to[k],
                 " is given twice");
    place = source;
    is_taken[at_axis(source)] = true;
  }
  std::int64_t next = 0;
  for (std::int64_t& place : order) {
    if (place >= 0) continue;
    while (is_taken[at_axis(next)]) ++next;
    place = next++;
  }
  return permute(order);
}

Value Value::squeeze(const Axes& axes) const {
  Axes ones;
  for (const std::int64_t a : axes_of(axes, ndim(), "squeeze"))
    if (ndim() > 0 && size(a) == Int(1)) ones.push_back(a);
  return reshape(sizes_without(shape(), ones));
}

Value Value::flipud() const { return flip(real_axis(*this, 0, "flipud")); }
Value Value::fliplr() const { return flip(real_axis(*this, 1, "fliplr")); }

Value Value::ravel() const { return flatten(); }

Value Value::unflatten(std::int64_t axis, const Ints& sizes) const {
  const std::int64_t a = real_axis(*this, axis, "unflatten");
  Ints known_sizes, to;
  for (const Int& s : sizes)
    if (!(s == Int(-1))) known_sizes.push_back(s);
  const bool is_open = known_sizes.size() < sizes.size();
  const Int others = product(known_sizes);
  const std::optional<Int> open = others == Int(0) ? std::nullopt : exact_quotient(size(a), others);
  STRATA_CHECK(!sizes.empty() && known_sizes.size() + 1 >= sizes.size() &&
                   (is_open ? open.has_value() : known(is_equal(size(a), others))),
               shape, "[unflatten] axis ", axis, " of size ", size(a).render(), " does not fill ", render(sizes));
  for (std::int64_t k = 0; k < ndim(); ++k) {
    if (k != a) to.push_back(size(k));
    if (k == a)
      for (const Int& s : sizes) to.push_back(s == Int(-1) ? *open : s);
  }
  return reshape(to);
}

Value Value::atleast_1d() const { return ndim() == 0 ? unsqueeze(0) : *this; }
Value Value::atleast_2d() const { return ndim() < 2 ? atleast_1d().unsqueeze(0) : *this; }
Value Value::atleast_3d() const { return ndim() < 3 ? atleast_2d().unsqueeze(2) : *this; }

Value Value::narrow(std::int64_t axis, const Int& begin, const Int& length) const {
  const std::int64_t a = real_axis(*this, axis, "narrow");
  const Int from = known(is_less(begin, 0)) ? begin + size(a) : begin;
  STRATA_CHECK(known(is_at_most(0, from)) && known(is_at_most(0, length)) && known(is_at_most(from + length, size(a))),
               shape, "[narrow] ", length.render(), " from ", begin.render(), " on are not inside of axis ", axis,
               " of size ", size(a).render());
  return cut(*this, a, from, from + length);
}

Value Value::select(std::int64_t axis, const Int& index) const {
  const std::int64_t a = real_axis(*this, axis, "select");
  const Int from = known(is_less(index, 0)) ? index + size(a) : index;
  STRATA_CHECK(known(is_at_most(0, from)) && known(is_less(from, size(a))), shape, "[select] index ", index.render(),
               " is outside of axis ", axis, " of size ", size(a).render());
  return cut(*this, a, from, from + Int(1)).squeeze(a);
}

Value Value::repeat(const Ints& counts) const {
  STRATA_CHECK(counts.size() >= shape().size(), shape, "[repeat] ", counts.size(), " counts for the ", ndim(),
               " dimensions of ", render(shape()));
  const std::size_t first = counts.size() - shape().size();
  Ints apart, wide, merged;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const Int size = k < first ? Int(1) : shape()[k - first];
    STRATA_CHECK(!known(is_less(counts[k], 0)), shape, "[repeat] the count ", counts[k].render(), " of dimension ", k,
                 " is negative");
    const bool once = counts[k] == Int(1);
    if (!once) apart.push_back(1), wide.push_back(counts[k]);
    apart.push_back(size), wide.push_back(size), merged.push_back(counts[k] * size);
  }
  return reshape(apart).expand(wide).reshape(merged);
}

Value Value::tile(const Ints& counts) const {
  Ints all(shape().size() > counts.size() ? shape().size() - counts.size() : 0, 1);
  for (const Int& c : counts) all.push_back(c);
  return repeat(all);
}

Value Value::repeat_interleave(std::int64_t count, std::optional<std::int64_t> axis) const {
  STRATA_CHECK(count >= 0, shape, "[repeat_interleave] the count ", count, " is negative");
  if (!axis) return flatten().repeat_interleave(count, 0);
  const std::int64_t a = real_axis(*this, *axis, "repeat_interleave");
  Ints wide = unsqueeze(a + 1).shape(), merged = shape();
  wide[at_axis(a + 1)] = count;
  merged[at_axis(a)] *= count;
  return unsqueeze(a + 1).expand(wide).reshape(merged);
}

Value Value::roll(std::span<const Int> shifts, const Axes& axes) const {
  STRATA_CHECK(shifts.size() == axes.size(), shape, "[roll] ", shifts.size(), " shifts for ", axes.size(), " axes");
  Value out = *this;
  for (std::size_t k = 0; k < axes.size(); ++k) out = rolled(out, shifts[k], real_axis(*this, axes[k], "roll"));
  return out;
}
Value Value::roll(const Axes& shifts, const Axes& axes) const {
  Ints given;
  for (const std::int64_t shift : shifts) given.push_back(shift);
  return roll(std::span<const Int>(given), axes);
}
Value Value::roll(std::int64_t shift) const { return roll(Int(shift)); }
Value Value::roll(const Int& shift) const { return rolled(flatten(), shift, 0).reshape(shape()); }

Value Value::rot90(std::int64_t times, std::int64_t from, std::int64_t to) const {
  const std::int64_t a = real_axis(*this, from, "rot90"), b = real_axis(*this, to, "rot90");
  STRATA_CHECK(a != b, shape, "[rot90] axes ", from, " and ", to, " of ", render(shape()), " are the same");
  switch (floor_mod(times, 4)) {
    case 1: return flip(b).transpose(a, b);
    case 2: return flip({a, b});
    case 3: return flip(a).transpose(a, b);
    default: return *this;
  }
}

Value Value::unfold(std::int64_t axis, std::int64_t size, std::int64_t step) const {
  const Value x = atleast_1d();
  const std::int64_t a = axis_of(axis, x.ndim(), "unfold");
  const Int& n = x.size(a);
  STRATA_CHECK(0 <= size && known(is_at_most(size, n)) && step > 0, shape, "[unfold] windows of size ", size,
               " and step ", step, " do not fit axis ", axis, " of size ", n.render());
  if (ndim() == 0) return cut(x, 0, 0, size);  // one window, without an axis that counts windows
  const Window w{size, step};
  return Value(windows(x.node(), at_axis(a), w, w.count_in(n)));
}

Value Value::pixel_shuffle(std::int64_t r) const {
  STRATA_CHECK(ndim() >= 3 && r > 0, shape, "[pixel_shuffle] shape ", render(shape()), " and factor ", r,
               ": three dimensions at least and a factor above 0 are needed");
  const std::int64_t n = ndim();
  const Value apart = unflatten(-3, {-1, r, r});  // (..., c, r, r, h, w)
  const Value together = apart.movedim({n - 2, n - 1}, {n - 1, n + 1});
  return together.flatten(-2, -1).flatten(-3, -2);
}

Value Value::pixel_unshuffle(std::int64_t r) const {
  STRATA_CHECK(ndim() >= 3 && r > 0, shape, "[pixel_unshuffle] shape ", render(shape()), " and factor ", r,
               ": three dimensions at least and a factor above 0 are needed");
  const std::int64_t n = ndim();
  const Value apart = unflatten(-1, {-1, r}).unflatten(-3, {-1, r});  // (..., c, h, r, w, r)
  return apart.movedim({n - 1, n + 1}, {n - 2, n - 1}).flatten(n - 3, n - 1);
}

}  // namespace strata::ops
