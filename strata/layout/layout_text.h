// A reader for the text of layouts and coordinates, for run time (parse_layout, parse_coordinate) and
// for constant expressions (layout_static.h). It takes linear time, does not recurse, and reports
// mistakes as LayoutFault instead of throwing. Columns are 1-based byte positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "strata/base/check.h"
#include "strata/layout/layout.h"

namespace strata::detail {

/// The reason why a text is refused; `column` is 0 when the text is accepted.
struct LayoutFault {
  ErrorKind kind = ErrorKind::parse;
  std::string_view what;
  std::size_t column = 0;
};

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr bool is_decimal(char c) { return c >= '0' && c <= '9'; }

/// Reads a decimal number with an optional sign, + or -, at text[at] and moves `at` behind it.
/// @pre at < text.size()
constexpr LayoutFault read_number(std::string_view text, std::size_t& at, std::int64_t& out) {
  const std::size_t start = at;
  const bool negative = text[at] == '-';
  if (text[at] == '-' || text[at] == '+') ++at;
  if (at == text.size() || !is_decimal(text[at])) return {ErrorKind::parse, "a number is missing here", at + 1};
  out = 0;
  for (; at < text.size() && is_decimal(text[at]); ++at) {
    const std::int64_t digit = text[at] - '0';
    if (!try_mul(out, 10, out) || !try_add(out, negative ? -digit : digit, out))
      return {ErrorKind::overflow, "the number does not fit in 64 bits", start + 1};
  }
  return {};
}

/// A tree of nested tuples with a value at each leaf, in the form of Profile. Tuples of one child are
/// still there.
template <class I>
struct LayoutTree {
  Profile nodes;
  SmallVec<I, 6> values;
  SmallVec<std::size_t, 6> columns;  ///< of the values
};

/// Reads trees one after another. `leaf(at, value)` reads the leaf that begins at text[at], which
/// exists, moves `at` behind it and returns a LayoutFault; `is_tuple(at)` says whether the bracket at
/// `at` opens a tuple (or belongs to an expression).
template <class I, class ReadLeaf, class IsTuple>
class LayoutReader {
 public:
  constexpr LayoutReader(std::string_view text, const ReadLeaf& leaf, const IsTuple& is_tuple)
      : text_(text), leaf_(leaf), is_tuple_(is_tuple) {
    skip_blanks();
  }

  constexpr bool at_end() const { return at_ == text_.size(); }
  constexpr std::size_t column() const { return at_ + 1; }
  /// Skips `c` and the blanks behind it; false, and nothing skipped, when another character is next.
  constexpr bool skip(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    skip_blanks();
    return true;
  }

  /// Reads one tree. @pre `out` is empty
  constexpr LayoutFault read_tree(LayoutTree<I>& out) {
    SmallVec<std::size_t, 12> open;  // the nodes of tuples that are still open
    do {
      if (at_end()) return {ErrorKind::parse, "the text ends too early", column()};
      if (text_[at_] == '(' && is_tuple_(at_)) {
        skip('(');
        open.push_back(out.nodes.size());
        out.nodes.push_back(0);
        if (!skip(')')) continue;
        open.pop_back();
      } else if (const LayoutFault fault = read_leaf(out); fault.column != 0) {
        return fault;
      }
      while (!open.empty()) {  // a child is complete
        ++out.nodes[open.back()];
        if (skip(',')) break;
        if (!skip(')')) return {ErrorKind::parse, "',' or ')' is missing here", column()};
        open.pop_back();
      }
    } while (!open.empty());
    return {};
  }

 private:
  constexpr void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  constexpr LayoutFault read_leaf(LayoutTree<I>& out) {
    out.nodes.push_back(kLeaf);
    out.columns.push_back(column());
    I value = 0;
    const LayoutFault fault = leaf_(at_, value);
    out.values.push_back(value);
    skip_blanks();
    return fault;
  }

  std::string_view text_;
  const ReadLeaf& leaf_;
  const IsTuple& is_tuple_;
  std::size_t at_ = 0;
};

/// The text of a layout as read: sizes and strides as two trees, of one profile when there is no fault.
template <class I>
struct LayoutText {
  LayoutTree<I> sizes, strides;
  LayoutFault fault;
};

/// Reads `sizes:strides` to the end of the text, by the `leaf` and `is_tuple` of a LayoutReader. Tuples
/// of one child are dropped from the sizes' tree, which to_layout uses.
template <class I, class ReadLeaf, class IsTuple>
constexpr LayoutText<I> read_layout(std::string_view text, const ReadLeaf& leaf, const IsTuple& is_tuple) {
  LayoutText<I> out;
  LayoutReader<I, ReadLeaf, IsTuple> reader(text, leaf, is_tuple);
  out.fault = reader.read_tree(out.sizes);
  if (out.fault.column != 0) return out;
  if (!reader.skip(':')) {
    out.fault = {ErrorKind::parse, "':' and the strides are missing here", reader.column()};
    return out;
  }
  const std::size_t strides = reader.column();
  out.fault = reader.read_tree(out.strides);
  if (out.fault.column != 0) return out;
  if (!reader.at_end()) {
    out.fault = {ErrorKind::parse, "the layout ends before this", reader.column()};
    return out;
  }
  out.sizes.nodes = without_singletons(out.sizes.nodes);
  if (out.sizes.nodes != without_singletons(out.strides.nodes))
    out.fault = {ErrorKind::shape, "the strides do not nest as the sizes do", strides};
  for (std::size_t t = 0; t < out.sizes.values.size() && out.fault.column == 0; ++t)
    if (!int_at_most(I(1), out.sizes.values[t]))
      out.fault = {ErrorKind::shape, "this size is not at least 1", out.sizes.columns[t]};
  return out;
}

/// Reads a layout of numbers.
constexpr LayoutText<std::int64_t> read_layout(std::string_view text) {
  const auto leaf = [text](std::size_t& at, std::int64_t& out) { return read_number(text, at, out); };
  const auto is_tuple = [](std::size_t) { return true; };
  return read_layout<std::int64_t>(text, leaf, is_tuple);
}

/// The layout that was read. @pre there is no fault. @throws Error (overflow) as BasicLayout::create
template <class I>
constexpr BasicLayout<I> to_layout(const LayoutText<I>& text) {
  typename BasicLayout<I>::Leaves leaves;
  for (std::size_t t = 0; t < text.sizes.values.size(); ++t)
    leaves.push_back({text.sizes.values[t], text.strides.values[t]});
  return BasicLayout<I>::create(text.sizes.nodes, leaves);
}

}  // namespace strata::detail
