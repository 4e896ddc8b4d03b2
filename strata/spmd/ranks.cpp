#include "strata/spmd/ranks.h"

#include <algorithm>
#include <mutex>

#include "strata/base/fork.h"

namespace strata {

namespace {

struct KnownRanks {
  std::mutex mutex;
  std::vector<std::weak_ptr<const Ranks>> ranks;
};
KnownRanks& known_ranks() {
  static KnownRanks& out = *new KnownRanks;  // never destroyed: tensors may outlive every static
  return out;
}
const ForkHook known_ranks_hook(
    ForkOrder::tensors, [] { known_ranks().mutex.lock(); }, [] { known_ranks().mutex.unlock(); });

}  // namespace

std::shared_ptr<const Ranks> Ranks::interned(std::vector<Mesh> here) {
  const std::lock_guard lock(known_ranks().mutex);
  std::erase_if(known_ranks().ranks, [](const auto& of) { return of.expired(); });
  for (const auto& of : known_ranks().ranks)
    if (const auto ranks = of.lock(); ranks && ranks->mesh() == here[0].shape() &&
                                      &ranks->here_[0].world() == &here[0].world() &&
                                      ranks->here_.size() == here.size())
      return ranks;
  std::shared_ptr<const Ranks> out(new Ranks(std::move(here)));
  known_ranks().ranks.push_back(out);
  return out;
}

std::shared_ptr<const Ranks> Ranks::of(const Mesh& mesh) {
  STRATA_CHECK(!mesh.world().is_simulated() || mesh.size() == 1, domain, "[shard] one rank of the simulated mesh ",
               render(mesh.shape()), ": tensors are sharded over all ", mesh.size(), " that Mesh::simulated() returns");
  return interned({mesh});
}

std::shared_ptr<const Ranks> Ranks::of(std::span<const Mesh> meshes) {
  STRATA_CHECK(!meshes.empty(), domain, "[shard] a mesh without ranks");
  if (meshes.size() == 1) return interned({meshes[0]});
  for (std::size_t r = 0; r < meshes.size(); ++r)
    STRATA_CHECK(meshes[r].world().is_simulated() && meshes[r].world().is_beside(meshes[0].world()) &&
                     meshes[r].shape() == meshes[0].shape() && meshes[r].rank() == static_cast<std::int64_t>(r) &&
                     static_cast<std::int64_t>(meshes.size()) == meshes[0].size(),
                 domain, "[shard] ", meshes.size(),
                 " meshes that are not the ranks of one simulated mesh, in order: ", "the one at ", r, " is rank ",
                 meshes[r].rank(), " of ", render(meshes[r].shape()),
                 meshes[r].world().is_beside(meshes[0].world()) ? "" : ", made by another call");
  return interned({meshes.begin(), meshes.end()});
}

void Ranks::agree(const StepText& text) const {
  std::vector<std::unique_ptr<Step>> steps;
  for (const Mesh& mesh : here_) steps.push_back(std::make_unique<Step>(mesh.shared_world(), text));
  for (std::size_t k = 0; k < steps.size(); ++k)
    steps[k]->wait([&] {
      for (std::size_t j = k + 1; j < steps.size(); ++j) steps[j]->has_agreed();
      return steps[k]->has_agreed();
    });
  for (const auto& step : steps) step->finish();
}

void Ranks::exchange(std::span<const Transfer> transfers) const {
  std::vector<Pending> pending;
  for (const Transfer& t : transfers)
    for (std::size_t k = 0; k < here_.size(); ++k)
      pending.push_back(t.plans[k].start(t.from.of(k), t.to.of(k), t.description, {}));
  wait_all(pending);
}

}  // namespace strata
