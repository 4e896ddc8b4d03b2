// Answers calls of the layout algebra.
#include "tools/ask_layout.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "strata/base/int_math.h"
#include "strata/layout/layout_by_mode.h"
#include "strata/layout/swizzle.h"

namespace strata::tools {
namespace {

constexpr std::size_t printed_value = 8;  // about the bytes of a value in the answer

/// The integer of `text`; nothing if `text` is not an integer. @throws Error (overflow)
std::optional<std::int64_t> integer_text(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    throw Error(ErrorKind::overflow, "[layout] the integer does not fit in 64 bits", 1);
  return value;
}

/// Calls at(position, depth) for each character of `text`, with the number of brackets that are open behind it.
template <class At>
void each_depth(std::string_view text, const At& at) {
  std::ptrdiff_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '<') ++depth;
    if (text[i] == ')' || text[i] == '>') --depth;
    at(i, depth);
  }
}

/// Whether one pair of brackets encloses all of `text`. Then it is a list; a layout has a colon outside of brackets.
bool is_list(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  if (begin == std::string_view::npos || (text[begin] != '(' && text[begin] != '<')) return false;
  bool closes = false, before = false;
  each_depth(text, [&](std::size_t i, std::ptrdiff_t depth) {
    if (i < begin || depth > 0) return;
    if (i < end) before = true;
    if (i == end) closes = depth == 0;
  });
  return closes && !before;
}

/// The positions and lengths of the items of a list, without blanks around them.
std::vector<std::pair<std::size_t, std::size_t>> items_of_list(std::string_view text) {
  std::vector<std::pair<std::size_t, std::size_t>> items;
  std::size_t begin = text.find_first_of("(<") + 1;
  const auto add = [&](std::size_t end) {
    while (begin < end && text[begin] == ' ') ++begin;
    std::size_t last = end;
    while (last > begin && text[last - 1] == ' ') --last;
    items.emplace_back(begin, last - begin);
  };
  const std::size_t close = text.find_last_of(")>");
  each_depth(text, [&](std::size_t i, std::ptrdiff_t depth) {
    if (depth == 1 && text[i] == ',') {
      add(i);
      begin = i + 1;
    }
  });
  add(close);
  return items;
}

/// Charges a unit for every pair of leaves, and the work of one decision.
void charge_leaves(std::uint64_t leaves, Work& work) {
  constexpr std::uint64_t decision = 4096;
  work.charge((leaves + 1) * (leaves + 1));
  work.charge(decision);
}

using Unary = Layout (*)(const Layout&);
using Binary = Layout (*)(const Layout&, const Layout&, std::uint64_t);
using ByMode = Layout (*)(const Layout&, const Tiler&, std::uint64_t);
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

/// A function of A and B, where B may also be a tiler.
template <Binary function, ByMode by_mode>
LayoutAnswer tiled(const LayoutArguments& args) {
  if (!args.is_tiler(1)) return binary<function>(args);
  const Layout a = args.layout(0);
  const Tiler tiler = args.tiler(1);
  std::size_t leaves = a.leaves().size();
  for (const Layout& tile : tiler) {
    leaves += tile.leaves().size();
    charge_leaves(leaves, args.work());
  }
  return {by_mode(a, tiler, args.decision_budget()), {}, {}};
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

LayoutAnswer call_idx2crd(const LayoutArguments& args) { return {{}, {}, idx2crd(args.layout(0), args.integer(1))}; }

LayoutAnswer call_size(const LayoutArguments& args) { return {{}, {}, Coordinate(args.layout(0).size())}; }

LayoutAnswer call_cosize(const LayoutArguments& args) { return {{}, {}, Coordinate(args.layout(0).cosize())}; }

// clang-format off
constexpr LayoutFunction functions[] = {
    {"coalesce",        "A",               1, 1, unary<coalesce<Int>>},
    {"composition",     "A B",             2, 2, tiled<composition<Int>, composition>},
    {"complement",      "A COSIZE",        2, 2, call_complement},
    {"logical_divide",  "A B",             2, 2, tiled<logical_divide<Int>, logical_divide>},
    {"zipped_divide",   "A B",             2, 2, tiled<zipped_divide<Int>, zipped_divide>},
    {"tiled_divide",    "A B",             2, 2, tiled<tiled_divide<Int>, tiled_divide>},
    {"flat_divide",     "A B",             2, 2, tiled<flat_divide<Int>, flat_divide>},
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

LayoutArguments::LayoutArguments(std::vector<std::string> texts, std::string_view where, bool numbered,
                                 std::vector<Variable> variables, Work& work)
    : texts_(std::move(texts)), where_(where), numbered_(numbered), variables_(std::move(variables)), work_(work) {}

std::uint64_t LayoutArguments::decision_budget() const {
  return work_.left() <= static_cast<std::uint64_t>(default_budget) ? std::min(kMergeBudget, work_.left())
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

bool LayoutArguments::is_tiler(std::size_t i) const { return is_list(texts_[i]); }

std::vector<Layout> LayoutArguments::tiler(std::size_t i) const {
  return read(i, [&](const std::string& text) {
    std::vector<Layout> tiles;
    for (const auto& [begin, length] : items_of_list(text)) {
      const std::string item = text.substr(begin, length);
      try {
        const auto n = integer_text(item);
        tiles.push_back(n ? Layout(Int(*n)) : variables_.empty() ? parse_layout(item) : parse_layout(item, variables_));
      } catch (const Error& e) {
        throw Error(e.kind(), e.what(), begin + std::max<std::size_t>(e.column(), 1));
      }
    }
    return tiles;
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
  STRATA_CHECK(arguments.size() >= function.least && arguments.size() <= function.most, request, "[", function.name,
               "] takes ", function.arguments, ", not ", arguments.size(), " arguments");
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
