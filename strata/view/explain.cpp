// Explains in a sentence why a stack of Views is not one View: the two steps that differ and the digit that carries, or
// the missing index and the mask that excludes it.

#include <algorithm>

#include "strata/view/merge.h"

namespace strata {
namespace {

Int128 floor_quotient(Int128 a, Int128 b) { return a / b - (a % b != 0 && a < 0 ? 1 : 0); }

std::string to_text(Int128 v) {
  if (v >= kNegInf && v <= kPosInf) return std::to_string(static_cast<std::int64_t>(v));
  return v < 0 ? "less than -2^63" : "more than 2^63";
}

Index unravel_address(Int128 address, const Index& shape) {
  Index out(shape.size(), 0);
  for (std::size_t t = shape.size(); t-- > 0;) {
    const Int128 above = floor_quotient(address, shape[t]);
    out[t] = static_cast<std::int64_t>(address - above * shape[t]);
    address = above;
  }
  return out;
}

Int128 address_of(const Strided& v, const Index& i) {
  Int128 out = v.offset;
  for (std::size_t j = 0; j < i.size(); ++j) out += static_cast<Int128>(v.stride[j]) * i[j];
  return out;
}

Index stepped(Index i, std::size_t axis) {
  ++i[axis];
  return i;
}

// One step along an axis of the top view, followed down through the views: the address before and after the step.
struct Move {
  Int128 from, to;

  Int128 change() const { return to - from; }
  void pass(const Strided& v) {
    from = address_of(v, unravel_address(from, v.shape));
    to = address_of(v, unravel_address(to, v.shape));
  }
  /// The number of multiples of `size` that the step crosses: carries out of a digit that repeats every `size`
  /// addresses.
  Int128 ends(Int128 size) const { return floor_quotient(to, size) - floor_quotient(from, size); }
};

// The digit of `v` that carries in one move more often than in the other, where the carry changes the address.
// @pre both moves change the index number of `v` by the same amount, and the address by different amounts
std::size_t carrying_digit(const Strided& v, const Move& a, const Move& b) {
  Int128 place = 1;
  for (std::size_t t = v.shape.size(); t-- > 0;) {
    place *= v.shape[t];
    const Int128 above = t == 0 ? 0 : v.stride[t - 1];
    const Int128 effect = above - static_cast<Int128>(v.stride[t]) * v.shape[t];
    if (effect != 0 && a.ends(place) != b.ends(place)) return t;
  }
  STRATA_ASSERT(false, "two moves of one length differ without a carry");
  return 0;
}

std::string carry_text(const Strided& v, std::size_t view, std::size_t digit) {
  std::string out = detail::message("carries from dimension ", digit, " (size ", v.shape[digit], ") of view ", view);
  for (std::size_t t = digit; t-- > 0;)
    if (v.shape[t] > 1) return out + detail::message(" into dimension ", t);
  return out + ", whose last index wraps around to the first";
}

// Does `a` carry out of this digit more often, in its direction, than `b`?
bool carries_more(const Strided& v, std::size_t digit, const Move& a, const Move& b) {
  Int128 size = 1;
  for (std::size_t t = digit; t < v.shape.size(); ++t) size *= v.shape[t];
  return a.change() > 0 ? a.ends(size) > b.ends(size) : a.ends(size) < b.ends(size);
}

std::string slope_text(std::span<const Strided> stack, const Obstacle& o) {
  const Strided& top = stack.back();
  const auto move = [&](const Index& at) { return Move{address_of(top, at), address_of(top, stepped(at, o.axis))}; };
  Index at = o.at, elsewhere = o.other;
  Move here = move(at), there = move(elsewhere);
  std::string carry;
  for (std::size_t k = stack.size() - 1; k-- > 0;) {
    const Move above = here, above_there = there;
    here.pass(stack[k]);
    there.pass(stack[k]);
    if (!carry.empty() || here.change() == there.change()) continue;
    const std::size_t digit = carrying_digit(stack[k], above, above_there);
    carry = carry_text(stack[k], k, digit);
    if (carries_more(stack[k], digit, above, above_there)) continue;
    std::swap(at, elsewhere);
    std::swap(here, there);
  }
  return detail::message("a step along dimension ", o.axis, " at ", render(at), " changes the address by ",
                         to_text(here.change()), ", elsewhere (at ", render(elsewhere), ") by ",
                         to_text(there.change()), ": it ", carry);
}

// The sentence about the mask that excludes an index of the top view.
std::string mask_text(std::span<const Strided> stack, Index i) {
  for (std::size_t k = stack.size(); k-- > 0;) {
    const Strided& v = stack[k];
    for (std::size_t j = 0; j < i.size(); ++j)
      if (i[j] < v.begin[j] || i[j] >= v.end[j])
        return detail::message("dimension ", j, " of view ", k, " is valid in [", v.begin[j], ", ", v.end[j],
                               ") and has the index ", i[j]);
    if (k != 0) i = unravel_address(address_of(v, i), stack[k - 1].shape);
  }
  STRATA_ASSERT(false, "an index that no mask leaves out is not a hole");
  return {};
}

std::string hole_text(std::span<const Strided> stack, const Obstacle& o) {
  const auto [first, second] = std::minmax(o.other, o.far, [](const Index& a, const Index& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  });
  return detail::message(render(o.at), " is invalid although it lies between valid indices ", render(first), " and ",
                         render(second), ": the valid set is not a box (", mask_text(stack, o.at), ")");
}

}  // namespace

std::string explain(std::span<const View> views, const Obstacle& obstacle) {
  switch (obstacle.kind) {
    case Obstacle::Kind::slope: return slope_text(to_strided(views), obstacle);
    case Obstacle::Kind::hole: return hole_text(to_strided(views), obstacle);
    case Obstacle::Kind::scalar: return "the only index is invalid, and a View without dimensions has no mask";
    case Obstacle::Kind::budget: return "not decided: the stack has more pieces than the work limit allows";
    case Obstacle::Kind::overflow: return "not decided: an intermediate value leaves 64 bits";
    case Obstacle::Kind::none: break;
  }
  return "no View was shown to be equal to the stack for all sizes";
}

}  // namespace strata
