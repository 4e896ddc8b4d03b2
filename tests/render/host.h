// What the tests of rendered programs need of the machine: a folder that goes away, a compiler run without a shell, a
// shared object.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace strata::testing {

/// A new folder under the system's temporary one, removed with all in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  /// Writes a file and gives its path.
  std::string file(std::string_view name, std::string_view text) const;

 private:
  std::filesystem::path path_;
};

/// The program of that name on PATH or at one of the usual places; empty where there is none.
std::string find_program(std::string_view name);

struct Outcome {
  int status = -1;
  std::string output;  ///< both streams
};
/// Runs a program by posix_spawn and waits for it.
Outcome run_program(const std::vector<std::string>& arguments);

class SharedObject {
 public:
  explicit SharedObject(const std::string& path);
  ~SharedObject();
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  void* symbol(const std::string& name) const;

 private:
  void* handle_ = nullptr;
};

using Entry = void (*)(void* const* buffers, const long long* values);

}  // namespace strata::testing
