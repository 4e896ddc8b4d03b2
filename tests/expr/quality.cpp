// Measures the quality of simplification over random nests: quality [count] [first seed] [--verbose].

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/expr/quality.h"

namespace {

using strata::Effort;
using strata::oracle::Quality;

void report(const char* name, const Quality& q) {
  std::printf(
      "%-6s bounds exact %.2f%%  constants %zu, missed %zu (%.2f%%)  affine %zu, missed %zu "
      "(%.2f%%)  dead names %zu, left %zu "
      "(%.2f%%)  operators %.3f  us %.1f  slowest %.1f ms (seed %llu)\n",
      name, q.bounds_percent(), q.constants, q.constants_missed, q.constants_percent(), q.affine, q.affine_missed,
      q.affine_percent(), q.dead_names, q.dead_names_left, q.names_percent(), q.mean_operators(),
      1e6 * q.seconds / static_cast<double>(q.cases), 1e3 * q.slowest, static_cast<unsigned long long>(q.slowest_seed));
  if (q.wrong + q.unsound + q.unstable != 0)
    std::printf("%-6s WRONG %zu  UNSOUND %zu  NOT IDEMPOTENT %zu\n", name, q.wrong, q.unsound, q.unstable);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t count = 1500, first = 1;
  bool verbose = false;
  int position = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--verbose")
      verbose = true;
    else
      (position++ == 0 ? count : first) = std::strtoull(argv[i], nullptr, 10);
  }
  strata::oracle::RandomOptions options;
  options.symbolic_divisors = false;
  Quality rules, exact;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    strata::oracle::judge(seed, options, Effort::rules, rules);
    strata::oracle::judge(seed, options, Effort::exact, exact);
  }
  std::printf("seeds %llu..%llu, %zu nests\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + count - 1), exact.cases);
  report("rules", rules);
  report("exact", exact);
  if (verbose)
    for (const std::string& line : exact.complaints) std::printf("%s\n", line.c_str());
  for (const Quality* q : {&rules, &exact})
    for (const std::string& line : q->complaints)
      if (line.find("WRONG") != std::string::npos || line.find("UNSOUND") != std::string::npos ||
          line.find("IDEMPOTENT") != std::string::npos)
        std::printf("%s\n", line.c_str());
  return rules.wrong + rules.unsound + exact.wrong + exact.unsound + exact.unstable == 0 ? 0 : 1;
}
