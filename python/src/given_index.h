// GivenIndex: an argument of indices, e.g. of take() and gather(), with the form in which it was given. The values of a
// list or an array are known at the call, so they are checked; those of a tensor may not be computed yet.
#pragma once

#include <optional>

#include "python/src/convert.h"

namespace strata::python {

struct GivenIndex {
  Tensor tensor;
  bool is_written;  ///< given as numbers, not as a tensor: an index out of range is an error
};

template <>
struct Incoming<GivenIndex> {
  explicit Incoming(const Given& g) : given(g), value{given.get(), tensor_in(g.object) == nullptr} {}
  const GivenIndex& get() const { return value; }
  static constexpr const char* type = Incoming<Tensor>::type;
  Incoming<Tensor> given;
  GivenIndex value;
};

}  // namespace strata::python
