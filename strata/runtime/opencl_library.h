// OpenClLibrary: OpenCL through the system's loader (the ICD loader), which is opened on first use, not linked. It
// builds OpenClPrograms, which run a kernel on the memory of the host. The device OPENCL (opencl_device.cpp) is the
// user.
//
//   const OpenClLibrary& library = OpenClLibrary::shared();
//   auto program = library.build("__kernel void k(__global float* x) { x[get_global_id(0)] = 1; }", "k");
//   program->run({&memory, 1}, {}, 8);
//
// Only one device is used: the first GPU of any platform, else the first device of the first platform that has one. All
// functions are thread-safe. Errors name the failed call and OpenCL's name of the error, e.g. "[opencl] clCreateBuffer:
// CL_OUT_OF_RESOURCES"; their code is (budget) for exhausted memory or resources, else (undefined).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/runtime/remedy.h"

namespace strata {

/// A buffer argument: memory of the host. A device with separate memory works on a copy.
struct OpenClMemory {
  void* data = nullptr;
  std::size_t bytes = 0;  ///< 0: the kernel gets a null pointer
  bool is_written = false;
};
/// An integer argument.
struct OpenClInteger {
  std::int64_t value = 0;
  bool is_wide = false;  ///< the parameter has 64 bits; else 32
};

/// A kernel that was built for the library's device. It keeps the device open.
class OpenClProgram {
 public:
  OpenClProgram() = default;
  OpenClProgram(const OpenClProgram&) = delete;
  OpenClProgram& operator=(const OpenClProgram&) = delete;
  virtual ~OpenClProgram() = default;

  /// Runs `instances` work-items of the kernel along axis 0, and waits for them. The arguments are the memory, then the
  /// integers.
  /// @param at_once about how many work-items form one launch, at least 1. A launch cannot be stopped; between launches
  ///   this thread checks for interrupts (base/interrupt.h)
  /// @pre the arguments match the kernel's parameters, instances > 0, written memory overlaps no other, and work-items
  ///   with an index of `instances` or more do nothing, because the last launch may be rounded up to whole work-groups
  /// @throws Error (undefined) in a child of fork(); what an InterruptCheck of this thread throws
  virtual void run(std::span<const OpenClMemory> memory, std::span<const OpenClInteger> integers,
                   std::int64_t instances, std::int64_t at_once) = 0;
};

/// A platform: the devices of one driver.
struct OpenClPlatform {
  std::string name;
  std::string version;  ///< "OpenCL 3.0 ..."
  std::vector<std::string> devices;
};

/// The loader, opened, with the chosen device.
class OpenClLibrary {
 public:
  static constexpr const char* kFileName = "libOpenCL.so.1";

  OpenClLibrary() = default;
  OpenClLibrary(const OpenClLibrary&) = delete;
  OpenClLibrary& operator=(const OpenClLibrary&) = delete;
  virtual ~OpenClLibrary() = default;

  /// Opens the loader and a device. @throws Error (undefined) that says what to install, if there is no loader or no
  /// device
  static std::unique_ptr<const OpenClLibrary> open(const char* file = kFileName);
  /// The library of the process. The first call tries open(), which takes long; a failure is kept, too. It is never
  /// closed, because many drivers cannot be closed. @throws as open(), at every call after a failure
  static const OpenClLibrary& shared();
  /// All platforms that the loader knows, with their devices. @throws as open(), except that a platform may have no
  /// device
  static std::vector<OpenClPlatform> platforms(const char* file = kFileName);
  /// What to install if open() fails; empty if the system's limits are the reason.
  static Remedy remedy();

  virtual std::string device_name() const = 0;
  virtual bool has_double() const = 0;  ///< whether the device supports f64

  /// Builds the kernel `name` of a source in OpenCL C 1.2. f32 division and square root are correctly rounded if the
  /// device supports that.
  /// @throws Error (undefined) with the compiler's log if it fails, or in a child of fork()
  virtual std::unique_ptr<OpenClProgram> build(const std::string& source, const std::string& name) const = 0;
};

}  // namespace strata
