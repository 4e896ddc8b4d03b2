// The check sum of zip files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace strata {

/// CRC-32 (ISO-HDLC, polynomial 0x04C11DB7 reflected) of what `before` is the CRC-32 of, followed by `bytes`.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace strata
