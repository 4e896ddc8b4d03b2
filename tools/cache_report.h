// CacheReport: the state of the disk cache (runtime/disk_cache.h), as `strata cache` and `strata doctor` print it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "strata/base/json.h"
#include "strata/runtime/disk_cache.h"

namespace strata::tools {

struct CacheReport {
  std::string folder;
  std::string why_off;    ///< the reason if it cannot be used, else empty
  bool is_wanted = true;  ///< the flag DISK_CACHE
  std::size_t entries = 0;
  std::uint64_t bytes = 0, limit = 0;
  std::int64_t oldest = 0, newest = 0;  ///< last uses in seconds since 1970; 0 if there is no entry
};

CacheReport report_of(const DiskCache& cache);
/// E.g. "12 entries, 1.31 MiB of 256 MiB"; the reason if the cache is not used.
std::string text_of(const CacheReport& report);
/// Writes the report as a JSON object.
void write_cache(JsonWriter& json, const CacheReport& report);

}  // namespace strata::tools
