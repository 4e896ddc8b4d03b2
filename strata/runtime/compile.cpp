// compile(): runs the passes on a kernel, then the device's compiler; and the output of STRATA_DEBUG.
#include <atomic>
#include <cstdio>

#include "strata/base/flags.h"
#include "strata/expr/rewrite_text.h"
#include "strata/runtime/device.h"
#include "strata/runtime/devices.h"
#include "strata/runtime/order_program.h"
#include "strata/runtime/trace_kernel.h"

namespace strata {

// --- the levels of STRATA_DEBUG ---

namespace {

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

/// Prints the devices once, when the first kernel is compiled.
void say_devices(const Device& device) {
  static constinit std::atomic<bool> is_said{false};  // no lock: other threads need not wait for the output
  if (is_said.exchange(true)) return;
  for (const Device* d : Device::all()) {
    // OPENCL is skipped, as in default_device().
    const std::string missing = d == &device || d == &opencl_device() ? "" : d->missing();
    say(detail::message("[device] ", d->name(), ": ", missing.empty() ? d->text() : missing,
                        d == &device ? ", which runs kernels now" : "", "\n"));
  }
  say(detail::message("[device] threads: ", default_executor().concurrency(), "\n"));
}

void say_compiled(const Kernel& kernel, const Device& device) {
  const std::int64_t level = flags::DEBUG.get();
  if (level >= 3)
    say(detail::message("[", kernel.name, "] on ", device.name(),
                        ", opts: ", kernel.opts.empty() ? "none" : text_of(kernel.opts), "\n", kernel.axes));
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

}  // namespace

Target target_of(const Device& device, bool deterministic) {
  Target out = deterministic ? device.target().deterministic() : device.target();
  if (device.shares_loops()) out.threads = default_executor().concurrency();
  return out;
}

CompiledKernel compile(const LazyOp& ast, const Device& device, std::optional<std::vector<Opt>> opts,
                       bool deterministic, std::span<const int> kept) {
  if (flags::DEBUG.get() >= 1) say_devices(device);
  std::optional<RewriteLog> rewrites;
  if (flags::DEBUG.get() >= 5) rewrites.emplace(say);
  TracedCompile traced;
  const auto whole = std::make_shared<const Kernel>(
      compile_kernel(ast, target_of(device, deterministic), std::move(opts), nullptr, kept));
  CompiledKernel out = compile_programs(whole, device);
  traced.done(out);
  return out;
}

CompiledKernel compile_programs(const std::shared_ptr<const Kernel>& kernel, const Device& device) {
  std::vector<CompiledKernel> before;
  for (const auto& first : kernel->before) before.push_back(compile_programs(first, device));
  std::shared_ptr<const CompiledKernel> of_normals;
  if (kernel->of_normals != nullptr)
    of_normals = std::make_shared<const CompiledKernel>(compile_programs(kernel->of_normals, device));
  say_compiled(*kernel, device);
  const bool is_of_host = kernel->order != nullptr && runs_host_kernels(device);
  return CompiledKernel(kernel, is_of_host ? order_program(*kernel) : device.compile(*kernel), std::move(before),
                        &device, std::move(of_normals));
}

}  // namespace strata
