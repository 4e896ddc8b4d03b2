// Merges two Views with symbolic sizes into one: the one-piece test of piecewise.h, on polynomials.
//
// The upper view's address is an affine function of its indices, whose coefficients are polynomials. Each digit of the
// lower view is floor(address / place) % size. The floor is affine if, for a candidate quotient, the rest stays in [0,
// place) at the two extreme corners of the index box; these inequalities between polynomials must be shown. Polynomial
// division and one sample point give the candidate: a quotient of one form for all sizes must be correct at that point,
// too. A mask of the lower view must be implied by bounds on single indices, or be equal to such bounds. Sizes for
// which no index is left do not matter: there every View with this mask is right.

#include <algorithm>
#include <tuple>

#include "strata/view/merge.h"
#include "strata/view/sizes.h"

namespace strata {
namespace {

constexpr std::size_t kMostOpenSigns = 4;  // coefficients of unknown sign: all corners are checked

/// Thrown by a step whose condition is not shown; it ends the merge. Under `wanted` the step would succeed; 0 when none
/// helps.
struct NotShown {
  Expr wanted;
};

// base + sum over j of step[j] * k[j], over the local indices k of the axes.
struct AffinePolynomial {
  Polynomial base;
  std::vector<Polynomial> step;
};

struct MergeAxis {
  Polynomial begin, extent;  ///< local index k runs over [0, extent); the index is begin + k
  Extent mask;               ///< the valid indices so far, also right for sizes that leave no index
  bool narrowed = false;     ///< true iff a mask of the lower view narrowed this axis
};

// A digit of the lower view's index: floor(rest / place), which adds stride * digit where begin <= digit < end.
struct Digit {
  Polynomial size, stride, begin, end, place;
  bool masked = false;
};

// Chooses a sample point for quotients, and the kind of conditions to look for.
struct Guide {
  std::size_t number = 0;  ///< of the point, among those that find_point accepts
  bool divisible = false;  ///< look for divisibility of a rest, not for inequalities
};

class SymbolicMerge {
 public:
  SymbolicMerge(const View& lower, const View& upper, const Guide& guide)
      : lower_(lower), upper_(upper), guide_(guide) {}

  /// The merged View, right for all sizes that satisfy `assumption`. @throws NotShown, Error
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

  /// The number of sample points at which `condition` holds.
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

  /// Reads the lower view's digits. Neighbours that are linear in their joint digit and keep one interval are joined.
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
    } else if (outer.masked && outer.end - outer.begin == Polynomial(1) && sizes_.is_nonnegative(outer.begin) &&
               sizes_.is_nonnegative(outer.size - outer.end) && sizes_.is_nonnegative(inner.begin) &&
               sizes_.is_nonnegative(inner.size - inner.end)) {
      // the outer digit is pinned, so its share of the address is a constant
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

  // Finds a sample point at which every axis has a second index: there the slope of a quotient shows.
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

  /// Throws NotShown unless every polynomial of `all` is shown to be nonnegative.
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
    return std::all_of(all.begin(), all.end(), [&](const Polynomial& p) { return sizes_.is_nonnegative(p); });
  }

  /// Lower and upper bounds of `f` over the box, without axis `without`. One bound each where the signs of the steps
  /// are known; otherwise all candidates for the bound.
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

  // Adds `reach` to every candidate: to none, to a copy of each (`may`), or to each (`must`).
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
  // -f - 1, which is at least 0 exactly where f < 0
  static AffinePolynomial negated(AffinePolynomial f) {
    f.base = -f.base - 1;
    for (Polynomial& s : f.step) s = -s;
    return f;
  }

  /// Keeps the indices with begin <= floor(rest / place) < end. False when no index is left.
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

  /// Keeps the indices with f >= 0, if these are the indices from or below a bound along one axis. `no` when none is
  /// left; `unknown` when they have another form.
  Answer keep(const AffinePolynomial& f) {
    const auto [low, high] = corners(f);
    if (shown(low)) return Answer::yes;
    if (std::all_of(high.begin(), high.end(), [&](const Polynomial& p) { return sizes_.is_nonnegative(-p - 1); }))
      return Answer::no;
    for (std::size_t j = 0; j < axes_.size(); ++j) {
      if (f.step[j].is_zero() || axes_[j].extent == Polynomial(1)) continue;
      if (sizes_.is_nonnegative(f.step[j] - 1)) {
        if (const auto first = first_index(f, j, f.step[j])) return answer(keep_from(j, *first));
      } else if (sizes_.is_nonnegative(-f.step[j] - 1)) {  // below the first k with f < 0
        if (const auto end = first_index(negated(f), j, -f.step[j])) return answer(keep_below(j, *end));
      }
    }
    return Answer::unknown;
  }
  static Answer answer(bool some) { return some ? Answer::yes : Answer::no; }

  /// Keeps the one index of an axis at which 0 <= f < width is possible, when there is such an axis.
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

  /// The k of axis j with f >= 0 at and above k, and f < 0 below k, whatever the other indices are.
  std::optional<Polynomial> first_index(const AffinePolynomial& f, std::size_t j, const Polynomial& step) {
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
    const bool alone = low.size() == 1 && high == low;  // then `first` is exact by definition
    return alone || is_first(first) ? std::optional(first) : std::nullopt;
  }

  bool keep_from(std::size_t j, Polynomial first) {
    if (!sizes_.is_nonnegative(first)) first = sizes_.polynomial(max(sizes_.to_expr(first), Expr(0)));
    MergeAxis& a = axes_[j];
    a.begin += first;
    a.extent -= first;
    a.narrowed = true;
    const Int begin = sizes_.to_int(a.begin);
    if (!known(is_at_most(begin, a.mask.begin)))
      a.mask.begin = known(is_at_most(a.mask.begin, begin)) ? begin : Int(max(a.mask.begin.expr(), begin.expr()));
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
      a.mask.end = known(is_at_most(last, a.mask.end)) ? last : Int(min(a.mask.end.expr(), last.expr()));
    return sizes_.assume_nonnegative(a.extent - 1);
  }

  // --- floors ---

  /// Writes rest = place * quotient + rest: adds stride * quotient to the address and keeps the new rest.
  void reduce(const Digit& d, const Polynomial& place) {
    AffinePolynomial quotient;
    std::tie(quotient.base, rest_.base) = slope(rest_.base, Polynomial(), place);
    for (std::size_t j = 0; j < axes_.size(); ++j) {
      Polynomial q, r;
      if (!(axes_[j].extent == Polynomial(1))) std::tie(q, r) = slope(rest_.step[j], rest_.base, place);
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

  /// Polynomial division of w by place, corrected by an integer so that 0 <= start + rest < place holds at the sample
  /// point. Returns the quotient and the rest.
  std::pair<Polynomial, Polynomial> slope(const Polynomial& w, const Polynomial& start, const Polynomial& place) {
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
    if (rank == 0) throw NotShown{0};  // a View without dimensions has no mask
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
  Expr wanted;  ///< without a view: a condition that may help; 0 when there is none
  std::size_t weight = 0;
};

Attempt attempt(const View& lower, const View& upper, const Expr& assumption, const Guide& guide) {
  try {
    SymbolicMerge merge(lower, upper, guide);
    std::optional<View> view = merge.run(assumption);
    return {std::move(view), 0, assumption.is_constant() ? 0 : merge.weight(assumption)};
  } catch (const NotShown& missing) {
    return {std::nullopt, missing.wanted, 0};
  } catch (const Error&) {  // overflow, or too many terms of a polynomial: nothing is shown
    return {};
  }
}

constexpr std::size_t kGuides = 6, kMostConditions = 6;

// Removes the conditions that the merge does not need.
Attempt with_fewest(const View& lower, const View& upper, std::vector<Expr>& conditions, const Guide& guide) {
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

// Adds wanted conditions until the merge succeeds.
std::optional<ShapeTracker::Guarded> guarded(const View& lower, const View& upper, const Guide& guide,
                                             std::size_t& weight) {
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
  std::size_t most = 0;  // the number of sample points at which the best condition holds
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
