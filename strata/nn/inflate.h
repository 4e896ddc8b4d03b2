// Decompression of what zip files call deflated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "strata/nn/byte_io.h"

namespace strata {

/// The `size` bytes that the raw deflate stream `packed` stands for. Memory grows with what really comes out.
/// @throws Error (parse) in the words of `source` where it is damaged, has another size, or is followed by anything;
///         (undefined) where Strata was built without zlib
std::vector<std::byte> inflate(const ByteSource& source, std::span<const std::byte> packed,
                               std::uint64_t size);

/// Whether there is a decompressor in this build.
bool has_inflate();

}  // namespace strata
