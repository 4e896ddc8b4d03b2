// Kernels of Strata beside the same written by hand, beside other libraries, and beside what the machine can do; prints
// Markdown, or a line of JSON for each row and number of threads.
//
//   bench_kernels [--filter TEXT] [--threads N] [--device NAME] [--quick] [--json]
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "bench/kernel_peers.h"
#include "bench/kernels.h"
#include "strata/ops/kernel_text.h"
#include "strata/runtime/device.h"
#include "strata/runtime/tbb_executor.h"

namespace strata::bench {

namespace {

struct Options {
  std::string filter, device = "LLVM";
  int threads = 0;
  bool quick = false, json = false;
};

Options read_options(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto next = [&]() -> std::string_view {
      if (++i == argc) throw std::runtime_error(std::string(word) + " needs a value");
      return argv[i];
    };
    if (word == "--quick") {
      out.quick = true;
    } else if (word == "--json") {
      out.json = true;
    } else if (word == "--filter") {
      out.filter = next();
    } else if (word == "--device") {
      out.device = next();
    } else if (word == "--threads") {
      const std::string_view text = next();
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.threads);
      if (error != std::errc() || end != text.data() + text.size() || out.threads < 1)
        throw std::runtime_error("--threads: expected a number from 1 on");
    } else {
      throw std::runtime_error("unknown option " + std::string(word));
    }
  }
  return out;
}

// --- one row ---

constexpr const KernelPeer* kPeers[] = {&eigen_peer, &openblas_peer};

/// The memory of a row: inputs that all share, an output for each.
class Memory {
 public:
  explicit Memory(const KernelCase& c) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (const std::int64_t n : c.inputs) {
      inputs_.push_back(Buffer::allocate(n, dtypes::float32));
      for (float& x : inputs_.back().as<float>()) x = uniform(random);
    }
    for (Buffer* b : {&ours_, &hand_, &peer_}) {
      *b = Buffer::allocate(c.output, dtypes::float32);
      std::ranges::fill(b->as<float>(), 0.0F);
    }
    std::ranges::fill(scratch_.as<float>(), 0.0F);
  }

  Operands operands(const KernelCase& c, const Buffer& out) const {
    Operands o{out.as<float>().data(), {}, c.m, c.n, c.k, scratch_.as<float>().data()};
    for (std::size_t i = 0; i < inputs_.size(); ++i) o.in[i] = inputs_[i].as<float>().data();
    return o;
  }
  std::vector<Buffer> slots() const {
    std::vector<Buffer> out{ours_};
    out.insert(out.end(), inputs_.begin(), inputs_.end());
    return out;
  }
  const Buffer& ours() const { return ours_; }
  const Buffer& hand() const { return hand_; }
  const Buffer& peer() const { return peer_; }

 private:
  static Buffer none() { return Buffer::allocate(0, dtypes::float32); }
  std::vector<Buffer> inputs_;
  Buffer ours_ = none(), hand_ = none(), peer_ = none();
  Buffer scratch_ = Buffer::allocate(kScratch, dtypes::float32);
};

/// @throws std::runtime_error naming the first element that is off by more than the tolerance
void check(const KernelCase& c, const Buffer& got, const Buffer& expected, std::string_view who) {
  const std::span<float> x = got.as<float>(), y = expected.as<float>();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])) <= c.tolerance))
      throw std::runtime_error(c.name + ": element " + std::to_string(i) + " of " + std::string(who) + " is " +
                               std::to_string(x[i]) + ", by hand " + std::to_string(y[i]));
}

struct Contestant {
  std::string name;
  Timing timing;
};
/// A row at a number of threads: Strata, by hand, then the peers that have something for it.
struct Outcome {
  std::vector<Contestant> who;
  double rate = 0, of_limit = 0;  // of Strata
  const Contestant* best_peer() const {
    const Contestant* best = nullptr;
    for (std::size_t i = 2; i < who.size(); ++i)
      if (best == nullptr || who[i].timing.median_ns < best->timing.median_ns) best = &who[i];
    return best;
  }
};

/// Strata's kernel as a call without checks, for replays. What it needs between its own parts is behind the inputs.
std::function<void()> strata_call(const CompiledKernel& kernel, const Memory& memory, Executor& executor) {
  std::vector<Buffer> slots = memory.slots();
  for (std::size_t i = slots.size(); i < kernel.kernel().buffers.size(); ++i) {
    const BufferUse& use = kernel.kernel().buffers[i];
    slots.push_back(Buffer::allocate(use.size.value(), use.dtype));
  }
  std::vector<void*> addresses;
  for (const Buffer& b : slots) addresses.push_back(b.data());
  return [&kernel, &executor, slots, addresses,
          values = std::vector<std::int64_t>(kernel.kernel().variables.size())]() mutable {
    kernel.replay(addresses, values, &executor);
  };
}

/// Runs and checks each of them, then measures them in turn.
Outcome race(const KernelCase& c, const CompiledKernel& kernel, const Memory& memory, Executor& executor,
             const Limits& limits, bool quick) {
  const Operands by_hand = memory.operands(c, memory.hand());
  const Operands by_peer = memory.operands(c, memory.peer());
  const HandKernel hand = hand_kernel(c.work, by_hand);
  std::vector<Row> rows{row("Strata", strata_call(kernel, memory, executor)),
                        row("by hand", hand_call(hand, by_hand, executor))};
  for (const Row& r : rows) r.run(1);
  check(c, memory.ours(), memory.hand(), "Strata");
  const bool one = executor.concurrency() == 1;
  for (const KernelPeer* peer : kPeers) {
    if (!one && !peer->has_threads) continue;
    peer->set_threads(executor.concurrency());
    const std::function<void()> call = peer->call(c.work, by_peer);
    if (!call) continue;
    std::ranges::fill(memory.peer().as<float>(), 0.0F);
    call();
    check(c, memory.peer(), memory.hand(), peer->name);
    rows.push_back(row(peer->name, call));
  }
  // A library's own threads go on spinning when its call is over, on the processors of whoever is next.
  if (!one && rows.size() > 2) rows[0].before = [] { std::this_thread::sleep_for(std::chrono::milliseconds(40)); };
  const std::vector<Timing> timings = measure(rows, quick ? Budget{0.05, 3, 100} : Budget{1.0, 9, 500});
  Outcome out;
  for (std::size_t i = 0; i < rows.size(); ++i) out.who.push_back({rows[i].name, timings[i]});
  out.rate = c.amount / timings[0].median_ns;
  out.of_limit = out.rate / limits.of(c.limit);
  return out;
}

// --- tables ---

const char* unit(const KernelCase& c) { return c.limit == Limit::peak ? "GFLOP/s" : "GB/s"; }

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, x < 10 ? "%.2f" : x < 100 ? "%.1f" : "%.0f", x);
  return text;
}

void print_limits(const char* name, const Limits& l) {
  std::printf("| %s |", name);
  for (const double rate : l.rate) std::printf(" %s |", number(rate).c_str());
  std::printf("\n");
}

/// "4.51 ms | 44.3 GB/s | 81 % | 0.98 | Eigen 4.90 ms | 0.92 |"
std::string cells(const KernelCase& c, const Outcome& o) {
  const Timing &ours = o.who[0].timing, &hand = o.who[1].timing;
  std::string out = format_ns(ours.median_ns) + " | " + number(o.rate) + " " + unit(c) + " | " +
                    number(100 * o.of_limit) + " % | " + format_ratio(paired_ratio(ours, hand)) + " | ";
  const Contestant* const peer = o.best_peer();
  if (peer == nullptr) return out + "| |";
  return out + peer->name + " " + format_ns(peer->timing.median_ns) + " | " +
         format_ratio(paired_ratio(ours, peer->timing)) + " |";
}

void print_json(const KernelCase& c, int threads, const Outcome& o) {
  std::printf(R"({"kernel": "%s", "threads": %d, "rate": %.4g, "unit": "%s", "of_limit": %.4g)", c.name.c_str(),
              threads, o.rate, unit(c), o.of_limit);
  for (const Contestant& w : o.who)
    std::printf(R"(, "%s": {"median_ns": %.6g, "min_ns": %.6g, "strata_ratio": %.4g})", w.name.c_str(),
                w.timing.median_ns, w.timing.min_ns, paired_ratio(o.who[0].timing, w.timing));
  std::printf("}\n");
}

/// The threads that kernels run on in a table's column, and what the machine can do with them.
struct Team {
  std::unique_ptr<Executor> executor;
  Limits limits;
};

/// One row on all teams; the text that it failed with, or none.
std::optional<std::string> run_case(const KernelCase& c, const Device& device, const std::vector<Team>& teams,
                                    const Options& options) {
  if (!options.json) std::printf("| %s | ", c.name.c_str());
  try {
    const CompiledKernel kernel = compile(parse_kernel(c.text).kernel, device);
    const Memory memory(c);
    for (const Team& team : teams) {
      const int threads = team.executor->concurrency();
      if (threads == 1) pin_to_one_processor();
      const Outcome o = race(c, kernel, memory, *team.executor, team.limits, options.quick);
      unpin();
      if (options.json)
        print_json(c, threads, o);
      else
        std::printf("%s ", cells(c, o).c_str());
      std::fflush(stdout);
    }
    if (!options.json) std::printf("\n");
    return {};
  } catch (const std::exception& e) {
    unpin();
    if (!options.json) std::printf("**failed** |\n");
    return c.name + ": " + e.what();
  }
}

std::vector<Team> make_teams(const Options& options) {
  std::vector<Team> out;
  out.push_back({std::make_unique<SerialExecutor>(), {}});
  std::unique_ptr<Executor> all = make_executor(options.threads);
  if (all->concurrency() > 1) {
    // The workers come to life here: what is made by a pinned thread is pinned.
    all->parallel_for(0, 1000, 1, [](std::int64_t, std::int64_t) {});
    out.push_back({std::move(all), {}});
  }
  for (Team& team : out) {
    if (team.executor->concurrency() == 1) pin_to_one_processor();
    team.limits = measure_limits(*team.executor, options.quick);
    unpin();
  }
  return out;
}

void print_head(const std::vector<Team>& teams, const Device& device) {
  std::printf("%s; %s", describe_machine().c_str(), std::string(device.name()).c_str());
  for (const KernelPeer* p : kPeers) std::printf("; %s", p->version().c_str());
  std::printf("\n\n| threads | L1 GB/s | L2 GB/s | copy GB/s | read GB/s | fill GB/s | peak GFLOP/s |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  for (const Team& t : teams) print_limits(std::to_string(t.executor->concurrency()).c_str(), t.limits);
  std::printf("\n| kernel | ");
  for (const Team& t : teams) {
    const int threads = t.executor->concurrency();
    std::printf("%d thread%s | rate | of limit | / by hand | best peer | / peer | ", threads, threads == 1 ? "" : "s");
  }
  std::printf("\n|---|");
  for (std::size_t i = 0; i < teams.size(); ++i) std::printf("---|---|---|---|---|---|");
  std::printf("\n");
}

int run(const Options& options) {
  const Device& device = Device::get(options.device);
  if (!device.missing().empty()) throw std::runtime_error(device.missing());
  const std::vector<Team> teams = make_teams(options);
  if (!options.json) print_head(teams, device);
  std::vector<std::string> failures;
  for (const KernelCase& c : kernel_cases())
    if (c.name.find(options.filter) != std::string::npos)
      if (const auto failure = run_case(c, device, teams, options)) failures.push_back(*failure);
  for (const std::string& f : failures) std::fprintf(stderr, "bench_kernels: %s\n", f.c_str());
  return failures.empty() ? 0 : 1;
}

}  // namespace

}  // namespace strata::bench

int main(int argc, char** argv) {
  return strata::bench::run_bench("bench_kernels", STRATA_BENCH_PLUGIN_DIR,
                                  [&] { return strata::bench::run(strata::bench::read_options(argc, argv)); });
}
