// Running a graph: its schedule, on a device, with results between kernels in planned memory.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/runtime/device.h"
#include "strata/schedule/schedule.h"

namespace strata {

/// Computes `roots`, so that each is realized. Results between that a gradient may ask for stay realized, too; others are gone.
/// Many threads may realize at once, graphs that share nodes among them.
///
/// Flags: NOFUSE makes each op that computes a kernel; NAN_CHECK stops at the first op that makes a NaN; CHECK_INDEX stops where
/// integers that have to be in a range (LazyOp::in_range) are not.
/// @throws Error what scheduling, compiling and running throw, with the place where the user wrote what failed; (domain) for a NaN
///   that NAN_CHECK meets, (shape) for an index that CHECK_INDEX meets. What was realized by then stays so.
void realize(std::span<const LazyOp> roots, const Device& device = Device::default_device());
inline void realize(const LazyOp& root, const Device& device = Device::default_device()) {
  realize({&root, 1}, device);
}

/// What realize(roots) would run, a line for each: what it is and why it is apart from the kernel that uses it.
std::string explain(std::span<const LazyOp> roots);

/// What realize(roots) would run, as a trace (docs/viz-trace.md): the graph, the schedule, the plan of its memory, each kernel with its
/// code. Nothing runs. @throws what schedule() and compile_kernel() throw
std::string explain_as_trace(std::span<const LazyOp> roots,
                             const Device& device = Device::default_device());

/// A kernel as it ran.
struct RanKernel {
  std::shared_ptr<const CompiledKernel> kernel;
  std::vector<Buffer> buffers;  ///< by slot, without temporaries
  std::size_t outputs = 0;      ///< how many of them, the first ones, it writes
  std::vector<std::pair<std::string, std::int64_t>> values;
  double seconds = 0;
};

/// While it lives, it is told of each kernel that this thread runs by realize(). The innermost one hears.
class RunListener {
 public:
  RunListener();
  virtual ~RunListener();
  RunListener(const RunListener&) = delete;
  RunListener& operator=(const RunListener&) = delete;

  virtual void ran(RanKernel kernel) = 0;
  static RunListener* current();

 private:
  RunListener* outer_;
};

}  // namespace strata
