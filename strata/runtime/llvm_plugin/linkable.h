// Facts of an object file that others link.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <string>

namespace strata_llvm {

struct Linkable {
  int64_t loaded_bytes = 0;  ///< of the sections that a program loads
  std::string undefined;     ///< symbols, a line each
};
/// Sets `error` if LLVM cannot read the object.
Linkable facts_of(llvm::StringRef object, std::string& error);

}  // namespace strata_llvm
