// Ranks: the ranks of a mesh that this process computes for. It is one rank of a mesh of processes, and all of them of
// a simulated mesh, which one thread drives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/mesh/exchange_plan.h"

namespace strata {

/// The ranks of a mesh in this process. Two meshes of one shape over the same ranks are the same object, so pointers
/// compare. Used by one thread at a time.
class Ranks {
 public:
  /// This process's rank of a mesh of processes.
  static std::shared_ptr<const Ranks> of(const Mesh& mesh);
  /// All ranks of a simulated mesh, by rank, as Mesh::simulated() returns them.
  /// @throws Error (domain) unless they are all ranks of one simulated mesh, in order
  static std::shared_ptr<const Ranks> of(std::span<const Mesh> meshes);

  const MeshShape& mesh() const { return here_[0].shape(); }
  /// The ranks of this process, rising.
  std::span<const Mesh> here() const { return here_; }
  bool is_simulated() const { return here_[0].world().is_simulated(); }

  /// Returns once all ranks of the mesh have come here and say the same. @throws as Mesh::agree()
  void agree(const StepText& text) const;
  /// Memory of the ranks of here(), one behind the other; with a stride of 0 all have the same.
  struct Memory {
    void* first = nullptr;
    std::int64_t stride = 0;  ///< in bytes

    void* of(std::size_t k) const { return static_cast<std::byte*>(first) + static_cast<std::int64_t>(k) * stride; }
  };
  /// One exchange: a plan for each rank of here().
  struct Transfer {
    std::vector<ExchangePlan> plans;
    std::string description;
    Memory from = {}, to = {};
  };
  /// Executes the exchanges, which are all under way at once. @throws as Pending::wait()
  void exchange(std::span<const Transfer> transfers) const;

 private:
  explicit Ranks(std::vector<Mesh> here) : here_(std::move(here)) {}
  static std::shared_ptr<const Ranks> interned(std::vector<Mesh> here);

  std::vector<Mesh> here_;
};

}  // namespace strata
