// Kernels that ran, to be run again on other memory: no scheduling, no checks, nothing allocated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "strata/engine/feed.h"
#include "strata/engine/realize.h"
#include "strata/runtime/trace_file.h"

namespace strata {

/// A kernel that ran, and how long.
struct RecordedTime {
  std::shared_ptr<const CompiledKernel> kernel;
  double seconds;
};

/// Records what its thread realizes and feeds until stop(). It holds all memory that was used, so that addresses
/// tell buffers apart.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// @param name of what was recorded, for a trace
  void stop(std::string name = {});
  std::size_t size() const { return launches_.size(); }
  const CompiledKernel& kernel(std::size_t k) const { return *launches_[k].kernel; }

  /// The number of the memory that a buffer is; nothing where no kernel uses it.
  std::optional<std::size_t> place_of(const Buffer& buffer) const;
  /// Whether a kernel of the recording wrote the memory.
  bool wrote(const Buffer& buffer) const;
  /// What memory a place is in replays to come. @pre as large as the recorded one, and lives as long
  void set_memory(std::size_t place, void* memory) { memory_[place] = memory; }
  void* memory(std::size_t place) const { return memory_[place]; }
  /// The value of a variable in replays to come.
  void set_value(const std::string& name, std::int64_t value);

  /// What each kernel takes on the memory as it is, the best of `repeats`: longest first.
  std::vector<RecordedTime> times(int repeats);
  /// Fills what is fed, and runs all kernels in order. @pre stop(); one thread at a time
  /// @throws what an InterruptCheck of this thread throws (base/interrupt.h), where that takes long
  void replay();

 private:
  class Listening;
  /// One kernel of the recording, with its arguments.
  struct Launch {
    std::shared_ptr<const CompiledKernel> kernel;
    std::vector<std::size_t> places;  // by slot, temporaries among them
    std::vector<std::int64_t> values;
    bool polls;  // whether to go on, before it: what ran since another that did takes a while
  };
  void run(Launch& launch);
  void replay_traced(TraceFile& trace);
  std::int64_t traced_capture(TraceFile& trace);
  void add(const RanKernel& ran);
  std::size_t add_memory(const Buffer& buffer);

  std::unique_ptr<Listening> listening_;
  std::vector<Launch> launches_;
  double unpolled_ = 0;  // seconds since the last launch that polls
  std::vector<FeedListener::Fed> fed_;
  std::vector<Buffer> held_;
  std::vector<void*> memory_;
  std::unordered_map<const void*, std::size_t> place_;
  std::vector<bool> written_;     // by place
  std::vector<void*> arguments_;  // of the launch that runs
  std::string name_;
  Hash128 key_{};  // in traces: no other recording's
};

}  // namespace strata
