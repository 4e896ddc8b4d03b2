#include "strata/codegen/fill.h"

#include <algorithm>
#include <bit>

#include "strata/codegen/scattered.h"

namespace strata {

namespace {
constexpr std::int64_t kRowVectors = 4;  // vectors of a row that are copied without a loop
}  // namespace

UOp TileFill::fill(const Tile& tile, const std::string& name, const std::vector<UOp>& around, bool may_turn) {
  const UOp local = out_.graph.add(UOps::DEFINE_LOCAL, tile.load->dtype.pointer(), {}, Local{name, tile.size()});
  out_.staged.push_back({local, around});
  const Run run = may_turn && target_.shuffles ? run_of(tile) : Run();
  if (run.length == 0)
    copy(tile, name, around, local);
  else
    copy_turned(tile, name, around, local, run);
  return local;
}

Expr TileFill::loop(const std::string& name, const Int& trip_count, std::vector<UOp>& loops) {
  if (trip_count == Int(1)) return 0;
  Variable v = nests_.counter(name, trip_count, 200, loops.empty() ? UOp() : loops.back());
  loops.push_back(nests_.loop_of(v));
  return v;
}

void TileFill::copy(const Tile& tile, const std::string& name, const std::vector<UOp>& around, UOp local) {
  const std::int64_t most = vector_lanes(tile.load->dtype);
  const bool has_rows = !tile.extent.empty();  // false: the tile is one element
  const bool is_vector = has_rows && most > 1 && tile.extent[tile.inner] % most == 0;
  const std::int64_t vectors = is_vector ? tile.extent[tile.inner] / most : 1;
  // The few vectors of a row are not a loop: only those at its ends keep conditions on the index along the row.
  const std::int64_t copies = vectors <= kRowVectors ? vectors : 1;
  std::vector<UOp> loops = around;
  const Lanes* lanes = is_vector ? nests_.lanes(detail::message("lane_", name), static_cast<int>(most)) : nullptr;
  Coordinates first{tile.base, 1, false};
  Expr address = 0;
  for (std::size_t d = 0; d < tile.extent.size(); ++d) {
    const bool in_lanes = d == tile.inner && is_vector;
    Expr t = loop(detail::message(name, "/", d), in_lanes ? Int(vectors / copies) : tile.count[d], loops);
    if (in_lanes) t = t * most + lanes->variable;
    first.idxs[d] += t * tile.unit[d];
    address += t * tile.stride[d];
  }
  const ShapeTracker& source = tile.map.source;
  for (std::int64_t k = 0; k < copies; ++k) {
    Coordinates at = first;
    if (has_rows) at.idxs[tile.inner] += k * most * tile.unit[tile.inner];
    std::vector<Expr> inside;
    for (std::size_t d = 0; d < at.idxs.size(); ++d)
      if (tile.count[d].is_number())
        inside.push_back(at.idxs[d] < source.shape()[d].expr());  // a tile may reach beyond the shape of a padded axis
    at.valid = all_of(inside);
    UOp value = load_(*tile.load, source, at);
    if (lanes != nullptr) value = ops_.widened(value, lanes->count);
    const Expr here = has_rows ? address + k * most * tile.stride[tile.inner] : address;
    accesses_.note(-1, true, {here, 1}, tile.size(), {});
    accesses_.store(local, {here, 1}, value, loops, lanes);
  }
}

TileFill::Run TileFill::run_of(const Tile& tile) const {
  Run out;
  const std::int64_t lanes = vector_lanes(tile.load->dtype);
  const ShapeTracker& source = tile.map.source;
  if (source.views().size() != 1 || source.views()[0].mask() || lanes < 4 || lanes > Transposed::kMostTurned ||
      !std::has_single_bit(static_cast<std::uint64_t>(lanes)) || tile.extent[tile.inner] % lanes != 0)
    return out;
  const View& view = source.views()[0];
  const auto stride_of = [&](std::size_t d) {
    const Int& s = view.strides()[d];
    return s.is_number() && tile.extent[d] > 1 ? s.value() * tile.unit[d] : 0;
  };
  if (const std::int64_t across = stride_of(tile.inner); across >= -1 && across <= 1) return out;
  // From the innermost dimension outwards, as long as both memories have the next dimension at the end of the last one.
  std::int64_t length = 1;
  for (;;) {
    std::size_t next = tile.extent.size();
    for (std::size_t d = 0; d < tile.extent.size(); ++d)
      if (d != tile.inner && tile.unit[d] == 1 && stride_of(d) == length &&
          (out.dims.empty() || tile.stride[d] == out.stride * length))
        next = d;
    if (next == tile.extent.size() || std::find(out.dims.begin(), out.dims.end(), next) != out.dims.end()) break;
    // All of the run is inside of the shape, and only its outermost dimension begins elsewhere than at 0.
    const Expr end = tile.base[next] + (tile.extent[next] - 1) * tile.unit[next];
    const bool is_inside = (end < view.shape()[next].expr()).constant() == 1;
    const bool all_begin = out.dims.empty() || tile.base[out.dims.front()].constant() == 0;
    if (!is_inside || !all_begin) break;
    if (out.dims.empty()) out.stride = tile.stride[next];
    out.dims.insert(out.dims.begin(), next);
    length *= tile.extent[next];
  }
  if (length >= lanes) out.length = length;
  return out;
}

void TileFill::copy_turned(const Tile& tile, const std::string& name, const std::vector<UOp>& around, UOp local,
                           const Run& run) {
  const DType dtype = tile.load->dtype;
  const std::int64_t most = vector_lanes(dtype);
  const ShapeTracker& source = tile.map.source;
  const View& view = source.views()[0];
  // The buffer as a View of the tile's dimensions, the run being the last one.
  Ints shape, strides;
  std::vector<Expr> base;
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < tile.extent.size(); ++d)
    if (std::find(run.dims.begin(), run.dims.end(), d) == run.dims.end()) {
      dims.push_back(d);
      shape.push_back(view.shape()[d]);
      strides.push_back(view.strides()[d]);
      base.push_back(tile.base[d]);
    }
  const std::size_t outermost = run.dims.front();
  const std::int64_t inner = run.length / tile.extent[outermost];
  shape.push_back(view.shape()[outermost] * inner);
  strides.push_back(1);
  base.push_back(tile.base[outermost] * inner);
  const ShapeTracker flat({View::create(shape, strides, view.offset())});
  const Lanes* lanes = nests_.lanes(detail::message("lane_", name), static_cast<int>(most));
  // Whole squares in a loop; then one square that ends with the run, and may copy elements again.
  const std::int64_t squares = run.length / most;
  for (int rest = 0; rest <= (run.length % most == 0 ? 0 : 1); ++rest) {
    std::vector<UOp> loops = around;
    Coordinates at{base, 1, false};
    Expr address = 0;
    std::size_t across = 0;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      const std::size_t d = dims[k];
      const std::string path = detail::message(name, "/", d, rest == 0 ? "" : "r");
      Expr t = loop(path, d == tile.inner ? tile.extent[d] / most : tile.extent[d], loops);
      if (d == tile.inner) t = t * most, across = k;
      at.idxs[k] += t * tile.unit[d];
      address += t * tile.stride[d];
    }
    const Expr first = rest == 0 ? loop(name + "/run", squares, loops) * most : Expr(run.length - most);
    address += first * run.stride;
    at.idxs.back() += first + lanes->variable;
    std::vector<UOp> columns;
    for (std::int64_t j = 0; j < most; ++j) {
      Coordinates one = at;
      one.idxs[across] += j * tile.unit[tile.inner];
      std::vector<Expr> inside;
      for (std::size_t k = 0; k + 1 < one.idxs.size(); ++k) inside.push_back(one.idxs[k] < shape[k].expr());
      one.valid = all_of(inside);
      columns.push_back(ops_.widened(load_(*tile.load, flat, one), lanes->count));
    }
    const Transposed turned(out_.graph, columns);
    for (std::int64_t j = 0; j < most; ++j) {
      const Expr here = address + j * run.stride;
      accesses_.note(-1, true, {here + lanes->variable, 1}, tile.size(), {});
      accesses_.store(local, {here + lanes->variable, 1},
                      turned.row(static_cast<std::size_t>(j), 0, static_cast<std::size_t>(most)), loops, lanes);
    }
  }
}

}  // namespace strata
