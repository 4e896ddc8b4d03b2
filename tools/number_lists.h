// Long lists of numbers in an answer: as text in its JSON, or in memory beside it, which saves the page from writing and reading a
// million numbers.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include "strata/base/json.h"

namespace strata::tools {

/// The lists that an answer left in memory: in their place its JSON says {"memory": index, "count": n}.
class NumberLists {
 public:
  using List = std::variant<std::vector<double>, std::vector<std::int32_t>>;

  void clear() { lists_.clear(); }
  const std::deque<List>& lists() const { return lists_; }
  void add(JsonWriter& json, List list);

 private:
  std::deque<List> lists_;
};

/// What stands in a list of addresses where there is none, while it is not written yet.
inline constexpr std::int64_t no_address = std::numeric_limits<std::int64_t>::min();

/// The list as JSON.
void write_numbers(JsonWriter& json, std::span<const std::int64_t> numbers);
/// The list in memory, as doubles, with NaN for `no_address`. As JSON, with -1 for it, where there is no memory or a number is
/// no double.
void write_numbers(JsonWriter& json, std::span<const std::int64_t> numbers, NumberLists* memory);

}  // namespace strata::tools
