// Enumeration of boxes, and branch and bound.

#include "strata/expr/search.h"

#include <algorithm>
#include <queue>
#include <random>

namespace strata {
namespace {

constexpr std::uint64_t kLeaf = 2048;  // boxes of up to this many points are enumerated

template <class T>
struct Spread {
  T least[8], most[8];
};

// The least and the largest values of a padded block, in eight lanes that compilers vectorize.
template <class T>
void spread(const T* x, std::size_t n, Spread<T>& s) {
  for (std::size_t i = 0; i < n; i += 8)
    for (std::size_t j = 0; j < 8; ++j) {
      s.least[j] = x[i + j] < s.least[j] ? x[i + j] : s.least[j];
      s.most[j] = s.most[j] < x[i + j] ? x[i + j] : s.most[j];
    }
}

// The gcd of g and all x - base.
std::int64_t gcd_of_differences(const std::int64_t* x, std::size_t n, std::int64_t base, std::int64_t g) {
  for (std::size_t i = 0; i < n && g != 1; ++i) {
    std::int64_t d = 0;
    g = try_sub(x[i], base, d) ? gcd(g, d) : 1;
  }
  return g;
}
std::int64_t gcd_of_differences(const double* x, std::size_t n, std::int64_t base, std::int64_t g) {
  if (g == 1) return g;
  if (g > 1) {  // nearly always all are multiples of g: counts exceptions without a division
    const double m = static_cast<double>(g), inverse = 1.0 / m, b = static_cast<double>(base);
    double off = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double d = x[i] - b;
      const double nearest = (d * inverse + 0x1.8p52) - 0x1.8p52;
      off += nearest * m == d ? 0.0 : 1.0;
    }
    if (off == 0) return g;
  }
  for (std::size_t i = 0; i < n && g != 1; ++i) g = gcd(g, static_cast<std::int64_t>(x[i]) - base);
  return g;
}

template <class T>
std::optional<Extremes> scan_extremes(BoxScan<T>& scan, const Box& box) {
  scan.reset(box);
  Spread<T> s{};
  std::int64_t base = 0, g = 0;
  bool first = true;
  while (scan.next()) {
    const T* x = scan.values(0);
    if (first) {
      base = static_cast<std::int64_t>(x[0]);
      std::fill_n(s.least, 8, x[0]);
      std::fill_n(s.most, 8, x[0]);
      first = false;
    }
    spread(x, scan.padded(), s);
    g = gcd_of_differences(x, scan.count(), base, g);
  }
  if (scan.overflowed()) return std::nullopt;
  const auto min = static_cast<std::int64_t>(*std::min_element(s.least, s.least + 8));
  const auto max = static_cast<std::int64_t>(*std::max_element(s.most, s.most + 8));
  return Extremes{min, max, g, g == 0 ? min : floor_mod(min, g)};
}

// Cuts the widest variable in two.
std::pair<Box, Box> halves(const Box& box) {
  std::size_t widest = 0;
  for (std::size_t i = 1; i < box.size(); ++i)
    if (box[i].extent() > box[widest].extent()) widest = i;
  std::pair<Box, Box> two{box, box};
  const Interval r = box[widest];
  const auto middle = static_cast<std::int64_t>(static_cast<std::uint64_t>(r.lo) + (r.extent() - 1) / 2);
  two.first[widest].hi = middle;
  two.second[widest].lo = middle + 1;
  return two;
}

// Best-first minimisation of sign * root 0.
class Minimiser {
 public:
  Minimiser(const Tape& tape, std::int64_t sign, Budget& budget) : tape_(tape), sign_(sign), budget_(budget) {}

  Bound run() {
    return with_scan(tape_, [&](auto& scan) { return search(scan); });
  }

 private:
  struct Candidate {
    std::int64_t bound;
    std::uint64_t number;  // in order of discovery
    Box box;
    /// NOTE: a total order, so that the result does not depend on a library's heap. Among equal bounds the newest comes
    /// first.
    bool operator<(const Candidate& other) const {
      return bound != other.bound ? bound > other.bound : number < other.number;
    }
  };

  std::int64_t lower_bound(const Box& box) {
    run_intervals(tape_, box, intervals_);
    const Interval r = intervals_[tape_.root(0)];
    return sign_ > 0 ? r.lo : sat_neg(r.hi);
  }

  // Improves the best value by two points of the box: its extreme corners.
  void try_corners(const Box& box) {
    std::vector<std::int64_t> low, high;
    for (const Interval& r : box) {
      low.push_back(r.lo);
      high.push_back(r.hi);
    }
    for (const auto& point : {low, high})
      if (tape_.run(point, slots_) == tape_.size()) improve(sat_mul(sign_, slots_[tape_.root(0)]));
  }
  void improve(std::int64_t value) { best_ = std::min(best_, value); }

  void push(Box box) {
    const std::int64_t bound = lower_bound(box);
    if (bound >= best_) return;
    try_corners(box);
    queue_.push({bound, pushed_++, std::move(box)});
  }

  template <class T>
  Bound search(BoxScan<T>& scan) {
    push(tape_.box());
    while (!queue_.empty() && queue_.top().bound < best_) {
      const Candidate top = queue_.top();
      const std::uint64_t points = volume(top.box);
      if (!budget_.take(tape_, points <= kLeaf ? points + 4 : 8)) return {sat_mul(sign_, top.bound), false};
      queue_.pop();
      if (points <= kLeaf) {
        const auto found = scan_extremes(scan, top.box);
        if (!found) return {sat_mul(sign_, top.bound), false};
        improve(sign_ > 0 ? found->min : sat_neg(found->max));
        continue;
      }
      auto [a, b] = halves(top.box);
      push(std::move(a));
      push(std::move(b));
    }
    return {sat_mul(sign_, best_), !is_inf(best_)};
  }

  const Tape& tape_;
  std::int64_t sign_;
  Budget& budget_;
  std::int64_t best_ = kPosInf;
  std::priority_queue<Candidate> queue_;
  std::uint64_t pushed_ = 0;
  std::vector<Interval> intervals_;
  std::vector<std::int64_t> slots_;
};

bool differs(const std::vector<std::int64_t>& slots, const Tape& tape) {
  return slots[tape.root(0)] != slots[tape.root(1)] && (tape.roots() < 3 || slots[tape.root(2)] != 0);
}

// The first point of the scan at which the roots differ.
template <class T>
Difference scan_difference(BoxScan<T>& scan, const Tape& tape, const Box& box) {
  scan.reset(box);
  while (scan.next()) {
    const T* a = scan.values(0);
    const T* b = scan.values(1);
    const T* valid = tape.roots() < 3 ? nullptr : scan.values(2);
    std::size_t found = 0;
    for (std::size_t i = 0; i < scan.count(); ++i) found += a[i] != b[i];
    if (found == 0) continue;
    for (std::size_t i = 0; i < scan.count(); ++i)
      if (a[i] != b[i] && (valid == nullptr || valid[i] != T{0})) return {Answer::no, scan.point(i)};
  }
  return {scan.overflowed() ? Answer::unknown : Answer::yes, {}};
}

// True when intervals alone settle a box: the roots are equal everywhere, or no point is valid.
bool settled(const Tape& tape, const std::vector<Interval>& bounds) {
  const Interval a = bounds[tape.root(0)], b = bounds[tape.root(1)];
  if (tape.roots() > 2) {
    const Interval valid = bounds[tape.root(2)];
    if (valid.lo == 0 && valid.hi == 0) return true;
  }
  return a.lo == a.hi && b.lo == b.hi && a.lo == b.lo && !is_inf(a.lo);
}

template <class T>
Difference bisect(BoxScan<T>& scan, const Tape& tape, Budget& budget) {
  std::vector<Box> stack{tape.box()};
  std::vector<Interval> bounds;
  std::vector<std::int64_t> point, slots;
  while (!stack.empty()) {
    const Box box = std::move(stack.back());
    stack.pop_back();
    const std::uint64_t points = volume(box);
    if (!budget.take(tape, points <= kLeaf ? points : 6)) return {Answer::unknown, {}};
    if (points <= kLeaf) {
      Difference d = scan_difference(scan, tape, box);
      if (d.equal != Answer::yes) return d;
      continue;
    }
    run_intervals(tape, box, bounds);
    if (settled(tape, bounds)) continue;
    point.clear();
    for (const Interval& r : box) point.push_back(r.lo);
    if (tape.run(point, slots) == tape.size() && differs(slots, tape)) return {Answer::no, point};
    auto [a, b] = halves(box);
    stack.push_back(std::move(b));
    stack.push_back(std::move(a));
  }
  return {Answer::yes, {}};
}

std::optional<std::vector<std::int64_t>> probe_difference(const Tape& tape) {
  const auto columns = probe_columns(tape.box(), 256);
  std::vector<std::int64_t> point(columns.size()), slots;
  const std::size_t count = columns.empty() ? 1 : columns[0].size();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t v = 0; v < columns.size(); ++v) point[v] = columns[v][i];
    if (tape.run(point, slots) == tape.size() && differs(slots, tape)) return point;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Extremes> table_extremes(const Tape& tape) {
  return with_scan(tape, [&](auto& scan) { return scan_extremes(scan, tape.box()); });
}

Bound smallest(const Tape& tape, Budget& budget) { return Minimiser(tape, 1, budget).run(); }
Bound largest(const Tape& tape, Budget& budget) { return Minimiser(tape, -1, budget).run(); }

std::vector<std::vector<std::int64_t>> probe_columns(const Box& box, std::size_t count) {
  std::vector<std::vector<std::int64_t>> columns(box.size());
  std::mt19937_64 random(0x5eed);
  const std::size_t corners = box.size() < 5 ? std::size_t{1} << box.size() : 32;
  for (std::size_t i = 0; i < std::max(count, corners); ++i)
    for (std::size_t v = 0; v < box.size(); ++v) {
      const Interval r = box[v];
      const std::uint64_t bits = random(), extent = r.extent();
      std::int64_t value =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(r.lo) + (extent == UINT64_MAX ? bits : bits % extent));
      if (i < corners)
        value = (box.size() < 5 ? (i >> v & 1) != 0 : i > 1 ? (bits >> 32 & 1) != 0 : i == 1) ? r.hi : r.lo;
      columns[v].push_back(std::clamp(value, r.lo, r.hi));
    }
  return columns;
}

Difference find_difference(const Tape& tape, Budget& budget, bool probe) {
  if (probe)
    if (auto point = probe_difference(tape)) return {Answer::no, std::move(*point)};
  const std::uint64_t points = volume(tape.box());
  return with_scan(tape, [&](auto& scan) -> Difference {
    if (budget.take(tape, points)) return scan_difference(scan, tape, tape.box());
    Budget half(budget.left() / 2);
    budget.take(budget.left() / 2);
    return bisect(scan, tape, half);
  });
}

}  // namespace strata
