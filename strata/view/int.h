// Sizes, strides and offsets: a 64-bit integer, or an expression where sizes are symbolic.
//
// An Int that is a number touches no intern table; an expression that becomes constant becomes a number. The same names
// exist for std::int64_t, so that the layout algebra is written once, for both (and for constant expressions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/base/small_vec.h"
#include "strata/expr/expr.h"
#include "strata/view/piecewise.h"

namespace strata {

/// An integer of 64 bits, or an expression that is no constant.
class Int {
 public:
  Int() = default;
  template <std::integral T>
  Int(T value) : value_(static_cast<std::int64_t>(value)) {
    static_assert(sizeof(T) < 8 || std::is_signed_v<T>, "sizes are signed 64-bit integers");
  }
  Int(const Expr& e);
  Int(const Int& other) : value_(other.value_), node_(other.node_) {
    if (node_) retain(node_);
  }
  Int(Int&& other) noexcept : value_(other.value_), node_(std::exchange(other.node_, nullptr)) {}
  Int& operator=(const Int& other) {
    if (other.node_) retain(other.node_);
    if (node_) drop(node_);
    value_ = other.value_;
    node_ = other.node_;
    return *this;
  }
  Int& operator=(Int&& other) noexcept {
    std::swap(value_, other.value_);
    std::swap(node_, other.node_);
    return *this;
  }
  ~Int() {
    if (node_) drop(node_);
  }

  /// True iff this is a number.
  bool is_number() const { return node_ == nullptr; }
  /// @pre is_number(): else Error (undefined)
  std::int64_t value() const {
    if (node_) refuse_value();
    return value_;
  }
  Expr expr() const;
  std::string render() const;
  /// Sound bounds. @throws Error (overflow) where none is known in 64 bits.
  std::int64_t vmin() const { return is_number() ? value_ : expr().vmin(); }
  std::int64_t vmax() const { return is_number() ? value_ : expr().vmax(); }

  /// True iff written the same (equal numbers, or the same node): sound for equality, not complete.
  friend bool operator==(const Int& a, const Int& b) {
    return a.node_ == b.node_ && a.value_ == b.value_;
  }
  friend Int operator+(const Int& a, const Int& b) {
    std::int64_t out = 0;
    if (a.is_number() && b.is_number() && try_add(a.value_, b.value_, out)) return out;
    return add_slow(a, b);
  }
  friend Int operator-(const Int& a, const Int& b) {
    std::int64_t out = 0;
    if (a.is_number() && b.is_number() && try_sub(a.value_, b.value_, out)) return out;
    return sub_slow(a, b);
  }
  friend Int operator*(const Int& a, const Int& b) {
    std::int64_t out = 0;
    if (a.is_number() && b.is_number() && try_mul(a.value_, b.value_, out)) return out;
    return mul_slow(a, b);
  }
  friend Int operator-(const Int& a) { return Int(0) - a; }
  Int& operator+=(const Int& b) { return *this = *this + b; }
  Int& operator-=(const Int& b) { return *this = *this - b; }
  Int& operator*=(const Int& b) { return *this = *this * b; }

 private:
  static void retain(const Node* node);
  static void drop(const Node* node);
  // Expressions, or numbers whose result leaves 64 bits: Error (overflow).
  static Int add_slow(const Int& a, const Int& b);
  [[noreturn]] void refuse_value() const;
  static Int sub_slow(const Int& a, const Int& b);
  static Int mul_slow(const Int& a, const Int& b);

  std::int64_t value_ = 0;
  const Node* node_ = nullptr;
};

/// Shapes, strides: most have few dimensions; there is no cap.
using Ints = SmallVec<Int, 6>;

/// `(2, 3)`, `(100,)`, `()`: as Python writes tuples.
std::string render(const Ints& values);
std::string render(const Index& values);

/// The numbers, when all are.
std::optional<Index> numbers(const Ints& values);
Ints to_ints(const Index& values);
/// Product, 1 for none. @throws Error (overflow); a 0 among numbers gives 0 whatever the others are.
Int product(const Ints& values);
std::int64_t product(const Index& values);
/// Row-major strides: the last dimension has stride 1. @post result[t] = product of shape[t + 1 ...]
Ints row_major_strides(const Ints& shape);

// What can be said of sizes for every value of their variables. For numbers the answer is never `unknown`.
Answer is_equal(const Int& a, const Int& b);
Answer is_less(const Int& a, const Int& b);      ///< a < b
Answer is_at_most(const Int& a, const Int& b);   ///< a <= b
Answer is_multiple(const Int& a, const Int& b);  ///< b divides a; b > 0
inline bool known(Answer a) { return a == Answer::yes; }
/// a / b where it is an integer for every value of the variables, and that is shown. @pre b != 0
std::optional<Int> exact_quotient(const Int& a, const Int& b);

}  // namespace strata
