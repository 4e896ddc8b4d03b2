// Another program, run to its end: no shell, no descriptors but its standard ones, what it says captured, stopped when
// it takes too long or is no longer wanted.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace strata {

struct Command {
  std::vector<std::string> words;  ///< the path of the program, then its arguments
  std::string folder;              ///< where it runs, and where its temporary files go
  int input = -1;                  ///< a descriptor: its standard input; -1: an empty one
  std::chrono::milliseconds timeout{60'000};
  std::function<bool()> is_cancelled{};  ///< asked now and then; true ends it
};

enum class ProcessEnd {
  exited,     ///< `status` is its exit status
  signalled,  ///< `status` is the signal that ended it
  unknown,  ///< it ended, and the host application has taken its status (SIGCHLD ignored, or a handler that waits)
  timed_out,
  cancelled,
  not_started,  ///< `output` is the reason
};

struct ProcessResult {
  ProcessEnd end = ProcessEnd::not_started;
  int status = 0;
  std::string output;  ///< the beginning of what it wrote on standard output and error

  bool succeeded() const {
    return (end == ProcessEnd::exited && status == 0) || end == ProcessEnd::unknown;
  }
};

/// Runs `command` and waits. Nothing of it is left when this returns: what it started is ended with it.
ProcessResult run_process(const Command& command);

/// How it ended, in words: "exited with 1", "was ended by signal 11", ...
std::string describe(const ProcessResult& result);

}  // namespace strata
