// IndexRange: the values that integers may have where they index an axis or name a class, and the error messages for
// values outside. LazyOp::in_range() attaches a range to a node; the flag CHECK_INDEX and ops/at_hand.h check it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "strata/dtype/dtype.h"
#include "strata/view/int.h"

namespace strata {

/// The integers in [0, size), with `from_end` in [-size, size), and `also` if it is set.
struct IndexRange {
  const char* operation;  ///< the operation that takes the integers, for messages; lives as long as the program
  const char* noun;       ///< what an integer is, for messages: "index", "class"; lives as long as the program
  std::int64_t size;
  bool from_end = false;                            ///< negative values count from the end
  std::optional<std::int64_t> also = std::nullopt;  ///< one more allowed value, e.g. an ignored class

  template <class T>
  bool has(T v) const {
    return (std::cmp_less(v, size) && std::cmp_greater_equal(v, from_end ? -size : 0)) ||
           (also && std::cmp_equal(v, *also));
  }
  std::string text() const;  ///< "index of gather: -5 to 4"
  bool operator==(const IndexRange& o) const {
    return std::string_view(operation) == o.operation && std::string_view(noun) == o.noun && size == o.size &&
           from_end == o.from_end && also == o.also;
  }
};

/// The message for `value` at index `place`: "[gather] index 7 at (0, 2) is outside of a range: -5 to 4".
std::string words_on_outside(const IndexRange& range, const std::string& value, const Index& place);

/// An array of integers in memory, with its layout.
struct IntegersInMemory {
  const void* first;  ///< the element at index 0
  DType dtype;
  Index shape, strides;  ///< strides in elements, of any sign
};

/// The message for the first integer, in row-major order, that is outside of `range`; nothing where all are inside.
/// Linear time.
/// @pre the dtype is an integer
std::optional<std::string> words_on_outside(const IndexRange& range, const IntegersInMemory& integers);

}  // namespace strata
