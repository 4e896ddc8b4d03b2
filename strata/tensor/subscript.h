// What stands in the brackets of a tensor.
//
//   x[0]                                  the first row
//   x[{Slice{1, 9, 2}, -1}]               of rows 1, 3, 5, 7 the last element
//   x[{ellipsis, Slice{{}, {}, -1}}]      the last axis backwards
//   x[{new_axis, rows}]                   rows by a tensor of integers, under an axis of size 1
//   x[x > 0]                              what is positive, as one dimension
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <variant>

#include "strata/ops/options.h"

namespace strata {

class Tensor;

inline constexpr Ellipsis ellipsis;
inline constexpr NewAxis new_axis;

/// One of those, an integer or a tensor: of integers (indices, below 0 from the end; where they are outside, there is 0: nothing
/// waits for their values), or of bools (those elements for which it holds: it is realized, as their number is a size).
class Subscript {
 public:
  using Location = std::source_location;
  using Place [[deprecated("renamed to Location")]] = Location;
  using What = std::variant<Int, Slice, Ellipsis, NewAxis, std::shared_ptr<const Tensor>>;

  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Subscript(T index, Location at = Location::current())
      : what_(Int(static_cast<std::int64_t>(index))), at_(at) {}
  Subscript(const Int& index, Location at = Location::current()) : what_(index), at_(at) {}
  Subscript(const Slice& slice, Location at = Location::current()) : what_(slice), at_(at) {}
  Subscript(Ellipsis all, Location at = Location::current()) : what_(all), at_(at) {}
  Subscript(NewAxis axis, Location at = Location::current()) : what_(axis), at_(at) {}
  Subscript(const Tensor& indices, Location at = Location::current());
  /// Indices that are refused where one is outside of its axis, as an integer is. Realizes them.
  static Subscript checked(const Tensor& indices, Location at = Location::current());

  const What& what() const { return what_; }
  bool is_checked() const { return is_checked_; }
  const Location& at() const { return at_; }

 private:
  What what_;
  bool is_checked_ = false;
  Location at_;
};

}  // namespace strata
