// The machines for which LLVM compiles, each set up when it is asked for.

#include <llvm-c/Target.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "strata/runtime/llvm_plugin/compiler.h"

namespace strata_llvm {

namespace {

/// A part of LLVM, which compiles for an architecture.
struct Part {
  llvm::Triple::ArchType arch;
  const char* name;
  void (*set_up)();
};

#define STRATA_SET_UP(target)             \
  [] {                                    \
    LLVMInitialize##target##TargetInfo(); \
    LLVMInitialize##target##Target();     \
    LLVMInitialize##target##TargetMC();   \
    LLVMInitialize##target##AsmPrinter(); \
  }
constexpr Part kParts[] = {
#if LLVM_HAS_X86_TARGET
    {llvm::Triple::x86_64, "x86_64", STRATA_SET_UP(X86)},
#endif
#if LLVM_HAS_AARCH64_TARGET
    {llvm::Triple::aarch64, "aarch64", STRATA_SET_UP(AArch64)},
#endif
#if LLVM_HAS_ARM_TARGET
    {llvm::Triple::arm, "arm", STRATA_SET_UP(ARM)},
    {llvm::Triple::thumb, "thumb", STRATA_SET_UP(ARM)},
#endif
#if LLVM_HAS_RISCV_TARGET
    {llvm::Triple::riscv64, "riscv64", STRATA_SET_UP(RISCV)},
#endif
#if LLVM_HAS_WEBASSEMBLY_TARGET
    {llvm::Triple::wasm32, "wasm32", STRATA_SET_UP(WebAssembly)},
#endif
};
#undef STRATA_SET_UP

template <class Rows>
std::string keys_of(const Rows& rows) {
  std::string out;
  for (const auto& row : rows) out += (out.empty() ? "" : ", ") + std::string(row.Key);
  return out;
}

template <class Rows>
bool has_key(const Rows& rows, llvm::StringRef key) {
  return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return key == row.Key; });
}

}  // namespace

const llvm::Target* Machine::find(std::string* error) const {
  const auto* const part =
      std::find_if(std::begin(kParts), std::end(kParts),
                   [arch = llvm::Triple(triple).getArch()](const Part& p) { return p.arch == arch; });
  if (part == std::end(kParts)) {
    std::string names;
    for (const Part& p : kParts) names += (names.empty() ? "" : ", ") + std::string(p.name);
    *error = "this LLVM compiles for " + names + ", and not for the triple \"" + triple + "\"";
    return nullptr;
  }
  static std::mutex mutex;
  const llvm::Target* target = nullptr;
  {
    const std::scoped_lock lock(mutex);
    part->set_up();
    target = llvm::TargetRegistry::lookupTarget(triple, *error);
  }
  if (!target) return nullptr;
  const std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(triple, "", ""));
  if (!info) {
    *error = "LLVM knows no CPU of the triple \"" + triple + "\"";
    return nullptr;
  }
  if (!info->isCPUStringValid(cpu)) {
    *error =
        "LLVM knows no CPU \"" + cpu + "\" of " + part->name + ", but " + keys_of(info->getAllProcessorDescriptions());
    return nullptr;
  }
  llvm::SmallVector<llvm::StringRef, 8> words;
  llvm::StringRef(features).split(words, ',', -1, /*KeepEmpty=*/false);
  for (const llvm::StringRef word : words) {
    const bool is_signed = word.starts_with("+") || word.starts_with("-");
    if (is_signed && has_key(info->getAllProcessorFeatures(), word.drop_front())) continue;
    *error = "LLVM knows no feature \"" + word.str() + "\" of " + part->name + ": + or - and one of " +
             keys_of(info->getAllProcessorFeatures());
    return nullptr;
  }
  return target;
}

uint64_t Machine::has(const llvm::Target& target, llvm::StringRef names) const {
  const std::unique_ptr<llvm::MCSubtargetInfo> info(target.createMCSubtargetInfo(triple, cpu, features));
  llvm::SmallVector<llvm::StringRef, 8> words;
  names.split(words, ' ', -1, /*KeepEmpty=*/false);
  uint64_t out = 0;
  for (size_t k = 0; k < words.size(); ++k)
    if (info->checkFeatures(("+" + words[k]).str())) out |= uint64_t{1} << k;
  return out;
}

}  // namespace strata_llvm
