// Processes that tests start: a function's, and its result.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace strata {

/// A process that runs f() and ends with its result.
template <class F>
pid_t start(const F& f) {
  const pid_t pid = fork();
  if (pid == 0) _exit(f());
  return pid;
}

/// What the process ends with: its status, or 1000 and the signal.
inline int result_of(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// Runs f() in a process of its own, and its result.
template <class F>
int in_a_process(const F& f) {
  return result_of(start(f));
}

}  // namespace strata
