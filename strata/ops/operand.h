// What stands beside an array in an operation: numbers, whose dtype gives way to the array's, and axes.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "strata/dtype/scalar.h"
#include "strata/graph/lazy_op.h"

namespace strata {

/// A bool, an integer or a float that takes the dtype of the tensors around it where its kind is no higher than theirs
/// (bool < integer < float), as PyTorch's rules for Python numbers say.
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

/// Axes of a reduction: one, several, or (where none is said) all. Below 0 from the end.
class AxesArg {
 public:
  AxesArg() = default;  ///< all
  template <std::integral T>
  AxesArg(T axis) : axes_{static_cast<std::int64_t>(axis)}, all_(false) {}
  AxesArg(std::initializer_list<std::int64_t> axes) : all_(axes.size() == 0) {
    for (const std::int64_t a : axes) axes_.push_back(a);
  }
  AxesArg(const Axes& axes) : axes_(axes), all_(axes.empty()) {}

  /// In order, from 0. @throws Error (shape) naming `operation` for an axis outside of `ndim` or twice
  Axes of(std::int64_t ndim, const char* operation) const;

 private:
  Axes axes_;
  bool all_ = true;
};

/// Axes of which each is said: one, several, or none.
struct ListedAxes {
  ListedAxes(std::initializer_list<std::int64_t> listed) : axes(listed) {}
  ListedAxes(const Axes& listed) : axes(listed) {}
  template <std::integral T>
  ListedAxes(T axis) : axes{static_cast<std::int64_t>(axis)} {}

  Axes axes;
};

/// An axis from 0. @throws Error (shape) naming `operation` unless -ndim <= axis < ndim (a scalar takes 0 and -1)
std::int64_t axis_of(std::int64_t axis, std::int64_t ndim, const char* operation);

}  // namespace strata
