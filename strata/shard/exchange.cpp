// Messages: what a rank needs, cut by owners. On each axis the parts of the owners are cut apart; a message is a
// combination of one part for each axis.

#include "strata/shard/exchange.h"

#include <algorithm>
#include <map>
#include <utility>

#include "strata/base/check.h"

namespace strata {
namespace {

/// The elements of a box that an owner has on one axis.
struct Share {
  std::int64_t owner = 0;  // the digits of this axis
  AxisPart part;
  bool is_larger = false;
};

/// `needed` in `owned`. Beyond the limit: what is owned between the ends of `needed`.
Share share_of(std::int64_t owner, const AxisPart& owned, const Stripes& needed) {
  Share out{owner, {}, false};
  for (const Stripes& s : owned) {
    std::optional<AxisPart> both = intersection(s, needed, kMostMessageStripes);
    out.is_larger = out.is_larger || !both;
    if (!both) both = clipped(s, needed.begin, needed.end());
    out.part.insert(out.part.end(), both->begin(), both->end());
  }
  return out;
}

/// All combinations of one share for each axis, as messages by owner.
class Combination {
 public:
  explicit Combination(std::map<std::int64_t, Message>& messages) : messages_(messages) {}

  void add(const std::vector<std::vector<Share>>& axes) {
    if (std::any_of(axes.begin(), axes.end(), [](const auto& shares) { return shares.empty(); })) return;
    std::vector<std::size_t> at(axes.size(), 0);
    while (true) {
      take(axes, at);
      std::size_t j = axes.size();
      while (j > 0 && ++at[j - 1] == axes[j - 1].size()) at[--j] = 0;
      if (j == 0) return;
    }
  }

 private:
  void take(const std::vector<std::vector<Share>>& axes, const std::vector<std::size_t>& at) {
    std::int64_t owner = 0;
    std::vector<AxisPart> parts;
    bool is_larger = false;
    std::size_t boxes = 1;
    for (std::size_t j = 0; j < axes.size(); ++j) {
      const Share& share = axes[j][at[j]];
      owner += share.owner;
      parts.push_back(share.part);
      is_larger = is_larger || share.is_larger;
      boxes = std::min(boxes * share.part.size(), kMostMessageBoxes + 1);
    }
    Message& message = messages_[owner];
    message.is_larger = message.is_larger || is_larger || message.boxes.size() + boxes > kMostMessageBoxes;
    if (message.is_larger) return;  // its boxes are made of all that is needed
    for (StridedBox& box : boxes_of(parts)) message.boxes.push_back(std::move(box));
  }

  std::map<std::int64_t, Message>& messages_;
};

/// What `owned` has inside of `around`, a box of intervals.
std::vector<StridedBox> clipped_to(const std::vector<AxisPart>& owned, const StridedBox& around) {
  std::vector<AxisPart> parts(owned.size());
  for (std::size_t j = 0; j < owned.size(); ++j)
    for (const Stripes& s : owned[j])
      for (const Stripes& part : clipped(s, around[j].begin, around[j].end())) parts[j].push_back(part);
  return boxes_of(parts);
}

}  // namespace

Exchange::Exchange(const Sharding& tensor, const Sharding& result, const std::vector<ShapeTracker>& reads)
    : tensor_(tensor), result_(result), reads_(reads) {
  STRATA_CHECK(tensor.mesh() == result.mesh(), domain, "[exchange] two meshes: ", render(tensor.mesh()), " and ",
               render(result.mesh()));
  for (const ShapeTracker& read : reads_) {
    const std::optional<Index> shape = numbers(read.shape());
    STRATA_CHECK(shape && read.is_concrete(), undefined, "[exchange] symbolic sizes: ", read.render());
    STRATA_CHECK(*shape == result.shape(), shape, "[exchange] a load of shape ", render(*shape), " for a result of ",
                 render(result.shape()));
  }
}

Exchange Exchange::between(const Sharding& from, const Sharding& to) {
  STRATA_CHECK(from.shape() == to.shape(), shape, "[exchange] from shape ", render(from.shape()), " to ",
               render(to.shape()));
  return {from, to, {ShapeTracker::from_shape(to_ints(to.shape()))}};
}

Image Exchange::need(std::int64_t rank) const {
  const std::vector<StridedBox> own = result_.pieces(rank);
  Image out;
  for (const ShapeTracker& read : reads_) {
    Image image = image_of(read, tensor_.shape(), own);
    out.is_larger = out.is_larger || image.is_larger;
    out.boxes.insert(out.boxes.end(), image.boxes.begin(), image.boxes.end());
  }
  if (reads_.size() < 2 || out.boxes.empty()) return out;
  if (auto apart = disjoint(out.boxes, kMostImageBoxes)) return {std::move(*apart), out.is_larger};
  return {{hull(out.boxes)}, true};
}

std::vector<Message> Exchange::received(std::int64_t rank) const {
  const Image image = need(rank);
  std::vector<std::vector<std::pair<std::int64_t, AxisPart>>> owners;
  for (std::size_t j = 0; j < tensor_.shape().size(); ++j) owners.push_back(tensor_.parts(j));
  std::map<std::int64_t, Message> by_owner;
  for (const StridedBox& box : image.boxes) {
    std::vector<std::vector<Share>> axes(box.size());
    for (std::size_t j = 0; j < box.size(); ++j)
      for (const auto& [owner, owned] : owners[j])
        if (Share share = share_of(owner, owned, box[j]); !share.part.empty()) axes[j].push_back(std::move(share));
    Combination(by_owner).add(axes);
  }
  by_owner.erase(tensor_.first_owner(rank));
  std::vector<Message> out;
  for (auto& [owner, message] : by_owner) {
    if (message.is_larger) message.boxes = clipped_to(tensor_.owned(owner), hull(image.boxes));
    message.from = tensor_.replica(owner, rank);
    message.to = rank;
    message.elements = volume(message.boxes, "exchange");
    message.is_larger = message.is_larger || image.is_larger;
    out.push_back(std::move(message));
  }
  std::sort(out.begin(), out.end(), [](const Message& a, const Message& b) { return a.from < b.from; });
  return out;
}

std::vector<Message> Exchange::sent(std::int64_t rank) const {
  const std::vector<AxisPart> owned = tensor_.owned(rank);
  const std::int64_t first = tensor_.first_owner(rank);
  std::vector<Message> out;
  for (std::int64_t to = 0; to < tensor_.mesh().size(); ++to) {
    const std::int64_t own = tensor_.first_owner(to);
    if (own == first || to - own != rank - first) continue;  // it has them, or another replica is nearer
    const Image image = need(to);
    std::map<std::int64_t, Message> messages;
    for (const StridedBox& box : image.boxes) {
      std::vector<std::vector<Share>> axes(box.size());
      for (std::size_t j = 0; j < box.size(); ++j)
        if (Share share = share_of(0, owned[j], box[j]); !share.part.empty()) axes[j].push_back(std::move(share));
      Combination(messages).add(axes);
    }
    for (auto& [owner, message] : messages) {
      if (message.is_larger) message.boxes = clipped_to(owned, hull(image.boxes));
      message.from = rank;
      message.to = to;
      message.elements = volume(message.boxes, "exchange");
      message.is_larger = message.is_larger || image.is_larger;
      out.push_back(std::move(message));
    }
  }
  return out;
}

std::int64_t Exchange::missing(std::int64_t rank) const {
  const std::vector<AxisPart> owned = tensor_.owned(rank);
  std::int64_t out = 0;
  bool is_larger = false;
  for (const StridedBox& box : need(rank).boxes) {
    const std::int64_t all = volume(box, "exchange");
    std::int64_t own = 1;
    for (std::size_t j = 0; j < box.size() && !is_larger; ++j) {
      const Share share = share_of(0, owned[j], box[j]);
      is_larger = share.is_larger;
      own = is_larger ? 0 : own * elements_in(share.part);  // at most all
    }
    STRATA_CHECK(try_add(out, all - own, out), overflow, "[exchange] rank ", rank,
                 " lacks more elements than 64 bits count");
  }
  if (!is_larger) return out;
  out = 0;
  for (const Message& m : received(rank))
    STRATA_CHECK(try_add(out, m.elements, out), overflow, "[exchange] rank ", rank,
                 " lacks more elements than 64 bits count");
  return out;
}

}  // namespace strata
