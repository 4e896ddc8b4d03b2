// Object files to code in memory.
#pragma once

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>

#include <memory>
#include <string>

namespace strata_llvm {

/// The memory of one module: a single mapping, writable until it is sealed, then executable (written data apart).
class CodeMemory final : public llvm::RuntimeDyld::MemoryManager {
 public:
  CodeMemory() = default;
  ~CodeMemory() override;
  bool needsToReserveAllocationSpace() override { return true; }
  void reserveAllocationSpace(uintptr_t code, llvm::Align code_align, uintptr_t constants,
                              llvm::Align constants_align, uintptr_t data,
                              llvm::Align data_align) override;
  uint8_t* allocateCodeSection(uintptr_t size, unsigned align, unsigned id,
                               llvm::StringRef name) override;
  uint8_t* allocateDataSection(uintptr_t size, unsigned align, unsigned id, llvm::StringRef name,
                               bool read_only) override;
  void registerEHFrames(uint8_t*, uint64_t, size_t) override {}
  void deregisterEHFrames() override {}
  /// Seals. True, with *error set, where the system refuses.
  bool finalizeMemory(std::string* error) override;

 private:
  uint8_t* take(uintptr_t& next, uintptr_t end, uintptr_t size, unsigned align) const;

  uint8_t* base_ = nullptr;
  uintptr_t next_ = 0;       // free from here: code and constants
  uintptr_t sealed_ = 0;     // their end, on a page
  uintptr_t next_data_ = 0;  // free from here: what is written
  uintptr_t size_ = 0;
};

/// Code in memory.
class LoadedObject {
 public:
  /// Nothing, with *error set, where `object` is no object file or needs a symbol that the process does not have.
  static std::unique_ptr<LoadedObject> load(llvm::StringRef object, std::string* error);
  /// Null where there is none of the name.
  void* symbol(llvm::StringRef name) const { return symbols_.lookup(name); }

 private:
  LoadedObject() = default;

  CodeMemory memory_;
  llvm::StringMap<void*> symbols_;
};

}  // namespace strata_llvm
