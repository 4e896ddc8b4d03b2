// The stores of a kernel: nests, SCATTERs, vectors whose lanes lie across, staged buffers, bounds of reductions.

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "strata/codegen/lowering.h"

namespace strata {

// --- stores ---

void Lowering::store(const LazyNode& n) {
  std::vector<std::size_t> axes;
  for (const Int& size : n.shape)
    if (size == Int(0)) return;
  for (std::size_t a = 0; a < axes_.outputs(); ++a)
    if (std::any_of(axes_.axes()[a].dims.begin(), axes_.axes()[a].dims.end(),
                    [&](std::size_t t) { return !(n.shape[t] == Int(1)); }))
      axes.push_back(a);
  std::vector<NestStores> made;
  for (const Nest& nest : nests_.of_outputs(axes)) {
    const std::size_t first = out_.stores.size();
    std::vector<std::pair<Variable, int>> unrolled = nest.copies;
    unrolled.insert(unrolled.end(), nest.iterations.begin(), nest.iterations.end());
    const std::vector<Expr> at = nest.coordinates();
    pin(nest);
    stage_buffers(n, axes, nest);
    trim(n, axes, at);
    for (const Substitution& choice : choices(unrolled)) {
      place_ = {&nest, &axes, choice};
      const auto [idxs, guard] = chosen(place_, n.shape.size());
      store_at(n, n.src[0].op() == Ops::SCATTER ? n.src[0].src(0) : n.src[0], idxs, guard, nest);
    }
    store_scattered(std::get<BufferArg>(n.arg), nest);
    made.push_back({nest.segments, first, out_.stores.size()});
  }
  if (n.src[0].op() == Ops::SCATTER) scatter(n, axes, made);
}

// --- SCATTER ---

void Lowering::scatter(const LazyNode& store, std::vector<std::size_t> axes, std::vector<NestStores> made) {
  const auto along = std::find(axes.begin(), axes.end(), static_cast<std::size_t>(axes_.scatter_axis()));
  for (NestStores& m : made)
    if (along != axes.end()) m.segments.erase(m.segments.begin() + (along - axes.begin()));
  if (along != axes.end()) axes.erase(along);
  out_.buffers[static_cast<std::size_t>(std::get<BufferArg>(store.arg).slot)].read = true;
  for (const Nest& nest : nests_.of_outputs(axes)) {
    std::vector<UOp> changes;  // they come after the stores of the target in the same rows
    pin(nest);
    nests_.begin_apart();  // loops of its own: a row loop of one iteration leaves no counter that would tell them apart
    for (const Substitution& choice : choices(nest.copies)) {
      place_ = {&nest, &axes, choice};
      const auto [idxs, guard] = chosen(place_, store.shape.size());
      scatter_at(store, idxs, guard, nest, changes);
    }
    for (const NestStores& m : made)
      for (std::size_t k = m.first; k < m.last && m.segments == nest.segments; ++k)
        for (const UOp change : changes) out_.in_order.emplace_back(out_.stores[k].store, change);
  }
}

void Lowering::scatter_at(const LazyNode& store, const std::vector<Expr>& idxs, const Expr& guard, const Nest& nest,
                          std::vector<UOp>& changes) {
  const LazyNode& n = *store.src[0].node();
  const BufferArg& arg = std::get<BufferArg>(store.arg);
  const auto [op, axis] = std::get<AxisArg>(n.arg);
  const std::int64_t size = n.shape[static_cast<std::size_t>(axis)].value();
  if (size == 0 || n.src[2].shape()[static_cast<std::size_t>(axis)] == Int(0)) return;
  std::vector<Expr> around = idxs;
  around.push_back(guard);
  const std::vector<Nest> inner = nests_.of_group(axes_.group_of(&n), around);
  STRATA_ASSERT(inner.size() == 1, "[lower] the axis of a SCATTER's values has several segments");
  std::vector<UOp> loops = nest.loops;
  for (const UOp loop : inner[0].loops) {
    if (!loops.empty()) out_.nest.push_back({loop, loops.back()});
    loops.push_back(loop);
  }
  Coordinates from{idxs, guard, false};
  from.idxs[static_cast<std::size_t>(axis)] = inner[0].coordinates()[0];
  const UOp index = lower({n.src[1].node(), from});
  UOp value = lower({n.src[2].node(), from});
  STRATA_CHECK(!index.dtype().is_vector(), domain, "[lower] ", spec_name(n.op),
               ": lanes along an axis on which the indices depend");
  // Where the index is outside, the first element is loaded, and nothing is stored: one branch.
  const UOp inside = is_inside(index, size);
  const UOp chosen = ops_.alu(Ops::WHERE, {inside, as_place(index), place_number(0)});
  Coordinates to = from;
  to.idxs[static_cast<std::size_t>(axis)] = gather_indices_.add(chosen, size, from);
  IndexExprs at = merged_.index(simplified(store, arg.st), to.idxs);
  at.valid = at.valid && guard;
  IndexExprs stored = at;
  stored.valid = at.valid && gather_indices_.add(out_.graph.cast(inside, dtypes::int64), 2, from) > 0;
  if (stored.valid.constant() == 0) return;
  if (nest.lanes != nullptr) value = ops_.widened(value, nest.lanes->count);
  STRATA_CHECK(nest.lanes == nullptr || stride_along(at.index, *nest.lanes) == 1, domain, "[lower] ", spec_name(n.op),
               ": lanes along an axis in which the elements are not contiguous");
  const UOp pointer = global(arg.slot, store.src[0].dtype());
  std::vector<Expr> pinned = nest.coordinates();
  pinned.push_back(from.idxs[static_cast<std::size_t>(axis)]);
  if (op != Ops::NOOP) {
    accesses_.note(arg.slot, false, at, arg.size, pinned);
    out_.accesses.back().changes = true;
    const UOp old = accesses_.load(pointer, at, n.dtype, false);
    out_.pinned.push_back({old, loops});
    changes.push_back(old);
    value = ops_.alu(combining_op(op), {old, value});
  }
  accesses_.note(arg.slot, true, stored, arg.size, pinned);
  accesses_.store(pointer, stored, value, loops, nest.lanes);
  if (op == Ops::NOOP) changes.push_back(out_.stores.back().store);
}

std::pair<std::vector<Expr>, Expr> Lowering::chosen(const Place& place, std::size_t rank) {
  std::vector<Expr> idxs(rank, Expr(0));
  const std::vector<Expr> at = substituted(place.nest->coordinates(), place.choice);
  merged_.set_dims(idxs, {}, *place.axes, at);
  Expr guard = inside(*place.axes, at);
  for (std::size_t k = 0; k < at.size() && place.nest->reaches_beyond; ++k)
    if (static_cast<int>((*place.axes)[k]) == axes_.scan_axis())
      guard = guard && at[k] < axes_.axes()[(*place.axes)[k]].size.expr();
  return {std::move(idxs), std::move(guard)};
}

void Lowering::pin(const Nest& nest) {
  pin_at_ = nest.coordinates();
  pin_loops_.clear();
  if (!nests_.ranges_of(pin_at_).constant()) pin_loops_ = nest.loops;
  if (!std::exchange(has_pinned_, false)) return;
  done_.clear();  // values made for another nest are pinned to the loops of that nest
  nests_.begin_apart();
}

Expr Lowering::inside(const std::vector<std::size_t>& axes, const std::vector<Expr>& at) const {
  std::vector<Expr> conditions;
  for (std::size_t k = 0; k < axes.size(); ++k)
    if (const LoopAxis& axis = axes_.axes()[axes[k]]; axis.padded) conditions.push_back(at[k] < axis.size.expr());
  return all_of(conditions);
}

Expr Lowering::kept_inside(const BufferArg& arg, const IndexExprs& at, std::vector<Expr> around) const {
  if (!axes_.guards(arg.slot)) return 1;
  around.push_back(at.index);
  around.push_back(at.valid);
  const Expr inside = at.index >= 0 && at.index < arg.size.expr();
  return prove(inside, at.valid && nests_.ranges_of(around)).answer == Answer::yes ? 1 : inside;
}

void Lowering::store_at(const LazyNode& n, const LazyOp& stored, const std::vector<Expr>& idxs, const Expr& guard,
                        const Nest& nest) {
  const BufferArg& arg = std::get<BufferArg>(n.arg);
  IndexExprs at = merged_.index(simplified(n, arg.st), idxs);
  at.valid = at.valid && guard && kept_inside(arg, {at.index, at.valid && guard}, nest.coordinates());
  if (at.valid.constant() == 0) {
    // Where nothing is stored, a scan goes on.
    if (axes_.scan()) lower({axes_.scan()->node, {idxs, guard, false}});
    return;
  }
  UOp value = lower({stored.node(), {idxs, at.valid, false}});
  const UOp pointer = global(arg.slot, n.src[0].dtype());
  const Lanes* lanes = nest.lanes;
  if (lanes != nullptr) value = ops_.widened(value, lanes->count);
  const auto stride = lanes != nullptr ? stride_along(at.index, *lanes) : 1;
  if (stride != 1 && stride != -1) return scattered_.push_back({at, value});
  accesses_.note(arg.slot, true, at, arg.size, nest.coordinates());
  if (lanes == nullptr) return accesses_.store(pointer, at, value, nest.loops, nullptr);
  const bool streamed = axes_.streams(arg.slot);
  if (stride == 1) return accesses_.store(pointer, at, value, nest.loops, lanes, streamed);
  // Reversed as loads are, so that a load and a store of the same elements have the same index.
  accesses_.store(pointer, mirrored(at, *lanes), ops_.reversed(value), nest.loops, lanes, streamed);
}

void Lowering::store_scattered(const BufferArg& arg, const Nest& nest) {
  const std::vector<ScatteredStore> stores = std::exchange(scattered_, {});
  for (const std::vector<std::size_t>& run :
       runs_of(stores, stores.empty() ? 1 : static_cast<std::size_t>(nest.lanes->count))) {
    std::vector<UOp> columns;
    for (const std::size_t k : run) columns.push_back(stores[k].value);
    if (target_.shuffles && !is_read_slot(arg.slot) && are_interleaved(stores, run, *nest.lanes)) {
      store_interleaved(arg, stores[run[0]].at, columns, nest);
      continue;
    }
    for (const std::size_t k : run) accesses_.note(arg.slot, true, stores[k].at, arg.size, nest.coordinates());
    std::optional<Transposed> turned;
    // linearize() finds the loads that a store has to wait for by their index: of a run it has but the first one.
    if (target_.shuffles && !is_read_slot(arg.slot) && Transposed::pays(columns)) turned.emplace(out_.graph, columns);
    const UOp pointer = global(arg.slot, columns[0].dtype().scalar());
    for (int lane = 0; lane < nest.lanes->count; ++lane)
      for (std::size_t first = 0, count = 1; first < run.size(); first += count) {
        count = turned ? std::bit_floor(run.size() - first) : 1;
        const Substitution chosen = {{nest.lanes->variable, lane}};
        const IndexExprs& at = stores[run[first]].at;
        accesses_.store(
            pointer, {substitute(at.index, chosen), substitute(at.valid, chosen)},
            turned ? turned->row(static_cast<std::size_t>(lane), first, count) : out_.graph.lane(columns[first], lane),
            nest.loops, nullptr);
      }
  }
}

bool Lowering::are_interleaved(std::span<const ScatteredStore> stores, std::span<const std::size_t> run,
                               const Lanes& lanes) {
  const IndexExprs& first = stores[run[0]].at;
  return run.size() > 1 && std::has_single_bit(run.size()) && run.size() <= static_cast<std::size_t>(lanes.count) &&
         std::has_single_bit(static_cast<unsigned>(lanes.count)) && lanes.count <= Transposed::kMostTurned &&
         stride_along(first.index, lanes) == static_cast<std::int64_t>(run.size()) &&
         stride_along(first.valid, lanes) == 0;
}

void Lowering::store_interleaved(const BufferArg& arg, const IndexExprs& at, std::span<const UOp> columns,
                                 const Nest& nest) {
  const Transposed turned(out_.graph, columns);
  const auto count = static_cast<std::size_t>(nest.lanes->count);
  const Expr first = substitute(at.index, {{nest.lanes->variable, 0}});
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const IndexExprs whole{first + static_cast<std::int64_t>(k * count) + nest.lanes->variable, at.valid};
    accesses_.note(arg.slot, true, whole, arg.size, nest.coordinates());
    accesses_.store(global(arg.slot, columns[0].dtype().scalar()), whole,
                    turned.row(k * count / columns.size(), 0, count), nest.loops, nest.lanes, axes_.streams(arg.slot));
  }
}

// --- bounds of reductions ---

void Lowering::trim(const LazyNode& n, const std::vector<std::size_t>& axes, const std::vector<Expr>& at) {
  nests_.clear_bounds();
  if (axes_.trims().empty()) return;
  std::vector<Expr> idxs(n.shape.size(), Expr(0));
  set_dims(idxs, {}, axes, at, axes_);
  for (const Trim& t : axes_.trims()) {
    Substitution here;
    for (std::size_t d = 0; d < idxs.size(); ++d)
      if (t.outputs[d].is_variable()) here.emplace_back(t.outputs[d], idxs[d]);
    for (std::size_t a = axes_.outputs(); a < axes_.axes().size(); ++a) {
      const LoopAxis& axis = axes_.axes()[a];
      if (!axis.is_of(t.position)) continue;
      // Inside of the axis also beyond a padded output axis.
      const Expr begin = max(substitute(t.begin, here), 0), end = min(substitute(t.end, here), axis.size.expr());
      if (!is_by_counters(begin) || !is_by_counters(end)) continue;
      accesses_.note(t.finite, false, {0, 1}, 1, {});
      const UOp finite = accesses_.load(global(t.finite, dtypes::int32), {0, 1}, dtypes::int32);
      const UOp is_finite = ops_.alu(Ops::CMPNE, {finite, out_.graph.constant(dtypes::int32, 0)});
      nests_.set_bounds(a, {is_finite, begin, end});
    }
  }
}

bool Lowering::is_by_counters(const Expr& e) const {
  const std::vector<Variable> of = variables(e);
  return std::all_of(of.begin(), of.end(), [&](const Variable& v) { return nests_.depth_of(v) > 0; });
}

// --- scratch memory ---

void Lowering::stage_buffers(const LazyNode& n, const std::vector<std::size_t>& axes, const Nest& nest) {
  staged_.clear();
  for (const Stage& stage : axes_.stages()) {
    if (!loads_buffer(n, stage.slot)) continue;
    const std::string what = detail::message("[STAGE ", stage.axis, " ", stage.slot, "] ");
    std::vector<UOp> around;
    const std::vector<OutsideCoordinate> outside = outside_of(stage, axes_, axes, nest, around);
    const std::int64_t lanes = fill_.vector_lanes(out_.buffers[static_cast<std::size_t>(stage.slot)].dtype);
    for (const Tile& tile : plan_tiles(n, stage.slot, axes_, axes, outside, lanes, target_.scratch_bytes, what)) {
      const IndexedNode key{tile.load, {tile.base, 1, false}};
      auto it = tiles_.find(key);
      if (it == tiles_.end() || !(it->second.tile.extent == tile.extent) || it->second.around != around) {
        scratch_bytes_ += tile.size() * static_cast<std::int64_t>(tile.load->dtype.itemsize());
        STRATA_CHECK(scratch_bytes_ <= target_.scratch_bytes, domain, what, "with this tile the kernel has ",
                     scratch_bytes_, " bytes of scratch memory, more than ", target_.scratch_bytes);
        it = tiles_.insert_or_assign(key, Staged{tile, filled(tile, around), around}).first;
        done_.clear();  // values made from another tile belong to the loops of that tile
        nests_.begin_apart();
      }
      staged_.emplace(tile.load, it->second);
    }
  }
}

UOp Lowering::filled(const Tile& tile, const std::vector<UOp>& around) {
  const auto& arg = std::get<BufferArg>(tile.load->arg);
  const bool may_turn = !axes_.guards(arg.slot) && arg.size.is_number();
  is_filling_ = true;
  const UOp out =
      fill_.fill(tile, name_beside(out_.variables, detail::message("temp", out_.staged.size())), around, may_turn);
  is_filling_ = false;
  return out;
}

UOp Lowering::load_staged(const IndexedNode& k, const Staged& staged) {
  Expr address = staged.tile.address(k.at.idxs);
  // Indices below a PAD are simplified under its condition, and may be outside of the tile where the condition is
  // false.
  Expr valid = 1;
  if (address.vmin() < 0 || address.vmax() >= staged.tile.size()) valid = k.at.valid;
  address = simplify_under(address, valid);
  accesses_.note(-1, false, {address, valid}, staged.tile.size(), {});
  return accesses_.load(staged.local, {address, valid}, k.node->dtype);
}

}  // namespace strata
