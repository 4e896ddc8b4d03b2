// Waiting for a process: from its start to the result of 2 + 3, and to its end.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "bench/latency.h"

namespace strata::bench {

namespace {

/// The strings as the system wants them.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& w : words) out.push_back(const_cast<char*>(w.c_str()));
  out.push_back(nullptr);
  return out;
}

class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "bench_latency_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

/// bench_start, which lies beside this program.
std::string start_program() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "bench_start").string();
}

}  // namespace

const std::string& scratch_folder() {
  static const Scratch scratch;
  return scratch.path;
}

void run_program(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                 const std::string& input) {
  std::vector<std::string> all = environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry, name = text.substr(0, text.find('=') + 1);
    if (std::none_of(environment.begin(), environment.end(), [&](const std::string& e) { return e.starts_with(name); }))
      all.push_back(text);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, words[0].c_str(), &actions, nullptr, pointers(words).data(), pointers(all).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + words[0]);
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error(words[0] + " failed");
}

void bench_start(const LatencyOptions& options) {
  const std::string program = start_program();
  const std::string cache = "STRATA_CACHE_DIR=" + scratch_folder() + "/start";
  const auto wait = [&](const char* name, const char* device, bool cached, double target) {
    std::vector<std::string> environment{cached ? "STRATA_DISK_CACHE=1" : "STRATA_DISK_CACHE=0", cache};
    return Wait{name, [=] { return nanoseconds_of([&] { run_program({program, device}, environment); }); }, target};
  };
  print_waits("from the start of a process that computes 2 + 3 to its end",
              {wait("a program that computes nothing", "NONE", false, 0), wait("INTERP", "INTERP", false, 5e6),
               wait("LLVM, no cache", "LLVM", false, 30e6), wait("LLVM, from the disk cache", "LLVM", true, 0),
               wait("CLANG, no cache", "CLANG", false, 0), wait("CLANG, from the disk cache", "CLANG", true, 0)},
              options.rounds, options);
}

}  // namespace strata::bench
