// A kernel that is ready to run, on any device; and the one whose machine code is a shared object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace strata {

class SharedObject;

/// What every device makes of a kernel. Programs keep no state between runs: run() may be called from many threads.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  virtual const std::string& name() const = 0;
  /// Runs the kernel on `buffers`, by slot, and `values`, those of its variables in the order of the kernel's list.
  /// @pre each buffer has the size that the kernel was compiled for
  /// @throws Error (shape) where the numbers of buffers or values are not the kernel's.
  virtual void run(std::span<void* const> buffers, std::span<const std::int64_t> values) = 0;
  /// Whether chunks of its parallel loop are chunks of its work; else the chunk that begins at 0 does all of it, and polls itself
  /// whether to go on (base/interrupt.h).
  virtual bool has_chunks() const;
  /// Whether one buffer more is the address of what it calls to poll (codegen/polls.h).
  virtual bool polls() const;

  // What a class that was derived before overrides.
  [[deprecated("renamed to has_chunks")]] virtual bool has_parts() const { return true; }
  [[deprecated("renamed to polls")]] virtual bool looks() const { return false; }
};

/// A program that exports `void NAME_entry(void* const* buffers, const long long* values)`.
class ObjectProgram final : public Program {
 public:
  /// Loads `object`, the bytes of a shared object whose kernel `name` takes this many buffers and values.
  /// @throws Error (undefined) where it cannot be loaded, or has no such entry.
  ObjectProgram(std::string name, std::span<const std::byte> object, std::size_t buffer_count,
                std::size_t value_count);

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
