// Checks that lowering preserves results.

#include "strata/codegen/legal.h"

#include <algorithm>

#include "strata/codegen/pack.h"
#include "strata/ir/sum_order.h"

namespace strata {

namespace {

// is_whole(): the axis is one loop. is_in_lanes(): it is a loop of `kSumLanes` lanes, and perhaps a segment with the
// remaining elements.
bool is_whole(const LoopAxis& axis) {
  return axis.segments.size() == 1 && axis.segments[0].parts.size() == 1 &&
         axis.segments[0].parts[0].kind == PartKind::loop;
}
bool is_in_lanes(const LoopAxis& axis) {
  const std::vector<Part>& parts = axis.segments[0].parts;
  return axis.segments.size() <= 2 && !axis.padded && parts.size() == 2 && parts[0].kind == PartKind::loop &&
         parts[1].kind == PartKind::lanes && parts[1].size == Int(kSumLanes);
}

}  // namespace

void check_order(const LazyOp& kernel, const KernelAxes& axes, const Target& target) {
  if (target.reassociate) return;
  for (const LazyNode* n : postorder(kernel)) {
    if (!is_ordered(n->op, n->dtype)) continue;
    const ReduceGroup& group = axes.group_of(n);
    Ints sizes;
    for (std::size_t j = 0; j < group.count; ++j) sizes.push_back(axes.axes()[group.first + j].size);
    for (std::size_t j = 0; j < group.count; ++j) {
      const LoopAxis& axis = axes.axes()[group.first + j];
      const bool may_have_lanes = static_cast<int>(j) == lane_axis_of({sizes.data(), sizes.size()});
      STRATA_CHECK(axis.dims.size() == 1 && (is_whole(axis) || (may_have_lanes && is_in_lanes(axis))), domain,
                   "[lower] a ", spec_name(n->op), " of floats keeps the defined order; axis ", group.first + j,
                   may_have_lanes ? detail::message(" stays whole or has LANES ", kSumLanes) : " stays whole");
    }
  }
}

namespace {

/// Stores have no order: two stores to one buffer must go to disjoint parts of it.
void check_stores(const Lowered& lowered) {
  for (const Access& a : lowered.accesses)
    for (const Access& b : lowered.accesses) {
      if (!a.is_store || !b.is_store || a.slot < 0 || a.slot != b.slot || a.store >= b.store) continue;
      const Facts first = a.index.facts(), second = b.index.facts();
      STRATA_CHECK(first.max < second.min || second.max < first.min, domain, "[lower] two stores go to buffer ", a.slot,
                   ", at ", a.index.render(), " and ", b.index.render(), ", which may be equal");
    }
}
/// True iff `store` writes the element that `load` reads, in the same iteration. No two iterations store to one
/// element.
bool writes_where(const Access& store, const Access& load) {
  if (!store.is_store || store.slot != load.slot || !same(store.index, load.index)) return false;
  if (store.store == load.store && load.changes) return true;
  if (store.valid.constant() == 1 || same(store.valid, load.valid)) return true;
  return prove(store.valid, load.valid && load.ranges).answer == Answer::yes;
}
/// Each load of a buffer that is written reads an element that the same iteration writes.
void check_in_place(const Lowered& lowered) {
  for (const Access& load : lowered.accesses) {
    if (load.slot < 0) continue;
    const BufferUse& use = lowered.buffers[static_cast<std::size_t>(load.slot)];
    if (load.is_store || !use.written) continue;
    const bool is_there = std::any_of(lowered.accesses.begin(), lowered.accesses.end(),
                                      [&](const Access& a) { return writes_where(a, load); });
    STRATA_CHECK(is_there, domain, "[lower] buffer ", load.slot, " is written by the kernel and read at ",
                 load.index.render(), ", where it is not written in the same iteration");
  }
}

}  // namespace

void check_memory(const Lowered& lowered) {
  check_in_place(lowered);
  check_stores(lowered);
}

bool is_within_scratch(const LazyOp& kernel, std::span<const Opt> opts, const Target& target) {
  const auto has = [&](Opt::Kind kind) {
    return std::any_of(opts.begin(), opts.end(), [&](const Opt& o) { return o.kind == kind; });
  };
  if (!has(Opt::Kind::PARALLEL) || !has(Opt::Kind::STAGE)) return true;
  try {
    const RestKernel rest = rest_of(kernel, opts, target);
    if (rest.axes.axes()[static_cast<std::size_t>(rest.axes.parallel_axis())].segments.size() == 1) return true;
    lower(rest.kernel, rest.axes, target);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace strata
