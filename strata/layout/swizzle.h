// Swizzle: a permutation of addresses that exchanges bits by exclusive or, which avoids bank
// conflicts in shared memory.
#pragma once

#include <cstdint>
#include <vector>

#include "strata/base/check.h"

namespace strata {

/// The function i -> i ^ s over the nonnegative integers, where s is the `bits` bits of i from bit
/// base + max(shift, 0) on, moved down by `shift` (up, where shift < 0). It is its own inverse, and
/// permutes [0, 2^(bits + base + |shift|)). E.g. Swizzle(1, 0, 1) maps 0, 1, 2, 3 to 0, 1, 3, 2.
class Swizzle {
 public:
  /// @throws Error (domain) unless bits >= 0 and base >= 0; (undefined) when |shift| < bits, so that
  ///   source and target bits overlap; (overflow) when bits + base + |shift| exceeds 62.
  constexpr Swizzle(std::int64_t bits, std::int64_t base, std::int64_t shift) {
    STRATA_CHECK(bits >= 0 && base >= 0, domain, "[swizzle] ", bits, " bits from base ", base,
                 ": both must be at least 0");
    STRATA_CHECK(bits <= 62 && base <= 62 && shift >= -62 && shift <= 62, overflow, "[swizzle] [", bits, ", ", base,
                 ", ", shift, "] needs more than 62 bits");
    const std::int64_t distance = shift < 0 ? -shift : shift;
    STRATA_CHECK(bits + base + distance <= 62, overflow, "[swizzle] [", bits, ", ", base, ", ", shift,
                 "] needs more than 62 bits");
    STRATA_CHECK(distance >= bits, undefined, "[swizzle] ", bits, " bits shifted by ", shift,
                 " overlap with themselves");
    size_ = std::int64_t{1} << (bits + base + distance);
    mask_ = ((std::int64_t{1} << bits) - 1) << (base + (shift > 0 ? shift : 0));
    shift_ = static_cast<int>(shift);
  }

  /// 2^(bits + base + |shift|): the swizzle permutes [0, size()).
  constexpr std::int64_t size() const { return size_; }
  /// The swizzled address. @throws Error (domain) for i < 0
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

/// The values s(0), s(1), ..., s(s.size() - 1). @throws Error (budget) above `most` values
std::vector<std::int64_t> table(const Swizzle& s, std::int64_t most = std::int64_t{1} << 24);

}  // namespace strata
