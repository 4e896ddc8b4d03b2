// Swizzles: addresses with some bits exchanged by exclusive or, against bank conflicts.
#pragma once

#include <cstdint>
#include <vector>

#include "strata/base/check.h"

namespace strata {

/// The bijection i -> i ^ (the `bits` bits of i from bit base + max(shift, 0), moved down by
/// shift), over the nonnegative integers. It is its own inverse, and permutes [0, 2^(bits + base +
/// |shift|)).
class Swizzle {
 public:
  /// @throws Error (domain) unless bits >= 0, base >= 0; (undefined) where |shift| < bits: source
  ///   and target bits overlap; (overflow) where bits + base + |shift| exceeds 62.
  constexpr Swizzle(std::int64_t bits, std::int64_t base, std::int64_t shift) {
    STRATA_CHECK(bits >= 0 && base >= 0, domain, "[swizzle] ", bits, " bits from base ", base,
                 ": both must be at least 0");
    STRATA_CHECK(bits <= 62 && base <= 62 && shift >= -62 && shift <= 62, overflow, "[swizzle] [",
                 bits, ", ", base, ", ", shift, "] needs more than 62 bits");
    const std::int64_t distance = shift < 0 ? -shift : shift;
    STRATA_CHECK(bits + base + distance <= 62, overflow, "[swizzle] [", bits, ", ", base, ", ",
                 shift, "] needs more than 62 bits");
    STRATA_CHECK(distance >= bits, undefined, "[swizzle] ", bits, " bits shifted by ", shift,
                 " overlap with themselves");
    size_ = std::int64_t{1} << (bits + base + distance);
    mask_ = ((std::int64_t{1} << bits) - 1) << (base + (shift > 0 ? shift : 0));
    shift_ = static_cast<int>(shift);
  }

  /// 2^(bits + base + |shift|): the swizzle permutes [0, size()).
  constexpr std::int64_t size() const { return size_; }
  /// @throws Error (domain) for i < 0
  constexpr std::int64_t operator()(std::int64_t i) const {
    STRATA_CHECK(i >= 0, domain, "[swizzle] the address ", i, " is negative");
    const std::int64_t source = i & mask_;
    return i ^ (shift_ >= 0 ? source >> shift_ : source << -shift_);
  }
  friend constexpr bool operator==(const Swizzle&, const Swizzle&) = default;

 private:
  std::int64_t size_ = 1, mask_ = 0;
  int shift_ = 0;
};

/// s(0), s(1), ..., s(s.size() - 1). @throws Error (budget) above `most` values
std::vector<std::int64_t> table(const Swizzle& s, std::int64_t most = std::int64_t{1} << 24);

}  // namespace strata
