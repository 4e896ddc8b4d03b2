// prove_bounds(): proves that each load and store of a lowered kernel stays inside of its buffer, for all values of the
// kernel's variables. compile_kernel() runs it on every kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// How an access was proven: by the interval of its index alone, or by algebra, using the ranges of the loops and the
/// access's condition.
enum class ProvenBy : std::uint8_t { bounds, algebra };

/// Statistics of a proof.
struct BoundsProof {
  std::size_t accesses = 0;
  std::size_t by_bounds = 0;
  std::size_t by_algebra = 0;
  double seconds = 0;
  std::string text() const;
};

/// Proves that each access of `kernel` is in bounds wherever its condition holds.
/// @param how if not null, receives for each access, in order, how it was proven
/// @throws Error (domain) for an access that leaves its buffer, with the index expression and values of the variables
///   for which it does; and for an access that cannot be proven
BoundsProof prove_bounds(const Lowered& kernel, std::vector<ProvenBy>* how = nullptr);

}  // namespace strata
