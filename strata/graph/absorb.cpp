#include "strata/graph/absorb.h"

#include "strata/graph/rebuild.h"

namespace strata {

bool moves_leaf(const LazyOp& n, const LazyOp& source) {
  return is_movement(n.op()) && (source.op() == Ops::LOAD || source.op() == Ops::CONST);
}

LazyOp moved_leaf(const LazyOp& n, const LazyOp& leaf) {
  if (const auto* buffer = std::get_if<BufferArg>(&leaf.arg()))
    return LazyOp::load(buffer->slot, leaf.dtype(), moved_as(*n.node(), buffer->st), buffer->size);
  const auto& constant = std::get<ConstArg>(leaf.arg());
  return LazyOp::constant(constant.value, moved_as(*n.node(), constant.st));
}

LazyOp absorb_movement(const LazyOp& root) {
  detail::Rebuild build([](const LazyOp& n, const std::vector<LazyOp>& sources) {
    const bool is_absorbed = !sources.empty() && moves_leaf(n, sources[0]);
    return is_absorbed ? moved_leaf(n, sources[0]) : n.with_sources(sources);
  });
  return build(root);
}

}  // namespace strata
