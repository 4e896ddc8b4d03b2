// Steps of simulated ranks: agreement, its errors, deadlines, ranks that give up. Ranks have a thread each.
#include "strata/mesh/world.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>

#include "strata/base/flags.h"
#include "strata/base/interrupt.h"
#include "strata/mesh/exchange_plan.h"
#include "strata/mesh/memory_transport.h"
#include "strata/mesh/mesh_text.h"
#include "strata/mesh/mpi_library.h"
#include "strata/runtime/posix_io.h"

namespace strata {
namespace {

/// What each rank's work threw, by rank; "" where it threw nothing.
std::vector<std::string> errors_of(const std::vector<Mesh>& ranks, const std::function<void(const Mesh&)>& work) {
  std::vector<std::string> out(ranks.size());
  on_each_rank(ranks, [&](const Mesh& mesh) {
    try {
      work(mesh);
    } catch (const Error& error) {
      out[static_cast<std::size_t>(mesh.rank())] = error.what();
    }
  });
  return out;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(World, ThreadsAgreeInAnyNumber) {
  for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 8, 9, 16}) {
    const std::vector<Mesh> ranks = Mesh::simulated({size}, {"x"});
    for (const std::string& error : errors_of(ranks, [](const Mesh& mesh) {
           for (int turn = 0; turn < 20; ++turn) mesh.agree("the same");
         }))
      EXPECT_EQ(error, "") << size;
  }
}

// Any one of any number of ranks that differs is found by all, and all go on.
TEST(World, ThreadsThatDifferThrowOneError) {
  for (const std::int64_t size : {2, 3, 5, 8}) {
    const std::vector<Mesh> ranks = Mesh::simulated({size}, {"x"});
    for (std::int64_t odd = 0; odd < size; ++odd) {
      const auto errors = errors_of(ranks, [&](const Mesh& mesh) { mesh.agree(mesh.rank() == odd ? "this" : "that"); });
      for (const std::string& error : errors) {
        EXPECT_EQ(error, errors[0]);
        EXPECT_TRUE(contains(error, detail::message("[mesh] ranks disagree in step ", odd))) << error;
        EXPECT_TRUE(contains(error, detail::message("rank ", odd, ": this (", __FILE__, ":"))) << error;
        EXPECT_TRUE(contains(error, ": that (")) << error;
      }
    }
  }
}

// With flags it is the flags that are named; with plans that words do not tell apart, these.
TEST(World, ThreadsWithOtherPlansAndSettings) {
  const MeshShape mesh({2}, {"x"});
  const std::vector<Mesh> ranks = Mesh::simulated({2}, {"x"});
  const Sharding whole = replicated(mesh, {4});
  const auto errors = errors_of(ranks, [&](const Mesh& rank) {
    ShapeTracker read = ShapeTracker::from_shape({4});
    if (rank.rank() == 1) read = read.flip({0});
    const auto plan = ExchangePlan::into_box(rank, Exchange(whole, whole, {read}), 4);
    const std::vector<std::byte> memory(32);
    std::vector<std::byte> result(32);
    plan.run(memory.data(), result.data(), "");
  });
  EXPECT_TRUE(
      contains(errors[0], "[mesh] ranks disagree in step 0, exchange (4,) of 4 bytes from replicated to replicated"))
      << errors[0];
  EXPECT_TRUE(contains(errors[0], "their plans differ")) << errors[0];
  EXPECT_EQ(errors[0], errors[1]);

  std::vector<StepWords> said(3);
  for (StepWords& words : said) put_text(words.what, "work");
  put_text(said[0].settings, "VERSION=1 A=0");
  put_text(said[1].settings, "VERSION=1 A=1");
  put_text(said[2].settings, "VERSION=1 A=1");
  EXPECT_STREQ(verdict_on(5, said).text.data(), "[mesh] ranks disagree in step 5, work: ranks 1 2: A=1; rank 0: A=0");
  EXPECT_EQ(verdict_on(5, said).has_goodbye, 0);
  EXPECT_TRUE(contains(settings_text(), "VERSION=")) << settings_text();
}

TEST(World, VerdictsNameAtMostFourGroups) {
  std::vector<StepWords> said(40);
  for (std::size_t r = 0; r < said.size(); ++r) put_text(said[r].what, r < 20 ? "a" : std::string(r - 18, 'b'));
  said[39].is_goodbye = 1;
  const Verdict verdict = verdict_on(1, said);
  const std::string text = verdict.text.data();
  EXPECT_EQ(
      text,
      "[mesh] ranks disagree in step 1: ranks 0 1 2 3 4 5 6 7 and 12 more: a; rank 20: bb; rank 21: bbb; rank 22: "
      "bbbb; and 17 more");
  EXPECT_EQ(verdict.has_goodbye, 1);
  std::vector<StepWords> wordy(2);
  put_text(wordy[0].what, std::string(10000, 'x'));
  put_text(wordy[1].what, std::string(10000, 'y'));
  EXPECT_LT(std::string(verdict_on(1, wordy).text.data()).size(), 4096U);
}

TEST(World, ThreadsThatWaitTooLongNameWhoIsSilent) {
  const ScopedFlag limit(flags::MESH_TIMEOUT, std::int64_t{1});
  const std::vector<Mesh> ranks = Mesh::simulated({5}, {"x"});
  const auto errors = errors_of(ranks, [](const Mesh& mesh) {
    if (mesh.rank() != 1 && mesh.rank() != 3) mesh.agree("all come");
  });
  for (const std::size_t r : {0U, 2U, 4U}) {
    EXPECT_TRUE(
        contains(errors[r], "[mesh] rank 0 waited 1 s (STRATA_MESH_TIMEOUT) for ranks 1 3 in step 0, all come ("))
        << errors[r];
    EXPECT_EQ(errors[r], errors[0]);
  }
}

// A rank that agreed, and then does not send: only those that wait for its bytes wait.
TEST(World, ThreadsThatWaitForBytesNameTheSender) {
  const ScopedFlag limit(flags::MESH_TIMEOUT, std::int64_t{1});
  const MeshShape mesh({3}, {"x"});
  const Sharding rows = parse_sharding(mesh, {3, 2000}, "x:0");
  const std::vector<Mesh> ranks = Mesh::simulated({3}, {"x"});
  const auto errors = errors_of(ranks, [&](const Mesh& rank) {
    std::vector<float> memory(2000), result(6000);
    if (rank.rank() == 2) {
      // The words of the same plan, but no bytes.
      Step step(rank.shared_world(), {"", std::source_location::current()});
      step.wait([&] { return step.has_agreed(); });
      step.finish();
      return;
    }
    Step step(rank.shared_world(), {"", std::source_location::current()});
    const std::size_t message = step.receive(2, result.data(), 8, nullptr);
    step.wait([&] { return step.has_agreed() && step.is_done(message); });
  });
  EXPECT_TRUE(contains(errors[0], "for rank 2 in step 0")) << errors[0];
  EXPECT_TRUE(contains(errors[1], "for rank 2 in step 0")) << errors[1];
}

TEST(World, ThreadsLearnThatOneThrew) {
  const std::vector<Mesh> ranks = Mesh::simulated({4}, {"x"});
  std::string said;
  try {
    on_each_rank(ranks, [](const Mesh& mesh) {
      mesh.agree("first");
      STRATA_CHECK(mesh.rank() != 2, domain, "a mistake");
      mesh.agree("second");
    });
  } catch (const Error& error) {
    said = error.what();
  }
  EXPECT_EQ(said, "a mistake");
  for (const Mesh& mesh : ranks) EXPECT_EQ(mesh.world().failure(), "[mesh] rank 2 ended by an exception");
}

TEST(World, InterruptsOfThreadsEndAWait) {
  struct Stop {};
  const std::vector<Mesh> ranks = Mesh::simulated({2}, {"x"});
  bool is_stopped = false;
  const auto errors = errors_of(ranks, [&](const Mesh& mesh) {
    if (mesh.rank() == 1) {
      while (mesh.world().failure().empty()) mesh.agree("again");
      return;
    }
    mesh.agree("again");
    const InterruptCheck check([] { throw Stop(); }, std::chrono::milliseconds(1));
    try {
      while (true) mesh.agree("again");
    } catch (const Stop&) {
      is_stopped = true;
    }
  });
  EXPECT_TRUE(is_stopped || contains(errors[0], "gave up")) << errors[0];
  EXPECT_TRUE(contains(errors[1], "[mesh] rank 0 gave up step ")) << errors[1];
}

// One thread drives both ranks: the second one begins another step.
TEST(World, AnExchangeThatIsDroppedIsAnErrorElsewhere) {
  const MeshShape mesh({2}, {"x"});
  const std::vector<Mesh> ranks = Mesh::simulated({2}, {"x"});
  const auto plan = [&](std::size_t r) {
    return ExchangePlan::redistribution(ranks[r], parse_sharding(mesh, {4}, "x:0"), replicated(mesh, {4}), 4);
  };
  std::vector<float> mine(2, 1), others(4, -1), result(4, -1);
  {
    const Pending dropped = plan(0).start(mine.data(), others.data(), "dropped");
  }
  Pending other = plan(1).start(mine.data(), result.data(), "dropped");
  for (const bool again : {false, true}) {
    std::string said;
    try {
      if (again) plan(1).start(mine.data(), result.data(), "after");
      other.wait();
    } catch (const Error& error) {
      said = error.what();
    }
    EXPECT_TRUE(
        contains(said, "[mesh] rank 0 gave up step 0, redistribute (4,) of 4 bytes from x:0 to replicated: dropped ("))
        << said;
  }
  EXPECT_EQ(result[0], -1);
}

TEST(World, AtMostAThousandStepsWhileOneIsUnderWay) {
  const std::vector<Mesh> ranks = Mesh::simulated({1}, {"x"});
  Step first(ranks[0].shared_world(), {"first", std::source_location::current()});
  for (std::int64_t n = 1; n < kMostSteps; ++n) ranks[0].agree("next");
  EXPECT_THROW(ranks[0].agree("one more"), Error);
  first.wait([&] { return first.has_agreed(); });
  first.finish();
  ranks[0].agree("one more");
}

TEST(World, RefusesSizesAndFlags) {
  EXPECT_THROW(World::simulated(0), Error);
  EXPECT_THROW(World::simulated(65537), Error);
  const std::vector<std::shared_ptr<World>> worlds = World::simulated(2);
  std::string said;
  try {
    const Mesh mesh(MeshShape({3}, {"x"}), worlds[0]);
  } catch (const Error& error) {
    said = error.what();
  }
  EXPECT_EQ(said, "[mesh] x=3 has 3 ranks, but the world has 2");
  const ScopedFlag negative(flags::MESH_TIMEOUT, std::int64_t{-1});
  const std::vector<Mesh> ranks = Mesh::simulated({2}, {"x"});
  EXPECT_THROW(ranks[0].agree("alone"), Error);
}

TEST(World, RanksOfOneProcessShareAHost) {
  const std::vector<Mesh> ranks = Mesh::simulated({2, 3}, {"x", "y"});
  EXPECT_EQ(ranks[4].local_ranks(), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(ranks[4].rank(), 4);
  EXPECT_EQ(ranks[4].size(), 6);
  EXPECT_GE(ranks[4].threads(), 1);
  EXPECT_TRUE(contains(ranks[0].world().version(), "memory of one process"));
}

TEST(World, AChildOfForkIsNoRank) {
  const std::vector<Mesh> ranks = Mesh::simulated({1}, {"x"});
  ranks[0].agree("parent");
  const pid_t child = fork();
  if (child == 0) {
    std::string said;
    try {
      ranks[0].agree("child");
    } catch (const Error& error) {
      said = error.what();
    }
    _exit(contains(said, "was connected before fork()") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// --- the transport of one process ---

TEST(MemoryTransport, OrderProbesAndSizes) {
  const StrataMeshTable& t = memory_table();
  std::vector<StrataMeshWorld*> w = memory_worlds(2);
  std::array<char, STRATA_MESH_TEXT> why{};
  StrataMeshRequest *a = nullptr, *b = nullptr, *c = nullptr;
  std::int32_t done = 0, found = 0, from = -1;
  std::uint64_t bytes = 0;
  const std::array<int, 2> sent = {7, 8};
  std::array<int, 2> got = {};
  ASSERT_EQ(t.probe(w[1], 5, &found, &from, &bytes, why.data()), STRATA_MESH_OK);
  EXPECT_EQ(found, 0);
  ASSERT_EQ(t.send(w[0], 1, 5, &sent[0], 4, &a, why.data()), STRATA_MESH_OK);
  ASSERT_EQ(t.send(w[0], 1, 5, &sent[1], 4, &b, why.data()), STRATA_MESH_OK);
  ASSERT_EQ(t.test(w[0], a, &done, why.data()), STRATA_MESH_OK);
  EXPECT_EQ(done, 1);  // short messages need no receiver
  ASSERT_EQ(t.probe(w[1], 5, &found, &from, &bytes, why.data()), STRATA_MESH_OK);
  EXPECT_TRUE(found == 1 && from == 0 && bytes == 4);
  for (int& value : got) {
    ASSERT_EQ(t.receive(w[1], 0, 5, &value, 4, &c, why.data()), STRATA_MESH_OK);
    ASSERT_EQ(t.test(w[1], c, &done, why.data()), STRATA_MESH_OK);
    EXPECT_EQ(done, 1);
  }
  EXPECT_EQ(got, sent);
  ASSERT_EQ(t.test(w[0], b, &done, why.data()), STRATA_MESH_OK);
  // A receive of another size.
  ASSERT_EQ(t.receive(w[1], 0, 6, got.data(), 8, &c, why.data()), STRATA_MESH_OK);
  ASSERT_EQ(t.send(w[0], 1, 6, sent.data(), 4, &a, why.data()), STRATA_MESH_OK);
  EXPECT_EQ(t.test(w[1], c, &done, why.data()), STRATA_MESH_FAILED);
  EXPECT_STREQ(why.data(), "a message of 4 bytes, where 8 were to come");
  ASSERT_EQ(t.test(w[0], a, &done, why.data()), STRATA_MESH_OK);
  // A long message waits for its receiver, and can be withdrawn; after abort() all calls fail.
  const std::vector<std::byte> large(10000);
  ASSERT_EQ(t.send(w[0], 1, 7, large.data(), large.size(), &a, why.data()), STRATA_MESH_OK);
  ASSERT_EQ(t.test(w[0], a, &done, why.data()), STRATA_MESH_OK);
  EXPECT_EQ(done, 0);
  t.cancel(w[0], a);
  ASSERT_EQ(t.test(w[0], a, &done, why.data()), STRATA_MESH_OK);
  EXPECT_EQ(done, 1);
  t.abort(w[0], 1, "enough");
  EXPECT_EQ(t.send(w[1], 0, 7, large.data(), 4, &a, why.data()), STRATA_MESH_FAILED);
  EXPECT_STREQ(why.data(), "enough");
  StrataMeshPlace place{};
  EXPECT_EQ(t.connect(nullptr, nullptr, nullptr, w.data(), &place, why.data()), STRATA_MESH_FAILED);
  for (StrataMeshWorld* const world : w) t.disconnect(world);
}

// --- MPI's library ---

TEST(MpiLibrary, WhatIsMissingHasARemedy) {
  const PrivateFolder folder;
  const std::vector<std::string> folders = {folder.path(), "relative"};
  const auto error = [&] {
    try {
      open_mpi(folders);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(error(), "[mesh] no libstrata_mpi.so (sought: " + folder.path() +
                         ", relative; STRATA_PLUGIN_DIR may name its folder, by an absolute path): apt-get install "
                         "libopenmpi-dev openmpi-bin, then build Strata again");
  ASSERT_EQ(std::system(("echo text > " + folder.file("libstrata_mpi.so")).c_str()), 0);
  EXPECT_TRUE(contains(error(), "libstrata_mpi.so cannot be opened (")) << error();
}

TEST(MpiLibrary, LaunchersThatTheLibraryDoesNotKnow) {
  EXPECT_EQ(launcher_problem(std::nullopt, 1, "MPICH"), "");
  EXPECT_EQ(launcher_problem(Launched{"PMI_SIZE", 1}, 1, "MPICH"), "");
  EXPECT_EQ(launcher_problem(Launched{"PMI_SIZE", 4}, 4, "MPICH"), "");
  EXPECT_EQ(launcher_problem(Launched{"OMPI_COMM_WORLD_SIZE", 4}, 1, "MPICH 4.0.2"),
            "[mesh] the launcher started 4 ranks (OMPI_COMM_WORLD_SIZE=4), but MPI gives this process a world of its "
            "own: the plugin's library (MPICH 4.0.2) does not know this launcher. Compile mpi_transport.c with the "
            "mpicc of the launcher, or start with the launcher of the library");
  setenv("SLURM_STEP_NUM_TASKS", "16", 1);
  EXPECT_EQ(launched().value_or(Launched{}).ranks, 16);
  setenv("PMI_SIZE", "nonsense", 1);
  EXPECT_EQ(launched().value_or(Launched{}).variable, "SLURM_STEP_NUM_TASKS");
  setenv("PMI_SIZE", "8", 1);
  EXPECT_EQ(launched().value_or(Launched{}).ranks, 8);
  unsetenv("PMI_SIZE");
  unsetenv("SLURM_STEP_NUM_TASKS");
}

}  // namespace
}  // namespace strata
