// The Python side of DLPack, which shares memory between libraries: capsules around the structs of
// strata/tensor/dlpack.h. Behind strata.from_dlpack() and Tensor.__dlpack__().
#pragma once

#include <optional>

#include "python/src/bind.h"
#include "python/src/tensor_object.h"

namespace strata::python {

/// A tensor on the memory of an object with __dlpack__(), or of a capsule, without a copy.
/// @throws what __dlpack__() raises, Error (domain) for memory that the host does not see
Tensor tensor_from_dlpack(py::handle object);

/// The result of x.__dlpack__(): a capsule. @param is_versioned whether the consumer knows the versioned struct
/// (max_version of 1 or more)
py::object dlpack_capsule(const Tensor& x, bool is_versioned, bool copy);

}  // namespace strata::python
