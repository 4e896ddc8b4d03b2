// What the tests of rendered programs need of the machine: a compiler run without a shell, a shared object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strata::test {

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

}  // namespace strata::test
