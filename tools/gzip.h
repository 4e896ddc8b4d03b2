// What gzip compresses and unpacks, by zlib.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace strata::tools {

/// Whether these are the first bytes of what gzip has written.
inline bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

/// The text that `packed` stands for; `what` it is, for errors.
/// @throws Error (parse) where it is damaged, (budget) for more than `most` bytes, (undefined) where Strata was built without zlib
std::string gunzip(std::string_view what, std::string_view packed, std::size_t most);

/// `text`, compressed. @throws Error (undefined) where Strata was built without zlib
std::string gzip(std::string_view text);

/// Three bytes as four letters, as in a data URL.
std::string base64(std::string_view bytes);

}  // namespace strata::tools
