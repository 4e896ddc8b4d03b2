#include "strata/tensor/sharded.h"

#include <cstring>

#include "strata/engine/buffer_storage.h"
#include "strata/engine/realize.h"
#include "strata/spmd/part.h"
#include "strata/spmd/sharded_memory.h"
#include "strata/tensor/access.h"
#include "strata/tensor/front.h"

namespace strata {

namespace {

std::shared_ptr<const Ranks> ranks_of(const MeshRanks& ranks) {
  return ranks.meshes().size() == 1 ? Ranks::of(ranks.meshes()[0]) : Ranks::of(ranks.meshes());
}

std::shared_ptr<const ShardedMemory> sharded_memory_of(const LazyOp& n) {
  return std::dynamic_pointer_cast<const ShardedMemory>(placed_storage(n));
}

/// Shards of these parts, by rank of `ranks`.
Shards in_one_piece(const std::shared_ptr<const Ranks>& ranks, const Sharding& sharding, std::span<const Buffer> parts,
                    std::int64_t most) {
  if (parts.size() == 1) return {ranks, sharding, {parts[0], 0}, most};
  Shards out = Shards::allocate(ranks, sharding, parts[0].dtype(), most);
  RanStep step{{out.memory.all}, 1, {}};
  step.buffers.insert(step.buffers.end(), parts.begin(), parts.end());
  step.run = [stride = out.memory.stride_in_bytes(), bytes = parts[0].nbytes()](std::span<void* const> memory) {
    const Ranks::Memory to{memory[0], stride};
    for (std::size_t k = 0; k + 1 < memory.size() && bytes > 0; ++k) std::memcpy(to.of(k), memory[k + 1], bytes);
  };
  RunListener::perform(std::move(step));
  return out;
}

/// The part of rank k of this process, which a captured function knows for memory of the tensor.
Buffer part_of(const Shards& shards, std::size_t k) {
  Buffer part = shards.memory.part(k);
  if (k == 0) return part;
  const Buffer out = Buffer::allocate(part.size(), part.dtype());
  const std::int64_t begin = shards.memory.begin_in_bytes(k);
  RanStep step{{out, shards.memory.all}, 1, [begin, bytes = part.nbytes()](std::span<void* const> memory) {
                 std::memcpy(memory[0], static_cast<const std::byte*>(memory[1]) + begin, bytes);
               }};
  RunListener::perform(std::move(step));
  return out;
}

Mask prefix(const Index& sizes) {
  Mask out;
  for (const std::int64_t size : sizes) out.push_back({0, size});
  return out;
}

}  // namespace

Tensor Tensor::shard(const MeshRanks& ranks, const std::vector<Split>& splits, At at) const {
  const std::shared_ptr<const Ranks> here = ranks_of(ranks);
  Sharding::create(here->mesh(), bound_sizes(shape()), splits);  // for its checks
  return front::on_values(
      "shard", at, [&](const ops::Value& v) { return ops::Value(v.node().placed(ShardPlacement::of(here, splits))); },
      *this);
}

Tensor Tensor::shard(const MeshRanks& ranks, std::string_view splits, At at) const {
  return shard(ranks, parse_splits(splits), at);
}

std::optional<Sharding> Tensor::sharding() const {
  const auto sharded = std::dynamic_pointer_cast<const ShardPlacement>(stated_placement(node()));
  if (sharded == nullptr) return std::nullopt;
  return Sharding::create(sharded->ranks()->mesh(), bound_sizes(shape()), sharded->splits());
}

Tensor Tensor::local(std::optional<std::int64_t> rank) const {
  const auto memory = sharded_memory_of(realize().node());
  STRATA_CHECK(memory != nullptr, domain, "[local] a tensor of shape ", render(shape()),
               " is not sharded: shard() says where its elements are");
  const Shards& shards = memory->shards();
  const std::span<const Mesh> here = shards.ranks->here();
  const std::int64_t wanted = rank.value_or(here[0].rank());
  for (std::size_t k = 0; k < here.size(); ++k) {
    if (here[k].rank() != wanted) continue;
    const Index axes = local_axes(shards.sharding);
    const LazyOp all = leaf_of(part_of(shards, k), to_ints(axes));
    return TensorAccess::of(all.shrink(prefix(shards.sharding.local_shape(wanted))), device());
  }
  throw Error(ErrorKind::domain, detail::message("[local] rank ", wanted, " of the mesh ", render(shards.ranks->mesh()),
                                                 " is not in this process"));
}

Tensor Tensor::from_local(const MeshRanks& ranks, const std::vector<Tensor>& parts, const Ints& shape,
                          const std::vector<Split>& splits, At at) {
  const OriginScope scope("from_local", at);
  const std::shared_ptr<const Ranks> here = ranks_of(ranks);
  const Sharding sharding = Sharding::create(here->mesh(), bound_sizes(shape), splits);
  STRATA_CHECK(parts.size() == here->here().size(), shape, "[from_local] ", parts.size(), " parts for ",
               here->here().size(), " ranks of this process");
  std::vector<Buffer> local;
  const Index axes = local_axes(sharding);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Tensor& part = parts[k];
    const std::int64_t rank = here->here()[k].rank();
    const Index own = sharding.local_shape(rank);
    STRATA_CHECK(part.shape() == to_ints(own), shape, "[from_local] the part of rank ", rank, " of ", render(shape),
                 ", sharded ", splits.empty() ? "replicated" : render(splits), ", has shape ", render(own), ", not ",
                 render(part.shape()));
    STRATA_CHECK(part.dtype() == parts[0].dtype() && &part.device() == &parts[0].device(), domain,
                 "[from_local] parts of dtypes ", parts[0].dtype().name(), " and ", part.dtype().name(), " on ",
                 parts[0].device().name(), " and ", part.device().name());
    STRATA_CHECK(!part.requires_grad(), domain, "[from_local] the part of rank ", rank, ", of shape ",
                 render(part.shape()), ", takes gradients, which do not pass from ranks to the whole: detach() it");
    Padding padding;
    for (std::size_t j = 0; j < axes.size(); ++j) padding.push_back({0, axes[j] - own[j]});
    local.push_back(TensorAccess::of(part.node().detached().pad(padding).contiguous(), part.device())
                        .realize()
                        .contiguous()
                        .buffer());
  }
  const auto memory = std::make_shared<ShardedMemory>(in_one_piece(here, sharding, local, most_elements(shape)));
  const LazyOp leaf = LazyOp::empty(parts[0].dtype(), shape, memory->placement());
  leaf.realize_as(memory);
  return TensorAccess::of(leaf, parts[0].device());
}

}  // namespace strata
