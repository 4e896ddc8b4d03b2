#include "strata/export/constants.h"

#include <cstring>

namespace strata::exporting {

std::uint64_t checksum(const void* data, std::size_t bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t k = 0; k < bytes; ++k) hash = (hash ^ at[k]) * 0x100000001b3u;
  return hash;
}

std::size_t Constants::add(DType dtype, const void* data, std::int64_t bytes) {
  const std::uint64_t hash = checksum(data, static_cast<std::size_t>(bytes));
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Constant& c = all_[it->second];
    if (c.dtype == dtype && c.bytes == bytes && std::memcmp(c.data, data, static_cast<std::size_t>(bytes)) == 0)
      return it->second;
  }
  all_.push_back({dtype, static_cast<const std::byte*>(data), bytes, bytes_});
  bytes_ += aligned(bytes);
  by_hash_.emplace(hash, all_.size() - 1);
  return all_.size() - 1;
}

std::size_t Constants::add(DType dtype, std::vector<std::byte> elements) {
  own_.push_back(std::make_unique<std::vector<std::byte>>(std::move(elements)));
  return add(dtype, own_.back()->data(), static_cast<std::int64_t>(own_.back()->size()));
}

}  // namespace strata::exporting
