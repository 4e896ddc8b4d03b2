// HostCompiler: compiles C source to the bytes of a shared object, with the C compiler of this machine (clang or gcc),
// which runs as a subprocess (subprocess.h) in a temporary folder. The device CLANG compiles its kernels through
// compile_clang().
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

/// The options of a compilation by HostCompiler.
struct CompileOptions {
  /// True: a * b + c is rounded twice, as written. False: it may be contracted to an fma, which is rounded once.
  bool deterministic = false;
  std::chrono::milliseconds timeout{60'000};  ///< for each of the compiler's and the linker's processes
  /// Called about every 20 ms; true ends the compiler, and compile() throws Error (budget).
  std::function<bool()> is_cancelled{};
  std::vector<std::string> extra{};  ///< compiler flags, appended to those of HostCompiler::flags()
};

/// A C compiler of the host.
class HostCompiler {
 public:
  /// The compiler that the flag CC names, by name or path; else the first on PATH of clang-19, clang-22 to clang-15,
  /// clang, gcc, cc. The result is cached until the flag, PATH or the file changes. @throws Error (undefined) naming
  /// the candidates, if there is none
  static std::shared_ptr<const HostCompiler> find();

  /// The paths of all compilers on PATH that find() looks for, in its order. Links to the same file are listed once.
  static std::vector<std::string> on_path();
  /// What to install if find() fails.
  static Remedy remedy();

  /// The compiler in the file `path`. @throws Error (undefined) unless it is a regular file that can be executed
  explicit HostCompiler(const std::string& path);

  const std::string& path() const { return path_; }
  /// Path, size and modification time of compiler and linker: a part of cache keys. Determined without running the
  /// compiler.
  const std::string& identity() const { return identity_; }
  /// Whether identity() is still that of the files.
  bool is_current() const;
  /// The first line of `compiler --version`. Runs the compiler. @throws Error (undefined) if it fails
  std::string version() const;

  /// The compiler flags of a compilation: a part of cache keys, beside identity() and cpu_features().
  static std::vector<std::string> flags(const CompileOptions& options);

  /// Compiles C source to a shared object, and returns its bytes. The source must not include other files: their
  /// contents are in no cache key.
  /// @throws Error (undefined) with the compiler's message if it fails; (budget) if it takes too long, is cancelled, or
  ///   its temporary files cannot be written
  std::vector<std::byte> compile(std::string_view source, const CompileOptions& options = {}) const;
  /// The assembly text of the same code. @throws as compile()
  std::string assembly(std::string_view source, const CompileOptions& options = {}) const;

 private:
  std::string path_;
  std::string linker_;  // ld or ld.lld on PATH; empty if there is none: the compiler links then, which is slower
  std::string identity_;
};

/// HostCompiler::find()->compile(), with lookup in DiskCache::shared() before. @throws as these two
std::vector<std::byte> compile_clang(std::string_view source, const CompileOptions& options = {});

}  // namespace strata
