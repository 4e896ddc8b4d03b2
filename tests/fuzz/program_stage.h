// The fuzzer's trials as programs (kernel_program.h): each with one of the compilers, by its seed, and many in a
// program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/codegen/kernel_trial.h"
#include "tests/fuzz/kernel_program.h"

namespace strata::oracle {

/// CHECKED: under sanitizers.
class ProgramStage {
 public:
  ProgramStage(std::string stage, const std::vector<std::string>& compilers)
      : stage_(std::move(stage)), compilers_(program_compilers(compilers, true)) {
    STRATA_CHECK(!compilers_.empty(), undefined, "[", stage_,
                 "] none of the compilers is there, or they make no such programs");
  }

  /// The program that a trial belongs to.
  ProgramBuild build_of(std::uint64_t seed, const Trial& trial) const {
    return {compilers_[seed % compilers_.size()], true, trial.is_deterministic()};
  }

  /// What becomes of trials of one build. @pre their lists can be made
  std::vector<Verdict> verdicts(const std::vector<Trial*>& trials, const ProgramBuild& build) const {
    std::vector<ProgramKernel> kernels;
    for (Trial* trial : trials) {
      Verdict ignored;
      ProgramKernel kernel{detail::message("kernel_", kernels.size()), {}, {}, {}};
      kernel.source = trial->source(kernel.name, ignored);
      for (GuardedMemory b : trial->before()) kernel.buffers.emplace_back(b.bytes().begin(), b.bytes().end());
      kernel.calls = trial->calls();
      kernels.push_back(std::move(kernel));
    }
    std::vector<Verdict> out;
    const std::vector<ProgramOutcome> outcomes = run_kernels(kernels, build);
    for (std::size_t k = 0; k < trials.size(); ++k) out.push_back(verdict(*trials[k], kernels[k], outcomes[k], build));
    return out;
  }

 private:
  Verdict verdict(Trial& trial, const ProgramKernel& kernel, const ProgramOutcome& outcome,
                  const ProgramBuild& build) const {
    if (!outcome.fault.empty())
      return {stage_,
              detail::message(build.words(), ": ", outcome.fault.substr(0, kMostWords), "\n", kernel.name, ".c:\n",
                              kernel.source),
              {}};
    Buffers after = trial.before();
    for (std::size_t slot = 0; slot < after.size(); ++slot)
      std::copy(outcome.buffers[slot].begin(), outcome.buffers[slot].end(), after[slot].bytes().begin());
    Verdict out = trial.left(stage_, after);
    if (out.fails()) out.text = detail::message(build.words(), ": ", out.text);
    return out;
  }

  static constexpr std::size_t kMostWords = 4000;

  std::string stage_;
  std::vector<std::string> compilers_;
};

/// By name.
using ProgramStages = std::map<std::string, ProgramStage>;

}  // namespace strata::oracle
