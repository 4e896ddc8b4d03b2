// The devices INTERP, the oracle of tests, and NULL, which compiles and runs nothing; host_target().

#include "strata/graph/interpret.h"
#include "strata/runtime/devices.h"
#include "strata/runtime/measured_machine.h"

namespace strata {

Target host_target() {
  Target out;
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  if (__builtin_cpu_supports("avx512f")) {
    out.vector_bytes = 64;
    out.vector_registers = 32;
  } else if (!__builtin_cpu_supports("avx")) {
    out.vector_bytes = 16;
  }
#elif defined(__aarch64__)
  out.vector_bytes = 16;
  out.vector_registers = 32;
#endif
  out.measured = measured_machine(out.vector_bytes);
  return out;
}

namespace {

class InterpProgram final : public Program {
 public:
  explicit InterpProgram(const Kernel& kernel)
      : name_(kernel.name), ast_(kernel.ast), buffers_(kernel.buffers), variables_(kernel.variables) {}
  const std::string& name() const override { return name_; }
  bool has_chunks() const override { return false; }
  void run(std::span<void* const> buffers, std::span<const std::int64_t> values) override {
    std::vector<std::pair<std::string, std::int64_t>> named;
    Values known;
    for (std::size_t k = 0; k < variables_.size(); ++k) {
      if (variables_[k].name() == kRangeBegin && values[k] != 0)
        return;  // the part that begins at 0 does the whole loop
      named.emplace_back(variables_[k].name(), values[k]);
      known.emplace_back(variables_[k], values[k]);
    }
    std::vector<Memory> memory;
    for (std::size_t k = 0; k < buffers_.size(); ++k)
      memory.push_back({buffers[k], buffers_[k].size.is_number() ? buffers_[k].size.value()
                                                                 : evaluate(buffers_[k].size.expr(), known)});
    interpret(ast_, memory, named);
  }

 private:
  std::string name_;
  LazyOp ast_;
  std::vector<BufferUse> buffers_;
  std::vector<Variable> variables_;
};

class NullProgram final : public Program {
 public:
  explicit NullProgram(std::string name) : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  void run(std::span<void* const>, std::span<const std::int64_t>) override {}

 private:
  std::string name_;
};

/// INTERP has no language: source() is the text of the kernel's AST. That of NULL is the text of its UOps.
class InterpDevice final : public Device {
 public:
  std::string_view name() const override { return "INTERP"; }
  std::string_view text() const override { return "element by element, a table from op to function: the oracle"; }
  const Target& target() const override { return target_; }
  std::string source(const Kernel& kernel) const override { return kernel.ast.text(); }
  std::shared_ptr<Program> compile(const Kernel& kernel) const override {
    return std::make_shared<InterpProgram>(kernel);
  }

 private:
  Target target_ = Target().deterministic();
};

class NullDevice final : public Device {
 public:
  std::string_view name() const override { return "NULL"; }
  std::string_view text() const override { return "compiles, runs nothing"; }
  const Target& target() const override { return target_; }
  std::string source(const Kernel& kernel) const override { return kernel.uops.text(); }
  std::shared_ptr<Program> compile(const Kernel& kernel) const override {
    return std::make_shared<NullProgram>(kernel.name);
  }

 private:
  Target target_ = host_target();
};

}  // namespace

const Device& interp_device() {
  static const InterpDevice& device = *new InterpDevice;  // never destroyed: threads may outlive it
  return device;
}
const Device& null_device() {
  static const NullDevice& device = *new NullDevice;
  return device;
}

}  // namespace strata
