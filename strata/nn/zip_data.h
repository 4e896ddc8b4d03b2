// The two functions of zlib that zip.h needs: the checksum CRC-32, and decompression of raw deflate streams. A build
// without zlib compiles absent_zlib_zip_data.cpp instead of zlib_zip_data.cpp; its functions throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "strata/nn/byte_io.h"

namespace strata {

/// Whether this build has zlib. Without zlib, crc32() and inflate() throw Error (undefined).
bool has_zlib();

/// The CRC-32 of a prefix followed by `bytes`, where `before` is the CRC-32 of the prefix: crc32(b, crc32(a)) is that
/// of a, then b.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// Decompresses the raw deflate stream `packed`. Memory grows with the bytes that come out, not with `size`, which a
/// damaged or hostile archive may state as huge.
/// @throws Error (parse), made by source.fail(), if the stream is damaged, does not give exactly `size` bytes, or ends
/// before `packed` does
std::vector<std::byte> inflate(const ByteSource& source, std::span<const std::byte> packed, std::uint64_t size);

}  // namespace strata
