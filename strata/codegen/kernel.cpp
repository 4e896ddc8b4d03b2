// The passes, one after another.

#include "strata/codegen/kernel.h"

#include <algorithm>
#include <chrono>

#include "strata/codegen/heuristic.h"
#include "strata/codegen/linearize.h"

namespace strata {

namespace {

/// Runs passes and notes how long each took.
class Passes {
 public:
  explicit Passes(Kernel& kernel) : kernel_(kernel) {}
  template <class F>
  auto run(const char* name, const F& pass) {
    const auto start = std::chrono::steady_clock::now();
    auto out = pass();
    kernel_.times.emplace_back(
        name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return out;
  }

 private:
  Kernel& kernel_;
};

std::vector<Variable> variables_of(const UOpGraph& list, const std::vector<Variable>& all) {
  std::vector<Variable> out;
  for (const UOp u : list)
    if (u.op() == UOps::DEFINE_VAR) out.push_back(std::get<Variable>(u.arg()));
  const std::size_t listed = out.size();
  for (const Variable& v : all)
    if (std::none_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(listed),
                     [&](const Variable& known) { return same(known, v); }))
      out.push_back(v);
  return out;
}

}  // namespace

std::string kernel_name(const LazyOp& ast) {
  const KernelAxes axes(ast);
  std::string out = axes.groups().empty() ? "E" : "r";
  for (const LoopAxis& axis : axes.axes())
    if (!(axis.size == Int(1)))
      out += axis.size.is_number() ? detail::message("_", axis.size.value()) : "_n";
  return out.size() == 1 ? out + "_1" : out;
}

Kernel compile_kernel(const LazyOp& ast, const Target& target, std::optional<std::vector<Opt>> opts) {
  Kernel out{kernel_name(ast), ast, {}, {}, {}, {}, {}, {}, {}, {}};
  Passes passes(out);
  out.opts = passes.run("opts", [&] { return opts ? *std::move(opts) : heuristic_opts(ast, target); });
  KernelAxes axes(ast);
  axes.apply(out.opts);
  out.axes = axes.text();
  Lowered lowered = passes.run("lower", [&] { return lower(ast, axes, target); });
  out.proof = passes.run("bounds", [&] { return prove_bounds(lowered); });
  out.uops = passes.run("linearize", [&] { return linearize(lowered, target.contract); });
  passes.run("verify", [&] { return verify(out.uops), 0; });
  out.buffers = std::move(lowered.buffers);
  out.variables = variables_of(out.uops, lowered.variables);
  out.parallel = lowered.parallel;
  return out;
}

}  // namespace strata
