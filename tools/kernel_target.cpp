#include "tools/kernel_target.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "strata/base/check.h"
#include "strata/codegen/kernel.h"
#include "tools/command_parts.h"

namespace strata::tools {
namespace {

/// The device of a language that no device of this machine runs. It only gives source text.
class TextDevice final : public Device {
 public:
  explicit TextDevice(const KernelLanguage& language) : language_(language), target_(language.target()) {}
  std::string_view name() const override { return language_.device; }
  std::string_view text() const override { return "its text alone"; }
  std::string missing() const override {
    return detail::message("nothing here runs ", name(), ": --target ", language_.word, " shows the text");
  }
  const Target& target() const override { return target_; }
  std::string source(const Kernel& kernel) const override { return language_.source(kernel, kernel.name, nullptr); }
  std::shared_ptr<Program> compile(const Kernel&) const override { throw Error(ErrorKind::domain, missing()); }

 private:
  const KernelLanguage& language_;
  Target target_;
};

const Device& device_of(const KernelLanguage& language) {
  for (const Device* device : Device::all())
    if (device->name() == language.device) return *device;
  static const std::vector<std::unique_ptr<const TextDevice>> texts = [] {
    std::vector<std::unique_ptr<const TextDevice>> out;
    for (const KernelLanguage& l : kernel_languages()) out.push_back(std::make_unique<const TextDevice>(l));
    return out;
  }();
  return *texts[static_cast<std::size_t>(&language - kernel_languages().data())];
}

const Device& read_device(const Invocation& invocation) {
  const auto name = invocation.value("--device"), word = invocation.value("--target");
  if (name && word) throw UsageError("--device and --target: each says what the kernel is for", &invocation.command());
  if (name) return Device::get(*name);
  if (!word) return Device::default_device();
  const KernelLanguage* const language = find_kernel_language(*word);
  if (language == nullptr)
    throw UsageError(detail::message("--target ", *word, ": there are ", kernel_language_words()),
                     &invocation.command());
  return device_of(*language);
}

}  // namespace

KernelTarget read_kernel_target(const Invocation& invocation) {
  const auto text = invocation.value("--vector-bytes");
  const std::int64_t bytes = text ? parse_integer(*text, "--vector-bytes", invocation.command()) : 16;
  if (bytes != 16 && bytes != 32 && bytes != 64)
    throw UsageError(detail::message("--vector-bytes ", bytes, ": vectors are of 16, 32 or 64 bytes"),
                     &invocation.command());
  const Device& device = read_device(invocation);
  KernelTarget out{&device, target_of(device)};
  if (invocation.value("--target") && out.target.measured) {  // the same text on every machine
    out.target.measured = nullptr;
    out.is_changed = true;
  }
  if (text) {
    out.is_changed = out.is_changed || out.target.vector_bytes != bytes;
    out.target.vector_bytes = static_cast<int>(bytes);
  }
  return out;
}

const KernelLanguage* language_of(const Device& device) {
  for (const KernelLanguage& language : kernel_languages())
    if (language.device == device.name()) return &language;
  return nullptr;
}

CompiledKernel compiled_for(const LazyOp& kernel, const KernelTarget& target, std::optional<std::vector<Opt>> opts) {
  const Device& device = *target.device;
  if (!target.is_changed) return compile(kernel, device, std::move(opts));
  return compile_programs(std::make_shared<const Kernel>(compile_kernel(kernel, target.target, std::move(opts))),
                          device);
}

}  // namespace strata::tools
