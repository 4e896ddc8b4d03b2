#include "strata/codegen/decompose_pass.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace strata {

namespace {

/// Copies a graph, UOp by UOp, in its order, so that what a formula builds stands where the op stood.
class Copy {
 public:
  Copy(const UOpGraph& from, std::span<const UOp> element_ops, const OpSet& native) {
    std::vector<bool> is_element_op(from.size());
    for (const UOp u : element_ops) is_element_op[u.num()] = true;
    copies_.reserve(from.size());
    for (const UOp u : from) {
      SmallVec<UOp, 4> sources;
      for (const UOp s : u.src()) sources.push_back(of(s));
      const std::span<const UOp> src(sources.data(), sources.size());
      copies_.push_back(is_element_op[u.num()] ? emit(graph_, u.alu(), src, native)
                                               : graph_.add(u.op(), u.dtype(), src, u.arg(), from.is_cachable(u)));
    }
  }
  UOp of(UOp u) const { return copies_[u.num()]; }
  void replace(std::vector<UOp>& uops) const {
    for (UOp& u : uops) u = of(u);
  }
  UOpGraph take() { return std::move(graph_); }

 private:
  UOpGraph graph_;
  std::vector<UOp> copies_;  // by number in the graph that is copied
};

}  // namespace

Lowered decomposed(Lowered kernel, const OpSet& native) {
  if (std::ranges::all_of(kernel.element_ops, [&](UOp u) { return native.has(u.alu()); })) return kernel;
  Copy copy(kernel.graph, kernel.element_ops, native);
  for (auto* const placed : {&kernel.stores, &kernel.pinned})
    for (PlacedStore& at : *placed) at.store = copy.of(at.store), copy.replace(at.loops);
  for (StagedLocal& staged : kernel.staged) staged.local = copy.of(staged.local), copy.replace(staged.loops);
  for (LoopInside& loop : kernel.nest) loop = {copy.of(loop.loop), loop.around ? copy.of(loop.around) : UOp()};
  for (Access& access : kernel.accesses) copy.replace(access.uops);
  for (auto& [variable, loop] : kernel.loops) loop = copy.of(loop);
  kernel.element_ops.clear();
  kernel.graph = copy.take();
  return kernel;
}

}  // namespace strata
