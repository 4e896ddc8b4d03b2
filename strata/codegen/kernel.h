// From a LazyOp to a proven list of UOps: the whole of the kernel compiler in front of the renderers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strata/codegen/bounds.h"
#include "strata/codegen/lower.h"

namespace strata {

/// A kernel, ready to be rendered.
struct Kernel {
  std::string name;  ///< "r_64_64_128": E for elements, r with reductions; sizes of the axes
  LazyOp ast;
  std::vector<Opt> opts;
  std::string axes;                 ///< KernelAxes::text() after the opts
  UOpGraph uops;                    ///< the list, verified
  std::vector<BufferUse> buffers;   ///< by slot
  std::vector<Variable> variables;  ///< its DEFINE_VARs in the order of the list, then those of sizes alone: what `values` of a Program are
  std::optional<Int> parallel;  ///< the range that begin0 and end0 cut; a Program with it is run once for [0, 0) too
  BoundsProof proof;
  std::vector<std::pair<std::string, double>> times;  ///< passes, in seconds
};

/// Runs the passes: opts (given, or the heuristic's), lower, bounds, linearize, verify.
/// @throws what they throw
Kernel compile_kernel(const LazyOp& ast, const Target& target,
                      std::optional<std::vector<Opt>> opts = std::nullopt);

/// The name that `ast` gets: it has no part in any cache key.
std::string kernel_name(const LazyOp& ast);

}  // namespace strata
