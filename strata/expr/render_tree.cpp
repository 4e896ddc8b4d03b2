// render_tree: an expression as an indented tree, one node a line, in the style of the specification's UOp tree.
#include <string>
#include <unordered_map>
#include <vector>

#include "strata/expr/printer.h"
#include "strata/expr/render.h"

namespace strata {

namespace {

/// The content of a line: a node, a term `coefficient * node` of a sum, a constant, or the end of a range.
struct Item {
  enum class Kind : std::uint8_t { node, term, constant, range_end } kind;
  const Node* node;
  std::int64_t number;
  bool operator==(const Item&) const = default;
};

struct ItemHash {
  std::size_t operator()(const Item& item) const {
    const auto mixed =
        static_cast<std::uint64_t>(item.number) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(item.kind);
    return std::hash<const Node*>()(item.node) ^ static_cast<std::size_t>(mixed ^ (mixed >> 32));
  }
};

Item constant_item(std::int64_t value) { return {Item::Kind::constant, nullptr, value}; }
bool is_product_by_constant(const Node* n) { return n->is(Op::Sum) && n->k0() == 0 && n->terms().size() == 1; }

Item node_item(const Node* n) {
  if (n->is(Op::Const)) return constant_item(n->value());
  if (is_product_by_constant(n)) return {Item::Kind::term, n->terms()[0].atom, n->terms()[0].coefficient};
  return {Item::Kind::node, n, 1};
}

std::vector<Item> sources_of(const Item& item) {
  const Node* n = item.node;
  if (item.kind == Item::Kind::term) return {node_item(n), constant_item(item.number)};
  if (item.kind != Item::Kind::node) return {};
  if (n->is(Op::Var)) {
    const std::int64_t max = n->variable().max;  // the exclusive end may not fit in 64 bits
    const Item end = max == kPosInf ? Item{Item::Kind::range_end, nullptr, 0} : constant_item(max + 1);
    return {constant_item(n->variable().min), end};
  }
  std::vector<Item> out;
  if (!n->is(Op::Sum)) {
    for (const Node* s : n->sources()) out.push_back(node_item(s));
    return out;
  }
  if (n->k0() != 0) out.push_back(constant_item(n->k0()));
  for (const Term& t : printed_terms(n))
    out.push_back(t.coefficient == 1 ? node_item(t.atom) : Item{Item::Kind::term, t.atom, t.coefficient});
  return out;
}

std::string_view op_name(const Item& item) {
  if (item.kind == Item::Kind::term) return "MUL";
  if (item.kind != Item::Kind::node) return "CONST";
  switch (item.node->op) {
    case Op::Const: return "CONST";
    case Op::Sum: return "ADD";
    case Op::Var: return "RANGE";
    case Op::Mul: return "MUL";
    case Op::Div: return "IDIV";
    case Op::Mod: return "MOD";
    case Op::Min: return "MIN";
    case Op::Max: return "MAX";
    case Op::Select: return "WHERE";
    case Op::Lt: return "CMPLT";
    case Op::Eq: return "CMPEQ";
    case Op::Ne: return "CMPNE";
    case Op::And: return "AND";
    case Op::Or: return "OR";
  }
  throw InternalError("internal error: render_tree met an unknown op");
}

std::string argument(const Item& item) {
  if (item.kind == Item::Kind::constant) return detail::message(", arg=", item.number);
  if (item.kind == Item::Kind::range_end) return ", arg=9223372036854775808";
  if (item.kind != Item::Kind::node || !item.node->is(Op::Var)) return "";
  const VariableInfo& v = item.node->variable();
  return v.bound ? detail::message(", arg=", v.name, "=", v.value) : detail::message(", arg=", v.name);
}

class TreePrinter {
 public:
  std::string print(const Node* root) {
    number(node_item(root));
    write({node_item(root), 0, 0});
    return std::move(out_);
  }

 private:
  struct Seen {
    std::size_t index;  // number in printed order
    std::size_t uses;
    bool written;
  };
  struct Line {
    Item item;
    std::size_t depth;
    std::size_t closes;  // brackets to close after the line
  };

  /// Counts the uses of each item and numbers the items in printed order. The root is not counted.
  void number(const Item& root) {
    std::vector<Item> work{root};
    bool at_root = true;
    while (!work.empty()) {
      const Item item = work.back();
      work.pop_back();
      if (!at_root) {
        Seen& seen = seen_.try_emplace(item, Seen{seen_.size(), 0, false}).first->second;
        if (++seen.uses > 1) continue;
      }
      at_root = false;
      const std::vector<Item> sources = sources_of(item);
      work.insert(work.end(), sources.rbegin(), sources.rend());
    }
  }
  void write(const Line& root) {
    std::vector<Line> work{root};
    while (!work.empty()) {
      const Line line = work.back();
      work.pop_back();
      std::vector<Item> sources = begin_line(line);
      if (sources.empty()) {
        for (std::size_t i = 0; i < line.closes; ++i) out_ += ",))";
        if (!work.empty()) out_ += ",\n";
      }
      for (std::size_t i = sources.size(); i-- > 0;)
        work.push_back({sources[i], line.depth + 1, i + 1 == sources.size() ? line.closes + 1 : 0});
      STRATA_CHECK(out_.size() <= kMaxText, budget, "[render_tree] the text is longer than ", kMaxText, " bytes");
    }
  }
  /// Writes the beginning of a line; returns the sources to print below it.
  std::vector<Item> begin_line(const Line& line) {
    out_.append(2 * line.depth, ' ');
    if (const auto it = seen_.find(line.item); it != seen_.end() && it->second.uses > 1) {
      out_ += detail::message("x", it->second.index);
      if (it->second.written) return {};
      it->second.written = true;
      out_ += ":=";
    }
    out_ += "Expr(Op.";
    out_ += op_name(line.item);
    out_ += argument(line.item);
    std::vector<Item> sources = sources_of(line.item);
    out_ += sources.empty() ? ")" : ", src=(\n";
    return sources;
  }

  std::string out_;
  std::unordered_map<Item, Seen, ItemHash> seen_;
};

}  // namespace

std::string render_tree(const Expr& e) { return TreePrinter().print(e.node()); }

}  // namespace strata
