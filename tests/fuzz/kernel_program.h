// Kernels in C as a program of their own: many in one file, each run on memory of exactly its buffers' sizes. What goes
// wrong with one, from a warning to a crash, is that one's fault and no other's.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace strata::oracle {

using Bytes = std::vector<unsigned char>;

struct ProgramKernel {
  std::string name;                           ///< its own in the program; NAME_entry is what is called
  std::string source;                         ///< with the entry
  std::vector<Bytes> buffers;                 ///< by slot, as they are before
  std::vector<std::vector<long long>> calls;  ///< the values of each call, which come one after another
};

struct ProgramOutcome {
  std::string fault;           ///< what the compiler, a sanitizer or the system says; else empty
  std::vector<Bytes> buffers;  ///< as they are after, where there is no fault
};

struct ProgramBuild {
  std::string compiler;     ///< its path
  bool is_checked = false;  ///< with all warnings as errors, under the sanitizers of addresses and undefined behaviour
  bool is_deterministic = false;  ///< as CompileOptions has it
  std::string words() const;
  auto operator<=>(const ProgramBuild&) const = default;
};

/// The paths of those of `names` that are on PATH and make programs, checked ones where that is asked.
std::vector<std::string> program_compilers(const std::vector<std::string>& names, bool is_checked);

/// Builds a program and runs it, as often as it takes to know what becomes of each kernel. Every other buffer stands 8
/// bytes behind an address that is aligned for vectors; what is around buffers is looked at.
/// @throws Error (budget) where there is no room for the files
std::vector<ProgramOutcome> run_kernels(std::span<const ProgramKernel> kernels, const ProgramBuild& build);

}  // namespace strata::oracle
