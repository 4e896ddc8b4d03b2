#include "strata/runtime/opencl_library.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/fork.h"
#include "strata/base/interrupt.h"
#include "strata/runtime/scarcity.h"
#include "strata/runtime/shared_object.h"

namespace strata {

namespace {

// clang-format off
/// The functions that are called. Every loader exports them.
#define STRATA_OPENCL_CALLS(CALL)                                                                          \
  CALL(clGetPlatformIDs)   CALL(clGetDeviceIDs)            CALL(clGetDeviceInfo)     CALL(clCreateContext) \
  CALL(clReleaseContext)   CALL(clCreateCommandQueue)      CALL(clReleaseCommandQueue)                     \
  CALL(clBuildProgram)     CALL(clCreateProgramWithSource) CALL(clGetProgramBuildInfo)                     \
  CALL(clReleaseProgram)   CALL(clCreateKernel)            CALL(clReleaseKernel)     CALL(clSetKernelArg)  \
  CALL(clCreateBuffer)     CALL(clReleaseMemObject)        CALL(clEnqueueNDRangeKernel)                    \
  CALL(clEnqueueMapBuffer) CALL(clEnqueueUnmapMemObject)   CALL(clWaitForEvents)     CALL(clReleaseEvent)  \
  CALL(clFinish)           CALL(clGetKernelWorkGroupInfo)  CALL(clEnqueueReadBuffer) CALL(clEnqueueWriteBuffer) \
  CALL(clGetPlatformInfo)

#define STRATA_OPENCL_ERRORS(ERROR)                                                                              \
  ERROR(CL_DEVICE_NOT_FOUND)             ERROR(CL_DEVICE_NOT_AVAILABLE)      ERROR(CL_COMPILER_NOT_AVAILABLE)    \
  ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE) ERROR(CL_OUT_OF_RESOURCES)         ERROR(CL_OUT_OF_HOST_MEMORY)        \
  ERROR(CL_BUILD_PROGRAM_FAILURE)        ERROR(CL_MAP_FAILURE)               ERROR(CL_MISALIGNED_SUB_BUFFER_OFFSET) \
  ERROR(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)                        ERROR(CL_COMPILE_PROGRAM_FAILURE)   \
  ERROR(CL_LINKER_NOT_AVAILABLE)         ERROR(CL_LINK_PROGRAM_FAILURE)      ERROR(CL_INVALID_VALUE)             \
  ERROR(CL_INVALID_PLATFORM)             ERROR(CL_INVALID_DEVICE)            ERROR(CL_INVALID_CONTEXT)           \
  ERROR(CL_INVALID_COMMAND_QUEUE)        ERROR(CL_INVALID_HOST_PTR)          ERROR(CL_INVALID_MEM_OBJECT)        \
  ERROR(CL_INVALID_BINARY)               ERROR(CL_INVALID_BUILD_OPTIONS)     ERROR(CL_INVALID_PROGRAM)           \
  ERROR(CL_INVALID_PROGRAM_EXECUTABLE)   ERROR(CL_INVALID_KERNEL_NAME)       ERROR(CL_INVALID_KERNEL_DEFINITION) \
  ERROR(CL_INVALID_KERNEL)               ERROR(CL_INVALID_ARG_INDEX)         ERROR(CL_INVALID_ARG_VALUE)         \
  ERROR(CL_INVALID_ARG_SIZE)             ERROR(CL_INVALID_KERNEL_ARGS)       ERROR(CL_INVALID_WORK_DIMENSION)    \
  ERROR(CL_INVALID_WORK_GROUP_SIZE)      ERROR(CL_INVALID_WORK_ITEM_SIZE)    ERROR(CL_INVALID_GLOBAL_OFFSET)     \
  ERROR(CL_INVALID_EVENT_WAIT_LIST)      ERROR(CL_INVALID_EVENT)             ERROR(CL_INVALID_OPERATION)         \
  ERROR(CL_INVALID_BUFFER_SIZE)          ERROR(CL_INVALID_GLOBAL_WORK_SIZE)  ERROR(CL_INVALID_COMPILER_OPTIONS)
// clang-format on

std::string error_name(cl_int code) {
  struct Row {
    cl_int code;
    std::string_view name;
  };
#define STRATA_ROW(name) {name, #name},
  static constexpr Row kRows[] = {STRATA_OPENCL_ERRORS(STRATA_ROW)};
#undef STRATA_ROW
#undef STRATA_OPENCL_ERRORS
  constexpr cl_int no_platform = -1001;  // an error code of the loader, which has no row
  if (code == no_platform) return "CL_PLATFORM_NOT_FOUND_KHR";
  const auto* const row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.code == code; });
  return row != std::end(kRows) ? std::string(row->name) : detail::message("error ", code);
}

/// @throws Error naming the call and the code, unless that is CL_SUCCESS
void check(cl_int code, std::string_view call) {
  const bool is_full =
      code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY;
  STRATA_CHECK(!is_full, budget, "[opencl] ", call, ": ", error_name(code));
  STRATA_CHECK(code == CL_SUCCESS, undefined, "[opencl] ", call, ": ", error_name(code));
}

struct Calls {
#define STRATA_MEMBER(name) decltype(&::name) name = nullptr;
  STRATA_OPENCL_CALLS(STRATA_MEMBER)
#undef STRATA_MEMBER

  explicit Calls(const SharedObject& loader) {
#define STRATA_FIND(name) name = loader.function<decltype(&::name)>(#name);
    STRATA_OPENCL_CALLS(STRATA_FIND)
#undef STRATA_FIND
  }
};
#undef STRATA_OPENCL_CALLS

/// The text that an OpenCL query gives: `ask` is called for the size, which includes the final 0, then for the text.
template <class Ask>
std::string words_of(const Ask& ask) {
  std::size_t size = 0;
  ask(0, nullptr, &size);
  std::string out(size, '\0');
  if (size > 0) ask(size, out.data(), nullptr);
  out.resize(std::min(out.find('\0'), out.size()));
  return out;
}

/// An owned cl_mem, cl_kernel, ..., with its release function.
template <class T>
using Handle = std::unique_ptr<std::remove_pointer_t<T>, cl_int (*)(T)>;

/// The chosen device with its context and queue.
struct Session {
  std::shared_ptr<const SharedObject> loader;
  Calls cl;
  cl_device_id device;
  Handle<cl_context> context;
  Handle<cl_command_queue> queue;                // an in-order queue, which all threads share
  std::uint64_t generation = fork_generation();  // identifies the process that opened the device
  bool is_gpu = false;
  bool shares_memory = false;  // with the host
  std::size_t units = 1;

  template <class T>
  T info(cl_device_info what) const {
    T out{};
    check(cl.clGetDeviceInfo(device, what, sizeof(T), &out, nullptr), "clGetDeviceInfo");
    return out;
  }
};

/// @throws Error (undefined) in a child by fork() of the process that opened the drivers: their threads exist only in
/// the parent
void check_not_forked(const Session& session) {
  STRATA_CHECK(session.generation == fork_generation(), undefined,
               "[opencl] this process is a child of fork(), and the parent process had opened the "
               "drivers. The drivers do not work in a child: use another device here, or start the "
               "child by spawn or exec");
}

class Built final : public OpenClProgram {
 public:
  Built(std::shared_ptr<const Session> session, Handle<cl_program> program, Handle<cl_kernel> kernel)
      : session_(std::move(session)), cl_(session_->cl), program_(std::move(program)), kernel_(std::move(kernel)) {
    check(cl_.clGetKernelWorkGroupInfo(kernel_.get(), session_->device, CL_KERNEL_WORK_GROUP_SIZE,
                                       sizeof(most_in_group_), &most_in_group_, nullptr),
          "clGetKernelWorkGroupInfo");
    most_in_group_ = std::max<std::size_t>(most_in_group_, 1);
  }

  void run(std::span<const OpenClMemory> memory, std::span<const OpenClInteger> integers, std::int64_t instances,
           std::int64_t at_once) override {
    check_not_forked(*session_);
    std::vector<Handle<cl_mem>> buffers;
    for (const OpenClMemory& m : memory) buffers.push_back(buffer(m));
    // If anything throws, wait until the device no longer uses the caller's memory.
    struct AtEnd {
      const Built& program;
      bool is_done = false;
      ~AtEnd() {
        if (!is_done) program.cl_.clFinish(program.queue());
      }
    } end{*this};
    launch_all(buffers, integers, static_cast<std::size_t>(instances), static_cast<std::size_t>(at_once));
    for (std::size_t k = 0; k < memory.size(); ++k)
      if (buffers[k] && memory[k].is_written) read_back(buffers[k].get(), memory[k]);
    end.is_done = true;
  }

 private:
  cl_command_queue queue() const { return session_->queue.get(); }

  /// A buffer on the host's memory itself, if the device shares the memory; else a copy.
  Handle<cl_mem> buffer(const OpenClMemory& m) const {
    if (m.bytes == 0) return {nullptr, cl_.clReleaseMemObject};
    const cl_mem_flags access = m.is_written ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY;
    const bool shares = session_->shares_memory;
    cl_int code = CL_SUCCESS;
    Handle<cl_mem> out(cl_.clCreateBuffer(session_->context.get(), access | (shares ? CL_MEM_USE_HOST_PTR : 0), m.bytes,
                                          shares ? m.data : nullptr, &code),
                       cl_.clReleaseMemObject);
    check(code, "clCreateBuffer");
    if (!shares)
      check(cl_.clEnqueueWriteBuffer(queue(), out.get(), CL_TRUE, 0, m.bytes, m.data, 0, nullptr, nullptr),
            "clEnqueueWriteBuffer");
    return out;
  }

  void launch_all(std::span<const Handle<cl_mem>> buffers, std::span<const OpenClInteger> integers,
                  std::size_t instances, std::size_t at_once) {
    const std::size_t group = group_for(instances);
    const std::size_t each = std::max(std::min(at_once, instances) / group, std::size_t{1}) * group;
    for (std::size_t begin = 0; begin < instances; begin += each) {
      const std::size_t left = (instances - begin + group - 1) / group * group;
      if (begin != 0) check_interrupt();
      wait(launched(buffers, integers, begin, std::min(each, left), group));
    }
  }
  Handle<cl_event> launched(std::span<const Handle<cl_mem>> buffers, std::span<const OpenClInteger> integers,
                            std::size_t begin, std::size_t count, std::size_t group) {
    const std::lock_guard lock(mutex_);  // arguments are a state of the kernel until the launch
    cl_uint position = 0;
    for (const Handle<cl_mem>& b : buffers) {
      cl_mem memory = b.get();
      set_argument(position++, sizeof(memory), &memory);
    }
    for (const OpenClInteger& i : integers) {
      const cl_long wide = i.value;
      const auto narrow = static_cast<cl_int>(i.value);
      if (i.is_wide)
        set_argument(position++, sizeof(wide), &wide);
      else
        set_argument(position++, sizeof(narrow), &narrow);
    }
    cl_event event = nullptr;
    check(cl_.clEnqueueNDRangeKernel(queue(), kernel_.get(), 1, &begin, &count, &group, 0, nullptr, &event),
          "clEnqueueNDRangeKernel");
    return {event, cl_.clReleaseEvent};
  }
  /// The size of a work-group: a power of two, because drivers for CPUs compile a kernel for each size; on a CPU small
  /// enough that each compute unit gets several groups.
  std::size_t group_for(std::size_t instances) const {
    constexpr std::size_t most = 64, beyond = std::numeric_limits<cl_int>::max() - most;
    if (instances > beyond) return 1;  // rounded up to whole groups, the index could exceed an int
    const std::size_t wanted = session_->is_gpu ? instances : instances / (4 * session_->units);
    const std::size_t limit = std::min({wanted, most, most_in_group_});
    std::size_t group = 1;
    while (group * 2 <= limit) group *= 2;
    return group;
  }
  void set_argument(cl_uint position, std::size_t size, const void* value) const {
    check(cl_.clSetKernelArg(kernel_.get(), position, size, value), "clSetKernelArg");
  }

  void wait(const Handle<cl_event>& event) const {
    cl_event one = event.get();
    check(cl_.clWaitForEvents(1, &one), "clWaitForEvents");
  }
  void read_back(cl_mem memory, const OpenClMemory& to) const {
    if (!session_->shares_memory)
      return check(cl_.clEnqueueReadBuffer(queue(), memory, CL_TRUE, 0, to.bytes, to.data, 0, nullptr, nullptr),
                   "clEnqueueReadBuffer");
    // With shared memory, mapping makes the device's writes visible to the host.
    cl_int code = CL_SUCCESS;
    void* const mapped =
        cl_.clEnqueueMapBuffer(queue(), memory, CL_TRUE, CL_MAP_READ, 0, to.bytes, 0, nullptr, nullptr, &code);
    check(code, "clEnqueueMapBuffer");
    cl_event event = nullptr;
    check(cl_.clEnqueueUnmapMemObject(queue(), memory, mapped, 0, nullptr, &event), "clEnqueueUnmapMemObject");
    wait({event, cl_.clReleaseEvent});
  }

  std::shared_ptr<const Session> session_;
  const Calls& cl_;
  Handle<cl_program> program_;
  Handle<cl_kernel> kernel_;
  std::size_t most_in_group_ = 1;
  std::mutex mutex_;
};

class Library final : public OpenClLibrary {
 public:
  explicit Library(std::shared_ptr<const Session> session) : session_(std::move(session)) {}

  std::string device_name() const override {
    return words_of([this](std::size_t room, char* to, std::size_t* size) {
      check(session_->cl.clGetDeviceInfo(session_->device, CL_DEVICE_NAME, room, to, size), "clGetDeviceInfo");
    });
  }
  bool has_double() const override { return session_->info<cl_device_fp_config>(CL_DEVICE_DOUBLE_FP_CONFIG) != 0; }

  std::unique_ptr<OpenClProgram> build(const std::string& source, const std::string& name) const override {
    check_not_forked(*session_);
    const Calls& cl = session_->cl;
    const char* text = source.c_str();
    cl_int code = CL_SUCCESS;
    Handle<cl_program> program(cl.clCreateProgramWithSource(session_->context.get(), 1, &text, nullptr, &code),
                               cl.clReleaseProgram);
    check(code, "clCreateProgramWithSource");
    code = cl.clBuildProgram(program.get(), 1, &session_->device, options().c_str(), nullptr, nullptr);
    STRATA_CHECK(code == CL_SUCCESS, undefined, "[opencl] clBuildProgram: ", error_name(code), "\n",
                 log_of(program.get()));
    Handle<cl_kernel> kernel(cl.clCreateKernel(program.get(), name.c_str(), &code), cl.clReleaseKernel);
    check(code, "clCreateKernel");
    return std::make_unique<Built>(session_, std::move(program), std::move(kernel));
  }

 private:
  std::string options() const {
    const auto config = session_->info<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG);
    const bool rounds = (config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    return detail::message("-cl-std=CL1.2", rounds ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
  }
  std::string log_of(cl_program program) const {
    return words_of([&](std::size_t room, char* to, std::size_t* size) {
      check(session_->cl.clGetProgramBuildInfo(program, session_->device, CL_PROGRAM_BUILD_LOG, room, to, size),
            "clGetProgramBuildInfo");
    });
  }

  std::shared_ptr<const Session> session_;
};

/// The result of OpenClLibrary::open() in this process, once it was tried. NOTE: never destroyed, because drivers may
/// use it at the end of the process.
struct SharedDrivers {
  std::mutex mutex;
  std::atomic<bool> is_opened{false};
  std::unique_ptr<const OpenClLibrary> library;
  std::string why;  // the error, if `library` is null
};
SharedDrivers& shared_drivers() {
  static SharedDrivers& shared = *new SharedDrivers;
  return shared;
}
const ForkHook drivers_hook(
    ForkOrder::backends, [] { shared_drivers().mutex.lock(); }, [] { shared_drivers().mutex.unlock(); });

std::vector<cl_platform_id> all_platforms(const Calls& cl) {
  cl_uint count = 0;
  check(cl.clGetPlatformIDs(0, nullptr, &count), "clGetPlatformIDs");
  std::vector<cl_platform_id> out(count);
  check(cl.clGetPlatformIDs(count, out.data(), nullptr), "clGetPlatformIDs");
  return out;
}

OpenClPlatform described(const Calls& cl, cl_platform_id platform) {
  const auto say = [&](cl_platform_info what) {
    return words_of([&](std::size_t room, char* to, std::size_t* size) {
      check(cl.clGetPlatformInfo(platform, what, room, to, size), "clGetPlatformInfo");
    });
  };
  OpenClPlatform out{say(CL_PLATFORM_NAME), say(CL_PLATFORM_VERSION), {}};
  cl_uint count = 0;
  if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) return out;
  std::vector<cl_device_id> devices(count);
  check(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr), "clGetDeviceIDs");
  for (cl_device_id device : devices)
    out.devices.push_back(words_of([&](std::size_t room, char* to, std::size_t* size) {
      check(cl.clGetDeviceInfo(device, CL_DEVICE_NAME, room, to, size), "clGetDeviceInfo");
    }));
  return out;
}

/// The first GPU of any platform, else the first device of the first platform that has one.
cl_device_id chosen_device(const Calls& cl) {
  const std::vector<cl_platform_id> platforms = all_platforms(cl);
  for (const cl_device_type type : std::initializer_list<cl_device_type>{CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL})
    for (cl_platform_id platform : platforms) {
      cl_device_id device = nullptr;
      if (cl.clGetDeviceIDs(platform, type, 1, &device, nullptr) == CL_SUCCESS) return device;
    }
  check(CL_DEVICE_NOT_FOUND, "clGetDeviceIDs");
  return nullptr;
}

std::shared_ptr<const Session> opened_session(const char* file) {
  std::shared_ptr<const SharedObject> loader = SharedObject::open(file);
  const Calls cl(*loader);
  cl_device_id device = chosen_device(cl);
  cl_int code = CL_SUCCESS;
  Handle<cl_context> context(cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code), cl.clReleaseContext);
  check(code, "clCreateContext");
  Handle<cl_command_queue> queue(cl.clCreateCommandQueue(context.get(), device, 0, &code), cl.clReleaseCommandQueue);
  check(code, "clCreateCommandQueue");
  Session out{std::move(loader), cl, device, std::move(context), std::move(queue)};
  out.is_gpu = (out.info<cl_device_type>(CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU) != 0;
  out.shares_memory = out.info<cl_bool>(CL_DEVICE_HOST_UNIFIED_MEMORY) != CL_FALSE;
  out.units = std::max<std::size_t>(out.info<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS), 1);
  return std::make_shared<const Session>(std::move(out));
}

/// Checks conditions under which PoCL aborts the process: it cannot read the processors from /sys, e.g. in a chroot, or
/// the system refuses it one thread for each processor. @throws Error (undefined)
void check_surroundings() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  STRATA_CHECK(fs::exists("/sys/devices/system/cpu", ignored) || !fs::exists("/proc/self", ignored), undefined,
               "[opencl] /sys is not mounted, and drivers would end the process: mount -t sysfs sysfs /sys");
  const int wanted = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  const int granted = startable_threads(wanted);
  STRATA_CHECK(granted == wanted, undefined, "[opencl] the system grants ", granted, " of ", wanted,
               " threads (ulimit -u, or a container's limit), and drivers would end the process");
}

/// The end of the error message: the packages to install, or the limit of the address space if that is the reason.
std::string advice() {
  const Remedy remedy = OpenClLibrary::remedy();
  if (remedy.packages.empty()) return address_space_limit(": ");
  return ": install a driver and its loader; for processors: " + remedy.text();
}

/// Returns f(); adds advice() to its errors.
template <class F>
auto with_remedy(const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw Error(ErrorKind::undefined, detail::message(error.what(), advice()));
  }
}

}  // namespace

std::unique_ptr<const OpenClLibrary> OpenClLibrary::open(const char* file) {
  check_surroundings();
  return with_remedy([&] { return std::make_unique<Library>(opened_session(file)); });
}

std::vector<OpenClPlatform> OpenClLibrary::platforms(const char* file) {
  check_surroundings();
  return with_remedy([&] {
    const std::shared_ptr<const SharedObject> loader = SharedObject::open(file);
    const Calls cl(*loader);
    std::vector<OpenClPlatform> out;
    for (cl_platform_id platform : all_platforms(cl)) out.push_back(described(cl, platform));
    return out;
  });
}

Remedy OpenClLibrary::remedy() {
  if (!address_space_limit().empty() || startable_threads(1) == 0) return {};
  return {"ocl-icd-libopencl1 pocl-opencl-icd"};
}

const OpenClLibrary& OpenClLibrary::shared() {
  SharedDrivers& shared = shared_drivers();
  if (!shared.is_opened.load(std::memory_order_acquire)) {
    const std::lock_guard lock(shared.mutex);
    if (!shared.is_opened) {
      try {
        shared.library = open();
      } catch (const Error& error) {
        shared.why = error.what();
      }
      shared.is_opened.store(true, std::memory_order_release);
    }
  }
  STRATA_CHECK(shared.library != nullptr, undefined, shared.why);
  return *shared.library;
}

}  // namespace strata
