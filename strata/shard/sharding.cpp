// Shardings: layouts of splits, the digits of a layout on the axes, owners.

#include "strata/shard/sharding.h"

#include <algorithm>

#include "strata/base/check.h"
#include "strata/base/quotes.h"

namespace strata {
namespace {

/// An axis that is split: blocks of `block` elements are dealt out to `parts` parts, `cycles` to each.
struct Dealt {
  std::int64_t parts = 1, block = 1, cycles = 1;
};

std::int64_t ceil_quotient(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

/// @pre size >= 0
Dealt dealt(std::int64_t size, std::int64_t parts, const std::optional<std::int64_t>& cyclic) {
  Dealt out{parts, cyclic.value_or(std::max<std::int64_t>(1, ceil_quotient(size, parts))), 1};
  std::int64_t period = 0;
  STRATA_CHECK(try_mul(out.block, parts, period), overflow, "[shard] ", parts, " blocks of ", out.block,
               " elements leave 64 bits");
  out.cycles = std::max<std::int64_t>(1, ceil_quotient(size, period));
  return out;
}

std::int64_t padded_size(const Dealt& d) {
  std::int64_t out = 0;
  STRATA_CHECK(try_mul(d.block * d.parts, d.cycles, out), overflow,
               "[shard] the padded size of an axis leaves 64 bits");
  return out;
}

Index strides_of(const Index& padded) {
  Index out(padded.size(), 1);
  std::int64_t next = 1;
  for (std::size_t j = padded.size(); j-- > 0;) {
    out[j] = next;
    STRATA_CHECK(try_mul(next, padded[j], next), overflow, "[shard] the padded shape ", render(padded),
                 " has more elements than 64 bits count");
  }
  return out;
}

/// The splits of a tensor over a mesh, as a layout.
class SplitLayout {
 public:
  SplitLayout(const MeshShape& mesh, const Index& shape, const std::vector<Split>& splits)
      : mesh_(mesh), axes_(shape.size()), of_axis_(mesh.sizes().size(), -1) {
    for (std::size_t k = 0; k < splits.size(); ++k) take(splits, k);
    for (std::size_t j = 0; j < shape.size(); ++j) {
      STRATA_CHECK(shape[j] >= 0, shape, "[shard] size ", shape[j], " of axis ", j, " is negative");
      const Split* split = axes_[j];
      axes_dealt_.push_back(dealt(shape[j], parts(split), split == nullptr ? std::nullopt : split->cyclic));
      padded_.push_back(padded_size(axes_dealt_.back()));
    }
  }

  const Index& padded() const { return padded_; }

  Layout layout() const {
    const Index strides = strides_of(padded_);
    Layout::Leaves rank, local;
    for (std::size_t m = mesh_.sizes().size(); m-- > 0;) rank.push_back({mesh_.sizes()[m], rank_stride(m, strides)});
    for (std::size_t j = strides.size(); j-- > 0;) {
      const Dealt& d = axes_dealt_[j];
      local.push_back({d.block, strides[j]});
      if (d.cycles > 1) local.push_back({d.cycles, d.block * d.parts * strides[j]});
    }
    return make_layout(Layout::flat(rank), Layout::flat(local));
  }

 private:
  void take(const std::vector<Split>& splits, std::size_t k) {
    const Split& split = splits[k];
    const auto rank = static_cast<std::int64_t>(axes_.size());
    STRATA_CHECK(0 <= split.axis && split.axis < rank, domain, "[shard] axis ", split.axis,
                 " is not one of the tensor's ", rank, " axes");
    STRATA_CHECK(!split.cyclic || *split.cyclic >= 1, domain, "[shard] blocks of ", split.cyclic.value_or(0),
                 " elements: at least 1");
    STRATA_CHECK(!split.over.empty(), domain, "[shard] axis ", split.axis, " is split over no axis of the mesh");
    const Split*& of_tensor = axes_[static_cast<std::size_t>(split.axis)];
    STRATA_CHECK(of_tensor == nullptr, domain, "[shard] axis ", split.axis,
                 " is split twice; to split it over two axes ", "of the mesh, join their names: ", split.over[0],
                 "+...:", split.axis);
    of_tensor = &split;
    for (const std::string& name : split.over) {
      std::int64_t& of_mesh = of_axis_[mesh_.axis(name)];
      STRATA_CHECK(of_mesh < 0, domain, "[shard] the mesh axis ", name, " splits axis ", of_mesh, " and axis ",
                   split.axis, ": at most one");
      of_mesh = split.axis;
    }
  }

  std::int64_t parts(const Split* split) const {
    std::int64_t out = 1;
    if (split != nullptr)
      for (const std::string& name : split->over) out *= mesh_.sizes()[mesh_.axis(name)];
    return out;
  }

  std::int64_t rank_stride(std::size_t m, const Index& strides) const {
    if (of_axis_[m] < 0) return 0;
    const auto j = static_cast<std::size_t>(of_axis_[m]);
    std::int64_t out = axes_dealt_[j].block * strides[j];
    const std::vector<std::string>& over = axes_[j]->over;
    for (std::size_t k = over.size(); mesh_.axis(over[--k]) != m;) out *= mesh_.sizes()[mesh_.axis(over[k])];
    return out;
  }

  const MeshShape& mesh_;
  std::vector<const Split*> axes_;     // of the tensor: null where not split
  std::vector<std::int64_t> of_axis_;  // of the mesh: the tensor's axis, -1 where it makes replicas
  std::vector<Dealt> axes_dealt_;
  Index padded_;
};

}  // namespace

Sharding Sharding::create(const MeshShape& mesh, const Index& shape, const std::vector<Split>& splits) {
  const SplitLayout made(mesh, shape, splits);
  Sharding out = create(mesh, shape, made.layout(), made.padded());
  out.splits_ = splits;
  return out;
}

Sharding Sharding::create(const MeshShape& mesh, const Index& shape, const Layout& layout,
                          const std::optional<Index>& padded) {
  Index covered = padded.value_or(shape);
  STRATA_CHECK(covered.size() == shape.size(), shape, "[shard] the padded shape ", render(covered), " of ",
               render(shape), " has another number of axes");
  for (std::size_t j = 0; j < shape.size(); ++j) {
    STRATA_CHECK(shape[j] >= 0, shape, "[shard] size ", shape[j], " of axis ", j, " is negative");
    if (!padded) covered[j] = std::max<std::int64_t>(covered[j], 1);
    STRATA_CHECK(covered[j] >= std::max<std::int64_t>(shape[j], 1), shape, "[shard] size ", covered[j], " of axis ", j,
                 " of the padded shape is below ", std::max<std::int64_t>(shape[j], 1));
  }
  const Index strides = strides_of(covered);
  check_owners(layout, mesh.size(), covered.empty() ? 1 : strides[0] * covered[0]);
  return Sharding(mesh, shape, layout, covered);
}

Sharding::Sharding(const MeshShape& mesh, const Index& shape, const Layout& layout, const Index& padded)
    : mesh_(mesh), shape_(shape), padded_(padded), layout_(layout) {
  const StaticLayout numbered = *numbers(layout);
  for (const bool of_rank : {true, false}) {
    std::int64_t weight = 1;
    const StaticLayout mode = numbered.mode(of_rank ? 0 : 1);
    for (const StaticLayout::Leaf& l : mode.leaves()) {
      if (l.size > 1 && l.stride == 0) replicas_.push_back({true, 0, 0, l.size, weight});
      if (l.size > 1 && l.stride != 0) place_leaf(of_rank, l.size, l.stride, weight);
      weight *= l.size;
    }
  }
}

// A leaf belongs to the axis inside of which its steps stay. One that goes on over the next axis is two digits.
void Sharding::place_leaf(bool of_rank, std::int64_t size, std::int64_t stride, std::int64_t weight) {
  std::int64_t step = 1;  // of axis j
  for (std::size_t j = padded_.size(); j-- > 0 && size > 1; step *= padded_[j]) {
    const std::int64_t end = step * padded_[j];
    if (stride >= end) continue;
    const std::int64_t inside = std::min(size, end / stride);
    STRATA_CHECK(stride % step == 0 && (inside == size || (end % stride == 0 && size % inside == 0)), undefined,
                 "[shard] the leaf ", size, ":", stride, " crosses the end of axis ", j, " of ", render(padded_),
                 ": no box of coordinates is its elements");
    digits_.push_back({of_rank, j, stride / step, inside, weight});
    size /= inside;
    stride *= inside;
    weight *= inside;
  }
}

void Sharding::check(const Index& coordinates) const {
  STRATA_CHECK(coordinates.size() == shape_.size(), shape, "[shard] ", coordinates.size(), " coordinates for ",
               shape_.size(), " axes");
  for (std::size_t j = 0; j < shape_.size(); ++j)
    STRATA_CHECK(0 <= coordinates[j] && coordinates[j] < shape_[j], domain, "[shard] coordinate ", coordinates[j],
                 " of axis ", j, " is outside of its size ", shape_[j]);
}

std::int64_t Sharding::number(const Index& coordinates, bool of_rank) const {
  check(coordinates);
  std::int64_t out = 0;
  for (const Digit& d : digits_)
    if (d.of_rank == of_rank) out += d.weight * (coordinates[d.axis] / d.place % d.size);
  return out;
}

std::int64_t Sharding::owner(const Index& coordinates) const { return number(coordinates, true); }
std::vector<std::int64_t> Sharding::owners(const Index& coordinates) const { return replicas(owner(coordinates)); }
std::int64_t Sharding::local_index(const Index& coordinates) const { return number(coordinates, false); }

std::optional<Index> Sharding::element(std::int64_t rank, std::int64_t local) const {
  mesh_.check(rank);
  const std::int64_t locals = layout_.mode(1).size().value();
  STRATA_CHECK(0 <= local && local < locals, domain, "[shard] local index ", local, " is outside of ", locals);
  Index out(shape_.size(), 0);
  for (const Digit& d : digits_) out[d.axis] += d.place * d.of(d.of_rank ? rank : local);
  for (std::size_t j = 0; j < shape_.size(); ++j)
    if (out[j] >= shape_[j]) return std::nullopt;
  return out;
}

AxisPart Sharding::owned(std::int64_t rank, std::size_t axis) const {
  Progressions sums;
  for (const Digit& d : digits_) {
    if (d.axis != axis) continue;
    if (d.of_rank) sums.base += d.place * d.of(rank);
    if (!d.of_rank) sums.levels.push_back({d.place, d.size});
  }
  const std::optional<AxisPart> whole = stripes_of(sums, kMostStripes);
  STRATA_CHECK(whole, budget, "[shard] what a rank owns of axis ", axis, " is more than ", kMostStripes, " Stripes");
  AxisPart out;
  for (const Stripes& s : *whole)
    for (const Stripes& part : clipped(s, 0, shape_[axis])) out.push_back(part);
  return out;
}

std::vector<AxisPart> Sharding::owned(std::int64_t rank) const {
  mesh_.check(rank);
  std::vector<AxisPart> out;
  for (std::size_t j = 0; j < shape_.size(); ++j) out.push_back(owned(rank, j));
  return out;
}

Index Sharding::local_shape(std::int64_t rank) const {
  Index out;
  for (const AxisPart& part : owned(rank)) out.push_back(elements_in(part));
  return out;
}

std::int64_t Sharding::first_owner(std::int64_t rank) const {
  std::int64_t out = rank;
  for (const Digit& d : replicas_) out -= d.weight * d.of(rank);
  return out;
}

std::int64_t Sharding::replica(std::int64_t owner, std::int64_t near) const {
  return first_owner(owner) + near - first_owner(near);
}

std::vector<std::int64_t> Sharding::replicas(std::int64_t rank) const {
  std::vector<std::int64_t> out = {first_owner(rank)};
  for (const Digit& d : replicas_) {  // the fastest first
    const std::size_t known = out.size();
    for (std::int64_t i = 1; i < d.size; ++i)
      for (std::size_t k = 0; k < known; ++k) out.push_back(out[k] + i * d.weight);
  }
  return out;
}

std::vector<std::pair<std::int64_t, AxisPart>> Sharding::parts(std::size_t axis) const {
  std::vector<std::int64_t> ranks = {0};
  for (const Digit& d : digits_) {
    if (!d.of_rank || d.axis != axis) continue;
    const std::size_t known = ranks.size();
    for (std::int64_t i = 1; i < d.size; ++i)
      for (std::size_t k = 0; k < known; ++k) ranks.push_back(ranks[k] + i * d.weight);
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::pair<std::int64_t, AxisPart>> out;
  out.reserve(ranks.size());
  for (const std::int64_t rank : ranks) out.emplace_back(rank, owned(rank, axis));
  return out;
}

}  // namespace strata
