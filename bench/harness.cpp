// The harness: calibration, interleaved sampling, formatting.
#include "bench/harness.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

#ifdef __clang__
#define STRATA_BENCH_COMPILER "clang " __clang_version__
#else
#define STRATA_BENCH_COMPILER "GCC " __VERSION__
#endif

namespace strata::bench {

namespace {

constexpr double kBatchSeconds = 2e-4;

double seconds(const Row& r, std::uint64_t n) {
  if (r.before) r.before();
  const double start = now();
  r.run(n);
  return now() - start;
}

/// The number of calls that fill a batch; running up to it is the warm-up.
std::uint64_t batch_size(const Row& r) {
  std::uint64_t n = 1;
  for (;;) {
    const double t = std::min(seconds(r, n), seconds(r, n));
    if (t >= kBatchSeconds) return n;
    const double grown = static_cast<double>(n) * std::clamp(1.1 * kBatchSeconds / std::max(t, 1e-9), 1.5, 100.0);
    n = static_cast<std::uint64_t>(std::ceil(grown));
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

std::vector<Timing> measure(const std::vector<Row>& rows, const Budget& budget) {
  std::vector<std::uint64_t> batch;
  std::vector<Timing> timings(rows.size());
  double turn = 0;
  for (const Row& r : rows) {
    batch.push_back(batch_size(r));
    turn += seconds(r, batch.back());
  }
  const double wanted = budget.seconds_per_row * static_cast<double>(rows.size()) / std::max(turn, 1e-9);
  const int turns = static_cast<int>(
      std::clamp(wanted, static_cast<double>(budget.min_turns), static_cast<double>(budget.max_turns)));
  for (int t = 0; t < turns; ++t)
    for (std::size_t i = 0; i < rows.size(); ++i)
      timings[i].samples_ns.push_back(1e9 * seconds(rows[i], batch[i]) / static_cast<double>(batch[i]));
  for (Timing& t : timings) {
    t.median_ns = median(t.samples_ns);
    t.min_ns = *std::min_element(t.samples_ns.begin(), t.samples_ns.end());
  }
  return timings;
}

double paired_ratio(const Timing& a, const Timing& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.samples_ns.size(); ++i) ratios.push_back(a.samples_ns[i] / b.samples_ns[i]);
  return median(std::move(ratios));
}

#ifdef __linux__
void pin_to_one_processor() {
  // The last one: interrupts and other programs gather on the first.
  const int last = static_cast<int>(std::thread::hardware_concurrency()) - 1;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(std::max(last, 0)), &set);
  sched_setaffinity(0, sizeof set, &set);
}
void unpin() {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) CPU_SET(static_cast<std::size_t>(i), &set);
  sched_setaffinity(0, sizeof set, &set);
}
#else
void pin_to_one_processor() {}
void unpin() {}
#endif

std::string describe_machine() {
  std::string model = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  char load_text[32];
  std::snprintf(load_text, sizeof load_text, "%.2f", load);
  return model + ", " + std::to_string(std::thread::hardware_concurrency()) + " processors, load " + load_text +
         ", compiled by " STRATA_BENCH_COMPILER;
}

std::string format_ns(double ns) {
  if (ns < 0) return "-" + format_ns(-ns);
  const char* unit = ns < 1e3 ? "ns" : ns < 1e6 ? "us" : ns < 1e9 ? "ms" : "s";
  const double scale = ns < 1e3 ? 1 : ns < 1e6 ? 1e3 : ns < 1e9 ? 1e6 : 1e9;
  const double v = ns / scale;
  char text[32];
  std::snprintf(text, sizeof text, v < 10 ? "%.2f %s" : v < 100 ? "%.1f %s" : "%.0f %s", v, unit);
  return text;
}

std::string format_ratio(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", ratio);
  return text;
}

int run_bench(const char* name, const char* plugins, const std::function<int()>& body) {
  try {
    if (plugins != nullptr) setenv("STRATA_PLUGIN_DIR", plugins, 0);
    return body();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 2;
  }
}

}  // namespace strata::bench
