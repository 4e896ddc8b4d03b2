// Printer: the base class of all notations. It prints from a worklist of pieces (texts and nodes), so no expression is
// too deep. Internal to expr/.
//
// `expand(node)` emits the node's pieces in reading order; a node among the pieces is expanded later, when the worklist
// reaches it. The base class prints the specification's notation; other notations override what differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/expr/node.h"

namespace strata {

inline constexpr std::size_t kMaxText = std::size_t{64} << 20;
inline constexpr std::size_t kWorthCounting = std::size_t{1} << 20;  // from here on, compute the length in advance

/// The terms in printed order: falling |coefficient|; ties keep their order.
std::vector<Term> printed_terms(std::span<const Term> terms);
inline std::vector<Term> printed_terms(const Node* sum) { return printed_terms(sum->terms()); }

class Printer {
 public:
  virtual ~Printer() = default;
  std::string print(const Node* root);

 protected:
  /// How tightly a text has to bind in its context. Each notation numbers its own levels; 0, the root, takes any text.
  using Precedence = std::uint32_t;

  // The functions that `expand` may call, in reading order. A text that is not a literal goes through `number` or
  // `name`.
  void text(std::string_view literal) { pieces_.push_back({literal, nullptr, 0, Kind::text, 0}); }
  void number(std::int64_t value) { pieces_.push_back({{}, nullptr, value, Kind::number, 0}); }
  void name(std::string_view kept_by_node) { text(kept_by_node); }
  void node(const Node* n, Precedence precedence = 0) { pieces_.push_back({{}, n, 0, Kind::node, precedence}); }
  /// Calls `expand_tail(n, from)` when the worklist reaches this piece: for notations whose text is quadratic in the
  /// number of sources.
  void tail(const Node* n, std::size_t from) {
    pieces_.push_back({{}, n, static_cast<std::int64_t>(from), Kind::tail, 0});
  }
  void list(std::span<const Node* const> sources, std::string_view open, std::string_view between,
            std::string_view close, Precedence precedence = 0);

  virtual void expand(const Node* n, Precedence precedence);
  virtual void expand_tail(const Node* n, std::size_t from);
  virtual void constant(std::int64_t value) { number(value); }
  virtual void variable(const Node* n) { name(n->variable().name); }
  virtual void sum(const Node* n) { linear(n, n->k0(), n->terms()); }
  virtual void quotient(const Node* n) { list(n->sources(), "(", "//", ")"); }
  virtual void remainder(const Node* n) { list(n->sources(), "(", "%", ")"); }
  virtual void extremum(const Node* n) { list(n->sources(), n->is(Op::Min) ? "min(" : "max(", ", ", ")"); }
  virtual void choice(const Node* n) { list(n->sources(), "select(", ", ", ")"); }
  virtual void junction(const Node* n) { list(n->sources(), "(", n->is(Op::And) ? " and " : " or ", ")"); }
  /// The text before each term of the sum.
  virtual std::string_view term_prefix(const Node*) const { return {}; }
  /// True iff turned quotients are printed in their shorter form; see `term` in render.cpp.
  virtual bool turns_quotients() const { return true; }
  /// Prints an atom of a sum, or a factor of a product.
  virtual void operand(const Node* n, const Node* parent);

 private:
  /// Prints k0 + terms as parts of the sum `n`.
  void linear(const Node* n, std::int64_t k0, std::span<const Term> terms);
  void term(const Node* n, const Term& t, std::string_view prefix);

  enum class Kind : std::uint8_t { text, number, node, tail };
  struct Piece {
    std::string_view text;
    const Node* node;
    std::int64_t number;
    Kind kind;
    Precedence precedence;
  };
  /// Throws for a text that is too long or will be: the length of a graph with shared nodes is computed after its first
  /// megabyte.
  static void check_size(const Node* root, std::size_t size, bool& counted);

  std::vector<Piece> pieces_;
};

std::string print_latex(const Node* root);
std::string print_c(const Node* root);

}  // namespace strata
