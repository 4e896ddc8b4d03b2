// ExchangePlan: what one rank does in an exchange (shard/exchange.h), planned once and executed any number of times:
// which memory it sends as it lies, which it packs, where what comes is put.
//
//   const Sharding rows = Sharding::create(mesh.shape(), {512, 512}, {{{"data"}, 0}});
//   const Sharding columns = Sharding::create(mesh.shape(), {512, 512}, {{{"data"}, 1}});
//   const auto plan = ExchangePlan::redistribution(mesh, rows, columns, sizeof(float));
//   plan.run(mine.data(), result.data(), "f32");                    // or:
//   Pending pending = plan.start(mine.data(), result.data(), "f32");
//   while (!pending.progress()) work();
//
// A rank's memory of a tensor is as its sharding's local indices say (Sharding::local_index), so it has as many
// elements as the local mode of the layout, padding included. Padding is neither read nor written.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "strata/mesh/box_copy.h"
#include "strata/mesh/mesh.h"
#include "strata/shard/exchange.h"

namespace strata {

/// An exchange that is under way.
class Pending {
 public:
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;
  /// One that is not done gives up for all ranks: they throw an error. Where memory of the caller cannot be taken back
  /// within 0.1 s, all ranks are aborted.
  ~Pending();

  /// Makes progress; true once the result is complete. Call it now and then beside other work.
  /// @throws Error (undefined) where the ranks do not agree, or another rank has failed
  bool progress();
  /// Waits until the result is complete. @throws as progress(); what a check of base/interrupt.h throws, within 0.2 s.
  ///   After MESH_TIMEOUT all ranks are aborted, with one message.
  void wait();

 private:
  friend class ExchangePlan;
  friend void wait_all(std::vector<Pending>& pending);
  class Work;
  explicit Pending(std::unique_ptr<Work> work);
  std::unique_ptr<Work> work_;
};

/// Makes progress with all of them, in turn, until all are done: for ranks that one thread drives. @throws as
///   Pending::wait()
void wait_all(std::vector<Pending>& pending);

/// One rank's part of an exchange. A handle on an unchangeable plan; any thread may copy it.
class ExchangePlan {
 public:
  using Place = std::source_location;

  /// From the local layout of one sharding to that of another: gathering, scattering, transposing.
  /// @throws Error (domain) for shardings on another mesh, (shape) for two shapes; for an itemsize below 1 (domain);
  ///   as Exchange
  static ExchangePlan redistribution(const Mesh& mesh, const Sharding& from, const Sharding& to, std::int64_t itemsize);
  /// From the local layout of the tensor to a dense row-major box of what the rank needs: box(). Elements of the box
  /// that it does not need are not written. @throws as redistribution()
  static ExchangePlan into_box(const Mesh& mesh, const Exchange& exchange, std::int64_t itemsize);

  /// The intervals that the result of into_box() has; no axes for a rank that needs nothing, and for redistribution().
  const StridedBox& box() const;
  /// The bytes of the tensor's and of the result's memory on this rank.
  std::int64_t bytes_of_tensor() const;
  std::int64_t bytes_of_result() const;
  /// What this rank sends and receives, in bytes; how many of these messages are packed, and unpacked.
  std::int64_t bytes_sent() const;
  std::int64_t bytes_received() const;
  std::int64_t packed() const;
  std::int64_t unpacked() const;

  /// Begins the exchange; does not wait. Collective: all ranks begin the same plan with the same description, e.g. the
  /// dtype and what it is for.
  /// @pre both memories have bytes_of_tensor() and bytes_of_result(), do not overlap, and stay until the Pending is
  ///   done or gone
  /// @post where it throws, the result's content is not defined
  /// @throws Error (undefined) where the mesh has failed before; (budget) as Step
  Pending start(const void* tensor, void* result, std::string_view description, Place place = Place::current()) const;
  /// The same, and waits. @throws as start(), Pending::wait()
  void run(const void* tensor, void* result, std::string_view description, Place place = Place::current()) const;

 private:
  friend class Pending;
  struct Parts;
  explicit ExchangePlan(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  static ExchangePlan make(const Mesh& mesh, const Exchange& exchange, bool into_box, std::int64_t itemsize);
  std::shared_ptr<const Parts> parts_;
};

/// The sharding by which each rank of the mesh has all elements, row-major.
Sharding replicated(const MeshShape& mesh, const Index& shape);

}  // namespace strata
