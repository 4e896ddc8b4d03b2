#include "tools/kernel_target.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "strata/base/check.h"
#include "strata/codegen/kernel.h"
#include "strata/render/cstyle.h"
#include "tools/command_parts.h"

namespace strata::tools {
namespace {

/// A language whose code nothing runs here.
class TextDevice final : public Device {
 public:
  TextDevice(std::string_view name, const Language& language) : name_(name), language_(language) {
    target_ = Device::get("OPENCL").target();
    target_.instances = true;
  }
  std::string_view name() const override { return name_; }
  std::string_view text() const override { return "its text alone"; }
  std::string missing() const override {
    return detail::message("nothing here runs ", name_, ": --target ", language_of(*this),
                           " shows the text");
  }
  const Target& target() const override { return target_; }
  std::string source(const Kernel& kernel) const override {
    return uops_to_cstyle(language_, kernel.name, kernel.uops);
  }
  std::shared_ptr<Program> compile(const Kernel&) const override {
    throw Error(ErrorKind::domain, missing());
  }

 private:
  std::string_view name_;
  const Language& language_;
  Target target_;
};

/// The words of --target, and the devices.
struct LanguageRow {
  std::string_view word, device;
  const Language& (*text)();  ///< of a device that runs nothing
};
constexpr LanguageRow kLanguages[] = {
    {"c", "CLANG", nullptr},           {"llvm", "LLVM", nullptr},
    {"opencl", "OPENCL", nullptr},     {"cuda", "CUDA", CUDALanguage},
    {"metal", "METAL", MetalLanguage}, {"wgsl", "WGSL", WGSLLanguage},
};

const Device& device_of(const LanguageRow& row) {
  if (row.text == nullptr) return Device::get(row.device);
  static const TextDevice cuda("CUDA", CUDALanguage()), metal("METAL", MetalLanguage()),
      wgsl("WGSL", WGSLLanguage());
  return row.device == "CUDA" ? cuda : row.device == "METAL" ? metal : wgsl;
}

const Device& read_device(const Invocation& invocation) {
  const auto name = invocation.value("--device"), word = invocation.value("--target");
  if (name && word)
    throw UsageError("--device and --target: each says what the kernel is for", &invocation.command());
  if (name) return Device::get(*name);
  if (!word) return Device::default_device();
  const auto* const row = std::find_if(std::begin(kLanguages), std::end(kLanguages),
                                       [&](const LanguageRow& r) { return r.word == *word; });
  if (row == std::end(kLanguages))
    throw UsageError(
        detail::message("--target ", *word, ": there are c, llvm, opencl, cuda, metal and wgsl"),
        &invocation.command());
  return device_of(*row);
}

}  // namespace

KernelTarget read_kernel_target(const Invocation& invocation) {
  const auto text = invocation.value("--vector-bytes");
  const std::int64_t bytes = text ? parse_integer(*text, "--vector-bytes", invocation.command()) : 16;
  if (bytes != 16 && bytes != 32 && bytes != 64)
    throw UsageError(
        detail::message("--vector-bytes ", bytes, ": vectors are of 16, 32 or 64 bytes"),
        &invocation.command());
  const Device& device = read_device(invocation);
  KernelTarget out{&device, target_of(device)};
  if (text) {
    out.is_changed = out.target.vector_bytes != bytes;
    out.target.vector_bytes = static_cast<int>(bytes);
  }
  return out;
}

std::string_view language_of(const Device& device) {
  const auto* const row =
      std::find_if(std::begin(kLanguages), std::end(kLanguages),
                   [&](const LanguageRow& r) { return r.device == device.name(); });
  return row == std::end(kLanguages) ? "none" : row->word;
}

CompiledKernel compiled_for(const LazyOp& kernel, const KernelTarget& target,
                            std::optional<std::vector<Opt>> opts) {
  const Device& device = *target.device;
  if (!target.is_changed) return compile(kernel, device, std::move(opts));
  const auto whole =
      std::make_shared<const Kernel>(compile_kernel(kernel, target.target, std::move(opts)));
  std::vector<CompiledKernel> before;
  for (const auto& first : whole->before) before.emplace_back(first, device.compile(*first));
  return CompiledKernel(whole, device.compile(*whole), std::move(before));
}

}  // namespace strata::tools
