#include "strata/spmd/sharded_memory.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "strata/base/fork.h"
#include "strata/engine/realize.h"

namespace strata {

namespace {

struct KnownPlacements {
  std::mutex mutex;
  std::map<std::pair<const Ranks*, std::string>, std::weak_ptr<const ShardPlacement>> placements;
};
KnownPlacements& known_placements() {
  static KnownPlacements& out = *new KnownPlacements;  // never destroyed: tensors may outlive every static
  return out;
}
const ForkHook known_placements_hook(
    ForkOrder::tensors, [] { known_placements().mutex.lock(); }, [] { known_placements().mutex.unlock(); });

constexpr std::int64_t kLineBytes = 64;  // of a cache line: where a part may begin

StridedBox all_of(const Index& shape) {
  StridedBox out;
  for (const std::int64_t size : shape) out.push_back(interval(0, size));
  return out;
}

}  // namespace

ShardPlacement::ShardPlacement(std::shared_ptr<const Ranks> ranks, const std::vector<Split>& splits)
    : ranks_(std::move(ranks)),
      splits_(splits),
      text_(detail::message(splits.empty() ? "replicated" : render(splits), " on ", render(ranks_->mesh()))) {}

std::shared_ptr<const ShardPlacement> ShardPlacement::of(const std::shared_ptr<const Ranks>& ranks,
                                                         const std::vector<Split>& splits) {
  std::shared_ptr<const ShardPlacement> made(new ShardPlacement(ranks, splits));
  const std::lock_guard lock(known_placements().mutex);
  std::erase_if(known_placements().placements, [](const auto& of) { return of.second.expired(); });
  std::weak_ptr<const ShardPlacement>& slot = known_placements().placements[{ranks.get(), made->text()}];
  if (auto before = slot.lock()) return before;
  slot = made;
  return made;
}

ShardedMemory::ShardedMemory(Shards shards)
    : shards_(std::move(shards)),
      placement_(ShardPlacement::of(shards_.ranks, shards_.sharding.splits().value_or(std::vector<Split>()))) {}

namespace {

/// How Shards are in memory, without the memory.
class ShardForm final : public PlacedForm {
 public:
  ShardForm(std::shared_ptr<const Ranks> ranks, const Sharding& sharding, std::int64_t stride, std::int64_t most,
            std::shared_ptr<const NodePlacement> placement)
      : ranks_(std::move(ranks)), sharding_(sharding), stride_(stride), most_(most), placement_(std::move(placement)) {}

  std::shared_ptr<PlacedStorage> over(const Buffer& memory) const override {
    return std::make_shared<ShardedMemory>(Shards{ranks_, sharding_, {memory, stride_}, most_});
  }
  std::shared_ptr<const PlacedForm> without_leading(std::size_t axes) const override {
    Index shape;
    for (std::size_t k = axes; k < sharding_.shape().size(); ++k) shape.push_back(sharding_.shape()[k]);
    std::vector<Split> splits = *sharding_.splits();
    for (Split& split : splits) {
      split.axis -= static_cast<std::int64_t>(axes);
      if (split.axis < 0) return nullptr;
    }
    const Sharding sharding = Sharding::create(ranks_->mesh(), shape, splits);
    return std::make_shared<ShardForm>(ranks_, sharding, stride_, most_, ShardPlacement::of(ranks_, splits));
  }
  /// NOTE: equal placements are one object.
  bool is_same(const PlacedForm& other) const override {
    const auto* const o = dynamic_cast<const ShardForm*>(&other);
    return o != nullptr && placement_ == o->placement_ && sharding_.shape() == o->sharding_.shape() &&
           stride_ == o->stride_ && most_ == o->most_;
  }

 private:
  std::shared_ptr<const Ranks> ranks_;
  Sharding sharding_;
  std::int64_t stride_, most_;
  std::shared_ptr<const NodePlacement> placement_;
};

}  // namespace

std::shared_ptr<const PlacedForm> ShardedMemory::form() const {
  return std::make_shared<ShardForm>(shards_.ranks, shards_.sharding, shards_.memory.stride, shards_.most, placement_);
}

RankBuffer RankBuffer::allocate(const Ranks& ranks, std::int64_t elements, DType dtype) {
  const auto count = static_cast<std::int64_t>(ranks.here().size());
  const std::int64_t in_line = std::max<std::int64_t>(kLineBytes / static_cast<std::int64_t>(dtype.itemsize()), 1);
  const std::int64_t stride = count == 1 ? 0 : (elements + in_line - 1) / in_line * in_line;
  RankBuffer out{Buffer::allocate(count == 1 ? elements : count * stride, dtype), stride};
  if (ranks.is_simulated() && elements > 0) std::memset(out.all.data(), 0xff, out.all.nbytes());
  return out;
}

Buffer RankBuffer::part(std::size_t k) const {
  if (stride == 0) return all;
  if (k == 0) return Buffer::from_memory(all.watched().lock(), stride, all.dtype());
  return Buffer::from_pointer(memory().of(k), stride, all.dtype(), [whole = all](void*) {}, false, true);
}

Index bound_sizes(const Ints& shape) {
  Index out;
  for (const Int& size : shape) out.push_back(size.is_number() ? size.value() : evaluate(size.expr()));
  return out;
}

Shards Shards::allocate(const std::shared_ptr<const Ranks>& ranks, const Sharding& sharding, DType dtype,
                        std::int64_t most) {
  const bool is_whole = sharding.splits() && sharding.splits()->empty();
  const std::int64_t elements = std::max(sharding.layout().mode(1).size().value(), is_whole ? most : 0);
  return {ranks, sharding, RankBuffer::allocate(*ranks, elements, dtype), most};
}

namespace {

/// Copies the parts of simulated ranks to one memory.
void gather_simulated(const Sharding& sharding, const Ranks::Memory& from, void* to, std::int64_t itemsize) {
  const Arrangement dense = Arrangement::dense(all_of(sharding.shape()));
  for (std::int64_t rank = 0; rank < sharding.mesh().size(); ++rank) {
    if (sharding.first_owner(rank) != rank) continue;
    for (const StridedBox& box : sharding.pieces(rank))
      BoxCopy(box, Arrangement::local(sharding, rank), dense)
          .run(from.of(static_cast<std::size_t>(rank)), to, itemsize);
  }
}

}  // namespace

Buffer Shards::gathered() const {
  if (is_whole()) return memory.part(0);
  const DType dtype = memory.all.dtype();
  std::int64_t elements = 1;
  for (const std::int64_t size : sharding.shape()) elements *= size;
  const auto itemsize = static_cast<std::int64_t>(dtype.itemsize());
  const Buffer out = Buffer::allocate(std::max(elements, most), dtype);
  RanStep step{{out, memory.all}, 1, {}};
  if (ranks->is_simulated()) {
    step.run = [sharding = sharding, stride = memory.stride_in_bytes(), itemsize](std::span<void* const> at) {
      gather_simulated(sharding, {at[1], stride}, at[0], itemsize);
    };
  } else {
    const Sharding whole = replicated(sharding.mesh(), sharding.shape());
    const ExchangePlan plan = ExchangePlan::redistribution(ranks->here()[0], sharding, whole, itemsize);
    step.run = [plan, name = std::string(dtype.name())](std::span<void* const> at) { plan.run(at[1], at[0], name); };
  }
  RunListener::perform(std::move(step));
  return out;
}

}  // namespace strata
