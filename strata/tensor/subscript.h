// Subscript: one entry in the brackets of a tensor, x[{...}]. An entry is an integer, a Slice, `ellipsis`, `new_axis`,
// a tensor of indices or a mask, with the meaning of PyTorch.
//
//   x[0]                                  the first row
//   x[{Slice{1, 9, 2}, -1}]               the last element of rows 1, 3, 5, 7
//   x[{ellipsis, Slice{{}, {}, -1}}]      the last axis reversed
//   x[{new_axis, rows}]                   the rows that a tensor of integers selects, behind a new axis of size 1
//   x[x > 0]                              the positive elements, as one dimension
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

/// One entry of the brackets. A tensor of integers selects elements of an axis; negative indices count from the end. An
/// index outside of the axis gives 0, because the values are not known when the operation is called. A tensor of bools
/// is a mask that selects the elements at which it is true; it is realized, because their number becomes a size.
class Subscript {
 public:
  using Location = std::source_location;
  using Place [[deprecated("renamed to Location")]] = Location;
  using What = std::variant<Int, Slice, Ellipsis, NewAxis, std::shared_ptr<const Tensor>>;

  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Subscript(T index, Location at = Location::current()) : what_(Int(static_cast<std::int64_t>(index))), at_(at) {}
  Subscript(const Int& index, Location at = Location::current()) : what_(index), at_(at) {}
  Subscript(const Slice& slice, Location at = Location::current()) : what_(slice), at_(at) {}
  Subscript(Ellipsis all, Location at = Location::current()) : what_(all), at_(at) {}
  Subscript(NewAxis axis, Location at = Location::current()) : what_(axis), at_(at) {}
  Subscript(const Tensor& indices, Location at = Location::current());
  /// Indices that are checked when the operation is called: an index outside of its axis throws, as an integer entry
  /// does. Realizes `indices`.
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
