// Holds movement operations, merges and questions against explicit tables:
//   view_chains [--triples all|N] [--chains N] [--stacks N] [--seed S]
// `--triples all` makes every chain of up to three moves on every small shape, and of two with wider arguments and all
// questions asked; N draws that many chains of three.

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
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "%-12s %llu moves, %llu stacks judged, %llu of several Views (%llu are one View), %llu "
      "reshapes, %llu FAILURES, %.1f s\n",
      name, number(r.moves), number(r.stacks), number(r.several), number(r.singles), number(r.reshapes),
      number(r.failures), seconds);
  for (const std::string& line : r.complaints) std::printf("  %s\n", line.c_str());
  std::fflush(stdout);
  return r.failures == 0;
}

/// Every chain of up to `length` moves from every small shape; says on standard error how far it is.
void run_all(Triples&& triples, std::size_t length, const Report& report) {
  const auto shapes = small_shapes(24);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    triples.run(shapes[k], length);
    std::fprintf(stderr, "%zu of %zu shapes, %llu moves\n", k + 1, shapes.size(),
                 static_cast<unsigned long long>(report.moves));
  }
}

bool all_triples() {
  bool ok = section("pairs", [](Report& r) { run_all(Triples(r, {36, 4, 2}, Depth::all), 2, r); });
  ok &= section("triples", [](Report& r) { run_all(Triples(r, {24, 3, 1}, Depth::meaning), 3, r); });
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
