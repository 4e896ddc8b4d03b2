// DLPack's protocol of Python: capsules around the structs of strata/tensor/dlpack.h.
#pragma once

#include <optional>

#include "python/src/bind.h"
#include "python/src/tensor_object.h"

namespace strata::python {

/// A tensor over the memory of an object with __dlpack__, or of a capsule. @throws what __dlpack__ raises, Error (domain) for memory of
///   other devices
Tensor tensor_from_dlpack(py::handle object);

/// x.__dlpack__(max_version=..., copy=...): a capsule of the versioned struct where the consumer knows it.
py::object dlpack_capsule(const Tensor& x, bool is_versioned, bool copy);

}  // namespace strata::python
