// Parameter types of operations: Number (a C++ number beside an array, with PyTorch's promotion rules) and the axes of
// reductions.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "strata/dtype/scalar.h"
#include "strata/graph/lazy_op.h"

namespace strata {

/// A bool, an integer or a float. It takes the dtype of the tensors in the operation unless its kind is higher (bool <
/// integer < float), as Python numbers do in PyTorch: i32 tensor + 1 is i32, i32 tensor + 1.5 is f32.
class Number {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  Number(T value) : value_(scalar(value)) {}
  explicit Number(const Scalar& value) : value_(value) {}
  const Scalar& value() const { return value_; }

 private:
  template <class T>
  static Scalar scalar(T value) {
    if constexpr (std::same_as<T, bool>)
      return Scalar(value);
    else if constexpr (std::floating_point<T>)
      return Scalar(static_cast<double>(value));
    else if constexpr (std::is_unsigned_v<T>)
      return Scalar::of(dtypes::uint64, static_cast<std::uint64_t>(value));
    else
      return Scalar(static_cast<std::int64_t>(value));
  }
  Scalar value_;
};

/// The axes of a reduction: one, several, or, by default, all. Negative axes count from the end.
class AxesArg {
 public:
  AxesArg() = default;  ///< all
  template <std::integral T>
  AxesArg(T axis) : axes_{static_cast<std::int64_t>(axis)}, all_(false) {}
  AxesArg(std::initializer_list<std::int64_t> axes) : all_(axes.size() == 0) {
    for (const std::int64_t a : axes) axes_.push_back(a);
  }
  AxesArg(const Axes& axes) : axes_(axes), all_(axes.empty()) {}

  /// The axes as numbers in [0, ndim), ascending. @throws Error (shape) naming `operation` for an axis out of range or
  /// given twice
  Axes of(std::int64_t ndim, const char* operation) const;

 private:
  Axes axes_;
  bool all_ = true;
};

/// Explicit axes: one, several, or none (unlike AxesArg, where none means all).
struct ListedAxes {
  ListedAxes(std::initializer_list<std::int64_t> listed) : axes(listed) {}
  ListedAxes(const Axes& listed) : axes(listed) {}
  template <std::integral T>
  ListedAxes(T axis) : axes{static_cast<std::int64_t>(axis)} {}

  Axes axes;
};

/// `axis` as a number in [0, ndim): a negative axis counts from the end. A scalar accepts 0 and -1. @throws Error
/// (shape) naming `operation` for an axis out of range
std::int64_t axis_of(std::int64_t axis, std::int64_t ndim, const char* operation);

}  // namespace strata
