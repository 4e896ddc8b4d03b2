// The class KernelLog, which records the kernels that realize() runs.
#include <mutex>

#include "python/src/program_casters.h"
#include "strata/base/fork.h"
#include "strata/engine/realize.h"

namespace strata::python {

namespace {

// Guards the kernels of all logs. The GIL does not: a thread runs kernels without it, while another one reads the log
// or forks.
constinit std::mutex heard_mutex;
const ForkHook heard_hook(ForkOrder::kernel_cache, [] { heard_mutex.lock(); }, [] { heard_mutex.unlock(); });

/// The recorded kernels.
struct HeardKernels {
  std::vector<RanKernel> kernels;  // guarded by heard_mutex
};

/// Records the kernels of its thread, from its construction on.
class KernelListener final : public RunListener {
 public:
  explicit KernelListener(std::shared_ptr<HeardKernels> heard) : heard_(std::move(heard)) {}
  void ran(RanKernel kernel) override {
    const std::lock_guard lock(heard_mutex);
    heard_->kernels.push_back(std::move(kernel));
  }

 private:
  std::shared_ptr<HeardKernels> heard_;
};

/// The active listeners of this thread. NOTE: RunListeners must nest by scope, which Python does not guarantee. So only
/// the innermost log of a thread can be stopped.
thread_local std::vector<std::pair<const void*, std::unique_ptr<KernelListener>>> thread_listeners;

class KernelLog {
 public:
  void start() { thread_listeners.emplace_back(this, std::make_unique<KernelListener>(heard_)); }
  void stop() {
    STRATA_CHECK(!thread_listeners.empty() && thread_listeners.back().first == this &&
                     RunListener::current() == thread_listeners.back().second.get(),
                 undefined, "[KernelLog] the log is not the last log that was started on this thread");
    thread_listeners.pop_back();
  }
  std::vector<RanKernel> kernels() const {
    const std::lock_guard lock(heard_mutex);
    return heard_->kernels;
  }

 private:
  std::shared_ptr<HeardKernels> heard_ = std::make_shared<HeardKernels>();
};

}  // namespace

void bind_kernel_log(py::module_& m) {
  py::class_<RanKernel>(m, "RanKernel", "A run of a kernel, with its arguments.")
      .def_property_readonly(
          "kernel", [](const RanKernel& r) { return kernel_in(r.kernel); }, "The Kernel that ran.")
      .def_readonly("buffers", &RanKernel::buffers, "The buffers of the run, by slot.")
      .def_property_readonly(
          "values",
          [](const RanKernel& r) {
            py::dict out;
            for (const auto& [name, value] : r.values) out[py::str(name)] = value;
            return out;
          },
          "The values of the kernel's variables: a dict from names to integers.")
      .def_readonly("seconds", &RanKernel::seconds, "The duration of the run in seconds.")
      .def("__repr__", [](const RanKernel& r) { return detail::message("<RanKernel ", r.kernel->kernel().name, ">"); });
  py::class_<KernelLog>(m, "KernelLog",
                        "Records the kernels that realize() runs on this thread, in order.\n\n"
                        ">>> with KernelLog() as log:\n"
                        "...     y = (tensor([1.0, 2.0]) + 1).realize()\n"
                        ">>> len(log.kernels)\n"
                        "1")
      .def(py::init<>())
      .def("start", &KernelLog::start, "Starts recording on this thread.")
      .def("stop", &KernelLog::stop,
           "Stops recording. Raises UndefinedError unless the log is the last log that was started "
           "on this thread.")
      .def("__enter__",
           [](const py::object& self) {
             self.cast<KernelLog&>().start();
             return self;
           })
      .def("__exit__", [](KernelLog& log, const py::args&) { log.stop(); })
      .def_property_readonly("kernels", &KernelLog::kernels, "The recorded kernels, in order: a list of RanKernel.");
}

}  // namespace strata::python
