#include "strata/schedule/recompute.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "strata/schedule/contraction.h"

namespace strata {

namespace {

constexpr double kAsOften = 0.99, kOnce = 1.01;  // 1, up to rounding
constexpr int kMostSteps = 256;                  // from two users up to their common node
constexpr double kGatherCost = 1;  // a load at a computed place, which a vector of elements does one by one

class Recomputation {
 public:
  explicit Recomputation(std::span<const PlacedNode> placed) : placed_(placed), up_(placed.size()) {
    for (std::size_t k = 0; k < placed.size(); ++k) at_.emplace(placed[k].node, k);
  }

  std::vector<const LazyNode*> run() {
    for (std::size_t k = placed_.size(); k-- > 0;) look_up(k);
    std::vector<bool> is_materialized(placed_.size());
    for (std::size_t k = 0; k < placed_.size(); ++k) is_materialized[k] = placed_[k].is_materialized;
    std::vector<double> cost(placed_.size());
    std::vector<const LazyNode*> out;
    const auto add = [&](std::size_t k) {
      if (!is_materialized[k]) out.push_back(placed_[k].node);
      is_materialized[k] = true;
    };
    for (std::size_t k = 0; k < placed_.size(); ++k) {
      if (placed_[k].is_materialized && hands_on(k)) add(up_[k].top);
      if (is_materialized[k] || is_reduce(placed_[k].node->op) || is_scan(placed_[k].node->op)) continue;
      cost[k] = own_cost(placed_[k], cost);
      if (is_expensive(k, cost[k])) add(k), cost[k] = 0;
    }
    return out;
  }

  std::vector<const LazyNode*> excess_nodes(bool all) {
    for (std::size_t k = placed_.size(); k-- > 0;) look_up(k);
    Cost once{}, kernels{};
    std::unordered_map<std::size_t, Cost> extra;  // by the top of a chain: the load of recomputation
    std::vector<double> cost(placed_.size());
    for (std::size_t k = 0; k < placed_.size(); ++k) {
      const PlacedNode& placed = placed_[k];
      const LazyNode& n = *placed.node;
      cost[k] = is_reduce(n.op) || is_scan(n.op) || placed.is_materialized ? 0 : own_cost(placed, cost);
      if (is_cheap_constant(n, cost[k])) continue;
      const double times = placed.is_materialized ? 1 : placed.times;
      for (std::size_t w = 0; w < 2; ++w) {
        const double own = placed.is_dot_cast ? 0 : cost_of(n)[w];
        once[w] += own, kernels[w] += own * times;
        if (times > kOnce) extra[up_[k].top][w] += own * (times - 1);
      }
    }
    return chosen(once, kernels, extra, all);
  }

 private:
  /// Whether an element of the node is computed from those at its place.
  static bool computes_each(Ops op) { return is_pointwise(op) && !is_annotation(op); }
  static bool may_be_expensive(Ops op) { return computes_each(op) || op == Ops::GATHER; }

  using Cost = std::array<double, 2>;  ///< operations by two measures: each op counts 1, and each op counts op_cost()

  static Cost cost_of(const LazyNode& n) {
    if (is_reduce(n.op)) return {elements(*n.src[0].node()), elements(*n.src[0].node())};
    if (is_scan(n.op)) return {elements(n), elements(n)};
    if (n.op == Ops::SCATTER) return {elements(*n.src[2].node()), elements(*n.src[2].node())};
    if (!is_pointwise(n.op)) return {0, 0};
    const double nodes = node_cost(n) == 0 ? 0 : static_cast<double>(nodes_of(n));
    return {elements(n) * nodes, elements(n) * node_cost(n)};
  }
  /// By how much `load` exceeds the limit by either measure; <= 0: within it.
  static double excess(const Cost& cost, const Cost& once) {
    return std::max(cost[0] - kMostRecomputation * once[0], cost[1] - kMostRecomputation * once[1]);
  }
  std::vector<const LazyNode*> chosen(const Cost& once, Cost kernels,
                                      const std::unordered_map<std::size_t, Cost>& extra, bool all) const {
    std::vector<const LazyNode*> out;
    if (excess(kernels, once) <= 0) return out;
    std::vector<std::pair<std::size_t, Cost>> by_cost(extra.begin(), extra.end());
    std::sort(by_cost.begin(), by_cost.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    for (const auto& [k, cost] : by_cost) {
      if (!all && excess(kernels, once) <= 0) break;
      for (std::size_t w = 0; w < 2; ++w) kernels[w] -= cost[w];
      out.push_back(placed_[k].node);
    }
    return out;
  }

  /// The chain above a node. `next` is the nearest node through which all uses of the node pass and which is computed
  /// as often; `top` is the last node of the chain next, next of next, ... Memory of `top` would serve in place of
  /// memory of the node.
  struct Up {
    enum class State : std::uint8_t { unused, one, none } state = State::unused;
    std::size_t next = 0, top = 0;
    int steps = 0;  // the length of the chain
  };

  double own_cost(const PlacedNode& placed, const std::vector<double>& cost) const {
    const LazyNode& n = *placed.node;
    double out = placed.is_dot_cast ? 0 : n.op == Ops::GATHER ? kGatherCost : node_cost(n);
    for (const LazyOp& s : needed(n))
      if (const auto it = at_.find(s.node()); it != at_.end()) out += passed_cost(*s.node(), n, cost[it->second]);
    return out;
  }
  bool is_expensive(std::size_t k, double cost) const {
    const LazyNode& n = *placed_[k].node;
    return may_be_expensive(n.op) && up_[k].top == k && !placed_[k].is_dot_cast && !is_cheap_constant(n, cost) &&
           cost * (placed_[k].times - 1) > kMemoryCost;
  }
  /// True iff the top of the chain should be materialized in place of reduction k: its memory is not larger, and the
  /// nodes between are then computed once.
  bool hands_on(std::size_t k) const {
    const LazyNode& n = *placed_[k].node;
    const std::size_t top = up_[k].top;
    if (!placed_[k].may_move || !is_reduce(n.op) || top == k || placed_[k].times < kOnce) return false;
    const LazyNode& to = *placed_[top].node;
    return elements(to) <= elements(n) && to.dtype.itemsize() <= n.dtype.itemsize();
  }

  /// Completes the chain of node k, whose users have all been visited, and offers k to its sources.
  void look_up(std::size_t k) {
    Up& up = up_[k];
    if (up.state != Up::State::one) up.next = up.top = k, up.steps = 0;
    if (up.state == Up::State::one) up.top = up_[up.next].top, up.steps = up_[up.next].steps + 1;
    for (const LazyOp& s : needed(*placed_[k].node))
      if (const auto it = at_.find(s.node()); it != at_.end()) offer(it->second, k);
  }
  void offer(std::size_t source, std::size_t user) {
    Up& up = up_[source];
    const bool is_first = up.state == Up::State::unused;
    if (is_first) up.next = user;
    const bool goes_on =
        passes(source, user) && up.state != Up::State::none && (is_first || advance_to_common(up.next, user));
    up.state = goes_on ? Up::State::one : Up::State::none;
  }
  /// True iff memory of `user` could replace memory of `source`: an elementwise op (or a movement op or annotation that
  /// leads to one) computed as often.
  bool passes(std::size_t source, std::size_t user) const {
    const PlacedNode& u = placed_[user];
    if (u.is_materialized || u.is_dot_cast || u.times < kAsOften * placed_[source].times) return false;
    if (computes_each(u.node->op)) return true;
    const bool leads_on = is_movement(u.node->op) || is_annotation(u.node->op);
    return leads_on && u.node->op != Ops::EXPAND && up_[user].top != user;
  }
  /// Sets `a` to the nearest node that the chains of a and b have in common. False if there is none within kMostSteps.
  bool advance_to_common(std::size_t& a, std::size_t b) const {
    if (up_[a].top != up_[b].top) return false;
    for (int step = 0; a != b; ++step) {
      if (step == kMostSteps) return false;
      if (up_[a].steps < up_[b].steps)
        b = up_[b].next;
      else
        a = up_[a].next;
    }
    return true;
  }

  std::span<const PlacedNode> placed_;
  std::unordered_map<const LazyNode*, std::size_t> at_;
  std::vector<Up> up_;
};

}  // namespace

double passed_cost(const LazyNode& from, const LazyNode& to, double cost) {
  if (is_cheap_constant(from, cost)) cost = std::min(cost, 1.0);
  return to.op == Ops::EXPAND ? cost * elements(from) / elements(to) : cost;
}

std::vector<const LazyNode*> recomputed_nodes(std::span<const PlacedNode> placed) {
  return Recomputation(placed).run();
}

std::vector<const LazyNode*> excess_nodes(std::span<const PlacedNode> placed, bool all) {
  return Recomputation(placed).excess_nodes(all);
}

}  // namespace strata
