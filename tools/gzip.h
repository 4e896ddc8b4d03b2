// gzip() and gunzip() by zlib, and base64(), for the page and the traces in it. A build without zlib compiles
// absent_zlib_gzip.cpp instead of zlib_gzip.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace strata::tools {

/// Whether `bytes` begin with gzip's magic number.
inline bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

/// Decompresses `packed`. `what` is its name in errors.
/// @throws Error (parse) if it is damaged, (budget) beyond `most` bytes, (undefined) if Strata was built without zlib
std::string gunzip(std::string_view what, std::string_view packed, std::size_t most);

/// Compresses `text`. @throws Error (undefined) if Strata was built without zlib
std::string gzip(std::string_view text);

/// The base64 encoding of `bytes`, as in a data URL.
std::string base64(std::string_view bytes);

}  // namespace strata::tools
