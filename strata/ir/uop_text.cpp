// The text of lists, in the specification's columns.
#include <cstdio>
#include <string>
#include <string_view>

#include "strata/base/check.h"
#include "strata/ir/uop_rules.h"
#include "strata/ir/uop_text.h"

namespace strata {
namespace {

constexpr std::size_t kNumberWidth = 4, kOpWidth = 20, kDTypeWidth = 25, kSourcesWidth = 32;

/// Appends `text`, padded with spaces to `width`.
void append_padded(std::string& out, std::string_view text, std::size_t width) {
  out += text;
  if (text.size() < width) out.append(width - text.size(), ' ');
}

std::string sources_text(UOp u) {
  std::string out = "[";
  for (const UOp s : u.src()) {
    if (out.size() > 1) out += ", ";
    out += std::to_string(s.num());
  }
  return out + "]";
}

std::string arg_text(std::monostate, DType) { return "None"; }
std::string arg_text(std::int64_t number, DType) { return std::to_string(number); }
std::string arg_text(const Scalar& scalar, DType) {
  std::string out = scalar.text();
  if (!scalar.is_nan() || scalar == default_nan(scalar.dtype())) return out;
  constexpr std::string_view digits = "0123456789abcdef";
  out += ":0x";
  for (int shift = scalar.dtype().bits() - 4; shift >= 0; shift -= 4) out += digits[scalar.bits() >> shift & 15];
  return out;
}
std::string arg_text(Ops op, DType) { return spec_name(op); }
std::string arg_text(const Global& global, DType dtype) {
  const bool usual = global.name == detail::message("data", global.slot);
  return detail::message("('", global.name, "', ", dtype.pointee().spec_name(),
                         usual ? std::string() : detail::message(", ", global.slot), ")");
}
std::string arg_text(const Local& local, DType) { return detail::message("('", local.name, "', ", local.size, ")"); }
std::string arg_text(const Special& special, DType) {
  return detail::message("('", special.name, "', ", special.axis, ", ", special.size, ")");
}
std::string arg_text(const LoopReduction& reduction, DType) {
  return detail::message("(", spec_name(reduction.op), ", ", reduction.loops, ")");
}
std::string arg_text(const Variable& variable, DType) {
  return detail::message("Variable('", variable.name(), "', ", variable.min(), ", ", variable.max(), ")");
}

void append_line(std::string& out, UOp u) {
  const std::string number = std::to_string(u.num());
  if (number.size() < kNumberWidth) out.append(kNumberWidth - number.size(), ' ');
  out += number;
  out += ' ';
  append_padded(out, spec_name(u.op()), kOpWidth);
  out += ": ";
  append_padded(out, u.dtype().spec_name(), kDTypeWidth);
  out += ' ';
  append_padded(out, sources_text(u), kSourcesWidth);
  out += ' ';
  out += arg_text(u);
  out += '\n';
}

}  // namespace

std::string arg_text(UOp u) {
  return std::visit([&](const auto& held) { return arg_text(held, u.dtype()); }, u.arg());
}

std::string line_of(UOp u) {
  std::string out;
  append_line(out, u);
  return out;
}

std::string UOpGraph::text() const {
  std::string out;
  for (const UOp u : *this) append_line(out, u);
  return out;
}

void UOpGraph::print() const {
  const std::string lines = text();
  std::fwrite(lines.data(), 1, lines.size(), stdout);
}

}  // namespace strata
