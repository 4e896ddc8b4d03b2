// Layouts at run time: text, tables, the sentences of refusals; and the algebra over Int, instantiated
// once.

#include "strata/layout/layout.h"

#include <algorithm>

#include "strata/expr/parse.h"
#include "strata/layout/layout_algebra.h"
#include "strata/layout/layout_text.h"
#include "strata/layout/swizzle.h"

namespace strata {

template class BasicCoordinate<Int>;
template class BasicLayout<Int>;

#define STRATA_LAYOUT(function) template Layout function(const Layout&, const Layout&, std::uint64_t);
STRATA_EACH_LAYOUT_FUNCTION(STRATA_LAYOUT)
#undef STRATA_LAYOUT
template Layout coalesce(const Layout&);
template Layout flatten(const Layout&);
template Layout nullspace(const Layout&);
template Layout complement(const Layout&, const Int&);
template Layout right_inverse(const Layout&, std::uint64_t);
template Layout left_inverse(const Layout&, std::uint64_t);
template Coordinate idx2crd(const Layout&, const Int&);

namespace {

// `leaf(t)` is the text of leaf t.
template <class Text>
std::string tree_text(const Profile& nodes, const Text& leaf) {
  std::string out;
  SmallVec<std::int32_t, 12> open;  // for each open tuple: the children that are still to come
  std::size_t t = 0;
  for (const std::int32_t n : nodes) {
    if (n == kLeaf) {
      out += leaf(t++);
    } else {
      out += '(';
      open.push_back(n + 1);  // n + 1: the tuple itself counts as one child, done below
    }
    while (!open.empty() && --open.back() == 0) {
      out += ')';
      open.pop_back();
    }
    if (!open.empty() && out.back() != '(') out += ',';
  }
  return out;
}

template <class I>
std::string layout_text(const BasicLayout<I>& l) {
  return tree_text(l.profile(), [&](std::size_t t) { return detail::int_text(l.leaves()[t].size); }) + ":" +
         tree_text(l.profile(), [&](std::size_t t) { return detail::int_text(l.leaves()[t].stride); });
}

template <class I>
std::string coordinate_text(const BasicCoordinate<I>& c) {
  return tree_text(c.profile(), [&](std::size_t t) { return detail::int_text(c.values()[t]); });
}

[[noreturn]] void refuse(std::string_view operation, std::string_view text, const detail::LayoutFault& fault) {
  throw Error(fault.kind,
              detail::message("[", operation, "] ", fault.what, " (column ", fault.column, " of \"",
                              text.substr(0, 200), "\")"),
              fault.column);
}

// The position at which each bracket closes; the size of the text when it never closes.
std::vector<std::size_t> closing_brackets(std::string_view text) {
  std::vector<std::size_t> out(text.size(), text.size()), open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') open.push_back(i);
    if (text[i] != ')' || open.empty()) continue;
    out[open.back()] = i;
    open.pop_back();
  }
  return out;
}

}  // namespace

std::string render(const Layout& layout) { return layout_text(layout); }
std::string render(const StaticLayout& layout) { return layout_text(layout); }
std::string render(const Coordinate& c) { return coordinate_text(c); }
std::string render(const StaticCoordinate& c) { return coordinate_text(c); }

std::optional<StaticLayout> numbers(const Layout& layout) {
  if (!layout.is_concrete()) return std::nullopt;
  StaticLayout::Leaves leaves;
  for (const Layout::Leaf& l : layout.leaves()) leaves.push_back({l.size.value(), l.stride.value()});
  return StaticLayout::create(layout.profile(), leaves);
}

Layout to_layout(const StaticLayout& layout) {
  Layout::Leaves leaves;
  for (const StaticLayout::Leaf& l : layout.leaves()) leaves.push_back({l.size, l.stride});
  return Layout::create(layout.profile(), leaves);
}

Layout make_layout(const std::vector<Layout>& modes) {
  detail::ModeList<Int> out;
  for (const Layout& mode : modes) out.add(mode);
  return out.layout();
}

Layout parse_layout(std::string_view text) {
  const detail::LayoutText<std::int64_t> read = detail::read_layout(text);
  if (read.fault.column != 0) refuse("layout", text, read.fault);
  return to_layout(detail::to_layout(read));
}

Layout parse_layout(std::string_view text, const std::vector<Variable>& variables) {
  const std::vector<std::size_t> closing = closing_brackets(text);
  const auto ends_element = [&](std::size_t at) {
    while (at < text.size() && detail::is_blank(text[at])) ++at;
    return at >= text.size() || text[at] == ',' || text[at] == ')' || text[at] == ':';
  };
  // A bracket around a whole element opens a tuple. (n) means n either way.
  const auto is_tuple = [&](std::size_t at) { return ends_element(closing[at] + 1); };
  const auto leaf = [&](std::size_t& at, Int& out) -> detail::LayoutFault {
    const std::size_t start = at;
    while (at < text.size() && text[at] != ',' && text[at] != ')' && text[at] != ':')
      at = text[at] == '(' ? std::min(closing[at] + 1, text.size()) : at + 1;
    try {
      out = parse(text.substr(start, at - start), variables);
    } catch (const Error& e) {
      throw Error(e.kind(), e.what(), e.column() == 0 ? 0 : start + e.column());
    }
    return {};
  };
  const detail::LayoutText<Int> read = detail::read_layout<Int>(text, leaf, is_tuple);
  if (read.fault.column != 0) refuse("layout", text, read.fault);
  return detail::to_layout(read);
}

Coordinate parse_coordinate(std::string_view text) {
  const auto leaf = [text](std::size_t& at, std::int64_t& out) { return detail::read_number(text, at, out); };
  const auto is_tuple = [](std::size_t) { return true; };
  detail::LayoutReader<std::int64_t, decltype(leaf), decltype(is_tuple)> reader(text, leaf, is_tuple);
  detail::LayoutTree<std::int64_t> tree;
  detail::LayoutFault fault = reader.read_tree(tree);
  if (fault.column == 0 && !reader.at_end())
    fault = {ErrorKind::parse, "the coordinate ends before this", reader.column()};
  if (fault.column != 0) refuse("coordinate", text, fault);
  return Coordinate::create(tree.nodes, to_ints(tree.values));
}

std::vector<std::int64_t> table(const Layout& layout, std::int64_t most) {
  const std::optional<StaticLayout> l = numbers(layout);
  STRATA_CHECK(l.has_value(), undefined, "[table] ", render(layout), " has sizes that are not numbers");
  const std::int64_t n = l->size();
  STRATA_CHECK(n <= most, budget, "[table] ", n, " values are more than ", most);
  std::vector<std::int64_t> out{0};
  out.reserve(static_cast<std::size_t>(n));
  for (const StaticLayout::Leaf& leaf : l->leaves()) {
    const std::size_t inner = out.size();
    for (std::int64_t i = 1; i < leaf.size; ++i)
      for (std::size_t k = 0; k < inner; ++k) out.push_back(out[k] + i * leaf.stride);
  }
  return out;
}

std::vector<std::int64_t> table(const Swizzle& s, std::int64_t most) {
  STRATA_CHECK(s.size() <= most, budget, "[swizzle] ", s.size(), " values are more than ", most);
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(s.size()));
  for (std::int64_t i = 0; i < s.size(); ++i) out.push_back(s(i));
  return out;
}

namespace detail {

namespace {

std::string number_text(Int128 value) {
  return value >= kNegInf && value <= kPosInf ? std::to_string(static_cast<std::int64_t>(value))
                                              : std::string("more than 64 bits");
}

}  // namespace

void the_leaf_is_not_refined_by_a_layout(std::string_view operation, const StaticLayout& a, const StaticLayout& b,
                                         std::size_t leaf, std::int64_t turn) {
  const StaticLayout::Leaf& l = b.leaves()[leaf];
  throw Error(ErrorKind::undefined,
              message("[", operation, "] ", render(a), " at every index of leaf ", leaf, ", ", l.size, ":", l.stride,
                      ", of ", render(b), " is not a layout: the digits carry at ", turn, ", which does not divide ",
                      l.size, " (witness: the value ", a(l.stride * turn), " at step ", turn, ")"));
}

void modes_carry_into_one_another(std::string_view operation, const StaticLayout& a, const StaticLayout& b,
                                  const SmallVec<std::int64_t, 6>& coordinate, Int128 separately) {
  const StaticCoordinate at = StaticCoordinate::create(b.profile(), coordinate);
  throw Error(ErrorKind::undefined,
              message("[", operation, "] the modes of ", render(b), " carry into one another in ", render(a), ": at ",
                      render(at), " the value is ", a(b(at)), ", but the values of the single coordinates add up to ",
                      number_text(separately)));
}

void the_composition_is_not_decided(std::string_view operation, const StaticLayout& a, const StaticLayout& b,
                                    std::uint64_t budget) {
  throw Error(ErrorKind::budget,
              message("[", operation, "] ", render(a), " o ", render(b), " is not decided in ", budget, " steps"));
}

void the_inverse_is_not_shown(std::string_view operation, const Layout& a) {
  throw Error(ErrorKind::undefined, message("[", operation, "] no inverse of ", render(a), " for all sizes was found"));
}
void the_inverse_is_not_decided(std::string_view operation, const StaticLayout& a, std::uint64_t budget) {
  throw Error(ErrorKind::budget,
              message("[", operation, "] an inverse of ", render(a), " is not decided in ", budget, " steps"));
}
void two_indices_have_one_value(const StaticLayout& a, std::int64_t i, std::int64_t j) {
  throw Error(ErrorKind::undefined,
              message("[left_inverse] ", render(a), " has the value ", a(i), " at ", i, " and at ", j));
}
void a_value_is_negative(const StaticLayout& a, std::int64_t i) {
  throw Error(ErrorKind::undefined, message("[left_inverse] ", render(a), " has the negative value ", a(i), " at ", i));
}
void no_layout_sends_values_back(const StaticLayout& a) {
  throw Error(ErrorKind::undefined,
              message("[left_inverse] no layout sends each value of ", render(a),
                      " back to the index: the carries at the values are not a chain of divisors"));
}

}  // namespace detail

}  // namespace strata
