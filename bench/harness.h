// A small timing harness for calls of a nanosecond to a millisecond, measured side by side.
//
// Rows that are to be compared are sampled in turn, A B C A B C ..., so that a noisy second of the machine meets all of
// them, and a ratio is the median of the ratios within one turn. Each sample is a batch of about 0.2 ms. Both the
// median and the minimum over the turns are kept: on a shared machine the minimum is the steadier figure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace strata::bench {

/// Makes the compiler believe that `value` is read, and that any memory may have changed.
template <class T>
void keep(const T& value) {
  if constexpr (std::is_scalar_v<T>)
    asm volatile("" : : "r,m"(value) : "memory");
  else
    asm volatile("" : : "m"(value) : "memory");
}
/// Makes the compiler believe that `value` may have changed.
template <class T>
void perturb(T& value) {
  if constexpr (std::is_scalar_v<T>)
    asm volatile("" : "+r,m"(value) : : "memory");
  else
    asm volatile("" : "+m"(value) : : "memory");
}

struct Row {
  std::string name;
  std::function<void(std::uint64_t n)> run;  // does the measured thing n times
  std::function<void()> before{};            // run in front of each batch, not measured; empty: nothing
};

/// A row that calls `body` in a loop which the compiler sees.
template <class F>
Row row(std::string name, F body) {
  return {std::move(name), [body = std::move(body)](std::uint64_t n) mutable {
            for (std::uint64_t k = 0; k < n; ++k) body();
          }};
}

struct Timing {
  double median_ns = 0;
  double min_ns = 0;
  std::vector<double> samples_ns;  // one per turn, in order
};

struct Budget {
  double seconds_per_row = 0.25;
  int min_turns = 15;
  int max_turns = 1000;
};

/// Times all rows in turn; the results are in the order of the rows.
std::vector<Timing> measure(const std::vector<Row>& rows, const Budget& budget = {});

/// Median over the turns of a/b within one turn. @pre both come from one call of `measure`
double paired_ratio(const Timing& a, const Timing& b);

/// What main() of the bench `name` returns: the result of `body`, or 2 after printing an exception. `plugins`: the
/// folder of the LLVM device's other half in this build, where STRATA_PLUGIN_DIR names none; null for a bench without
/// kernels.
int run_bench(const char* name, const char* plugins, const std::function<int()>& body);

/// Seconds of the steady clock.
double now();

/// Keeps this thread on one processor where the system allows it; threads made later are not bound by it.
void pin_to_one_processor();
void unpin();

/// "Xeon ..., 2 processors, GCC 12.2.0, load 0.1": what a table of timings has to be read with.
std::string describe_machine();

/// 3 significant digits and a unit: "812 ns", "1.25 us", "6.1 ms".
std::string format_ns(double ns);
std::string format_ratio(double ratio);

}  // namespace strata::bench
