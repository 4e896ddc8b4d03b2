// Products of bytes for tests of DOT (codegen/dot.h).
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "strata/codegen/axes.h"
#include "tests/codegen/kernel_ranges.h"

namespace strata::oracle {

inline Opt dot(std::size_t axis, int slot) { return {Opt::Kind::DOT, axis, slot, 0, {}}; }

/// Memory for the kernel's buffers, with any bits.
inline Buffers random_memory(const LazyOp& kernel, std::mt19937_64& random) {
  Buffers out;
  for (const BufferUse& use : buffers_of(kernel)) {
    out.emplace_back(use.dtype, use.dtype.is_none() ? 0 : use.size.value());
    for (std::int64_t k = 0; k < out.back().size(); ++k)
      out.back().put(k, use.dtype.is_float() ? Scalar::of(use.dtype, static_cast<double>(random() % 100))
                                             : Scalar::from_bits(use.dtype, random()));
  }
  return out;
}

/// A product of bytes of random dtypes, sizes, orders of axes, with a batch or not, and an epilogue or not.
inline std::string random_product(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  const auto dtype = [&] { return below(2) == 0 ? "i8" : "u8"; };
  const std::int64_t m = 1 + below(6), n = 1 + below(40), k = 2 + below(45), b = 2 + below(2);
  const bool has_batch = below(3) == 0, turned_x = below(4) == 0, turned_w = below(2) == 0;
  const auto matrix = [&](const char* name, std::int64_t rows, std::int64_t columns, bool is_turned) {
    const std::string batch = has_batch ? detail::message(b, ",") : "";
    return detail::message(name, ": ", dtype(), "[", batch, is_turned ? columns : rows, ",", is_turned ? rows : columns,
                           "]; ");
  };
  const auto read = [&](const char* name, bool is_turned) {
    const std::string turned = !is_turned ? "" : has_batch ? ".permute(0,2,1)" : ".permute(1,0)";
    return below(2) == 0 ? detail::message(name, ".cast(i32)", turned) : detail::message(name, turned, ".cast(i32)");
  };
  std::string out = matrix("x", m, k, turned_x) + matrix("w", k, n, turned_w);
  const std::string product = "(" + read("x", turned_x) + ") @ (" + read("w", turned_w) + ")";
  switch (below(4)) {
    case 0: return out + "y = max(" + product + " * 3 + 7, 0)";
    case 1: return out + detail::message("s: f32[", n, "]; y = (", product, ").cast(f32) * s");
    case 2: return out + "y = (" + product + ").cast(i8)";
    default: return out + "y = " + product;
  }
}

}  // namespace strata::oracle
