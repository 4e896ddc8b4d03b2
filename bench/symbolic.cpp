// Builds and simplifies the expressions of data/exprs.txt with Strata and its peers, side by side; prints Markdown.
//
//   bench_symbolic FILE                         the table; fails when a result of Strata is wrong or not the ideal one
//   bench_symbolic FILE --results               what each library ends in
//   bench_symbolic FILE --loop PEER NAME COUNT  one peer on one expression COUNT times, for a profiler
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <stdexcept>

#include "bench/harness.h"
#include "bench/peers.h"

namespace strata::bench {

namespace {

struct PeerKind {
  const char* key;
  const char* title;
  std::unique_ptr<Peer> (*make)(const Program&);
};
constexpr PeerKind kPeers[] = {
    {"strata", "Strata warm", make_strata_warm}, {"strata-cold", "Strata cold", make_strata_cold},
    {"mlir", "MLIR warm", make_mlir_warm},       {"mlir-new", "MLIR new context", make_mlir_cold},
    {"isl", "isl aff+gist", make_isl},
};
constexpr std::size_t kPeerCount = std::size(kPeers);
constexpr std::size_t kStrata = 0, kMlir = 2, kIsl = 4;

/// The measurements of one expression; an absent peer has no samples.
struct Measured {
  Timing timing[kPeerCount];
  int left[kPeerCount] = {};
  std::string shortfall;  // what keeps Strata's result from the ideal, empty when nothing does

  bool has(std::size_t peer) const { return !timing[peer].samples_ns.empty(); }
};

Measured measure_program(const Program& program) {
  Measured m;
  m.shortfall = verify_strata(program, 2000);
  std::unique_ptr<Peer> peers[kPeerCount];
  std::vector<Row> rows;
  for (std::size_t i = 0; i < kPeerCount; ++i) {
    peers[i] = kPeers[i].make(program);
    if (!peers[i]) continue;
    m.left[i] = count_div_mod(peers[i]->result());
    rows.push_back(row(kPeers[i].key, [peer = peers[i].get()] { peer->build(); }));
  }
  std::vector<Timing> timings = measure(rows);
  std::size_t at = 0;
  for (std::size_t i = 0; i < kPeerCount; ++i)
    if (peers[i]) m.timing[i] = std::move(timings[at++]);
  return m;
}

void print_head() {
  std::printf("%s; one thread, median of the turns.\n\n", describe_machine().c_str());
  std::printf("| expression | ops |");
  for (const PeerKind& p : kPeers) std::printf(" %s |", p.title);
  std::printf(
      " Strata warm / MLIR warm | the same of minima | left: Strata, MLIR, isl | ideal "
      "|\n|---|---|");
  for (std::size_t i = 0; i < kPeerCount; ++i) std::printf("---|");
  std::printf("---|---|---|---|\n");
}

void print_measured(const Program& program, const Measured& m) {
  std::printf("| %s | %zu |", program.name.c_str(), program.operations());
  for (std::size_t i = 0; i < kPeerCount; ++i)
    std::printf(" %s |", m.has(i) ? format_ns(m.timing[i].median_ns).c_str() : "absent");
  if (m.has(kMlir)) {
    std::printf(" %s |", format_ratio(paired_ratio(m.timing[kStrata], m.timing[kMlir])).c_str());
    std::printf(" %s |", format_ratio(m.timing[kStrata].min_ns / m.timing[kMlir].min_ns).c_str());
  } else {
    std::printf(" - | - |");
  }
  const std::string mlir = m.has(kMlir) ? std::to_string(m.left[kMlir]) : "-";
  const std::string isl = m.has(kIsl) ? std::to_string(m.left[kIsl]) : "-";
  std::printf(" %d, %s, %s |", m.left[kStrata], mlir.c_str(), isl.c_str());
  std::printf(" %s |\n", m.shortfall.empty() ? "yes" : m.shortfall.c_str());
  std::fflush(stdout);
}

int print_table(const std::vector<Program>& programs) {
  pin_to_one_processor();
  print_head();
  int short_of_ideal = 0, slower = 0;
  bool has_mlir = false, has_isl = false;
  for (const Program& p : programs) {
    const Measured m = measure_program(p);
    print_measured(p, m);
    short_of_ideal += !m.shortfall.empty();
    has_mlir = m.has(kMlir);
    has_isl = m.has(kIsl);
    slower += has_mlir && paired_ratio(m.timing[kStrata], m.timing[kMlir]) > 1;
  }
  std::printf("\nStrata reaches the ideal result on %zu of %zu",
              programs.size() - static_cast<std::size_t>(short_of_ideal), programs.size());
  if (has_mlir) std::printf("; slower than MLIR's warm context on %d", slower);
  std::printf(".\n");
  if (!has_mlir) std::printf("Absent: MLIR (libmlir-19-dev and llvm-19-dev were not found at configure time).\n");
  if (!has_isl) std::printf("Absent: isl (libisl-dev was not found at configure time).\n");
  return short_of_ideal == 0 ? 0 : 1;
}

int print_results(const std::vector<Program>& programs) {
  for (const Program& p : programs) {
    std::printf("%s\n", p.name.c_str());
    for (const PeerKind& kind : kPeers)
      if (const auto peer = kind.make(p)) std::printf("  %-17s %s\n", kind.title, peer->result().c_str());
  }
  return 0;
}

int loop(const std::vector<Program>& programs, const char* key, const char* name, long count) {
  for (const PeerKind& kind : kPeers)
    for (const Program& p : programs) {
      if (std::strcmp(kind.key, key) != 0 || p.name != name) continue;
      const auto peer = kind.make(p);
      if (!peer) throw std::runtime_error(std::string(key) + " is absent");
      for (long n = 0; n < count; ++n) peer->build();
      return 0;
    }
  throw std::runtime_error("no such peer or expression");
}

int run(int argc, char** argv) {
  if (argc < 2) throw std::runtime_error("usage: bench_symbolic FILE [--results | --loop PEER NAME COUNT]");
  const std::vector<Program> programs = read_programs(argv[1]);
  if (argc == 2) return print_table(programs);
  if (argc == 3 && std::strcmp(argv[2], "--results") == 0) return print_results(programs);
  if (argc == 6 && std::strcmp(argv[2], "--loop") == 0) return loop(programs, argv[3], argv[4], std::stol(argv[5]));
  throw std::runtime_error("unknown arguments");
}

}  // namespace

}  // namespace strata::bench

int main(int argc, char** argv) {
  return strata::bench::run_bench("bench_symbolic", nullptr, [&] { return strata::bench::run(argc, argv); });
}
