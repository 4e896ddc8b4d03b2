// Numbers of many bits (MPFR), as values.
#pragma once

#include <mpfr.h>

#include <utility>

namespace strata::test {

/// A number of `bits` bits. Operators and functions round once.
class Big {
 public:
  inline static mpfr_prec_t bits = 128;

  Big() : Big(0.0L) {}
  Big(long double v) {
    mpfr_init2(v_, bits);
    mpfr_set_ld(v_, v, MPFR_RNDN);
  }
  Big(const Big& other) : Big() { mpfr_set(v_, other.v_, MPFR_RNDN); }
  Big(Big&& other) noexcept : Big() { mpfr_swap(v_, other.v_); }
  Big& operator=(Big other) noexcept {
    mpfr_swap(v_, other.v_);
    return *this;
  }
  ~Big() { mpfr_clear(v_); }

  long double value() const { return mpfr_get_ld(v_, MPFR_RNDN); }
  bool is_zero() const { return mpfr_zero_p(v_) != 0; }

  /// What one of MPFR's functions gives.
  template <class F>
  Big apply(F f) const {
    Big out;
    f(out.v_, v_, MPFR_RNDN);
    return out;
  }
  template <class F>
  Big apply(F f, const Big& other) const {
    Big out;
    f(out.v_, v_, other.v_, MPFR_RNDN);
    return out;
  }
  /// log|gamma|
  Big log_gamma() const {
    Big out;
    int sign = 0;
    mpfr_lgamma(out.v_, &sign, v_, MPFR_RNDN);
    return out;
  }
  static Big pi() {
    Big out;
    mpfr_const_pi(out.v_, MPFR_RNDN);
    return out;
  }

  friend Big operator+(const Big& a, const Big& b) { return a.apply(mpfr_add, b); }
  friend Big operator-(const Big& a, const Big& b) { return a.apply(mpfr_sub, b); }
  friend Big operator*(const Big& a, const Big& b) { return a.apply(mpfr_mul, b); }
  friend Big operator/(const Big& a, const Big& b) { return a.apply(mpfr_div, b); }

 private:
  mpfr_t v_;
};

}  // namespace strata::test
