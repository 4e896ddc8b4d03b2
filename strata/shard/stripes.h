// Stripes: a periodic set of integers, which is what a rank owns of one axis of a tensor; and strided boxes, which have
// Stripes on each axis. Owners, needs and messages of shardings are made of these sets.
//
// Stripes *mean* their elements: begin + i + k * stride for 0 <= i < length and 0 <= k < count. An AxisPart is a list
// of disjoint Stripes. Intersections and differences are computed from the periods, so their time and the number of
// Stripes do not depend on how many elements there are. Each of them has a limit, `most`: where more Stripes than that
// would be needed, there is no result, and the caller takes a larger set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/int_math.h"
#include "strata/base/small_vec.h"
#include "strata/view/piecewise.h"

namespace strata {

/// `count` intervals of `length` elements whose begins are `stride` apart, from `begin` on.
/// @pre length >= 1, count >= 1; stride > length where count > 1, and stride == length where count == 1; all elements
///   fit in 64 bits
struct Stripes {
  std::int64_t begin = 0, length = 1, stride = 1, count = 1;
  /// One behind the largest element.
  std::int64_t end() const { return begin + (count - 1) * stride + length; }
  std::int64_t size() const { return length * count; }
  friend bool operator==(const Stripes&, const Stripes&) = default;
};
/// Disjoint Stripes: a part of one axis.
using AxisPart = std::vector<Stripes>;
/// Stripes on each axis: the indices whose coordinate j is in box[j]. A box without axes has one index.
using StridedBox = std::vector<Stripes>;

/// The interval [begin, end). @pre begin < end, and end - begin fits in 64 bits
constexpr Stripes interval(std::int64_t begin, std::int64_t end) { return {begin, end - begin, end - begin, 1}; }
/// The number of elements.
std::int64_t elements_in(const AxisPart& part);
/// @throws Error (overflow) for more than 2^63 - 1 indices
std::int64_t volume(const StridedBox& box, std::string_view operation);
std::int64_t volume(const std::vector<StridedBox>& boxes, std::string_view operation);
/// True iff `x` is an element.
bool contains(const Stripes& stripes, std::int64_t x);

/// The elements of `stripes` in [begin, end): at most three Stripes.
AxisPart clipped(const Stripes& stripes, std::int64_t begin, std::int64_t end);
/// The elements of both; nothing where that takes more than `most` Stripes.
std::optional<AxisPart> intersection(const Stripes& a, const Stripes& b, std::size_t most);
/// The elements of `a` that are not in `b`; nothing where that takes more than `most` Stripes.
std::optional<AxisPart> difference(const Stripes& a, const Stripes& b, std::size_t most);

/// The most boxes of one list.
inline constexpr std::size_t kMostBoxes = std::size_t{1} << 16;

/// A progression: step * i for 0 <= i < count.
struct Level {
  std::int64_t step = 0, count = 1;
};
/// Sums of progressions: base plus one element of each level. Two sums may be equal.
struct Progressions {
  std::int64_t base = 0;
  SmallVec<Level, 6> levels;  ///< @pre count >= 1, and all sums fit in 64 bits
};
/// The elements of `sums`, each once; nothing where that takes more than `most` Stripes.
std::optional<AxisPart> stripes_of(const Progressions& sums, std::size_t most);

/// The boxes of all combinations of the parts. @throws Error (budget) for more than kMostBoxes
std::vector<StridedBox> boxes_of(const std::vector<AxisPart>& parts);
/// The boxes' indices in disjoint boxes; nothing where that takes more than `most`.
std::optional<std::vector<StridedBox>> disjoint(const std::vector<StridedBox>& boxes, std::size_t most);
/// The smallest box of intervals that holds all indices of `boxes`. @pre there is a box
StridedBox hull(const std::vector<StridedBox>& boxes);

/// `2:6` for an interval, `2:6/16*3` for three of them, whose begins are 16 apart.
std::string render(const Stripes& stripes);
/// `[2:6, 0:512]`, an entry for each axis.
std::string render(const StridedBox& box);

}  // namespace strata
