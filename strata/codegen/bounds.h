// Proof that a kernel stays inside of its buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// How an access was proven: the index's own bounds lie inside; or under the loops' ranges and the access's condition.
enum class ProvenBy : std::uint8_t { bounds, algebra };

/// How the accesses of a kernel were proven.
struct BoundsProof {
  std::size_t accesses = 0;
  std::size_t by_bounds = 0;
  std::size_t by_algebra = 0;
  double seconds = 0;
  std::string text() const;
};

/// Every load and store of `kernel` lies inside of its buffer, wherever its condition holds.
/// @param how where not null, gets how each was proven, in order
/// @throws Error (domain) for one that does not, with the index expression and a witness; or for which that cannot be shown
BoundsProof prove_bounds(const Lowered& kernel, std::vector<ProvenBy>* how = nullptr);

}  // namespace strata
