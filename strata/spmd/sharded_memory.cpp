#include "strata/spmd/sharded_memory.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "strata/base/fork.h"

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

Buffer poisoned(const Ranks& ranks, std::int64_t elements, DType dtype) {
  Buffer out = Buffer::allocate(elements, dtype);
  if (ranks.is_simulated() && elements > 0) std::memset(out.data(), 0xff, out.nbytes());
  return out;
}

Index bound_sizes(const Ints& shape) {
  Index out;
  for (const Int& size : shape) out.push_back(size.is_number() ? size.value() : evaluate(size.expr()));
  return out;
}

std::vector<Buffer> local_memory(const Ranks& ranks, const Sharding& sharding, DType dtype, std::int64_t most) {
  const bool is_whole = sharding.splits() && sharding.splits()->empty();
  const std::int64_t elements = std::max(sharding.layout().mode(1).size().value(), is_whole ? most : 0);
  std::vector<Buffer> out;
  for (std::size_t k = 0; k < ranks.here().size(); ++k) out.push_back(poisoned(ranks, elements, dtype));
  return out;
}

Buffer Shards::gathered() const {
  if (is_whole()) return local[0];
  const DType dtype = local[0].dtype();
  std::int64_t elements = 1;
  for (const std::int64_t size : sharding.shape()) elements *= size;
  const auto itemsize = static_cast<std::int64_t>(dtype.itemsize());
  if (ranks->is_simulated()) {
    Buffer out = poisoned(*ranks, std::max(elements, most), dtype);
    const Arrangement dense = Arrangement::dense(all_of(sharding.shape()));
    for (std::int64_t rank = 0; rank < sharding.mesh().size(); ++rank) {
      if (sharding.first_owner(rank) != rank) continue;
      for (const StridedBox& box : sharding.pieces(rank))
        BoxCopy(box, Arrangement::local(sharding, rank), dense)
            .run(local[static_cast<std::size_t>(rank)].data(), out.data(), itemsize);
    }
    return out;
  }
  const Sharding whole = replicated(sharding.mesh(), sharding.shape());
  const ExchangePlan plan = ExchangePlan::redistribution(ranks->here()[0], sharding, whole, itemsize);
  Buffer out = Buffer::allocate(std::max(elements, most), dtype);
  plan.run(local[0].data(), out.data(), dtype.name());
  return out;
}

}  // namespace strata
