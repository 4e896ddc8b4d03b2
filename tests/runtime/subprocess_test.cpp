// Processes that are run to their end: what they inherit, what is heard of them, how they are stopped, whatever the
// host application does with its descriptors and signals.
#include "strata/runtime/subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include "strata/runtime/posix_io.h"
#include "tests/base/errors.h"
#include "tests/runtime/processes.h"

namespace strata {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

Command shell(const PrivateFolder& folder, const std::string& text) {
  Command command;
  command.words = {"/bin/sh", "-c", text};
  command.folder = folder.path();
  return command;
}

/// Whether the process whose number the file holds is gone, after a moment for it to go.
bool is_gone(const std::string& file) {
  pid_t pid = 0;
  std::ifstream(file) >> pid;
  for (int turn = 0; pid > 0 && turn < 1000; ++turn) {
    std::string word, state;
    std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
    if (!(status >> word >> word >> state) || state == "Z") return true;
    usleep(10'000);
  }
  return false;
}

TEST(Subprocess, StatusAndOutputComeBack) {
  const PrivateFolder folder;
  const ProcessResult result = run_process(shell(folder, "echo out; echo err >&2; exit 5"));
  EXPECT_EQ(result.end, ProcessEnd::exited);
  EXPECT_EQ(result.status, 5);
  EXPECT_FALSE(result.succeeded());
  EXPECT_EQ(result.output, "out\nerr\n");
  EXPECT_EQ(describe(result), "exited with 5");
  EXPECT_TRUE(run_process(shell(folder, "true")).succeeded());
  EXPECT_EQ(run_process(shell(folder, "kill -6 $$")).status, SIGABRT);
  EXPECT_EQ(run_process(shell(folder, "head -c 3000000 /dev/zero")).output.size(), 65536U);
}

TEST(Subprocess, RunsInItsFolderWithItsInput) {
  const PrivateFolder folder;
  EXPECT_EQ(run_process(shell(folder, "pwd; echo $TMPDIR $LC_ALL; cat")).output,
            folder.path() + "\n" + folder.path() + " C\n");
  const Fd input(open(folder.file("in").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(write_all(input.get(), "text", 4));
  lseek(input.get(), 0, SEEK_SET);
  Command command = shell(folder, "cat");
  command.input = input.get();
  EXPECT_EQ(run_process(command).output, "text");
}

TEST(Subprocess, WordsAreNotReadByAShell) {
  const PrivateFolder folder;
  Command command;
  command.words = {"/bin/echo", "$HOME; `ls` 'a  b'", ""};
  command.folder = folder.path();
  EXPECT_EQ(run_process(command).output, "$HOME; `ls` 'a  b' \n");
}

TEST(Subprocess, WhatCannotBeStartedSaysWhy) {
  const PrivateFolder folder;
  Command command;
  command.words = {"/no/such/program"};
  command.folder = folder.path();
  ProcessResult result = run_process(command);
  EXPECT_EQ(result.end, ProcessEnd::not_started);
  EXPECT_TRUE(has(result.output, "No such file")) << result.output;
  command = shell(folder, "true");
  command.folder = "/no/such/folder";
  EXPECT_EQ(run_process(command).end, ProcessEnd::not_started);
}

TEST(Subprocess, InheritsNoDescriptors) {
  const PrivateFolder folder;
  const int leak = fcntl(STDERR_FILENO, F_DUPFD, 77);  // not closed by exec
  ASSERT_GE(leak, 77);
  Command command;
  command.words = {"/bin/ls", "/proc/self/fd"};
  command.folder = folder.path();
  EXPECT_EQ(run_process(command).output, "0\n1\n2\n3\n");  // the last is that of the folder itself
  close(leak);
}

TEST(Subprocess, InheritsNoSignalStates) {
  const PrivateFolder folder;
  const int result = in_a_process([&] {
    std::signal(SIGTERM, SIG_IGN);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    return run_process(shell(folder, "kill -TERM $$; sleep 60")).status;
  });
  EXPECT_EQ(result, SIGTERM);
}

TEST(Subprocess, TimeEndsIt) {
  const PrivateFolder folder;
  Command command = shell(folder, "sleep 60");
  command.timeout = 100ms;
  const Clock::time_point begin = Clock::now();
  const ProcessResult result = run_process(command);
  EXPECT_LT(Clock::now() - begin, 30s);
  EXPECT_EQ(result.end, ProcessEnd::timed_out);
}

TEST(Subprocess, WhatItLeavesRunningIsEnded) {
  const PrivateFolder folder;
  const Clock::time_point begin = Clock::now();  // and is not waited for, though it holds the pipe
  const ProcessResult result = run_process(shell(folder, "sleep 60 & echo $! > child; echo said"));
  EXPECT_LT(Clock::now() - begin, 30s);
  EXPECT_EQ(result.output, "said\n");
  EXPECT_TRUE(result.succeeded());
  EXPECT_TRUE(is_gone(folder.file("child")));
}

TEST(Subprocess, ClosingItsOutputIsNotItsEnd) {
  const PrivateFolder folder;
  const ProcessResult result = run_process(shell(folder, "exec >/dev/null 2>&1; sleep 0.1; exit 4"));
  EXPECT_EQ(result.status, 4);
  Command command = shell(folder, "exec >/dev/null 2>&1; sleep 60");
  command.timeout = 100ms;
  EXPECT_EQ(run_process(command).end, ProcessEnd::timed_out);
}

TEST(SubprocessThread, ARequestEndsItWithWhatItStarted) {
  const PrivateFolder folder;
  std::atomic<bool> is_cancelled = false;
  Command command = shell(folder, "sleep 60 & echo $! > new; mv new child; echo said; sleep 60");
  command.is_cancelled = [&] { return is_cancelled.load(); };
  std::thread other([&] {
    while (access(folder.file("child").c_str(), F_OK) != 0) std::this_thread::sleep_for(5ms);
    std::this_thread::sleep_for(20ms);
    is_cancelled = true;
  });
  const Clock::time_point begin = Clock::now();
  EXPECT_EQ(run_process(command).end, ProcessEnd::cancelled);
  EXPECT_LT(Clock::now() - begin, 30s);
  EXPECT_TRUE(is_gone(folder.file("child")));
  other.join();
}

TEST(Subprocess, WorksWhereChildrenAreIgnored) {
  const PrivateFolder folder;
  const int result = in_a_process([&] {
    std::signal(SIGCHLD, SIG_IGN);  // then the system forgets how they ended
    const ProcessResult r = run_process(shell(folder, "echo said; exit 3"));
    return r.end == ProcessEnd::unknown && r.output == "said\n" ? 0 : 1;
  });
  EXPECT_EQ(result, 0);
}

TEST(Subprocess, WorksWhereAHandlerTakesAllChildren) {
  const PrivateFolder folder;
  const int result = in_a_process([&] {
    std::signal(SIGCHLD, [](int) {
      const int before = errno;
      while (waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      errno = before;
    });
    for (int turn = 0; turn < 20; ++turn) {
      const ProcessResult r = run_process(shell(folder, "echo said"));
      if (!r.succeeded() || r.output != "said\n") return 1;
    }
    return 0;
  });
  EXPECT_EQ(result, 0);
}

TEST(Subprocess, SignalsOfTheHostDoNotCutItShort) {
  const PrivateFolder folder;
  const int result = in_a_process([&] {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, nullptr);  // no SA_RESTART
    ualarm(500, 500);
    const ProcessResult r = run_process(shell(folder, "sleep 0.2; echo said; exit 2"));
    return r.status == 2 && r.output == "said\n" ? 0 : 1;
  });
  EXPECT_EQ(result, 0);
}

TEST(Subprocess, WorksWithoutStandardDescriptors) {
  const PrivateFolder folder;
  for (const int keep : {-1, 0, 1, 2}) {
    const int result = in_a_process([&] {
      for (const int fd : {0, 1, 2})
        if (fd != keep) close(fd);
      const ProcessResult r = run_process(shell(folder, "cat; echo said; echo more >&2"));
      return r.succeeded() && r.output == "said\nmore\n" ? 0 : 1;
    });
    EXPECT_EQ(result, 0) << keep;
  }
}

TEST(Subprocess, WithoutDescriptorsItSaysSo) {
  const PrivateFolder folder;
  const int result = in_a_process([&] {
    // UBSan looks at a class the first time with a pipe, which needs descriptors.
    if (std::error_code(EMFILE, std::generic_category()).message().empty()) return 2;
    rlimit limit{3, 3};
    setrlimit(RLIMIT_NOFILE, &limit);
    const ProcessResult r = run_process(shell(folder, "true"));
    return r.end == ProcessEnd::not_started && has(r.output, "Too many open files") ? 0 : 1;
  });
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace strata
