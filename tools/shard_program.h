// The outputs of a kernel's text as sharding sees them, for `strata shard`: which tensors each output reads, and by
// which index maps.
#pragma once

#include <string>
#include <vector>

#include "strata/ops/kernel_text.h"
#include "strata/shard/carry.h"

namespace strata::tools {

/// An input or output of the text.
struct ProgramTensor {
  std::string name;
  DType dtype;
  Index shape;
};

/// A tensor that an output reads: index of the output -> row-major number in the tensor, for each load.
struct ProgramRead {
  ProgramTensor tensor;
  std::vector<ShapeTracker> maps;
};

struct ProgramOutput {
  ProgramTensor tensor;
  std::vector<ProgramRead> reads;  ///< in the order in which the output's expression has them first
};

/// The outputs of `text`, in order.
/// @throws Error (undefined) for an operation that is neither movement nor elementwise, naming it, for symbolic sizes,
///   and for an input that is assigned to; (budget) where one output reads tensors by too many maps
std::vector<ProgramOutput> outputs_of(const KernelText& text);

}  // namespace strata::tools
