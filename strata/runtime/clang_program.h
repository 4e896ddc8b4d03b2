// ClangProgram: a C function in a shared object, called on buffers. The device CLANG compiles its kernels to
// ClangPrograms; a user can also call a function of his own:
//
//   ClangProgram program("add", compile_clang("void add(float *a, float *b, float *c) { *a = *b + *c; }"));
//   program(output, input_a, input_b);
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "strata/runtime/buffer.h"
#include "strata/runtime/host_compiler.h"
#include "strata/runtime/program.h"

namespace strata {

/// A function of a shared object, of one of two forms. `void NAME_entry(void* const* buffers, const long long* values)`
/// takes any number of buffers, and values; it is preferred. `void NAME(T0* data0, T1* data1, ...)` takes up to
/// kMostPointers pointers and no values.
class ClangProgram final : public Program {
 public:
  static constexpr std::size_t kMostPointers = 16;

  /// Loads `object`, the bytes of a shared object. @param polls the result of polls()
  /// @throws Error (undefined) if the object cannot be loaded, or exports neither form; and as SharedObject::load()
  ClangProgram(std::string name, std::span<const std::byte> object, bool polls = false);

  /// Calls the function on the memory of the buffers. @pre the function takes that many pointers and stays within the
  /// buffers
  /// @throws Error (domain) if the host does not see a buffer's memory, (shape) for more than kMostPointers buffers
  /// without NAME_entry
  template <std::same_as<Buffer>... Buffers>
  void operator()(const Buffers&... buffers) const {
    const std::array<void*, sizeof...(Buffers)> addresses = {buffers.data()...};
    call(addresses, {});
  }

  const std::string& name() const override { return name_; }
  bool polls() const override { return polls_; }
  [[deprecated("renamed to polls")]] bool looks() const override { return polls_; }
  /// As the call operator. @throws Error (shape) also for any value, without NAME_entry
  void run(std::span<void* const> buffers, std::span<const std::int64_t> values) override { call(buffers, values); }

 private:
  using Entry = void (*)(void* const* buffers, const long long* values);

  void call(std::span<void* const> buffers, std::span<const std::int64_t> values) const;

  std::string name_;
  std::shared_ptr<const SharedObject> object_;
  Entry entry_ = nullptr;
  void* function_ = nullptr;
  bool polls_;
};

}  // namespace strata
