#include "strata/graph/storage.h"

#include <cstring>

namespace strata {

HostTable::HostTable(std::span<const std::byte> bytes)
    : words_(bytes.size() / sizeof(std::uint64_t) + 1) {  // one more, so that an empty table has an address
  if (!bytes.empty()) std::memcpy(words_.data(), bytes.data(), bytes.size());
}

}  // namespace strata
