#include "strata/render/writer.h"

#include <bit>

#include "strata/base/check.h"

namespace strata::rendering {

void Writer::line(std::string_view text) {
  body_.append(static_cast<std::size_t>(indent_) * 2, ' ');
  body_ += text;
  body_ += '\n';
  owners_.line();
}

void Writer::open(std::string_view text) {
  line(text);
  ++indent_;
}

void Writer::close() {
  --indent_;
  line("}");
}

std::string Writer::claim(std::string_view wanted) {
  std::string out(wanted);
  if (is_taken(out)) {
    out.assign(1, 'v');
    for (const char c : wanted)
      if (c != '_' || out.back() != '_') out += c;
  }
  while (is_taken(out) || !names_.insert(out).second) out += 'x';
  return out;
}

std::string Writer::fresh(std::string_view stem) {
  std::size_t& count = counts_[std::string(stem)];
  for (;;) {
    std::string out = detail::message(stem, std::to_string(count++));
    if (names_.insert(out).second) return out;
  }
}

bool Writer::is_native(DType dtype) const {
  const auto lanes = static_cast<unsigned>(dtype.lanes());
  return language_.gnu_vectors && dtype.is_vector() && std::has_single_bit(lanes);
}

std::string Writer::vector_type(DType scalar, int lanes, bool in_memory) {
  vectors_.emplace(scalar.id(), lanes, in_memory);
  return detail::message(language_.vector_prefix, scalar.vec(lanes).name(), in_memory ? "u" : "");
}

std::string Writer::mask_type(int lanes, int bits) {
  const DType dtype = bits == 8    ? dtypes::int8
                      : bits == 16 ? dtypes::int16
                      : bits == 32 ? dtypes::int32
                                   : dtypes::int64;
  return vector_type(dtype, lanes);
}

std::string Writer::native_type(DType dtype) {
  const bool held = dtype.is_float() && dtype.bits() == 16;
  return vector_type(held ? dtypes::float32 : dtype.scalar(), dtype.lanes());
}

std::string Writer::typedefs() const {
  std::string out;
  for (const auto& [id, lanes, in_memory] : vectors_) {
    const DType dtype(id);
    const std::string bytes = std::to_string(dtype.vec(lanes).itemsize());
    const std::string align = std::to_string(dtype.itemsize());
    out += detail::message("typedef ", memory_type(language_, dtype), " ", language_.vector_prefix,
                           dtype.vec(lanes).name(), in_memory ? "u" : "", " __attribute__((vector_size(", bytes, ")");
    if (in_memory) out += detail::message(", aligned(", align, "), may_alias");
    out += "));\n";
  }
  return out;
}

std::string Writer::value_type_of(UOp u, int mask_bits) {
  const DType dtype = u.dtype();
  if (!is_native(dtype)) return std::string(scalar_type(dtype));
  return dtype.is_bool() ? mask_type(dtype.lanes(), mask_bits) : native_type(dtype);
}

std::string Writer::declare(std::string_view type, std::string_view stem, std::string_view value, bool changes) {
  std::string out = fresh(stem);
  line(fill(changes ? language_.variable : language_.declare, [&](char c) {
    return c == 'T' ? type : c == 'n' ? std::string_view(out) : value;
  }));
  return out;
}

void Writer::value(UOp u, std::string text, int mask_bits) {
  if (usage_.inlined(u))
    values_[u.num()] = {std::move(text), false, mask_bits};
  else
    values_[u.num()] = {declare(value_type_of(u, mask_bits), "alu", text), true, mask_bits};
}

std::string Writer::listed(DType dtype, const std::string& text) const {
  const DType scalar = dtype.scalar();
  const bool narrows = !language_.narrowed.empty() && !scalar.is_float() && scalar.itemsize() < 4;
  const bool is_computed = text.starts_with('(') || text.starts_with('-');
  if (!narrows || !is_computed) return text;
  return fill(language_.narrowed, [&](char c) { return c == 'T' ? scalar_type(scalar) : std::string_view(text); });
}

void Writer::array(UOp u, const std::vector<std::string>& lanes, std::string_view stem) {
  std::string out = fresh(stem), all;
  for (const std::string& l : lanes) {
    if (!all.empty()) all += ", ";
    all += listed(u.dtype(), l);
  }
  const std::string count = std::to_string(lanes.size());
  line(fill(language_.array, [&](char c) {
    return c == 'T'   ? scalar_type(u.dtype())
           : c == 'n' ? std::string_view(out)
           : c == 'k' ? std::string_view(count)
                      : std::string_view(all);
  }));
  name(u, std::move(out));
}

std::string Writer::splat(const Scalar& value, DType dtype) {
  if (!dtype.is_vector()) return constant(value);
  const bool mask = dtype.is_bool();
  const std::string lane = !mask ? constant(value) : value.as_bool() ? "-1" : "0";
  std::string out = detail::message("(", mask ? mask_type(dtype.lanes(), 8) : native_type(dtype), "){", lane);
  for (int k = 1; k < dtype.lanes(); ++k) out += detail::message(",", lane);
  return out += '}';
}

void Writer::known(UOp u, const Scalar& value) {
  const DType dtype = u.dtype();
  if (is_array(dtype)) {
    const auto lanes = static_cast<std::size_t>(dtype.lanes());
    return array(u, std::vector<std::string>(lanes, constant(value)), "alu");
  }
  const int bits = is_native(dtype) && dtype.is_bool() ? 8 : 0;
  name(u, declare(value_type_of(u, bits), "alu", splat(value, dtype)), bits);
}

std::string Writer::text(UOp u) {
  if (u.op() == UOps::CONST) return splat(u.constant(), u.dtype());
  STRATA_ASSERT(!is_array(u.dtype()), "the text of an array");
  return values_[u.num()].text;
}

bool Writer::is_known(UOp u) { return u.op() == UOps::CONST; }

int Writer::mask_bits(UOp u) const { return is_known(u) ? 8 : values_[u.num()].mask_bits; }

std::string Writer::simple(UOp u) {
  if (is_known(u)) {
    if (!u.dtype().is_vector()) return text(u);
    return declare(value_type_of(u, 8), "c", text(u));
  }
  WrittenValue& value = values_[u.num()];
  if (!value.simple) {
    const UOp user = owners_.begin(u);
    value.text = declare(value_type_of(u, value.mask_bits), "alu", value.text);
    owners_.begin(user);
    value.simple = true;
  }
  return value.text;
}

std::string Writer::component(int k) const {
  return fill(language_.component,
              [&](char c) { return c == 'h' ? std::string(1, "0123456789ABCDEF"[k % 16]) : std::to_string(k); });
}

std::string Writer::lane(UOp u, int k) {
  if (u.op() == UOps::CONST) return constant(u.constant());
  const DType dtype = u.dtype();
  if (!dtype.is_vector()) return simple(u);
  if (values_[u.num()].components) return detail::message(simple(u), component(k));
  const std::string element = detail::message(simple(u), "[", std::to_string(k), "]");
  return dtype.is_bool() && is_native(dtype) ? detail::message("(", element, "&1)") : element;
}

std::string_view unwrapped(std::string_view text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
  int depth = 0;
  for (std::size_t k = 0; k + 1 < text.size(); ++k) {
    depth += text[k] == '(' ? 1 : text[k] == ')' ? -1 : 0;
    if (depth == 0) return text;
  }
  return text.substr(1, text.size() - 2);
}

}  // namespace strata::rendering
