// Objects: kernels that LLVM compiles when the model is exported (ExportOptions::object), for a machine of any kind.
// Internal to export/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/codegen/kernel.h"
#include "strata/export/export_c.h"
#include "strata/export/targets.h"
#include "strata/render/llvm.h"
#include "strata/runtime/llvm_library.h"

namespace strata::exporting {

/// A kind of machine.
struct ObjectFamily;

/// The kernels of a model, and the object that LLVM makes of them.
class ObjectCode {
 public:
  /// @throws Error (domain) for a triple, a CPU or a feature that LLVM does not know, a target of another machine, or
  /// vectors that compute no subnormal numbers where results are deterministic; (undefined) without LLVM
  ObjectCode(const ExportOptions& options, const TargetRow& target);

  /// What kernels are compiled for.
  static Target target_of(const TargetRow& row, bool deterministic);
  /// Adds the kernel as a function of the name.
  void add(std::string_view name, const Kernel& kernel);
  /// Compiles all kernels.
  void compile();

  const std::string& triple() const { return machine_.triple; }
  /// The condition of C's preprocessor that the compiler compiles for the machine.
  std::string condition() const;
  const LlvmObject& object() const { return object_; }
  /// Bytes of the stack of any kernel, at most, with the address to which it returns.
  std::int64_t stack_bytes() const;

 private:
  void place_features(const ExportOptions& options, const TargetRow& target);
  void find_lacks(const ExportOptions& options);

  const ObjectFamily* family_;
  LlvmMachine machine_;
  LlvmLacks lacks_;
  bool is_deterministic_;
  std::vector<LlvmParts> parts_;
  LlvmObject object_;
};

}  // namespace strata::exporting
