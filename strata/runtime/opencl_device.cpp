// The device OPENCL: renders OpenCL C and builds it with the system's driver. Iterations of the parallel loop are
// work-items.

#include "strata/base/int_math.h"
#include "strata/codegen/estimate.h"
#include "strata/render/kernel_source.h"
#include "strata/runtime/devices.h"
#include "strata/runtime/opencl_library.h"
#include "strata/runtime/order_program.h"

namespace strata {

namespace {

/// The most scratch memory of a work-item. Drivers for CPUs place it on the stacks of their threads.
constexpr std::int64_t kMostScratchBytes = std::int64_t{1} << 20;

/// About how many seconds a launch may take, because a running launch cannot be interrupted.
constexpr double kLaunch = 0.05;

class OpenClDeviceProgram final : public Program {
 public:
  OpenClDeviceProgram(const Kernel& kernel, std::unique_ptr<OpenClProgram> program)
      : name_(kernel.name),
        buffers_(kernel.buffers),
        variables_(kernel.variables),
        instances_(kernel.parallel.value_or(1)),
        at_once_(iterations_within(kLaunch, cost_of(kernel.ast), instances_.vmax())),
        program_(std::move(program)) {
    std::vector<bool> is_parameter(buffers_.size());
    for (const UOp u : kernel.uops) {
      if (u.op() == UOps::DEFINE_GLOBAL) is_parameter[static_cast<std::size_t>(std::get<Global>(u.arg()).slot)] = true;
      if (u.op() == UOps::DEFINE_VAR) is_wide_.push_back(u.dtype() == dtypes::int64);
    }
    for (std::size_t slot = 0; slot < buffers_.size(); ++slot)
      if (is_parameter[slot]) slots_.push_back(slot);
  }

  const std::string& name() const override { return name_; }
  void run(std::span<void* const> buffers, std::span<const std::int64_t> values) override {
    STRATA_CHECK(buffers.size() >= buffers_.size() && values.size() == variables_.size(), shape, "[run] ", name_,
                 " takes ", buffers_.size(), " buffers and ", variables_.size(), " values, not ", buffers.size(),
                 " and ", values.size());
    SmallVec<OpenClMemory, 8> memory;
    for (const std::size_t slot : slots_)
      memory.push_back({buffers[slot], bytes(slot, values), buffers_[slot].written});
    SmallVec<OpenClInteger, 8> integers;
    for (std::size_t k = 0; k < is_wide_.size(); ++k)
      integers.push_back({values[k], is_wide_[k]});  // the variables of the list of UOps are the first values
    const std::int64_t instances = std::max<std::int64_t>(number(instances_, values), 1);
    program_->run({memory.data(), memory.size()}, {integers.data(), integers.size()}, instances, at_once_);
  }

 private:
  std::int64_t number(const Int& size, std::span<const std::int64_t> values) const {
    if (size.is_number()) return size.value();
    Values known;
    for (std::size_t k = 0; k < variables_.size(); ++k)
      if (!variables_[k].bound_value()) known.emplace_back(variables_[k], values[k]);
    return evaluate(size.expr(), known);
  }
  std::size_t bytes(std::size_t slot, std::span<const std::int64_t> values) const {
    const BufferUse& use = buffers_[slot];
    const std::int64_t size = number(use.size, values);
    std::int64_t out = 0;
    STRATA_CHECK(try_mul(size, static_cast<std::int64_t>(use.dtype.itemsize()), out), overflow, "[run] buffer ", slot,
                 " of ", name_, ", of ", size, " elements");
    return static_cast<std::size_t>(out);
  }

  std::string name_;
  std::vector<BufferUse> buffers_;
  std::vector<Variable> variables_;
  Int instances_;
  std::int64_t at_once_;
  std::unique_ptr<OpenClProgram> program_;
  std::vector<std::size_t> slots_;  // the slots that are parameters of the kernel
  std::vector<bool> is_wide_;       // for each variable of the list: it has 64 bits
};

class OpenClDevice final : public Device {
 public:
  std::string_view name() const override { return "OPENCL"; }
  std::string_view text() const override {
    return "OpenCL C, for the first GPU or other device of the system's loader";
  }
  std::string missing() const override {
    try {
      OpenClLibrary::shared();
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }
  const Target& target() const override { return target_; }
  std::string source(const Kernel& kernel) const override {
    return kernel.order ? order_source(*kernel.order) : kernel_to_opencl(kernel, kernel.name);
  }
  std::shared_ptr<Program> compile(const Kernel& kernel) const override {
    const OpenClLibrary& library = OpenClLibrary::shared();
    check(kernel, library);
    return std::make_shared<OpenClDeviceProgram>(kernel,
                                                 library.build(kernel_to_opencl(kernel, kContentName), kContentName));
  }

 private:
  static void check(const Kernel& kernel, const OpenClLibrary& library) {
    std::int64_t scratch = 0;
    for (const UOp u : kernel.uops) {
      STRATA_CHECK(u.dtype().scalar() != dtypes::float64 || library.has_double(), undefined, "[opencl] ",
                   library.device_name(), " has no f64, which ", kernel.name, " needs");
      if (const auto* local = std::get_if<Local>(&u.arg()))
        scratch += local->size * static_cast<std::int64_t>(u.dtype().pointee().itemsize());
    }
    STRATA_CHECK(scratch <= kMostScratchBytes, budget, "[opencl] ", kernel.name, " has ", scratch,
                 " bytes of scratch memory an instance, more than ", kMostScratchBytes);
  }

  Target target_ = Target::of_instances();
};

}  // namespace

const Device& opencl_device() {
  static const OpenClDevice& device = *new OpenClDevice;  // never destroyed: threads may outlive it
  return device;
}

}  // namespace strata
