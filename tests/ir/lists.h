// What the lists of tests begin with.
#pragma once

#include <iterator>
#include <vector>

#include "strata/base/check.h"
#include "strata/ir/uop.h"

namespace strata {

/// The buffer of that slot, data<slot>.
inline UOp global(UOpGraph& g, int slot, DType dtype) {
  return g.add(UOps::DEFINE_GLOBAL, dtype.pointer(), {}, Global{slot, detail::message("data", slot)});
}

template <class T>
Memory memory(std::vector<T>& values) {
  return {values.data(), std::ssize(values)};
}

}  // namespace strata
