// Texts of quantities.
#include "tools/units.h"

#include <charconv>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "strata/base/check.h"

namespace strata::tools {
namespace {

using Units = std::initializer_list<std::pair<double, const char*>>;  // the largest first

std::string with_unit(double value, Units units) {
  auto unit = units.begin();
  while (unit + 1 != units.end() && value < unit->first) ++unit;
  value /= unit->first;
  const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  char digits[64];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value, std::chars_format::fixed, decimals).ptr;
  return detail::message(std::string_view(digits, static_cast<std::size_t>(end - digits)), " ", unit->second);
}

}  // namespace

std::string seconds_text(double seconds) {
  return with_unit(seconds, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}});
}
std::string bandwidth_text(double per_second) { return with_unit(per_second, {{1e9, "GB/s"}, {1e6, "MB/s"}}); }
std::string speed_text(double per_second, bool floats) {
  return floats ? with_unit(per_second, {{1e9, "GFLOP/s"}, {1e6, "MFLOP/s"}})
                : with_unit(per_second, {{1e9, "Gop/s"}, {1e6, "Mop/s"}});
}
std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return detail::message(bytes, bytes == 1 ? " byte" : " bytes");
  return with_unit(static_cast<double>(bytes), {{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}});
}

}  // namespace strata::tools
