#include "strata/runtime/measured_machine.h"

#include <span>
#include <string>

#include "strata/runtime/cpu_features.h"
#include "strata/runtime/disk_cache.h"

namespace strata {

namespace {

Hash128 key_of_machine(int vector_bytes) {
  return cache_key({"machine", std::to_string(vector_bytes), cpu_features()});
}

}  // namespace

std::shared_ptr<const Machine> measured_machine(int vector_bytes) {
  const std::shared_ptr<DiskCache> cache = DiskCache::shared();
  if (!cache) return nullptr;
  const auto bytes = cache->find(key_of_machine(vector_bytes));
  if (!bytes) return nullptr;
  const auto machine =
      parse_machine({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, machine_of(vector_bytes));
  return machine ? std::make_shared<const Machine>(*machine) : nullptr;
}

bool keep_machine(const Machine& machine, int vector_bytes) {
  const std::shared_ptr<DiskCache> cache = DiskCache::shared();
  const std::string text = text_of(machine);
  return cache && cache->put(key_of_machine(vector_bytes), std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace strata
