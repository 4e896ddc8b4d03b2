// Captured: the most recently used capture of a jit function (jit.h) as data: kernels, memory, and which of it is
// whose. For programs that run elsewhere (export/).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strata/engine/recording.h"

namespace strata {

/// An argument or a result of a captured function.
struct CapturedTensor {
  DType dtype;
  Ints shape;                               ///< over plain variables
  std::optional<std::size_t> place = {};    ///< none: no kernel uses the memory
  std::optional<std::size_t> same_as = {};  ///< of an argument: an earlier one that is the same tensor
  std::optional<Buffer> value = {};         ///< of the captured call
  const Device* device = nullptr;           ///< of an argument
};

/// Memory of a tensor from outside to which the function assigns.
struct CapturedState {
  DType dtype;
  std::int64_t size = 0;                   ///< elements of the memory
  Ints shape = {};                         ///< of the memory
  std::optional<std::size_t> before = {};  ///< the place that is read as the old value
  std::size_t after = 0;                   ///< the place of the new value
  std::optional<std::size_t> input = {};   ///< the argument to which is assigned
  const void* value = nullptr;             ///< the present elements, of no argument
};

/// A capture, valid until the next call of the function and while the tensors that it reads live.
struct Captured {
  std::string name;  ///< of the function
  RecordedProgram program;
  std::vector<CapturedTensor> inputs, outputs;
  std::vector<CapturedState> states;
  std::vector<Expr> integers;  ///< arguments that are no tensors, without values
  Values values;               ///< those of the captured call
  bool keeps_values = false;   ///< the capture is for `values` alone
  /// Arguments whose elements the function has read on the host, as they are or after kernels: what follows from the
  /// elements is as in the captured call.
  std::vector<std::size_t> read_by_host = {};
  bool state_is_read_by_host = false;  ///< the same of tensors that the function assigns to
};

}  // namespace strata
