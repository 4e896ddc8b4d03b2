#include "strata/graph/node_cost.h"

namespace strata {

int op_cost(Ops op) {
  if (is_annotation(op)) return 0;
  switch (op) {
    case Ops::NOOP:
    case Ops::BITCAST: return 0;
    case Ops::DIV:
    case Ops::RECIP:
    case Ops::SQRT:
    case Ops::IDIV:
    case Ops::MOD:
    case Ops::FLOORDIV:
    case Ops::FLOORMOD: return 4;
    case Ops::EXP:
    case Ops::EXP2:
    case Ops::LOG:
    case Ops::LOG2:
    case Ops::EXPM1:
    case Ops::LOG1P:
    case Ops::SIN:
    case Ops::COS:
    case Ops::TAN:
    case Ops::ATAN:
    case Ops::TANH:
    case Ops::ERF:
    case Ops::POW:
    case Ops::ATAN2: return 16;
    default: return 1;
  }
}

int node_cost(const LazyNode& n) {
  if (n.op == Ops::FORMULA) return std::get<FormulaArg>(n.arg).formula->cost;
  return is_pointwise(n.op) ? op_cost(n.op) : 0;
}

std::size_t nodes_of(const LazyNode& n) {
  return n.op == Ops::FORMULA ? std::get<FormulaArg>(n.arg).formula->nodes : 1;
}

}  // namespace strata
