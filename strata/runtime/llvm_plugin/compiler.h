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

#include <memory>
#include <string>

#include "strata/runtime/llvm_plugin/plugin_abi.h"

namespace strata_llvm {

/// LLVM's name of this machine's CPU, and its features. Determined once in a process.
struct Host {
  std::string cpu;
  std::string features;  ///< "+avx2,-avx512f,..."
  static const Host& get();
};

/// A target machine and the passes for it. It serves one compilation at a time.
class Compiler {
 public:
  /// The options on which a Compiler depends. Compilations with equal keys can share one.
  struct Key {
    int opt_level = 2;
    bool deterministic = false;
    std::string cpu = "native";
    bool operator==(const Key&) const = default;
  };
  /// A compilation: the module's text, the form of the output, and the results beside the code.
  struct Job {
    llvm::StringRef ir;
    llvm::CodeGenFileType output = llvm::CodeGenFileType::ObjectFile;
    StrataLlvmTimes times{};
    std::string error;
  };

  /// Returns null and sets *error if LLVM does not know the CPU, or its target emits no objects.
  static std::unique_ptr<Compiler> create(const Key& key, std::string* error);
  const Key& key() const { return key_; }
  /// Compiles job.ir to `out`. On failure, job.error says why.
  StrataLlvmStatus run(Job& job, llvm::SmallVectorImpl<char>& out);

  Compiler* after = nullptr;  ///< the next in a list of compilers that a fatal error made unusable

 private:
  Compiler(Key key, std::unique_ptr<llvm::TargetMachine> target);
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
  bool can_emit_ = false;
  llvm::SmallVector<char, 0> object_;
  llvm::raw_svector_ostream object_stream_{object_};
  llvm::legacy::PassManager codegen_;  // to objects; kept, because creating it takes longer than a run
};

}  // namespace strata_llvm
