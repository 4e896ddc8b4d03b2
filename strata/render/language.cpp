#include "strata/render/language.h"

#include <algorithm>

#include "strata/base/check.h"

namespace strata::rendering {
namespace {

const TypeText* find_type(const Language& language, DType scalar) {
  const auto at =
      std::find_if(language.types.begin(), language.types.end(), [&](const TypeText& t) { return t.dtype == scalar; });
  return at == language.types.end() ? nullptr : &*at;
}

const OpText* find_row(std::span<const OpText> rows, Ops op, std::uint8_t on) {
  const auto at =
      std::find_if(rows.begin(), rows.end(), [&](const OpText& r) { return r.op == op && (r.on & on) != 0; });
  return at == rows.end() ? nullptr : &*at;
}

std::string float_constant(const Language& language, const Scalar& value) {
  const bool wide = value.dtype() == dtypes::float64;
  if (value.is_nan()) return std::string(language.nan[wide ? 1 : 0]);
  const Scalar held = wide ? value : value.cast(dtypes::float32);
  std::string text = held.text();
  const bool negative = text[0] == '-';
  if (text == "inf" || text == "-inf") {
    text = detail::message(negative ? "-" : "", language.infinity[wide ? 1 : 0]);
  } else {
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    if (!wide) text += 'f';
  }
  return negative ? detail::message("(", text, ")") : text;
}

std::string integer_constant(const Language& language, const Scalar& value) {
  const DType dtype = value.dtype();
  const bool wide = dtype.bits() == 64;
  const std::string_view suffix = wide ? language.long_suffix : std::string_view();
  if (dtype.is_unsigned()) {
    const bool promoted = dtype.bits() < 32;
    return detail::message(std::to_string(value.as_uint()), promoted ? "" : "u", suffix);
  }
  const std::int64_t v = value.as_int();
  if (v >= 0) return detail::message(std::to_string(v), suffix);
  // The least integer has no literal: -2147483648 is the negation of 2147483648, which does not fit.
  const bool least = v == (dtype.bits() >= 32 ? INT64_MIN >> (64 - dtype.bits()) : 1);
  if (least) return detail::message("(", std::to_string(v + 1), suffix, "-1)");
  return detail::message("(", std::to_string(v), suffix, ")");
}

}  // namespace

std::string_view value_type(const Language& language, DType scalar) {
  const TypeText* type = find_type(language, scalar);
  STRATA_CHECK(type != nullptr, domain, "[render] ", language.name, " has no ", scalar.name());
  return type->value;
}

std::string_view memory_type(const Language& language, DType scalar) {
  const TypeText* type = find_type(language, scalar);
  STRATA_CHECK(type != nullptr, domain, "[render] ", language.name, " has no ", scalar.name());
  STRATA_CHECK(!type->memory.empty(), domain, "[render] memory cannot hold ", scalar.name(), " in ", language.name);
  return type->memory;
}

const NarrowText* narrow_of(const Language& language, DType scalar) {
  const auto at = std::find_if(language.narrow.begin(), language.narrow.end(),
                               [&](const NarrowText& n) { return n.dtype == scalar; });
  return at == language.narrow.end() ? nullptr : &*at;
}

const OpText& op_text(const Language& language, Ops op, DType operand, std::uint8_t on) {
  const OpText* found = find_row(language.ops, op, on);
  if (found == nullptr) found = find_row(common_rows(), op, on);
  STRATA_CHECK(found != nullptr && !found->text.empty(), domain, "[render] ", language.name, " has no ", spec_name(op),
               " of ", operand.name());
  return *found;
}

std::string c_parameters(const Language& language, const Signature& signature) {
  std::string out;
  const auto comma = [&] {
    if (!out.empty()) out += ", ";
  };
  for (const Parameter& p : signature.buffers) {
    comma();
    out += detail::message(language.space, p.stored ? "" : "const ", memory_type(language, p.dtype), "*",
                           language.restricted, " ", p.name);
  }
  for (const Parameter& p : signature.values) {
    comma();
    out += detail::message(value_type(language, p.dtype), " ", p.name);
  }
  return out;
}

std::string c_head(const Language& language, const Signature& signature) {
  const std::string parameters = c_parameters(language, signature);
  return detail::message(language.kernel, " ", signature.name, "(", parameters.empty() ? "void" : parameters, ") {");
}

std::string c_constant(const Language& language, const Scalar& value) {
  if (value.dtype().is_bool()) return value.as_bool() ? "1" : "0";
  return value.dtype().is_float() ? float_constant(language, value) : integer_constant(language, value);
}

}  // namespace strata::rendering
