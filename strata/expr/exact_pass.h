// ExactPass: one bottom-up pass of the exact step (exact.h) over an expression. exact.cpp repeats passes until one
// finds nothing. Internal to expr/.
//
// All nodes are evaluated together on a sample of points. The sample suggests candidates for each node: a constant, an
// affine function, the node without an irrelevant variable, another node, a closed form. Candidates that are cheaper
// than the node are then proven on the whole box, in order of cost. The sample never decides anything by itself.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/expr/evaluate.h"
#include "strata/expr/search.h"

namespace strata {

/// The cost of a spelling; fields that come first matter first.
struct Cost {
  std::uint64_t free;  ///< the number of variables
  bool curved;         ///< true iff the spelling is not affine
  std::uint64_t size;  ///< operators and leaves of the text; saturates
  friend auto operator<=>(const Cost&, const Cost&) = default;
};

/// Costs and variable sets of nodes, each computed once. Variables are numbered by the tape; a variable that the tape
/// does not contain counts as a constant. @pre the tape has at most 64 variables, and outlives this object
class Costs {
 public:
  explicit Costs(const Tape& tape);
  Cost cost(const Expr& e) { return of(info(e)); }
  /// The variables in `e`: bit v is set iff variable number v occurs.
  std::uint64_t mask(const Expr& e) { return info(e).mask; }

 private:
  struct Info {
    std::uint64_t mask, size;
    bool linear;
  };
  static Cost of(const Info& i);
  const Info& info(const Expr& e);
  std::unordered_map<const Node*, Info> known_;
  std::unordered_map<const Node*, std::size_t> numbers_;
  std::vector<Expr> keep_;
};

using Column = std::vector<std::int64_t>;

/// The points that suggest candidates: columns[v][i] is the value of variable v at point i. Without an assumption the
/// points are: the low corner, its neighbours, corners, then (from `base` on) random points and their flips.
struct Sample {
  std::vector<Column> columns;  ///< one for each variable
  std::size_t count = 0;
  std::size_t base = 0;   ///< index of the first of `flips` base points; after these come `flips` points per variable
  std::size_t flips = 0;  ///< which differ from the base points in that variable alone; 0 under an assumption
};
/// A sample of `box`. Point 0 is the low corner; point 1 + v has variable v one higher than point 0 (if its bounds
/// allow). `slots` is the number of a tape's slots: long tapes get fewer points, which limits the memory for their
/// values.
Sample make_sample(const Box& box, std::size_t slots);
/// A sample of points where root 1 of `tape`, the assumption, is not 0. `exhaustive` is set when every point of the box
/// was checked: a sample without points then means that the assumption never holds.
Sample make_valid_sample(const Tape& tape, Budget& budget, bool& exhaustive);

/// Appends the candidate that `make` builds, unless `make` throws Error: its constants do not fit in 64 bits, or it
/// would divide by 0.
template <class Make>
void try_candidate(std::vector<Expr>& out, Make make) {
  try {
    out.push_back(make());
  } catch (const Error&) {
    return;
  }
}

class ExactPass {
 public:
  /// The cost of making a tape, for each node, in node evaluations.
  static constexpr std::uint64_t kBuild = 256;

  /// A pass over `root` where `valid` is not 0; valid == 1 is the whole box. @pre at most 64 variables in both together
  ExactPass(const Expr& root, const Expr& valid, Budget& budget);
  /// The root after one pass: equal to the given root wherever `valid` holds, and no costlier; 0 when `valid` is seen
  /// to hold nowhere. When the budget runs out, no further candidates are tried. Call it once.
  /// @throws Error (budget) when a Meter of this thread is used up
  Expr run();

 private:
  struct Signature {
    std::uint64_t hash;
    std::int64_t base, unit;  // value == base + unit * shape, and `hash` is the hash of the shape
  };
  using Candidates = std::vector<Expr>;

  static std::optional<Signature> signature(const Column& v);
  void index_signatures();
  Expr rebuilt(std::uint32_t slot);
  Expr improve(Expr e, const Column& v);
  std::optional<Expr> improve_once(const Expr& e, const Column& v, bool whole);
  bool equal(const Expr& a, const Expr& b);

  void add_drops(const Expr& e, const Column& v, Candidates& out);
  void add_affine(const Expr& e, const Column& v, Candidates& out);
  void add_fitted(const Expr& e, const Column& v, Candidates& out);
  void add_known(const Column& v, Candidates& out);
  void add_structural(const Expr& e, const Column& v, Candidates& out);
  void add_partial_sums(const Tape& tape, const std::vector<Column>& values, Candidates& out);
  void add_deletions(const Tape& tape, const std::vector<Column>& values, const Column& v, Candidates& out);
  void add_term_deletions(const Tape& tape, const std::vector<Column>& values, const Column& v, Candidates& out);
  void add_separable(const Tape& tape, const Column& v, Candidates& out);

  std::vector<Column> columns_for(const Tape& tape) const;
  Variable variable(std::size_t number) const { return tape_.variable_handle(number); }
  bool plain() const { return valid_.is_constant(); }

  Expr valid_;
  Budget& budget_;
  Tape tape_;
  Costs costs_;
  Sample sample_;
  bool nowhere_valid_ = false;
  std::vector<Column> values_;  // by slot; empty when a value does not fit in 64 bits
  std::vector<Expr> done_;      // the improved nodes by slot, as far as the pass has come
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::uint32_t, Signature>>> signatures_;
};

}  // namespace strata
