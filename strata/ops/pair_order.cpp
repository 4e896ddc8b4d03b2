#include "strata/ops/pair_order.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace strata::ops {

namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
using OperandSet = std::uint32_t;
constexpr std::size_t kMostExactOperands = 8;

double known_size(const Int& size) { return static_cast<double>(std::max<std::int64_t>(size.vmax(), 1)); }

/// The cheapest order, by dynamic programming over sets of operands: the best order of a set is that of its cheapest
/// split in two.
class ExactOrder {
 public:
  ExactOrder(std::span<const Ints> shapes, const std::vector<bool>& kept)
      : count_(shapes.size()), best_(std::size_t{1} << shapes.size()) {
    for (std::size_t d = 0; d < kept.size(); ++d) {
      Dimension made{0, 1, kept[d]};
      for (std::size_t k = 0; k < count_; ++k)
        if (!(shapes[k][d] == Int(1)))
          made.of |= OperandSet{1} << k, made.size = std::max(made.size, known_size(shapes[k][d]));
      if (made.of != 0) dimensions_.push_back(made);
    }
  }

  Pairs run() {
    const OperandSet all = static_cast<OperandSet>(best_.size() - 1);
    for (OperandSet set = 1; set <= all; ++set)
      if (std::popcount(set) > 1) find_best(set);
    // Lists the products in the order in which they are needed (post-order), left factors first.
    std::vector<std::pair<OperandSet, bool>> open = {{all, false}};
    std::vector<std::size_t> made;
    Pairs out;
    while (!open.empty()) {
      const auto [set, is_ready] = open.back();
      open.pop_back();
      if (std::popcount(set) == 1) {
        made.push_back(static_cast<std::size_t>(std::countr_zero(set)));
      } else if (!is_ready) {
        const OperandSet right = best_[set].right;
        open.emplace_back(set, true);
        open.emplace_back(right, false);
        open.emplace_back(set & ~right, false);
      } else {
        const std::size_t right = made.back(), left = made[made.size() - 2];
        made.resize(made.size() - 2);
        out.emplace_back(left, right);
        made.push_back(count_ + out.size() - 1);
      }
    }
    return out;
  }

 private:
  struct Dimension {
    OperandSet of;  // the operands that depend on it
    double size;
    bool is_kept;
  };
  /// The best split of a set: the operands of its right factor.
  struct Best {
    double cost = 0;
    OperandSet right = 0;
  };

  /// True iff the product of `set` depends on `d`: d is kept, or an operand outside of the set depends on it, too.
  static bool has(OperandSet set, const Dimension& d) {
    return (set & d.of) != 0 && (d.is_kept || (d.of & ~set) != 0 || std::popcount(set) == 1);
  }
  double cost_of_product(OperandSet left, OperandSet right) const {
    double out = 1;
    for (const Dimension& d : dimensions_)
      if (has(left, d) || has(right, d)) out *= d.size;
    return out;
  }
  /// The factor with the first operand is the left one.
  void find_best(OperandSet set) {
    const OperandSet rest = set & (set - 1);
    Best& best = best_[set];
    best.cost = std::numeric_limits<double>::infinity();
    const auto try_right = [&](OperandSet right) {
      const OperandSet left = set & ~right;
      const double cost = best_[left].cost + best_[right].cost + cost_of_product(left, right);
      if (best.right == 0 || cost < best.cost) best = {cost, right};
    };
    try_right(std::bit_floor(rest));  // the last operand alone: from left to right, preferred on equal cost
    for (OperandSet right = rest; right != 0; right = (right - 1) & rest) try_right(right);
  }

  std::size_t count_;
  std::vector<Dimension> dimensions_;
  std::vector<Best> best_;  // by set
};

/// A greedy order: repeatedly takes the product whose result has the fewest elements beyond those of its factors.
class GreedyOrder {
 public:
  GreedyOrder(std::span<const Ints> shapes, const std::vector<bool>& kept) : kept_(kept) {
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      std::vector<double> sizes;
      for (const Int& size : shapes[k]) sizes.push_back(size == Int(1) ? 0 : known_size(size));
      left_.push_back({k, std::move(sizes)});
    }
  }

  Pairs run() {
    Pairs out;
    for (std::size_t next = left_.size(); left_.size() > 1; ++next) {
      std::pair<double, double> least;
      std::size_t first = 0, second = 0;
      count_users();
      for (std::size_t a = 0; a < left_.size(); ++a)
        for (std::size_t b = a + 1; b < left_.size(); ++b) {
          const Factor both = product(a, b);
          const std::pair cost(elements(both) - elements(left_[a]) - elements(left_[b]), work(a, b));
          if (second == 0 || cost < least) least = cost, first = a, second = b;
        }
      out.emplace_back(left_[first].number, left_[second].number);
      Factor made = product(first, second);
      made.number = next;
      left_[first] = std::move(made);
      left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(second));
    }
    return out;
  }

 private:
  struct Factor {
    std::size_t number;
    std::vector<double> sizes;  // by dimension; 0: does not depend on it
  };

  static double elements(const Factor& f) {
    double out = 1;
    for (const double size : f.sizes) out *= size == 0 ? 1 : size;
    return out;
  }
  void count_users() {
    users_.assign(kept_.size(), 0);
    for (const Factor& f : left_)
      for (std::size_t d = 0; d < kept_.size(); ++d) users_[d] += f.sizes[d] != 0 ? 1 : 0;
  }
  double work(std::size_t a, std::size_t b) const {
    double out = 1;
    for (std::size_t d = 0; d < kept_.size(); ++d) out *= std::max({left_[a].sizes[d], left_[b].sizes[d], 1.0});
    return out;
  }
  Factor product(std::size_t a, std::size_t b) const {
    Factor out{0, {}};
    for (std::size_t d = 0; d < kept_.size(); ++d) {
      const int mine = (left_[a].sizes[d] != 0 ? 1 : 0) + (left_[b].sizes[d] != 0 ? 1 : 0);
      const bool stays = kept_[d] || users_[d] > mine;
      out.sizes.push_back(stays ? std::max(left_[a].sizes[d], left_[b].sizes[d]) : 0);
    }
    return out;
  }

  std::vector<bool> kept_;
  std::vector<Factor> left_;
  std::vector<int> users_;  // by dimension: how many factors depend on it
};

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> pair_order(std::span<const Ints> shapes,
                                                            const std::vector<bool>& kept) {
  return shapes.size() <= kMostExactOperands ? ExactOrder(shapes, kept).run() : GreedyOrder(shapes, kept).run();
}

}  // namespace strata::ops
