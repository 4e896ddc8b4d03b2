// bench_mesh: exchanges of a mesh beside plain MPI: mpirun -n 2 bench_mesh. A row a size: the times of both, and their
// ratio. all_gather and all_to_all are redistributions beside MPI's collectives; turn is a redistribution of a matrix
// from blocks of rows to blocks of columns, beside C by hand (mesh_peer.c). Each time is the least of several rounds: a
// round takes the tenth part of its calls that is fastest, on the slowest rank. Ours and theirs take turns.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "strata/mesh/exchange_plan.h"

namespace strata {
namespace {

/// The functions of mesh_peer.c.
struct Peer {
  void (*all_gather)(const void*, void*, int);
  void (*all_to_all)(const void*, void*, int);
  void (*turn)(const float*, float*, float*, int);
  void (*barrier)();
  double (*largest)(double);
};

template <class F>
F found(void* library, const char* name) {
  void* const address = dlsym(library, name);
  STRATA_CHECK(address, undefined, "[bench] no function ", name);
  return reinterpret_cast<F>(address);
}

Peer open_peer() {
  void* const library = dlopen(STRATA_BENCH_PEER, RTLD_NOW | RTLD_LOCAL);
  STRATA_CHECK(library, undefined, "[bench] ", STRATA_BENCH_PEER, " cannot be opened");
  return {found<void (*)(const void*, void*, int)>(library, "peer_all_gather"),
          found<void (*)(const void*, void*, int)>(library, "peer_all_to_all"),
          found<void (*)(const float*, float*, float*, int)>(library, "peer_turn"),
          found<void (*)()>(library, "peer_barrier"), found<double (*)(double)>(library, "peer_largest")};
}

/// The time that a tenth of `count` calls does not exceed, in microseconds, of the slowest rank.
double time_of(const Peer& peer, const std::function<void()>& call, int count) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  peer.barrier();
  for (int n = 0; n < count; ++n) {
    const Clock::time_point begin = Clock::now();
    call();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  const auto tenth = times.begin() + count / 10;
  std::nth_element(times.begin(), tenth, times.end());
  return peer.largest(*tenth);
}

void row(const Mesh& mesh, const Peer& peer, const std::string& name, std::int64_t bytes,
         const std::function<void()>& ours, const std::function<void()>& theirs) {
  const int count = static_cast<int>(std::clamp<std::int64_t>((std::int64_t{1} << 26) / bytes, 20, 1000));
  double a = 0, b = 0;
  for (int round = 0; round < 9; ++round) {
    const double x = time_of(peer, ours, count), y = time_of(peer, theirs, count);
    a = round == 0 ? x : std::min(a, x);
    b = round == 0 ? y : std::min(b, y);
  }
  if (mesh.rank() == 0)
    std::printf("%-12s %10lld bytes a rank   ours %10.1f us   MPI %10.1f us   %5.2f\n", name.c_str(),
                static_cast<long long>(bytes), a, b, a / b);
}

void all_sizes(const Mesh& mesh, const Peer& peer) {
  const std::int64_t ranks = mesh.size();
  for (const std::int64_t kilobytes : {64, 256, 1024, 4096, 16384}) {
    const std::int64_t bytes = kilobytes << 10;
    std::vector<float> mine(static_cast<std::size_t>(bytes / 4), static_cast<float>(mesh.rank()));
    std::vector<float> result(static_cast<std::size_t>(bytes / 4 * ranks)), packed(mine.size());
    const Sharding blocks = parse_sharding(mesh.shape(), {bytes / 4 * ranks}, "x:0");
    const auto gather = ExchangePlan::redistribution(mesh, blocks, replicated(mesh.shape(), blocks.shape()), 4);
    row(
        mesh, peer, "all_gather", bytes, [&] { gather.run(mine.data(), result.data(), "f32"); },
        [&] { peer.all_gather(mine.data(), result.data(), static_cast<int>(bytes)); });
    // Each rank has a part for each rank: f32[part, ranks, ...], from one split axis to the other.
    const Index parts = {ranks, ranks, bytes / 4 / ranks};
    const auto exchange = ExchangePlan::redistribution(mesh, parse_sharding(mesh.shape(), parts, "x:0"),
                                                       parse_sharding(mesh.shape(), parts, "x:1"), 4);
    row(
        mesh, peer, "all_to_all", bytes, [&] { exchange.run(mine.data(), result.data(), "f32"); },
        [&] { peer.all_to_all(mine.data(), result.data(), static_cast<int>(bytes / ranks)); });
  }
  for (const std::int64_t size : {256, 512, 1024, 2048, 4096}) {
    std::vector<float> mine(static_cast<std::size_t>(size * size / ranks), 1), result(mine.size()), packed(mine.size());
    const auto turn = ExchangePlan::redistribution(mesh, parse_sharding(mesh.shape(), {size, size}, "x:0"),
                                                   parse_sharding(mesh.shape(), {size, size}, "x:1"), 4);
    row(
        mesh, peer, "turn", size * size / ranks * 4, [&] { turn.run(mine.data(), result.data(), "f32"); },
        [&] { peer.turn(mine.data(), result.data(), packed.data(), static_cast<int>(size)); });
  }
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  using namespace strata;
  setenv("STRATA_PLUGIN_DIR", STRATA_BENCH_PLUGIN_DIR, 0);
  try {
    const Mesh mesh({argc > 1 ? std::atoll(argv[1]) : 2}, {"x"});
    all_sizes(mesh, open_peer());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
