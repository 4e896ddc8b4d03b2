// NumberLists: long lists of numbers in an answer to a request. The program writes them into the JSON. The page, which
// runs answer() as WebAssembly, gets them in memory beside the JSON, because a million numbers as text are slow to
// write and to parse.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include "strata/base/json.h"

namespace strata::tools {

/// The lists of an answer that are in memory. In place of each, the JSON has {"memory": index, "count": n}.
class NumberLists {
 public:
  using List = std::variant<std::vector<double>, std::vector<std::int32_t>>;

  void clear() { lists_.clear(); }
  const std::deque<List>& lists() const { return lists_; }
  void add(JsonWriter& json, List list);

 private:
  std::deque<List> lists_;
};

/// The mark for "no address" in a list of addresses before it is written.
inline constexpr std::int64_t no_address = std::numeric_limits<std::int64_t>::min();

/// Writes the list as a JSON array.
void write_numbers(JsonWriter& json, std::span<const std::int64_t> numbers);
/// Puts the list into `memory` as doubles, with NaN for no_address. If `memory` is null, or a number is not exactly a
/// double, writes a JSON array instead, with -1 for no_address.
void write_numbers(JsonWriter& json, std::span<const std::int64_t> numbers, NumberLists* memory);

}  // namespace strata::tools
