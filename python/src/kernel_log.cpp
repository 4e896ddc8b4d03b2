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
  py::class_<RanKernel>(m, "RanKernel", "A kernel as it ran.")
      .def_property_readonly(
          "kernel", [](const RanKernel& r) { return kernel_in(r.kernel); }, "What ran.")
      .def_readonly("buffers", &RanKernel::buffers, "By slot.")
      .def_property_readonly(
          "values",
          [](const RanKernel& r) {
            py::dict out;
            for (const auto& [name, value] : r.values) out[py::str(name)] = value;
            return out;
          },
          "The values of variables by name.")
      .def_readonly("seconds", &RanKernel::seconds, "How long it ran.")
      .def("__repr__", [](const RanKernel& r) { return detail::message("<RanKernel ", r.kernel->kernel().name, ">"); });
  py::class_<KernelLog>(m, "KernelLog",
                        "The kernels that this thread runs, in order.\n\n"
                        ">>> with KernelLog() as log:\n...     y = (tensor([1.0, 2.0]) + "
                        "1).realize()\n>>> len(log.kernels)\n1")
      .def(py::init<>())
      .def("start", &KernelLog::start, "Listens from now on.")
      .def("stop", &KernelLog::stop,
           "Listens no longer. Raises UndefinedError unless it was started last on this thread.")
      .def("__enter__",
           [](const py::object& self) {
             self.cast<KernelLog&>().start();
             return self;
           })
      .def("__exit__", [](KernelLog& log, const py::args&) { log.stop(); })
      .def_property_readonly("kernels", &KernelLog::kernels, "What ran until now, in order.");
}

}  // namespace strata::python
