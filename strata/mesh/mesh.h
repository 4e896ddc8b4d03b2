// Mesh: ranks that move bytes. A rank is a process that a launcher started (mpirun -n 8), or one of many in this
// process, for tests and to look at what many ranks would do.
//
//   Mesh mesh({2, 4}, {"data", "model"});                       // of exactly 8 processes
//   std::vector<Mesh> ranks = Mesh::simulated({16, 8}, {"data", "model"});
//   on_each_rank(ranks, [](const Mesh& mesh) { ... });          // a thread for each
//
// All ranks do the same in the same order: each step begins with a comparison, and where ranks differ all of them throw
// one error (transport.h has the protocol). A rank that waits for others longer than the flag MESH_TIMEOUT says ends
// all of them, with a message that names those it waits for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "strata/mesh/world.h"
#include "strata/shard/mesh.h"

namespace strata {

/// A rank of a mesh: named axes of ranks, and the connection to the others. A handle; used by one thread at a time.
class Mesh {
 public:
  using Place = std::source_location;

  /// All processes that the launcher started; the first mesh connects them. Collective.
  /// @throws Error (domain) unless there are as many processes as ranks, naming both; as MeshShape; as
  ///   World::of_process(); (undefined) where other ranks make another mesh
  Mesh(Index sizes, std::vector<std::string> names, Place place = Place::current());
  explicit Mesh(const MeshShape& shape, Place place = Place::current());
  /// The ranks of a world, e.g. World::of_communicator(). Collective. @throws as the first one
  Mesh(const MeshShape& shape, std::shared_ptr<World> world, Place place = Place::current());
  /// All ranks of a mesh in this process, by rank. They move bytes as processes do, through memory. @throws Error as
  ///   MeshShape; (domain) for more than 65536 ranks
  static std::vector<Mesh> simulated(Index sizes, std::vector<std::string> names);

  const MeshShape& shape() const { return shape_; }
  std::int64_t rank() const { return world_->rank(); }
  std::int64_t size() const { return world_->size(); }
  /// The ranks on this rank's host, rising, this one among them.
  const std::vector<std::int64_t>& local_ranks() const { return world_->local_ranks(); }
  /// How many threads a rank of this host should compute with: the host's processors over its ranks, at least 1, and at
  /// most the processors on which this process may run.
  std::int64_t threads() const;
  World& world() const { return *world_; }
  const std::shared_ptr<World>& shared_world() const { return world_; }

  /// Returns once all ranks have come here, and checks that they say the same. Collective.
  /// @throws as Pending::wait()
  void agree(std::string_view what, Place place = Place::current()) const;

 private:
  struct Ready {};
  Mesh(const MeshShape& shape, std::shared_ptr<World> world, Ready) : shape_(shape), world_(std::move(world)) {}

  MeshShape shape_;
  std::shared_ptr<World> world_;
};

/// Calls work(ranks[r]) for each rank, on a thread of its own. Where one throws, the others are told (World::fail), so
/// that none waits for it.
/// @throws what the rank threw that was the first one to throw
void on_each_rank(const std::vector<Mesh>& ranks, const std::function<void(const Mesh&)>& work);

}  // namespace strata
