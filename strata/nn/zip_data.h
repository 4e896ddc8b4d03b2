// What zlib does for zip archives: check sums, and decompression of what zip files call deflated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "strata/nn/byte_io.h"

namespace strata {

/// Whether this build has zlib; the others throw Error (undefined) where it has not.
bool has_zlib();

/// CRC-32 of zip archives over the bytes whose sum is `before` and then `bytes`.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// The `size` bytes that the raw deflate stream `packed` stands for. Memory grows with what really comes out.
/// @throws Error (parse) in the words of `source` where it is damaged, has another size, or is followed by anything
std::vector<std::byte> inflate(const ByteSource& source, std::span<const std::byte> packed,
                               std::uint64_t size);

}  // namespace strata
