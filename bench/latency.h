// The parts of bench_latency: each prints one Markdown table of times to wait, with percentiles.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata::bench {

/// Something that is waited for, and timed by itself.
struct Wait {
  std::string name;
  std::function<double()> nanoseconds;  ///< does it once more and says how long it took
  double target_ns = 0;                 ///< 0: none is stated
};

struct LatencyOptions {
  std::string filter;
  int rounds = 200;
  bool json = false;
};

/// Measures the waits in turn and prints: what, median, 90 %, 99 %, minimum, target.
void print_waits(std::string_view title, const std::vector<Wait>& waits, int rounds, const LatencyOptions& options);

/// A kernel that no process has ever seen: its text, with a constant that is another one at each call.
struct FreshKernel {
  std::string name;
  std::string before, after;  ///< around the constant
  double target_ns = 0;       ///< from the text to something to call, on the LLVM device
  std::string text() const;
};
const std::vector<FreshKernel>& fresh_kernels();

/// Nanoseconds that `f` takes.
double nanoseconds_of(const std::function<void()>& f);

/// Starts a program and waits for its end. `environment`: NAME=VALUE on top of this process's own.
/// @throws std::runtime_error unless it exits with 0
void run_program(const std::vector<std::string>& words, const std::vector<std::string>& environment = {},
                 const std::string& input = "/dev/null");

/// An empty folder of this process, which is deleted at its end.
const std::string& scratch_folder();

void bench_fresh(const LatencyOptions& options);   ///< compiling in a warm process, LLVM
void bench_passes(const LatencyOptions& options);  ///< the same, pass by pass
void bench_clang(const LatencyOptions& options);   ///< beyond the C compiler's own time
void bench_cache(const LatencyOptions& options);   ///< from the disk cache
void bench_replay(const LatencyOptions& options);  ///< calling what is compiled
void bench_start(const LatencyOptions& options);   ///< from the start of a process

}  // namespace strata::bench
