// The functions of host_kernels where the compiler knows neither AVX2 nor AVX-512.

#include "strata/runtime/order_functions.h"

namespace strata {

const OrderFunctions* order_functions_avx2() { return nullptr; }
const OrderFunctions* order_functions_avx512() { return nullptr; }

}  // namespace strata
