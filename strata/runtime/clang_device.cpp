// The device CLANG: renders C and compiles it with the host's compiler, through the disk cache.

#include "strata/codegen/polls.h"
#include "strata/render/kernel_source.h"
#include "strata/runtime/clang_program.h"
#include "strata/runtime/devices.h"
#include "strata/runtime/host_compiler.h"
#include "strata/runtime/order_program.h"

namespace strata {

namespace {

CompileOptions options_for(bool contract, const Target& target) {
  CompileOptions out;
  out.deterministic = !contract;
  // By default compilers split vectors of 512 bits into halves.
  if (target.vector_bytes == 64) out.extra.emplace_back("-mprefer-vector-width=512");
  return out;
}

class ClangDevice final : public Device {
 public:
  std::string_view name() const override { return "CLANG"; }
  std::string_view text() const override { return "C through the host's compiler, to a shared object"; }
  std::string missing() const override {
    try {
      HostCompiler::find();
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }
  const Target& target() const override { return target_; }
  bool shares_loops() const override { return true; }
  std::string source(const Kernel& kernel) const override {
    return kernel.order ? order_source(*kernel.order) : kernel_to_c(kernel, kernel.name);
  }
  std::string assembly_of(std::string_view source, const SourceFacts& facts) const override {
    return HostCompiler::find()->assembly(source, options_for(facts.contract, target_));
  }
  // NOTE: the function is named kContentName, not after the kernel, so kernels that differ in their name alone share a
  // cache entry.
  std::shared_ptr<Program> compile(const Kernel& kernel) const override {
    const std::string text = kernel_to_c(kernel, kContentName, nullptr, true);
    return std::make_shared<ClangProgram>(kContentName, compile_clang(text, options_for(kernel.contract, target_)),
                                          polls_of(kernel).any());
  }

 private:
  Target target_ = host_target();
};

}  // namespace

const Device& clang_device() {
  static const ClangDevice& device = *new ClangDevice;  // never destroyed: threads may outlive it
  return device;
}

}  // namespace strata
