#include "strata/mesh/mesh.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <future>
#include <mutex>
#include <thread>

namespace strata {

namespace {

/// The processors on which this process may run.
std::int64_t own_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return std::thread::hardware_concurrency();
}

}  // namespace

Mesh::Mesh(Index sizes, std::vector<std::string> names, Place place)
    : Mesh(MeshShape(std::move(sizes), std::move(names)), place) {}

Mesh::Mesh(const MeshShape& shape, Place place) : Mesh(shape, World::of_process(), place) {}

Mesh::Mesh(const MeshShape& shape, std::shared_ptr<World> world, Place place) : Mesh(shape, std::move(world), Ready{}) {
  STRATA_CHECK(
      shape_.size() == world_->size(), domain, "[mesh] ", render(shape_), " has ", shape_.size(),
      " ranks, but the world has ", world_->size(),
      world_->is_simulated() ? std::string() : " (mpirun -n " + std::to_string(shape_.size()) + " starts as many)");
  agree("Mesh " + render(shape_), place);
}

std::vector<Mesh> Mesh::simulated(Index sizes, std::vector<std::string> names) {
  const MeshShape shape(std::move(sizes), std::move(names));
  std::vector<Mesh> out;
  for (std::shared_ptr<World>& world : World::simulated(shape.size()))
    out.push_back({shape, std::move(world), Ready{}});
  return out;
}

std::int64_t Mesh::threads() const {
  const std::int64_t host = sysconf(_SC_NPROCESSORS_ONLN);
  const auto ranks = static_cast<std::int64_t>(local_ranks().size());
  return std::max<std::int64_t>(1, std::min(own_processors(), host / ranks));
}

void Mesh::agree(std::string_view what, Place place) const { world_->agree({std::string(what), place}); }

void on_each_rank(const std::vector<Mesh>& ranks, const std::function<void(const Mesh&)>& work) {
  std::mutex mutex;
  std::future<void> first;  // of the rank that threw first
  const auto run = [&](const Mesh& mesh) {
    bool is_done = false;
    std::packaged_task<void()> task([&] {
      work(mesh);
      is_done = true;
    });
    task();
    if (is_done) return;
    const std::lock_guard lock(mutex);
    if (!first.valid()) first = task.get_future();
    mesh.world().fail(detail::message("[mesh] rank ", mesh.rank(), " ended by an exception"));
  };
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (const Mesh& mesh : ranks) threads.emplace_back(run, std::cref(mesh));
  for (std::thread& thread : threads) thread.join();
  if (first.valid()) first.get();
}

}  // namespace strata
