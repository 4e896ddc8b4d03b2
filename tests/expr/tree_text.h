// Text of oracle trees: printing, and a small operator-precedence parser for our notation and for C.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>

#include "strata/base/check.h"
#include "tests/expr/tree.h"

namespace strata::oracle {

namespace tree_detail {

inline std::string text_of_node(const TreeNode& n, std::span<const std::string> texts,
                                std::span<const std::string> names) {
  const auto src = [&](int i) -> const std::string& { return texts[static_cast<std::size_t>(n.src[i])]; };
  const std::string symbol(kTreeText[static_cast<std::size_t>(n.op)]);
  switch (n.op) {
    case TreeOp::Const: return n.value < 0 ? detail::message("(", n.value, ")") : std::to_string(n.value);
    case TreeOp::Var: return names[static_cast<std::size_t>(n.value)];
    case TreeOp::Neg:
    case TreeOp::Not: return "(" + symbol + src(0) + ")";
    case TreeOp::Min:
    case TreeOp::Max: return symbol + "(" + src(0) + "," + src(1) + ")";
    case TreeOp::Select: return "select(" + src(0) + "," + src(1) + "," + src(2) + ")";
    default: return "(" + src(0) + symbol + src(1) + ")";
  }
}

struct Infix {
  std::string_view text;
  TreeOp op;
  int precedence;  // higher binds tighter
};
// Longest symbols first.
inline constexpr Infix kInfix[] = {
    {"//", TreeOp::Div, 6}, {"<=", TreeOp::Le, 4}, {">=", TreeOp::Ge, 4},   {"==", TreeOp::Eq, 4},
    {"!=", TreeOp::Ne, 4},  {"or", TreeOp::Or, 1}, {"and", TreeOp::And, 2}, {"+", TreeOp::Add, 5},
    {"-", TreeOp::Sub, 5},  {"*", TreeOp::Mul, 6}, {"%", TreeOp::Mod, 6},   {"<", TreeOp::Lt, 4},
    {">", TreeOp::Gt, 4},
};
inline constexpr Infix kInfixC[] = {
    {"<=", TreeOp::Le, 5},  {">=", TreeOp::Ge, 5}, {"==", TreeOp::Eq, 4}, {"!=", TreeOp::Ne, 4}, {"||", TreeOp::Or, 1},
    {"&&", TreeOp::And, 2}, {"+", TreeOp::Add, 6}, {"-", TreeOp::Sub, 6}, {"*", TreeOp::Mul, 7}, {"/", TreeOp::Div, 7},
    {"%", TreeOp::Mod, 7},  {"<", TreeOp::Lt, 5},  {">", TreeOp::Gt, 5},
};
inline constexpr int kPrefixMinus = 8;

/// Operator precedence with explicit stacks. In C mode `?:` is handled by two markers on the operator stack.
class TreeParser {
 public:
  TreeParser(std::string_view text, std::vector<std::string>& names, bool c) : text_(text), names_(names), c_(c) {}

  Tree parse() {
    while (skip_spaces(), at_ < text_.size()) expects_operand_ ? operand() : after_operand();
    if (expects_operand_) fail("an operand is missing");
    while (!pending_.empty()) {
      if (pending_.back().kind == Kind::open) fail("')' is missing");
      reduce();
    }
    // The root must come last, and it may have been a leaf that was read early.
    if (operands_.size() != 1) fail("one expression was expected");
    if (operands_.back() != tree_.root()) fail("the root is not last");
    return std::move(tree_);
  }

 private:
  enum class Kind : std::uint8_t { infix, prefix, open, question, colon };
  struct Pending {
    Kind kind;
    TreeOp op;
    int precedence;
    int arguments = 0;  // of a call
    bool call = false;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("tree: " + what + " at " + std::to_string(at_) + " in " + std::string(text_));
  }
  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view symbol) {
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    if (std::isalpha(static_cast<unsigned char>(symbol[0])) && at_ + symbol.size() < text_.size() &&
        is_word(text_[at_ + symbol.size()]))
      return false;
    at_ += symbol.size();
    return true;
  }
  static bool is_word(char ch) { return std::isalnum(static_cast<unsigned char>(ch)) || ch == '_'; }

  void operand() {
    if (take(c_ ? "!" : "not")) {
      pending_.push_back({Kind::prefix, TreeOp::Not, c_ ? kPrefixMinus : 3});
    } else if (take("-")) {
      pending_.push_back({Kind::prefix, TreeOp::Neg, kPrefixMinus});
    } else if (take("(")) {
      pending_.push_back({Kind::open, TreeOp::Const, 0});
    } else if (std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      number();
    } else if (is_word(text_[at_])) {
      word();
    } else {
      fail("bad operand");
    }
  }

  void number() {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{}) fail("bad number");
    at_ = static_cast<std::size_t>(end - text_.data());
    while (c_ && at_ < text_.size() && (text_[at_] == 'L' || text_[at_] == 'l')) ++at_;
    // -9223372036854775808 is the prefix minus of 2^63, which negates to itself.
    operands_.push_back(tree_.leaf(TreeOp::Const, static_cast<std::int64_t>(value)));
    expects_operand_ = false;
  }

  void word() {
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const std::string name(text_.substr(at_, end - at_));
    at_ = end;
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == '(') {
      ++at_;
      const TreeOp op = name == "min" ? TreeOp::Min : name == "max" ? TreeOp::Max : TreeOp::Select;
      if (op == TreeOp::Select && name != "select") fail("unknown function " + name);
      pending_.push_back({Kind::open, op, 0, 0, true});
      return;
    }
    const auto found = std::find(names_.begin(), names_.end(), name);
    const auto index = found - names_.begin();
    if (found == names_.end()) names_.push_back(name);
    operands_.push_back(tree_.leaf(TreeOp::Var, index));
    expects_operand_ = false;
  }

  void after_operand() {
    if (take(")")) return close();
    if (take(",")) {
      reduce_to_open();
      fold_argument(pending_.back());
      expects_operand_ = true;
      return;
    }
    if (c_ && take("?")) {
      reduce_above(0);
      pending_.push_back({Kind::question, TreeOp::Select, 0});
      expects_operand_ = true;
      return;
    }
    if (c_ && take(":")) {
      while (!pending_.empty() && pending_.back().kind != Kind::question) reduce();
      if (pending_.empty()) fail("':' without '?'");
      pending_.back().kind = Kind::colon;
      expects_operand_ = true;
      return;
    }
    const std::span<const Infix> table = c_ ? std::span<const Infix>(kInfixC) : std::span<const Infix>(kInfix);
    for (const Infix& infix : table) {
      if (!take(infix.text)) continue;
      reduce_above(infix.precedence - 1);
      pending_.push_back({Kind::infix, infix.op, infix.precedence});
      expects_operand_ = true;
      return;
    }
    fail("bad operator");
  }

  /// Applies pending operators that bind tighter than `precedence`.
  void reduce_above(int precedence) {
    while (!pending_.empty() && (pending_.back().kind == Kind::infix || pending_.back().kind == Kind::prefix) &&
           pending_.back().precedence > precedence)
      reduce();
  }
  void reduce_to_open() {
    while (!pending_.empty() && pending_.back().kind != Kind::open) reduce();
    if (pending_.empty()) fail("'(' is missing");
  }
  void reduce() {
    const Pending top = pending_.back();
    pending_.pop_back();
    if (top.kind == Kind::question) fail("'?' without ':'");
    const std::size_t arity = top.kind == Kind::prefix ? 1 : top.kind == Kind::colon ? 3 : 2;
    apply(top.op, arity);
  }
  void apply(TreeOp op, std::size_t arity) {
    if (operands_.size() < arity) fail("an operand is missing");
    std::int32_t src[3] = {-1, -1, -1};
    std::copy(operands_.end() - static_cast<std::ptrdiff_t>(arity), operands_.end(), src);
    operands_.resize(operands_.size() - arity);
    operands_.push_back(tree_.add(op, src[0], src[1], src[2]));
  }
  /// min and max take any number of arguments: fold as they come.
  void fold_argument(Pending& open) {
    ++open.arguments;
    if (open.call && open.op != TreeOp::Select && open.arguments > 1) apply(open.op, 2);
  }
  void close() {
    reduce_to_open();
    Pending open = pending_.back();
    fold_argument(open);
    pending_.pop_back();
    if (!open.call && open.arguments != 1) fail("unexpected ','");
    if (open.call && open.op == TreeOp::Select) {
      if (open.arguments != 3) fail("select takes three arguments");
      apply(TreeOp::Select, 3);
    }
    expects_operand_ = false;
  }

  std::string_view text_;
  std::vector<std::string>& names_;
  bool c_;
  std::size_t at_ = 0;
  bool expects_operand_ = true;
  Tree tree_;
  std::vector<std::int32_t> operands_;
  std::vector<Pending> pending_;
};

}  // namespace tree_detail

/// Fully bracketed infix text; `names[i]` is the name of variable i.
inline std::string text_of(const Tree& tree, std::span<const std::string> names) {
  std::vector<std::string> texts;
  texts.reserve(tree.nodes.size());
  for (const TreeNode& n : tree.nodes) texts.push_back(tree_detail::text_of_node(n, texts, names));
  return texts.back();
}

/// Parses infix text: or and not, comparisons, + -, * // %, unary -, min max select, brackets. Names that are not in
/// `names` are appended to it. @throws std::runtime_error on bad text.
inline Tree parse_tree(std::string_view text, std::vector<std::string>& names) {
  return tree_detail::TreeParser(text, names, false).parse();
}

/// The same for C: / and % (to be evaluated with Rounding::truncate), && || !, ?:, suffixes of literals.
inline Tree parse_c_tree(std::string_view text, std::vector<std::string>& names) {
  return tree_detail::TreeParser(text, names, true).parse();
}

}  // namespace strata::oracle
