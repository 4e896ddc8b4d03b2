#include "strata/nn/array_file.h"

#include <algorithm>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/base/quotes.h"

namespace strata {

bool try_count(DType dtype, std::span<const std::int64_t> shape, std::int64_t& count) {
  std::int64_t bytes = static_cast<std::int64_t>(dtype.itemsize());
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return false;
    empty = empty || size == 0;
    if (size != 0 && !try_mul(bytes, size, bytes)) return false;
  }
  count = empty ? 0 : bytes / static_cast<std::int64_t>(dtype.itemsize());
  return true;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string out = "(";
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (k != 0) out += ", ";
    out += std::to_string(shape[k]);
  }
  return out += shape.size() == 1 ? ",)" : ")";
}

Buffer checked_elements(std::string_view operation, std::string_view name, const HostArray& array) {
  STRATA_CHECK(array.data.dtype() == array.dtype, domain, "[", operation, "] ", name, " is declared as ",
               array.dtype.name(), ", but the elements are ", array.data.dtype().name());
  STRATA_CHECK(array.shape.size() <= kMostDimensions, shape, "[", operation, "] ", name, " has ", array.shape.size(),
               " dimensions; a file has ", kMostDimensions, " at most");
  std::int64_t count = 0;
  const bool fits = try_count(array.dtype, array.shape, count) && count == array.data.size();
  STRATA_CHECK(fits, shape, "[", operation, "] ", name, " of shape ", shape_text(array.shape), " has ",
               array.data.size(), " elements");
  return array.data.toCPU();
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

void check_names(std::string_view operation, const NamedArrays& arrays) {
  std::vector<std::string_view> names;
  for (const auto& [name, array] : arrays) {
    STRATA_CHECK(is_utf8(name), domain, "[", operation, "] the name ", in_quotes(name), " is not UTF-8");
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  STRATA_CHECK(twice == names.end(), domain, "[", operation, "] the name ", in_quotes(*twice), " is given twice");
}

std::int64_t bad_boolean(const Buffer& elements) {
  if (elements.dtype() != dtypes::boolean) return -1;
  const auto* const first = static_cast<const unsigned char*>(elements.data());
  const auto* const end = first + elements.nbytes();
  const auto* const bad = std::find_if(first, end, [](unsigned char byte) { return byte > 1; });
  return bad == end ? -1 : bad - first;
}

}  // namespace strata
