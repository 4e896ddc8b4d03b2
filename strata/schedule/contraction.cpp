#include "strata/schedule/contraction.h"

#include <algorithm>

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
bool ElementsRead::is_contraction(const LazyNode& n) const {
  const LazyNode& source = *n.src[0].node();
  const double read = of(source);
  return read > 0 && reduced_count(n) >= kMemoryCost && elements(source) > kMostReads * read;
}

bool has_contraction(const LazyOp& kernel) {
  ElementsRead reads;
  for (const LazyNode* n : postorder(kernel)) {
    if (is_reduce(n->op) && reads.is_contraction(*n)) return true;
    reads.note(*n);
  }
  return false;
}

}  // namespace strata
