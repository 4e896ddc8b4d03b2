// Program: a compiled kernel, ready to run. Each device derives its own class; Device::compile() returns it, and
// CompiledKernel (device.h) runs it. ObjectProgram runs a shared object, for code that was compiled elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace strata {

class SharedObject;

/// The result of compiling a kernel. A program keeps no state between runs, so several threads may call run() at the
/// same time.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  virtual const std::string& name() const = 0;
  /// Runs the kernel. `buffers` has the memory of each slot; `values` has a value for each variable, in the order of
  /// Kernel::variables.
  /// @pre each buffer has the size that the kernel was compiled for, and both counts are the kernel's. Only some
  ///   programs check the counts, and throw Error (shape): a compiled entry function takes plain pointers
  virtual void run(std::span<void* const> buffers, std::span<const std::int64_t> values) = 0;
  /// True if the kernel's parallel loop may be divided into chunks, each run with its own range [begin0, end0). False
  /// if a run always does the whole loop: it is then called once, and checks for interrupts itself (base/interrupt.h).
  virtual bool has_chunks() const;
  /// True if the kernel calls a function to check for interrupts (codegen/polls.h). Its address, Polling::address(), is
  /// then passed as one more buffer, behind those of the slots.
  virtual bool polls() const;

  // The former names, which has_chunks() and polls() call: a class that overrides them still works.
  [[deprecated("renamed to has_chunks")]] virtual bool has_parts() const { return true; }
  [[deprecated("renamed to polls")]] virtual bool looks() const { return false; }
};

/// A program in a shared object that exports `void NAME_entry(void* const* buffers, const long long* values)`. run()
/// checks both counts.
class ObjectProgram final : public Program {
 public:
  /// Loads `object`, the bytes of a shared object, whose kernel `name` takes this many buffers and values.
  /// @throws Error (undefined) if the object cannot be loaded or has no such entry; and as SharedObject::load()
  ObjectProgram(std::string name, std::span<const std::byte> object, std::size_t buffer_count, std::size_t value_count);

  const std::string& name() const override { return name_; }
  void run(std::span<void* const> buffers, std::span<const std::int64_t> values) override;

 private:
  using Entry = void (*)(void* const* buffers, const long long* values);

  std::string name_;
  std::shared_ptr<const SharedObject> object_;
  Entry entry_;
  std::size_t buffer_count_;
  std::size_t value_count_;
};

}  // namespace strata
