#include "strata/graph/absorb.h"

#include "strata/graph/rebuild.h"

namespace strata {

bool is_absorbed(const LazyOp& n, const LazyOp& source) {
  if (n.op() == Ops::RESHAPE && source.op() == Ops::RESHAPE) return true;
  return is_movement(n.op()) && (source.op() == Ops::LOAD || source.op() == Ops::CONST);
}

LazyOp absorbed(const LazyOp& n, const LazyOp& source) {
  if (source.op() == Ops::RESHAPE) {
    const LazyOp& below = source.src(0);
    const OriginScope scope(n.origin());
    return n.shape() == below.shape() ? below : below.reshape(n.shape());
  }
  if (const auto* buffer = std::get_if<BufferArg>(&source.arg()))
    return LazyOp::load(buffer->slot, source.dtype(), moved_as(*n.node(), buffer->st), buffer->size);
  const auto& constant = std::get<ConstArg>(source.arg());
  return LazyOp::constant(constant.value, moved_as(*n.node(), constant.st));
}

LazyOp absorb_movement(const LazyOp& root) {
  detail::Rebuild build([](const LazyOp& n, const std::vector<LazyOp>& sources) {
    const bool is_one = !sources.empty() && is_absorbed(n, sources[0]);
    return is_one ? absorbed(n, sources[0]) : n.with_sources(sources);
  });
  return build(root);
}

}  // namespace strata
