// Holds movement operations, merges and questions against explicit tables:
//   view_chains [--triples all|N] [--chains N] [--stacks N] [--seed S]
// `--triples all` makes every chain of up to three moves on every small shape; N draws that many of them.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/view/chains.h"

namespace {

using namespace strata::chains;
using strata::Index;

/// Runs `f` on a fresh Report and prints it; true iff nothing failed.
template <class F>
bool section(const char* name, const F& f) {
  Report r;
  const auto start = std::chrono::steady_clock::now();
  f(r);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "%-12s %llu moves, %llu stacks judged, %llu of several Views (%llu are one View), %llu "
      "reshapes, %llu FAILURES, %.1f s\n",
      name, number(r.moves), number(r.stacks), number(r.several), number(r.singles),
      number(r.reshapes), number(r.failures), seconds);
  for (const std::string& line : r.complaints) std::printf("  %s\n", line.c_str());
  std::fflush(stdout);
  return r.failures == 0;
}

bool all_triples() {
  bool ok = section("pairs", [](Report& r) {
    Triples pairs(r, {64, 4, 2}, Depth::all);
    for (const Index& shape : small_shapes(24)) pairs.run(shape, 2);
  });
  ok &= section("triples", [](Report& r) {
    Triples triples(r, {24, 3, 1}, Depth::meaning);
    for (const Index& shape : small_shapes(24)) triples.run(shape, 3);
  });
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view triples = "20000";
  std::uint64_t chains = 5000, stacks = 10000, seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--triples") triples = argv[i + 1];
    if (name == "--chains") chains = value;
    if (name == "--stacks") stacks = value;
    if (name == "--seed") seed = value;
  }
  bool ok = true;
  if (triples == "all") {
    ok &= all_triples();
  } else {
    ok &= section("triples", [&](Report& r) {
      Random random(seed);
      Triples sample(r, {64, 4, 2}, Depth::all);
      const std::uint64_t n = std::strtoull(triples.data(), nullptr, 10);
      for (std::uint64_t k = 0; k < n; ++k) sample.run_random(random, 3);
    });
  }
  ok &= section("chains", [&](Report& r) {
    for (std::uint64_t k = 0; k < chains; ++k) random_chain(seed + k, r);
  });
  ok &= section("round trips", [&](Report& r) {
    for (std::uint64_t k = 0; k < chains; ++k) random_round_trip(seed + k, r);
  });
  ok &= section("stacks", [&](Report& r) {
    for (std::uint64_t k = 0; k < stacks; ++k) random_stack(seed + k, r);
  });
  return ok ? 0 : 1;
}
