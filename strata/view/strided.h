// Strided: a View of numbers as a strided box; and stacks of such boxes as piecewise functions. Views and layouts of
// numbers are decided in this form.
#pragma once

#include <span>

#include "strata/view/piecewise.h"
#include "strata/view/single.h"

namespace strata {

/// The partial function i -> offset + stride . i for indices 0 <= i < shape, valid on begin <= i < end.
/// @pre 0 <= begin <= end <= shape in every dimension; sizes, and addresses of valid indices, fit in 64 bits
struct Strided {
  Index shape, stride;
  std::int64_t offset = 0;
  Index begin, end;
};

/// The box of `shape` with row-major strides, everything valid: stride[t] = product of shape[t + 1 ...], also for
/// dimensions of size 1. @throws Error (overflow) when the number of elements does not fit in 64 bits.
constexpr Strided contiguous_box(const Index& shape) {
  Strided out{shape, Index(shape.size(), 0), 0, Index(shape.size(), 0), shape};
  std::int64_t next = 1;
  for (std::size_t t = shape.size(); t-- > 0;) {
    out.stride[t] = next;
    STRATA_CHECK(shape[t] == 0 || try_mul(next, shape[t], next), overflow,
                 "[strides] the number of elements leaves 64 bits");
  }
  return out;
}

/// A stack as a function of the top's indices. views[0] addresses memory. The address that views[k] gives is
/// unravelled, row-major, into an index of views[k - 1]: digit t is (address // product of the later sizes) % size. An
/// index is valid iff every view's mask holds it.
/// @pre views is not empty
constexpr Piecewise piecewise(std::span<const Strided> views);
/// The same function on the part lo + [0, extent) of the top's valid indices.
constexpr Piecewise piecewise(std::span<const Strided> views, const Index& lo, const Index& extent);

/// single(piecewise(views)), in time that depends on the periods of the digits, not on the number of indices: it looks
/// only at so much of the top's box as the function needs to repeat itself.
/// @throws Error (overflow)
constexpr Single single(std::span<const Strided> views, std::uint64_t budget = kMergeBudget);

// --- implementation ---

namespace detail {

/// One digit of an unravelled address: (address / place % size) * stride, valid in [begin, end).
struct Digit {
  std::int64_t place, size, stride, begin, end;
};

struct Digits {
  SmallVec<Digit, 6> digits;  ///< most significant first
  std::int64_t offset = 0;
  std::int64_t size = 1;  ///< the number of indices
  bool empty = false;     ///< true iff no index is valid
};

// Joins digit `inner`, which is right below `outer`, into `outer`, when one digit means the same: the outer stride
// continues the inner one and the mask leaves the inner digit free, or the mask pins the outer digit.
constexpr bool join(Digit& outer, const Digit& inner, std::int64_t& offset) {
  const std::int64_t s = inner.size;
  std::int64_t joint = 0, rest = 0, share = 0, shifted = 0;
  if (!try_mul(s, inner.stride, joint)) return false;
  if (outer.stride == joint && inner.begin == 0 && inner.end == s) {
    outer = {1, outer.size * s, inner.stride, outer.begin * s, outer.end * s};
    return true;
  }
  // a pinned digit's share of the address is a constant
  if (outer.end - outer.begin != 1 || !try_sub(outer.stride, joint, rest) || !try_mul(outer.begin, rest, share) ||
      !try_add(offset, share, shifted))
    return false;
  offset = shifted;
  outer = {1, outer.size * s, inner.stride, outer.begin * s + inner.begin, outer.begin * s + inner.end};
  return true;
}

constexpr Digits coalesced(const Strided& v) {
  Digits out;
  out.offset = v.offset;
  for (std::size_t t = 0; t < v.shape.size(); ++t) out.empty = out.empty || v.end[t] <= v.begin[t];
  if (out.empty) return out;
  for (std::size_t t = 0; t < v.shape.size(); ++t) {
    const Digit next{1, v.shape[t], v.stride[t], v.begin[t], v.end[t]};
    if (next.size == 1 || (!out.digits.empty() && join(out.digits.back(), next, out.offset))) continue;
    out.digits.push_back(next);
  }
  for (std::size_t t = out.digits.size(); t-- > 0;) {
    out.digits[t].place = out.size;
    out.size *= out.digits[t].size;
  }
  return out;
}

// Appends to f: address = v(unravelled address), in register `address`. Register `scratch` is overwritten.
constexpr void append_view(Piecewise& f, const Strided& v, std::uint32_t address, std::uint32_t scratch) {
  const Digits view = coalesced(v);
  if (view.empty) return f.nowhere();
  f.set(scratch, 0);
  f.digit(address, view.size, scratch, 0);  // reduces into [0, size): an address beyond wraps around
  f.set(scratch, view.offset);
  for (const Digit& d : view.digits) {
    if (d.begin != 0 || d.end != d.size) f.within(address, d.begin * d.place, d.end * d.place - 1);
    f.digit(address, d.place, scratch, d.stride);
  }
  f.set(address, 0);
  f.add(address, scratch, 1);
}

}  // namespace detail

constexpr Piecewise piecewise(std::span<const Strided> views, const Index& lo, const Index& extent) {
  const Strided& top = views.back();
  Piecewise f(lo, extent);
  const std::uint32_t address = f.load(top.offset, top.stride);
  const std::uint32_t scratch = f.load(0);
  for (std::size_t k = views.size() - 1; k-- > 0 && !f.is_nowhere();)
    detail::append_view(f, views[k], address, scratch);
  f.result(address);
  return f;
}

namespace detail {

constexpr Index extent_of(const Strided& v) {
  Index out;
  for (std::size_t j = 0; j < v.shape.size(); ++j) out.push_back(v.end[j] - v.begin[j]);
  return out;
}

// What is known of the address on the way down through a stack: its range; and for each axis of the top its period: the
// number of steps after which the address changes by a constant that no digit passed so far depends on, and that
// constant.
class Periods {
 public:
  /// @pre some index of `top` is valid
  constexpr explicit Periods(const Strided& top) : least_(top.offset), most_(top.offset) {
    for (std::size_t j = 0; j < top.shape.size(); ++j) {
      steps_.push_back(1);
      change_.push_back(top.end[j] - top.begin[j] > 1 ? top.stride[j] : 0);
      reach(top.stride[j], top.begin[j], top.end[j]);
    }
  }

  /// Goes through the next view down. When the address stays inside the view and the most significant digit is
  /// unmasked, that digit keeps counting and only the digits below it must repeat. Otherwise the address must repeat
  /// modulo the view's size.
  /// @pre some index of the view is valid
  constexpr void pass(const Digits& v) {
    const bool inside = least_ >= 0 && most_ < v.size;
    const bool open = inside && !v.digits.empty() && v.digits[0].begin == 0 && v.digits[0].end == v.digits[0].size;
    const std::int64_t period = open ? v.digits[0].place : v.size;
    const std::int64_t stride = open ? v.digits[0].stride : 0;
    for (std::size_t j = 0; j < steps_.size(); ++j) {
      const std::int64_t common = gcd(period, change_[j]);
      if (!try_mul(steps_[j], period / common, steps_[j]) || !try_mul(change_[j] / common, stride, change_[j]))
        steps_[j] = change_[j] = 0;
    }
    least_ = most_ = v.offset;
    for (const Digit& d : v.digits) reach(d.stride, d.begin, d.end);
  }

  /// The period along axis j: after this many steps the function repeats, up to a constant. 0 when it is not known.
  constexpr std::int64_t operator[](std::size_t j) const { return steps_[j]; }

 private:
  constexpr void reach(std::int64_t stride, std::int64_t begin, std::int64_t end) {
    const Int128 first = static_cast<Int128>(stride) * begin;
    const Int128 last = static_cast<Int128>(stride) * (end - 1);
    least_ += std::min(first, last);
    most_ += std::max(first, last);
  }

  Index steps_, change_;
  Int128 least_, most_;
};

// For each axis, the extent of two periods and one more index, where that is less than the whole: a periodic function
// shows everything it does in that range.
constexpr Index shortened(std::span<const Strided> views, Index extent) {
  Periods periods(views.back());
  for (std::size_t k = views.size() - 1; k-- > 0;) periods.pass(coalesced(views[k]));
  for (std::size_t j = 0; j < extent.size(); ++j)
    if (periods[j] > 0 && periods[j] <= (extent[j] - 1) / 2) extent[j] = 2 * periods[j] + 1;
  return extent;
}

}  // namespace detail

constexpr Piecewise piecewise(std::span<const Strided> views) {
  return piecewise(views, views.back().begin, detail::extent_of(views.back()));
}

constexpr Single single(std::span<const Strided> views, std::uint64_t budget) {
  const Strided& top = views.back();
  const Index extent = detail::extent_of(top);
  const Piecewise f = piecewise(views, top.begin, extent);
  Pieces pieces(f, budget);
  Piece first;
  const bool some = pieces.next(first);
  if (!pieces.was_cut()) return detail::conclude(f, pieces, budget, some, first);
  const Index part = detail::shortened(views, extent);
  if (part == extent) return detail::conclude(f, pieces, budget, some, first);
  Single out = single(piecewise(views, top.begin, part), pieces.left());
  out.work += budget - pieces.left();
  // On two periods the valid indices along an axis are none, all, or not an interval, so `yes` extends to the whole
  // axis.
  for (std::size_t j = 0; j < extent.size() && out.found == Answer::yes; ++j)
    if (part[j] != extent[j] && out.end[j] != out.begin[j]) out.end[j] = top.end[j];
  return out;
}

}  // namespace strata
