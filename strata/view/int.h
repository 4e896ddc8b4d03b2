// Int: a size, stride or offset. It is a 64-bit integer, or an expression where sizes are symbolic. Also here: lists of
// Ints, and questions about them (`is_equal`, `is_less`, ...) that are answered for every value of the variables.
//
// An Int that is a number touches no intern table; an expression that becomes constant becomes a number. Shapes,
// strides, offsets and masks of Views are Ints. The layout algebra works on Int and on std::int64_t, by the operations
// of layout_int.h.
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

/// A 64-bit integer, or an expression that is not constant. Integers (but std::uint64_t) and Exprs convert to it. `+ -
/// *` throw Error (overflow) when the result, or a constant in it, does not fit in 64 bits.
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
  /// The number. @throws Error (undefined) unless is_number()
  std::int64_t value() const {
    if (node_) refuse_value();
    return value_;
  }
  Expr expr() const;
  std::string render() const;
  /// Sound bounds on all values. @throws Error (overflow) when no bound in 64 bits is known.
  std::int64_t vmin() const { return is_number() ? value_ : expr().vmin(); }
  std::int64_t vmax() const { return is_number() ? value_ : expr().vmax(); }

  /// True iff both are written the same (equal numbers, or one node). Sound for equality, not complete.
  friend bool operator==(const Int& a, const Int& b) { return a.node_ == b.node_ && a.value_ == b.value_; }
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
  // For expressions, and for numbers whose result does not fit in 64 bits: Error (overflow).
  static Int add_slow(const Int& a, const Int& b);
  [[noreturn]] void refuse_value() const;
  static Int sub_slow(const Int& a, const Int& b);
  static Int mul_slow(const Int& a, const Int& b);

  std::int64_t value_ = 0;
  const Node* node_ = nullptr;
};

/// A shape or a list of strides. Up to 6 dimensions need no allocation; the rank is not capped.
using Ints = SmallVec<Int, 6>;

/// `(2, 3)`, `(100,)`, `()`, as Python writes tuples.
std::string render(const Ints& values);
std::string render(const Index& values);

/// The values as numbers; nothing when one of them is an expression.
std::optional<Index> numbers(const Ints& values);
Ints to_ints(const Index& values);
/// The product, 1 when empty. A number 0 gives 0 whatever the other factors are.
/// @throws Error (overflow) when the product does not fit in 64 bits.
Int product(const Ints& values);
std::int64_t product(const Index& values);
/// Row-major strides: result[t] = product of shape[t + 1 ...], so the last dimension has stride 1, e.g. (2, 3, 4) gives
/// (12, 4, 1). A size 0 gives strides 0 before it. @throws Error (overflow) when a stride does not fit in 64 bits.
Ints row_major_strides(const Ints& shape);

// Questions about sizes. `yes` and `no` hold for every value of the variables; `unknown` means not shown. For numbers
// the answer is never `unknown`.
Answer is_equal(const Int& a, const Int& b);
Answer is_less(const Int& a, const Int& b);      ///< a < b
Answer is_at_most(const Int& a, const Int& b);   ///< a <= b
Answer is_multiple(const Int& a, const Int& b);  ///< b divides a. @pre b > 0
inline bool known(Answer a) { return a == Answer::yes; }
/// a / b, when the quotient is shown to be an integer for every value of the variables; nothing otherwise, and for b ==
/// 0.
std::optional<Int> exact_quotient(const Int& a, const Int& b);

}  // namespace strata
