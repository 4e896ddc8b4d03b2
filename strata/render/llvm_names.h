// The names of values, labels and arguments in LLVM IR. Internal to render/.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include "strata/base/check.h"
#include "strata/ir/uop.h"

namespace strata::rendering {

/// The first part of the name of a UOp's value or label; its index in the list follows, e.g. "load12".
inline std::string_view stem(UOps op) {
  switch (op) {
    case UOps::LOAD: return "load";
    case UOps::STORE: return "store";
    case UOps::CAST: return "cast";
    case UOps::BITCAST: return "bits";
    case UOps::VECTORIZE: return "vec";
    case UOps::GEP: return "lane";
    case UOps::DEFINE_ACC: return "acc";
    case UOps::IF: return "if";
    default: return "alu";
  }
}
/// All first parts of generated names.
inline constexpr std::string_view kStems[] = {"load",  "store",   "cast", "bits", "vec",  "lane",
                                              "acc",   "if",      "alu",  "ridx", "loop", "values",
                                              "entry", "buffers", "end",  "look", "left"};

/// A name from the list (of a buffer, a variable) as the function uses it: with ".arg" if it could equal a generated
/// name, e.g. "load1".
inline std::string local_name(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789") + 1;
  const bool taken = std::ranges::find(kStems, name.substr(0, end)) != std::end(kStems);
  return detail::message(name, taken ? ".arg" : "");
}

inline bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  const auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && letter(name[0]) && std::ranges::all_of(name, inner);
}

/// An argument of the kernel's function.
struct LlvmArgument {
  std::string name;
  DType dtype;
  std::size_t position = 0;  ///< its index in the entry's array `buffers`, or `values`
  bool stored = false;       ///< whether the kernel writes the buffer
};

}  // namespace strata::rendering
