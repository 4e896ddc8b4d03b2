#include "strata/ops/formula_node.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "strata/base/fork.h"
#include "strata/graph/node_cost.h"
#include "strata/ops/backward.h"

namespace strata::ops {

namespace {

using Function = Value (*)(const Value& x);

constexpr std::size_t kFewNodes = 4;  // are made at once

thread_local bool makes_formulas = false;

struct OwnFormula : strata::Formula {
  Function f = nullptr;
};

LazyOp nodes_of(Function f, const LazyOp& x) {
  const FormulaScope scope(false);
  return f(Value(x)).node();
}
LazyOp expand(const strata::Formula& formula, const LazyOp& x) {
  return nodes_of(static_cast<const OwnFormula&>(formula).f, x);
}

/// The formulas by function and dtype, each made on first use; null where the nodes are few.
class Formulas {
 public:
  static Formulas& instance() {
    static Formulas& formulas = *new Formulas;  // never destroyed: nodes may outlive every static
    return formulas;
  }

  const strata::Formula* get(Function f, DType dtype) {
    const Key key{f, dtype.id()};
    {
      const std::lock_guard lock(mutex_);
      if (const auto it = known_.find(key); it != known_.end()) return it->second.get();
    }
    std::unique_ptr<const OwnFormula> made = measured(f, dtype);
    const std::lock_guard lock(mutex_);
    return known_.try_emplace(key, std::move(made)).first->second.get();
  }

 private:
  struct Key {
    Function f;
    DType::Id dtype;
    bool operator==(const Key&) const = default;
  };
  struct HashKey {
    std::size_t operator()(const Key& k) const {
      return std::hash<Function>()(k.f) * 31 + static_cast<std::size_t>(k.dtype);
    }
  };

  static std::unique_ptr<const OwnFormula> measured(Function f, DType dtype) {
    const LazyOp x = LazyOp::empty(dtype, Ints{}), y = nodes_of(f, x);
    auto out = std::make_unique<OwnFormula>();
    out->expand = &expand;
    out->f = f;
    out->result = y.dtype();
    for (const LazyNode* n : postorder(y)) {
      if (n == x.node() || n->op == Ops::CONST) continue;
      ++out->nodes;
      out->cost += op_cost(n->op);
    }
    return out->nodes <= kFewNodes ? nullptr : std::move(out);
  }

  std::unordered_map<Key, std::unique_ptr<const OwnFormula>, HashKey> known_;
  std::mutex mutex_;

  struct AtFork;
};

struct Formulas::AtFork {
  static void before() { instance().mutex_.lock(); }
  static void after() { instance().mutex_.unlock(); }
  static const ForkHook hook;
};
const ForkHook Formulas::AtFork::hook(ForkOrder::formulas, &before, &after);

}  // namespace

FormulaScope::FormulaScope(bool makes_nodes) : before_(std::exchange(makes_formulas, makes_nodes)) {}
FormulaScope::~FormulaScope() { makes_formulas = before_; }
bool FormulaScope::makes_nodes() { return makes_formulas; }

Value formula(Value (*f)(const Value& x), const Value& x) {
  if constexpr (!kTakesGradients) return f(x);  // no tensors: no graphs that formulas would make small
  const LazyNode& node = *x.node().node();
  if (!FormulaScope::makes_nodes() || node.is_closed || node.is_tracked) return f(x);
  const strata::Formula* const known = Formulas::instance().get(f, x.dtype());
  return known == nullptr ? f(x) : Value(x.node().formula(*known));
}

}  // namespace strata::ops
