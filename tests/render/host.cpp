#include "tests/render/host.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "strata/runtime/posix_io.h"
#include "tests/base/files.h"

namespace strata::test {

std::string find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::string folders = path == nullptr ? "" : path;
  folders += ":/usr/local/cuda/bin";
  std::istringstream all(folders);
  for (std::string folder; std::getline(all, folder, ':');) {
    const std::string at = (std::filesystem::path(folder) / name).string();
    if (access(at.c_str(), X_OK) == 0) return at;
  }
  return "";
}

Outcome run_program(const std::vector<std::string>& arguments) {
  const PrivateFolder folder;
  const std::string log = write_file(folder.file("log"), "");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  std::vector<char*> argv;
  std::vector<std::string> copies = arguments;
  for (std::string& a : copies) argv.push_back(a.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  Outcome out;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return out;
  int status = 0;
  if (waitpid(child, &status, 0) == child && WIFEXITED(status)) out.status = WEXITSTATUS(status);
  out.output = contents(log);
  return out;
}

SharedObject::SharedObject(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw std::runtime_error(dlerror());
}

SharedObject::~SharedObject() { dlclose(handle_); }

void* SharedObject::symbol(const std::string& name) const {
  void* at = dlsym(handle_, name.c_str());
  if (at == nullptr) throw std::runtime_error("no symbol " + name);
  return at;
}

}  // namespace strata::test
