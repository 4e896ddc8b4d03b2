#include "strata/runtime/llvm_plugin/loader.h"

#include <dlfcn.h>
#include <llvm/ExecutionEngine/JITSymbol.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace strata_llvm {

namespace {

uintptr_t page_size() {
  static const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

/// Room for the GOT, the table of addresses of external functions, which RuntimeDyld does not include in the sizes that
/// it reserves.
constexpr uintptr_t kGotBytes = 2048;

/// Resolves external symbols, such as memcpy, in the process.
class ProcessSymbols final : public llvm::JITSymbolResolver {
 public:
  void lookup(const LookupSet& names, OnResolvedFunction on_resolved) override {
    LookupResult found;
    for (const llvm::StringRef name : names) {
      void* const address = dlsym(RTLD_DEFAULT, name.str().c_str());
      if (!address) {
        on_resolved(llvm::createStringError("the process has no symbol " + name.str()));
        return;
      }
      found[name] = {reinterpret_cast<uint64_t>(address), llvm::JITSymbolFlags::Exported};
    }
    on_resolved(std::move(found));
  }
  llvm::Expected<LookupSet> getResponsibilitySet(const LookupSet&) override { return LookupSet(); }
};

}  // namespace

CodeMemory::~CodeMemory() {
  if (base_) munmap(base_, size_);
}

void CodeMemory::reserveAllocationSpace(uintptr_t code, llvm::Align code_align, uintptr_t constants,
                                        llvm::Align constants_align, uintptr_t data, llvm::Align data_align) {
  const uintptr_t fixed = code + code_align.value() + constants + constants_align.value() + kGotBytes;
  sealed_ = next_data_ = llvm::alignTo(fixed, page_size());
  size_ = sealed_ + (data ? llvm::alignTo(data + data_align.value(), page_size()) : 0);
  void* const memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  base_ = memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

uint8_t* CodeMemory::take(uintptr_t& next, uintptr_t end, uintptr_t size, unsigned align) const {
  const uintptr_t at = llvm::alignTo(next, align ? align : 1);
  if (!base_ || at + size > end) return nullptr;
  next = at + size;
  return base_ + at;
}

uint8_t* CodeMemory::allocateCodeSection(uintptr_t size, unsigned align, unsigned, llvm::StringRef) {
  return take(next_, sealed_, size, align);
}

uint8_t* CodeMemory::allocateDataSection(uintptr_t size, unsigned align, unsigned, llvm::StringRef name,
                                         bool read_only) {
  // The GOT can be read-only, because all its addresses are known when the memory is sealed.
  const bool sealed = read_only || name == ".got";
  return sealed ? take(next_, sealed_, size, align) : take(next_data_, size_, size, align);
}

bool CodeMemory::finalizeMemory(std::string* error) {
  if (base_ && mprotect(base_, sealed_, PROT_READ | PROT_EXEC) == 0) {
    __builtin___clear_cache(reinterpret_cast<char*>(base_), reinterpret_cast<char*>(base_ + sealed_));
    return false;
  }
  if (error) *error = "the system gives no executable memory";
  return true;
}

std::unique_ptr<LoadedObject> LoadedObject::load(llvm::StringRef object, std::string* error) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file) {
    *error = llvm::toString(file.takeError());
    return nullptr;
  }
  std::unique_ptr<LoadedObject> loaded(new LoadedObject());
  ProcessSymbols resolver;
  llvm::RuntimeDyld linker(loaded->memory_, resolver);
  linker.loadObject(**file);
  if (!linker.hasError()) linker.resolveRelocations();
  if (linker.hasError()) {
    *error = linker.getErrorString().str();
    return nullptr;
  }
  if (loaded->memory_.finalizeMemory(error)) return nullptr;
  for (const auto& [name, symbol] : linker.getSymbolTable())
    loaded->symbols_[name] = reinterpret_cast<void*>(symbol.getAddress());
  return loaded;
}

}  // namespace strata_llvm
