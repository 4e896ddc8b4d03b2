#include "strata/mesh/box_copy.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "strata/base/check.h"

namespace strata {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

std::int64_t product_of(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  STRATA_CHECK(try_mul(a, b, out), overflow, "[mesh] a box has more elements than 64 bits count");
  return out;
}

}  // namespace

// --- arrangements ---

Arrangement Arrangement::local(const Sharding& sharding, std::int64_t rank) {
  sharding.mesh().check(rank);
  Arrangement out;
  out.axes_.resize(sharding.shape().size());
  for (std::size_t j = 0; j < out.axes_.size(); ++j) out.axes_[j].end = sharding.shape()[j];
  for (const Sharding::Digit& d : sharding.digits()) {
    std::vector<Term>& terms = out.axes_[d.axis].terms;
    if (d.of_rank)
      terms.push_back({d.place, d.size, 0, d.of(rank)});
    else
      terms.push_back({d.place, d.size, d.weight, {}});
  }
  for (Axis& axis : out.axes_) {
    std::sort(axis.terms.begin(), axis.terms.end(), [](const Term& a, const Term& b) { return a.place < b.place; });
    std::vector<Term> joined;
    for (const Term& t : axis.terms) {
      Term* const last = joined.empty() ? nullptr : &joined.back();
      if (last && !last->of_rank && !t.of_rank && last->place * last->size == t.place &&
          last->weight * last->size == t.weight)
        last->size *= t.size;
      else
        joined.push_back(t);
    }
    axis.terms = std::move(joined);
  }
  return out;
}

Arrangement Arrangement::dense(const StridedBox& box) {
  Arrangement out;
  out.axes_.resize(box.size());
  std::int64_t step = 1;
  for (std::size_t j = box.size(); j-- > 0; step = product_of(step, box[j].size())) {
    STRATA_ASSERT(box[j].count == 1, "a dense box has intervals, not ", render(box[j]));
    out.axes_[j] = {{{1, kFar, step, {}}}, box[j].end(), box[j].begin, false, 0};
  }
  return out;
}

Arrangement Arrangement::message(const StridedBox& box, std::int64_t begin) {
  Arrangement out;
  out.begin_ = begin;
  out.axes_.resize(box.size());
  std::int64_t step = 1;
  for (std::size_t j = box.size(); j-- > 0; step = product_of(step, box[j].size()))
    out.axes_[j] = {{}, kFar, 0, true, step};
  return out;
}

std::int64_t Arrangement::offset(const Axis& axis, std::int64_t x) {
  std::int64_t out = 0;
  for (const Term& t : axis.terms)
    if (!t.of_rank) out += (x - axis.begin) / t.place % t.size * t.weight;
  return out;
}

Arrangement::Piece Arrangement::piece(std::size_t axis, const Stripes& s, std::int64_t k, std::int64_t i) const {
  const Axis& a = axes_[axis];
  if (a.is_message) return {(k * s.length + i) * a.step, a.step, s.length - i, true};
  const std::int64_t x = s.begin + k * s.stride + i - a.begin;
  const std::int64_t end = a.end - a.begin;
  Piece out{0, 0, s.length - i, 0 <= x && x < end};
  if (!out.is_present) {
    if (x < 0) out.length = std::min(out.length, -x);
    return out;
  }
  out.length = std::min(out.length, end - x);
  out.at = offset(a, s.begin + k * s.stride + i);
  for (const Term& t : a.terms) {
    if (t.of_rank && x / t.place % t.size != *t.of_rank) out.is_present = false;
    if (t.place > 1) out.length = std::min(out.length, t.place - x % t.place);
    if (t.place == 1 && t.size < end) out.length = std::min(out.length, t.size - x % t.size);
    if (t.place == 1 && t.of_rank) out.length = 1;
    if (t.place == 1 && !t.of_rank) out.step = t.weight;
  }
  return out;
}

// Whether the begins of the intervals of `s` differ in digits of local indices that do not wrap; `outer` is then how
// far they are apart in memory.
bool Arrangement::steps_alone(const Axis& axis, const Stripes& s, std::int64_t& outer) {
  outer = 0;
  for (const Term& t : axis.terms) {
    std::int64_t period = 0;
    if (try_mul(t.place, t.size, period) && s.stride % period == 0) continue;  // the same digit in each
    if (t.of_rank || s.stride % t.place != 0) return false;
    const std::int64_t first = (s.begin - axis.begin) / t.place % t.size;
    const std::int64_t step = s.stride / t.place;
    if (step > (t.size - 1 - first) / (s.count - 1)) return false;
    outer += step * t.weight;
  }
  return true;
}

std::optional<Arrangement::Affine> Arrangement::affine(std::size_t axis, const Stripes& s) const {
  const Axis& a = axes_[axis];
  if (a.is_message) return Affine{0, a.step, s.length * a.step};
  if (s.begin < a.begin || s.end() > a.end) return std::nullopt;
  const Stripes whole = interval(s.begin, s.end());
  const Piece all = piece(axis, whole, 0, 0);
  if (!all.is_present) return std::nullopt;
  if (all.length == whole.length) return Affine{all.at, all.step, all.step * s.stride};
  const Piece first = piece(axis, s, 0, 0);
  std::int64_t outer = 0;
  if (s.count == 1 || first.length != s.length || !steps_alone(a, s, outer)) return std::nullopt;
  return Affine{first.at, first.step, outer};
}

// --- copies ---

std::vector<BoxCopy::Run> BoxCopy::runs_of(std::size_t axis, const Stripes& s, const Arrangement& from,
                                           const Arrangement& to) {
  constexpr std::int64_t kShort = 8;  // intervals of fewer elements are copied across
  std::vector<Run> out;
  const auto source = from.affine(axis, s);
  const auto target = to.affine(axis, s);
  if (source && target) {
    const bool is_across = s.count > s.length && s.length < kShort;
    const std::int64_t lines = is_across ? s.length : s.count;
    for (std::int64_t n = 0; n < lines; ++n) {
      if (is_across)
        out.push_back(
            {source->at + n * source->inner, target->at + n * target->inner, source->outer, target->outer, s.count});
      else
        out.push_back(
            {source->at + n * source->outer, target->at + n * target->outer, source->inner, target->inner, s.length});
    }
    return out;
  }
  for (std::int64_t k = 0; k < s.count; ++k)
    for (std::int64_t i = 0, length = 0; i < s.length; i += length) {
      const auto a = from.piece(axis, s, k, i), b = to.piece(axis, s, k, i);
      length = std::min(a.length, b.length);
      if (a.is_present && b.is_present) out.push_back({a.at, b.at, a.step, b.step, length});
    }
  return out;
}

BoxCopy::BoxCopy(const StridedBox& box, const Arrangement& from, const Arrangement& to)
    : from_(from.begin_), to_(to.begin_) {
  for (std::size_t j = 0; j < box.size(); ++j) axes_.push_back(runs_of(j, box[j], from, to));
  join_axes();
}

// Neighbouring axes of one run each, where the outer one goes on behind the inner one, are one axis.
void BoxCopy::join_axes() {
  for (std::size_t j = axes_.size(); j-- > 1;) {
    if (axes_[j].size() != 1 || axes_[j - 1].size() != 1) continue;
    Run& outer = axes_[j - 1][0];
    Run& inner = axes_[j][0];
    if (inner.count == 1) std::swap(inner.from_step, outer.from_step), std::swap(inner.to_step, outer.to_step);
    if (inner.count != 1 && outer.count != 1 &&
        (outer.from_step != inner.from_step * inner.count || outer.to_step != inner.to_step * inner.count))
      continue;
    outer = {outer.from + inner.from, outer.to + inner.to, inner.from_step, inner.to_step, outer.count * inner.count};
    axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(j));
  }
  if (axes_.size() == 1 && axes_[0].size() == 1) {
    Run& run = axes_[0][0];
    from_ += run.from, to_ += run.to;
    run.from = run.to = 0;
    if (run.count == 1) run.from_step = run.to_step = 1;
  }
}

std::optional<std::int64_t> BoxCopy::contiguous_from() const {
  if (axes_.empty()) return from_;
  if (axes_.size() != 1 || axes_[0].size() != 1) return std::nullopt;
  const Run& run = axes_[0][0];
  if (run.from_step != 1 || run.to_step != 1) return std::nullopt;
  return from_;
}

std::int64_t BoxCopy::elements() const {
  std::int64_t out = 1;
  for (const std::vector<Run>& runs : axes_) {
    std::int64_t sum = 0;
    for (const Run& run : runs) sum += run.count;
    out *= sum;
  }
  return out;
}

namespace {

/// Bytes that one memcpy() copies. NOTE: glibc's goes around the caches for large copies, which other ranks then wait
/// for.
constexpr std::size_t kAtOnce = std::size_t{1} << 17;

/// `lines` lines of `count` elements of N bytes. Steps are in bytes.
struct Lines {
  std::int64_t lines = 1, from_line = 0, to_line = 0;
  std::int64_t count = 1, from_step = 0, to_step = 0;
};

template <std::size_t N>
void copy_elements(const std::byte* from, std::byte* to, const Lines& l) {
  for (std::int64_t k = 0; k < l.lines; ++k, from += l.from_line, to += l.to_line) {
    const std::byte* a = from;
    std::byte* b = to;
    for (std::int64_t n = 0; n < l.count; ++n, a += l.from_step, b += l.to_step) std::memcpy(b, a, N);
  }
}

void copy_lines(const std::byte* from, std::byte* to, const Lines& l, std::int64_t itemsize) {
  const bool is_dense = l.count == 1 || (l.from_step == itemsize && l.to_step == itemsize);
  if (is_dense && l.count * itemsize > 16) {
    const auto bytes = static_cast<std::size_t>(l.count * itemsize);
    for (std::int64_t k = 0; k < l.lines; ++k, from += l.from_line, to += l.to_line)
      for (std::size_t n = 0; n < bytes; n += kAtOnce) std::memcpy(to + n, from + n, std::min(kAtOnce, bytes - n));
    return;
  }
  switch (itemsize) {
    case 1: return copy_elements<1>(from, to, l);
    case 2: return copy_elements<2>(from, to, l);
    case 4: return copy_elements<4>(from, to, l);
    case 8: return copy_elements<8>(from, to, l);
    case 16: return copy_elements<16>(from, to, l);
    default: break;
  }
  for (std::int64_t k = 0; k < l.lines; ++k)
    for (std::int64_t n = 0; n < l.count; ++n)
      std::memcpy(to + k * l.to_line + n * l.to_step, from + k * l.from_line + n * l.from_step,
                  static_cast<std::size_t>(itemsize));
}

}  // namespace

/// All elements of the last two axes, from the places that the others make.
void BoxCopy::run_inner(const std::byte* from, std::byte* to, std::int64_t itemsize) const {
  const Run one{0, 0, 0, 0, 1};
  const bool has_outer = axes_.size() > 1;
  const std::span<const Run> outer = has_outer ? std::span(axes_[axes_.size() - 2]) : std::span(&one, 1);
  for (const Run& o : outer)
    for (const Run& i : axes_.back())
      copy_lines(from + (o.from + i.from) * itemsize, to + (o.to + i.to) * itemsize,
                 {o.count, o.from_step * itemsize, o.to_step * itemsize, i.count, i.from_step * itemsize,
                  i.to_step * itemsize},
                 itemsize);
}

void BoxCopy::run(const void* from, void* to, std::int64_t itemsize) const {
  const auto* const source = static_cast<const std::byte*>(from) + from_ * itemsize;
  auto* const target = static_cast<std::byte*>(to) + to_ * itemsize;
  if (axes_.empty()) {
    std::memcpy(target, source, static_cast<std::size_t>(itemsize));
    return;
  }
  if (std::any_of(axes_.begin(), axes_.end(), [](const auto& runs) { return runs.empty(); })) return;
  // Where each outer axis is: its run, and the element of the run.
  struct At {
    std::size_t run = 0;
    std::int64_t element = 0;
  };
  std::vector<At> at(axes_.size() > 2 ? axes_.size() - 2 : 0);
  while (true) {
    std::int64_t a = 0, b = 0;
    for (std::size_t j = 0; j < at.size(); ++j) {
      const Run& run = axes_[j][at[j].run];
      a += run.from + at[j].element * run.from_step;
      b += run.to + at[j].element * run.to_step;
    }
    run_inner(source + a * itemsize, target + b * itemsize, itemsize);
    std::size_t j = at.size();
    for (; j > 0; --j) {
      At& place = at[j - 1];
      if (++place.element < axes_[j - 1][place.run].count) break;
      place.element = 0;
      if (++place.run < axes_[j - 1].size()) break;
      place.run = 0;
    }
    if (j == 0) return;
  }
}

}  // namespace strata
