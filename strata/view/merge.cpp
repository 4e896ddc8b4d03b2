// Merging a stack of Views into one View, or into as few as possible.

#include "strata/view/merge.h"

#include <algorithm>
#include <limits>
#include <map>

namespace strata {

namespace {

void fill(Strided& out, const View& v) {
  const std::size_t rank = v.rank();
  out.offset = v.offset().value();
  for (Index* of : {&out.shape, &out.stride, &out.begin, &out.end}) of->reserve(rank);
  for (std::size_t j = 0; j < rank; ++j) {
    out.shape.push_back(v.shape()[j].value());
    out.stride.push_back(v.strides()[j].value());
    out.begin.push_back(v.mask() ? (*v.mask())[j].begin.value() : 0);
    out.end.push_back(v.mask() ? (*v.mask())[j].end.value() : out.shape[j]);
  }
}

}  // namespace

Strided to_strided(const View& v) {
  Strided out;
  fill(out, v);
  return out;
}

std::vector<Strided> to_strided(std::span<const View> views) {
  std::vector<Strided> out;
  out.reserve(views.size());
  for (const View& v : views) fill(out.emplace_back(), v);
  return out;
}

namespace {

// The cost of one attempt to merge two symbolic Views, in the unit of Pieces: both take about as long.
constexpr std::uint64_t kSymbolicWork = 2048;

bool all_numbers(std::span<const View> views) {
  return std::all_of(views.begin(), views.end(), [](const View& v) { return v.is_concrete(); });
}

Merge merge_numbers(std::span<const View> views, std::uint64_t budget) {
  SmallVec<Strided, 2> stack;
  stack.resize(views.size());
  for (std::size_t k = 0; k < views.size(); ++k) fill(stack[k], views[k]);
  Merge out;
  try {
    const Single one = single(std::span<const Strided>(stack.data(), stack.size()), budget);
    out.found = one.found;
    out.work = one.work;
    if (one.found == Answer::yes) {
      out.view = to_view(one, views.back().shape());
    } else {
      out.obstacle = one.obstacle;
    }
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

// Finds the groups of neighbouring Views that are one View, short groups first. A group of numbers is decided at once;
// a symbolic group is merged from two parts.
class Groups {
 public:
  Groups(std::span<const View> views, std::uint64_t budget) : views_(views), left_(budget) {
    for (std::size_t i = 0; i < views.size(); ++i) known_.emplace(Key{i + 1, i}, views[i]);
  }

  /// Finds groups of up to `most` Views, while the budget lasts.
  void find(std::size_t most) {
    for (std::size_t length = 2; length <= most; ++length)
      for (std::size_t begin = 0; begin + length <= views_.size() && left_ != 0; ++begin) decide(begin, begin + length);
  }
  const View* view(std::size_t begin, std::size_t end) const {
    const auto at = known_.find(Key{end, begin});
    return at == known_.end() ? nullptr : &at->second;
  }
  std::uint64_t left() const { return left_; }

  /// The Views of the fewest groups that cover the stack; the first groups are as long as possible.
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
    for (std::size_t end = views_.size(); end != 0; end = from[end]) out.push_back(known_.at(Key{end, from[end]}));
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  using Key = std::pair<std::size_t, std::size_t>;  // (end, begin), so sorted as paths grow

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

// One round: the whole stack as one View, otherwise the fewest groups.
std::vector<View> regrouped(std::span<const View> views) {
  if (all_numbers(views)) {
    Merge whole = merge_numbers(views, kMergeBudget);
    if (whole.view) {
      std::vector<View> one;
      one.push_back(*std::move(whole.view));
      return one;
    }
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
  if (views.size() < 2) return {views.begin(), views.end()};
  std::vector<View> out = regrouped(views);
  for (std::size_t before = views.size(); out.size() > 1 && out.size() < before;) {
    before = out.size();
    out = regrouped(out);
  }
  return out;
}

}  // namespace strata
