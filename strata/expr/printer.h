// The printer that every notation derives from: a worklist of pieces of text and nodes, so no depth is too deep.
// Internal to expr/.
//
// `expand` of a node emits its pieces in reading order; nodes among them are expanded when their turn comes. The base
// class is the specification's notation; the others override what they write differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/expr/node.h"

namespace strata {

inline constexpr std::size_t kMaxText = std::size_t{64} << 20;
inline constexpr std::size_t kWorthCounting = std::size_t{1}
                                              << 20;  // from here on it pays to foresee the length

/// Terms in printed order: falling |coefficient|, ties as they stand.
std::vector<Term> printed_terms(std::span<const Term> terms);
inline std::vector<Term> printed_terms(const Node* sum) { return printed_terms(sum->terms()); }

class Printer {
 public:
  virtual ~Printer() = default;
  std::string print(const Node* root);

 protected:
  /// How tightly a text has to bind in its context: each notation numbers its own levels; 0, the root, takes any text.
  using Precedence = std::uint32_t;

  // What an `expand` may call, in reading order. Texts that are not literals go through `number` or `name`.
  void text(std::string_view literal) { pieces_.push_back({literal, nullptr, 0, Kind::text, 0}); }
  void number(std::int64_t value) { pieces_.push_back({{}, nullptr, value, Kind::number, 0}); }
  void name(std::string_view kept_by_node) { text(kept_by_node); }
  void node(const Node* n, Precedence precedence = 0) {
    pieces_.push_back({{}, n, 0, Kind::node, precedence});
  }
  /// `expand_tail(n, from)` when its turn comes: for texts that are quadratic in the number of sources.
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
  virtual void extremum(const Node* n) {
    list(n->sources(), n->is(Op::Min) ? "min(" : "max(", ", ", ")");
  }
  virtual void choice(const Node* n) { list(n->sources(), "select(", ", ", ")"); }
  virtual void junction(const Node* n) {
    list(n->sources(), "(", n->is(Op::And) ? " and " : " or ", ")");
  }
  /// What stands before each term of `sum`.
  virtual std::string_view term_prefix(const Node*) const { return {}; }
  /// Are turned quotients printed the shorter way?  See `term`.
  virtual bool turns_quotients() const { return true; }
  /// An atom of a sum or a factor.
  virtual void operand(const Node* n, const Node* parent);

 private:
  /// k0 + terms, as parts of the sum `n`.
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
  /// Stops a text that is too long, or that will be: a shared graph is found out after its first megabyte.
  static void check_size(const Node* root, std::size_t size, bool& counted);

  std::vector<Piece> pieces_;
};

std::string print_latex(const Node* root);
std::string print_c(const Node* root);

}  // namespace strata
