// The passes, one after another.

#include "strata/codegen/kernel.h"

#include <algorithm>
#include <chrono>

#include "strata/base/interrupt.h"
#include "strata/codegen/heuristic.h"
#include "strata/codegen/instances.h"
#include "strata/codegen/linearize.h"
#include "strata/codegen/split_reduce.h"

namespace strata {

namespace {

/// Runs passes and notes how long each took.
class Passes {
 public:
  explicit Passes(Kernel& kernel) : kernel_(kernel) {}
  template <class F>
  auto run(const char* name, const F& pass) {
    check_interrupt();
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
  for (const Variable& v : all)
    if (std::none_of(out.begin(), out.end(), [&](const Variable& known) { return same(known, v); }))
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

namespace {

/// The kernel in two, of which this is the rest; `opts` loses its SPLITREDUCE.
LazyOp split(Kernel& kernel, const LazyOp& ast, std::vector<Opt>& opts, const Target& target) {
  SplitReduction parts = split_reduction(ast, opts.front(), target);
  opts.erase(opts.begin());
  for (const LazyOp& first : parts.first)
    kernel.before.push_back(
        std::make_shared<const Kernel>(compile_kernel(first, target, loop_opts(first, target))));
  kernel.temporaries = std::move(parts.temporaries);
  return parts.rest;
}

}  // namespace

Kernel compile_kernel(const LazyOp& ast, const Target& target, std::optional<std::vector<Opt>> opts) {
  Kernel out{kernel_name(ast), ast, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  out.contract = target.contract;
  Passes passes(out);
  out.opts = passes.run("opts", [&] { return opts ? *std::move(opts) : heuristic_opts(ast, target); });
  std::vector<Opt> loops = out.opts;
  LazyOp rest = ast;
  if (!loops.empty() && loops[0].kind == Opt::Kind::SPLITREDUCE)
    rest = passes.run("split", [&] { return split(out, ast, loops, target); });
  KernelAxes axes(rest);
  axes.apply(loops);
  out.axes = axes.text();
  Lowered lowered = passes.run("lower", [&] { return lower(rest, axes, target); });
  out.proof = passes.run("bounds", [&] { return prove_bounds(lowered); });
  out.uops = passes.run("linearize", [&] { return linearize(lowered, target.contract); });
  if (target.instances && lowered.parallel)
    out.uops = passes.run("instances", [&] { return to_instances(out.uops, *lowered.parallel); });
  passes.run("verify", [&] { return verify(out.uops), 0; });
  out.buffers = buffers_of(ast);
  for (const int slot : out.temporaries)
    out.buffers.push_back(lowered.buffers[static_cast<std::size_t>(slot)]);
  for (const auto& first : out.before)
    for (const Variable& v : first->variables)
      if (!is_range_end(v.name())) lowered.variables.push_back(v);
  out.variables = variables_of(out.uops, lowered.variables);
  out.parallel = lowered.parallel;
  return out;
}

}  // namespace strata
