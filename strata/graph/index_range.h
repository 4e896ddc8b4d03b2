// What integers may be that name places of an axis, or classes; and what is said of one that names none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "strata/dtype/dtype.h"
#include "strata/view/int.h"

namespace strata {

/// Integers from 0 to `size` - 1; where they count from the end, too, from -`size`; and one more.
struct IndexRange {
  const char* operation;  ///< whose integers these are; lives as long as the program
  const char* noun;       ///< what one is: "index", "class"; likewise
  std::int64_t size;
  bool from_end = false;
  std::optional<std::int64_t> also = std::nullopt;

  template <class T>
  bool has(T v) const {
    return (std::cmp_less(v, size) && std::cmp_greater_equal(v, from_end ? -size : 0)) ||
           (also && std::cmp_equal(v, *also));
  }
  std::string text() const;  ///< "index of gather: -5 to 4"
  bool operator==(const IndexRange& o) const {
    return std::string_view(operation) == o.operation && std::string_view(noun) == o.noun &&
           size == o.size && from_end == o.from_end && also == o.also;
  }
};

/// "[gather] index 7 at (0, 2) is outside of a range: -5 to 4"
std::string words_on_outside(const IndexRange& range, const std::string& value, const Index& place);

/// Integers of one dtype in memory: where the first is, and how they lie.
struct IntegersInMemory {
  const void* first;
  DType dtype;
  Index shape, strides;  ///< strides in elements, of any sign
};

/// What there is to say of the first of them, in row-major order, that is outside; nothing where all are inside. @pre integers
std::optional<std::string> words_on_outside(const IndexRange& range, const IntegersInMemory& integers);

}  // namespace strata
