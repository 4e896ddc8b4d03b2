// The table of dtypes.def, looked up by dtype and by name.
#include "strata/dtype/dtype.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "strata/base/check.h"
#include "strata/dtype/float_bits.h"

namespace strata {

namespace {

struct DTypeRow {
  DTypeKind kind;
  int bits;
  std::string_view name, spec, numpy, c;
};

constexpr std::array<DTypeRow, DType::kCount> kDTypeRows{{
#define STRATA_DTYPE(id, kind, bits, name, spec, c, significand, min_exponent) \
  {DTypeKind::kind, bits, name, spec, #id, c},
#include "strata/dtype/dtypes.def"
}};

constexpr std::array<DType, DType::kCount> kAll{
#define STRATA_DTYPE(id, kind, bits, name, spec, c, significand, min_exponent) DType(DType::Id::id),
#include "strata/dtype/dtypes.def"
};

const DTypeRow& row_of(DType dtype) {
  STRATA_ASSERT(!dtype.is_none(), "dtype none has no properties");
  return kDTypeRows[static_cast<std::size_t>(dtype.id()) - 1];
}

}  // namespace

DType DType::vec(int lanes) const {
  STRATA_CHECK(!is_none() && !is_pointer() && !is_vector(), domain, "[vec] ", name(), " is not a scalar");
  STRATA_CHECK(lanes >= 1 && lanes <= kMostLanes, domain, "[vec] ", lanes, " lanes of ", name(), ": 1 to ", kMostLanes,
               " are possible");
  return with(lanes, false);
}

DTypeKind DType::kind() const { return row_of(*this).kind; }
int DType::bits() const { return row_of(*this).bits; }
int DType::significand_bits() const { return is_float() ? float_format(*this).significand : 0; }
int DType::min_exponent() const { return is_float() ? float_format(*this).min_exponent : 0; }
std::string_view DType::c_name() const { return row_of(*this).c; }

std::size_t DType::itemsize() const {
  if (is_pointer()) return 8;
  return is_none() ? 0 : static_cast<std::size_t>(lanes()) * static_cast<std::size_t>(bits() / 8);
}

std::string DType::name() const {
  std::string out(is_none() ? "none" : row_of(*this).name);
  if (is_vector()) out.append("x").append(std::to_string(lanes()));
  if (is_pointer()) out += '*';
  return out;
}

std::string DType::spec_name() const {
  if (is_none()) return "";
  std::string out(is_pointer() ? "ptr.dtypes." : "dtypes.");
  out += row_of(*this).spec;
  if (is_vector()) out.append(".vec(").append(std::to_string(lanes())).append(")");
  return out;
}

namespace dtypes {

namespace {

// Strips the affixes of name(), spec_name() and NumPy's names from both ends; `rest` is then the name of a scalar.
struct NameParser {
  std::string_view rest;

  bool drop_front(std::string_view prefix) {
    if (!rest.starts_with(prefix)) return false;
    rest.remove_prefix(prefix.size());
    return true;
  }
  bool drop_back(std::string_view suffix) {
    if (!rest.ends_with(suffix)) return false;
    rest.remove_suffix(suffix.size());
    return true;
  }
  // The number after `mark`; 1 without a mark, 0 when no number from 2 to kMostLanes follows the mark.
  int drop_lanes(std::string_view mark) {
    const std::size_t at = rest.rfind(mark);
    if (at == std::string_view::npos) return 1;
    const std::string_view digits = rest.substr(at + mark.size());
    const char* const end = digits.data() + digits.size();
    int lanes = 0;
    const auto read = std::from_chars(digits.data(), end, lanes);
    rest = rest.substr(0, at);
    const bool good = read.ec == std::errc() && read.ptr == end && !digits.starts_with('0') && lanes > 1 &&
                      lanes <= DType::kMostLanes;
    return good ? lanes : 0;
  }
};

std::optional<DType> try_parse(std::string_view text) {
  NameParser parser{text};
  const bool pointer = parser.drop_front("ptr.") || parser.drop_back("*");
  parser.drop_front("dtypes.");
  const bool called = parser.drop_back(")");
  const int lanes = parser.drop_lanes(called ? ".vec(" : "x");
  if (lanes == 0 || (called && lanes == 1)) return std::nullopt;
  for (std::size_t i = 0; i < kAll.size(); ++i) {
    const DTypeRow& names = kDTypeRows[i];
    if (parser.rest != names.name && parser.rest != names.spec && parser.rest != names.numpy) continue;
    const DType found = kAll[i].vec(lanes);
    return pointer ? found.pointer() : found;
  }
  return std::nullopt;
}

}  // namespace

std::span<const DType> all() { return kAll; }

DType parse(std::string_view text) {
  if (const std::optional<DType> found = try_parse(text)) return *found;
  std::string names;
  for (const DTypeRow& known : kDTypeRows) names.append(names.empty() ? "" : ", ").append(known.name);
  throw Error(ErrorKind::parse, detail::message("[dtype] '", text, "' is none of ", names, "; a vector ends in x2 to x",
                                                DType::kMostLanes));
}

}  // namespace dtypes

double lowest(DType dtype) {
  switch (dtype.kind()) {
    case DTypeKind::boolean:
    case DTypeKind::uint: return 0;
    case DTypeKind::sint: return -std::ldexp(1.0, dtype.bits() - 1);
    case DTypeKind::floating: return -highest(dtype);
  }
  throw InternalError("internal error: lowest met an unknown kind");
}

double highest(DType dtype) {
  switch (dtype.kind()) {
    case DTypeKind::boolean: return 1;
    case DTypeKind::sint: return std::ldexp(1.0, dtype.bits() - 1) - 1;
    case DTypeKind::uint: return std::ldexp(1.0, dtype.bits()) - 1;
    case DTypeKind::floating: {
      const FloatFormat format = float_format(dtype);
      return std::bit_cast<double>(convert_float(format.infinity() - 1, format, float_format(dtypes::float64)));
    }
  }
  throw InternalError("internal error: highest met an unknown kind");
}

}  // namespace strata
