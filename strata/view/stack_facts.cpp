// Facts about the addresses of a stack of Views. For numbers they are read off the pieces of the index function,
// exactly; for symbolic sizes off the single View, or off the index expression.

#include "strata/view/stack_facts.h"

#include <algorithm>
#include <utility>

#include "strata/view/merge.h"
#include "strata/view/size_ops.h"

namespace strata {
namespace {

constexpr std::uint64_t kPairBudget = std::uint64_t{1} << 22;  // pairs of neighbouring pieces to look at

Piecewise as_piecewise(const ShapeTracker& st) {
  std::vector<Strided> boxes;
  boxes.reserve(st.views().size());
  for (const View& v : st.views()) boxes.push_back(to_strided(v));
  return piecewise(boxes);
}

// --- ranges of addresses ---

struct Extremes {
  Int128 lo, hi;
};

Extremes extremes(const Piece& p) {
  Extremes out{p.base, p.base};
  for (std::size_t j = 0; j < p.extent.size(); ++j) {
    const Int128 reach = static_cast<Int128>(p.slope[j]) * (p.extent[j] - 1);
    (reach < 0 ? out.lo : out.hi) += reach;
  }
  return out;
}

/// The least and the largest address of the pieces added so far.
class AddressesSeen {
 public:
  void add(const Piece& p) {
    const Extremes one = extremes(p);
    all_ = all_ ? Extremes{std::min(all_->lo, one.lo), std::max(all_->hi, one.hi)} : one;
  }
  AddressRange get() const {
    if (!all_) return {true, 0, 0};
    // Addresses of valid indices fit in 64 bits.
    return {false, static_cast<std::int64_t>(all_->lo), static_cast<std::int64_t>(all_->hi)};
  }

 private:
  std::optional<Extremes> all_;
};

AddressRange range_of_numbers(const ShapeTracker& st, std::string_view operation) {
  const Piecewise f = as_piecewise(st);
  Pieces pieces(f, kPieceBudget);
  AddressesSeen range;
  Piece p;
  while (pieces.next(p)) range.add(p);
  STRATA_CHECK(pieces.complete(), budget, "[", operation, "] the addresses of ", st.render(), " take more than ",
               kPieceBudget, " steps");
  return range.get();
}

AddressRange range_of_sizes(const ShapeTracker& st, std::string_view operation) {
  const ShapeTracker simple = st.simplify();
  const View& v = simple.views().back();
  bool clear = simple.views().size() == 1;
  AddressRange out{false, v.offset(), v.offset()};
  for (std::size_t j = 0; j < v.rank() && clear; ++j) {
    const Extent valid = v.mask() ? (*v.mask())[j] : Extent{0, v.shape()[j]};
    const Int& stride = v.strides()[j];
    const bool up = surely_at_most(0, stride);
    clear = surely_at_most(0, valid.begin) && surely_less(valid.begin, valid.end) &&
            surely_at_most(valid.end, v.shape()[j]) && (up || surely_at_most(stride, 0));
    const Int last = valid.end - 1;
    out.lo += stride * (up ? valid.begin : last);
    out.hi += stride * (up ? last : valid.begin);
  }
  STRATA_CHECK(clear, undefined, "[", operation, "] the addresses of ", st.render(),
               " depend on variables in a way that the analysis does not cover");
  return out;
}

// --- strides and masks along one axis of a function in pieces ---

struct PieceList {
  std::vector<Piece> pieces;
  Index shape;
  bool complete = false;
  std::uint64_t work = 0;
};

PieceList pieces_of(const ShapeTracker& st, std::uint64_t budget = kPieceBudget) {
  const Piecewise f = as_piecewise(st);
  Pieces pieces(f, budget);
  PieceList out;
  out.shape = *numbers(st.shape());
  Piece p;
  while (pieces.next(p)) out.pieces.push_back(p);
  out.complete = pieces.complete();
  out.work = budget - pieces.left();
  return out;
}

/// Finds neighbours along one axis: pairs of pieces, where one ends at the coordinate where the other begins.
class AxisNeighbours {
 public:
  /// What to find: the stride alone (which stops as soon as there is no single stride), or the mask as well.
  enum class Ask : std::uint8_t { stride, mask };

  AxisNeighbours(const PieceList& list, std::size_t axis, Ask ask) : list_(list), axis_(axis), ask_(ask) {
    const std::size_t count = list.pieces.size();
    for (std::size_t p = 0; p < count && !is_settled(); ++p) look_inside(p);
    if (is_settled()) return;
    choose_cross();
    order_.reserve(count);
    for (std::size_t p = 0; p < count; ++p) order_.push_back({{lo(p), cross_lo(p)}, p});
    std::sort(order_.begin(), order_.end());
    covered_below_.assign(count, 0);
    covered_above_.assign(count, 0);
    for (std::size_t p = 0; p < count && !is_settled(); ++p) look_above(p);
  }

  bool gave_up() const { return gave_up_; }
  /// The change of the address by a step along the axis, over all pairs of valid neighbours; 0 when there is no pair;
  /// nothing when pairs differ.
  std::optional<std::int64_t> stride() const { return conflict_ ? std::nullopt : std::optional(stride_.value_or(0)); }
  /// Do a valid and an invalid index differ in this coordinate alone? @pre Ask::mask, or there is a stride
  bool is_masked() const {
    for (std::size_t p = 0; p < list_.pieces.size(); ++p) {
      const std::int64_t section = volume(list_.pieces[p]) / list_.pieces[p].extent[axis_];
      if (lo(p) > 0 && covered_below_[p] != section) return true;
      if (end(p) < list_.shape[axis_] && covered_above_[p] != section) return true;
    }
    return false;
  }

 private:
  std::int64_t lo(std::size_t p) const { return list_.pieces[p].lo[axis_]; }
  std::int64_t end(std::size_t p) const { return lo(p) + list_.pieces[p].extent[axis_]; }

  /// Chooses a second axis along which pieces are short: only pieces that are close along it can be neighbours. Without
  /// such an axis all pieces that begin where `p` ends are looked at.
  void choose_cross() {
    double shortest = 1;
    for (std::size_t t = 0; t < list_.shape.size(); ++t) {
      if (t == axis_) continue;
      std::int64_t longest = 0;
      for (const Piece& p : list_.pieces) longest = std::max(longest, p.extent[t]);
      const double share = static_cast<double>(longest) / static_cast<double>(list_.shape[t]);
      if (share >= shortest) continue;
      shortest = share, cross_ = t, longest_across_ = longest;
    }
  }
  std::int64_t cross_lo(std::size_t p) const { return cross_ ? list_.pieces[p].lo[*cross_] : 0; }
  std::int64_t cross_end(std::size_t p) const { return cross_ ? cross_lo(p) + list_.pieces[p].extent[*cross_] : 1; }
  /// The coordinates at which a piece begins, along the axis and then along the cross axis; and the number of the
  /// piece.
  using Corner = std::pair<std::int64_t, std::int64_t>;
  using CornerOfPiece = std::pair<Corner, std::size_t>;

  bool is_settled() const { return gave_up_ || (conflict_ && ask_ == Ask::stride); }
  void record_stride(Int128 step) {
    if (step < kNegInf || step > kPosInf || (stride_ && *stride_ != step)) {
      conflict_ = true;
    } else {
      stride_ = static_cast<std::int64_t>(step);
    }
  }
  void look_inside(std::size_t p) {
    if (list_.pieces[p].extent[axis_] > 1) record_stride(list_.pieces[p].slope[axis_]);
  }
  void look_above(std::size_t p) {
    // A piece that begins before `first` along the cross axis ends before `p` begins.
    const Corner first{end(p), cross_lo(p) - longest_across_ + 1}, beyond{end(p), cross_end(p)};
    auto q = std::lower_bound(order_.begin(), order_.end(), CornerOfPiece{first, 0});
    for (; q != order_.end() && q->first < beyond; ++q) {
      gave_up_ = ++pairs_ > kPairBudget;
      if (is_settled()) return;
      look_across(p, q->second);
    }
  }

  // The step from the last index of `p` to the first of `q`, at all coordinates that they share along the other axes.
  void look_across(std::size_t below, std::size_t above) {
    const Piece &p = list_.pieces[below], &q = list_.pieces[above];
    Int128 step = static_cast<Int128>(q.base) - p.base;
    std::int64_t shared = 1;
    bool same_slopes = true;
    for (std::size_t t = 0; t < p.lo.size(); ++t) {
      if (t == axis_) {
        step -= static_cast<Int128>(p.slope[t]) * (p.extent[t] - 1);
        continue;
      }
      const std::int64_t from = std::max(p.lo[t], q.lo[t]);
      const std::int64_t to = std::min(p.lo[t] + p.extent[t], q.lo[t] + q.extent[t]);
      if (from >= to) return;
      shared *= to - from;
      step += static_cast<Int128>(q.slope[t]) * (from - q.lo[t]) - static_cast<Int128>(p.slope[t]) * (from - p.lo[t]);
      same_slopes = same_slopes && (to - from == 1 || p.slope[t] == q.slope[t]);
    }
    covered_above_[below] += shared;
    covered_below_[above] += shared;
    conflict_ = conflict_ || !same_slopes;
    record_stride(step);
  }

  const PieceList& list_;
  std::size_t axis_;
  Ask ask_;
  std::vector<CornerOfPiece> order_;
  std::optional<std::size_t> cross_;
  std::int64_t longest_across_ = 1;
  std::vector<std::int64_t> covered_below_, covered_above_;
  std::optional<std::int64_t> stride_;
  bool conflict_ = false, gave_up_ = false;
  std::uint64_t pairs_ = 0;
};

// --- the same from one View, or from the index expression ---

using Strides = std::vector<std::optional<Int>>;

bool is_masked(const View& v, std::size_t axis) {
  if (!v.mask()) return false;
  const Extent& valid = (*v.mask())[axis];
  return !(valid.begin == valid.end) && !(valid == Extent{0, v.shape()[axis]});
}

Strides strides_of_view(const View& v, bool ignore_valid) {
  Strides out;
  for (std::size_t j = 0; j < v.rank(); ++j) {
    const bool open = !ignore_valid && is_masked(v, j);
    out.push_back(open ? std::nullopt : std::optional(v.strides()[j]));
  }
  return out;
}

/// No stride is known when there are too many pieces.
Strides strides_of_pieces(const PieceList& list, bool ignore_valid) {
  Strides out(list.shape.size());
  for (std::size_t j = 0; j < out.size() && list.complete; ++j) {
    const AxisNeighbours axis(list, j, AxisNeighbours::Ask::stride);
    const bool open = axis.gave_up() || !axis.stride() || (!ignore_valid && axis.is_masked());
    if (!open) out[j] = *axis.stride();
  }
  return out;
}

bool is_written_with(const Expr& e, const Expr& variable) {
  const std::vector<Variable> of_e = variables(e);
  return std::any_of(of_e.begin(), of_e.end(), [&](const Variable& v) { return same(v, variable); });
}

/// Index expressions over fresh variables.
struct Symbolic {
  std::vector<Expr> idxs;
  IndexExprs at;

  explicit Symbolic(const ShapeTracker& st) : idxs(index_variables(st.shape(), "_axis")), at(st.expr_idxs(idxs)) {}

  std::optional<Int> stride(std::size_t axis) const {
    if (!idxs[axis].is_variable()) return 0;
    const Variable i = Variable::from(idxs[axis]);
    const Variable below(i.name(), 0, i.max() - 1);
    Expr step = substitute(at.index, {{i, below + 1}}) - substitute(at.index, {{i, below}});
    if (is_written_with(step, below)) return std::nullopt;
    for (const Expr& other : idxs)
      if (is_written_with(step, other)) return std::nullopt;
    return step;
  }
};

Strides symbolic_strides(const ShapeTracker& st, bool ignore_valid) {
  Strides out(st.rank());
  try {
    const Symbolic f(st);
    for (std::size_t j = 0; j < st.rank(); ++j)
      if (ignore_valid || !is_written_with(f.at.valid, f.idxs[j])) out[j] = f.stride(j);
    return out;
  } catch (const Error&) {
    return Strides(st.rank());  // an index expression does not fit in 64 bits: nothing is known
  }
}

}  // namespace

AddressRange address_range(const ShapeTracker& st, std::string_view operation) {
  if (st.is_concrete()) return range_of_numbers(st, operation);
  if (st.contiguous()) return {false, 0, st.size() - 1};
  return range_of_sizes(st, operation);
}

Int real_size_of(const AddressRange& range) {
  return range.nowhere ? Int(0) : larger(plus_product("real_size", range.hi, 1, 1), 0);
}
Int ShapeTracker::real_size() const { return real_size_of(address_range(*this, "real_size")); }

std::vector<std::optional<Int>> ShapeTracker::real_strides(bool ignore_valid) const {
  if (views_.size() == 1) return strides_of_view(views_[0], ignore_valid);
  if (!is_concrete()) return symbolic_strides(*this, ignore_valid);
  return strides_of_pieces(pieces_of(*this), ignore_valid);
}

PieceFacts piece_facts(const ShapeTracker& st, bool ignore_valid, std::uint64_t budget) {
  const PieceList list = pieces_of(st, budget);
  PieceFacts out;
  out.work = list.work;
  out.complete = list.complete;
  out.real_strides =
      st.views().size() == 1 ? strides_of_view(st.views()[0], ignore_valid) : strides_of_pieces(list, ignore_valid);
  AddressesSeen range;
  for (const Piece& p : list.pieces) range.add(p);
  out.range = range.get();
  return out;
}

Axes ShapeTracker::unit_stride_axes(bool ignore_valid) const {
  const Strides strides = real_strides(ignore_valid);
  Axes out;
  for (std::size_t j = 0; j < strides.size(); ++j)
    if (strides[j] && *strides[j] == Int(1)) out.push_back(static_cast<std::int64_t>(j));
  return out;
}

bool ShapeTracker::axis_is_masked(std::int64_t axis) const {
  STRATA_CHECK(axis >= 0 && std::cmp_less(axis, rank()), shape, "[axis_is_masked] ", axis, " is not a dimension of ",
               strata::render(shape()));
  const auto j = static_cast<std::size_t>(axis);
  if (views_.size() == 1) return is_masked(views_[0], j);
  if (!is_concrete()) {
    const Symbolic f(*this);
    return is_written_with(f.at.valid, f.idxs[j]);
  }
  const PieceList list = pieces_of(*this);
  const AxisNeighbours neighbours(list, j, AxisNeighbours::Ask::mask);
  STRATA_CHECK(list.complete && !neighbours.gave_up(), budget, "[axis_is_masked] the masks of ", render(),
               " take more than ", kPieceBudget, " steps");
  return neighbours.is_masked();
}

}  // namespace strata
