// The sample points and the costs of the exact pass.

#include <algorithm>
#include <bit>
#include <random>

#include "strata/expr/exact_pass.h"

namespace strata {
namespace {

constexpr std::size_t kFlips = 192;                             // the most base points
constexpr std::size_t kValidPoints = 1024;                      // the most points under an assumption
constexpr std::uint64_t kSampleStore = std::uint64_t{1} << 23;  // the most slots times points of a sample
constexpr std::uint64_t kWholeBox = std::uint64_t{1} << 21;

std::int64_t draw(std::mt19937_64& random, const Interval& r) {
  const std::uint64_t extent = r.extent(), bits = random();
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(r.lo) + (extent == UINT64_MAX ? bits : bits % extent));
}

// The size that a node adds to its children, as in count_nodes.
std::uint64_t own_size(const Node* n) {
  switch (n->op) {
    case Op::Sum: {
      std::uint64_t size = n->terms().size() - 1 + (n->k0() != 0 ? 2 : 0);
      for (const Term& t : n->terms()) size += t.coefficient != 1 ? 2 : 0;
      return size;
    }
    case Op::Mul:
    case Op::And:
    case Op::Or: return n->sources().size() - 1;
    default: return 1;
  }
}

}  // namespace

Costs::Costs(const Tape& tape) {
  for (std::size_t i = 0; i < tape.variables().size(); ++i) numbers_.emplace(tape.node(tape.variables()[i]), i);
}

Cost Costs::of(const Info& i) { return {static_cast<std::uint64_t>(std::popcount(i.mask)), !i.linear, i.size}; }

const Costs::Info& Costs::info(const Expr& e) {
  const auto at = known_.find(e.node());
  if (at != known_.end()) return at->second;
  keep_.push_back(e);
  std::vector<const Node*> stack{e.node()};
  while (!stack.empty()) {
    const Node* n = stack.back();
    bool ready = !known_.contains(n);
    if (ready)
      for_each_child(n, [&](const Node* child) {
        if (known_.contains(child)) return;
        stack.push_back(child);
        ready = false;
      });
    else
      stack.pop_back();
    if (!ready) continue;
    stack.pop_back();
    Info info{0, own_size(n), n->has(kLinear) || n->is(Op::Const)};
    if (n->is(Op::Var)) {
      const auto number = numbers_.find(n);
      info.mask = number == numbers_.end() ? 0 : std::uint64_t{1} << number->second;
    }
    for_each_child(n, [&](const Node* child) {
      const Info& below = known_.at(child);
      info.mask |= below.mask;
      info.size = saturating_add(info.size, below.size);
    });
    known_.emplace(n, info);
  }
  return known_.at(e.node());
}

Sample make_sample(const Box& box, std::size_t slots) {
  std::mt19937_64 random(0x57ada);
  const std::size_t n = box.size();
  const std::size_t room = static_cast<std::size_t>(kSampleStore / std::max<std::size_t>(slots, 1));
  Sample s;
  s.columns.resize(n);
  s.base = 1 + n + (n <= 4 ? std::size_t{1} << n : 16);
  s.flips = std::clamp<std::size_t>((std::max(room, s.base) - s.base) / (n + 1), 4, kFlips);
  s.count = s.base + s.flips * (n + 1);
  for (std::size_t v = 0; v < n; ++v) {
    const Interval r = box[v];
    Column& c = s.columns[v];
    c.assign(1 + n, r.lo);
    if (r.lo < r.hi) c[1 + v] = r.lo + 1;
    while (c.size() < s.base) {
      const std::size_t corner = c.size() - (1 + n);
      c.push_back((n <= 4 ? corner >> v & 1 : random() & 1) != 0 ? r.hi : r.lo);
    }
    for (std::size_t i = 0; i < s.flips; ++i) c.push_back(draw(random, r));
    for (std::size_t other = 0; other < n; ++other)
      for (std::size_t i = 0; i < s.flips; ++i) {
        const std::int64_t base = c[s.base + i];
        c.push_back(other == v ? draw(random, r) : base);
      }
  }
  return s;
}

namespace {

// Takes every stride-th valid point of the whole box; the stride grows so that about kValidPoints remain.
void take_all(const Tape& tape, Sample& s) {
  std::vector<std::vector<std::int64_t>> points;
  std::size_t stride = 1, seen = 0;
  with_scan(tape, [&](auto& scan) {
    scan.reset(tape.box());
    while (scan.next()) {
      const auto* valid = scan.values(1);
      for (std::size_t i = 0; i < scan.count(); ++i) {
        if (valid[i] == 0 || seen++ % stride != 0) continue;
        points.push_back(scan.point(i));
        if (points.size() < 2 * kValidPoints) continue;
        for (std::size_t k = 0; k < kValidPoints; ++k) points[k] = points[2 * k];
        points.resize(kValidPoints);
        stride *= 2;
      }
    }
  });
  for (const auto& point : points)
    for (std::size_t v = 0; v < point.size(); ++v) s.columns[v].push_back(point[v]);
  s.count = points.size();
}

void take_random(const Tape& tape, Sample& s) {
  const Box box = tape.box();
  const auto columns = probe_columns(box, 8 * kValidPoints);
  std::vector<std::int64_t> point(box.size()), slots;
  for (std::size_t i = 0; i < columns[0].size() && s.count < kValidPoints; ++i) {
    for (std::size_t v = 0; v < box.size(); ++v) point[v] = columns[v][i];
    if (tape.run(point, slots) != tape.size() || slots[tape.root(1)] == 0) continue;
    for (std::size_t v = 0; v < box.size(); ++v) s.columns[v].push_back(point[v]);
    ++s.count;
  }
}

}  // namespace

Sample make_valid_sample(const Tape& tape, Budget& budget, bool& exhaustive) {
  Sample s;
  s.columns.resize(tape.variables().size());
  const std::uint64_t points = volume(tape.box());
  exhaustive = points <= kWholeBox && tape.width() != Width::checked && budget.take(tape, points);
  if (exhaustive)
    take_all(tape, s);
  else
    take_random(tape, s);
  return s;
}

}  // namespace strata
