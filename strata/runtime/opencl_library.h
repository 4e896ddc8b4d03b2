// OpenCL through the system's loader (the ICD), which is opened on first use and never linked.
//
//   const OpenClLibrary& library = OpenClLibrary::shared();
//   auto program = library.build("__kernel void k(__global float* x) { x[get_global_id(0)] = 1; }", "k");
//   program->run({&memory, 1}, {}, 8);
//
// One device is used: the first GPU that there is, else the first device of the first platform. Everything here may
// be used from any thread. Its errors name the call and what OpenCL calls the error: (budget) out of memory or
// resources, else (undefined).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/runtime/remedy.h"

namespace strata {

/// Memory of the host that a kernel works on.
struct OpenClMemory {
  void* data = nullptr;
  std::size_t bytes = 0;  ///< 0: the kernel gets a null pointer
  bool is_written = false;
};
/// An integer that a kernel takes.
struct OpenClInteger {
  std::int64_t value = 0;
  bool is_wide = false;  ///< 64 bits, else 32
};

/// A kernel, built. It keeps its library's device.
class OpenClProgram {
 public:
  OpenClProgram() = default;
  OpenClProgram(const OpenClProgram&) = delete;
  OpenClProgram& operator=(const OpenClProgram&) = delete;
  virtual ~OpenClProgram() = default;

  /// Runs `instances` of the kernel along axis 0, and waits for them. Its arguments are the memory, then the integers.
  /// @pre these are the kernel's parameters, instances > 0, no memory overlaps with one that is written, and instances beyond do
  /// nothing: the launch may be rounded up
  /// @param at_once instances, about, of a launch, after which it looks whether to go on (base/interrupt.h), at least 1
  /// @throws Error (undefined) in a child of fork(), what an InterruptCheck of this thread throws
  virtual void run(std::span<const OpenClMemory> memory, std::span<const OpenClInteger> integers,
                   std::int64_t instances, std::int64_t at_once) = 0;
};

/// What a driver brings.
struct OpenClPlatform {
  std::string name;
  std::string version;  ///< "OpenCL 3.0 ..."
  std::vector<std::string> devices;
};

class OpenClLibrary {
 public:
  static constexpr const char* kFileName = "libOpenCL.so.1";

  OpenClLibrary() = default;
  OpenClLibrary(const OpenClLibrary&) = delete;
  OpenClLibrary& operator=(const OpenClLibrary&) = delete;
  virtual ~OpenClLibrary() = default;

  /// Opens the loader and a device. @throws Error (undefined), saying what to install, where there is none
  static std::unique_ptr<const OpenClLibrary> open(const char* file = kFileName);
  /// open(), once in the process, however it ends: it takes long, and drivers do not like to be closed.
  /// @throws Error as open(), each time
  static const OpenClLibrary& shared();
  /// All that the loader knows, used or not. @throws Error as open(), but not where it has no device
  static std::vector<OpenClPlatform> platforms(const char* file = kFileName);
  /// What open() needs where it fails.
  static Remedy remedy();

  virtual std::string device_name() const = 0;
  virtual bool has_double() const = 0;

  /// The kernel `name` of OpenCL C 1.2; division and square roots are rounded correctly where the device can.
  /// @throws Error (undefined) with the compiler's words where it fails
  virtual std::unique_ptr<OpenClProgram> build(const std::string& source,
                                               const std::string& name) const = 0;
};

}  // namespace strata
