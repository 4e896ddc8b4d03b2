// The lines of a trace (trace_file.h) about kernels: how each was compiled, its graph, opts, UOps and source, and each
// run. compile() and CompiledKernel::run() write them, if the flag VIZ asks for a trace.
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

/// A rewrite rule that fired while a kernel was compiled.
struct FiredRule {
  std::uint16_t rule = 0;     ///< its index in the table of rules (RuleId)
  std::int64_t times = 0;     ///< how often it fired
  std::string before, after;  ///< both sides of its first firing
};

/// Records the rewrites of this thread while a kernel is compiled: make it before the compilation, call done() after.
/// Without done(), e.g. after an Error, no line is written. A RewriteTrace around it still gets the rewrites. Without a
/// trace it does nothing.
class TracedCompile {
 public:
  TracedCompile();
  TracedCompile(const TracedCompile&) = delete;
  TracedCompile& operator=(const TracedCompile&) = delete;

  /// Ends the recording, and writes the kernel's line with the rewrites.
  void done(const CompiledKernel& kernel);

 private:
  void fired(const RewriteEvent& event);

  TraceFile* const trace_ = TraceFile::current();
  const std::int64_t begin_ = trace_ != nullptr ? trace_->now() : 0;
  std::vector<FiredRule> fired_;       // ordered by first firing
  std::vector<std::size_t> position_;  // for each rule, its index in fired_ plus 1; 0: has not fired
  bool is_writing_ = false;
  std::optional<RewriteTrace> rewrites_;
};

/// The text of a complete trace of kernels that no device compiled and that did not run, for pages that show kernels:
/// `lines`, a line for the device and for each kernel, numbered from 1, and the line `end`.
/// @param device the device whose source is shown; null: none
/// @param lines the first lines of the trace (TraceFile::first_line() and others), each with its line end
std::string trace_of_kernels(std::span<const std::shared_ptr<const Kernel>> kernels, const Device* device,
                             std::string lines);

/// The number of a kernel in the trace. Writes the kernel's line first, without rewrites, if the trace does not have
/// it. Kernels of the same device, AST, opts, axes and contraction of products and sums share a line.
std::int64_t traced_kernel(TraceFile& trace, const CompiledKernel& kernel);

/// Writes the line of a run that began at `begin` and ends with this call, as part of TraceItem::current() if there is
/// one.
/// @param begin TraceFile::now() at the beginning, in nanoseconds
/// @param threads the threads that were available to the run
/// @param memory the address of each slot's buffer
void trace_run(TraceFile& trace, const CompiledKernel& kernel, std::int64_t begin, int threads,
               std::span<void* const> memory, NamedValues values);

}  // namespace strata
