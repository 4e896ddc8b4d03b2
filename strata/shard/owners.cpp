// check_owners(): a layout whose values are 0, 1, ..., n - 1, each once, is a number system, which its strides show.
//
// Sort the leaves by stride, those of size 1 and the replicas apart. Let reach be the product of the sizes so far,
// which starts as 1. The sums of the leaves so far are 0, ..., reach - 1, each once. If the next stride is reach, this
// holds with that leaf, too. If it is larger, all further sums are larger than reach, so no place has `reach`. If it is
// smaller, `stride` is a sum of the leaves so far, and that of the next leaf alone. So the walk ends at the first leaf
// that is wrong, with a witness, or it is the proof.

#include <algorithm>
#include <vector>

#include "strata/base/check.h"
#include "strata/shard/sharding.h"

namespace strata {
namespace {

struct OwnerLeaf {
  bool of_rank = false;
  std::int64_t size = 1, stride = 0, weight = 1;
};

/// Where an element is.
struct Place {
  std::int64_t rank = 0, local = 0;
  void add(const OwnerLeaf& leaf, std::int64_t digit) { (leaf.of_rank ? rank : local) += leaf.weight * digit; }
  std::string text() const { return detail::message("rank ", rank, " at local index ", local); }
};

void append_leaves(std::vector<OwnerLeaf>& out, const StaticLayout& mode, bool of_rank) {
  std::int64_t weight = 1;
  for (const StaticLayout::Leaf& l : mode.leaves()) {
    if (l.size > 1 && (l.stride != 0 || !of_rank)) out.push_back({of_rank, l.size, l.stride, weight});
    weight *= l.size;
  }
}

[[noreturn]] void refuse_two(std::int64_t element, const Place& a, const Place& b) {
  throw Error(ErrorKind::undefined,
              detail::message("[shard] element ", element, " has two owners: ", a.text(), ", and ", b.text()));
}

void check_range(const std::vector<OwnerLeaf>& leaves, std::int64_t elements) {
  Place least, most;
  std::int64_t min = 0, max = 0;  // fit: the layout checked them
  for (const OwnerLeaf& l : leaves) {
    (l.stride < 0 ? least : most).add(l, l.size - 1);
    (l.stride < 0 ? min : max) += l.stride * (l.size - 1);
  }
  STRATA_CHECK(min >= 0, undefined, "[shard] ", least.text(), " has ", min, ", which is no element");
  STRATA_CHECK(max < elements, undefined, "[shard] ", most.text(), " has ", max, ", but there are ", elements,
               " elements");
}

}  // namespace

void check_owners(const Layout& layout, std::int64_t ranks, std::int64_t elements) {
  const std::optional<StaticLayout> l = numbers(layout);
  STRATA_CHECK(l && l->profile()[0] == 2, shape, "[shard] ", render(layout),
               " has no two modes (rank, local) of numbers");
  STRATA_CHECK(l->mode(0).size() == ranks, shape, "[shard] the rank mode of ", render(layout), " has size ",
               l->mode(0).size(), ", but the mesh has ", ranks, " ranks");
  std::vector<OwnerLeaf> leaves;
  append_leaves(leaves, l->mode(0), true);
  append_leaves(leaves, l->mode(1), false);
  check_range(leaves, elements);
  std::sort(leaves.begin(), leaves.end(), [](const OwnerLeaf& a, const OwnerLeaf& b) { return a.stride < b.stride; });
  std::int64_t reach = 1;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const OwnerLeaf& next = leaves[k];
    STRATA_CHECK(next.stride <= reach, undefined, "[shard] element ", reach, " has no owner");
    if (next.stride < reach) {
      Place sum, alone;
      for (std::size_t i = 0; i < k; ++i) sum.add(leaves[i], next.stride / leaves[i].stride % leaves[i].size);
      alone.add(next, 1);
      refuse_two(next.stride, sum, alone);
    }
    reach *= next.size;  // fits: the layout's size does
  }
  STRATA_CHECK(reach >= elements, undefined, "[shard] element ", reach, " has no owner");
}

}  // namespace strata
