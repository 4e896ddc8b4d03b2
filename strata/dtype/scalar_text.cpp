// Scalars as text: the fewest digits that read back to the same value.
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "strata/base/check.h"
#include "strata/base/text.h"
#include "strata/dtype/scalar.h"

namespace strata {

namespace {

template <class... Format>
std::string to_text(Format... value) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value...);
  STRATA_ASSERT(end.ec == std::errc(), "a number is longer than 64 characters");
  return {buffer.data(), end.ptr};
}

double read(const std::string& text) {
  const std::optional<double> out = read_double(text);
  STRATA_ASSERT(out.has_value(), "the decimal ", text, " is none");
  return *out;
}

// The next larger decimal with as many digits: "1.25e-07" gives 126e-9.
double next_decimal(const std::string& text) {
  const std::size_t e = text.find('e');
  const std::size_t places = e > 1 ? e - 2 : 0;
  const std::string digits = text.substr(0, 1) + text.substr(e > 1 ? 2 : 1, places);
  const int exponent = std::stoi(text.substr(e + 1)) - static_cast<int>(places);
  return read(detail::message(std::stoi(digits) + 1, "e", exponent));
}

// The decimal with the fewest digits that `dtype` reads as `size`; of several the nearest. @pre size > 0, finite, of 16
// bits
double shortest_decimal(double size, DType dtype) {
  const Scalar want = Scalar::of(dtype, size);
  for (int places = 0; places < 8; ++places) {
    const std::string nearest = to_text(size, std::chars_format::scientific, places);
    // NOTE: above a power of two floats are twice as far apart as below it. So the nearest decimal may be too low to
    // read back to `size`, while the next larger one does.
    for (const double decimal : {read(nearest), next_decimal(nearest)})
      if (Scalar::of(dtype, decimal) == want) return decimal;
  }
  throw InternalError("internal error: a 16-bit float has no decimal of eight digits");
}

std::string float_text(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const bool is_short = dtype.bits() == 16 && value != 0;
  if (is_short) value = std::copysign(shortest_decimal(std::fabs(value), dtype), value);
  const bool single = dtype == dtypes::float32;
  std::string out = single ? to_text(static_cast<float>(value)) : to_text(value);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

}  // namespace

std::string Scalar::text() const {
  switch (dtype_.kind()) {
    case DTypeKind::boolean: return i_ != 0 ? "True" : "False";
    case DTypeKind::sint: return std::to_string(i_);
    case DTypeKind::uint: return std::to_string(u_);
    case DTypeKind::floating: return float_text(f_, dtype_);
  }
  throw InternalError("internal error: text met an unknown kind");
}

}  // namespace strata
