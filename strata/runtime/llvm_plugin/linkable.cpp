#include "strata/runtime/llvm_plugin/linkable.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

namespace strata_llvm {

namespace {

/// Whether a program has the section in its memory, with bytes of the file.
bool is_loaded(const llvm::object::SectionRef& section) {
  if (!section.getObject()->isELF()) return section.isText() || section.isData();
  const llvm::object::ELFSectionRef elf(section);
  return (elf.getFlags() & llvm::ELF::SHF_ALLOC) != 0 && elf.getType() != llvm::ELF::SHT_NOBITS;
}

}  // namespace

Linkable facts_of(llvm::StringRef object, std::string& error) {
  Linkable out;
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernels"));
  if (!file) {
    error = llvm::toString(file.takeError());
    return out;
  }
  for (const llvm::object::SectionRef& section : (*file)->sections())
    if (is_loaded(section)) out.loaded_bytes += static_cast<int64_t>(section.getSize());
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!flags || !name) {
      error = llvm::toString(flags ? name.takeError() : flags.takeError());
      if (!flags && !name) llvm::consumeError(name.takeError());
      return out;
    }
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) != 0 && !name->empty()) out.undefined += name->str() + "\n";
  }
  return out;
}

}  // namespace strata_llvm
