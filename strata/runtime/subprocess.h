// run_process(): runs another program to its end, for the host's compiler and linker. It uses no shell and passes on no
// descriptors except the standard ones. The output is captured; a timeout or a cancellation kills the program.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace strata {

struct Command {
  std::vector<std::string> words;  ///< the path of the program, then its arguments
  std::string folder;              ///< the working directory, also passed as TMPDIR
  int input = -1;                  ///< the descriptor of standard input; -1: /dev/null
  std::chrono::milliseconds timeout{60'000};
  std::function<bool()> is_cancelled{};  ///< called about every 20 ms; true ends the program
};

enum class ProcessEnd {
  exited,     ///< `status` is its exit status
  signalled,  ///< `status` is the signal that ended it
  unknown,    ///< it ended, but the host application took its status (SIGCHLD ignored, or a handler that waits)
  timed_out,
  cancelled,
  not_started,  ///< `output` is the reason
};

struct ProcessResult {
  ProcessEnd end = ProcessEnd::not_started;
  int status = 0;
  std::string output;  ///< the first 64 KiB of its standard output and standard error

  /// True if the exit status is 0, or unknown: the caller then checks the files that the program should have written.
  bool succeeded() const { return (end == ProcessEnd::exited && status == 0) || end == ProcessEnd::unknown; }
};

/// Runs `command` and waits for its end. The program has a process group of its own, which is killed at the end, so
/// that no process that it started is left. @throws what an InterruptCheck of this thread throws (base/interrupt.h);
/// the program is then ended
ProcessResult run_process(const Command& command);

/// How the process ended, in words: "exited with 1", "was ended by signal 11", ...
std::string describe(const ProcessResult& result);

}  // namespace strata
