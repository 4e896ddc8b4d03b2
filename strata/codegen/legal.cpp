// Refusals.

#include "strata/codegen/legal.h"

#include <algorithm>

namespace strata {

void check_order(const LazyOp& kernel, const KernelAxes& axes, const Target& target) {
  if (target.reassociate) return;
  for (const LazyNode* n : postorder(kernel)) {
    if ((n->op != Ops::SUM && n->op != Ops::PROD) || !n->dtype.is_float()) continue;
    const ReduceGroup& group = axes.group_of(n);
    for (std::size_t j = 0; j < group.count; ++j) {
      const LoopAxis& axis = axes.axes()[group.first + j];
      STRATA_CHECK(j == 0 || axis.segments.size() == 1, domain, "[lower] a ", spec_name(n->op),
                   " of floats keeps its order here; axis ", group.first + j, " is cut");
      for (const Segment& s : axis.segments) {
        std::size_t loops = 0;
        for (const Part& p : s.parts) {
          STRATA_CHECK(p.kind == PartKind::loop || p.kind == PartKind::unroll, domain, "[lower] a ",
                       spec_name(n->op), " of floats keeps its order here; axis ", group.first + j,
                       " has ", to_string(p.kind));
          loops += p.kind == PartKind::loop ? 1 : 0;
        }
        const bool unrolled = s.parts.size() != loops;
        STRATA_CHECK(!unrolled || j + 1 == group.count, domain, "[lower] a ", spec_name(n->op),
                     " of floats keeps its order here; axis ", group.first + j,
                     " is unrolled around others");
        STRATA_CHECK(group.count == 1 || loops <= 1, domain, "[lower] a ", spec_name(n->op),
                     " of floats keeps its order here; axis ", group.first + j, " is tiled");
      }
    }
  }
}

void check_may_split(const LazyOp& kernel, const Opt& opt, const Target& target) {
  if (target.reassociate) return;
  const KernelAxes axes(kernel);
  for (const LazyNode* n : postorder(kernel)) {
    if ((n->op != Ops::SUM && n->op != Ops::PROD) || !n->dtype.is_float()) continue;
    const ReduceGroup& group = axes.group_of(n);
    STRATA_CHECK(opt.axis < group.first || opt.axis >= group.first + group.count, domain, "[",
                 opt.text(), "] a ", spec_name(n->op), " of floats keeps its order here");
  }
}

namespace {

/// Stores have no order: two to one buffer go to different parts of it.
void check_stores(const Lowered& lowered) {
  for (const Access& a : lowered.accesses)
    for (const Access& b : lowered.accesses) {
      if (!a.is_store || !b.is_store || a.slot < 0 || a.slot != b.slot || a.store >= b.store)
        continue;
      const Facts first = a.index.facts(), second = b.index.facts();
      STRATA_CHECK(first.max < second.min || second.max < first.min, domain,
                   "[lower] two stores go to buffer ", a.slot, ", at ", a.index.render(), " and ",
                   b.index.render(), ", which are not apart");
    }
}
/// Whether a store puts something where a load reads, in the turn in which that reads: then no other turn does.
bool writes_where(const Access& store, const Access& load) {
  if (!store.is_store || store.slot != load.slot || !same(store.index, load.index)) return false;
  if (store.valid.constant() == 1 || same(store.valid, load.valid)) return true;
  return prove(store.valid, load.valid && load.ranges).answer == Answer::yes;
}
/// A buffer that is read and written is read where it is written, and nowhere else.
void check_in_place(const Lowered& lowered) {
  for (const Access& load : lowered.accesses) {
    if (load.slot < 0) continue;
    const BufferUse& use = lowered.buffers[static_cast<std::size_t>(load.slot)];
    if (load.is_store || !use.written) continue;
    const bool is_there = std::any_of(lowered.accesses.begin(), lowered.accesses.end(),
                                      [&](const Access& a) { return writes_where(a, load); });
    STRATA_CHECK(is_there, domain, "[lower] buffer ", load.slot,
                 " is written by the kernel and read at ", load.index.render(),
                 ", where it is not written in the same turn");
  }
}

}  // namespace

void check_memory(const Lowered& lowered) {
  check_in_place(lowered);
  check_stores(lowered);
}

}  // namespace strata
