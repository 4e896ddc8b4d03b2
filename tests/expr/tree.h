// Plain expression trees: an oracle that shares nothing with the algebra it judges.
//
// A Tree is parsed from text (tree_text.h) or drawn at random (random_expr.h) and evaluated by direct 64-bit arithmetic
// at many points at once.
// Evaluation is total: a point where something overflows or divides by zero is marked as having no value.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "strata/base/int_math.h"

namespace strata::oracle {

enum class TreeOp : std::uint8_t {
  Const,
  Var,
  Neg,
  Not,
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Min,
  Max,
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  And,
  Or,
  Select,
};
inline constexpr std::string_view kTreeText[] = {
    "const", "var", "-",  "not ", "+",  "-",  "*",  "//",    "%",    "min",
    "max",   "<",   "<=", ">",    ">=", "==", "!=", " and ", " or ", "select",
};

struct TreeNode {
  TreeOp op = TreeOp::Const;
  std::int64_t value = 0;              // Const: the value; Var: the index of the variable
  std::int32_t src[3] = {-1, -1, -1};  // earlier nodes

  int arity() const {
    if (op <= TreeOp::Var) return 0;
    return op <= TreeOp::Not ? 1 : op == TreeOp::Select ? 3 : 2;
  }
};

/// Nodes in topological order, the root last; sharing is allowed.
struct Tree {
  std::vector<TreeNode> nodes;

  std::int32_t add(TreeOp op, std::int32_t a, std::int32_t b = -1, std::int32_t c = -1) {
    nodes.push_back({op, 0, {a, b, c}});
    return static_cast<std::int32_t>(nodes.size()) - 1;
  }
  std::int32_t leaf(TreeOp op, std::int64_t value) {
    nodes.push_back({op, value, {-1, -1, -1}});
    return static_cast<std::int32_t>(nodes.size()) - 1;
  }
  std::int32_t root() const { return static_cast<std::int32_t>(nodes.size()) - 1; }
};

/// Values at many points; `ok[i]` is 0 where point i has no value in 64 bits.
struct Column {
  std::vector<std::int64_t> values;
  std::vector<std::uint8_t> ok;
};

/// How `/` and `%` round: floor everywhere, or toward zero as C does.
enum class Rounding : std::uint8_t { floor, truncate };

namespace tree_detail {

inline bool divide(std::int64_t a, std::int64_t b, Rounding rounding, bool remainder, std::int64_t& out) {
  if (b == 0 || (a == kNegInf && b == -1)) return false;
  if (rounding == Rounding::floor) {
    out = remainder ? floor_mod(a, b) : floor_div(a, b);
  } else {
    out = remainder ? a % b : a / b;
  }
  return true;
}

inline bool apply(TreeOp op, std::int64_t a, std::int64_t b, std::int64_t c, Rounding rounding, std::int64_t& out) {
  switch (op) {
    case TreeOp::Neg: return try_sub(0, a, out);
    case TreeOp::Not: out = a == 0; return true;
    case TreeOp::Add: return try_add(a, b, out);
    case TreeOp::Sub: return try_sub(a, b, out);
    case TreeOp::Mul: return try_mul(a, b, out);
    case TreeOp::Div: return divide(a, b, rounding, false, out);
    case TreeOp::Mod: return divide(a, b, rounding, true, out);
    case TreeOp::Min: out = a < b ? a : b; return true;
    case TreeOp::Max: out = a < b ? b : a; return true;
    case TreeOp::Lt: out = a < b; return true;
    case TreeOp::Le: out = a <= b; return true;
    case TreeOp::Gt: out = a > b; return true;
    case TreeOp::Ge: out = a >= b; return true;
    case TreeOp::Eq: out = a == b; return true;
    case TreeOp::Ne: out = a != b; return true;
    case TreeOp::And: out = a != 0 && b != 0; return true;
    case TreeOp::Or: out = a != 0 || b != 0; return true;
    case TreeOp::Select: out = a != 0 ? b : c; return true;
    case TreeOp::Const:
    case TreeOp::Var: break;
  }
  return false;
}

}  // namespace tree_detail

/// Evaluates trees at `points` points; reuses its buffers.
class TreeEvaluator {
 public:
  /// `variables[i]` holds the `points` values of variable i.
  const Column& operator()(const Tree& tree, std::span<const std::vector<std::int64_t>> variables, std::size_t points,
                           Rounding rounding = Rounding::floor) {
    if (rows_.size() < tree.nodes.size()) rows_.resize(tree.nodes.size());
    result_.ok.assign(points, 1);
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const TreeNode& n = tree.nodes[i];
      std::vector<std::int64_t>& row = rows_[i];
      if (n.op == TreeOp::Var) {
        row = variables[static_cast<std::size_t>(n.value)];
      } else if (n.op == TreeOp::Const) {
        row.assign(points, n.value);
      } else {
        fill(n, row, points, rounding);
      }
    }
    result_.values = rows_[tree.nodes.size() - 1];
    return result_;
  }

 private:
  void fill(const TreeNode& n, std::vector<std::int64_t>& row, std::size_t points, Rounding rounding) {
    row.resize(points);
    const std::int64_t* a = rows_[static_cast<std::size_t>(n.src[0])].data();
    const std::int64_t* b = n.src[1] < 0 ? a : rows_[static_cast<std::size_t>(n.src[1])].data();
    const std::int64_t* c = n.src[2] < 0 ? a : rows_[static_cast<std::size_t>(n.src[2])].data();
    for (std::size_t p = 0; p < points; ++p) {
      row[p] = 0;
      if (!tree_detail::apply(n.op, a[p], b[p], c[p], rounding, row[p])) result_.ok[p] = 0;
    }
  }

  std::vector<std::vector<std::int64_t>> rows_;
  Column result_;
};

}  // namespace strata::oracle
