// What the tests of array files share: arrays of any dtype, bytes in hexadecimal, errors.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "strata/base/check.h"
#include "strata/nn/array_file.h"
#include "strata/nn/byte_io.h"
#include "tests/base/errors.h"

namespace strata {

using Bytes = std::vector<std::byte>;

inline Bytes as_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// "0a ff" as two bytes; white space is left out, "20*57" are 57 bytes 0x20.
inline Bytes unhex(const std::string& text) {
  Bytes out;
  std::string digits;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '*') {
      std::size_t length = 0;
      const unsigned long count = std::stoul(text.substr(at + 1), &length);
      out.insert(out.end(), count - 1, out.back());
      at += length;
    } else if (text[at] != ' ' && text[at] != '\n') {
      digits += text[at];
      if (digits.size() < 2) continue;
      out.push_back(static_cast<std::byte>(std::stoul(digits, nullptr, 16)));
      digits.clear();
    }
  }
  return out;
}

inline HostArray array_of(DType dtype, std::vector<std::int64_t> shape, const Bytes& elements) {
  Buffer data = Buffer::allocate(static_cast<std::int64_t>(elements.size() / dtype.itemsize()), dtype);
  data.copy_from(elements.data(), elements.size());
  return {dtype, std::move(shape), std::move(data)};
}

/// Elements whose bytes are all different, or 0 and 1 for booleans.
inline HostArray sample(DType dtype, std::vector<std::int64_t> shape) {
  std::int64_t count = 0;
  EXPECT_TRUE(try_count(dtype, shape, count));
  Bytes bytes(static_cast<std::size_t>(count) * dtype.itemsize());
  for (std::size_t k = 0; k < bytes.size(); ++k)
    bytes[k] = static_cast<std::byte>(dtype == dtypes::boolean ? k % 3 == 0 : k * 37 + 11);
  return array_of(dtype, std::move(shape), bytes);
}

inline Bytes elements(const HostArray& array) {
  const auto bytes = bytes_of(array.data);
  return {bytes.begin(), bytes.end()};
}

inline void expect_same(const HostArray& a, const HostArray& b) {
  EXPECT_EQ(a.dtype.name(), b.dtype.name());
  EXPECT_EQ(a.data.dtype().name(), b.data.dtype().name());
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(elements(a), elements(b));
}

inline void expect_same(const NamedArrays& a, const NamedArrays& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(a[k].first, b[k].first);
    expect_same(a[k].second, b[k].second);
  }
}

inline const std::vector<std::vector<std::int64_t>>& shapes() {
  static const std::vector<std::vector<std::int64_t>> all = {
      {}, {0}, {1}, {7}, {2, 3}, {0, 3}, {3, 0, 2}, {2, 1, 3, 4}, {1, 1, 1, 1}, {2, 2, 2, 2, 2, 2}};
  return all;
}

}  // namespace strata
