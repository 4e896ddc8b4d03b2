// Closed forms of functions of one integer. Each finder looks for one shape and adds every form that fits the table;
// the caller picks the cheapest.

#include "strata/expr/forms.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "strata/base/int_math.h"
#include "strata/expr/render.h"

namespace strata {
namespace {

constexpr int kMaxDepth = 3;                              // nesting of forms: (x%12)//4, ...
constexpr std::size_t kMaxTerms = 4;                      // the most terms of an expansion
constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;  // larger slopes and positions are not a simple form

using Table = std::vector<std::int64_t>;

class Finder {
 public:
  Finder(Expr x, std::int64_t lo, std::span<const std::int64_t> table, int depth)
      : x_(std::move(x)), lo_(lo), f_(table.begin(), table.end()), depth_(depth) {
    for (std::size_t t = 0; t + 1 < f_.size(); ++t) slopes_.push_back(f_[t + 1] - f_[t]);
  }

  std::vector<Expr> run() {
    if (f_.size() == 1) return {Expr(f_[0])};
    if (std::any_of(slopes_.begin(), slopes_.end(), [](std::int64_t d) { return magnitude(d) > kLarge; })) return {};
    if (magnitude(lo_) > kLarge) return {};
    if (is_affine()) return std::move(found_);
    jumps();
    kinks();
    two_values();
    expansion();
    if (depth_ < kMaxDepth) {
      periodic();
      blocks();
    }
    return std::move(found_);
  }

 private:
  std::size_t size() const { return f_.size(); }
  std::int64_t at(std::size_t t) const { return lo_ + static_cast<std::int64_t>(t); }
  // The line a * x + b through the table's value at t.
  Expr line(std::int64_t slope, std::size_t t) const { return x_ * slope + (f_[t] - slope * at(t)); }
  std::int64_t line_value(std::int64_t slope, std::size_t through, std::size_t t) const {
    return f_[through] + slope * (static_cast<std::int64_t>(t) - static_cast<std::int64_t>(through));
  }

  bool is_affine() {
    if (std::any_of(slopes_.begin(), slopes_.end(), [&](std::int64_t d) { return d != slopes_[0]; })) return false;
    found_.push_back(line(slopes_[0], 0));
    return true;
  }

  std::int64_t usual_slope() const {
    std::map<std::int64_t, std::size_t> counts;
    for (const std::int64_t d : slopes_) ++counts[d];
    return std::max_element(counts.begin(), counts.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  // A line with one jump, or with equal jumps at equal distances: a floor, a modulus or both.
  void jumps() {
    const std::int64_t slope = usual_slope();
    std::vector<std::size_t> places;
    for (std::size_t t = 0; t < slopes_.size(); ++t)
      if (slopes_[t] != slope) places.push_back(t);
    const std::int64_t jump = slopes_[places[0]] - slope;
    if (places.size() == 1) {
      const std::int64_t first = at(places[0] + 1);
      found_.push_back(line(slope, 0) + (x_ >= first) * jump);
      found_.push_back(line(slope, size() - 1) - (x_ < first) * jump);
    }
    const std::size_t gap = places.size() > 1 ? places[1] - places[0] : std::max(places[0] + 1, size() - 1 - places[0]);
    if (gap < 2 || places[0] >= gap || slopes_.size() - places.back() > gap) return;
    for (std::size_t i = 1; i < places.size(); ++i)
      if (places[i] - places[i - 1] != gap || slopes_[places[i]] - slope != jump) return;
    add_floor(slope, jump, static_cast<std::int64_t>(gap), -at(places[0] + 1));
  }

  // Adds slope * x + jump * floor((x + shift) / gap) + constant, with the constant that fits the first point.
  void add_floor(std::int64_t slope, std::int64_t jump, std::int64_t gap, std::int64_t shift) {
    const Expr y = x_ + shift;
    const std::int64_t q = floor_div(lo_ + shift, gap), r = floor_mod(lo_ + shift, gap);
    found_.push_back(x_ * slope + y / gap * jump + (f_[0] - slope * lo_ - jump * q));
    const std::int64_t whole = slope * gap + jump;
    found_.push_back(y % gap * slope + y / gap * whole + (f_[0] - slope * r - whole * q));
  }

  // Two lines that meet (min or max), or a line that is clamped at both sides.
  void kinks() {
    const std::int64_t a = slopes_.front(), b = slopes_.back(), c = usual_slope();
    const std::size_t last = size() - 1;
    add_if_equal([&](std::size_t t) { return std::min(line_value(a, 0, t), line_value(b, last, t)); },
                 [&] { return min(line(a, 0), line(b, last)); });
    add_if_equal([&](std::size_t t) { return std::max(line_value(a, 0, t), line_value(b, last, t)); },
                 [&] { return max(line(a, 0), line(b, last)); });
    const std::size_t place = static_cast<std::size_t>(std::find(slopes_.begin(), slopes_.end(), c) - slopes_.begin());
    const auto [least, most] = std::minmax_element(f_.begin(), f_.end());
    const std::int64_t low = *least, high = *most;
    add_if_equal([&](std::size_t t) { return std::clamp(line_value(c, place, t), low, high); },
                 [&] { return max(min(line(c, place), Expr(high)), Expr(low)); });
  }
  template <class Value, class Form>
  void add_if_equal(Value value, Form form) {
    for (std::size_t t = 0; t < size(); ++t)
      if (value(t) != f_[t]) return;
    found_.push_back(form());
  }

  // u + (v - u) * condition, where the condition is a point, an interval, or the complement of one.
  void two_values() {
    const std::int64_t u = f_[0];
    const auto other = std::find_if(f_.begin(), f_.end(), [&](std::int64_t y) { return y != u; });
    const std::int64_t v = *other;
    const auto begin = static_cast<std::size_t>(other - f_.begin());
    std::size_t end = begin;
    while (end < size() && f_[end] == v) ++end;
    if (std::any_of(f_.begin() + static_cast<std::ptrdiff_t>(end), f_.end(), [&](std::int64_t y) { return y != u; }))
      return;
    add_condition(begin, end, u, v);
  }
  // v on [begin, end), u elsewhere
  void add_condition(std::size_t begin, std::size_t end, std::int64_t u, std::int64_t v) {
    const Expr inside = end - begin == 1 ? x_ == at(begin) : x_ >= at(begin) && x_ < at(end);
    const Expr outside = end - begin == 1 ? x_ != at(begin) : x_ < at(begin) || x_ >= at(end);
    found_.push_back(inside * (v - u) + u);
    found_.push_back(outside * (u - v) + v);
    if (begin == 1 && end == size()) found_.push_back((x_ == at(0)) * (u - v) + v);
    if (begin == 1 && end == size()) found_.push_back((x_ != at(0)) * (v - u) + u);
  }

  // f(0) + sum of c_q * floor((x - lo) / q). The basis is triangular, so the coefficients follow from left to right.
  void expansion() {
    Table rest = f_;
    for (std::int64_t& y : rest) y -= f_[0];
    Expr form = f_[0];
    std::size_t terms = 0;
    for (std::size_t q = 1; q < size(); ++q) {
      const std::int64_t c = rest[q];
      if (c == 0) continue;
      if (++terms > kMaxTerms) return;
      for (std::size_t t = q; t < size(); ++t) rest[t] -= c * static_cast<std::int64_t>(t / q);
      form += (x_ - lo_) / static_cast<std::int64_t>(q) * c;
    }
    found_.push_back(form);
  }

  // g(x % p) + d * (x // p)
  void periodic() {
    std::size_t period = 2;
    const auto repeats = [&](std::size_t p) {
      return std::equal(slopes_.begin() + static_cast<std::ptrdiff_t>(p), slopes_.end(), slopes_.begin());
    };
    while (period < slopes_.size() && !repeats(period)) ++period;
    if (period * 3 > size() * 2) return;
    const auto p = static_cast<std::int64_t>(period);
    const std::int64_t rise = f_[period] - f_[0];
    Table g(period);
    for (std::size_t t = 0; t < period; ++t)
      g[static_cast<std::size_t>(floor_mod(at(t), p))] = f_[t] - rise * floor_div(at(t), p);
    nest(x_ % p, 0, g, x_ / p * rise);
  }

  // h((x + shift) // c): the value changes only where x has one residue modulo c.
  void blocks() {
    std::size_t first = 0, width = 0;
    for (std::size_t t = 0; t < slopes_.size(); ++t) {
      if (slopes_[t] == 0) continue;
      if (first == 0)
        first = t + 1;
      else
        width = std::gcd(width, t + 1 - first);
    }
    if (width < 2) return;
    const auto c = static_cast<std::int64_t>(width);
    const std::int64_t shift = floor_mod(-at(first), c);
    const std::int64_t low = floor_div(lo_ + shift, c), high = floor_div(at(size() - 1) + shift, c);
    Table h(static_cast<std::size_t>(high - low + 1));
    for (std::size_t t = 0; t < size(); ++t) h[static_cast<std::size_t>(floor_div(at(t) + shift, c) - low)] = f_[t];
    nest((x_ + shift) / c, low, h, Expr(0));
  }

  // Adds the cheapest form of `table` as a function of y, plus `rest`.
  void nest(const Expr& y, std::int64_t lo, const Table& table, const Expr& rest) {
    const std::vector<Expr> forms = Finder(y, lo, table, depth_ + 1).run();
    if (forms.empty()) return;
    const auto cheapest = std::min_element(
        forms.begin(), forms.end(), [](const Expr& a, const Expr& b) { return count_nodes(a) < count_nodes(b); });
    found_.push_back(*cheapest + rest);
  }

  Expr x_;
  std::int64_t lo_;
  Table f_, slopes_;
  int depth_;
  std::vector<Expr> found_;
};

}  // namespace

std::vector<Expr> univariate_forms(const Expr& x, std::int64_t lo, std::span<const std::int64_t> table) {
  return Finder(x, lo, table, 0).run();
}

}  // namespace strata
