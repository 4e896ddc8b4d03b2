// Products of bytes and bf16 for tests of DOT (codegen/dot.h).
#pragma once

#include <algorithm>
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

/// What bf16 of random_memory_of_bf16() are.
enum class Patterns : std::uint8_t { plain, any, with_subnormals, with_infinities, at_the_limit, below_the_limit };
constexpr Patterns kPatterns[] = {Patterns::plain,           Patterns::any,          Patterns::with_subnormals,
                                  Patterns::with_infinities, Patterns::at_the_limit, Patterns::below_the_limit};

/// The bits of a bf16: of 0, or of a number of exponents `first` to `first + 3`.
inline std::uint16_t bits_of_bf16(std::mt19937_64& random, int first) {
  if (random() % 8 == 0) return random() % 2 == 0 ? 0 : 0x8000;
  const auto exponent = static_cast<std::uint64_t>(first) + random() % 4;
  return static_cast<std::uint16_t>((random() % 2) << 15 | exponent << 7 | random() % 128);
}

/// Memory for a product of two buffers of bf16. At the limit, and at most a power of two below it, are products of the
/// least elements that the instruction of DOT2 just multiplies exactly, and their sums.
inline Buffers random_memory_of_bf16(const LazyOp& kernel, Patterns patterns, std::mt19937_64& random) {
  Buffers out = random_memory(kernel, random);
  const int first = 40 + static_cast<int>(random() % 60);
  for (std::size_t slot = 1; slot < out.size(); ++slot) {
    if (out[slot].dtype() != dtypes::bfloat16) continue;
    const bool is_limit = patterns == Patterns::at_the_limit || patterns == Patterns::below_the_limit;
    const int least = !is_limit ? 120 : slot == 1 ? first : (patterns == Patterns::at_the_limit ? 142 : 141) - first;
    for (std::int64_t k = 0; k < out[slot].size(); ++k) {
      std::uint16_t bits = bits_of_bf16(random, least);
      if (patterns == Patterns::any) bits = static_cast<std::uint16_t>(random());
      if (patterns == Patterns::with_subnormals && random() % 16 == 0) bits &= 0x807f;
      if (patterns == Patterns::with_infinities && random() % 64 == 0) bits = random() % 8 == 0 ? 0x7fc0 : 0xff80;
      out[slot].put(k, Scalar::from_bits(dtypes::bfloat16, bits));
    }
    const bool has_least = is_limit && out[slot].size() > 0;
    if (has_least) out[slot].put(0, Scalar::from_bits(dtypes::bfloat16, static_cast<std::uint64_t>(least) << 7));
  }
  return out;
}

/// The least magnitude of a buffer of bf16, as are_normal() takes it.
inline std::uint16_t least_magnitude(const GuardedMemory& of) {
  std::uint16_t out = 0xffff;
  for (std::int64_t k = 0; k < of.size(); ++k)
    out = std::min(out, static_cast<std::uint16_t>((of[k].bits() & 0x7fff) - 1));
  return out;
}

/// A product of bytes of random dtypes, or of bf16, of random sizes and orders of axes, with a batch or not, and an
/// epilogue or not.
inline std::string random_product(std::mt19937_64& random, bool is_bf16 = false) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  const auto dtype = [&] { return is_bf16 ? "bf16" : below(2) == 0 ? "i8" : "u8"; };
  const char* const wide = is_bf16 ? "f32" : "i32";
  const std::int64_t m = 1 + below(6), n = 1 + below(40), b = 2 + below(2);
  const std::int64_t k = 2 + below(is_bf16 && below(4) == 0 ? 300 : 45);
  const bool has_batch = below(3) == 0, turned_x = below(4) == 0, turned_w = below(2) == 0;
  const auto matrix = [&](const char* name, std::int64_t rows, std::int64_t columns, bool is_turned) {
    const std::string batch = has_batch ? detail::message(b, ",") : "";
    return detail::message(name, ": ", dtype(), "[", batch, is_turned ? columns : rows, ",", is_turned ? rows : columns,
                           "]; ");
  };
  const auto read = [&](const char* name, bool is_turned) {
    const std::string turned = !is_turned ? "" : has_batch ? ".permute(0,2,1)" : ".permute(1,0)";
    return below(2) == 0 ? detail::message(name, ".cast(", wide, ")", turned)
                         : detail::message(name, turned, ".cast(", wide, ")");
  };
  std::string out = matrix("x", m, k, turned_x) + matrix("w", k, n, turned_w);
  const std::string product = "(" + read("x", turned_x) + ") @ (" + read("w", turned_w) + ")";
  switch (below(4)) {
    case 0: return out + "y = max(" + product + " * 3 + 7, 0)";
    case 1: return out + detail::message("s: f32[", n, "]; y = (", product, ").cast(f32) * s");
    case 2: return out + "y = (" + product + ").cast(" + (is_bf16 ? "bf16" : "i8") + ")";
    default: return out + "y = " + product;
  }
}

}  // namespace strata::oracle
