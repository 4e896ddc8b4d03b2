// What a trace says of kernels: how they were compiled, all of their texts, and each run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/base/trace.h"
#include "strata/runtime/device.h"
#include "strata/runtime/trace_file.h"

namespace strata {

/// A rule that fired while a kernel was compiled: how often, and what it did first.
struct FiredRule {
  std::uint16_t rule = 0;  ///< of the table of rules
  std::int64_t times = 0;
  std::string before, after;
};

/// While it lives, the rewrites of this thread are those of a kernel that is compiled, where there is a trace.
class TracedCompile {
 public:
  TracedCompile();
  TracedCompile(const TracedCompile&) = delete;
  TracedCompile& operator=(const TracedCompile&) = delete;

  /// The kernel is there: its line is written.
  void done(const CompiledKernel& kernel);

 private:
  void fired(const RewriteEvent& event);

  TraceFile* const trace_ = TraceFile::current();
  const std::int64_t begin_ = trace_ != nullptr ? trace_->now() : 0;
  std::vector<FiredRule> fired_;       // in the order in which they fired first
  std::vector<std::size_t> position_;  // in it, by rule, and 1
  bool is_writing_ = false;
  std::optional<RewriteTrace> rewrites_;
};

/// A whole trace of kernels, which neither were compiled by a device nor ran; its first lines are given.
/// @param device what they are for; null where nobody said
std::string trace_of_kernels(std::span<const std::shared_ptr<const Kernel>> kernels,
                             const Device* device, std::string lines);

/// The number of a kernel, whose line is in the trace then.
std::int64_t traced_kernel(TraceFile& trace, const CompiledKernel& kernel);

/// A run of a kernel on `memory`, by slot. @param threads that it may have used
void trace_run(TraceFile& trace, const CompiledKernel& kernel, std::int64_t begin, int threads,
               std::span<void* const> memory, NamedValues values);

}  // namespace strata
