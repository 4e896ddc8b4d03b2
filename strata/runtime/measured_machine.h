// The numbers of this machine (codegen/machine.h) that `strata bench --machine` measured. They are an entry of the disk
// cache, whose key is the processor and the width of vectors: a folder that machines share never mixes them up, and
// `strata cache clear` deletes them. Kernels whose Opts follow from them have other texts, and so other entries.
#pragma once

#include <memory>

#include "strata/codegen/machine.h"

namespace strata {

/// The numbers that were measured for vectors of so many bytes; null where none were, or DISK_CACHE is 0.
std::shared_ptr<const Machine> measured_machine(int vector_bytes);

/// Keeps the numbers for measured_machine() in later processes. False where the disk cache is off or declines.
bool keep_machine(const Machine& machine, int vector_bytes);

}  // namespace strata
