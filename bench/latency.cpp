// How long one waits for Strata: for a kernel that is new, for one from the disk cache, for a call, for a process;
// prints Markdown, or a line of JSON for each row.
//
//   bench_latency [GROUP...] [--filter TEXT] [--quick] [--json]
//       fresh passes clang cache replay start; all without GROUP
#include "bench/latency.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "bench/harness.h"
#include "strata/base/check.h"

namespace strata::bench {

namespace {

struct Group {
  const char* name;
  void (*run)(const LatencyOptions&);
};
constexpr Group kGroups[] = {
    {"fresh", bench_fresh}, {"passes", bench_passes}, {"clang", bench_clang},
    {"cache", bench_cache}, {"replay", bench_replay}, {"start", bench_start},
};

/// The sample that `part` of all samples are not above. @pre `sorted` is
double percentile(const std::vector<double>& sorted, double part) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(part * last + 0.5)];
}

void print_wait(const Wait& w, const std::vector<double>& sorted, bool json) {
  const double median = percentile(sorted, 0.5), p90 = percentile(sorted, 0.9), p99 = percentile(sorted, 0.99);
  if (json) {
    std::printf(R"({"wait": "%s", "median_ns": %.6g, "p90_ns": %.6g, "p99_ns": %.6g, "min_ns": %.6g, "rounds": %zu})"
                "\n",
                w.name.c_str(), median, p90, p99, sorted[0], sorted.size());
    return;
  }
  const std::string target =
      w.target_ns == 0 ? "" : "< " + format_ns(w.target_ns) + (median < w.target_ns ? "" : " **missed**");
  std::printf("| %s | %s | %s | %s | %s | %s |\n", w.name.c_str(), format_ns(median).c_str(), format_ns(p90).c_str(),
              format_ns(p99).c_str(), format_ns(sorted[0]).c_str(), target.c_str());
}

int run(int argc, char** argv) {
  LatencyOptions options;
  std::vector<const Group*> wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const Group* const group =
        std::find_if(std::begin(kGroups), std::end(kGroups), [&](const Group& g) { return word == g.name; });
    if (group != std::end(kGroups))
      wanted.push_back(group);
    else if (word == "--quick")
      options.rounds = 20;
    else if (word == "--json")
      options.json = true;
    else if (word == "--filter" && i + 1 < argc)
      options.filter = argv[++i];
    else
      throw std::runtime_error("unknown group or option " + std::string(word));
  }
  if (!options.json) std::printf("%s\n", describe_machine().c_str());
  for (const Group& g : kGroups)
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), &g) != wanted.end()) g.run(options);
  return 0;
}

}  // namespace

void print_waits(std::string_view title, const std::vector<Wait>& all, int rounds, const LatencyOptions& options) {
  std::vector<Wait> waits;
  for (const Wait& w : all)
    if (w.name.find(options.filter) != std::string::npos) waits.push_back(w);
  if (waits.empty()) return;
  std::vector<std::vector<double>> samples(waits.size());
  for (int round = -2; round < rounds; ++round)
    for (std::size_t i = 0; i < waits.size(); ++i) {
      const double t = waits[i].nanoseconds();
      if (round >= 0) samples[i].push_back(t);
    }
  if (!options.json)
    std::printf("\n| %s | median | 90 %% | 99 %% | minimum | target |\n|---|---|---|---|---|---|\n",
                std::string(title).c_str());
  for (std::size_t i = 0; i < waits.size(); ++i) {
    std::sort(samples[i].begin(), samples[i].end());
    print_wait(waits[i], samples[i], options.json);
  }
  std::fflush(stdout);
}

std::string FreshKernel::text() const {
  static int count = 0;
  return strata::detail::message(before, "1.", 100'000 + ++count, after);
}

const std::vector<FreshKernel>& fresh_kernels() {
  static const std::vector<FreshKernel> kernels = [] {
    std::string lines = "a: f32[4096]; b: f32[4096]; t0 = a*";
    std::string rest = " + b\n";
    for (int i = 1; i < 18; ++i)
      rest += strata::detail::message("t", i, " = t", i - 1, i % 3 == 0 ? "*a - b" : " + relu(b)*0.5", "\n");
    rest += "y = exp2(t17) + sqrt(abs(t17))";
    return std::vector<FreshKernel>{
        {"tiny: one element, a + b", "a: f32[1]; b: f32[1]; c = a + b*", "", 1.5e6},
        {"20 lines of elementwise", lines, rest, 8e6},
        {"row sums of 512x512", "a: f32[512,512]; c = (a*", ").sum(1)", 0},
        {"softmax of 512x512", "a: f32[512,512]; c = softmax(a*", ", 1)", 0},
        {"matmul 512^3", "a: f32[512,512]; b: f32[512,512]; c = (a @ b)*", "", 0},
    };
  }();
  return kernels;
}

double nanoseconds_of(const std::function<void()>& f) {
  const double start = now();
  f();
  return 1e9 * (now() - start);
}

}  // namespace strata::bench

int main(int argc, char** argv) {
  return strata::bench::run_bench("bench_latency", STRATA_BENCH_PLUGIN_DIR,
                                  [&] { return strata::bench::run(argc, argv); });
}
