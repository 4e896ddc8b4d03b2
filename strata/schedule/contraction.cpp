#include "strata/schedule/contraction.h"

#include "strata/schedule/recompute.h"

namespace strata {

double count_of(const Int& size) { return static_cast<double>(std::max<std::int64_t>(size.vmax(), 1)); }
double elements(const LazyNode& n) {
  double out = 1;
  for (const Int& size : n.shape) out *= count_of(size);
  return out;
}
double reduced_count(const LazyNode& n) {
  double out = 1;
  for (const std::int64_t axis : std::get<Axes>(n.arg))
    out *= count_of(n.src[0].shape()[static_cast<std::size_t>(axis)]);
  return out;
}

void ElementsRead::note(const LazyNode& n, bool is_memory) {
  double below = n.op == Ops::LOAD ? count_of(std::get<BufferArg>(n.arg).size) : 0;
  for (const LazyOp& s : needed(n)) below += of(*s.node());
  read_[&n] = is_memory || is_reduce(n.op) ? elements(n) : std::min(below, elements(n));
}
double ElementsRead::of(const LazyNode& n) const {
  const auto it = read_.find(&n);
  return it != read_.end() ? it->second : elements(n);
}
ReductionKind ElementsRead::kind_of(const LazyNode& n) const {
  if (reduced_count(n) < kMemoryCost) return ReductionKind::brief;
  const LazyNode& source = *n.src[0].node();
  const double read = of(source);
  return read > 0 && elements(source) > kMostReads * read ? ReductionKind::contraction : ReductionKind::plain;
}

std::vector<const LazyNode*> dot_casts(const LazyNode& n) {
  if (n.op != Ops::SUM || n.dtype != dtypes::int32 || n.src[0].op() != Ops::MUL) return {};
  if (reduced_count(n) < kMemoryCost) return {};
  std::vector<const LazyNode*> out;
  for (const LazyOp& factor : n.src[0].src()) {
    const LazyNode* at = factor.node();
    while (at->op == Ops::RESHAPE || at->op == Ops::PERMUTE || at->op == Ops::EXPAND) at = at->src[0].node();
    if (at->op != Ops::CAST || at->src[0].dtype().bits() != 8 || at->src[0].dtype().is_bool()) return {};
    out.push_back(at);
  }
  return out;
}

ReductionKind reductions_of(const LazyOp& kernel) {
  ElementsRead reads;
  ReductionKind out = ReductionKind::none;
  for (const LazyNode* n : postorder(kernel)) {
    if (is_reduce(n->op)) out = std::max(out, reads.kind_of(*n));
    reads.note(*n);
  }
  return out;
}

}  // namespace strata
