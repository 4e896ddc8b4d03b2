// A function of a shared object, called on buffers: the CLANG device's program, and the specification's.
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

/// A function of a shared object.
class ClangProgram final : public Program {
 public:
  static constexpr std::size_t kMostPointers = 16;

  /// Loads `object`. Where it exports `void NAME_entry(void* const* buffers, const long long* values)`, that is
  /// called, with any number of buffers; else `void NAME(T0* data0, T1* data1, ...)`, with up to kMostPointers.
  /// @param polls as Program::polls() says
  /// @throws Error (undefined) where it cannot be loaded, or has neither.
  ClangProgram(std::string name, std::span<const std::byte> object, bool polls = false);

  /// Calls the function on the buffers' memory. @pre it takes that many pointers and stays within the buffers
  /// @throws Error (domain) for a buffer that the host does not see,
  ///         Error (shape) for more than kMostPointers without an entry.
  template <std::same_as<Buffer>... Buffers>
  void operator()(const Buffers&... buffers) const {
    const std::array<void*, sizeof...(Buffers)> addresses = {buffers.data()...};
    call(addresses, {});
  }

  const std::string& name() const override { return name_; }
  bool polls() const override { return polls_; }
  [[deprecated("renamed to polls")]] bool looks() const override { return polls_; }
  /// @pre as of the call  @throws Error (shape) for values, too, without an entry.
  void run(std::span<void* const> buffers, std::span<const std::int64_t> values) override {
    call(buffers, values);
  }

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
