// Targets: what the kernels of exported files are written for. Internal to export/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/codegen/kernel.h"

namespace strata::exporting {

struct TargetRow {
  std::string_view word;
  int vector_bytes, registers;
  std::int64_t scratch;  ///< bytes of the stack that a kernel may use for tiles
  /// What a processor has to have: one with instructions of level n has those of all levels below. 0: nothing.
  int level = 0;
  std::string_view features = {};  ///< the compiler's names of the instructions
  std::string_view fma = {};       ///< those that compute a product and a sum at once, where they are apart
  std::uint32_t leaf7 = 0;         ///< bits of cpuid's leaf 7, ebx
  std::uint32_t saved = 0;         ///< bits of XCR0: the registers that the system saves
};
/// Bits of cpuid's leaf 1, ecx, that each level above 0 needs: fma, OSXSAVE, AVX.
constexpr std::uint32_t kLeaf1 = 0x18001000;

/// The targets of a list of words with commas between, the first of which that a processor has is to run.
/// @throws Error (domain) for an unknown word, a target that would never be chosen, or a last one that not all
///   processors have, among several
std::vector<const TargetRow*> targets_of(std::string_view words);

/// What kernels are compiled for.
Target target_of_row(const TargetRow& row, bool deterministic);
/// The target of kernels that vectors cannot compute.
const TargetRow& plain_target();

}  // namespace strata::exporting
