#include "tools/number_lists.h"

#include <algorithm>
#include <utility>

namespace strata::tools {
namespace {

constexpr std::int64_t most_of_doubles = std::int64_t{1} << 53;  // up to 2^53 every integer is a double

bool is_double(std::int64_t n) { return n == no_address || (-most_of_doubles <= n && n <= most_of_doubles); }

double to_double(std::int64_t n) {
  return n == no_address ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(n);
}

}  // namespace

void NumberLists::add(JsonWriter& json, List list) {
  const auto count = std::visit([](const auto& l) { return l.size(); }, list);
  json.begin_object().member("memory", static_cast<std::int64_t>(lists_.size()));
  json.member("count", static_cast<std::int64_t>(count)).end_object();
  lists_.push_back(std::move(list));
}

void write_numbers(JsonWriter& json, std::span<const std::int64_t> numbers) {
  json.begin_array();
  for (const std::int64_t n : numbers) json.value(n);
  json.end_array();
}

void write_numbers(JsonWriter& json, std::span<const std::int64_t> numbers, NumberLists* memory) {
  if (memory != nullptr && std::ranges::all_of(numbers, is_double)) {
    std::vector<double> doubles(numbers.size());
    std::ranges::transform(numbers, doubles.begin(), to_double);
    return memory->add(json, std::move(doubles));
  }
  json.begin_array();
  for (const std::int64_t n : numbers) json.value(n == no_address ? std::int64_t{-1} : n);
  json.end_array();
}

}  // namespace strata::tools
