// Device compiles a kernel (codegen/kernel.h) to a Program; CompiledKernel checks the arguments of a run, and runs the
// program on the threads of an executor. The engine compiles through compile(); a user picks a device by name.
//
//   CompiledKernel add = compile(kernel, Device::get("LLVM"));
//   add.run({output, a, b});                              // buffers by slot
//   add.run({output, a, b}, {{"n", 100}});                // and the kernel's variables
//
// The devices: LLVM compiles LLVM IR in the process. CLANG compiles C with the host's compiler, as a subprocess. OPENCL
// runs OpenCL C through the system's drivers. INTERP evaluates a kernel element by element (graph/interpret.h); tests
// use it as the oracle. NULL compiles and runs nothing, to measure everything else. All functions here are thread-safe.
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

/// The inputs of a compilation that are not in the source text.
struct SourceFacts {
  bool contract = true;              ///< Kernel::contract: a * b + c may become an fma
  double operations = 0, bytes = 0;  ///< KernelCost: tiny kernels are compiled without passes
};

/// A backend that compiles kernels. There is one object for each name, which lives as long as the process.
class Device {
 public:
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;  ///< "LLVM"
  virtual std::string_view text() const = 0;  ///< one line that describes the device
  /// Empty if the device can be used on this machine; else why it cannot, and what to install.
  virtual std::string missing() const { return {}; }
  /// The properties of this machine that code generation uses: vector width, registers, supported dtypes.
  virtual const Target& target() const = 0;
  /// The source of a kernel in the device's language. Its function has the kernel's name.
  virtual std::string source(const Kernel& kernel) const = 0;
  /// The machine code of a kernel as assembly text. @throws Error (undefined) if the device has none
  std::string assembly(const Kernel& kernel) const;
  /// The assembly text of a source that source() returned, in this or another process.
  /// @throws as assembly(), and Error with the compiler's message if it refuses the source
  virtual std::string assembly_of(std::string_view source, const SourceFacts& facts) const;
  /// Compiles a kernel, or loads its code from the disk cache. Program::run() takes a value for each of
  /// kernel.variables, in their order.
  /// @throws Error (undefined) with the compiler's message if it fails, (budget) out of time, memory or disk space
  virtual std::shared_ptr<Program> compile(const Kernel& kernel) const = 0;
  /// Whether the parallel loops of kernels run on the threads of an executor.
  virtual bool shares_loops() const { return false; }
  /// Whether threads other than the calling one may compile; false once the end of the process has begun.
  virtual bool compiles_on_threads() const { return true; }
  /// Many kernels were compiled, and the next one may be far: gives back memory that only compiling needs.
  virtual void finish_compiling() const {}

  /// The device of that name, whether or not it can be used here. @throws Error (domain) naming the devices that exist
  static const Device& get(std::string_view name);
  /// The device that the flag DEVICE names; else the first of LLVM, CLANG, INTERP and NULL that can be used here.
  /// OPENCL is not tried: opening its drivers takes long.
  static const Device& default_device();
  /// All devices, in the order of preference: LLVM, CLANG, OPENCL, INTERP, NULL.
  static std::span<const Device* const> all();

 protected:
  Device() = default;
};

/// A kernel with its compiled program. Copies share both.
class CompiledKernel {
 public:
  /// @param before the compiled kernels of kernel->before, in that order; each run runs them first
  /// @param device the device that compiled the program; null if unknown
  /// @param of_normals the compiled kernel->of_normals, which runs where it may; null: never
  CompiledKernel(std::shared_ptr<const Kernel> kernel, std::shared_ptr<Program> program,
                 std::vector<CompiledKernel> before = {}, const Device* device = nullptr,
                 std::shared_ptr<const CompiledKernel> of_normals = nullptr);
  CompiledKernel(Kernel kernel, std::shared_ptr<Program> program)
      : CompiledKernel(std::make_shared<const Kernel>(std::move(kernel)), std::move(program)) {}

  const Kernel& kernel() const { return *kernel_; }
  Program& program() const { return *program_; }
  const Device* device() const { return device_; }  ///< null if the constructor got none
  /// The compiled kernel().of_normals; null: there is none.
  const CompiledKernel* of_normals() const { return of_normals_.get(); }
  std::uint64_t id() const { return id_; }  ///< unique in the process; copies have the same

  /// Runs the kernel. buffers[k] is the buffer of slot k; `values` names a value for each variable that is not bound.
  /// The iterations of the parallel loop run on the threads of `executor` (null: default_executor()). Temporaries are
  /// allocated for the run.
  /// @throws Error (shape) if a buffer is missing, has another dtype or fewer elements than the kernel requires;
  ///   (domain) if a variable has no value or a value outside its bounds, or a buffer that the kernel writes is
  ///   read-only. Nothing has run then. Also whatever an InterruptCheck of this thread throws (base/interrupt.h), in a
  ///   long kernel; a part of it has run then.
  void run(std::span<const Buffer> buffers, NamedValues values = {}, Executor* executor = nullptr) const;
  void run(std::initializer_list<Buffer> buffers,
           std::initializer_list<std::pair<std::string, std::int64_t>> values = {}) const {
    run(std::span<const Buffer>(buffers.begin(), buffers.size()), NamedValues(values.begin(), values.size()));
  }
  /// An upper estimate of the time of a run: on one thread, with each variable at its maximum.
  double estimated_seconds() const { return seconds_; }
  /// The argument `values` of replay(): one value for each of kernel().variables, in their order. @throws Error
  /// (domain) as run()
  std::vector<std::int64_t> arguments(NamedValues values) const;
  /// The last buffers of replay(): one for each of kernel().temporaries. @throws Error (domain) as run(), (budget) as
  /// Buffer::allocate()
  std::vector<Buffer> temporaries(NamedValues values) const;
  /// The bytes of each of them. @throws Error (domain) as run()
  std::vector<std::int64_t> temporary_bytes(NamedValues values) const;
  /// run() without checks and without allocations of its own, for captures. `buffers` has the memory of all slots, the
  /// temporaries included; `values` is as of arguments(). begin0 and end0, the range of a chunk of the parallel loop,
  /// are set here.
  /// @pre all that run() checks
  void replay(std::span<void* const> buffers, std::span<std::int64_t> values, Executor* executor = nullptr) const;
  /// replay() without those kernels that run first (kernel().before) for which `is_done` is true. @pre the temporaries
  /// hold what these would store; `is_done` has an element for each kernel that runs first
  void replay_rest(std::span<void* const> buffers, std::span<std::int64_t> values, std::span<const char> is_done,
                   Executor* executor = nullptr) const;

 private:
  void check(std::span<const Buffer> buffers, NamedValues values) const;
  void replay_first(std::size_t k, std::span<void* const> buffers, std::span<std::int64_t> values,
                    Executor* executor) const;
  void replay_last(std::span<void* const> buffers, std::span<std::int64_t> values, Executor* executor) const;
  void replay_part(const CompiledKernel& part, const std::vector<int>& positions, std::span<void* const> buffers,
                   std::span<std::int64_t> values, Executor* executor) const;
  std::vector<int> positions_of(const CompiledKernel& part) const;
  bool finds_normals(std::span<void* const> buffers) const;
  void call(std::span<void* const> buffers, std::span<const std::int64_t> values, std::atomic<bool>& is_stopped,
            bool is_caller) const;
  std::int64_t value_of(const Variable& v, NamedValues values) const;
  std::int64_t number(const Int& size, NamedValues values) const;
  std::int64_t number(const Int& size, std::span<const std::int64_t> values) const;
  std::int64_t trip_count(std::span<const std::int64_t> values) const;

  std::shared_ptr<const Kernel> kernel_;
  std::shared_ptr<Program> program_;
  const Device* device_;
  std::uint64_t id_;
  std::vector<CompiledKernel> first_;  // run before this kernel
  // For each variable of each kernel of first_, its index among this kernel's variables; -1 for begin0 and end0.
  std::vector<std::vector<int>> positions_;
  std::shared_ptr<const CompiledKernel> of_normals_;
  std::vector<int> positions_of_normals_;
  int begin_ = -1, end_ = -1;               // variables begin0 and end0, by index; -1: absent
  std::optional<std::int64_t> trip_count_;  // of the parallel loop, if it is a number
  std::int64_t iterations_at_once_ = 0;     // most iterations between two interrupt checks
  double seconds_ = 0;                      // estimated_seconds()
  bool has_chunks_, polls_;                 // of the program
};

/// The target that kernels are compiled for: device.target(); if `deterministic`, its variant without fma contraction
/// and reordered sums, whose results are those of the interpreter, except for the rounding of functions such as exp.
Target target_of(const Device& device, bool deterministic = flags::DETERMINISTIC.get());

/// Lowers the graph `ast` (a SINK) to a kernel and compiles it for `device`. Without `opts` the heuristic chooses them;
/// `kept` has the slots of buffers whose packed elements are kept for later runs (heuristic_opts()).
/// @throws as compile_kernel() and Device::compile()
CompiledKernel compile(const LazyOp& ast, const Device& device = Device::default_device(),
                       std::optional<std::vector<Opt>> opts = std::nullopt,
                       bool deterministic = flags::DETERMINISTIC.get(), std::span<const int> kept = {});

/// Compiles the programs of `kernel`, of the kernels that run first, and of kernel->of_normals. @throws as
/// Device::compile()
CompiledKernel compile_programs(const std::shared_ptr<const Kernel>& kernel, const Device& device);

/// The executor of runs that name none, and of the compilation of several kernels (realize()).
/// Strata's own has as many threads as the flag THREADS says at the first use (0: one for each processor).
/// @throws Error (domain) for a negative THREADS
Executor& default_executor();
/// Sets an executor of the host application as the default; null: back to Strata's own. @pre it outlives all runs that
/// use it
void set_default_executor(Executor* executor);

}  // namespace strata
