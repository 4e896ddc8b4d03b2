// Indices as they were given: a list or an array was written by the caller, and its values are at hand; a tensor's may not be.
#pragma once

#include <optional>

#include "python/src/convert.h"

namespace strata::python {

struct GivenIndex {
  Tensor tensor;
  bool is_written;  ///< what is outside is an error, as it is in brackets
};

template <>
struct Incoming<GivenIndex> {
  explicit Incoming(const Given& g)
      : given(g), value{given.get(), tensor_in(g.object) == nullptr} {}
  const GivenIndex& get() const { return value; }
  static constexpr const char* type = Incoming<Tensor>::type;
  Incoming<Tensor> given;
  GivenIndex value;
};

}  // namespace strata::python
