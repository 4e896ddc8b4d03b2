// A rank of a mesh of processes, for tests/mesh/run_ranks.py: rank_program TASK [ARGUMENT...]. Faults happen on one
// rank, the last one where nothing else is said. Prints a line `rank R: ...` for what it checked, and errors as they
// are.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "strata/base/flags.h"
#include "strata/base/interrupt.h"
#include "strata/mesh/exchange_plan.h"
#include "tests/spmd/captured_program.h"

namespace strata {
namespace {

struct Task {
  std::int64_t ranks = 0;   // that the launcher started
  std::int64_t faulty = 0;  // the rank on which the fault happens
  std::string argument;
};

Mesh line_of(const Task& task) { return Mesh({task.ranks}, {"x"}); }

/// The elements of a rank: their row-major numbers; -1 where there are none.
std::vector<std::int32_t> numbered(const Sharding& s, std::int64_t rank) {
  std::vector<std::int32_t> out;
  for (std::int64_t l = 0; l < s.layout().mode(1).size().value(); ++l) {
    const std::optional<Index> at = s.element(rank, l);
    std::int64_t number = 0;
    if (at)
      for (std::size_t j = 0; j < at->size(); ++j) number = number * s.shape()[j] + (*at)[j];
    out.push_back(at ? static_cast<std::int32_t>(number) : -1);
  }
  return out;
}

void check(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "WRONG VALUE: " << what << std::endl;
  std::abort();
}

void move_and_check(const Mesh& mesh, const Sharding& from, const Sharding& to) {
  const auto plan = ExchangePlan::redistribution(mesh, from, to, sizeof(std::int32_t));
  const std::vector<std::int32_t> mine = numbered(from, mesh.rank()), expected = numbered(to, mesh.rank());
  std::vector<std::int32_t> result(expected.size(), -1);
  plan.run(mine.data(), result.data(), "i32");
  check(result == expected, render(from.layout()) + " to " + render(to.layout()));
}

/// A line of output, in one piece.
void say(std::int64_t rank, const std::string& what) {
  const std::string line = detail::message("rank ", rank, ": ", what, "\n");
  std::cout << line << std::flush;
}

// --- tasks ---

/// Redistributions among shardings of several kinds, each to each.
void exchanges(const Task& task) {
  const Mesh mesh = line_of(task);
  const MeshShape& shape = mesh.shape();
  for (const Index& size : std::vector<Index>{{64, 33}, {3, 5}, {1, 1}, {0, 4}}) {
    std::vector<Sharding> all = {replicated(shape, size)};
    for (const char* const text : {"x:0", "x:1", "x:0/cyclic(1)", "x:1/cyclic(2)"})
      all.push_back(parse_sharding(shape, size, text));
    for (const Sharding& from : all)
      for (const Sharding& to : all) move_and_check(mesh, from, to);
  }
  move_and_check(mesh, parse_sharding(shape, {1024, 512}, "x:0"), parse_sharding(shape, {1024, 512}, "x:1"));
  const auto& local = mesh.local_ranks();
  check(static_cast<std::int64_t>(local.size()) == task.ranks && std::is_sorted(local.begin(), local.end()),
        "the ranks of this host");
  check(mesh.threads() >= 1 && mesh.threads() <= std::max<std::int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN) / task.ranks),
        "threads");
  say(mesh.rank(), "101 exchanges, version " + mesh.world().version().substr(0, 4));
}

/// Two exchanges at once, the second waited for first, beside work.
void at_once(const Task& task) {
  const Mesh mesh = line_of(task);
  const Sharding rows = parse_sharding(mesh.shape(), {512, 300}, "x:0");
  const Sharding columns = parse_sharding(mesh.shape(), {512, 300}, "x:1");
  const auto mine = numbered(rows, mesh.rank()), other = numbered(columns, mesh.rank());
  std::vector<std::int32_t> a(other.size(), -1), b(mine.size(), -1);
  Pending first = ExchangePlan::redistribution(mesh, rows, columns, 4).start(mine.data(), a.data(), "a");
  Pending second = ExchangePlan::redistribution(mesh, columns, rows, 4).start(other.data(), b.data(), "b");
  second.wait();
  check(b == mine, "the second exchange");
  while (!first.progress()) {
  }
  check(a == other, "the first exchange");
  say(mesh.rank(), "both");
}

/// Random computations with sharded tensors: the bits of one process, read on all ranks.
void tensors(const Task& task) {
  const Mesh mesh = line_of(task);
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  const std::uint64_t programs = task.argument.empty() ? 25 : std::stoull(task.argument);
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    const spmd_oracle::Program program(seed, mesh, mesh.shape());
    for (const spmd_oracle::Twin& t : program.twins()) {
      const Buffer a = t.sharded.contiguous().buffer(), b = t.plain.contiguous().buffer();
      const auto bytes = static_cast<std::size_t>(product(t.plain.shape()).value()) * t.plain.itemsize();
      check(std::memcmp(a.data(), b.data(), bytes) == 0, "seed " + std::to_string(seed) + ":\n" + program.text());
    }
  }
  say(mesh.rank(), std::to_string(programs) + " programs");
}

/// Random computations that are captured, replayed with other elements: the bits of calls that are not captured.
void captured(const Task& task) {
  const Mesh mesh = line_of(task);
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  const std::uint64_t programs = task.argument.empty() ? 10 : std::stoull(task.argument);
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    spmd_oracle::CapturedProgram program(seed, mesh, mesh.shape());
    for (int call = 0; call < 5; ++call) {
      const std::string differs = program.call(call);
      check(differs.empty(), "call " + std::to_string(call) + " of seed " + std::to_string(seed) + ": " + differs);
    }
    check(program.replays() == 3, std::to_string(program.replays()) + " replays of seed " + std::to_string(seed));
  }
  say(mesh.rank(), std::to_string(programs) + " captured");
}

/// Captures of which some ranks have no elements.
void captured_by_few(const Task& task) {
  const Mesh mesh = line_of(task);
  const Tensor total = Tensor::from(std::vector<float>{1}, {1}).shard(mesh, "x:0").realize();
  auto add = jit([&](const Tensor& x) {
    total.assign(total + x.shard(mesh, "x:0"));
    return total.sum();
  });
  auto flipped = jit([](const Tensor& x) { return x.flip({0}); });
  float expected = 1;
  for (int call = 0; call < 6; ++call) {
    const float got = static_cast<float>(add(Tensor::full({1}, 1.0F).contiguous().realize()).item());
    check(got == expected + 1, "call " + std::to_string(call) + ": " + std::to_string(got));
    total.assign(total * 0.5);
    expected = (expected + 1) / 2;
    const Tensor x = (Tensor::arange(0, 5) + call).shard(mesh, "x:0");
    const std::vector<std::int64_t> back = flipped(x).to_vector<std::int64_t>();
    for (std::int64_t k = 0; k < 5; ++k)
      check(back[static_cast<std::size_t>(k)] == 4 - k + call, "flipped in call " + std::to_string(call));
  }
  say(mesh.rank(), std::to_string(add.jit()->replays() + flipped.jit()->replays()) + " replays");
}

/// One rank gives other elements to a replay. Nothing is assigned then, and all ranks capture anew.
void other_values_in_a_replay(const Task& task) {
  const Mesh mesh = line_of(task);
  const Tensor total = Tensor::zeros({40000}).shard(mesh, "x:0").realize();
  auto add = jit([&](const Tensor& x) {
    total.assign(total + x.shard(mesh, "x:0"));
    return total.sum();
  });
  for (int call = 1; call <= 7; ++call) {
    const bool is_faulty = call == 4 && mesh.rank() == task.faulty;
    const Tensor x = Tensor::full({40000}, is_faulty ? 2.0F : 1.0F).contiguous().realize();
    try {
      add(x);
      check(call != 4, "other values were computed with");
    } catch (const Error& e) {
      if (call != 4) throw;
      std::cerr << e.what() << std::endl;
    }
  }
  check(total.sum().item() == 6 * 40000.0, "the sum after the error");
  say(mesh.rank(), std::to_string(add.jit()->replays()) + " replays");
}

/// One rank gives other elements to what all are said to have.
void other_values(const Task& task) {
  const Mesh mesh = line_of(task);
  const Tensor x = Tensor::full({4, 4}, mesh.rank() == task.faulty ? 2.0 : 1.0).contiguous().realize();
  const Tensor y = x.shard(mesh, {{"x", 0}}) * 3;
  y.realize();
  check(false, "other values were computed with");
}

/// A message of more than 2^31 bytes, and one of 2^30 exactly.
void large(const Task& task) {
  const Mesh mesh = line_of(task);
  for (const std::int64_t size : {(std::int64_t{1} << 31) + 12345, std::int64_t{1} << 30}) {
    const Sharding whole = parse_sharding(mesh.shape(), {size * task.ranks}, "x:0");
    // Rank r has block r; then rank r has block r + 1, by the layout.
    const Layout turned = parse_layout("(" + std::to_string(task.ranks) + "," + std::to_string(size) + "):(" +
                                       std::to_string(size) + ",1)");
    std::vector<unsigned char> mine(static_cast<std::size_t>(size)),
        result(static_cast<std::size_t>(size * task.ranks));
    for (std::size_t i = 0; i < mine.size(); ++i)
      mine[i] = static_cast<unsigned char>((i * 2654435761U >> 24) + static_cast<std::size_t>(mesh.rank()));
    const Sharding from = Sharding::create(mesh.shape(), whole.shape(), turned);
    ExchangePlan::redistribution(mesh, from, replicated(mesh.shape(), whole.shape()), 1)
        .run(mine.data(), result.data(), "bytes");
    for (std::int64_t r = 0; r < task.ranks; ++r)
      for (std::size_t i = 0; i < mine.size(); ++i)
        if (result[static_cast<std::size_t>(r * size) + i] !=
            static_cast<unsigned char>((i * 2654435761U >> 24) + static_cast<std::size_t>(r)))
          check(false, "byte " + std::to_string(i) + " of rank " + std::to_string(r));
  }
  say(mesh.rank(), "large messages");
}

/// The mesh has another size than the world.
void wrong_size(const Task& task) { const Mesh mesh({task.ranks, 2}, {"x", "y"}); }

/// Steps until the faulty rank does what `fault` says in the third one.
void faulty(const Task& task, const std::function<void(const Mesh&)>& fault) {
  const Mesh mesh = line_of(task);
  const Sharding rows = parse_sharding(mesh.shape(), {256, 256}, "x:0");
  const Sharding columns = parse_sharding(mesh.shape(), {256, 256}, "x:1");
  move_and_check(mesh, rows, columns);
  move_and_check(mesh, columns, rows);
  if (mesh.rank() == task.faulty) fault(mesh);
  move_and_check(mesh, rows, columns);
  move_and_check(mesh, columns, rows);
  say(mesh.rank(), "went on");
}

[[noreturn]] void loop_for_ever() {
  volatile unsigned turns = 0;
  while (true) {
    const unsigned before = turns;
    turns = before + 1;
  }
}

void exits_early(const Mesh&) { std::exit(0); }
void other_operation(const Mesh& mesh) { mesh.agree("something else"); }
void other_order(const Mesh& mesh) {
  const Sharding rows = parse_sharding(mesh.shape(), {256, 256}, "x:0");
  const Sharding columns = parse_sharding(mesh.shape(), {256, 256}, "x:1");
  move_and_check(mesh, columns, rows);
}
void other_shape(const Mesh& mesh) {
  move_and_check(mesh, parse_sharding(mesh.shape(), {256, 255}, "x:0"),
                 parse_sharding(mesh.shape(), {256, 255}, "x:1"));
}
void other_dtype(const Mesh& mesh) {
  const Sharding rows = parse_sharding(mesh.shape(), {256, 256}, "x:0");
  const Sharding columns = parse_sharding(mesh.shape(), {256, 256}, "x:1");
  std::vector<std::int32_t> memory(65536), result(65536);
  ExchangePlan::redistribution(mesh, rows, columns, 4).run(memory.data(), result.data(), "f32");
}
void other_flags(const Mesh&) { flags::DETERMINISTIC.exchange(true); }
void throws(const Mesh&) { throw Error(ErrorKind::domain, "a mistake on this rank"); }

/// A step that is dropped: its Pending goes before it is done.
void drops(const Mesh& mesh) {
  const Sharding rows = parse_sharding(mesh.shape(), {256, 256}, "x:0");
  std::vector<std::int32_t> memory(65536), result(65536);
  ExchangePlan::redistribution(mesh, rows, rows, 4).start(memory.data(), result.data(), "dropped");
}

/// A mismatch is an error that all ranks can catch, and go on.
void goes_on(const Task& task) {
  const Mesh mesh = line_of(task);
  for (int turn = 0; turn < 3; ++turn) {
    std::string said;
    try {
      mesh.agree(mesh.rank() == task.faulty ? "this" : "that");
    } catch (const Error& error) {
      said = error.what();
    }
    check(said.find("ranks disagree in step") != std::string::npos, "no error: " + said);
  }
  const Sharding rows = parse_sharding(mesh.shape(), {256, 256}, "x:0");
  move_and_check(mesh, rows, replicated(mesh.shape(), {256, 256}));
  say(mesh.rank(), "went on after three errors");
}

/// An interrupt on the ranks that wait for one that does not come.
void interrupted(const Task& task) {
  using Clock = std::chrono::steady_clock;
  const Mesh mesh = line_of(task);
  if (mesh.rank() == task.faulty) {
    // It computes until the others have given up; then the step that it begins tells so.
    for (const auto begin = Clock::now(); Clock::now() - begin < std::chrono::seconds(1);) {
    }
    mesh.agree("late");
    return;
  }
  struct Stop {};
  const Clock::time_point pressed = Clock::now() + std::chrono::milliseconds(200);
  const InterruptCheck ctrl_c([&] {
    if (Clock::now() >= pressed) throw Stop();
  });
  try {
    mesh.agree("late");
  } catch (const Stop&) {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - pressed);
    say(mesh.rank(), std::string("stopped ") + (took.count() <= 200 ? "in time" : "late"));
    throw Error(ErrorKind::budget, "interrupted");
  }
}

/// The last rank never makes a mesh.
void absent(const Task& task) {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* const own = std::getenv(name); own != nullptr && std::atoll(own) == task.faulty) loop_for_ever();
  const Mesh mesh = line_of(task);
}

/// A function of Open MPI's library.
template <class F>
F* open_mpi_function(const char* name) {
  void* const library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_LOCAL);
  void* const address = library != nullptr ? dlsym(library, name) : nullptr;
  check(address != nullptr, name);
  return reinterpret_cast<F*>(address);
}

/// What mpi4py does: somebody else starts and ends MPI, and gives a communicator of theirs by its Fortran handle. Ranks
/// 0 and 1, 2 and 3, ... are each a world. With `skips`, the last rank ends MPI while others wait for it.
void communicator(const Task& task, bool skips) {
  open_mpi_function<int(int*, char***)>("MPI_Init")(nullptr, nullptr);
  const auto from_fortran = open_mpi_function<void*(int)>("MPI_Comm_f2c");
  int own = 0;
  open_mpi_function<int(void*, int*)>("MPI_Comm_rank")(from_fortran(0), &own);  // 0: MPI_COMM_WORLD
  void* pair = nullptr;
  open_mpi_function<int(void*, int, int, void**)>("MPI_Comm_split")(from_fortran(0), own / 2, own, &pair);
  const int handle = open_mpi_function<int(void*)>("MPI_Comm_c2f")(pair);
  {
    const Mesh mesh(MeshShape({2}, {"x"}), World::of_communicator(handle));
    check(mesh.rank() == own % 2, "the rank in a pair");
    move_and_check(mesh, parse_sharding(mesh.shape(), {64, 64}, "x:0"), parse_sharding(mesh.shape(), {64, 64}, "x:1"));
    if (skips && own != task.faulty) mesh.agree("what the other does not do");
  }
  open_mpi_function<int()>("MPI_Finalize")();
  say(own, "MPI ended");
}

const std::map<std::string, std::function<void(const Task&)>>& tasks() {
  static const std::map<std::string, std::function<void(const Task&)>> all = {
      {"exchanges", exchanges},
      {"at_once", at_once},
      {"large", large},
      {"tensors", tensors},
      {"values", other_values},
      {"captured", captured},
      {"few", captured_by_few},
      {"replay", other_values_in_a_replay},
      {"wrong_size", wrong_size},
      {"kill", [](const Task& t) { faulty(t, [](const Mesh&) { raise(SIGKILL); }); }},
      {"stop", [](const Task& t) { faulty(t, [](const Mesh&) { raise(SIGSTOP); }); }},
      {"loop", [](const Task& t) { faulty(t, [](const Mesh&) { loop_for_ever(); }); }},
      {"exit", [](const Task& t) { faulty(t, exits_early); }},
      {"operation", [](const Task& t) { faulty(t, other_operation); }},
      {"order", [](const Task& t) { faulty(t, other_order); }},
      {"shape", [](const Task& t) { faulty(t, other_shape); }},
      {"dtype", [](const Task& t) { faulty(t, other_dtype); }},
      {"flags", [](const Task& t) { faulty(t, other_flags); }},
      {"throws", [](const Task& t) { faulty(t, throws); }},
      {"drops", [](const Task& t) { faulty(t, drops); }},
      {"goes_on", goes_on},
      {"interrupted", interrupted},
      {"absent", absent},
      {"communicator", [](const Task& t) { communicator(t, false); }},
      {"skips", [](const Task& t) { communicator(t, true); }},
  };
  return all;
}

}  // namespace
}  // namespace strata

/// Errors are printed and end the rank with status 3; --uncaught lets them end the process.
int main(int argc, char** argv) {
  using namespace strata;
  const std::vector<std::string> words(argv + 1, argv + argc);
  Task task;
  const char* const ranks = std::getenv("RANKS");
  task.ranks = ranks != nullptr ? std::atoll(ranks) : 1;
  task.faulty = task.ranks - 1;
  bool is_uncaught = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--uncaught") is_uncaught = true;
    if (words[i][0] != '-' && words[i - 1] != "--faulty") task.argument = words[i];
    if (words[i] == "--faulty") task.faulty = std::atoll(words[i + 1].c_str());
  }
  const auto at = words.empty() ? tasks().end() : tasks().find(words[0]);
  if (at == tasks().end()) {
    std::cerr << "no such task\n";
    return 2;
  }
  if (is_uncaught) {
    at->second(task);
    return 0;
  }
  try {
    at->second(task);
  } catch (const Error& error) {
    std::cerr << error.what() << std::endl;
    return 3;
  }
  return 0;
}
