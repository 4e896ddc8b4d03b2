#include "strata/codegen/access_uops.h"

namespace strata {

void AccessUOps::note(int slot, bool is_store, const IndexExprs& at, const Int& size, std::vector<Expr> around) {
  around.push_back(at.index);
  around.push_back(at.valid);
  out_.accesses.push_back({slot, is_store, at.index, at.valid, size, nests_.ranges_of(around), store_, {}});
}

UOp AccessUOps::load(UOp pointer, const IndexExprs& at, DType dtype, bool cachable) {
  const Lanes* lanes = nests_.lanes_of(at.index, at.valid);
  const auto stride = lanes == nullptr ? 1 : stride_along(at.index, *lanes);
  if (stride == 1) return load_whole(pointer, at, dtype, lanes, cachable);
  if (stride == -1)
    return ops_.reversed(ops_.widened(load_whole(pointer, mirrored(at, *lanes), dtype, lanes, cachable), lanes->count));
  const bool is_short = stride && *stride >= 2 && *stride <= kMostStride;
  if (shuffles_ && is_short && !is_written(pointer) && nests_.lanes_of(at.valid, at.valid) == nullptr)
    return load_strided(pointer, at, dtype, *lanes, *stride, cachable);
  std::vector<UOp> each;
  for (int j = 0; j < lanes->count; ++j) {
    const Substitution lane = {{lanes->variable, j}};
    const IndexExprs one{substitute(at.index, lane), substitute(at.valid, lane)};
    each.push_back(load_whole(pointer, one, dtype, nullptr, cachable));
  }
  return out_.graph.add(UOps::VECTORIZE, dtype.vec(lanes->count), each);
}

/// Whether stores to the memory have to wait for its loads, which linearize() finds by equal indices.
bool AccessUOps::is_written(UOp pointer) const {
  const auto* global = std::get_if<Global>(&pointer.arg());
  return global != nullptr && out_.buffers[static_cast<std::size_t>(global->slot)].written;
}

/// Vector v holds the elements from v * (count - 1) on, counted from that of the first lane: the last one ends with the
/// element of the last lane, so that no element beyond is loaded.
UOp AccessUOps::load_strided(UOp pointer, const IndexExprs& at, DType dtype, const Lanes& lanes, std::int64_t stride,
                             bool cachable) {
  const Expr first = substitute(at.index, {{lanes.variable, 0}});
  const int count = lanes.count;
  UOp out;
  for (int v = 0; v < stride; ++v) {
    const int begin = v * (count - 1);
    const UOp part = load_whole(pointer, {first + begin + lanes.variable, at.valid}, dtype, &lanes, cachable);
    std::vector<UOp> chosen;
    for (int j = 0; j < count; ++j) {
      const std::int64_t from = j * stride - begin;
      const bool is_here = from >= 0 && from < count && (v == 0 || j * stride > begin);
      const UOp source = is_here || v == 0 ? part : out;
      const std::int64_t lane = is_here ? from : v == 0 ? 0 : j;
      chosen.push_back(out_.graph.add(UOps::GEP, dtype, {source}, lane));
    }
    out = out_.graph.add(UOps::VECTORIZE, dtype.vec(count), chosen);
  }
  return out;
}

UOp AccessUOps::load_whole(UOp pointer, const IndexExprs& at, DType dtype, const Lanes* lanes, bool cachable) {
  if (at.valid.constant() == 0) return out_.graph.constant(dtype, 0);
  const Expr first = lanes == nullptr ? at.index : substitute(at.index, {{lanes->variable, 0}});
  const DType whole = lanes == nullptr ? dtype : dtype.vec(lanes->count);
  std::vector<UOp> sources = {pointer, index_.integer(first)};
  if (!at.valid.constant()) {
    sources.push_back(index_.condition(at.valid, lanes));
    sources.push_back(out_.graph.constant(whole, 0));
  }
  const UOp made = out_.graph.add(UOps::LOAD, whole, sources, {}, cachable);
  out_.accesses.back().uops.push_back(made);
  return made;
}

void AccessUOps::store(UOp pointer, const IndexExprs& at, UOp value, const std::vector<UOp>& loops, const Lanes* lanes,
                       bool streamed) {
  if (at.valid.constant() == 0) return;
  const Expr first = lanes == nullptr ? at.index : substitute(at.index, {{lanes->variable, 0}});
  std::vector<UOp> sources = {pointer, index_.integer(first), value};
  if (!at.valid.constant()) sources.push_back(index_.condition(at.valid, lanes));
  UOpArg past_caches;
  if (streamed && at.valid.constant())
    if (const auto bytes = whole_bytes(first, value.dtype())) past_caches = *bytes;
  const UOp made = out_.graph.add(UOps::STORE, dtypes::none, sources, past_caches, false);
  out_.accesses.back().uops.push_back(made);
  out_.stores.push_back({made, loops});
}

}  // namespace strata
