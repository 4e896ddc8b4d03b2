// Injectivity: do different valid indices have different addresses?
//
// A View is injective when each stride exceeds everything that the smaller strides can reach. A stack of such Views is
// injective when each stays inside the one below; this also works for symbolic sizes. Otherwise numbers are decided on
// the pieces: two indices with one address, in one piece or in two, solve a linear equation over a box, and Pieces
// finds solutions.

#include <algorithm>
#include <numeric>

#include "strata/base/sort_few.h"
#include "strata/view/equal.h"
#include "strata/view/merge.h"

namespace strata {
namespace {

constexpr std::uint64_t kInjectiveBudget = std::uint64_t{1} << 22;  // in the unit of Pieces
constexpr std::int64_t kMostTable = std::int64_t{1} << 20;          // the most valid indices that are sorted
constexpr std::uint64_t kPairWork = 64;

// --- Views whose strides keep addresses apart ---

struct Reach {
  Int stride, steps;
};

// The strides (made positive) and steps of the dimensions with more than one valid index. Nothing when a sign is not
// shown.
std::optional<std::vector<Reach>> reaches(const View& v) {
  std::vector<Reach> out;
  for (std::size_t j = 0; j < v.rank(); ++j) {
    const Int n = v.mask() ? (*v.mask())[j].end - (*v.mask())[j].begin : v.shape()[j];
    if (known(is_at_most(n, 1))) continue;
    const Int& d = v.strides()[j];
    const bool up = known(is_at_most(0, d));
    if (!up && !known(is_at_most(d, 0))) return std::nullopt;
    out.push_back({up ? d : -d, n - 1});
  }
  return out;
}

bool keeps_apart(const View& v) {
  std::optional<std::vector<Reach>> left = reaches(v);
  if (!left) return false;
  Int reached = 0;
  while (!left->empty()) {
    const auto least = std::find_if(left->begin(), left->end(), [&](const Reach& a) {
      return std::all_of(left->begin(), left->end(),
                         [&](const Reach& b) { return known(is_at_most(a.stride, b.stride)); });
    });
    if (least == left->end() || !known(is_less(reached, least->stride))) return false;
    reached += least->stride * least->steps;
    left->erase(least);
  }
  return true;
}

// Are all addresses of valid indices shown to be in [0, size)?
bool stays_inside(const View& v, const Int& size) {
  Int least = v.offset(), most = v.offset();
  for (std::size_t j = 0; j < v.rank(); ++j) {
    const Int begin = v.mask() ? (*v.mask())[j].begin : Int(0);
    const Int last = (v.mask() ? (*v.mask())[j].end : v.shape()[j]) - 1;
    const bool up = known(is_at_most(0, v.strides()[j]));
    if (!up && !known(is_at_most(v.strides()[j], 0))) return false;
    least += v.strides()[j] * (up ? begin : last);
    most += v.strides()[j] * (up ? last : begin);
  }
  return known(is_at_most(0, least)) && known(is_less(most, size));
}

bool every_view_keeps_apart(std::span<const View> views) {
  try {
    for (std::size_t k = 0; k < views.size(); ++k)
      if (!keeps_apart(views[k]) || (k != 0 && !stays_inside(views[k], views[k - 1].size()))) return false;
    return true;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::overflow) throw;
    return false;
  }
}

// --- pieces ---

struct PieceBounds {
  Int128 min, max;
};
PieceBounds values_of(const Piece& p) {
  PieceBounds out{p.base, p.base};
  for (std::size_t j = 0; j < p.lo.size(); ++j) {
    const Int128 d = static_cast<Int128>(p.slope[j]) * (p.extent[j] - 1);
    (d > 0 ? out.max : out.min) += d;
  }
  return out;
}

std::int64_t common_step(const Piece& p, std::int64_t g) {
  for (const std::int64_t d : p.slope) g = gcd(g, d);
  return g;
}

class Collisions {
 public:
  explicit Collisions(const std::vector<Strided>& stack) : f_(piecewise(stack)) {}

  StackProof run() {
    if (f_.is_nowhere()) return {Answer::yes, std::nullopt};
    const StackProof out = list_pieces() ? in_pieces() : StackProof{};
    return out.answer == Answer::unknown ? in_table() : out;
  }

 private:
  bool spend(std::uint64_t work) {
    left_ = left_ > work ? left_ - work : 0;
    return left_ != 0;
  }
  /// The answer to "a and b": the weaker of two answers.
  static StackProof weaker(const StackProof& a, const StackProof& b) {
    return b.answer == Answer::no || a.answer == Answer::yes ? b : a;
  }

  bool list_pieces() {
    const std::uint64_t part = left_ / 4;  // leaves most of the budget for the checks on pieces
    Pieces pieces(f_, part);
    Piece p;
    while (pieces.next(p)) pieces_.push_back(p);
    spend(part - pieces.left());
    return pieces.complete();
  }

  StackProof in_pieces() {
    StackProof out{Answer::yes, std::nullopt};
    for (const Piece& p : pieces_) {
      out = weaker(out, in_piece(p));
      if (out.answer == Answer::no) return out;
    }
    return weaker(out, between_pieces());
  }

  // Some x in lo + [0, extent) with constant + step . x == 0.
  struct Solution {
    Answer found = Answer::no;
    Index x;
  };
  Solution solve(const Index& lo, const Index& extent, std::int64_t constant, const Index& step) {
    Piecewise f(lo, extent);
    const std::uint32_t r = f.load(constant, step);
    f.within(r, 0, 0);
    f.result(r);
    Pieces pieces(f, left_);
    Piece p;
    const bool found = pieces.next(p);
    left_ = pieces.left();
    if (found) return {Answer::yes, p.lo};
    return {pieces.complete() ? Answer::no : Answer::unknown, {}};
  }

  // Do two indices of one piece share an address?
  StackProof in_piece(const Piece& p) {
    SmallVec<std::size_t, 6> axes;
    for (std::size_t j = 0; j < p.lo.size(); ++j)
      if (p.extent[j] > 1) axes.push_back(j);
    sort_few(axes, [&](std::size_t a, std::size_t b) { return magnitude(p.slope[a]) < magnitude(p.slope[b]); });
    if (strides_keep_apart(p, axes)) return {Answer::yes, std::nullopt};
    for (const std::size_t j : axes)
      if (p.slope[j] == 0) return {Answer::no, p.lo};
    for (const std::size_t j : axes)
      for (const std::size_t k : axes)
        if (std::optional<Index> at = in_plane(p, j, k)) return {Answer::no, std::move(at)};
    if (axes.size() <= 2) return {Answer::yes, std::nullopt};
    return between_indices(p);
  }

  static bool strides_keep_apart(const Piece& p, const SmallVec<std::size_t, 6>& by_stride) {
    Int128 reached = 0;
    for (const std::size_t j : by_stride) {
      const Int128 d = magnitude(p.slope[j]);
      if (d <= reached) return false;
      reached += d * (p.extent[j] - 1);
    }
    return true;
  }
  // Two indices that differ along axes j and k alone: slope_k / gcd steps along j cancel slope_j / gcd
  // steps along k.
  static std::optional<Index> in_plane(const Piece& p, std::size_t j, std::size_t k) {
    if (j == k) return std::nullopt;
    const std::int64_t g = gcd(p.slope[j], p.slope[k]);
    const std::uint64_t along_j = magnitude(p.slope[k] / g), along_k = magnitude(p.slope[j] / g);
    if (along_j >= static_cast<std::uint64_t>(p.extent[j]) || along_k >= static_cast<std::uint64_t>(p.extent[k]))
      return std::nullopt;
    Index at = p.lo;
    at[j] += static_cast<std::int64_t>(along_j);
    if ((p.slope[j] < 0) != (p.slope[k] < 0)) at[k] += static_cast<std::int64_t>(along_k);
    return at;
  }
  // Searches the differences of two indices; of d and -d only the one whose first nonzero coordinate is positive.
  StackProof between_indices(const Piece& p) {
    const std::size_t rank = p.lo.size();
    StackProof out{Answer::yes, std::nullopt};
    for (std::size_t first = 0; first < rank; ++first) {
      if (p.extent[first] <= 1) continue;
      Index lo(rank, 0), extent(rank, 1);
      lo[first] = 1;
      extent[first] = p.extent[first] - 1;
      for (std::size_t j = first + 1; j < rank; ++j) {
        lo[j] = 1 - p.extent[j];
        extent[j] = 2 * (p.extent[j] - 1) + 1;  // fits: there are other axes
      }
      const Solution s = solve(lo, extent, 0, p.slope);
      if (s.found == Answer::unknown) out.answer = Answer::unknown;
      if (s.found != Answer::yes) continue;
      Index at = p.lo;
      for (std::size_t j = 0; j < rank; ++j) at[j] += std::max<std::int64_t>(0, s.x[j]);
      return {Answer::no, at};
    }
    return out;
  }

  // Do indices of two pieces share an address? Pieces are sorted by least address; only overlapping ranges are
  // compared.
  StackProof between_pieces() {
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return values_of(a).min < values_of(b).min; });
    StackProof out{Answer::yes, std::nullopt};
    for (std::size_t a = 0; a < pieces_.size(); ++a) {
      const Int128 most = values_of(pieces_[a]).max;
      for (std::size_t b = a + 1; b < pieces_.size(); ++b) {
        if (values_of(pieces_[b]).min > most) break;
        if (!spend(kPairWork)) return {};
        const StackProof one = in_pair(pieces_[a], pieces_[b]);
        if (one.answer == Answer::no) return one;
        out = weaker(out, one);
      }
    }
    return out;
  }
  StackProof in_pair(const Piece& p, const Piece& q) {
    const std::int64_t g = common_step(q, common_step(p, 0));
    std::int64_t apart = 0;
    if (!try_sub(p.base, q.base, apart)) return {};
    if (g == 0 ? apart != 0 : apart % g != 0) return {Answer::yes, std::nullopt};
    Index lo(2 * p.lo.size(), 0), extent = p.extent, step = p.slope;
    extent.append(q.extent.data(), q.extent.size());
    for (const std::int64_t d : q.slope) {
      std::int64_t negative = 0;
      if (!try_sub(0, d, negative)) return {};
      step.push_back(negative);
    }
    const Solution s = solve(lo, extent, apart, step);
    if (s.found == Answer::unknown) return {};
    if (s.found == Answer::no) return {Answer::yes, std::nullopt};
    Index at = p.lo;
    for (std::size_t j = 0; j < at.size(); ++j) at[j] += s.x[j];
    return {Answer::no, at};
  }

  // Sorts all addresses.
  StackProof in_table() const;

  Piecewise f_;
  std::vector<Piece> pieces_;
  std::uint64_t left_ = kInjectiveBudget;
};

Index unravel(std::int64_t n, const Index& lo, const Index& extent) {
  Index out = lo;
  for (std::size_t j = extent.size(); j-- > 0;) {
    out[j] += n % extent[j];
    n /= extent[j];
  }
  return out;
}

StackProof Collisions::in_table() const {
  std::int64_t points = 1;
  for (const std::int64_t n : f_.extent()) points *= n;  // fits: Piecewise has checked the volume
  if (points > kMostTable) return {};
  std::vector<std::pair<std::int64_t, std::int64_t>> table;  // (address, row-major number of the index)
  for (std::int64_t n = 0; n < points; ++n)
    if (const std::optional<std::int64_t> v = value_at(f_, unravel(n, f_.lo(), f_.extent()))) table.emplace_back(*v, n);
  std::sort(table.begin(), table.end());
  const auto twice =
      std::adjacent_find(table.begin(), table.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == table.end()) return {Answer::yes, std::nullopt};
  return {Answer::no, unravel(twice->second, f_.lo(), f_.extent())};
}

}  // namespace

StackProof is_injective(const ShapeTracker& st) {
  const ShapeTracker simple = st.is_concrete() ? st : st.simplify();
  if (every_view_keeps_apart(simple.views())) return {Answer::yes, std::nullopt};
  if (!simple.is_concrete()) return {};
  if (simple.size() == Int(0)) return {Answer::yes, std::nullopt};
  try {
    return Collisions(to_strided(simple.views())).run();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::overflow) throw;
    return {};
  }
}

}  // namespace strata
