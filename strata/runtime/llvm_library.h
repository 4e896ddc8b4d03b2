// LLVM, behind a shared object of its own that is opened on first use: programs that never compile with it start without it
// and link nothing of it.
//
//   const auto llvm = LlvmLibrary::open();
//   const LlvmModule module = llvm->load(llvm->compile(uops_to_llvm("kernel", uops)));
//   const auto entry = module.function<void (*)(void* const*, const long long*)>("kernel_entry");
//
// All of this may be used from any thread at any time; compilations of several threads run side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/runtime/remedy.h"

struct StrataLlvmModule;
struct StrataLlvmSession;
struct StrataLlvmTable;

namespace strata {

struct LlvmCompileOptions {
  int level = 2;  ///< 0: as the text stands, and fast; 1: clean-ups; 2: the passes that kernels want
  bool deterministic = false;  ///< no product is fused into a sum, but where the text says llvm.fma
  std::string cpu = "native";  ///< or a name that LLVM knows
};

/// Nanoseconds of each step of a compilation.
struct LlvmTimes {
  std::int64_t setup = 0;  ///< 0 but for the first compilations
  std::int64_t parse = 0;
  std::int64_t passes = 0;
  std::int64_t codegen = 0;
};

/// Machine code in memory, until the last copy of this goes.
class LlvmModule {
 public:
  /// The address of a function, null where there is none.
  void* find(const std::string& symbol) const;
  /// The function `symbol`. @pre Function is its type  @throws Error (undefined) where there is none.
  template <class Function>
  Function function(const std::string& symbol) const {
    void* const address = find(symbol);
    STRATA_CHECK(address != nullptr, undefined, "[llvm] the module has no function ", symbol);
    return reinterpret_cast<Function>(address);
  }

 private:
  friend class LlvmLibrary;
  LlvmModule(const StrataLlvmTable* table, std::shared_ptr<StrataLlvmModule> module)
      : table_(table), module_(std::move(module)) {}

  const StrataLlvmTable* table_;
  std::shared_ptr<StrataLlvmModule> module_;
};

/// The plugin, opened. It stays in the process.
class LlvmLibrary {
 public:
  static constexpr std::string_view kFileName = "libstrata_llvm.so";

  /// Opens the plugin from the first of `folders` that has it; folders that are not absolute paths are passed over.
  /// @throws Error (domain) that says how to get it where there is none, or where it cannot be opened.
  static std::shared_ptr<const LlvmLibrary> open(std::span<const std::string> folders);
  /// From the default folders.
  static std::shared_ptr<const LlvmLibrary> open();
  /// That of the process, opened on first use from the default folders. It is never closed.
  static const LlvmLibrary& shared();
  /// Where it is sought: beside the library or program that holds this code, then STRATA_PLUGIN_DIR, then where a system's
  /// package has it (CMake's STRATA_PLUGIN_INSTALL_DIR, where that is absolute). Never the working directory.
  static std::vector<std::string> default_folders();
  /// The file that open() would open; empty where there is none.
  static std::string default_path();
  /// What open() needs where it fails.
  static Remedy remedy();

  LlvmLibrary(const LlvmLibrary&) = delete;
  LlvmLibrary& operator=(const LlvmLibrary&) = delete;
  ~LlvmLibrary();

  /// The object file of a module in LLVM IR. @throws Error (parse) with LLVM's words where the text is no module or is not
  /// well formed, (undefined) where code generation gives up, (budget) out of memory.
  std::string compile(std::string_view ir, const LlvmCompileOptions& options = {},
                      LlvmTimes* times = nullptr) const;
  /// What compile makes of it, to read. @throws Error as compile
  std::string assembly(std::string_view ir, const LlvmCompileOptions& options = {}) const;
  /// Code in memory. @pre `object` was made by compile, for this CPU, and is unharmed
  /// @throws Error (undefined) where it is no object file, or names a symbol that the process does not have.
  LlvmModule load(std::string_view object) const;

  /// "19.1.7"
  std::string version() const;
  /// The machine's CPU and its features, as LLVM has them: what compile's objects depend on where the CPU is native.
  std::string host() const;

 private:
  explicit LlvmLibrary(const StrataLlvmTable* table);

  const StrataLlvmTable* table_;
  StrataLlvmSession* session_;
};

}  // namespace strata
