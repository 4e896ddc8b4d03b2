// Traces of what a process computes: whole, each text once, and no part of what the program does.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "strata/base/flags.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/realize.h"
#include "strata/expr/rules.h"
#include "strata/runtime/posix_io.h"
#include "strata/runtime/trace_kernel.h"
#include "tests/engine/trace_lines.h"

namespace strata::test {
namespace {

const Device& traced_device() { return Device::get("INTERP"); }

/// Kernels of `rows` rows, two of them: what is summed is used by both.
std::vector<float> compute(std::int64_t rows) {
  const std::vector<float> values(static_cast<std::size_t>(rows * 4), 2);
  const LazyOp x = leaf_of(Buffer::fromCPU(values), {rows, 4});
  const LazyOp sum = LazyOp::reduce(Ops::SUM, x * x, {1}).contiguous();
  const LazyOp y = (LazyOp::alu(Ops::EXP2, {sum}) + sum).permute({1, 0}).contiguous();
  realize(y, traced_device());
  const Buffer out = buffer_of(y);
  const std::span<float> elements = out.as<float>();
  return {elements.begin(), elements.end()};
}

const std::vector<float> kComputed(3, 65536.0F + 16);

class Trace : public testing::Test {
 protected:
  // The trace of one test does not end in another: who asks ends it.
  void TearDown() override {
    const ScopedFlag off(flags::VIZ, "0");
    TraceFile::current();
  }
  std::string file(const char* name = "t.jsonl") const { return folder_.file(name); }
  PrivateFolder folder_;
};

TEST_F(Trace, IsReadBack) {
  {
    const ScopedFlag on(flags::VIZ, file());
    EXPECT_EQ(compute(3), kComputed);
    const ScopedFlag off(flags::VIZ, "0");
    EXPECT_EQ(TraceFile::current(), nullptr);  // who asks ends it
  }
  const TraceLines trace(file());
  trace.expect_whole();
  EXPECT_EQ(trace.lines.back().event(), "end");
  ASSERT_EQ(trace.count("graph"), 1U);
  const std::size_t count = static_cast<std::size_t>(trace.of("graph")[0]->number("count"));
  ASSERT_EQ(trace.count("nodes"), 1U);
  EXPECT_EQ(trace.of("nodes")[0]->list("nodes").size(), count);
  EXPECT_EQ(trace.of("realized")[0]->find("done")->as_bool("done"), true);
  EXPECT_EQ(trace.count("run"), 2U);
  for (const TraceLine* kernel : trace.of("kernel"))
    for (const char* text : {"name", "axes", "uops", "source", "device"}) EXPECT_NE(kernel->text(text), "") << text;
  EXPECT_GE(trace.count("allocate"), 2U);
}

TEST_F(Trace, SaysWhichNodesAKernelComputes) {
  {
    const ScopedFlag on(flags::VIZ, file());
    compute(3);
  }
  const TraceLines trace(file());
  const std::vector<JsonValue> nodes = trace.of("nodes")[0]->list("nodes");
  std::vector<int> times(nodes.size(), 0);
  std::vector<std::string> reasons;
  for (const JsonValue& item : trace.of("schedule")[0]->list("items"))
    for (const JsonValue::Member& m : item.as_object("item")) {
      if (m.key == "why") reasons.emplace_back(m.value.as_string("why"));
      if (m.key != "computes") continue;
      for (const JsonValue& n : m.value.as_array("computes")) ++times[static_cast<std::size_t>(n.as_integer("node"))];
    }
  EXPECT_EQ(reasons, (std::vector<std::string>{"contiguous", "asked"}));
  for (std::size_t k = 0; k < nodes.size(); ++k)
    EXPECT_EQ(times[k], nodes[k].raw().find("\"memory\":true") == std::string::npos ? 1 : 0) << nodes[k].raw();
}

TEST_F(Trace, WritesEachTextOnce) {
  {
    const ScopedFlag on(flags::VIZ, file());
    for (int k = 0; k < 3; ++k) compute(5);
  }
  const TraceLines trace(file());
  trace.expect_whole();
  EXPECT_EQ(trace.count("graph"), 1U);
  EXPECT_EQ(trace.count("kernel"), 2U);
  EXPECT_EQ(trace.count("device"), 1U);
  EXPECT_EQ(trace.count("realize"), 3U);
  EXPECT_EQ(trace.count("run"), 6U);
}

TEST_F(Trace, HasKernelsThatWereCompiledBefore) {
  compute(6);
  {
    const ScopedFlag on(flags::VIZ, file());
    compute(6);
  }
  const TraceLines trace(file());
  trace.expect_whole();
  EXPECT_EQ(trace.count("kernel"), 2U);
  EXPECT_FALSE(trace.of("kernel")[0]->find("rewrites"));  // nobody looked
}

TEST_F(Trace, HasRewritesByNameWhichOthersHearToo) {
  int heard = 0;
  const LazyOp x = LazyOp::load(1, dtypes::float32, ShapeTracker::from_shape({6, 35}));
  const LazyOp moved = x.permute({1, 0}).reshape({15, 14}) * x.reshape({15, 14});
  const LazyOp kernel = LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape({15, 14}), moved)});
  {
    const ScopedFlag on(flags::VIZ, file());
    const RewriteTrace outer([&](const RewriteEvent&) { ++heard; });
    compile(kernel, traced_device());
  }
  const TraceLines trace(file());
  std::int64_t times = 0;
  for (const JsonValue& fired : trace.of("kernel")[0]->list("rewrites"))
    for (const JsonValue::Member& m : fired.as_object("rewrite"))
      if (m.key == "times") times += m.value.as_integer("times");
  EXPECT_GT(times, 0);
  EXPECT_LE(times, heard);  // who renders a text has rewrites, too, which are none of the kernel's
}

TEST_F(Trace, OfAGraphIsLinear) {
  const auto bytes = [&](int length) {
    const std::string path = file(std::to_string(length).c_str());
    {
      const ScopedFlag on(flags::VIZ, path);
      LazyOp x = leaf_of(Buffer::fromCPU(std::vector<float>(8, 1)), {8});
      for (int k = 0; k < length; ++k)
        x = x + LazyOp::constant(Scalar(1.0F + static_cast<float>(k)).cast(dtypes::float32), {8});
      realize(x, Device::get("NULL"));
    }
    const TraceLines trace(path);
    trace.expect_whole();
    std::size_t out = 0;
    for (const TraceLine* line : trace.of("nodes")) out += line->find("nodes")->raw().size();
    return out;
  };
  const std::size_t once = bytes(2000), twice = bytes(4000);
  EXPECT_LT(twice, 2 * once + once / 4);
  EXPECT_EQ(TraceLines(file("4000")).count("nodes"), 9U);  // a thousand a line
}

/// What is said on standard error meanwhile.
template <class F>
std::string said(const F& f) {
  testing::internal::CaptureStderr();
  f();
  return testing::internal::GetCapturedStderr();
}

TEST_F(Trace, ThatCannotBeWrittenIsSaidOnce) {
  for (const std::string& path : {file("none/t.jsonl"), folder_.path(), std::string("/dev/null")}) {
    const ScopedFlag on(flags::VIZ, path);
    const std::string words = said([&] {
      EXPECT_EQ(compute(3), kComputed);
      EXPECT_EQ(compute(3), kComputed);
    });
    EXPECT_EQ(words.find("strata: no trace in " + path + ": "), 0U) << words;
    EXPECT_EQ(words.find('\n'), words.size() - 1) << words;
  }
}

TEST_F(Trace, EndsWhereTheDiskIsFull) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{2000, before.rlim_max};
  const std::string words = said([&] {
    const ScopedFlag on(flags::VIZ, file());
    setrlimit(RLIMIT_FSIZE, &small);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(compute(3), kComputed);
    setrlimit(RLIMIT_FSIZE, &before);
  });
  EXPECT_EQ(words.find("strata: no trace in " + file() + ": File too large\n"), 0U) << words;
  EXPECT_EQ(words.find('\n'), words.size() - 1) << words;
}

TEST_F(Trace, OfTheFileOfAnotherProcessIsBesideIt) {
  write_file(file(), "kept");
  const Fd other(open(file().c_str(), O_RDWR));
  ASSERT_EQ(flock(other.get(), LOCK_EX), 0);
  const std::string beside = file(("t." + std::to_string(getpid()) + ".jsonl").c_str());
  const std::string words = said([&] {
    const ScopedFlag on(flags::VIZ, file());
    compute(3);
  });
  EXPECT_EQ(words, "strata: the trace is " + beside + " (strata viz " + beside + ")\n");
  EXPECT_EQ(contents(file()), "kept");
  TraceLines(beside).expect_whole();
}

TEST_F(Trace, IsOffByDefaultAndFor0) {
  const std::string here = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  {
    const ScopedFlag off(flags::VIZ, "0");
    compute(3);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  std::filesystem::current_path(here);
}

TEST_F(Trace, OfThreadsIsWhole) {
  {
    const ScopedFlag on(flags::VIZ, file());
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k)
      threads.emplace_back([k] {
        for (int turn = 0; turn < 20; ++turn) compute(1 + (k + turn) % 5);
      });
    for (std::thread& t : threads) t.join();
  }
  const TraceLines trace(file());
  trace.expect_whole();
  EXPECT_EQ(trace.count("realize"), 80U);
  EXPECT_EQ(trace.count("realized"), 80U);
  EXPECT_EQ(trace.count("run"), 160U);
  EXPECT_EQ(trace.count("graph"), 5U);
  std::set<std::int64_t> threads;
  for (const TraceLine* line : trace.of("realize")) threads.insert(line->number("thread"));
  EXPECT_EQ(threads.size(), 4U);
}

TEST_F(Trace, OfAChildIsItsOwn) {
  if (STRATA_SANITIZED) GTEST_SKIP() << "sanitizers have threads and locks of their own";
  pid_t pid = 0;
  {
    const ScopedFlag on(flags::VIZ, file());
    compute(3);
    pid = fork();
    if (pid == 0) {
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, 2);
      const bool is_right = compute(3) == kComputed;
      std::exit(is_right ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    compute(4);
  }
  const TraceLines parents(file());
  parents.expect_whole();
  EXPECT_EQ(parents.count("realize"), 2U);
  const TraceLines childs(file(("t." + std::to_string(pid) + ".jsonl").c_str()));
  childs.expect_whole();
  EXPECT_EQ(childs.count("realize"), 1U);
  EXPECT_EQ(childs.lines[0].number("pid"), pid);
  EXPECT_EQ(childs.lines.back().event(), "end");
}

// NOTE: a process of its own, which the next test starts.
TEST(TraceProgram, DISABLED_Computes) {
  compute(3);
  compute(3);
}

TEST_F(Trace, IsAskedForByTheEnvironment) {
  const std::string words = file("words");
  const pid_t pid = fork();
  if (pid == 0) {
    const int to = open(words.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(to, 2);
    setenv("STRATA_VIZ", "1", 1);
    setenv("GTEST_OUTPUT", "", 1);
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    if (chdir(folder_.path().c_str()) != 0) _exit(98);
    execl(self.c_str(), self.c_str(), "--gtest_also_run_disabled_tests",
          "--gtest_filter=TraceProgram.DISABLED_Computes", "--gtest_brief=1", nullptr);
    _exit(99);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  const std::string name = "trace-" + std::to_string(pid) + ".jsonl";
  EXPECT_EQ(contents(words), "strata: the trace is " + name + " (strata viz " + name + ")\n");
  const TraceLines trace(file(name.c_str()));
  trace.expect_whole();
  EXPECT_EQ(trace.count("realize"), 2U);
  EXPECT_EQ(trace.lines.back().event(), "end");
}

}  // namespace
}  // namespace strata::test
