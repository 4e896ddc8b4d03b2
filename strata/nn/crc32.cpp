#include "strata/nn/crc32.h"

#include <array>

namespace strata {
namespace {

using Table = std::array<std::uint32_t, 256>;

/// Table k has what a byte does to the sum when k bytes follow it, so that eight bytes are taken at a time.
constexpr std::array<Table, 8> kTables = [] {
  std::array<Table, 8> out{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 1) != 0 ? sum >> 1 ^ 0xEDB88320U : sum >> 1;
    out[0][byte] = sum;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      out[k][byte] = out[k - 1][byte] >> 8 ^ out[0][out[k - 1][byte] & 0xFF];
  return out;
}();

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  const auto number = [&](std::size_t at) { return static_cast<std::uint32_t>(bytes[at]); };
  std::size_t at = 0;
  for (; bytes.size() - at >= 8; at += 8) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < 4; ++k)
      next ^= kTables[7 - k][(number(at + k) ^ sum >> (8 * k)) & 0xFF] ^
              kTables[3 - k][number(at + 4 + k)];
    sum = next;
  }
  for (; at < bytes.size(); ++at) sum = sum >> 8 ^ kTables[0][(sum ^ number(at)) & 0xFF];
  return ~sum;
}

}  // namespace strata
