// Kernels of the host: programs that sort rows (codegen/order.h) by the C functions of host_kernels, and the text of
// these functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "strata/runtime/device.h"

namespace strata {

/// Whether kernels of the host run in place of the device's own: on all devices but INTERP, which interprets the graph,
/// and NULL.
bool runs_host_kernels(const Device& device);

/// The program of a kernel of the host. @pre kernel.order
std::shared_ptr<Program> order_program(const Kernel& kernel);

/// A part of the text of the functions.
struct OrderPart {
  std::string name;  ///< parts of one name are equal
  std::string text;
};
/// The function of `plan` and all that it calls, in C, in an order in which a file may have them. Names begin with
/// "strata_"; strata_restrict stands for `restrict`.
std::vector<OrderPart> order_parts(const OrderPlan& plan);
/// The name of the function of `plan`, e.g. "strata_order_values_32".
std::string order_function(const OrderPlan& plan);
/// The whole text, for people.
std::string order_source(const OrderPlan& plan);
/// The bits of +infinity of a dtype of floats; 0 of others.
std::uint64_t infinity_of(DType dtype);

}  // namespace strata
