// A shared object, from memory or the system, loaded into the process until its last handle goes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "strata/base/check.h"

namespace strata {

class SharedObject {
 public:
  /// Loads the bytes of a shared object: all symbols are resolved now, and what it exports is seen by no other.
  /// @throws Error (undefined) with the loader's words where it cannot be loaded,
  ///         Error (budget) where the system has no room for it.
  static std::shared_ptr<const SharedObject> load(std::span<const std::byte> object);

  /// Opens the shared object that the system's loader finds under `name` ("libOpenCL.so.1"), on the same terms.
  /// @throws Error (undefined) with the loader's words
  static std::shared_ptr<const SharedObject> open(const std::string& name);

  /// Whether `object` begins as a shared object does and is not cut off.
  static bool is_whole(std::span<const std::byte> object);

  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject();

  /// The address of an exported symbol, null where there is none.
  void* find(const std::string& symbol) const;

  /// The exported function `symbol`. @pre Function is its type  @throws Error (undefined) where there is none.
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
