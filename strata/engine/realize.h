// realize(): runs a lazy graph. It schedules the graph into kernels (schedule/schedule.h), plans the memory of
// intermediate results, compiles the kernels through KernelCache, and runs them on a device. explain() shows the
// schedule without running it; a RunListener observes the kernels of a run.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/runtime/device.h"
#include "strata/schedule/schedule.h"

namespace strata {

/// Computes `roots` and realizes them. An intermediate result that is materialized is realized, too, if it is tracked
/// (LazyOp::is_tracked) and a gradient of a root may need it, or something beside the graph of the roots refers to it;
/// the memory of the others is reused. Thread-safe, also for graphs that share
/// nodes.
///
/// Flags: NOFUSE makes every computing op a separate kernel. NAN_CHECK does that, too, and stops at the first op whose
/// result has a NaN. CHECK_INDEX stops at integers outside their range (LazyOp::in_range), e.g. an index of a gather.
/// @throws Error as schedule(), compile() and CompiledKernel::run(), with the place where the user wrote the failed
///   operation; (domain) for a NaN under NAN_CHECK, (shape) for an index under CHECK_INDEX; what an InterruptCheck of
///   this thread throws. Nodes that were realized by then stay realized
void realize(std::span<const LazyOp> roots, const Device& device = Device::default_device());
inline void realize(const LazyOp& root, const Device& device = Device::default_device()) {
  realize({&root, 1}, device);
}

/// The schedule that realize(roots) would run, one line for each item: its ops, and the reason why it is not fused into
/// its user. A kernel with much work (a million operations and bytes) tells its predicted time on one thread.
std::string explain(std::span<const LazyOp> roots);
std::string explain(std::span<const LazyOp> roots, const Device& device);
/// How realize() fuses on the device, with the flags NOFUSE and NAN_CHECK as they are.
FusionOptions fusion_options(const Device& device);

/// A complete trace (docs/viz-trace.md) of the run of realize(roots): graph, schedule, memory plan, and each kernel
/// with its code. Nothing runs. @throws as schedule() and compile_kernel()
std::string explain_as_trace(std::span<const LazyOp> roots, const Device& device = Device::default_device());

/// A run of a kernel, with its arguments.
struct RanKernel {
  std::shared_ptr<const CompiledKernel> kernel;
  std::vector<Buffer> buffers;                               ///< by slot, without temporaries
  std::size_t outputs = 0;                                   ///< the kernel writes the first `outputs` buffers
  std::vector<std::pair<std::string, std::int64_t>> values;  ///< of the kernel's variables, by name
  std::vector<std::string> own = {};  ///< variables of the kernel alone (kernel_form.h), whatever a user's are called
  double seconds = 0;
  Origin origin = {};                      ///< of the first output
  std::vector<std::int64_t> offsets = {};  ///< bytes from each buffer's begin to the kernel's elements; empty: zeros

  /// Whether the user's variables that are in `known` had these values.
  bool had(const Values& known) const;
};

/// A step of a run that is no kernel: the ranks of a mesh agree, or exchange elements (spmd/).
struct RanStep {
  std::vector<Buffer> buffers;  ///< those that the step writes come first
  std::size_t outputs = 0;
  /// Does the step, on these memories in place of the buffers'.
  std::function<void(std::span<void* const> memory)> run;
  /// The step writes nothing, and a replay begins with it. Memory that steps before it have written is null then.
  bool is_check = false;
};

/// While an object lives, its ran() is called after each kernel and each other step that realize() runs on this thread.
/// Of nested listeners only the innermost one is called.
class RunListener {
 public:
  RunListener();
  virtual ~RunListener();
  RunListener(const RunListener&) = delete;
  RunListener& operator=(const RunListener&) = delete;

  virtual void ran(RanKernel kernel) = 0;
  virtual void stepped(RanStep step);
  /// Whether a kernel that reads `memory`, which was realized before and is not written by others, may pack its
  /// elements for later runs: they will rarely change.
  virtual bool keeps(const Buffer& memory) const;
  static RunListener* current();
  /// Does the step on the memory of its buffers, and tells the listener of this thread.
  static void perform(RanStep step);

 protected:
  /// The listener that this one is nested in, or null.
  RunListener* outer() const { return outer_; }

 private:
  RunListener* outer_;
};

}  // namespace strata
