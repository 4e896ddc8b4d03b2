// LoopWalk: blocks in row-major order, by a sweep over the pieces of a LoopPlan.
//
// Along each counter the pieces begin and end at cuts. Between two cuts there may be a single piece, or several pieces
// that differ along the last counter alone (stripes): their part is one block, with one run for each piece. Otherwise
// the counter is fixed to each of its values, and the sweep continues with the next counter. Pieces are disjoint, so at
// the last counter they are always stripes.

#include <algorithm>

#include "strata/loops/loop_plan.h"

namespace strata::detail {
namespace {

constexpr std::size_t kPoints = 256;  // the most points of a block without pieces

}  // namespace

LoopWalk::LoopWalk(const LoopPlan& plan)
    : plan_(plan), expressions_(plan.with_offsets_ ? plan.rank_ : 0), fixed_(plan.rank_, 0) {
  if (!plan.by_pieces_) {
    points_.emplace(plan);
    if (plan.views_.size() > 1) stack_ = piecewise(plan.views_);
    return;
  }
  const std::size_t count = plan.pieces_.size() / plan.width_;
  whole_ = count > 0 && plan.rank_ == 0;
  if (count == 0 || plan.rank_ == 0) return;
  frames_.resize(plan.rank_);
  std::vector<std::size_t> all(count);
  for (std::size_t p = 0; p < count; ++p) all[p] = p;
  prepare(0, all);
  restart(0);
  open_ = 1;
}

bool LoopWalk::next(LoopBlock& out) {
  if (points_) return next_points(out);
  if (whole_) {
    out = {{}, {}, {}, {1, row(0)[0], 0}};
    whole_ = false;
    return true;
  }
  while (open_ > 0) {
    const std::size_t depth = open_ - 1;
    Frame& f = frames_[depth];
    if (f.value == f.end && !next_interval(depth)) {
      --open_;
    } else if (f.striped) {
      emit(f.active, depth, out);
      f.value = f.end;
      return true;
    } else {
      fixed_[depth] = f.value++;
      restart(depth + 1);
      ++open_;
    }
  }
  return false;
}

void LoopWalk::prepare(std::size_t depth, const std::vector<std::size_t>& pieces) {
  Frame& f = frames_[depth];
  f.pieces = pieces;
  f.cuts.clear();
  const auto lo = [&](std::size_t p) { return row(p)[depth]; };
  std::sort(f.pieces.begin(), f.pieces.end(), [&](std::size_t a, std::size_t b) { return lo(a) < lo(b); });
  for (const std::size_t p : f.pieces) {
    f.cuts.push_back(lo(p));
    f.cuts.push_back(lo(p) + row(p)[plan_.rank_ + depth]);
  }
  std::sort(f.cuts.begin(), f.cuts.end());
  f.cuts.erase(std::unique(f.cuts.begin(), f.cuts.end()), f.cuts.end());
  // At the last counter all pieces form one block.
  if (depth + 1 == plan_.rank_) f.cuts = {f.cuts.front(), f.cuts.back()};
}

void LoopWalk::restart(std::size_t depth) {
  Frame& f = frames_[depth];
  f.cut = f.first = 0;
  f.value = f.end = 0;
  f.active.clear();
}

// Moves to the next interval between cuts that some piece covers; false when there is none.
bool LoopWalk::next_interval(std::size_t depth) {
  Frame& f = frames_[depth];
  while (f.cut + 1 < f.cuts.size()) {
    f.value = f.cuts[f.cut++];
    f.end = f.cuts[f.cut];
    std::erase_if(f.active, [&](std::size_t p) { return row(p)[depth] + row(p)[plan_.rank_ + depth] <= f.value; });
    for (; f.first < f.pieces.size() && row(f.pieces[f.first])[depth] < f.end; ++f.first)
      f.active.push_back(f.pieces[f.first]);
    if (f.active.empty()) continue;
    f.striped = are_stripes(f.active, depth);
    if (!f.striped) prepare(depth + 1, f.active);
    return true;
  }
  return false;
}

// True when the pieces are stripes. Sorts them along the last counter.
bool LoopWalk::are_stripes(std::vector<std::size_t>& pieces, std::size_t depth) const {
  const std::size_t rank = plan_.rank_, last = rank - 1;
  std::sort(pieces.begin(), pieces.end(), [&](std::size_t a, std::size_t b) { return row(a)[last] < row(b)[last]; });
  if (depth == last) return true;
  const std::int64_t* first = row(pieces[0]);
  return std::all_of(pieces.begin() + 1, pieces.end(), [&](std::size_t p) {
    const std::int64_t* other = row(p);
    const auto same = [&](std::size_t from, std::size_t to) {
      return std::equal(first + from, first + to, other + from);
    };
    if (!same(depth + 1, last) || !same(rank + depth + 1, rank + last)) return false;
    for (std::size_t at = 2 * rank; at < plan_.width_; at += rank + 1)  // slopes: of the address, of expressions
      if (!same(at + 1 + depth, at + 1 + last)) return false;
    return true;
  });
}

// Emits the part of the pieces with the fixed values of the counters before `depth`, and counter `depth` in the frame's
// interval.
void LoopWalk::emit(const std::vector<std::size_t>& pieces, std::size_t depth, LoopBlock& out) const {
  const std::size_t rank = plan_.rank_, last = rank - 1;
  const Frame& f = frames_[depth];
  const std::int64_t* first = row(pieces[0]);
  SmallVec<std::size_t, 6> axes;
  out = {{}, {}, {}, std::move(out.runs)};
  out.runs.clear();
  for (std::size_t j = depth; j < last; ++j) {
    const std::int64_t n = j == depth ? f.end - f.value : first[rank + j];
    const std::int64_t step = first[2 * rank + 1 + j];
    if (n == 1) continue;
    if (expressions_ == 0 && !out.step.empty() && out.step.back() == step * n) {
      out.extent.back() *= n;
      out.step.back() = step;
      continue;
    }
    axes.push_back(j);
    out.extent.push_back(n);
    out.step.push_back(step);
  }
  for (std::size_t k = 0; k < expressions_; ++k)
    for (const std::size_t j : axes) out.slope.push_back(first[2 * rank + (k + 1) * (rank + 1) + 1 + j]);
  for (const std::size_t p : pieces) append_run(p, depth, out);
  const bool joins = expressions_ == 0 && pieces.size() == 1 && !out.step.empty();
  if (joins && (out.runs[0] == 1 || out.step.back() == out.runs[2] * out.runs[0])) {
    if (out.runs[0] == 1) out.runs[2] = out.step.back();
    out.runs[0] *= out.extent.back();
    out.extent.pop_back();
    out.step.pop_back();
  }
}

void LoopWalk::append_run(std::size_t piece, std::size_t depth, LoopBlock& out) const {
  const std::size_t rank = plan_.rank_, last = rank - 1;
  const std::int64_t* lo = row(piece);
  // `f` is a value and its slopes. Moves the value from the piece's corner to the corner of the part.
  const auto moved = [&](const std::int64_t* f) {
    std::int64_t value = f[0];
    for (std::size_t j = 0; j < depth; ++j) value += f[1 + j] * (fixed_[j] - lo[j]);
    return depth == last ? value : value + f[1 + depth] * (frames_[depth].value - lo[depth]);
  };
  const std::int64_t* address = lo + 2 * rank;
  const std::int64_t* expressions = address + rank + 1;
  out.runs.insert(out.runs.end(), {lo[rank + last], moved(address), address[1 + last]});
  for (std::size_t k = 0; k < expressions_; ++k) out.runs.push_back(moved(expressions + k * (rank + 1)));
  for (std::size_t k = 0; k < expressions_; ++k) out.runs.push_back(expressions[k * (rank + 1) + 1 + last]);
}

bool LoopWalk::next_points(LoopBlock& out) {
  out = {{}, {}, {}, std::move(out.runs)};
  out.runs.clear();
  while (out.runs.size() < kPoints * run_width(expressions_) && points_->next()) append_point(out);
  return !out.runs.empty();
}

void LoopWalk::append_point(LoopBlock& out) {
  const Strided& top = plan_.views_.back();
  Index at;
  std::int64_t address = top.offset;
  for (std::size_t k = 0; k < plan_.rank_; ++k) {
    at.push_back(points_->value(k));
    if (at[k] < top.begin[k] || at[k] >= top.end[k]) return;
    address += top.stride[k] * at[k];
  }
  if (plan_.views_.size() > 1) {
    const std::optional<std::int64_t> through = value_at(*stack_, at);
    if (!through) return;
    address = *through;
  }
  out.runs.insert(out.runs.end(), {1, address, 0});
  if (expressions_ == 0) return;
  out.runs.insert(out.runs.end(), at.begin(), at.end());
  out.runs.insert(out.runs.end(), expressions_, 0);
}

}  // namespace strata::detail
