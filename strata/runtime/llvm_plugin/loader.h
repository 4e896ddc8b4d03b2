// LoadedObject: loads an object file that compiler.h generated into executable memory, with LLVM's RuntimeDyld.
// plugin.cpp uses it.
#pragma once

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>

#include <memory>
#include <string>

namespace strata_llvm {

/// The memory of one module: a single mapping. Code and constants come first, and finalizeMemory() makes them
/// executable and read-only; writable data follows on pages of its own. One mapping keeps all sections within the range
/// of 32-bit relative addresses.
class CodeMemory final : public llvm::RuntimeDyld::MemoryManager {
 public:
  CodeMemory() = default;
  ~CodeMemory() override;
  bool needsToReserveAllocationSpace() override { return true; }
  void reserveAllocationSpace(uintptr_t code, llvm::Align code_align, uintptr_t constants, llvm::Align constants_align,
                              uintptr_t data, llvm::Align data_align) override;
  uint8_t* allocateCodeSection(uintptr_t size, unsigned align, unsigned id, llvm::StringRef name) override;
  uint8_t* allocateDataSection(uintptr_t size, unsigned align, unsigned id, llvm::StringRef name,
                               bool read_only) override;
  void registerEHFrames(uint8_t*, uint64_t, size_t) override {}
  void deregisterEHFrames() override {}
  /// Makes code and constants executable and read-only. As LLVM requires, returns true on failure, and sets *error.
  bool finalizeMemory(std::string* error) override;

 private:
  uint8_t* take(uintptr_t& next, uintptr_t end, uintptr_t size, unsigned align) const;

  uint8_t* base_ = nullptr;
  // Offsets from base_.
  uintptr_t next_ = 0;       // the first free byte for code and constants
  uintptr_t sealed_ = 0;     // the end of code and constants, a multiple of the page size
  uintptr_t next_data_ = 0;  // the first free byte for writable data
  uintptr_t size_ = 0;
};

/// An object file in executable memory.
class LoadedObject {
 public:
  /// Loads `object` and resolves its symbols in the process. Returns null and sets *error if it is no object file,
  /// needs a symbol that the process does not have, or the system grants no executable memory.
  static std::unique_ptr<LoadedObject> load(llvm::StringRef object, std::string* error);
  /// The address of a symbol; null if there is none of that name.
  void* symbol(llvm::StringRef name) const { return symbols_.lookup(name); }

 private:
  LoadedObject() = default;

  CodeMemory memory_;
  llvm::StringMap<void*> symbols_;
};

}  // namespace strata_llvm
