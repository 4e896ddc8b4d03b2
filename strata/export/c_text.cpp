#include "strata/export/c_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "strata/base/check.h"
#include "strata/base/walk.h"
#include "strata/expr/node.h"

namespace strata::exporting {

using detail::message;

namespace {

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }

// clang-format off
constexpr std::string_view kReserved[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval", "constexpr", "constinit",
    "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return",
    "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
    "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "union", "unsigned", "using",
    "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq", "linux", "unix",
    // those of model_run()
    "arena", "arena_bytes", "arena_given", "parallel_for", "user", "state", "weights", "threads", "work", "base", "at",
    "needed",
    // those of stdint.h and stddef.h
    "NULL", "offsetof", "size_t", "ptrdiff_t", "max_align_t", "nullptr_t", "intptr_t", "uintptr_t", "intmax_t",
    "uintmax_t",
};

/// The names that a routine gives to its variables, beside a letter with a number.
constexpr std::string_view kOfRoutines[] = {"c", "k", "i", "count", "given", "most", "goes_on", "begin", "end", "arguments", "body"};
// clang-format on

/// The text of `root`, made by text_of(n) from those of the sources of n, which `done` has by then.
template <class TextOf>
std::string from_leaves(const Node* root, std::unordered_map<const Node*, std::string>& done, const TextOf& text_of) {
  std::unordered_set<const Node*> seen;
  detail::walk(
      root, [&](const Node* n) { return seen.insert(n).second; }, child_from_end,
      [&](const Node* n) { done.emplace(n, text_of(n)); });
  return done.at(root);
}

/// Expressions in C.
class SizeText {
 public:
  explicit SizeText(const VariableText& text) : text_(text) {}
  std::string operator()(const Node* root) {
    return from_leaves(root, done_, [this](const Node* n) { return node(n); });
  }

 private:
  static std::string number(std::int64_t value) {
    return value == INT64_MIN ? "(-INT64_MAX-1)" : value < 0 ? message("(", value, ")") : message(value);
  }
  std::string join(const Node* n, std::string_view sign) const {
    std::string out = "(";
    for (std::size_t k = 0; k < n->sources().size(); ++k) out += message(k == 0 ? "" : sign, done_.at(n->src(k)));
    return out + ")";
  }
  std::string pick(const Node* n, std::string_view sign) const {
    std::string out = done_.at(n->src(0));
    for (std::size_t k = 1; k < n->sources().size(); ++k) {
      const std::string& next = done_.at(n->src(k));
      out = message("(", out, sign, next, "?", out, ":", next, ")");
    }
    return out;
  }
  std::string sum(const Node* n) const {
    std::string out = "(";
    for (const Term& t : n->terms()) {
      out += out.size() > 1 ? "+" : "";
      out += t.coefficient == 1 ? done_.at(t.atom) : message(number(t.coefficient), "*", done_.at(t.atom));
    }
    if (n->k0() != 0) out += message("+", number(n->k0()));
    return out + ")";
  }
  std::string node(const Node* n) const {
    switch (n->op) {
      case Op::Const: return number(n->value());
      case Op::Var: return text_(Variable::from(Expr::share(n)));
      case Op::Sum: return sum(n);
      case Op::Div:
      case Op::Mod: {
        const Expr a = Expr::share(n->src(0)), b = Expr::share(n->src(1));
        STRATA_CHECK(a.vmin() >= 0 && b.vmin() > 0, domain, "[export] the size ", Expr::share(n).render(),
                     " divides numbers that may be negative");
        return join(n, n->op == Op::Div ? "/" : "%");
      }
      case Op::Lt: return join(n, "<");
      case Op::Eq: return join(n, "==");
      case Op::Ne: return join(n, "!=");
      case Op::Mul: return join(n, "*");
      case Op::Min: return pick(n, "<");
      case Op::Max: return pick(n, ">");
      case Op::And: return join(n, "&&");
      case Op::Or: return join(n, "||");
      case Op::Select:
        return message("(", done_.at(n->src(0)), "?", done_.at(n->src(1)), ":", done_.at(n->src(2)), ")");
    }
    throw InternalError("[export] an op of the algebra without a text");
  }

  const VariableText& text_;
  std::unordered_map<const Node*, std::string> done_;
};

/// Expressions as arrays of JSON: ["+", ["*", 4, "n"], 3].
class SizeTree {
 public:
  explicit SizeTree(const VariableText& text) : text_(text) {}
  std::string operator()(const Node* root) {
    return from_leaves(root, done_, [this](const Node* n) { return node(n); });
  }

 private:
  std::string array(const Node* n, std::string_view sign) const {
    std::string out = message("[\"", sign, "\"");
    for (std::size_t k = 0; k < n->sources().size(); ++k) out += message(", ", done_.at(n->src(k)));
    return out + "]";
  }
  std::string sum(const Node* n) const {
    std::string out;
    std::size_t count = 0;
    for (const Term& t : n->terms()) {
      const std::string& atom = done_.at(t.atom);
      out += message(", ", t.coefficient == 1 ? atom : message("[\"*\", ", t.coefficient, ", ", atom, "]"));
      ++count;
    }
    if (n->k0() != 0 || count == 0) out += message(", ", n->k0()), ++count;
    return count == 1 ? out.substr(2) : message("[\"+\"", out, "]");
  }
  std::string node(const Node* n) const {
    switch (n->op) {
      case Op::Const: return message(n->value());
      case Op::Var: return text_(Variable::from(Expr::share(n)));
      case Op::Sum: return sum(n);
      case Op::Div: return array(n, "//");
      case Op::Mod: return array(n, "%");
      case Op::Lt: return array(n, "<");
      case Op::Eq: return array(n, "==");
      case Op::Ne: return array(n, "!=");
      case Op::Mul: return array(n, "*");
      case Op::Min: return array(n, "min");
      case Op::Max: return array(n, "max");
      case Op::And: return array(n, "and");
      case Op::Or: return array(n, "or");
      case Op::Select: return array(n, "?");
    }
    throw InternalError("[export] an op of the algebra without a text");
  }

  const VariableText& text_;
  std::unordered_map<const Node*, std::string> done_;
};

template <class T>
T element(const void* elements, std::int64_t k) {
  T out;
  std::memcpy(&out, static_cast<const char*>(elements) + static_cast<std::size_t>(k) * sizeof(T), sizeof(T));
  return out;
}

/// The float as a hexadecimal one, which every compiler reads exactly.
template <class T>
std::string hex_float(T value) {
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), std::abs(value), std::chars_format::hex);
  return message(std::signbit(value) ? "-" : "", "0x", std::string_view(digits.data(), end.ptr),
                 sizeof(T) == 4 ? "f" : "");
}

std::string hex(std::uint64_t value) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return message("0x", std::string_view(digits.data(), end.ptr), "u");
}

template <class T>
bool are_finite(const void* elements, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k)
    if (!std::isfinite(element<T>(elements, k))) return false;
  return true;
}

std::string element_text(DType dtype, const void* elements, std::int64_t k) {
  if (dtype == dtypes::float32) return hex_float(element<float>(elements, k));
  if (dtype == dtypes::float64) return hex_float(element<double>(elements, k));
  switch (dtype.itemsize()) {
    case 1:
      return dtype.is_signed_int() ? message(int{element<std::int8_t>(elements, k)})
                                   : message(unsigned{element<std::uint8_t>(elements, k)});
    case 2:
      return dtype.is_signed_int() ? message(int{element<std::int16_t>(elements, k)})
                                   : hex(element<std::uint16_t>(elements, k));
    case 4: {
      if (!dtype.is_signed_int()) return hex(element<std::uint32_t>(elements, k));
      const auto value = element<std::int32_t>(elements, k);
      return value == INT32_MIN ? "(-2147483647-1)" : message(value);
    }
    default: break;
  }
  if (!dtype.is_signed_int()) return hex(element<std::uint64_t>(elements, k));
  const auto value = element<std::int64_t>(elements, k);
  return value == INT64_MIN ? "(-9223372036854775807-1)" : message(value);
}

/// Whether a header of integers may have a type or macro of the name: int8_t, INT_FAST8_MAX, UINT64_C.
bool is_of_stdint(std::string_view name) {
  const std::string small = lower(name);
  const bool is_int = small.starts_with("int") || small.starts_with("uint") || small.starts_with("ptrdiff") ||
                      small.starts_with("size") || small.starts_with("wchar") || small.starts_with("wint") ||
                      small.starts_with("sig_atomic");
  const bool is_macro =
      name.ends_with("_MAX") || name.ends_with("_MIN") || name.ends_with("_C") || name.ends_with("_WIDTH");
  return is_int && (name.ends_with("_t") || is_macro);
}

}  // namespace

std::string c_name(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (is_word(c) && !(c == '_' && (out.empty() || out.back() == '_'))) out += c;
  if (out.empty() || !is_letter(out[0])) out.insert(0, 1, 'v');
  for (const std::string_view word : kReserved)
    if (out == word) return out + "_";
  return is_of_stdint(out) ? out + "_" : out;
}

std::string variable_name(std::string_view name) {
  std::string out = c_name(name);
  const bool is_numbered = out.size() > 1 && out.find_first_not_of("0123456789", 1) == std::string::npos;
  const bool is_own = std::find(std::begin(kOfRoutines), std::end(kOfRoutines), out) != std::end(kOfRoutines);
  return is_numbered || is_own ? out + "_" : out;
}

bool is_model_name(std::string_view name) {
  if (name.empty() || !is_letter(name[0]) || name.find("__") != std::string_view::npos) return false;
  for (const char c : name)
    if (!is_word(c)) return false;
  return c_name(name) == name && name.back() != '_';
}

std::string upper(std::string_view name) {
  std::string out;
  for (const char c : name) out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::string c_size(const Int& size, const VariableText& text) {
  return size.is_number() ? message(size.value()) : SizeText(text)(size.expr().node());
}

std::string json_size(const Int& size, const VariableText& text) {
  return size.is_number() ? message(size.value()) : SizeTree(text)(size.expr().node());
}

std::string_view c_type(DType dtype) {
  if (dtype == dtypes::float32) return "float";
  if (dtype == dtypes::float64) return "double";
  const bool is_signed = dtype.is_signed_int();
  switch (dtype.itemsize()) {
    case 1: return is_signed ? "int8_t" : "uint8_t";
    case 2: return is_signed ? "int16_t" : "uint16_t";
    case 4: return is_signed ? "int32_t" : "uint32_t";
    default: return is_signed ? "int64_t" : "uint64_t";
  }
}

std::string c_array(std::string_view alignment, std::string_view name, DType dtype, const void* elements,
                    std::int64_t count) {
  // Infinities and NaNs have no literal: their bits are written.
  const bool has_text = (dtype != dtypes::float32 || are_finite<float>(elements, count)) &&
                        (dtype != dtypes::float64 || are_finite<double>(elements, count));
  const DType written = has_text ? dtype : dtype == dtypes::float32 ? dtypes::uint32 : dtypes::uint64;
  std::string out = message(alignment, "static const ", c_type(written), " ", name, "[", count, "] = {");
  std::size_t width = 100;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::string text = element_text(written, elements, k);
    if (width + text.size() > 96) {
      out += "\n ";
      width = 1;
    }
    out += message(" ", text, ",");
    width += text.size() + 2;
  }
  return out + "\n};\n";
}

std::string c_comment(std::string_view text) {
  std::string out = "/* ";
  for (const char c : text) out += c == '*' && out.back() == '/' ? '+' : c == '/' && out.back() == '*' ? '+' : c;
  return out + " */";
}

}  // namespace strata::exporting
