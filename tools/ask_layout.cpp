// Answering questions about layouts.
#include "tools/ask_layout.h"

#include <algorithm>
#include <charconv>

#include "strata/base/int_math.h"
#include "strata/view/layout_algebra.h"
#include "strata/view/swizzle.h"

namespace strata::tools {
namespace {

constexpr std::size_t printed_value = 8;  // bytes of a value in the answer, or so

/// The integer that is all of `text`; nothing for another text. @throws Error (overflow)
std::optional<std::int64_t> integer_text(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    throw Error(ErrorKind::overflow, "[layout] the integer does not fit in 64 bits", 1);
  return value;
}

/// Units for every pair of leaves, and for a decision that may have to look at pieces.
void charge_leaves(std::uint64_t leaves, Work& work) {
  constexpr std::uint64_t decision = 4096;
  work.charge((leaves + 1) * (leaves + 1));
  work.charge(decision);
}

using Unary = Layout (*)(const Layout&);
using Binary = Layout (*)(const Layout&, const Layout&, std::uint64_t);
using Inverse = Layout (*)(const Layout&, std::uint64_t);

template <Unary function>
LayoutAnswer unary(const LayoutArguments& args) {
  const Layout a = args.layout(0);
  charge_leaves(a.leaves().size(), args.work());
  return {function(a), {}, {}};
}

template <Inverse function>
LayoutAnswer inverse(const LayoutArguments& args) {
  const Layout a = args.layout(0);
  charge_leaves(a.leaves().size(), args.work());
  return {function(a, args.decision_budget()), {}, {}};
}

template <Binary function>
LayoutAnswer binary(const LayoutArguments& args) {
  const Layout a = args.layout(0);
  const Layout b = args.layout(1);
  charge_leaves(a.leaves().size() + b.leaves().size(), args.work());
  return {function(a, b, args.decision_budget()), {}, {}};
}

LayoutAnswer call_complement(const LayoutArguments& args) {
  const Layout a = args.layout(0);
  charge_leaves(a.leaves().size(), args.work());
  return {complement(a, args.integer(1)), {}, {}};
}

LayoutAnswer call_swizzle(const LayoutArguments& args) {
  const Swizzle swizzle(args.integer(0), args.integer(1), args.integer(2));
  args.work().charge(static_cast<std::uint64_t>(swizzle.size()));
  args.work().charge(static_cast<std::uint64_t>(swizzle.size()) * (printed_value - 1));
  return {{}, table(swizzle, swizzle.size()), {}};
}

LayoutAnswer call_crd2idx(const LayoutArguments& args) {
  const Layout a = args.layout(0);
  if (args.size() == 1) return {a, {}, {}};
  return {{}, {}, Coordinate(crd2idx(a, args.coordinate(1)))};
}

LayoutAnswer call_idx2crd(const LayoutArguments& args) {
  return {{}, {}, idx2crd(args.layout(0), args.integer(1))};
}

LayoutAnswer call_size(const LayoutArguments& args) {
  return {{}, {}, Coordinate(args.layout(0).size())};
}

LayoutAnswer call_cosize(const LayoutArguments& args) {
  return {{}, {}, Coordinate(args.layout(0).cosize())};
}

// clang-format off
constexpr LayoutFunction functions[] = {
    {"coalesce",        "A",               1, 1, unary<coalesce<Int>>},
    {"composition",     "A B",             2, 2, binary<composition<Int>>},
    {"complement",      "A COSIZE",        2, 2, call_complement},
    {"logical_divide",  "A B",             2, 2, binary<logical_divide<Int>>},
    {"zipped_divide",   "A B",             2, 2, binary<zipped_divide<Int>>},
    {"tiled_divide",    "A B",             2, 2, binary<tiled_divide<Int>>},
    {"flat_divide",     "A B",             2, 2, binary<flat_divide<Int>>},
    {"logical_product", "A B",             2, 2, binary<logical_product<Int>>},
    {"zipped_product",  "A B",             2, 2, binary<zipped_product<Int>>},
    {"tiled_product",   "A B",             2, 2, binary<tiled_product<Int>>},
    {"flat_product",    "A B",             2, 2, binary<flat_product<Int>>},
    {"blocked_product", "A B",             2, 2, binary<blocked_product<Int>>},
    {"raked_product",   "A B",             2, 2, binary<raked_product<Int>>},
    {"right_inverse",   "A",               1, 1, inverse<right_inverse<Int>>},
    {"left_inverse",    "A",               1, 1, inverse<left_inverse<Int>>},
    {"nullspace",       "A",               1, 1, unary<nullspace<Int>>},
    {"swizzle",         "BITS BASE SHIFT", 3, 3, call_swizzle},
    {"crd2idx",         "A [COORDINATE]",  1, 2, call_crd2idx},
    {"idx2crd",         "A INTEGER",       2, 2, call_idx2crd},
    {"size",            "A",               1, 1, call_size},
    {"cosize",          "A",               1, 1, call_cosize},
};
// clang-format on

}  // namespace

LayoutArguments::LayoutArguments(std::vector<std::string> texts, std::string_view where,
                                 bool numbered, std::vector<Variable> variables, Work& work)
    : texts_(std::move(texts)),
      where_(where),
      numbered_(numbered),
      variables_(std::move(variables)),
      work_(work) {}

std::uint64_t LayoutArguments::decision_budget() const {
  return work_.left() <= static_cast<std::uint64_t>(default_budget)
             ? std::min(kMergeBudget, work_.left())
             : std::max(kMergeBudget, work_.left());
}

template <class Read>
auto LayoutArguments::read(std::size_t i, const Read& read) const {
  const std::string& text = texts_[i];
  work_.charge(text.size());
  try {
    return read(text);
  } catch (const Error& e) {
    if (e.column() == 0) throw;
    throw TextError(e, text, numbered_ ? detail::message(where_, "[", i, "]") : where_);
  }
}

Layout LayoutArguments::layout(std::size_t i) const {
  return read(i, [&](const std::string& text) {
    if (const auto n = integer_text(text)) return Layout(Int(*n));
    return variables_.empty() ? parse_layout(text) : parse_layout(text, variables_);
  });
}

std::int64_t LayoutArguments::integer(std::size_t i) const {
  return read(i, [&](const std::string& text) {
    const auto n = integer_text(text);
    if (!n) throw Error(ErrorKind::parse, "[layout] an integer is wanted here", 1);
    return *n;
  });
}

Coordinate LayoutArguments::coordinate(std::size_t i) const {
  return read(i, [](const std::string& text) { return parse_coordinate(text); });
}

std::span<const LayoutFunction> layout_functions() { return functions; }

const LayoutFunction* find_layout_function(std::string_view name) {
  for (const LayoutFunction& f : functions)
    if (f.name == name) return &f;
  return nullptr;
}

LayoutAnswer ask_layout(const LayoutFunction& function, const LayoutArguments& arguments) {
  STRATA_CHECK(arguments.size() >= function.least && arguments.size() <= function.most, request,
               "[", function.name, "] takes ", function.arguments, ", not ", arguments.size(),
               " arguments");
  return function.call(arguments);
}

std::vector<std::int64_t> charged_table(const Layout& layout, Work& work) {
  const std::int64_t size = layout.size().value();
  const auto each = static_cast<std::int64_t>(printed_value + layout.leaves().size());
  std::int64_t units = 0;
  work.charge(try_mul(size, each, units) ? static_cast<std::uint64_t>(units) : UINT64_MAX);
  return table(layout, size);
}

}  // namespace strata::tools
