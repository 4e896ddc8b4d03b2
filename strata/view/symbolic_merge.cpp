// Two Views of symbolic sizes as one: the one-piece test of piecewise.h on polynomials.
//
// The upper view's address is an affine function of its indices, with polynomials as coefficients. Each digit of the lower
// view is floor(address / place) % size: affine iff for a candidate quotient the rest stays in [0, place) at the two
// extreme corners of the index box; there the inequalities between polynomials have to be shown. The candidates come from
// polynomial division and one sample point, which is all that a quotient of one form for all sizes can be. A mask of
// the lower view has to be implied by, or say the same as, bounds of single indices. Only values of the sizes for which
// some index is left count: elsewhere every View of the mask says the same.

#include <algorithm>
#include <tuple>

#include "strata/view/merge.h"
#include "strata/view/sizes.h"

namespace strata {
namespace {

constexpr std::size_t kMostOpenSigns = 4;  // coefficients of unknown sign: all corners are looked at

/// Thrown by a step whose condition is not shown: the merge ends. `wanted` would let it pass; none when it is 0.
struct NotShown {
  Expr wanted;
};

// base + sum step[j] * k[j] over the axes' local indices.
struct AffinePolynomial {
  Polynomial base;
  std::vector<Polynomial> step;
};

struct MergeAxis {
  Polynomial begin, extent;  ///< local index k runs over [0, extent); the index is begin + k
  Extent mask;               ///< what is valid so far, also at sizes that leave no index
  bool narrowed = false;     ///< true iff a mask of the lower view bounds it
};

// A digit of the lower view's index: floor(rest / place), times stride, where begin <= digit < end.
struct Digit {
  Polynomial size, stride, begin, end, place;
  bool masked = false;
};

// Which sample point's quotients are tried, and what conditions are looked for on it.
struct Guide {
  std::size_t number = 0;  ///< among those with some index in every direction
  bool divisible = false;  ///< want what is left of a quotient divided, not compared
};

class SymbolicMerge {
 public:
  SymbolicMerge(const View& lower, const View& upper, const Guide& guide)
      : lower_(lower), upper_(upper), guide_(guide) {}

  /// A View for all values of the sizes where `assumption` holds. @throws NotShown, Error
  View run(const Expr& assumption) {
    if (!sizes_.assume(assumption) || !read_upper() || !read_lower()) return nowhere();
    find_point();
    reduce({size_, {}, {}, {}, {}, false}, size_);
    for (const Digit& d : digits_) {
      if (d.masked && !keep_valid(d)) return nowhere();
      reduce(d, d.place);
    }
    return result();
  }

  /// At how many sample points `condition` holds.
  std::size_t weight(const Expr& condition) {
    const Polynomial truth = sizes_.polynomial(condition != 0);
    std::size_t out = 0;
    for (std::size_t i = 0; i < Sizes::kPoints; ++i) out += sizes_.at(truth, i) == std::int64_t{1};
    return out;
  }

 private:
  // --- reading the views ---

  /// False when no index is valid.
  bool read_upper() {
    rest_.base = sizes_.polynomial(upper_.offset());
    for (std::size_t j = 0; j < upper_.rank(); ++j) {
      const Polynomial size = sizes_.polynomial(upper_.shape()[j]);
      Polynomial begin, end = size;
      if (upper_.mask()) {
        begin = sizes_.polynomial((*upper_.mask())[j].begin);
        end = sizes_.polynomial((*upper_.mask())[j].end);
        if (!sizes_.assume_nonnegative(size - 1)) return false;
        if (sizes_.is_nonnegative(end - size)) end = size;
      }
      const Extent mask = upper_.mask() ? (*upper_.mask())[j] : Extent{0, upper_.shape()[j]};
      axes_.push_back({begin, end - begin, mask, false});
      rest_.step.push_back(sizes_.polynomial(upper_.strides()[j]));
      rest_.base += rest_.step[j] * begin;
    }
    address_.step.resize(axes_.size());
    return std::all_of(axes_.begin(), axes_.end(),
                       [&](const MergeAxis& a) { return sizes_.assume_nonnegative(a.extent - 1); });
  }

  /// Its digits, coalesced: neighbours that are linear in their joint digit and keep one interval are one.
  bool read_lower() {
    address_.base = sizes_.polynomial(lower_.offset());
    for (std::size_t t = 0; t < lower_.rank(); ++t) {
      Digit d;
      d.size = d.end = sizes_.polynomial(lower_.shape()[t]);
      d.stride = sizes_.polynomial(lower_.strides()[t]);
      if (lower_.mask()) {
        d.begin = sizes_.polynomial((*lower_.mask())[t].begin);
        d.end = sizes_.polynomial((*lower_.mask())[t].end);
        d.masked = !sizes_.is_nonnegative(-d.begin) || !sizes_.is_nonnegative(d.end - d.size);
      }
      if (sizes_.is_nonnegative(d.begin - d.end)) return false;
      if (!d.masked && d.size == Polynomial(1)) continue;
      if (digits_.empty() || !join(digits_.back(), d)) digits_.push_back(d);
    }
    for (std::size_t t = digits_.size(); t-- > 0;) {
      digits_[t].place = size_;
      size_ = size_ * digits_[t].size;
    }
    return true;
  }

  bool join(Digit& outer, const Digit& inner) {
    const Polynomial jump = outer.stride - inner.size * inner.stride;
    if (!inner.masked && sizes_.is_zero(jump)) {
      outer.begin = outer.begin * inner.size;
      outer.end = outer.end * inner.size;
    } else if (outer.masked && outer.end - outer.begin == Polynomial(1) &&
               sizes_.is_nonnegative(outer.begin) && sizes_.is_nonnegative(outer.size - outer.end) &&
               sizes_.is_nonnegative(inner.begin) && sizes_.is_nonnegative(inner.size - inner.end)) {
      // the outer digit is pinned: its share of the address is a constant
      address_.base += jump * outer.begin;
      outer.end = outer.begin * inner.size + inner.end;
      outer.begin = outer.begin * inner.size + inner.begin;
    } else {
      return false;
    }
    outer.size = outer.size * inner.size;
    outer.stride = inner.stride;
    outer.masked = outer.masked || inner.masked;
    return true;
  }

  // The slope of a quotient shows at points where every axis takes a step.
  void find_point() {
    std::size_t seen = 0;
    for (std::size_t i = 0; i < Sizes::kPoints; ++i) {
      const bool steps = std::all_of(axes_.begin(), axes_.end(), [&](const MergeAxis& a) {
        return a.extent == Polynomial(1) || sizes_.at(a.extent, i).value_or(0) > 1;
      });
      if (!steps || !sizes_.at(Polynomial(), i)) continue;
      point_ = i;
      if (seen++ == guide_.number) return;
    }
    if (seen == 0 || guide_.number != 0) throw NotShown{0};  // no such point
  }

  // --- conditions ---

  /// Ends the merge unless each of `all` is shown to be nonnegative.
  void need(const std::vector<Polynomial>& all) {
    std::vector<Expr> wanted;
    bool plausible = true;
    for (const Polynomial& p : all) {
      if (sizes_.is_nonnegative(p)) continue;
      const std::optional<std::int64_t> value = sizes_.at(p, point_);
      plausible = plausible && value && *value >= 0;
      if (plausible) wanted.push_back(sizes_.to_expr(p) >= 0);
    }
    if (!plausible) throw NotShown{0};
    if (!wanted.empty()) throw NotShown{all_of(wanted)};
  }

  bool shown(const std::vector<Polynomial>& all) {
    return std::all_of(all.begin(), all.end(),
                       [&](const Polynomial& p) { return sizes_.is_nonnegative(p); });
  }

  /// Bounds of `f` over the box, leaving out axis `without`: exact where signs are known; otherwise all candidates.
  std::pair<std::vector<Polynomial>, std::vector<Polynomial>> corners(const AffinePolynomial& f,
                                                                      std::size_t without = SIZE_MAX) {
    std::vector<Polynomial> low{f.base}, high{f.base};
    std::size_t open = 0;
    for (std::size_t j = 0; j < axes_.size(); ++j) {
      if (j == without || f.step[j].is_zero() || axes_[j].extent == Polynomial(1)) continue;
      const Polynomial reach = f.step[j] * (axes_[j].extent - 1);
      const bool up = sizes_.is_nonnegative(f.step[j]);
      const bool down = !up && sizes_.is_nonnegative(-f.step[j]);
      if (!up && !down && ++open > kMostOpenSigns) throw NotShown{0};
      extend(high, reach, !down, up);
      extend(low, reach, !up, down);
    }
    return {low, high};
  }

  // Adds `reach` to every candidate: not at all, as another candidate, or for sure.
  static void extend(std::vector<Polynomial>& all, const Polynomial& reach, bool may, bool must) {
    if (!may) return;
    const std::size_t before = all.size();
    for (std::size_t i = 0; i < before; ++i) {
      if (!must) all.push_back(all[i]);
      all[i] += reach;
    }
  }

  // --- masks of the lower view ---

  static AffinePolynomial plus(AffinePolynomial f, const Polynomial& constant) {
    f.base += constant;
    return f;
  }
  // -f - 1: at least 0 where f < 0
  static AffinePolynomial negated(AffinePolynomial f) {
    f.base = -f.base - 1;
    for (Polynomial& s : f.step) s = -s;
    return f;
  }

  /// Keeps the indices with begin <= floor(rest / place) < end. False when there are none.
  bool keep_valid(const Digit& d) {
    for (std::size_t round = 0; round <= axes_.size(); ++round) {
      const Answer above = keep(plus(rest_, -d.begin * d.place));
      if (above == Answer::no) return false;
      const Answer below = keep(negated(plus(rest_, -d.end * d.place)));
      if (below == Answer::no) return false;
      if (above == Answer::yes && below == Answer::yes) return true;
      const AffinePolynomial first = plus(rest_, -d.begin * d.place);
      const AffinePolynomial last = negated(plus(rest_, -d.end * d.place));
      const Polynomial width = (d.end - d.begin) * d.place;
      Answer pinned = pin(first, width);
      if (pinned == Answer::unknown) pinned = pin(last, width);
      if (pinned == Answer::no) return false;
      if (pinned == Answer::yes) continue;
      std::vector<Polynomial> conditions = corners(first).first;
      for (const Polynomial& p : corners(last).first) conditions.push_back(p);
      need(conditions);
      return true;
    }
    throw NotShown{0};
  }

  /// Keeps the indices with f >= 0, where they are those from or below some index of one axis: no when there are none.
  Answer keep(const AffinePolynomial& f) {
    const auto [low, high] = corners(f);
    if (shown(low)) return Answer::yes;
    if (std::all_of(high.begin(), high.end(),
                    [&](const Polynomial& p) { return sizes_.is_nonnegative(-p - 1); }))
      return Answer::no;
    for (std::size_t j = 0; j < axes_.size(); ++j) {
      if (f.step[j].is_zero() || axes_[j].extent == Polynomial(1)) continue;
      if (sizes_.is_nonnegative(f.step[j] - 1)) {
        if (const auto first = first_index(f, j, f.step[j])) return answer(keep_from(j, *first));
      } else if (sizes_.is_nonnegative(-f.step[j] - 1)) {  // up to the first k with f < 0
        if (const auto end = first_index(negated(f), j, -f.step[j]))
          return answer(keep_below(j, *end));
      }
    }
    return Answer::unknown;
  }
  static Answer answer(bool some) { return some ? Answer::yes : Answer::no; }

  /// Keeps the one index of an axis for which 0 <= f < width can hold, where there is such an axis.
  Answer pin(const AffinePolynomial& f, const Polynomial& width) {
    for (std::size_t j = 0; j < axes_.size(); ++j) {
      const Polynomial& step = f.step[j];
      if (axes_[j].extent == Polynomial(1) || !sizes_.is_nonnegative(step - 1)) continue;
      const auto [low, high] = corners(f, j);
      auto [at, rest] = divide(-low[0], step);
      const auto r = sizes_.at(rest, point_), s = sizes_.at(step, point_);
      if (!r || !s || *s <= 0) continue;
      at += floor_div(*r, *s);
      std::vector<Polynomial> conditions;
      for (const Polynomial& p : low) conditions.push_back(p + step * (at + 1) - width);
      for (const Polynomial& p : high) conditions.push_back(-(p + step * (at - 1)) - 1);
      if (shown(conditions)) return answer(keep_from(j, at) && keep_below(j, 1));
    }
    return Answer::unknown;
  }

  /// The k of axis j from which on f >= 0 whatever the other indices are, and below which f < 0 whatever they are.
  std::optional<Polynomial> first_index(const AffinePolynomial& f, std::size_t j,
                                        const Polynomial& step) {
    const auto [low, high] = corners(f, j);
    const auto is_first = [&](const Polynomial& first) {
      std::vector<Polynomial> conditions;
      for (const Polynomial& p : low) conditions.push_back(p + step * first);
      for (const Polynomial& p : high) conditions.push_back(-(p + step * (first - 1)) - 1);
      return shown(conditions);
    };
    const auto [quotient, rest] = divide(-low[0], step);
    const auto r = sizes_.at(rest, point_), s = sizes_.at(step, point_);
    if (!r || !s || *s <= 0) return std::nullopt;
    Polynomial first = quotient - floor_div(-*r, *s);
    if (is_first(first)) return first;
    if (!step.is_constant()) return std::nullopt;
    first = sizes_.polynomial(ceildiv(-sizes_.to_expr(low[0]), step.constant()));
    const bool alone = low.size() == 1 && high == low;  // then this is what it says
    return alone || is_first(first) ? std::optional(first) : std::nullopt;
  }

  bool keep_from(std::size_t j, Polynomial first) {
    if (!sizes_.is_nonnegative(first))
      first = sizes_.polynomial(max(sizes_.to_expr(first), Expr(0)));
    MergeAxis& a = axes_[j];
    a.begin += first;
    a.extent -= first;
    a.narrowed = true;
    const Int begin = sizes_.to_int(a.begin);
    if (!known(is_at_most(begin, a.mask.begin)))
      a.mask.begin = known(is_at_most(a.mask.begin, begin))
                         ? begin
                         : Int(max(a.mask.begin.expr(), begin.expr()));
    rest_.base += rest_.step[j] * first;
    address_.base += address_.step[j] * first;
    return sizes_.assume_nonnegative(a.extent - 1);
  }

  bool keep_below(std::size_t j, const Polynomial& end) {
    MergeAxis& a = axes_[j];
    const bool inside = sizes_.is_nonnegative(a.extent - end);
    a.extent = inside ? end : sizes_.polynomial(min(sizes_.to_expr(end), sizes_.to_expr(a.extent)));
    a.narrowed = true;
    const Int last = sizes_.to_int(a.begin + end);
    if (!known(is_at_most(a.mask.end, last)))
      a.mask.end =
          known(is_at_most(last, a.mask.end)) ? last : Int(min(a.mask.end.expr(), last.expr()));
    return sizes_.assume_nonnegative(a.extent - 1);
  }

  // --- floors ---

  /// rest = place * quotient + rest: adds stride * quotient to the address, and keeps the rest.
  void reduce(const Digit& d, const Polynomial& place) {
    AffinePolynomial quotient;
    std::tie(quotient.base, rest_.base) = slope(rest_.base, Polynomial(), place);
    for (std::size_t j = 0; j < axes_.size(); ++j) {
      Polynomial q, r;
      if (!(axes_[j].extent == Polynomial(1)))
        std::tie(q, r) = slope(rest_.step[j], rest_.base, place);
      quotient.step.push_back(q);
      rest_.step[j] = r;
    }
    const auto [low, high] = corners(rest_);
    std::vector<Polynomial> conditions = low;
    for (const Polynomial& p : high) conditions.push_back(place - p - 1);
    need(conditions);
    address_.base += d.stride * quotient.base;
    for (std::size_t j = 0; j < axes_.size(); ++j) address_.step[j] += d.stride * quotient.step[j];
  }

  /// The one q (and w - q * place) with 0 <= start + w - q * place < place at the guide that polynomial division gives.
  std::pair<Polynomial, Polynomial> slope(const Polynomial& w, const Polynomial& start,
                                          const Polynomial& place) {
    if (place == Polynomial(1)) return {w, {}};
    auto [quotient, rest] = divide(w, place);
    const auto p = sizes_.at(place, point_), r = sizes_.at(start + rest, point_);
    if (!p || !r || *p <= 0) return {quotient, rest};
    if (guide_.divisible && !rest.is_constant() && sizes_.at(rest, point_).value_or(1) % *p == 0)
      throw NotShown{sizes_.to_expr(rest) % sizes_.to_expr(place) == 0};
    const std::int64_t borrow = floor_div(*r, *p);
    return {quotient + borrow, rest - Polynomial(borrow) * place};
  }

  // --- the answer ---

  View nowhere() const {
    const std::size_t rank = upper_.rank();
    if (rank == 0) throw NotShown{0};  // without dimensions nothing is masked
    return View::create(upper_.shape(), Ints(rank, 0), 0, Mask(rank, Extent{0, 0}));
  }

  View result() {
    Ints strides;
    Polynomial offset = address_.base;
    std::optional<Mask> mask = upper_.mask();
    for (std::size_t j = 0; j < axes_.size(); ++j) {
      const MergeAxis& a = axes_[j];
      strides.push_back(sizes_.to_int(address_.step[j]));
      offset -= address_.step[j] * a.begin;
      if (!a.narrowed) continue;
      if (!mask) {
        mask.emplace();
        for (const Int& size : upper_.shape()) mask->push_back({0, size});
      }
      (*mask)[j] = a.mask;
    }
    return View::create(upper_.shape(), std::move(strides), sizes_.to_int(offset), std::move(mask));
  }

  const View& lower_;
  const View& upper_;
  const Guide guide_;
  Sizes sizes_;
  std::size_t point_ = 0;
  std::vector<MergeAxis> axes_;
  AffinePolynomial rest_, address_;
  std::vector<Digit> digits_;
  Polynomial size_ = 1;
};

struct Attempt {
  std::optional<View> view;
  Expr wanted;  ///< when there is no view: what may help; 0 when nothing does
  std::size_t weight = 0;
};

Attempt attempt(const View& lower, const View& upper, const Expr& assumption, const Guide& guide) {
  try {
    SymbolicMerge merge(lower, upper, guide);
    std::optional<View> view = merge.run(assumption);
    return {std::move(view), 0, assumption.is_constant() ? 0 : merge.weight(assumption)};
  } catch (const NotShown& missing) {
    return {std::nullopt, missing.wanted, 0};
  } catch (const Error&) {  // a value leaves 64 bits, or a polynomial its term limit: nothing is shown
    return {};
  }
}

constexpr std::size_t kGuides = 6, kMostConditions = 6;

// Leaves out of `conditions` what the merge does not need.
Attempt with_fewest(const View& lower, const View& upper, std::vector<Expr>& conditions,
                    const Guide& guide) {
  Attempt best = attempt(lower, upper, all_of(conditions), guide);
  for (std::size_t i = conditions.size(); i-- > 0 && conditions.size() > 1;) {
    std::vector<Expr> fewer = conditions;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    Attempt next = attempt(lower, upper, all_of(fewer), guide);
    if (!next.view) continue;
    conditions = std::move(fewer);
    best = std::move(next);
  }
  return best;
}

// Adds wanted conditions until the merge goes through.
std::optional<ShapeTracker::Guarded> guarded(const View& lower, const View& upper,
                                             const Guide& guide, std::size_t& weight) {
  std::vector<Expr> conditions;
  for (std::size_t n = 0; n < kMostConditions; ++n) {
    const Expr condition = all_of(conditions);
    const Attempt a = attempt(lower, upper, condition, guide);
    if (a.view) {
      Attempt best = with_fewest(lower, upper, conditions, guide);
      weight = best.weight;
      return ShapeTracker::Guarded{all_of(conditions), *std::move(best.view)};
    }
    const Expr next = condition && a.wanted;
    if (next.is_constant() || same(next, condition)) return std::nullopt;
    if (a.wanted.op() == Op::And) {
      for (const Expr& part : sources(a.wanted)) conditions.push_back(part);
    } else {
      conditions.push_back(a.wanted);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<View> merge_symbolic(const View& lower, const View& upper, const Expr& assumption) {
  return attempt(lower, upper, assumption, {}).view;
}

std::optional<ShapeTracker::Guarded> merge_guarded(const View& lower, const View& upper) {
  std::optional<ShapeTracker::Guarded> best;
  std::size_t most = 0;  // sample points on which the best condition holds
  for (const bool divisible : {true, false}) {
    for (std::size_t i = 0; i < kGuides; ++i) {
      std::size_t weight = 0;
      auto found = guarded(lower, upper, {i, divisible}, weight);
      if (!found || (best && weight <= most)) continue;
      best = std::move(found);
      most = weight;
    }
  }
  return best;
}

}  // namespace strata
