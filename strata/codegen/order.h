// Kernels of the host: compile_kernel() makes a kernel without UOps of a SINK that stores an ORDER. C functions sort
// the rows, which are compiled with the library (runtime/host_kernels), and whose text exports hold.
#pragma once

#include <cstdint>

#include "strata/graph/order_rows.h"

namespace strata {

struct Kernel;
struct Target;

/// What the C functions are told of the rows.
struct OrderPlan {
  DType dtype;
  OrderArg arg;
  Int size, count;  ///< of a row, and of a row of the result
  OrderRows rows;
  /// Groups of 16 rows: the trip count of the kernel's loop.
  Int groups() const;
};

/// The kernel of `ast`, whose ordered_by() is not null. It has one temporary, the memory in which a thread works.
/// @throws Error (domain) for a source that is no view of one buffer by one set of strides, (budget) for rows of 2^32
///   elements or more
Kernel order_kernel(const LazyOp& ast, const Target& target);

/// The bytes of memory in which the functions work.
std::int64_t order_work_bytes(const OrderPlan& plan);
/// The bytes of stack that the function of the host needs at most, about.
std::int64_t order_stack_bytes(const OrderPlan& plan);

}  // namespace strata
