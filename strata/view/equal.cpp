// Equality of stacks of Views by meaning. For numbers, each piece of one stack is compared with the pieces of the other
// stack on the same box.

#include "strata/view/equal.h"

#include <algorithm>

#include "strata/view/merge.h"

namespace strata {
namespace {

constexpr int kEqualProbes = 24;  // indices that are tried before the complete comparison

Index end_of(const Piece& p) {
  Index out = p.lo;
  for (std::size_t j = 0; j < out.size(); ++j) out[j] += p.extent[j];
  return out;
}

// An index of the box of `q` at which the affine functions of `p` and `q` differ; nothing when they agree on the box.
std::optional<Index> difference(const Piece& p, const Piece& q) {
  Int128 base = p.base;
  for (std::size_t j = 0; j < p.lo.size(); ++j) base += static_cast<Int128>(p.slope[j]) * (q.lo[j] - p.lo[j]);
  if (base != q.base) return q.lo;
  for (std::size_t j = 0; j < p.lo.size(); ++j)
    if (q.extent[j] > 1 && p.slope[j] != q.slope[j]) {
      Index out = q.lo;
      ++out[j];
      return out;
    }
  return std::nullopt;
}

class Comparison {
 public:
  Comparison(std::vector<Strided> a, std::vector<Strided> b, std::uint64_t budget)
      : a_(std::move(a)), b_(std::move(b)), budget_(budget) {}

  StackProof run() {
    if (std::optional<Index> at = probe()) return {Answer::no, std::move(at)};
    std::int64_t valid = 0;
    const Found a_in_b = inside(a_, b_, true, valid);
    if (a_in_b.witness) return {Answer::no, a_in_b.witness};
    if (!a_in_b.complete) return {};
    const Found more = beyond(valid);
    if (more.witness) return {Answer::no, more.witness};
    return {more.complete ? Answer::yes : Answer::unknown, std::nullopt};
  }

 private:
  struct Found {
    std::optional<Index> witness;
    bool complete = false;
  };

  // Tries a few indices all over the box: most functions that differ already differ there.
  std::optional<Index> probe() const {
    const Strided& top = a_.back();
    const Piecewise f = whole(a_), g = whole(b_);
    std::uint64_t random = 0x9e3779b97f4a7c15;
    for (int k = 0; k < kEqualProbes; ++k) {
      Index at;
      for (const std::int64_t n : top.shape) {
        random = random * 6364136223846793005 + 1442695040888963407;
        at.push_back(k == 0   ? 0
                     : k == 1 ? n - 1
                              : static_cast<std::int64_t>((random >> 32) % static_cast<std::uint64_t>(n)));
      }
      if (value(a_, f, at) != value(b_, g, at)) return at;
    }
    return std::nullopt;
  }
  static Piecewise whole(const std::vector<Strided>& stack) { return piecewise(std::span<const Strided>(stack)); }
  static std::optional<std::int64_t> value(const std::vector<Strided>& stack, const Piecewise& f, const Index& at) {
    const Strided& top = stack.back();
    for (std::size_t j = 0; j < at.size(); ++j)
      if (at[j] < top.begin[j] || at[j] >= top.end[j]) return std::nullopt;
    return value_at(f, at);
  }

  // Is every index that is valid in `a` valid in `b`, and (with `addresses`) at the same address? Counts the indices in
  // `valid`.
  Found inside(const std::vector<Strided>& a, const std::vector<Strided>& b, bool addresses, std::int64_t& valid) {
    const Piecewise f = whole(a);
    Pieces pieces(f, budget_);
    Piece p;
    while (pieces.next(p)) {
      valid += volume(p);
      Found one = inside(p, b, addresses);
      if (one.witness || !one.complete) return one;
    }
    budget_ = std::min(budget_, pieces.left());
    return {std::nullopt, pieces.complete()};
  }
  // Does `b` have more valid indices than `a`, which has `valid` of them?
  Found beyond(std::int64_t valid) {
    const Piecewise g = whole(b_);
    Pieces pieces(g, budget_);
    Piece q;
    std::int64_t more = -valid;
    while (pieces.next(q)) more += volume(q);
    budget_ = pieces.left();
    if (!pieces.complete() || more == 0) return {std::nullopt, pieces.complete()};
    return inside(b_, a_, false, valid);
  }
  Found inside(const Piece& p, const std::vector<Strided>& b, bool addresses) {
    const Index end = end_of(p);
    Index lo, extent;
    for (std::size_t j = 0; j < p.lo.size(); ++j) {
      lo.push_back(std::max(p.lo[j], b.back().begin[j]));
      extent.push_back(std::max<std::int64_t>(0, std::min(end[j], b.back().end[j]) - lo[j]));
    }
    const Piecewise g = piecewise(b, lo, extent);
    Pieces pieces(g, budget_);
    std::vector<Piece> all;
    std::int64_t points = 0;
    Piece q;
    while (pieces.next(q)) {
      if (addresses)
        if (std::optional<Index> at = difference(p, q)) return {std::move(at), true};
      points += volume(q);
      all.push_back(q);
    }
    budget_ = pieces.left();
    if (!pieces.complete()) return {};
    if (points != volume(p)) return {detail::uncovered_point(all, p.lo, end), true};
    return {std::nullopt, true};
  }

  std::vector<Strided> a_, b_;
  std::uint64_t budget_;  // in the unit of Pieces
};

StackProof equal_numbers(const ShapeTracker& a, const ShapeTracker& b, std::uint64_t budget) {
  if (a.size() == Int(0)) return {Answer::yes, std::nullopt};
  try {
    return Comparison(to_strided(a.views()), to_strided(b.views()), budget).run();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::overflow) throw;
    return {};
  }
}

// Equality proven by index expressions: the same validity and, where valid, the same address.
Answer equal_expressions(const ShapeTracker& a, const ShapeTracker& b) {
  try {
    const std::vector<Expr> idxs = index_variables(a.shape(), "_axis");
    const IndexExprs left = a.expr_idxs(idxs), right = b.expr_idxs(idxs);
    const bool same_domain = prove_equal(left.valid, right.valid).answer == Answer::yes;
    if (!same_domain) return Answer::unknown;
    const Proof same = prove(left.index == right.index, left.valid);
    return same.answer == Answer::yes ? Answer::yes : Answer::unknown;
  } catch (const Error&) {  // an expression does not fit in 64 bits
    return Answer::unknown;
  }
}

// Are the shapes equal?
Answer equal_shapes(const Ints& a, const Ints& b) {
  if (a.size() != b.size()) return Answer::no;
  Answer out = Answer::yes;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const Answer one = is_equal(a[j], b[j]);
    if (one == Answer::no) return Answer::no;
    if (one == Answer::unknown) out = Answer::unknown;
  }
  return out;
}

}  // namespace

StackProof equal(const ShapeTracker& a, const ShapeTracker& b, std::uint64_t budget) {
  const Answer shapes = equal_shapes(a.shape(), b.shape());
  if (shapes != Answer::yes) return {shapes, std::nullopt};
  if (a == b) return {Answer::yes, std::nullopt};
  if (a.is_concrete() && b.is_concrete()) return equal_numbers(a, b, budget);
  const ShapeTracker left = a.simplify(), right = b.simplify();
  if (left == right) return {Answer::yes, std::nullopt};
  if (left.is_concrete() && right.is_concrete()) return equal_numbers(left, right, budget);
  return {equal_expressions(left, right), std::nullopt};
}

StackProof is_contiguous(const ShapeTracker& st) { return equal(st, ShapeTracker::from_shape(st.shape())); }

}  // namespace strata
