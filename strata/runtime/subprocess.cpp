#include "strata/runtime/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <thread>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/interrupt.h"
#include "strata/runtime/posix_io.h"

namespace strata {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostOutput = std::size_t{1} << 16;
constexpr milliseconds kLookAround{20};  // the time between two looks at a silent process
constexpr int kFirstFree = 3;            // behind the standard descriptors

/// The same file under a number above the standard descriptors. (pipe() returns such a number only if the host
/// application did not close standard descriptors.)
Fd away_from_standard(Fd fd) {
  if (!fd || fd.get() >= kFirstFree) return fd;
  return Fd(fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFree));
}

/// The null-terminated array of pointers that posix_spawn() takes.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// This process's environment, with LC_ALL=C for English messages, and TMPDIR=folder.
std::vector<std::string> environment(const std::string& folder) {
  std::vector<std::string> out = {"LC_ALL=C", detail::message("TMPDIR=", folder)};
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("LC_ALL=") && !text.starts_with("TMPDIR=")) out.emplace_back(text);
  }
  return out;
}

/// The attributes and file actions of posix_spawn(): standard descriptors, no others, working directory, default
/// signals, a process group.
class SpawnPlan {
 public:
  SpawnPlan(const Command& command, int input, int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, kFirstFree);
    posix_spawn_file_actions_addchdir_np(&actions_, command.folder.c_str());
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setpgroup(&attributes_, 0);  // a process group of its own, to kill it with its children
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  /// Starts the process. Returns 0 or the error number.
  int start(const Command& command, pid_t& pid) const {
    std::vector<std::string> words = command.words, variables = environment(command.folder);
    return posix_spawn(&pid, words.front().c_str(), &actions_, &attributes_, pointers(words).data(),
                       pointers(variables).data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// A running process and the pipe with its output. The destructor kills the process.
class Child {
 public:
  Child(pid_t pid, Fd output) : pid_(pid), output_(std::move(output)) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  bool is_over() const { return result_.end != ProcessEnd::not_started; }
  ProcessResult take() { return std::move(result_); }

  /// Reads the output that is available, after waiting for it for at most `patience`.
  void listen(milliseconds patience) {
    if (!output_)  // the process has closed its output and is about to end
      return std::this_thread::sleep_for(std::chrono::microseconds(100));
    pollfd ready{output_.get(), POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(patience.count())) <= 0) return;
    std::array<char, 4096> part;
    for (ssize_t count = 1; count > 0;) {
      count = read(output_.get(), part.data(), part.size());
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (count <= 0) return output_.reset();
      const std::size_t room = kMostOutput - result_.output.size();
      result_.output.append(part.data(), std::min(room, static_cast<std::size_t>(count)));
    }
  }

  /// Checks whether the process has ended; with options == 0 waits for its end. After the end, kills the processes that
  /// it started.
  void look(int options = WNOHANG) {
    if (is_over()) return;
    siginfo_t info{};
    int failed = 0;
    // WNOWAIT keeps the process a zombie until waitpid() below, so that its number is not reused and kill() reaches no
    // other group.
    do failed = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | options);
    while (failed != 0 && errno == EINTR);
    if (failed == 0 && info.si_pid == 0) return;
    result_.end = failed != 0                  ? ProcessEnd::unknown
                  : info.si_code == CLD_EXITED ? ProcessEnd::exited
                                               : ProcessEnd::signalled;
    if (failed != 0) return;
    result_.status = info.si_status;
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  /// Kills the process and all processes that it started.
  void end() {
    look();
    if (is_over()) return;
    kill(-pid_, SIGKILL);
    look(0);
  }

  void stop(ProcessEnd why) {
    end();
    result_.end = why;
  }

 private:
  pid_t pid_;
  Fd output_;
  ProcessResult result_;
};

ProcessResult refuse(std::string reason) { return {ProcessEnd::not_started, 0, std::move(reason)}; }

ProcessResult watch(Child& child, const Command& command) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    child.look();
    if (child.is_over()) break;
    check_interrupt();
    const auto spent = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    const bool is_cancelled = command.is_cancelled && command.is_cancelled();
    if (is_cancelled || spent >= command.timeout) {
      child.stop(is_cancelled ? ProcessEnd::cancelled : ProcessEnd::timed_out);
      break;
    }
    child.listen(std::min(kLookAround, command.timeout - spent));
  }
  child.listen(milliseconds(0));  // the rest of the output
  return child.take();
}

}  // namespace

ProcessResult run_process(const Command& command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return refuse(last_error_text());
  Fd reading(ends[0]), writing = away_from_standard(Fd(ends[1]));
  const int source =
      command.input >= 0 ? fcntl(command.input, F_DUPFD_CLOEXEC, kFirstFree) : open("/dev/null", O_RDONLY | O_CLOEXEC);
  const Fd input = away_from_standard(Fd(source));
  if (!writing || !input || fcntl(reading.get(), F_SETFL, O_NONBLOCK) != 0) return refuse(last_error_text());
  pid_t pid = 0;
  const int error = SpawnPlan(command, input.get(), writing.get()).start(command, pid);
  if (error != 0) {
    errno = error;
    return refuse(last_error_text());
  }
  writing.reset();
  Child child(pid, std::move(reading));
  return watch(child, command);
}

std::string describe(const ProcessResult& result) {
  switch (result.end) {
    case ProcessEnd::exited: return detail::message("exited with ", result.status);
    case ProcessEnd::signalled: return detail::message("was ended by signal ", result.status);
    case ProcessEnd::unknown: return "ended";
    case ProcessEnd::timed_out: return "took too long and was ended";
    case ProcessEnd::cancelled: return "was cancelled";
    case ProcessEnd::not_started: return "could not be started";
  }
  throw InternalError("describe: unknown end of a process");
}

}  // namespace strata
