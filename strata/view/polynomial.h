// Polynomial: a polynomial with 64-bit coefficients over numbered atoms. Symbolic sizes are polynomials while sizes.h
// reasons about them. Internal to view/.
//
// This file is pure arithmetic; sizes.h defines what the atoms stand for, and derives signs from their bounds. A
// coefficient that does not fit in 64 bits is an Error (overflow); a polynomial of more than kMaxTerms terms is an
// Error (budget).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "strata/base/small_vec.h"

namespace strata {

/// A product of atoms: their numbers in increasing order, repeated for powers; empty for 1. E.g. {0, 0, 2} is a0^2 *
/// a2.
using Monomial = SmallVec<std::uint32_t, 5>;

/// Graded lexicographic order, which multiplication by a monomial preserves; negative, 0 or positive.
int compare(const Monomial& a, const Monomial& b);
/// quotient = a / b. False when `a` does not contain every factor of `b`.
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

  /// The terms, leading term first; coefficients are nonzero.
  std::span<const Term> terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  bool is_constant() const { return terms_.empty() || terms_[0].monomial.empty(); }
  /// The coefficient of the monomial 1.
  std::int64_t constant() const;
  std::int64_t coefficient(const Monomial& m) const;
  /// The atoms that occur in the polynomial, in increasing order.
  std::vector<std::uint32_t> atoms() const;
  /// The polynomial with `by` in place of `atom`.
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

/// Division with remainder: a == quotient * b + rest, where no term of `rest` is a multiple of b's leading term.
/// Coefficients are divided by floor division, so a remaining coefficient lies in [0, leading coefficient). For numbers
/// this is floor division.
/// @pre b is not 0
struct Division {
  Polynomial quotient, rest;
};
Division divide(const Polynomial& a, const Polynomial& b);

}  // namespace strata
