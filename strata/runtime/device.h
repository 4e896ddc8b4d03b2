// Devices: what makes a program of a kernel, and runs it.
//
//   CompiledKernel add = compile(kernel, Device::get("LLVM"));
//   add.run({output, a, b});                              // buffers by slot
//   add.run({output, a, b}, {{"n", 100}});                // and the kernel's variables
//
// INTERP computes a kernel element by element (graph/interpret.h): the oracle. CLANG is C through the host's compiler. LLVM is
// LLVM in the process. OPENCL is OpenCL C through the system's drivers. NULL compiles and runs nothing. Everything here may be used
// from any thread.
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/base/executor.h"
#include "strata/base/flags.h"
#include "strata/codegen/kernel.h"
#include "strata/graph/interpret.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/program.h"

namespace strata {

/// What decides, beside its text, what becomes of a kernel's source.
struct SourceFacts {
  bool contract = true;              ///< Kernel::contract
  double operations = 0, bytes = 0;  ///< KernelCost
};

/// What compiles kernels, and has memory. There is one of each name.
class Device {
 public:
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;  ///< "LLVM"
  virtual std::string_view text() const = 0;  ///< what it is, in a line
  /// Empty where the device can be used here; else why not, and how to get it.
  virtual std::string missing() const { return {}; }
  /// What its code is made of, on this machine.
  virtual const Target& target() const = 0;
  /// The source of a kernel in the device's language, under the kernel's name.
  virtual std::string source(const Kernel& kernel) const = 0;
  /// Machine code, to read. @throws Error (undefined) where the device has none.
  std::string assembly(const Kernel& kernel) const;
  /// Machine code of what source() gave, in this process or in another. @throws as assembly; with the compiler's words for what it refuses
  virtual std::string assembly_of(std::string_view source, const SourceFacts& facts) const;
  /// A program that takes all of kernel.variables in order. Compiled code comes from the disk cache where it is there.
  /// @throws Error (undefined) with the compiler's words where it fails, (budget) out of time or room
  virtual std::shared_ptr<Program> compile(const Kernel& kernel) const = 0;

  /// The device of a name, whether it can be used here or not. @throws Error (domain) naming those that there are.
  static const Device& get(std::string_view name);
  /// The flag DEVICE; else the first of LLVM, CLANG, INTERP that can be used here.
  static const Device& default_device();
  /// All of them, in the order of preference.
  static std::span<const Device* const> all();

 protected:
  Device() = default;
};

/// A kernel with the program that a device made of it.
class CompiledKernel {
 public:
  /// @param before those of kernel->before, in order
  /// @param device what made the program; null where nobody needs to know
  CompiledKernel(std::shared_ptr<const Kernel> kernel, std::shared_ptr<Program> program,
                 std::vector<CompiledKernel> before = {}, const Device* device = nullptr);
  CompiledKernel(Kernel kernel, std::shared_ptr<Program> program)
      : CompiledKernel(std::make_shared<const Kernel>(std::move(kernel)), std::move(program)) {}

  const Kernel& kernel() const { return *kernel_; }
  Program& program() const { return *program_; }
  const Device* device() const { return device_; }  ///< null where it was not said
  std::uint64_t id() const { return id_; }  ///< another one for each that is made, not copied

  /// Runs the kernel on buffers by slot, its variables set to `values`, on the threads of `executor` (null: default_executor()).
  /// @throws Error (shape) where a buffer is missing, of another dtype or smaller than the kernel says, (domain) for a variable
  ///   without a value or with one outside of its bounds, or a buffer to write that is read-only. Nothing has run then.
  ///   What an InterruptCheck of this thread throws (base/interrupt.h), in a kernel that runs long: it has run in part then.
  void run(std::span<const Buffer> buffers, NamedValues values = {}, Executor* executor = nullptr) const;
  void run(std::initializer_list<Buffer> buffers,
           std::initializer_list<std::pair<std::string, std::int64_t>> values = {}) const {
    run(std::span<const Buffer>(buffers.begin(), buffers.size()),
        NamedValues(values.begin(), values.size()));
  }
  /// What a run may take, rather more than less: on one thread, its sizes as large as they can be.
  double estimated_seconds() const { return seconds_; }
  /// What replay() takes: the values of kernel().variables in order, and memory for kernel().temporaries.
  /// @throws Error (domain) as run()
  std::vector<std::int64_t> arguments(NamedValues values) const;
  std::vector<Buffer> temporaries(NamedValues values) const;
  /// The same without checks, for replays. `buffers` are those of all slots, kernel().temporaries among them; `values` are those
  /// of kernel().variables, in order; begin0 and end0 are set here.
  /// @pre what run() checks
  void replay(std::span<void* const> buffers, std::span<std::int64_t> values,
              Executor* executor = nullptr) const;

 private:
  void check(std::span<const Buffer> buffers, NamedValues values) const;
  void call(std::span<void* const> buffers, std::span<const std::int64_t> values,
            std::atomic<bool>& is_stopped, bool is_caller) const;
  std::int64_t value_of(const Variable& v, NamedValues values) const;
  std::int64_t number(const Int& size, NamedValues values) const;
  std::int64_t trip_count(std::span<const std::int64_t> values) const;

  std::shared_ptr<const Kernel> kernel_;
  std::shared_ptr<Program> program_;
  const Device* device_;
  std::uint64_t id_;
  std::vector<CompiledKernel> first_;  // what runs before it
  std::vector<std::vector<int>> positions_;  // for each of their variables, the position among those of this one; -1: begin0, end0
  int begin_ = -1, end_ = -1;               // positions of begin0 and end0 among the variables
  std::optional<std::int64_t> trip_count_;  // of the parallel loop, where it is a number
  std::int64_t iterations_at_once_ = 0;     // of the parallel loop, that are not long
  double seconds_ = 0;                      // that a run may take, at most
  bool has_chunks_, polls_;                 // the program
};

/// What kernels are made of on `device`: its target, or that target deterministic, as the flag DETERMINISTIC says.
Target target_of(const Device& device, bool deterministic = flags::DETERMINISTIC.get());

/// Lowers and compiles `ast` (a SINK) for `device`. The heuristic chooses opts where none are given.
/// @throws what compile_kernel and Device::compile throw
CompiledKernel compile(const LazyOp& ast, const Device& device = Device::default_device(),
                       std::optional<std::vector<Opt>> opts = std::nullopt,
                       bool deterministic = flags::DETERMINISTIC.get());

/// The executor that runs use: as many threads as the flag THREADS says (0: one a processor), until a host application
/// sets its own. @pre an executor that is set outlives its use
Executor& default_executor();
void set_default_executor(Executor* executor);  ///< null: back to Strata's own

}  // namespace strata
