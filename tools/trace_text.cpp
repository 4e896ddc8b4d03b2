#include "tools/trace_text.h"

#include <ostream>

#include "strata/base/flags.h"

namespace strata::tools {

DebugTrace::DebugTrace(std::ostream& out) {
  static constexpr std::int64_t level_of_rewrites = 5;
  if (flags::DEBUG.get() >= level_of_rewrites) log_.emplace([&out](const std::string& line) { out << line; });
}

}  // namespace strata::tools
