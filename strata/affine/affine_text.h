// AffineText: a text of the grammar as a tree with folded constants. The run-time and the compile-time affine functions
// both start from it. Everything here is constexpr and throws nothing; a mistake in the text is a TextFault. Internal
// to affine/ and loops/.
//
//   read_affine_text("2 * 3 * i")   // nodes: 2 and 3 (dropped), 6, i, and the root: the action mul on 6 and i
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "strata/base/int_math.h"
#include "strata/expr/grammar.h"

namespace strata {

/// The outcome of an action on numbers.
enum class Outcome : std::uint8_t { ok, overflow, zero_divisor };

namespace detail {

constexpr Outcome divide(Action action, std::int64_t a, std::int64_t b, std::int64_t& out) {
  if (b == 0) return Outcome::zero_divisor;
  if (action == Action::mod) {
    out = floor_mod(a, b);
    return Outcome::ok;
  }
  if (!try_floor_div(a, b, out)) return Outcome::overflow;
  if (action == Action::ceil_div && floor_mod(a, b) != 0) ++out;
  return Outcome::ok;
}

}  // namespace detail

/// out = the value of an action with two operands; unspecified unless the Outcome is ok. @pre the action takes two
constexpr Outcome apply_binary(Action action, std::int64_t a, std::int64_t b, std::int64_t& out) {
  bool fits = true;
  switch (action) {
    case Action::add: fits = try_add(a, b, out); break;
    case Action::sub: fits = try_sub(a, b, out); break;
    case Action::mul: fits = try_mul(a, b, out); break;
    case Action::div:
    case Action::mod:
    case Action::ceil_div: return detail::divide(action, a, b, out);
    case Action::min: out = std::min(a, b); break;
    case Action::max: out = std::max(a, b); break;
    case Action::lt: out = a < b; break;
    case Action::le: out = a <= b; break;
    case Action::gt: out = a > b; break;
    case Action::ge: out = a >= b; break;
    case Action::eq: out = a == b; break;
    case Action::ne: out = a != b; break;
    case Action::logical_and: out = (a != 0) && (b != 0); break;
    case Action::logical_or: out = (a != 0) || (b != 0); break;
    case Action::neg:
    case Action::logical_not:
    case Action::select:
    case Action::if_else: break;
  }
  return fits ? Outcome::ok : Outcome::overflow;
}

/// out = the value of any action on the numbers x[0], ..., x[arity - 1]; unspecified unless the Outcome is ok. if_else
/// has the operands in the order then, condition, else, as the grammar reads them. @pre `arity` suits the action
constexpr Outcome apply_action(Action action, const std::int64_t* x, std::size_t arity, std::int64_t& out) {
  if (action == Action::neg) return apply_binary(Action::sub, 0, x[0], out);
  if (action == Action::logical_not) return apply_binary(Action::eq, x[0], 0, out);
  if (action == Action::select || action == Action::if_else) {
    const bool python = action == Action::if_else;
    out = x[python ? 1 : 0] != 0 ? x[python ? 0 : 1] : x[2];
    return Outcome::ok;
  }
  out = x[0];
  for (std::size_t i = 1; i < arity; ++i)
    if (Outcome outcome = apply_binary(action, out, x[i], out); outcome != Outcome::ok) return outcome;
  return Outcome::ok;
}

enum class TextKind : std::uint8_t {
  number,   ///< value
  name,     ///< value is the position in AffineText::names
  action,   ///< an action on the `count` nodes that AffineText::children lists from `first` on
  dropped,  ///< an operand of an action that was folded to a number; no action lists it
};

/// A node of the tree; `column` is its place in the text.
struct TextNode {
  TextKind kind = TextKind::number;
  Action action = Action::neg;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::int64_t value = 0;
  std::size_t column = 0;
};

/// A name of the text; `column` is that of its first appearance.
struct TextName {
  std::string_view text;
  std::size_t column = 0;
};

/// The reason why a text is refused; `column` is 0 when the text is accepted. `what` says it in words, and `token` is
/// the text at fault, empty where `what` is enough. With `zero_divisor` the fault is a divisor that is the number 0.
struct TextFault {
  Fault fault = Fault::syntax;
  bool zero_divisor = false;
  std::string_view what;
  std::string_view token;
  std::size_t column = 0;
};

/// The tree: operands come before the nodes that use them, so the root is last. Names and tokens point into the text
/// that was read. @pre for all but `fault`: fault.column == 0
struct AffineText {
  std::vector<TextNode> nodes;
  std::vector<std::uint32_t> children;
  std::vector<TextName> names;  // each name once, in order of first appearance
  TextFault fault;
};

namespace detail {

/// The sink of parse_infix that builds an AffineText.
class TextBuilder {
 public:
  explicit constexpr TextBuilder(AffineText& out) : out_(out) {}

  constexpr void number(std::int64_t value, std::size_t column) {
    push({TextKind::number, Action::neg, 0, 0, value, column});
  }
  constexpr void name(std::string_view name, std::size_t column) {
    push({TextKind::name, Action::neg, 0, 0, static_cast<std::int64_t>(names_.size()), column});
    names_.push_back({name, column});
  }
  constexpr void fail(Fault fault, std::string_view what, std::string_view token, std::size_t column) {
    if (out_.fault.column == 0) out_.fault = {fault, false, what, token, column};
  }
  constexpr void apply(Action action, std::size_t arity, std::size_t column) {
    if (out_.fault.column != 0) return;
    const std::size_t base = stack_.size() - arity;
    if (!fold(action, base, arity, column)) {
      const auto first = static_cast<std::uint32_t>(out_.children.size());
      out_.children.insert(out_.children.end(), stack_.begin() + static_cast<std::ptrdiff_t>(base), stack_.end());
      stack_.resize(base);
      push({TextKind::action, action, first, static_cast<std::uint32_t>(arity), 0, column});
    }
  }

  /// Numbers the names by first appearance, and the name nodes with them.
  constexpr void finish() {
    std::vector<std::uint32_t> order(names_.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      return names_[a].text != names_[b].text ? names_[a].text < names_[b].text : a < b;
    });
    // for each occurrence of a name: the name's first occurrence
    std::vector<std::uint32_t> first(names_.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i)
      first[order[i]] = i > 0 && names_[order[i]].text == names_[order[i - 1]].text ? first[order[i - 1]] : order[i];
    std::vector<std::uint32_t> number(names_.size(), 0);
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (first[i] != i) continue;
      number[i] = static_cast<std::uint32_t>(out_.names.size());
      out_.names.push_back(names_[i]);
    }
    for (TextNode& node : out_.nodes)
      if (node.kind == TextKind::name) node.value = number[first[static_cast<std::size_t>(node.value)]];
  }

 private:
  constexpr void push(const TextNode& node) {
    stack_.push_back(static_cast<std::uint32_t>(out_.nodes.size()));
    out_.nodes.push_back(node);
  }
  constexpr bool is_number(std::size_t at) const { return out_.nodes[stack_[at]].kind == TextKind::number; }

  /// Replaces an action on numbers by its value. Records a fault for a divisor 0 and for a constant that overflows,
  /// also in a branch that is never taken (`1 if True else i / 0`). True when the action is dealt with.
  constexpr bool fold(Action action, std::size_t base, std::size_t arity, std::size_t column) {
    const bool divides = action == Action::div || action == Action::mod || action == Action::ceil_div;
    if (divides && is_number(base + 1) && out_.nodes[stack_[base + 1]].value == 0) {
      out_.fault = {Fault::syntax, true, "the divisor is 0", {}, column};
      return true;
    }
    std::vector<std::int64_t> x(arity, 0);
    for (std::size_t i = 0; i < arity; ++i) {
      if (!is_number(base + i)) return false;
      x[i] = out_.nodes[stack_[base + i]].value;
    }
    std::int64_t value = 0;
    if (apply_action(action, x.data(), arity, value) != Outcome::ok) {
      out_.fault = {Fault::overflow, false, "the constant does not fit in 64 bits", {}, column};
      return true;
    }
    for (std::size_t i = base; i < stack_.size(); ++i) out_.nodes[stack_[i]].kind = TextKind::dropped;
    stack_.resize(base);
    push({TextKind::number, Action::neg, 0, 0, value, column});
    return true;
  }

  AffineText& out_;
  std::vector<std::uint32_t> stack_;
  std::vector<TextName> names_;  // every occurrence
};

}  // namespace detail

/// Reads `text`, which must outlive the result; a mistake is reported in the `fault` of the result. Takes linear time,
/// and O(n log n) for n occurrences of names.
constexpr AffineText read_affine_text(std::string_view text) {
  AffineText out;
  if (text.size() > 0x7fffffff) {
    out.fault = {Fault::budget, false, "the text is longer than 2^31 bytes", {}, 1};
    return out;
  }
  detail::TextBuilder builder(out);
  parse_infix(text, builder);
  if (out.fault.column == 0) builder.finish();
  return out;
}

}  // namespace strata
