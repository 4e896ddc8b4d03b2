// The device LLVM: renders LLVM IR, compiles it in the plugin, or takes the object from the disk cache, and loads it
// into memory.

#include "strata/codegen/polls.h"
#include "strata/render/kernel_source.h"
#include "strata/runtime/devices.h"
#include "strata/runtime/disk_cache.h"
#include "strata/runtime/llvm_library.h"
#include "strata/runtime/order_program.h"

namespace strata {

namespace {

class LlvmProgram final : public Program {
 public:
  LlvmProgram(LlvmModule module, std::string name, bool polls)
      : module_(std::move(module)),
        name_(std::move(name)),
        polls_(polls),
        entry_(module_.function<Entry>(detail::message(kContentName, "_entry"))) {}
  const std::string& name() const override { return name_; }
  bool polls() const override { return polls_; }
  void run(std::span<void* const> buffers, std::span<const std::int64_t> values) override {
    static_assert(sizeof(long long) == sizeof(std::int64_t));
    entry_(buffers.data(), reinterpret_cast<const long long*>(values.data()));
  }

 private:
  using Entry = void (*)(void* const*, const long long*);
  LlvmModule module_;
  std::string name_;
  bool polls_;
  Entry entry_;
};

constexpr double kTiny = 1 << 12;  // operations or bytes: a kernel with fewer runs faster than LLVM's passes would

class LlvmDevice final : public Device {
 public:
  std::string_view name() const override { return "LLVM"; }
  std::string_view text() const override { return "LLVM in the process"; }
  std::string missing() const override {
    try {
      library();
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }
  const Target& target() const override { return target_; }
  bool shares_loops() const override { return true; }
  std::string source(const Kernel& kernel) const override {
    return kernel.order ? order_source(*kernel.order) : kernel_to_llvm(kernel, kernel.name);
  }
  std::string assembly_of(std::string_view source, const SourceFacts& facts) const override {
    return library().assembly(source, options(facts));
  }
  // NOTE: the function is named kContentName, not after the kernel, so kernels that differ in their name alone share a
  // cache entry.
  std::shared_ptr<Program> compile(const Kernel& kernel) const override {
    const LlvmLibrary& llvm = library();
    const KernelCost cost = cost_of(kernel.ast);
    const SourceFacts facts{kernel.contract, cost.operations, cost.bytes};
    return std::make_shared<LlvmProgram>(llvm.load(object(llvm, kernel_to_llvm(kernel, kContentName), options(facts))),
                                         kernel.name, polls_of(kernel).any());
  }
  bool compiles_on_threads() const override { return !LlvmLibrary::process_ends(); }
  void finish_compiling() const override { library().release_code(); }

 private:
  /// The shared library, which also keeps set-up compilers for reuse.
  static const LlvmLibrary& library() { return LlvmLibrary::shared(); }
  LlvmCompileOptions options(const SourceFacts& facts) const {
    LlvmCompileOptions out;
    out.deterministic = !facts.contract;
    if (facts.operations <= kTiny && facts.bytes <= kTiny) out.level = 0;
    return out;
  }
  std::string object(const LlvmLibrary& llvm, const std::string& ir, const LlvmCompileOptions& options) const {
    const std::shared_ptr<DiskCache> cache = DiskCache::shared();
    if (!cache) return llvm.compile(ir, options);
    const Hash128 key = cache_key({"llvm", llvm.version(), llvm.host(), options.deterministic ? "" : "contract",
                                   options.level == 0 ? "tiny" : "", ir});
    if (const auto known = cache->find(key)) return {reinterpret_cast<const char*>(known->data()), known->size()};
    std::string made = llvm.compile(ir, options);
    cache->put(key, std::as_bytes(std::span(made.data(), made.size())));
    return made;
  }

  static Target own_target() {
    Target out = host_target();
    out.shuffles = true;
    out.explicit_fma = true;
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl")) out.native.insert(Ops::DOT4);
    if (__builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vl"))
      out.native_of_normals.insert(Ops::DOT2);
#endif
    return out;
  }
  Target target_ = own_target();
};

}  // namespace

const Device& llvm_device() {
  static const LlvmDevice& device = *new LlvmDevice;  // never destroyed: threads may outlive it
  return device;
}

}  // namespace strata
