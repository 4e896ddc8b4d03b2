// The table of devices, and running what they make.

#include "strata/runtime/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>

#include "strata/base/flags.h"
#include "strata/runtime/devices.h"
#include "strata/runtime/tbb_executor.h"

namespace strata {

namespace {

std::atomic<Executor*>& chosen_executor() {
  static std::atomic<Executor*> chosen{nullptr};
  return chosen;
}

}  // namespace

std::string Device::assembly(const Kernel& kernel) const {
  throw Error(ErrorKind::undefined,
              detail::message("[assembly] ", name(), " has no machine code of ", kernel.name));
}

std::span<const Device* const> Device::all() {
  static const std::array devices{&llvm_device(), &clang_device(), &interp_device(), &null_device()};
  return devices;
}

const Device& Device::get(std::string_view name) {
  std::string known;
  for (const Device* d : all()) {
    if (d->name() == name) return *d;
    known += detail::message(known.empty() ? "" : ", ", d->name());
  }
  throw Error(ErrorKind::domain,
              detail::message("[device] there is no device \"", name, "\": there are ", known));
}

const Device& Device::default_device() {
  const std::string wanted = flags::DEVICE.get();
  if (!wanted.empty()) return get(wanted);
  const auto devices = all();
  return **std::find_if(devices.begin(), devices.end(),
                        [](const Device* d) { return d->missing().empty(); });
}

Executor& default_executor() {
  if (Executor* const chosen = chosen_executor().load(std::memory_order_acquire)) return *chosen;
  static const std::unique_ptr<Executor> own =
      make_executor(static_cast<int>(std::clamp<std::int64_t>(flags::THREADS.get(), 0, 4096)));
  return *own;
}

void set_default_executor(Executor* executor) {
  chosen_executor().store(executor, std::memory_order_release);
}

// --- the ladder of STRATA_DEBUG ---

namespace {

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

void say_compiled(const Kernel& kernel, const Device& device) {
  const std::int64_t level = flags::DEBUG.get();
  if (level >= 3)
    say(detail::message("[", kernel.name, "] on ", device.name(), ", opts: ", text_of(kernel.opts),
                        "\n", kernel.axes));
  if (level >= 4) say(device.source(kernel));
  if (level >= 5) say(kernel.ast.text());
  if (level >= 6) say(kernel.uops.text() + kernel.proof.text() + "\n");
  if (level >= 7) {
    try {
      say(device.assembly(kernel));
    } catch (const Error& error) {
      say(detail::message(error.what(), "\n"));
    }
  }
}

/// Says how long a run took when it ends.
class RunReport {
 public:
  explicit RunReport(const Kernel& kernel) : kernel_(flags::DEBUG.get() >= 2 ? &kernel : nullptr) {}
  RunReport(const RunReport&) = delete;
  RunReport& operator=(const RunReport&) = delete;
  ~RunReport() {
    if (kernel_ == nullptr) return;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const KernelCost cost = cost_of(kernel_->ast);
    std::fprintf(stderr, "%-24s %10.2f us %9.2f GFLOP/s %9.2f GB/s\n", kernel_->name.c_str(),
                 seconds * 1e6, cost.operations / seconds * 1e-9, cost.bytes / seconds * 1e-9);
  }

 private:
  const Kernel* kernel_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

// --- compiled kernels ---

CompiledKernel::CompiledKernel(Kernel kernel, std::shared_ptr<Program> program)
    : kernel_(std::make_shared<const Kernel>(std::move(kernel))), program_(std::move(program)) {
  for (std::size_t k = 0; k < kernel_->variables.size(); ++k) {
    if (kernel_->variables[k].name() == "begin0") begin_ = static_cast<int>(k);
    if (kernel_->variables[k].name() == "end0") end_ = static_cast<int>(k);
  }
  if (kernel_->parallel && kernel_->parallel->is_number()) turns_ = kernel_->parallel->value();
}

void CompiledKernel::run(std::span<const Buffer> buffers, NamedValues values, Executor* executor) const {
  const Kernel& k = *kernel_;
  const auto value_of = [&](const Variable& v) {
    const auto it = std::find_if(values.begin(), values.end(),
                                 [&](const auto& known) { return known.first == v.name(); });
    STRATA_CHECK(it != values.end(), domain, "[run] the variable ", v.name(), " of ", k.name,
                 " has no value");
    STRATA_CHECK(v.min() <= it->second && it->second <= v.max(), domain, "[run] ", v.name(), " = ",
                 it->second, " is outside of its bounds [", v.min(), ", ", v.max(), "]");
    return it->second;
  };
  const auto number = [&](const Int& size) {
    if (size.is_number()) return size.value();
    Values known;
    for (const Variable& v : variables(size.expr()))
      if (!v.bound_value()) known.emplace_back(v, value_of(v));
    return evaluate(size.expr(), known);
  };
  STRATA_CHECK(buffers.size() >= k.buffers.size(), shape, "[run] ", k.name, " takes ",
               k.buffers.size(), " buffers, not ", buffers.size());
  SmallVec<void*, 8> memory;
  for (std::size_t slot = 0; slot < k.buffers.size(); ++slot) {
    const BufferUse& use = k.buffers[slot];
    memory.push_back(nullptr);
    if (use.dtype.is_none()) continue;
    STRATA_CHECK(buffers[slot].dtype() == use.dtype, shape, "[run] buffer ", slot, " of ", k.name,
                 " is of ", use.dtype.name(), ", not of ", buffers[slot].dtype().name());
    const std::int64_t size = number(use.size);
    STRATA_CHECK(buffers[slot].size() >= size, shape, "[run] buffer ", slot, " of ", k.name,
                 " has ", buffers[slot].size(), " elements, fewer than ", size);
    memory.back() = buffers[slot].data();
  }
  SmallVec<std::int64_t, 8> arguments;
  for (const Variable& v : k.variables) {
    const bool is_range = v.name() == "begin0" || v.name() == "end0";
    arguments.push_back(is_range ? 0 : v.bound_value() ? *v.bound_value() : value_of(v));
  }
  const RunReport report(k);
  replay({memory.data(), memory.size()}, {arguments.data(), arguments.size()}, executor);
}

void CompiledKernel::replay(std::span<void* const> buffers, std::span<std::int64_t> values,
                            Executor* executor) const {
  if (!kernel_->parallel) return program_->run(buffers, values);
  std::int64_t turns = turns_.value_or(0);
  if (!turns_) {
    Values known;
    for (std::size_t k = 0; k < kernel_->variables.size(); ++k)
      if (static_cast<int>(k) != begin_ && static_cast<int>(k) != end_ &&
          !kernel_->variables[k].bound_value())
        known.emplace_back(kernel_->variables[k], values[k]);
    turns = evaluate(kernel_->parallel->expr(), known);
  }
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    SmallVec<std::int64_t, 8> mine;
    for (const std::int64_t v : values) mine.push_back(v);
    if (begin_ >= 0) mine[static_cast<std::size_t>(begin_)] = begin;
    if (end_ >= 0) mine[static_cast<std::size_t>(end_)] = end;
    program_->run(buffers, {mine.data(), mine.size()});
  };
  if (turns <= 1) return part(0, turns);
  Executor& on = executor != nullptr ? *executor : default_executor();
  const std::int64_t chunks = on.concurrency() == 1 ? 1 : 4 * std::int64_t{on.concurrency()};
  on.parallel_for(0, turns, std::max<std::int64_t>((turns + chunks - 1) / chunks, 1), part);
}

CompiledKernel compile(const LazyOp& ast, const Device& device, std::optional<std::vector<Opt>> opts) {
  Kernel kernel = compile_kernel(ast, device.target(), std::move(opts));
  say_compiled(kernel, device);
  std::shared_ptr<Program> program = device.compile(kernel);
  return {std::move(kernel), std::move(program)};
}

}  // namespace strata
