// Compiler: compiles LLVM IR text to an object file or to assembly. A Compiler is expensive to create, so plugin.cpp
// keeps them for reuse.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strata/runtime/llvm_plugin/plugin_abi.h"

namespace strata_llvm {

/// LLVM's name of this machine's CPU, and its features. Determined once in a process.
struct Host {
  std::string cpu;
  std::string features;  ///< "+avx2,-avx512f,..."
  static const Host& get();
};

/// A machine for which code is compiled, whatever this one is.
struct Machine {
  std::string triple, cpu, features, abi;
  bool is_static = false;
  int32_t floats = STRATA_LLVM_FLOATS_OF_TRIPLE;
  explicit Machine(const StrataLlvmTarget& target)
      : triple(llvm::Triple::normalize(target.triple)),
        cpu(target.cpu),
        features(target.features),
        abi(target.abi),
        is_static(target.relocation == STRATA_LLVM_STATIC),
        floats(target.floats) {}
  bool operator==(const Machine&) const = default;

  /// The target of the triple, set up. Null, and the reason in *error, if LLVM does not know the triple, the CPU or a
  /// feature.
  const llvm::Target* find(std::string* error) const;
  /// Bit k: whether the CPU has the feature with the k-th name. @pre find() has found it
  uint64_t has(const llvm::Target& target, llvm::StringRef names) const;
};

/// A target machine and the passes for it. It serves one compilation at a time.
class Compiler {
 public:
  /// The options on which a Compiler depends. Compilations with equal keys can share one.
  struct Key {
    int opt_level = 2;
    bool deterministic = false;
    std::string cpu = "native";
    std::optional<Machine> machine = {};  ///< none: this one
    bool operator==(const Key&) const = default;
  };
  /// A compilation: the module's text, the form of the output, and the results beside the code.
  struct Job {
    llvm::StringRef ir;
    llvm::CodeGenFileType output = llvm::CodeGenFileType::ObjectFile;
    StrataLlvmTimes times{};
    std::string error;
    std::vector<std::pair<std::string, uint64_t>> frames{};  ///< the stack of each function that asks for it
  };

  /// Returns null and sets *error if LLVM does not know the CPU, or its target emits no objects.
  static std::unique_ptr<Compiler> create(const Key& key, std::string* error);
  const Key& key() const { return key_; }
  /// Compiles job.ir to `out`. On failure, job.error says why.
  StrataLlvmStatus run(Job& job, llvm::SmallVectorImpl<char>& out);

  Compiler* after = nullptr;  ///< the next in a list of compilers that a fatal error made unusable

 private:
  Compiler(Key key, std::unique_ptr<llvm::TargetMachine> target);
  static std::unique_ptr<Compiler> create_for(const Key& key, std::string* error);
  void add_passes();
  void prepare(llvm::Module& module) const;
  void optimize(llvm::Module& module);
  bool generate(llvm::Module& module, Job& job, llvm::SmallVectorImpl<char>& out);

  Key key_;
  std::unique_ptr<llvm::TargetMachine> target_;
  llvm::PassBuilder builder_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager graphs_;
  llvm::ModuleAnalysisManager modules_;
  llvm::FunctionPassManager passes_;
  llvm::ModulePassManager all_passes_;  ///< for another machine, in place of passes_
  bool can_emit_ = false;
  llvm::SmallVector<char, 0> object_;
  llvm::raw_svector_ostream object_stream_{object_};
  llvm::legacy::PassManager codegen_;  // to objects; kept, because creating it takes longer than a run
};

}  // namespace strata_llvm
