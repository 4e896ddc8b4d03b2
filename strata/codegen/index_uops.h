// Index expressions as UOps: integer arithmetic whose width is chosen from proven bounds.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "strata/expr/expr.h"
#include "strata/ir/uop.h"

namespace strata {

/// A variable that is the number of a vector's lane.
struct Lanes {
  Variable variable;  ///< from 0 to count - 1
  int count = 1;
};

/// i32 where every intermediate value of `e` is proven to fit, else i64. @throws Error (overflow) where one may leave 64 bits
DType index_width(const Expr& e);

class IndexUOps {
 public:
  struct Source {
    std::function<UOp(const Variable&)> value;  ///< an integer scalar; not asked for the lanes' variable
    /// On how deep a loop it depends: sums add what is outside first, so that it is computed there.
    std::function<int(const Variable&)> depth;
  };
  IndexUOps(UOpGraph& graph, Source source) : graph_(graph), source_(std::move(source)) {}

  /// The value of `e` in its index_width; a vector where `e` depends on the lanes.
  UOp integer(const Expr& e, const Lanes* lanes = nullptr) {
    return integer(e, index_width(e), lanes);
  }
  UOp integer(const Expr& e, DType width, const Lanes* lanes = nullptr);
  /// Whether `e` is not 0, as bool.
  UOp condition(const Expr& e, const Lanes* lanes = nullptr);

 private:
  struct Walk;
  UOp build(const Node* root, DType width, const Lanes* lanes);
  UOp variable(const Node* n, const Walk& walk);
  UOp sum(const Node* n, const Walk& walk);
  UOp divmod(const Node* n, const Walk& walk);
  UOp comparison(const Node* n, const Walk& walk);
  UOp fold(const Node* n, const Walk& walk);
  UOp node(const Node* n, const Walk& walk);
  UOp as_integer(UOp value, DType width);
  UOp as_condition(UOp value);
  UOp alu(Ops op, UOp a, UOp b);
  UOp number(UOp like, std::int64_t value) { return graph_.constant(like.dtype(), value); }
  int depth_of(const Node* n);

  UOpGraph& graph_;
  Source source_;
  std::unordered_map<const Node*, int> depths_;
  std::vector<Expr> keep_;  // what depths_ refers to
};

}  // namespace strata
