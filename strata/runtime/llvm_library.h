// LlvmLibrary: compiles LLVM IR to object code and loads the code into memory, in this process. LLVM is linked into a
// plugin (libstrata_llvm.so, llvm_plugin/), which is opened on first use: a program that never compiles with LLVM
// neither loads nor links it. The device LLVM (llvm_device.cpp) is the user.
//
//   const auto llvm = LlvmLibrary::open();
//   const LlvmModule module = llvm->load(llvm->compile(uops_to_llvm("kernel", uops)));
//   const auto entry = module.function<void (*)(void* const*, const long long*)>("kernel_entry");
//
// All functions are thread-safe; compilations on several threads run in parallel.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/base/check.h"
#include "strata/runtime/remedy.h"

struct StrataLlvmModule;
struct StrataLlvmSession;
struct StrataLlvmTable;

namespace strata {

struct LlvmCompileOptions {
  int level = 2;               ///< 0: no passes, fastest; 1: EarlyCSE; 2: also InstCombine, SimplifyCFG and LICM
  bool deterministic = false;  ///< no fma contraction, except where the IR calls llvm.fma
  std::string cpu = "native";  ///< "native" or the name of a CPU that LLVM knows
};

/// A machine for which LlvmLibrary::compile_for() compiles, whatever this one is.
struct LlvmMachine {
  enum class Floats : std::uint8_t { of_triple, soft, hard };  ///< how floats are passed to functions
  std::string triple;                                          ///< "aarch64-unknown-linux-gnu"
  std::string cpu;                                             ///< the name of a CPU that LLVM knows for the triple
  std::string features{};                                      ///< besides those of the CPU: "+avx2,-fma"
  std::string abi{};                                           ///< its name where the triple leaves it open: "lp64d"
  bool is_static = false;                                      ///< the code is for a fixed address; else for any (PIC)
  Floats floats = Floats::of_triple;
};

/// An object file for others to link.
struct LlvmObject {
  std::string bytes;
  std::int64_t loaded_bytes = 0;  ///< of the sections that a program loads: code and constants
  /// The stack of the functions that ask for it ("warn-stack-size"), without the address to which they return.
  std::vector<std::pair<std::string, std::int64_t>> frames;
  std::vector<std::string> undefined;  ///< symbols that others define
};

/// Nanoseconds of each step of a compilation.
struct LlvmTimes {
  std::int64_t setup = 0;  ///< creating a target and passes; about 0 if one was free for reuse
  std::int64_t parse = 0;
  std::int64_t passes = 0;
  std::int64_t codegen = 0;
};

/// A handle on executable code in memory. The last copy unloads the code.
class LlvmModule {
 public:
  /// The address of a function; null if there is none of that name.
  void* find(const std::string& symbol) const;
  /// The function `symbol`, as a pointer of type Function. @pre Function is its type  @throws Error (undefined) if
  /// there is none
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

/// The plugin, opened. It stays loaded until the process ends, because LLVM cannot be unloaded.
class LlvmLibrary {
 public:
  static constexpr std::string_view kFileName = "libstrata_llvm.so";

  /// Opens the plugin in the first of `folders` that has it. Folders with relative paths are skipped.
  /// @throws Error (undefined) that says how to get the plugin, if no folder has it, it cannot be opened, or it is of
  /// another version
  static std::shared_ptr<const LlvmLibrary> open(std::span<const std::string> folders);
  /// Opens the plugin in the default folders.
  static std::shared_ptr<const LlvmLibrary> open();
  /// The library of the process; the first call opens it from the default folders. It is never closed. @throws as
  /// open()
  static const LlvmLibrary& shared();
  /// The folders in which open() looks: that of the library or program that contains this code, STRATA_PLUGIN_DIR, then
  /// the folder of the system's package (CMake's STRATA_PLUGIN_INSTALL_DIR, if absolute). Never the working directory,
  /// in which anybody may place a file.
  static std::vector<std::string> default_folders();
  /// The file that open() would open; empty if there is none.
  static std::string default_path();
  /// Whether the end of the process has begun: threads other than the one that ends it wait for ever then.
  static bool process_ends();
  /// What to install if open() fails.
  static Remedy remedy();

  LlvmLibrary(const LlvmLibrary&) = delete;
  LlvmLibrary& operator=(const LlvmLibrary&) = delete;
  ~LlvmLibrary();

  /// Compiles a module in LLVM IR to an object file, and returns its bytes. @throws Error (parse) with LLVM's message
  ///   if the text is no module or the verifier refuses it, (undefined) if code generation fails, (budget) out of
  ///   memory
  std::string compile(std::string_view ir, const LlvmCompileOptions& options = {}, LlvmTimes* times = nullptr) const;
  /// The assembly text of the same code. @throws as compile()
  std::string assembly(std::string_view ir, const LlvmCompileOptions& options = {}) const;
  /// Which of `features` the machine's CPU has. @pre at most 64 names without blanks
  /// @throws Error (domain) with the names that LLVM knows, if it does not compile for the triple, or knows no such CPU
  ///   or feature
  std::vector<bool> has(const LlvmMachine& machine, std::span<const std::string_view> features) const;
  /// Compiles a module to an object file for the machine, by all of LLVM's passes (-O2), which call no function of a
  /// library. Equal modules give equal bytes.
  /// @throws as has() and compile()
  LlvmObject compile_for(std::string_view ir, const LlvmMachine& machine, bool deterministic) const;

  /// Loads an object file into executable memory. @pre compile() made `object` for this CPU, and nobody changed it:
  /// relocations are not
  ///   checked  @throws Error (undefined) if it is no object file, or refers to a symbol that the process does not have
  LlvmModule load(std::string_view object) const;

  /// Gives the memory of LLVM's own code back to the system; the next compilation loads what it needs from the file,
  /// which the system has at hand, in about half a millisecond.
  void release_code() const;

  /// LLVM's version, e.g. "19.1.7".
  std::string version() const;
  /// LLVM's name of this machine's CPU and its features. An object file that was compiled for the CPU "native" depends
  /// on it.
  std::string host() const;

 private:
  explicit LlvmLibrary(const StrataLlvmTable* table);

  const StrataLlvmTable* table_;
  StrataLlvmSession* session_;
};

}  // namespace strata
