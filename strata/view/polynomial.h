// Polynomials with 64-bit coefficients over numbered atoms: what symbolic sizes are while they are reasoned about.
//
// Pure arithmetic: sizes.h says what the atoms stand for, and what signs follow from their bounds. A coefficient that
// leaves 64 bits is an Error (overflow); one with more than kMaxTerms terms an Error (budget).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "strata/base/small_vec.h"

namespace strata {

/// A product of atoms: their numbers in increasing order, repeated for powers; empty for 1.
using Monomial = SmallVec<std::uint32_t, 5>;

/// Graded, then lexicographic: an order that products keep. <0, 0, >0.
int compare(const Monomial& a, const Monomial& b);
/// a / b. False when some factor of b is not in a.
[[nodiscard]] bool divide(const Monomial& a, const Monomial& b, Monomial& quotient);

class Polynomial {
 public:
  static constexpr std::size_t kMaxTerms = 256;
  struct Term {
    Monomial monomial;
    std::int64_t coefficient = 0;
    friend bool operator==(const Term&, const Term&) = default;
  };

  Polynomial() = default;  ///< 0
  Polynomial(std::int64_t constant);
  static Polynomial atom(std::uint32_t number);
  static Polynomial monomial(Monomial factors, std::int64_t coefficient);

  /// Leading term first; coefficients are nonzero.
  std::span<const Term> terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  bool is_constant() const { return terms_.empty() || terms_[0].monomial.empty(); }
  /// The coefficient of the monomial 1.
  std::int64_t constant() const;
  std::int64_t coefficient(const Monomial& m) const;
  /// The atoms that occur, in increasing order.
  std::vector<std::uint32_t> atoms() const;
  /// With `by` in place of an atom.
  Polynomial substitute(std::uint32_t atom, const Polynomial& by) const;

  friend Polynomial operator+(const Polynomial& a, const Polynomial& b) { return sum(a, b, 1); }
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b) { return sum(a, b, -1); }
  friend Polynomial operator-(const Polynomial& a) { return sum(Polynomial(), a, -1); }
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  Polynomial& operator+=(const Polynomial& b) { return *this = *this + b; }
  Polynomial& operator-=(const Polynomial& b) { return *this = *this - b; }
  friend bool operator==(const Polynomial&, const Polynomial&) = default;

 private:
  static Polynomial sum(const Polynomial& a, const Polynomial& b, std::int64_t scale);
  std::vector<Term> terms_;
};

/// a == quotient * b + rest, where no term of `rest` is a multiple of b's leading one (coefficients: floor division, so
/// that what is left of a multiple lies in [0, leading coefficient)). For numbers: floor division.
/// @pre b is not 0
struct Division {
  Polynomial quotient, rest;
};
Division divide(const Polynomial& a, const Polynomial& b);

}  // namespace strata
