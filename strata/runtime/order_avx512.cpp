// The functions of host_kernels, compiled for AVX-512.

#include <cstddef>
#include <cstdint>

#include "strata/runtime/host_kernels/rows.c"
#include "strata/runtime/order_functions.h"

namespace {
#include "strata/runtime/host_kernels/all.inc"
}  // namespace

namespace strata {

const OrderFunctions* order_functions_avx512() {
  static constexpr OrderFunctions functions{
      {order_values_8, order_values_16, order_values_32, order_values_64},
      {order_places_8, order_places_16, order_places_32, order_places_64},
  };
  return &functions;
}

}  // namespace strata
