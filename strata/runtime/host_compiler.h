// The C compiler of the machine that this runs on: from source to the bytes of a shared object. It is a process of
// its own (subprocess.h); a failure is an Error with its message, and leaves nothing behind.
//
//   ClangProgram program("add", compile_clang("void add(float *a, float *b, float *c) { *a = *b + *c; }"));
//   program(output, input_a, input_b);
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "strata/runtime/remedy.h"

namespace strata {

/// How C is compiled.
struct CompileOptions {
  /// No contraction of a*b+c to one rounding: results are those of the operations as they are written.
  bool deterministic = false;
  std::chrono::milliseconds timeout{60'000};  ///< of each process
  /// Asked now and then; true ends the compiler and throws Error (budget).
  std::function<bool()> is_cancelled{};
  std::vector<std::string> extra{};  ///< flags behind ours
};

/// A C compiler of the host.
class HostCompiler {
 public:
  /// The one that the flag CC names, else the first of clang-19, another clang, gcc, cc on PATH. The search is
  /// remembered for as long as the file is what it was. @throws Error (undefined) naming what was looked for.
  static std::shared_ptr<const HostCompiler> find();

  /// Those on PATH by the names that find() looks for, in its order; a file that has several of them once.
  static std::vector<std::string> on_path();
  /// What find() needs where it fails.
  static Remedy remedy();

  /// The program `path`. @throws Error (undefined) unless it is a file that can be run.
  explicit HostCompiler(const std::string& path);

  const std::string& path() const { return path_; }
  /// What tells this compiler from its other versions, without running it: for cache keys.
  const std::string& identity() const { return identity_; }
  /// Whether its file is what it was when this was made.
  bool is_current() const;
  /// The first line of what it says of itself. Runs it.
  std::string version() const;

  /// All that decides what becomes of a source, but for the compiler and the processor: for cache keys.
  static std::vector<std::string> flags(const CompileOptions& options);

  /// The bytes of the shared object that `source`, in C, becomes. The source has to be whole: what it includes from
  /// other files is in no cache key.
  /// @throws Error (undefined) with the compiler's message where it fails,
  ///         Error (budget) where it takes too long, is cancelled, or finds no room for its files.
  std::vector<std::byte> compile(std::string_view source, const CompileOptions& options = {}) const;
  /// The machine code, to read. @throws as compile
  std::string assembly(std::string_view source, const CompileOptions& options = {}) const;

 private:
  std::string path_;
  std::string linker_;  // of the system, empty where there is none
  std::string identity_;
};

/// As HostCompiler::find()->compile(), through the disk cache.
std::vector<std::byte> compile_clang(std::string_view source, const CompileOptions& options = {});

}  // namespace strata
