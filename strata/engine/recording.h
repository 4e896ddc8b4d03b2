// Recording: the kernels of some realize() calls with their arguments, to be run again, perhaps on other memory. A
// replay schedules nothing, checks nothing and allocates nothing, so it costs as much as its kernels. Captures
// (tensor/jit.h) consist of recordings. On a mesh (spmd/) the exchanges between ranks are steps of the recording, too;
// a replay begins with the ranks' agreement that they do the same, which allocates as exchanges do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "strata/engine/feed.h"
#include "strata/engine/realize.h"
#include "strata/runtime/trace_file.h"

namespace strata {

/// A kernel of a recording, and the seconds of its fastest run.
struct RecordedTime {
  std::shared_ptr<const CompiledKernel> kernel;
  double seconds;
};

/// An assignment of a recording: memory of the value before, and memory of the value after.
struct RecordedUpdate {
  std::size_t before, after;  ///< places
  bool is_in_place = false;   ///< set by Recording::stop()
};

/// The kernels of a recording and their memory, as data: for programs that run elsewhere (export/).
struct RecordedProgram {
  /// A kernel with its arguments.
  struct Launch {
    std::shared_ptr<const CompiledKernel> kernel;
    std::vector<std::size_t> places;   ///< by slot, without temporaries
    std::vector<std::int64_t> values;  ///< of the recorded run, by variable of the kernel
    std::vector<std::string> own;      ///< variables that are no user's
    Origin origin;                     ///< of the first output
  };
  /// A memory that kernels use.
  struct Place {
    std::int64_t bytes = 0;
    bool is_written = false;       ///< by a kernel
    bool is_outside = false;       ///< the memory is others' to write
    const void* memory = nullptr;  ///< of a place that no kernel writes, and of one that is updated in place
  };
  /// A place that the host fills before each run, and what it fills it with.
  struct Fed {
    std::size_t place;
    FeedRule rule;
  };
  std::vector<Launch> launches;
  std::vector<Place> places;
  std::vector<Fed> fed;
  std::vector<RecordedUpdate> updates;  ///< those in place
};

/// Records the kernels and the other steps (RanStep) that its thread runs by realize(), and its calls of feed(), from
/// the constructor to stop(). Each memory that they use has a number, its place.
///
/// A replay leaves out the kernels of which nothing is left at stop(): those whose results only the host has read, and
/// what led to such results alone.
///
/// The recording keeps the memory that its kernels only read, and what others still hold at stop(). All other memory,
/// of intermediate results and of what kernels need for themselves, is one piece with parts by lifetime: two results
/// share bytes where no kernel uses both.
///
/// Kernels may pack what they read, e.g. the weights of a network (codegen/pack.h). A replay packs only what may have
/// changed: elements are kept that no kernel of the recording writes, that are not fed, whose memory notes no write
/// (DeviceMemory::writes()) and is not written by others, and whose place set_memory() did not name since they were
/// packed.
class Recording {
 public:
  /// Whether the elements of a memory are likely to differ in each replay, as arguments do: they are not packed.
  using Changes = std::function<bool(const Buffer& memory)>;

  explicit Recording(Changes changes = {});
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Ends the recording. @param name the name of the captured function, for a trace
  /// @param updates assignments that may be made in place. Those with is_in_place afterwards are: one kernel writes
  ///   each element of `after`, nothing else reads `before` then or later, and replays need the same memory at both
  ///   places. Such kernels run as late as the readers of `before` demand
  void stop(std::string name = {}, std::span<RecordedUpdate> updates = {});
  /// The number of kernels and other steps, without checks.
  std::size_t size() const { return launches_.size(); }
  /// Whether there are steps that are no kernels.
  bool has_steps() const { return has_steps_; }
  /// @pre !has_steps()
  const CompiledKernel& kernel(std::size_t k) const { return *launches_[k].kernel; }

  /// Bytes of the piece of memory for intermediate results.
  std::int64_t arena_bytes() const { return arena_ ? static_cast<std::int64_t>(arena_->nbytes()) : 0; }

  /// The place of a buffer's memory; nothing if no kernel uses the memory.
  std::optional<std::size_t> place_of(const Buffer& buffer) const;
  /// Whether a kernel of the recording writes the memory.
  bool wrote(const Buffer& buffer) const;
  /// Sets the memory of a place for later replays; `owner` notes the writes to it. @pre it is as large as the recorded
  /// memory, and lives with its owner until the next call for the place. Without an owner it lives until the end of the
  /// next replay, and each replay is preceded by a call for the place, or nobody writes the memory
  void set_memory(std::size_t place, void* memory, const DeviceMemory* owner = nullptr) {
    memory_[place] = memory;
    is_lent_[place] = owner == nullptr;
    for (PackedPlace& p : packed_) {
      if (p.place != place) continue;
      p.memory = owner;
      p.writes = writes_to(owner);
      changed(p);
    }
  }
  void* memory(std::size_t place) const { return memory_[place]; }
  /// Lets go of the recorded memory of a place. @pre set_memory() names the place before each later replay, and no
  /// packed elements are kept of it
  void release(std::size_t place) { recorded_[place].held.reset(); }
  /// Whether the variables that are in `known` had these values in each kernel.
  bool had(const Values& known) const;
  /// Sets the value of a variable for later replays, in every kernel that has the variable. @pre within its bounds
  void set_value(const std::string& name, std::int64_t value);

  /// Runs each kernel `repeats` times with the values of the recorded run, and returns the fastest time of each,
  /// longest first; a kernel whose packed elements are kept without the packing. Steps and kernels that replays leave
  /// out are left out. Memory without an owner may be gone: the recorded memory of its place is read. What kernels
  /// write goes to memory that is freed afterwards: neither results nor later replays change.
  /// @throws Error (budget) as Buffer::allocate()
  std::vector<RecordedTime> times(int repeats);
  /// The recording as data, which is valid while the recording and the memory of its places live. @pre stop() was
  /// called, and !has_steps()
  RecordedProgram program() const;
  /// Runs the kernels as recorded, on copies of all that they write, with the last fed values. Returns the memory by
  /// place; that of places without a kernel is empty. @pre !has_steps()
  /// @throws Error (budget) as Buffer::allocate()
  std::vector<std::optional<Buffer>> run_apart() const;
  /// Fills the fed memory, and runs all kernels and steps in order, checks first. @pre stop() was called, and no other
  /// thread replays
  /// @throws what an InterruptCheck of this thread throws (base/interrupt.h), and what steps throw; kernels before it
  ///   have run then, but none before a check
  void replay();

 private:
  class Listening;
  /// One kernel of the recording, with its arguments; or another step.
  struct Launch {
    std::shared_ptr<const CompiledKernel> kernel;  // null: `step`
    std::vector<std::size_t> places;               // by slot, temporaries among them
    std::vector<std::int64_t> values, recorded_values;
    bool polls;    // whether replay() checks for interrupts before it: about every 2 ms of estimated time
    bool updates;  // in place: from here on, an interrupt would leave assignments half done
    // By kernel that runs first: whether its results serve later replays, and whether the temporaries have them.
    std::vector<char> keeps, is_done;
    std::vector<std::string> own = {};  // variables that are no user's: set_value() leaves them
    Origin origin = {};
    std::vector<std::int64_t> offsets = {};  // by slot, in bytes; empty: zeros
    std::function<void(std::span<void* const>)> step = {};
    std::size_t outputs = 0;  // of the step: the first places
    bool is_dead = false;     // replays leave it out

    bool is_written(std::size_t slot) const { return kernel ? kernel->kernel().buffers[slot].written : slot < outputs; }
  };
  /// A step that writes nothing, in front of all others. A place that is nothing: memory that was written before it.
  struct Check {
    std::vector<std::optional<std::size_t>> places;
    std::function<void(std::span<void* const>)> step;
  };
  void run(Launch& launch);
  void replay_traced(TraceFile& trace);
  std::int64_t traced_capture(TraceFile& trace);
  /// The memory of a place while it was recorded.
  struct Recorded {
    std::weak_ptr<DeviceMemory> memory;  // empty: a temporary
    std::shared_ptr<DeviceMemory> held;  // null while it is written by a kernel before it is read, until stop()
    std::int64_t bytes = 0;
    bool is_written = false;  // by a kernel, or by a kernel that runs first
    bool is_outside = false;  // DeviceMemory::is_written_outside()
  };
  void add(const RanKernel& ran);
  void add(RanStep ran);
  void begin_replay();
  void find_packed();
  void find_dead();
  bool update_in_place(const RecordedUpdate& update);
  static bool put_in_place(Launch& launch, const RecordedUpdate& update);
  void plan();
  /// A place whose packed elements are kept.
  struct PackedPlace {
    std::size_t place;
    const DeviceMemory* memory;                                 // null: it does not change
    std::uint64_t writes;                                       // writes_to(memory) when the elements were packed last
    std::vector<std::pair<std::size_t, std::size_t>> packings;  // of these elements: a launch, a kernel that runs first
  };
  PackedPlace& packed_place(std::size_t place);
  static std::uint64_t writes_to(const DeviceMemory* memory) { return memory != nullptr ? memory->writes() : 0; }
  void changed(const PackedPlace& p) {
    for (const auto& [launch, first] : p.packings) launches_[launch].is_done[first] = 0;
  }
  void look_for_changes();
  std::size_t add_place(Recorded recorded, void* memory);
  std::size_t add_memory(const Buffer& buffer, bool is_output);

  Changes changes_;
  std::unique_ptr<Listening> listening_;
  std::vector<Launch> launches_;
  std::vector<Check> checks_;
  bool has_steps_ = false;
  double unpolled_ = 0;  // estimated seconds since the last launch that polls
  std::vector<FeedListener::Fed> fed_;
  std::optional<Buffer> arena_;
  std::vector<RecordedUpdate> updates_;  // those in place
  // By place: the memory of replays, and whether set_memory() named no owner of it.
  std::vector<void*> memory_;
  std::vector<bool> is_lent_;
  std::vector<Recorded> recorded_;
  std::vector<PackedPlace> packed_;
  std::unordered_map<const void*, std::size_t> place_;  // by the address of recorded memory, of the last that had it
  std::vector<void*> arguments_;                        // of the current launch; a member, to allocate nothing
  std::string name_;
  Hash128 key_{};  // identifies the recording in traces
};

}  // namespace strata
