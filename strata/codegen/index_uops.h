// IndexUOps: lowers index expressions (Expr) to UOps, in 32 or 64 bits as their proven bounds allow. Internal to
// codegen/.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "strata/expr/expr.h"
#include "strata/ir/uop.h"

namespace strata {

/// A vectorized axis: in an index expression, `variable` stands for the number of the lane.
struct Lanes {
  Variable variable;  ///< in [0, count)
  int count = 1;
};

/// i32 where every intermediate value of `e` is proven to fit, else i64. @throws Error (overflow) where one may exceed
/// 64 bits
DType index_width(const Expr& e);

/// Appends the UOps of index expressions to a list.
class IndexUOps {
 public:
  /// What the caller knows about variables.
  struct Source {
    std::function<UOp(const Variable&)>
        value;  ///< the variable's UOp, an integer scalar; not called for the variable of Lanes
    /// The depth of the loop on which the variable depends. Sums add terms of outer loops first, so that these partial
    /// sums are computed in the outer loops.
    std::function<int(const Variable&)> depth;
  };
  IndexUOps(UOpGraph& graph, Source source) : graph_(graph), source_(std::move(source)) {}

  /// The value of `e` in index_width(e) or `width`; a vector where `e` depends on the variable of `lanes`.
  UOp integer(const Expr& e, const Lanes* lanes = nullptr) { return integer(e, index_width(e), lanes); }
  UOp integer(const Expr& e, DType width, const Lanes* lanes = nullptr);
  /// e != 0, as bool; a vector where `e` depends on the variable of `lanes`.
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
  std::vector<Expr> keep_;  // keeps the keys of depths_ alive
};

}  // namespace strata
