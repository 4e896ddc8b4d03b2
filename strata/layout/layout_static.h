// Layouts at compile time, from their text.
//
//   layout<"((2,4),8):((1,16),2)">(1, 3) == 7      // one coordinate a mode, or one index for all
//   static_assert(composition(layout<"(6,2):(8,2)">.value(), layout<"(4,3):(3,1)">.value()) == ...)
//
// Sizes and strides are constants of the type, so a call compiles to the arithmetic that one would
// write by hand. A wrong text does not compile; the compiler shows the column and the reason. An
// operation without a result does not compile either. At run time values wrap at 64 bits, unchecked;
// in a constant expression an overflow does not compile.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "strata/base/fixed_string.h"
#include "strata/layout/layout.h"
#include "strata/layout/layout_text.h"

namespace strata {

/// The compiler shows this type for a wrong text: the 1-based column, and the reason.
template <std::size_t Column, FixedString Reason>
struct LayoutTextError {
  static_assert(Column == 0,
                "the text of the layout is wrong: see the column and the reason in "
                "LayoutTextError<column, reason>");
};

/// The compiler shows this type for a call with a wrong number of coordinates.
template <std::size_t Modes, std::size_t Coordinates>
struct LayoutCoordinateCount {
  static_assert(Modes == Coordinates,
                "a layout takes one index, or one coordinate for each mode: see "
                "LayoutCoordinateCount<modes, coordinates>");
};

/// A layout whose text is part of the type.
template <FixedString Text>
class LayoutConstant {
 public:
  static constexpr std::string_view text() { return Text.view(); }
  static constexpr std::size_t rank() { return kForm.modes; }
  static constexpr std::int64_t size() { return kForm.size; }
  static constexpr std::int64_t cosize() { return value().cosize(); }
  /// The layout as a value that the algebra works on.
  static constexpr StaticLayout value() { return detail::to_layout(detail::read_layout(Text.view())); }
  constexpr operator StaticLayout() const { return value(); }

  template <std::integral... C>
  [[gnu::always_inline]] constexpr std::int64_t operator()(C... coordinates) const {
    if constexpr (sizeof...(C) == 1) {
      return digits<0, kForm.leaves>(static_cast<std::int64_t>(coordinates)...);
    } else {
      [[maybe_unused]] constexpr LayoutCoordinateCount<rank(), sizeof...(C)> checked;
      return modes(std::make_index_sequence<sizeof...(C)>(), static_cast<std::int64_t>(coordinates)...);
    }
  }
  /// The value at a coordinate. @throws Error (shape) as BasicLayout
  constexpr std::int64_t operator()(const StaticCoordinate& c) const { return value()(c); }

 private:
  static constexpr std::size_t kMost = Text.view().size() / 4 + 1;  // a leaf takes at least `1:1,`
  struct Form {
    std::array<std::int64_t, kMost> sizes{}, strides{};
    std::array<std::size_t, kMost + 2> first{};  // first[m] is the first leaf of mode m
    std::size_t leaves = 0, modes = 0;
    std::int64_t size = 1;
  };
  static consteval detail::LayoutFault fault() { return detail::read_layout(Text.view()).fault; }
  static consteval Form form() {
    Form out;
    constexpr detail::LayoutFault f = fault();
    if constexpr (f.column != 0) {
      using Size = std::integral_constant<std::size_t, f.what.size() + 1>;
      [[maybe_unused]] LayoutTextError<f.column, FixedString<Size::value>(f.what, Size())> error;
    } else {
      const StaticLayout l = value();
      for (const StaticLayout::Leaf& leaf : l.leaves()) {
        out.sizes[out.leaves] = leaf.size;
        out.strides[out.leaves++] = leaf.stride;
      }
      for (; out.modes < l.rank(); ++out.modes)
        out.first[out.modes + 1] = out.first[out.modes] + l.mode(out.modes).leaves().size();
      out.size = l.size();
    }
    return out;
  }
  static constexpr Form kForm = form();

  // Checked in constant expressions; wraps at run time.
  [[gnu::always_inline]] static constexpr std::int64_t plus(std::int64_t a, std::int64_t b) {
    if (std::is_constant_evaluated()) return detail::int_plus(a, b);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  [[gnu::always_inline]] static constexpr std::int64_t times(std::int64_t a, std::int64_t b) {
    if (std::is_constant_evaluated()) return detail::int_times(a, b);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }

  // The value of `index` in the leaves [First, Last), taken as a layout of their own.
  template <std::size_t First, std::size_t Last>
  [[gnu::always_inline]] static constexpr std::int64_t digits(std::int64_t index) {
    if constexpr (First == Last) {
      return 0;
    } else if constexpr (First + 1 == Last) {
      return times(index, kForm.strides[First]);
    } else {
      constexpr std::int64_t size = kForm.sizes[First];
      return plus(times(floor_mod(index, size), kForm.strides[First]), digits<First + 1, Last>(floor_div(index, size)));
    }
  }
  template <std::size_t... M, class... C>
  [[gnu::always_inline]] static constexpr std::int64_t modes(std::index_sequence<M...>, C... coordinates) {
    std::int64_t out = 0;
    ((out = plus(out, digits<kForm.first[M], kForm.first[M + 1]>(coordinates))), ...);
    return out;
  }
};

/// The layout with the text `Text`, e.g. layout<"(2,4):(1,2)">.
template <FixedString Text>
inline constexpr LayoutConstant<Text> layout{};

}  // namespace strata
