// open_in_browser(): by the environment variable BROWSER, with its usual meaning, or by the desktop's opener.
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/quotes.h"
#include "tools/cli.h"
#include "tools/page.h"

namespace strata::tools {
namespace {

/// The attributes of posix_spawn() for a browser: a new session, /dev/null as standard descriptors.
class Spawning {
 public:
  Spawning() {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&files_);
    // A new session: a signal to this program's terminal does not end the browser.
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;
  ~Spawning() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }

  /// Starts the program. @returns 0 or the error number
  int start(std::vector<std::string> words) const {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_t process = 0;
    return posix_spawnp(&process, pointers.front(), &files_, &attributes_, pointers.data(), environ);
  }

 private:
  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t files_{};
};

/// The words of one command of BROWSER, with the URL in place of %s, or appended if there is no %s.
std::vector<std::string> browser_words(std::string_view command, const std::string& url) {
  std::vector<std::string> words;
  bool is_there = false;
  for (const std::string_view word : split(command, ' ')) {
    if (word.empty()) continue;
    words.emplace_back(word);
    const std::size_t at = words.back().find("%s");
    if (at == std::string::npos) continue;
    words.back().replace(at, 2, url);
    is_there = true;
  }
  if (!words.empty() && !is_there) words.push_back(url);
  return words;
}

/// The value of an environment variable; empty if it is not set.
std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::string open_in_browser(const std::string& url) {
  const Spawning spawning;
  if (const std::string commands = environment("BROWSER"); !commands.empty()) {
    for (const std::string_view command : split(commands, ':')) {
      const std::vector<std::string> words = browser_words(command, url);
      if (!words.empty() && spawning.start(words) == 0) return {};
    }
    return detail::message("BROWSER is ", in_quotes(commands), ", which cannot be started");
  }
  if (environment("DISPLAY").empty() && environment("WAYLAND_DISPLAY").empty()) return "there is no display here";
  const int error = spawning.start({"xdg-open", url});
  return error == 0 ? std::string()
                    : detail::message("xdg-open cannot be started: ", std::generic_category().message(error));
}

}  // namespace strata::tools
