#include "strata/graph/origin.h"

#include "strata/base/check.h"

namespace strata {

namespace {
Origin& of_this_thread() {
  thread_local Origin origin;
  return origin;
}
}  // namespace

std::string Origin::text() const {
  if (!is_known()) return {};
  return detail::message(operation, ", written at ", file, ":", line);
}

const Origin& Origin::current() { return of_this_thread(); }

OriginScope::OriginScope(const char* operation, const std::source_location& where)
    : OriginScope(Origin{operation, where.file_name(), where.line()}) {}
OriginScope::OriginScope(const Origin& origin) : is_outermost_(!of_this_thread().is_known()) {
  if (is_outermost_) of_this_thread() = origin;
}
OriginScope::~OriginScope() {
  if (is_outermost_) of_this_thread() = {};
}

UserCodeScope::UserCodeScope() : outer_(of_this_thread()) { of_this_thread() = {}; }
UserCodeScope::~UserCodeScope() { of_this_thread() = outer_; }

}  // namespace strata
