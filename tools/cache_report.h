// What is known of the disk cache, for `strata cache` and `strata doctor`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "strata/base/json.h"
#include "strata/runtime/disk_cache.h"

namespace strata::tools {

struct CacheReport {
  std::string folder;
  std::string why_off;    ///< empty where it can be used
  bool is_wanted = true;  ///< the flag DISK_CACHE
  std::size_t entries = 0;
  std::uint64_t bytes = 0, limit = 0;
  std::int64_t oldest = 0, newest = 0;  ///< last uses, in seconds since 1970; 0 where there is no entry
};

CacheReport report_of(const DiskCache& cache);
/// "12 entries, 1.31 MiB of 256 MiB"; why it is not used where that is so.
std::string text_of(const CacheReport& report);
/// One object.
void write_cache(JsonWriter& json, const CacheReport& report);

}  // namespace strata::tools
