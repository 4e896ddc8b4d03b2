// The C functions of host_kernels, as they are compiled for several instruction sets. Internal to runtime/. NOTE: the
// sources that compile them include no other header of Strata: inline functions that are compiled for one processor
// must not be those that the whole program shares.
#pragma once

#include <cstdint>

struct strata_order;  // host_kernels/rows.c

namespace strata {

/// A C function that sorts the groups [begin, end) of 16 rows.
using OrderFunction = void (*)(const strata_order* rows, std::int64_t begin, std::int64_t end);
/// The functions of one instruction set, for elements of 8, 16, 32 and 64 bits.
struct OrderFunctions {
  OrderFunction values[4], places[4];
};
// One for each way in which the functions are compiled; null: the compiler does not know the instructions.
const OrderFunctions* order_functions_baseline();  // order_baseline.cpp
const OrderFunctions* order_functions_avx2();      // order_avx2.cpp, or absent_avx_order.cpp
const OrderFunctions* order_functions_avx512();    // order_avx512.cpp, or absent_avx_order.cpp

}  // namespace strata
