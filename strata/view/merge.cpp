// Stacks of Views as one View, or as few as there can be.

#include "strata/view/merge.h"

#include <algorithm>
#include <limits>
#include <map>

namespace strata {

Strided to_strided(const View& v) {
  Strided out;
  out.offset = v.offset().value();
  for (std::size_t j = 0; j < v.rank(); ++j) {
    out.shape.push_back(v.shape()[j].value());
    out.stride.push_back(v.strides()[j].value());
    out.begin.push_back(v.mask() ? (*v.mask())[j].begin.value() : 0);
    out.end.push_back(v.mask() ? (*v.mask())[j].end.value() : out.shape[j]);
  }
  return out;
}

std::vector<Strided> to_strided(std::span<const View> views) {
  std::vector<Strided> out;
  out.reserve(views.size());
  for (const View& v : views) out.push_back(to_strided(v));
  return out;
}

View to_view(const Single& single, const Index& shape) {
  std::optional<Mask> mask;
  if (single.begin != Index(shape.size(), 0) || single.end != shape) {
    mask.emplace();
    for (std::size_t j = 0; j < shape.size(); ++j)
      mask->push_back({single.begin[j], single.end[j]});
  }
  return View::create(to_ints(shape), to_ints(single.stride), single.offset, std::move(mask));
}

namespace {

// What one attempt at a pair of symbolic Views counts as, beside steps between numbers: their times are alike.
constexpr std::uint64_t kSymbolicWork = 2048;

bool all_numbers(std::span<const View> views) {
  return std::all_of(views.begin(), views.end(), [](const View& v) { return v.is_concrete(); });
}

Merge merge_numbers(std::span<const View> views, std::uint64_t budget) {
  const std::vector<Strided> stack = to_strided(views);
  Merge out;
  try {
    const Single one = single(std::span<const Strided>(stack), budget);
    out.found = one.found;
    out.obstacle = one.obstacle;
    out.work = one.work;
    if (one.found == Answer::yes) out.view = to_view(one, stack.back().shape);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::overflow) throw;
    out.found = Answer::unknown;
    out.obstacle.kind = Obstacle::Kind::overflow;
  }
  for (const View& v : views) out.work += v.rank() + 1;
  return out;
}

std::optional<View> merge_pair(const View& lower, const View& upper) {
  if (upper.contiguous() && upper.shape() == lower.shape()) return lower;
  return merge_symbolic(lower, upper);
}

// Which groups of neighbours are one View: short ones first, each group of numbers at once, others from two parts.
class Groups {
 public:
  Groups(std::span<const View> views, std::uint64_t budget) : views_(views), left_(budget) {
    for (std::size_t i = 0; i < views.size(); ++i) known_.emplace(Key{i + 1, i}, views[i]);
  }

  /// Up to groups of `most` Views, while the budget lasts.
  void find(std::size_t most) {
    for (std::size_t length = 2; length <= most; ++length)
      for (std::size_t begin = 0; begin + length <= views_.size() && left_ != 0; ++begin)
        decide(begin, begin + length);
  }
  const View* view(std::size_t begin, std::size_t end) const {
    const auto at = known_.find(Key{end, begin});
    return at == known_.end() ? nullptr : &at->second;
  }
  std::uint64_t left() const { return left_; }

  /// A View each of the fewest groups, the first ones as long as they can be.
  std::vector<View> fewest() const {
    constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> best(views_.size() + 1, none), from(views_.size() + 1, 0);
    best[0] = 0;
    for (const auto& [key, view] : known_) {
      const auto [end, begin] = key;
      if (best[begin] + 1 >= best[end]) continue;
      best[end] = best[begin] + 1;
      from[end] = begin;
    }
    std::vector<View> out;
    for (std::size_t end = views_.size(); end != 0; end = from[end])
      out.push_back(known_.at(Key{end, from[end]}));
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  using Key = std::pair<std::size_t, std::size_t>;  // end, begin: in the order in which paths grow

  void spend(std::uint64_t work) { left_ = left_ > work ? left_ - work : 0; }

  void decide(std::size_t begin, std::size_t end) {
    const std::span<const View> group = views_.subspan(begin, end - begin);
    if (all_numbers(group)) {
      Merge merged = merge_numbers(group, left_);
      spend(merged.work);
      if (merged.view) known_.emplace(Key{end, begin}, *std::move(merged.view));
      return;
    }
    for (std::size_t middle = begin + 1; middle < end && left_ != 0; ++middle) {
      const View *lower = view(begin, middle), *upper = view(middle, end);
      if (lower == nullptr || upper == nullptr) continue;
      spend(kSymbolicWork);
      if (std::optional<View> one = merge_pair(*lower, *upper)) {
        known_.emplace(Key{end, begin}, *std::move(one));
        return;
      }
    }
  }

  std::span<const View> views_;
  std::uint64_t left_;
  std::map<Key, View> known_;
};

// One round: the whole stack, else the fewest groups.
std::vector<View> regrouped(std::span<const View> views) {
  if (all_numbers(views)) {
    Merge whole = merge_numbers(views, kMergeBudget);
    if (whole.view) return {*std::move(whole.view)};
  }
  Groups groups(views, kMergeBudget);
  groups.find(all_numbers(views) ? views.size() - 1 : views.size());
  return groups.fewest();
}

}  // namespace

Merge merge(std::span<const View> views, std::uint64_t budget) {
  STRATA_CHECK(!views.empty(), shape, "[merge] there is no View");
  if (views.size() == 1) return {Answer::yes, views[0], {}, 0};
  if (all_numbers(views)) return merge_numbers(views, budget);
  Groups groups(views, budget);
  groups.find(views.size());
  const View* whole = groups.view(0, views.size());
  Merge out;
  out.work = budget - groups.left();
  if (whole == nullptr) return out;
  out.found = Answer::yes;
  out.view = *whole;
  return out;
}

std::vector<View> fewest_views(std::span<const View> views) {
  std::vector<View> out(views.begin(), views.end());
  while (out.size() > 1) {
    std::vector<View> fewer = regrouped(out);
    if (fewer.size() == out.size()) break;
    out = std::move(fewer);
  }
  return out;
}

}  // namespace strata
