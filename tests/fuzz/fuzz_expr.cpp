// The differential fuzzer of the algebra: random expressions against direct evaluation.
//
//   fuzz_expr --count N --seed S [--every K] [--only CASE_SEED] [--failures F] [--depth D]
//
// Each expression is built through the public operators and compared with the oracle (checks.h); every K-th one also
// goes through texts, the exact step, proofs, substitution and assumptions. On a failure the expression is minimised
// and printed with its seed; the exit status is 1. `--only` repeats one case, `--failures` goes on up to F of
// them and prints the first two of each kind.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include "tests/fuzz/checks.h"
#include "tests/fuzz/shrink.h"

namespace strata::oracle {
namespace {

struct Arguments {
  std::uint64_t count = 20000, seed = 1, every = 8, only = 0, failures = 1;
  int depth = 6;
};

/// False for a word that is not understood.
bool read_arguments(int argc, char** argv, Arguments& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    std::uint64_t* number = word == "--count"      ? &out.count
                            : word == "--seed"     ? &out.seed
                            : word == "--every"    ? &out.every
                            : word == "--only"     ? &out.only
                            : word == "--failures" ? &out.failures
                                                   : nullptr;
    if (i + 1 == argc) return false;
    if (number != nullptr) {
      *number = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--depth") {
      out.depth = std::atoi(argv[++i]);
    } else {
      return false;
    }
  }
  return out.every != 0 && out.depth >= 1 && out.depth <= 12;
}

RandomOptions options_of(const Arguments& arguments) {
  RandomOptions options;
  options.depth = arguments.depth;
  return options;
}

void report(const Case& original, const Failure& first, std::uint64_t seed, Checker& checker) {
  const std::optional<Failure> cheap = checker(original, false, seed);
  const bool thorough = !cheap || cheap->check != first.check;
  const auto fails = [&](const Case& c) {
    const std::optional<Failure> failure = checker(c, thorough, seed);
    return failure && failure->check == first.check;
  };
  const Case least = fails(original) ? shrink(original, fails) : original;
  const std::optional<Failure> failure = checker(least, thorough, seed);
  std::printf("FAILED %s: %s\n", first.check.c_str(), failure ? failure->detail.c_str() : first.detail.c_str());
  std::printf("  expression  %s\n", text_of(least.tree, least.names()).c_str());
  for (const CaseVariable& v : least.variables)
    std::printf("  variable    %s in [%lld, %lld]\n", v.name.c_str(), static_cast<long long>(v.min),
                static_cast<long long>(v.max));
  std::printf("  drawn as    %s\n  repeat      fuzz_expr --only %llu\n",
              text_of(original.tree, original.names()).c_str(), static_cast<unsigned long long>(seed));
}

int run(const Arguments& arguments) {
  const std::size_t nodes_before = live_nodes();
  const auto start = std::chrono::steady_clock::now();
  Random seeds(arguments.seed);
  Checker checker, reporter;
  std::uint64_t failures = 0, done = 0;
  std::map<std::string, int> kinds;
  for (; done < (arguments.only != 0 ? 1 : arguments.count) && failures < arguments.failures; ++done) {
    const std::uint64_t seed = arguments.only != 0 ? arguments.only : seeds.next() | 1;
    const Case c = random_case(seed, options_of(arguments));
    const std::optional<Failure> failure = checker(c, arguments.only != 0 || done % arguments.every == 0, seed);
    if (!failure) continue;
    ++failures;
    if (++kinds[failure->check] <= 2) report(c, *failure, seed, reporter);
  }
  if (live_nodes() != nodes_before) {
    ++failures;
    std::printf("FAILED memory: %zu nodes live after the run, %zu before\n", live_nodes(), nodes_before);
  }
  for (const auto& [kind, count] : kinds) std::printf("FAILED %s: %d\n", kind.c_str(), count);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Checker::Counts& n = checker.counts();
  std::printf(
      "fuzz_expr: %llu expressions (seed %llu), %llu failed; %zu in depth, %zu beyond 64 bits, %zu "
      "points, "
      "%.1f s, %.0f a second\n",
      static_cast<unsigned long long>(done), static_cast<unsigned long long>(arguments.seed),
      static_cast<unsigned long long>(failures), n.thorough, n.skipped, n.points, seconds,
      static_cast<double>(done) / seconds);
  std::printf("fuzz_expr: conditions: %zu proven, %zu refuted, %zu open; bounds tight in %zu of %zu\n", n.proven,
              n.refuted, n.open, n.tight, n.complete);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace strata::oracle

int main(int argc, char** argv) {
  strata::oracle::Arguments arguments;
  if (!strata::oracle::read_arguments(argc, argv, arguments)) {
    std::fprintf(stderr,
                 "usage: fuzz_expr [--count N] [--seed S] [--every K] [--only CASE] [--failures F] "
                 "[--depth D]\n");
    return 2;
  }
  return strata::oracle::run(arguments);
}
