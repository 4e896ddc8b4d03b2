// SharedObject: a shared object that is loaded into the process, from bytes (a compiled kernel) or by name (a system
// library such as OpenCL's loader). The last handle unloads it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "strata/base/check.h"

namespace strata {

class SharedObject {
 public:
  /// Loads the bytes of a shared object, from memory or, if the system forbids that, through a temporary file. All
  /// symbols are resolved (RTLD_NOW), and its exports are not visible to other objects (RTLD_LOCAL).
  /// @throws Error (undefined) with the loader's message if it cannot be loaded, (budget) if the temporary file cannot
  /// be written
  static std::shared_ptr<const SharedObject> load(std::span<const std::byte> object);

  /// Opens the shared object that the system's loader finds under `name`, e.g. "libOpenCL.so.1", with the same modes.
  /// @throws Error (undefined) with the loader's message
  static std::shared_ptr<const SharedObject> open(const std::string& name);

  /// Whether `object` has an ELF header and is not truncated. The loader would map pages that a truncated file lacks,
  /// and crash.
  static bool is_whole(std::span<const std::byte> object);

  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject();

  /// The address of an exported symbol; null if there is none.
  void* find(const std::string& symbol) const;

  /// The exported function `symbol`, as a pointer of type Function. @pre Function is its type
  /// @throws Error (undefined) if there is none
  template <class Function>
  Function function(const std::string& symbol) const {
    void* const address = find(symbol);
    STRATA_CHECK(address != nullptr, undefined, "[load] the object has no function '", symbol, "'");
    return reinterpret_cast<Function>(address);
  }

 private:
  explicit SharedObject(void* handle) : handle_(handle) {}

  void* handle_;
};

}  // namespace strata
