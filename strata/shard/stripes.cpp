// Periodic sets: intersections by the remainders of both periods, differences by the gaps.

#include "strata/shard/stripes.h"

#include <algorithm>
#include <utility>

#include "strata/base/check.h"

namespace strata {
namespace {

Int128 ceil_of(Int128 a, Int128 b) { return a <= 0 ? -(-a / b) : (a + b - 1) / b; }

std::int64_t narrow(Int128 a) { return static_cast<std::int64_t>(a); }

/// Appends Stripes in canonical form: intervals that touch are one.
void append(AxisPart& out, std::int64_t begin, std::int64_t length, Int128 stride, std::int64_t count) {
  if (count <= 0 || length <= 0) return;
  if (count == 1) return out.push_back({begin, length, length, 1});
  if (stride == length) return out.push_back({begin, length * count, length * count, 1});
  out.push_back({begin, length, narrow(stride), count});
}

/// x with a * x == 1 modulo m. @pre a and m have no common divisor, m >= 1
Int128 inverse_modulo(Int128 a, Int128 m) {
  Int128 r = m, next_r = a % m, t = 0, next_t = 1;
  while (next_r != 0) {
    const Int128 q = r / next_r;
    r = std::exchange(next_r, r - q * next_r);
    t = std::exchange(next_t, t - q * next_t);
  }
  return t < 0 ? t + m : t;
}

/// Two periodic sets. Interval k of `a` begins `shift` behind interval l of `b`; each shift that lets them meet is a
/// residue class, and gives one Stripes.
class Meeting {
 public:
  Meeting(const Stripes& a, const Stripes& b) : a_(a), b_(b), common_(gcd(a.stride, b.stride)) {
    steps_ = b.stride / common_;
    inverse_ = inverse_modulo(a.stride / common_, steps_);
    const Int128 distance = static_cast<Int128>(a.begin) - b.begin;
    const Int128 least = 1 - static_cast<Int128>(a.length);  // the first shift at which the intervals meet
    first_ = distance + ceil_of(least - distance, common_) * common_;
    classes_ = first_ >= b.length ? 0 : (b.length - 1 - first_) / common_ + 1;
  }

  Int128 classes() const { return classes_; }

  AxisPart run() const {
    AxisPart out;
    for (Int128 shift = first_; shift < b_.length; shift += common_) meet(shift, out);
    return out;
  }

 private:
  // a.begin + k * a.stride - b.begin - l * b.stride == shift
  void meet(Int128 shift, AxisPart& out) const {
    const Int128 wanted = shift - (static_cast<Int128>(a_.begin) - b_.begin);  // k * a.stride - l * b.stride
    Int128 k = (wanted / common_) % steps_ * inverse_ % steps_;
    if (k < 0) k += steps_;
    const Int128 period = static_cast<Int128>(a_.stride) * steps_;
    // l >= 0 iff k * a.stride >= wanted; l < b.count iff k * a.stride < wanted + b.count * b.stride.
    const Int128 at = k * a_.stride;
    if (at < wanted) k += ceil_of(wanted - at, period) * steps_;
    const Int128 last_of_b = (wanted + static_cast<Int128>(b_.count - 1) * b_.stride) / a_.stride;  // >= k, or none
    const Int128 last = std::min<Int128>(a_.count - 1, last_of_b);
    if (wanted + static_cast<Int128>(b_.count - 1) * b_.stride < 0 || k > last) return;
    const Int128 from = std::max<Int128>(0, -shift), to = std::min<Int128>(a_.length, b_.length - shift);
    append(out, narrow(a_.begin + k * a_.stride + from), narrow(to - from), period, narrow((last - k) / steps_ + 1));
  }

  const Stripes &a_, &b_;
  std::int64_t common_;
  Int128 steps_, inverse_, first_, classes_;
};

}  // namespace

std::int64_t elements_in(const AxisPart& part) {
  std::int64_t out = 0;
  for (const Stripes& s : part) out += s.size();
  return out;
}

std::int64_t volume(const StridedBox& box, std::string_view operation) {
  std::int64_t out = 1;
  for (const Stripes& s : box)
    STRATA_CHECK(try_mul(out, s.size(), out), overflow, "[", operation, "] a box has more indices than 64 bits count");
  return out;
}

std::int64_t volume(const std::vector<StridedBox>& boxes, std::string_view operation) {
  std::int64_t out = 0;
  for (const StridedBox& box : boxes)
    STRATA_CHECK(try_add(out, volume(box, operation), out), overflow, "[", operation,
                 "] the boxes have more indices than 64 bits count");
  return out;
}

bool contains(const Stripes& s, std::int64_t x) {
  return s.begin <= x && x < s.end() && (x - s.begin) % s.stride < s.length;
}

AxisPart clipped(const Stripes& s, std::int64_t begin, std::int64_t end) {
  AxisPart out;
  begin = std::max(begin, s.begin);
  end = std::min(end, s.end());
  if (begin >= end) return out;
  const std::int64_t first = (begin - s.begin) / s.stride, last = (end - 1 - s.begin) / s.stride;
  const auto at = [&](std::int64_t k) { return s.begin + k * s.stride; };
  if (first == last) {
    append(out, begin, std::min(end, at(first) + s.length) - begin, s.stride, 1);
    return out;
  }
  const bool whole_first = begin == at(first), whole_last = end - at(last) >= s.length;
  if (!whole_first) append(out, begin, at(first) + s.length - begin, s.stride, 1);
  const std::int64_t from = first + (whole_first ? 0 : 1), to = last - (whole_last ? 0 : 1);
  append(out, at(std::min(from, last)), s.length, s.stride, to - from + 1);
  if (!whole_last) append(out, at(last), end - at(last), s.stride, 1);
  return out;
}

std::optional<AxisPart> intersection(const Stripes& a, const Stripes& b, std::size_t most) {
  if (a.count > b.count) return intersection(b, a, most);  // b has at least as many intervals
  if (a.end() <= b.begin || b.end() <= a.begin) return AxisPart();
  if (a.count == 1) return clipped(b, a.begin, a.end());
  const Meeting meeting(a, b);
  if (meeting.classes() <= 3 * static_cast<Int128>(a.count)) {
    if (meeting.classes() > static_cast<Int128>(most)) return std::nullopt;
    return meeting.run();
  }
  if (static_cast<std::uint64_t>(a.count) / 64 > most) return std::nullopt;  // most intervals may meet nothing
  AxisPart out;
  for (std::int64_t k = 0; k < a.count; ++k) {
    const std::int64_t begin = a.begin + k * a.stride;
    for (const Stripes& s : clipped(b, begin, begin + a.length)) out.push_back(s);
    if (out.size() > most) return std::nullopt;
  }
  return out;
}

std::optional<AxisPart> difference(const Stripes& a, const Stripes& b, std::size_t most) {
  AxisPart gaps;
  if (a.begin < b.begin) gaps.push_back(interval(a.begin, b.begin));
  append(gaps, b.begin + b.length, b.stride - b.length, b.stride, b.count - 1);
  if (b.end() < a.end()) gaps.push_back(interval(b.end(), a.end()));
  AxisPart out;
  for (const Stripes& gap : gaps) {
    const std::optional<AxisPart> part = intersection(a, gap, most);
    if (!part || out.size() + part->size() > most) return std::nullopt;
    out.insert(out.end(), part->begin(), part->end());
  }
  return out;
}

// --- sums of progressions ---

namespace {

/// Appends `next` without what `out` has already; false where that takes more than `most` Stripes.
bool append_new(AxisPart& out, const Stripes& next, std::size_t most) {
  AxisPart fresh = {next};
  for (std::size_t k = 0, old = out.size(); k < old; ++k) {
    AxisPart rest;
    for (const Stripes& s : fresh) {
      const std::optional<AxisPart> part = difference(s, out[k], most);
      if (!part || rest.size() + part->size() > most) return false;
      rest.insert(rest.end(), part->begin(), part->end());
    }
    fresh = std::move(rest);
  }
  out.insert(out.end(), fresh.begin(), fresh.end());
  return out.size() <= most;
}

/// Levels with rising steps, none of them 0, joined while the sums have no holes: first into one interval, then into
/// one progression of intervals. What is left are `outer` levels.
struct Joined {
  Stripes inner;
  std::vector<Level> outer;
  bool apart = true;  // whether the copies of `inner` that the outer levels make are disjoint
};

Joined joined(std::int64_t base, const std::vector<Level>& levels) {
  Joined out{{base, 1, 1, 1}, {}, true};
  Stripes& s = out.inner;
  Int128 reach = 0;  // of the levels so far
  for (const Level& l : levels) {
    const Int128 next = static_cast<Int128>(l.step) * (l.count - 1);
    const bool in_order = out.outer.empty();
    if (in_order && s.count == 1 && l.step <= s.length) {
      s.length = s.stride = s.length + narrow(next);
    } else if (in_order && s.count == 1) {
      s.stride = l.step;
      s.count = l.count;
    } else if (in_order && l.step % s.stride == 0 && l.step / s.stride <= s.count) {
      s.count += narrow(next) / s.stride;
    } else {
      out.apart = out.apart && l.step > reach;
      out.outer.push_back(l);
    }
    reach += next;
  }
  return out;
}

}  // namespace

std::optional<AxisPart> stripes_of(const Progressions& sums, std::size_t most) {
  Int128 base = sums.base;
  std::vector<Level> levels;
  for (Level l : sums.levels) {
    if (l.step < 0) base += static_cast<Int128>(l.step) * (l.count - 1);
    if (l.step < 0) l.step = -l.step;
    if (l.step != 0 && l.count > 1) levels.push_back(l);
  }
  std::sort(levels.begin(), levels.end(), [](const Level& a, const Level& b) { return a.step < b.step; });
  Joined j = joined(narrow(base), levels);
  // The longest progression stays one; the copies that the others make are listed.
  for (Level& l : j.outer)
    if (j.apart && l.count > j.inner.count && j.inner.count > 1) {
      const Level inner{j.inner.stride, j.inner.count};
      j.inner.stride = l.step;
      j.inner.count = l.count;
      l = inner;
    }
  AxisPart out = {j.inner};
  for (const Level& l : j.outer) {
    if (static_cast<std::uint64_t>(l.count) > most / out.size()) return std::nullopt;
    AxisPart copies;
    for (std::int64_t i = 0; i < l.count; ++i)
      for (Stripes s : out) {
        s.begin += i * l.step;
        if (j.apart) copies.push_back(s);
        if (!j.apart && !append_new(copies, s, most)) return std::nullopt;
      }
    out = std::move(copies);
  }
  return out;
}

// --- boxes ---

std::vector<StridedBox> boxes_of(const std::vector<AxisPart>& parts) {
  std::vector<StridedBox> out(1);
  for (const AxisPart& part : parts) {
    STRATA_CHECK(part.empty() || out.size() <= kMostBoxes / part.size(), budget, "[boxes] more than ", kMostBoxes,
                 " boxes");
    std::vector<StridedBox> longer;
    longer.reserve(out.size() * part.size());
    for (const StridedBox& box : out)
      for (const Stripes& s : part) {
        longer.push_back(box);
        longer.back().push_back(s);
      }
    out = std::move(longer);
  }
  return out;
}

namespace {

bool are_apart(const StridedBox& a, const StridedBox& b) {
  for (std::size_t j = 0; j < a.size(); ++j)
    if (a[j].end() <= b[j].begin || b[j].end() <= a[j].begin) return true;
  return false;
}

/// Appends the indices of `a` that are not in `b`: for each axis j those that are in `b` on all axes before j, and not
/// on j. False where that takes more than `most` boxes.
bool append_difference(std::vector<StridedBox>& out, const StridedBox& a, const StridedBox& b, std::size_t most) {
  std::vector<AxisPart> parts, common;
  bool apart = are_apart(a, b);
  for (std::size_t j = 0; j < a.size() && !apart; ++j) {
    const std::optional<AxisPart> both = intersection(a[j], b[j], most);
    if (!both) return false;
    apart = both->empty();
    common.push_back(*both);
    parts.push_back({a[j]});
  }
  if (apart) out.push_back(a);
  for (std::size_t j = 0; j < a.size() && !apart; ++j) {
    const std::optional<AxisPart> outside = difference(a[j], b[j], most);
    if (!outside) return false;
    parts[j] = *outside;
    std::size_t combinations = 1;
    for (const AxisPart& part : parts) combinations = std::min(combinations * part.size(), most + 1);
    if (out.size() + combinations > most) return false;
    for (StridedBox& box : boxes_of(parts)) out.push_back(std::move(box));
    parts[j] = common[j];
  }
  return out.size() <= most;
}

}  // namespace

std::optional<std::vector<StridedBox>> disjoint(const std::vector<StridedBox>& boxes, std::size_t most) {
  std::vector<StridedBox> out;
  for (const StridedBox& box : boxes) {
    std::vector<StridedBox> fresh = {box};
    for (const StridedBox& old : out) {
      std::vector<StridedBox> rest;
      for (const StridedBox& part : fresh)
        if (!append_difference(rest, part, old, most)) return std::nullopt;
      fresh = std::move(rest);
    }
    if (out.size() + fresh.size() > most) return std::nullopt;
    out.insert(out.end(), fresh.begin(), fresh.end());
  }
  return out;
}

StridedBox hull(const std::vector<StridedBox>& boxes) {
  StridedBox out;
  for (std::size_t j = 0; j < boxes.front().size(); ++j) {
    std::int64_t begin = boxes.front()[j].begin, end = boxes.front()[j].end();
    for (const StridedBox& box : boxes) {
      begin = std::min(begin, box[j].begin);
      end = std::max(end, box[j].end());
    }
    out.push_back(interval(begin, end));
  }
  return out;
}

std::string render(const Stripes& s) {
  const std::string first = detail::message(s.begin, ":", s.begin + s.length);
  return s.count == 1 ? first : detail::message(first, "/", s.stride, "*", s.count);
}

std::string render(const StridedBox& box) {
  std::string out = "[";
  for (const Stripes& s : box) out += detail::message(out.size() == 1 ? "" : ", ", render(s));
  return out + "]";
}

}  // namespace strata
