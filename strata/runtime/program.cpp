#include "strata/runtime/program.h"

#include <utility>

#include "strata/base/check.h"
#include "strata/runtime/shared_object.h"

namespace strata {

static_assert(sizeof(long long) == sizeof(std::int64_t));

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
bool Program::has_chunks() const { return has_parts(); }
bool Program::polls() const { return looks(); }
#pragma GCC diagnostic pop

ObjectProgram::ObjectProgram(std::string name, std::span<const std::byte> object, std::size_t buffer_count,
                             std::size_t value_count)
    : name_(std::move(name)),
      object_(SharedObject::load(object)),
      entry_(object_->function<Entry>(name_ + "_entry")),
      buffer_count_(buffer_count),
      value_count_(value_count) {}

void ObjectProgram::run(std::span<void* const> buffers, std::span<const std::int64_t> values) {
  STRATA_CHECK(buffers.size() == buffer_count_ && values.size() == value_count_, shape, "[run] ", name_, " takes ",
               buffer_count_, " buffers and ", value_count_, " values, not ", buffers.size(), " and ", values.size());
  entry_(buffers.data(), reinterpret_cast<const long long*>(values.data()));
}

}  // namespace strata
