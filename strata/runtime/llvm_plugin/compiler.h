// IR text to object files and assembly.
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

/// The CPU of this machine and its features, asked once a process.
struct Host {
  std::string cpu;
  std::string features;  ///< "+avx2,-avx512f,..."
  static const Host& get();
};

/// What is set up once and serves one compilation after another, one at a time: a target and the passes.
class Compiler {
 public:
  /// What two compilations must agree on to share a Compiler.
  struct Key {
    int opt_level = 2;
    bool deterministic = false;
    std::string cpu = "native";
    bool operator==(const Key&) const = default;
  };
  /// A module's text, and where what goes wrong is told.
  struct Job {
    llvm::StringRef ir;
    llvm::CodeGenFileType output = llvm::CodeGenFileType::ObjectFile;
    StrataLlvmTimes times{};
    std::string error;
  };

  /// Null, with *error set, where the CPU is not known.
  static std::unique_ptr<Compiler> create(const Key& key, std::string* error);
  const Key& key() const { return key_; }
  /// StrataLlvmStatus.
  StrataLlvmStatus run(Job& job, llvm::SmallVectorImpl<char>& out);

  Compiler* after = nullptr;  ///< for lists of them

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
  llvm::legacy::PassManager codegen_;  // to objects; made once, for making it takes longer than running it
};

}  // namespace strata_llvm
