#include "strata/render/llvm_text.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace strata::rendering {

namespace {

/// The type of one lane in the name of an intrinsic.
std::string scalar_suffix(DType dtype) {
  if (dtype.is_bool()) return "i1";
  if (dtype.is_float() && dtype.scalar() != dtypes::bfloat16) return detail::message("f", dtype.bits());
  return detail::message("i", dtype.bits());
}

std::string scalar_type(DType dtype) {
  if (dtype.scalar() == dtypes::float16) return "half";
  if (dtype.scalar() == dtypes::float32) return "float";
  if (dtype.scalar() == dtypes::float64) return "double";
  return scalar_suffix(dtype);
}

std::string lanes_of(DType dtype, const std::string& lane) {
  return dtype.is_vector() ? detail::message("<", dtype.lanes(), " x ", lane, ">") : lane;
}

std::string hexadecimal(std::uint64_t bits, int digits) {
  std::string out(static_cast<std::size_t>(digits), '0');
  for (auto at = out.rbegin(); at != out.rend(); ++at, bits >>= 4) *at = "0123456789ABCDEF"[bits & 15];
  return out;
}

/// Whether the value has an exact decimal of at most six places: a multiple of 1/64. LLVM refuses decimals that are not
/// exact.
bool has_short_decimal(double v) {
  return std::fabs(v) < 1e6 && v * 64 == std::floor(v * 64) && !(v == 0 && std::signbit(v));
}

std::string decimal(double v) {
  std::string out = std::to_string(v);  // six decimals, as many as 1/64 has
  while (out.back() == '0' && out[out.size() - 2] != '.') out.pop_back();
  return out;
}

std::string float_constant(const Scalar& value) {
  const DType dtype = value.dtype();
  const std::uint64_t bits = value.bits();
  if (dtype == dtypes::float64 && value.is_nan()) return "0x" + hexadecimal(bits, 16);
  const double v = value.as_double();
  if (has_short_decimal(v)) return decimal(v);
  if (dtype == dtypes::float16) return "0xH" + hexadecimal(bits, 4);
  // LLVM writes an f32 constant as the f64 with the same value; a NaN has no such f64.
  if (value.is_nan()) return detail::message("bitcast (i32 ", bits, " to float)");
  return "0x" + hexadecimal(std::bit_cast<std::uint64_t>(v), 16);
}

std::string scalar_constant(const Scalar& value) {
  if (value.dtype().is_bool()) return value.as_bool() ? "true" : "false";
  if (value.dtype() == dtypes::bfloat16) return std::to_string(value.bits());
  if (value.dtype().is_float()) return float_constant(value);
  return value.dtype().is_unsigned() ? std::to_string(value.as_uint()) : std::to_string(value.as_int());
}

}  // namespace

std::string llvm_type(DType dtype) { return dtype.is_pointer() ? "ptr" : lanes_of(dtype, scalar_type(dtype)); }

std::string llvm_memory_type(DType dtype) { return dtype.is_bool() ? lanes_of(dtype, "i8") : llvm_type(dtype); }

std::string llvm_suffix(DType dtype) {
  return dtype.is_vector() ? detail::message("v", dtype.lanes(), scalar_suffix(dtype)) : scalar_suffix(dtype);
}

std::string llvm_constant(DType dtype, const Scalar& value) {
  if (!dtype.is_vector()) return scalar_constant(value);
  if (value.bits() == 0) return "zeroinitializer";
  return detail::message("splat (", scalar_type(dtype), " ", scalar_constant(value), ")");
}

std::string LlvmText::call(std::string_view name, std::string_view type, std::string_view function,
                           std::initializer_list<LlvmOperand> operands, std::string_view flags) {
  std::string types, values;
  for (const LlvmOperand& o : operands) {
    const std::string_view comma = types.empty() ? "" : ", ";
    types += detail::message(comma, o.type);
    values += detail::message(comma, o.type, " ", o.value);
  }
  declared_.insert(detail::message("declare ", type, " @", function, "(", types, ")\n"));
  const std::string text = detail::message("call ", flags, type, " @", function, "(", values, ")");
  if (!name.empty()) return define(name, text);
  line(text);
  return {};
}

void LlvmText::begin_block(std::string_view label) {
  text_.back() += detail::message(label, ":\n");
  own(text_.size() - 1);
  block_ = label;
}

std::size_t LlvmText::reserve() {
  text_.emplace_back();
  text_.emplace_back();
  owners_.resize(text_.size(), LineOwners(owners_.front().is_on()));
  return text_.size() - 2;
}

std::vector<UOp> LlvmText::owners() const {
  std::vector<UOp> out;
  for (const LineOwners& part : owners_) out.insert(out.end(), part.owners().begin(), part.owners().end());
  return out;
}

std::string LlvmText::text() const {
  std::string out;
  for (const std::string& part : text_) out += part;
  return out;
}

std::string LlvmText::declarations() const {
  std::string out;
  for (const std::string& declaration : declared_) out += declaration;
  return out;
}

}  // namespace strata::rendering
