// lower(): the walk from stores to loads, with an explicit stack in place of recursion.

#include "strata/codegen/lower.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "strata/base/interrupt.h"
#include "strata/codegen/access_uops.h"
#include "strata/codegen/coordinates.h"
#include "strata/codegen/fill.h"
#include "strata/codegen/gather_indices.h"
#include "strata/codegen/index_bounds.h"
#include "strata/codegen/index_uops.h"
#include "strata/codegen/legal.h"
#include "strata/codegen/nests.h"
#include "strata/codegen/scattered.h"
#include "strata/codegen/stage.h"
#include "strata/codegen/sums.h"
#include "strata/codegen/variables.h"
#include "strata/codegen/vectors.h"
#include "strata/expr/node.h"
#include "strata/ir/sum_order.h"

namespace strata {

namespace {

class Lowering {
 public:
  Lowering(const LazyOp& kernel, const KernelAxes& axes, const Target& target)
      : kernel_(kernel),
        axes_(axes),
        target_(target),
        ops_(out_.graph, target_.native),
        index_(out_.graph,
               {[this](const Variable& v) { return value_of(v); }, [this](const Variable& v) { return depth_of(v); }}),
        nests_(
            axes, out_, index_, [this](const Variable& v) { return parameter(v); }, sum_orders(kernel, axes, target)),
        accesses_(out_, ops_, index_, nests_, target_.shuffles),
        merged_(axes),
        fill_(
            out_, target_, ops_, nests_, accesses_,
            [this](const LazyNode& n, const ShapeTracker& st, const Coordinates& at) { return load_from(n, st, at); }) {
    out_.buffers = buffers_of(kernel);
    for (const Trim& t : axes.trims()) {
      out_.buffers.resize(std::max(out_.buffers.size(), static_cast<std::size_t>(t.finite) + 1));
      out_.buffers[static_cast<std::size_t>(t.finite)] = {dtypes::int32, 1, true, false};
    }
    out_.variables = kernel_variables(kernel);
    check_order(kernel, axes, target);
  }

  Lowered run() && {
    for (std::size_t k = 0; k < kernel_.src().size(); ++k) {
      accesses_.begin_store(k);
      store(*kernel_.src(k).node());
    }
    check_memory(out_);
    return std::move(out_);
  }

 private:
  // --- variables ---

  UOp value_of(const Variable& v) {
    if (const GatherIndex* found = gather_indices_.find(v)) return found->value;
    const UOp loop = nests_.loop_of(v);
    return loop ? loop : parameter(v);
  }
  /// IndexUOps adds terms in the order of this depth: terms of outer loops first.
  int depth_of(const Variable& v) const {
    return gather_indices_.find(v) != nullptr ? GatherIndices::kDepth : nests_.depth_of(v);
  }
  UOp global(int slot, DType dtype) {
    return out_.graph.add(UOps::DEFINE_GLOBAL, dtype.pointer(), {},
                          Global{slot, name_beside(out_.variables, detail::message("data", slot))});
  }
  UOp parameter(const Variable& v) {
    const bool is_narrow =
        v.min() >= std::numeric_limits<std::int32_t>::min() && v.max() <= std::numeric_limits<std::int32_t>::max();
    return out_.graph.add(UOps::DEFINE_VAR, is_narrow ? dtypes::int32 : dtypes::int64, {}, v);
  }

  // --- stores ---

  void store(const LazyNode& n) {
    std::vector<std::size_t> axes;
    for (const Int& size : n.shape)
      if (size == Int(0)) return;
    for (std::size_t a = 0; a < axes_.outputs(); ++a)
      if (std::any_of(axes_.axes()[a].dims.begin(), axes_.axes()[a].dims.end(),
                      [&](std::size_t t) { return !(n.shape[t] == Int(1)); }))
        axes.push_back(a);
    for (const Nest& nest : nests_.of_outputs(axes)) {
      std::vector<std::pair<Variable, int>> unrolled = nest.copies;
      unrolled.insert(unrolled.end(), nest.iterations.begin(), nest.iterations.end());
      const std::vector<Expr> at = nest.coordinates();
      pin(nest);
      stage_buffers(n, axes, nest);
      trim(n, axes, at);
      for (const Substitution& choice : choices(unrolled)) {
        std::vector<Expr> idxs(n.shape.size(), Expr(0));
        const std::vector<Expr> chosen = substituted(at, choice);
        merged_.set_dims(idxs, {}, axes, chosen);
        store_at(n, idxs, inside(axes, chosen), nest);
      }
      store_scattered(std::get<BufferArg>(n.arg), nest);
    }
  }

  /// Begins the nest of a store. If its loops may have no iteration (symbolic trip counts), a load from a buffer of
  /// symbolic size is pinned to the loops where it is not in bounds by the loops alone that it depends on: hoisted in
  /// front of them, it might access a buffer without elements.
  void pin(const Nest& nest) {
    pin_at_ = nest.coordinates();
    pin_loops_.clear();
    if (!nests_.ranges_of(pin_at_).constant()) pin_loops_ = nest.loops;
    if (!std::exchange(has_pinned_, false)) return;
    done_.clear();  // values made for another nest are pinned to the loops of that nest
    nests_.begin_apart();
  }

  /// The condition that the coordinates are inside of the axes; for padded axes only.
  Expr inside(const std::vector<std::size_t>& axes, const std::vector<Expr>& at) const {
    std::vector<Expr> conditions;
    for (std::size_t k = 0; k < axes.size(); ++k)
      if (const LoopAxis& axis = axes_.axes()[axes[k]]; axis.padded) conditions.push_back(at[k] < axis.size.expr());
    return all_of(conditions);
  }

  /// The additional condition of an access to a buffer with a GUARD: that the index is in bounds, unless that can be
  /// proven.
  Expr kept_inside(const BufferArg& arg, const IndexExprs& at, std::vector<Expr> around) const {
    if (!axes_.guards(arg.slot)) return 1;
    around.push_back(at.index);
    around.push_back(at.valid);
    const Expr inside = at.index >= 0 && at.index < arg.size.expr();
    return prove(inside, at.valid && nests_.ranges_of(around)).answer == Answer::yes ? 1 : inside;
  }
  void store_at(const LazyNode& n, const std::vector<Expr>& idxs, const Expr& guard, const Nest& nest) {
    const BufferArg& arg = std::get<BufferArg>(n.arg);
    IndexExprs at = merged_.index(simplified(n, arg.st), idxs);
    at.valid = at.valid && guard && kept_inside(arg, {at.index, at.valid && guard}, nest.coordinates());
    if (at.valid.constant() == 0) return;
    UOp value = lower({n.src[0].node(), {idxs, at.valid, false}});
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
  /// The scattered stores of a nest, run by run: each lane is stored along the run, as vectors where the run is long.
  void store_scattered(const BufferArg& arg, const Nest& nest) {
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
          accesses_.store(pointer, {substitute(at.index, chosen), substitute(at.valid, chosen)},
                          turned ? turned->row(static_cast<std::size_t>(lane), first, count)
                                 : out_.graph.lane(columns[first], lane),
                          nest.loops, nullptr);
        }
    }
  }

  bool is_read_slot(int slot) const { return out_.buffers[static_cast<std::size_t>(slot)].read; }
  /// True iff the stores of a run fill the places between each other's lanes.
  static bool are_interleaved(std::span<const ScatteredStore> stores, std::span<const std::size_t> run,
                              const Lanes& lanes) {
    const IndexExprs& first = stores[run[0]].at;
    return run.size() > 1 && std::has_single_bit(run.size()) && run.size() <= static_cast<std::size_t>(lanes.count) &&
           std::has_single_bit(static_cast<unsigned>(lanes.count)) && lanes.count <= Transposed::kMostTurned &&
           stride_along(first.index, lanes) == static_cast<std::int64_t>(run.size()) &&
           stride_along(first.valid, lanes) == 0;
  }
  /// Stores such a run, whose first store is `at`, as whole vectors.
  void store_interleaved(const BufferArg& arg, const IndexExprs& at, std::span<const UOp> columns, const Nest& nest) {
    const Transposed turned(out_.graph, columns);
    const auto count = static_cast<std::size_t>(nest.lanes->count);
    const Expr first = substitute(at.index, {{nest.lanes->variable, 0}});
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const IndexExprs whole{first + static_cast<std::int64_t>(k * count) + nest.lanes->variable, at.valid};
      accesses_.note(arg.slot, true, whole, arg.size, nest.coordinates());
      accesses_.store(global(arg.slot, columns[0].dtype().scalar()), whole,
                      turned.row(k * count / columns.size(), 0, count), nest.loops, nest.lanes,
                      axes_.streams(arg.slot));
    }
  }

  // --- bounds of reductions ---

  /// Sets the bounds of the loops with TRIMs for a nest of the store `n` with coordinates `at` of `axes`: those whose
  /// bounds depend on counters alone, not on lanes or copies.
  void trim(const LazyNode& n, const std::vector<std::size_t>& axes, const std::vector<Expr>& at) {
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
  bool is_by_counters(const Expr& e) const {
    const std::vector<Variable> of = variables(e);
    return std::all_of(of.begin(), of.end(), [&](const Variable& v) { return nests_.depth_of(v) > 0; });
  }

  // --- scratch memory ---

  struct Staged {
    Tile tile;
    UOp local;
    std::vector<UOp> around;  ///< the loops around the code that fills it
  };

  /// Fills the tiles of all STAGEs for a nest of the store `n`. From now on loads of the staged buffers read the tiles.
  void stage_buffers(const LazyNode& n, const std::vector<std::size_t>& axes, const Nest& nest) {
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

  UOp filled(const Tile& tile, const std::vector<UOp>& around) {
    const auto& arg = std::get<BufferArg>(tile.load->arg);
    const bool may_turn = !axes_.guards(arg.slot) && arg.size.is_number();
    is_filling_ = true;
    const UOp out =
        fill_.fill(tile, name_beside(out_.variables, detail::message("temp", out_.staged.size())), around, may_turn);
    is_filling_ = false;
    return out;
  }

  /// A load of a staged buffer, from its scratch memory.
  UOp load_staged(const IndexedNode& k, const Staged& staged) {
    Expr address = staged.tile.address(k.at.idxs);
    // Indices below a PAD are simplified under its condition, and may be outside of the tile where the condition is
    // false.
    Expr valid = 1;
    if (address.vmin() < 0 || address.vmax() >= staged.tile.size()) valid = k.at.valid;
    address = simplify_under(address, valid);
    accesses_.note(-1, false, {address, valid}, staged.tile.size(), {});
    return accesses_.load(staged.local, {address, valid}, k.node->dtype);
  }

  // --- values ---

  struct Frame {
    IndexedNode key;
    std::vector<IndexedNode> needs;
  };

  UOp lower(const IndexedNode& root) {
    std::vector<Frame> open;
    open.push_back({root, needs_of(root)});
    while (!open.empty()) {
      check_interrupt_often();
      const Frame& top = open.back();
      if (done_.contains(top.key)) {
        open.pop_back();
        continue;
      }
      const auto missing =
          std::find_if(top.needs.begin(), top.needs.end(), [&](const IndexedNode& k) { return !done_.contains(k); });
      if (missing == top.needs.end() && ask_more(open.back())) continue;
      if (missing != top.needs.end()) {
        IndexedNode next = *missing;
        std::vector<IndexedNode> needs = needs_of(next);
        open.push_back({std::move(next), std::move(needs)});
        continue;
      }
      std::vector<UOp> values;
      for (const IndexedNode& k : top.needs) values.push_back(done_.at(k));
      const UOp made = build(top.key, values);
      done_.emplace(top.key, made);
      open.pop_back();
    }
    return done_.at(root);
  }

  std::vector<IndexedNode> needs_of(const IndexedNode& k) {
    const LazyNode& n = *k.node;
    if (n.src.empty()) return {};
    if (is_movement(n.op)) return {{n.src[0].node(), moved(n, k.at, regrouping(n))}};
    if (is_reduce(n.op)) {
      std::vector<IndexedNode> out;
      for (Body& body : bodies(k)) out.push_back(std::move(body.key));
      return out;
    }
    const Coordinates same{k.at.idxs, k.at.valid, false, k.at.around};
    if (n.op == Ops::GATHER) return {{n.src[1].node(), same}};  // first the index; ask_more() adds the values
    std::vector<IndexedNode> out;
    for (const LazyOp& s : n.src) out.push_back({s.node(), same});
    return out;
  }

  // --- gather ---

  /// For a GATHER whose index has been lowered: adds the gathered elements, one per lane of the index, to the needs of
  /// the frame. False where nothing is missing.
  bool ask_more(Frame& frame) {
    const LazyNode& n = *frame.key.node;
    const std::int64_t size = n.op == Ops::GATHER ? n.src[0].shape().back().value() : 0;
    if (size == 0 || frame.needs.size() > 1) return false;
    const UOp index = done_.at(frame.needs[0]);
    const UOp place = ops_.alu(Ops::WHERE, {is_inside(index, size), as_place(index), place_number(0)});
    const int lanes = place.dtype().lanes();
    const Coordinates at = frame.needs[0].at;
    for (int j = 0; j < lanes; ++j) {
      Coordinates one = at;
      if (lanes > 1) {
        const Substitution lane = {{lanes_of(at).variable, j}};
        one.idxs = substituted(at.idxs, lane);
        one.valid = substitute(at.valid, lane);
      }
      const UOp chosen = lanes > 1 ? out_.graph.lane(place, j) : place;
      one.idxs.push_back(gather_indices_.add(chosen, size, one));
      frame.needs.push_back({n.src[0].node(), one});
    }
    return true;
  }
  const Lanes& lanes_of(const Coordinates& at) const {
    const Lanes* lanes = nests_.lanes_of(at.valid, at.valid);
    for (const Expr& e : at.idxs)
      if (lanes == nullptr) lanes = nests_.lanes_of(e, e);
    STRATA_ASSERT(lanes != nullptr, "[lower] a vector of indices at a place without lanes");
    return *lanes;
  }
  UOp place_number(std::int64_t value) { return out_.graph.constant(dtypes::int64, value); }
  UOp as_place(UOp index) { return out_.graph.cast(index, dtypes::int64); }
  /// index in [0, size), as one unsigned comparison: a negative index is larger than every size.
  UOp is_inside(UOp index, std::int64_t size) {
    const UOp place = out_.graph.cast(as_place(index), dtypes::uint64);
    const UOp end = out_.graph.constant(Scalar::of(dtypes::uint64, size));
    return ops_.alu(Ops::CMPLT, {place, end});
  }
  UOp gathered(const LazyNode& n, std::span<const UOp> values) {
    const UOp zero = out_.graph.constant(n.dtype, 0);
    if (values.size() == 1) return zero;  // the gathered axis is empty
    UOp chosen = values[1];
    if (values.size() > 2)
      chosen = out_.graph.add(UOps::VECTORIZE, n.dtype.vec(static_cast<int>(values.size()) - 1),
                              {values.begin() + 1, values.end()});
    const std::int64_t size = n.src[0].shape().back().value();
    return ops_.alu(Ops::WHERE, {is_inside(values[0], size), chosen, zero});
  }

  // --- one node ---

  UOp build(const IndexedNode& k, std::span<const UOp> values) {
    const LazyNode& n = *k.node;
    if (is_movement(n.op)) return values[0];
    switch (n.op) {
      case Ops::LOAD: {
        const auto staged = staged_.find(&n);
        return staged == staged_.end() ? load(k) : load_staged(k, staged->second);
      }
      case Ops::CONST: {
        const ConstArg& arg = std::get<ConstArg>(n.arg);
        const Expr valid = merged_.index(simplified(n, arg.st), k.at.idxs).valid;
        return masked(out_.graph.constant(arg.value), k.at.is_zero ? valid && k.at.valid : valid);
      }
      case Ops::IOTA: {
        const IndexExprs at = merged_.index(simplified(n, std::get<ShapeTracker>(n.arg)), k.at.idxs);
        const UOp address = index_.integer(at.index, nests_.lanes_of(at.index, at.valid));
        return masked(out_.graph.cast(address, n.dtype), k.at.is_zero ? at.valid && k.at.valid : at.valid);
      }
      default: break;
    }
    if (n.op == Ops::GATHER) return k.at.is_zero ? masked(gathered(n, values), k.at.valid) : gathered(n, values);
    const UOp value = is_reduce(n.op) ? reduction(k, values) : element(n, values);
    return k.at.is_zero ? masked(value, k.at.valid) : value;
  }

  /// `value` where `valid`, else 0.
  UOp masked(UOp value, const Expr& valid) {
    if (valid.constant() && *valid.constant() != 0) return value;
    const UOp zero = out_.graph.constant(value.dtype(), 0);
    if (valid.constant()) return zero;
    return ops_.alu(Ops::WHERE, {index_.condition(valid, nests_.lanes_of(valid, valid)), value, zero});
  }

  UOp element(const LazyNode& n, std::span<const UOp> values) {
    if (n.op == Ops::CAST) return out_.graph.cast(values[0], n.dtype);
    if (n.op == Ops::BITCAST) return out_.graph.bitcast(values[0], n.dtype);
    if (n.op == Ops::ADD && target_.contract && n.dtype.is_float())
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
        const UOp product = values[k];
        if (product.op() == UOps::ALU && product.alu() == Ops::MUL)
          return ops_.alu(Ops::MULACC, {product.src(0), product.src(1), values[1 - k]});
      }
    return ops_.alu(n.op, {values.begin(), values.end()});
  }

  // --- loads ---

  const ShapeTracker& simplified(const LazyNode& n, const ShapeTracker& st) {
    const auto it = simple_.find(&n);
    return it != simple_.end() ? it->second : simple_.emplace(&n, st.simplify()).first->second;
  }

  UOp load(const IndexedNode& k) {
    return load_from(*k.node, simplified(*k.node, std::get<BufferArg>(k.node->arg).st), k.at);
  }
  /// The element of the buffer of the LOAD `n` that `st` has at `where`.
  UOp load_from(const LazyNode& n, const ShapeTracker& st, const Coordinates& where) {
    const BufferArg& arg = std::get<BufferArg>(n.arg);
    IndexExprs at = merged_.index(st, where.idxs);
    if (!arg.size.is_number())
      at.index = without_modulos({arg.slot, false, at.index, at.valid, arg.size, nests_.ranges_of({&at.index, 1})});
    Expr valid = at.valid && (is_anywhere(arg, at, where) ? Expr(1) : where.valid);
    const bool has_own_bounds = arg.size.is_number() || is_in_bounds(arg, {at.index, valid});
    if (!has_own_bounds) valid = valid && nests_.have_iterations(where.around, at.index);
    valid = valid && kept_inside(arg, {at.index, valid}, pin_at_);
    if (valid.constant() == 0) return out_.graph.constant(n.dtype, 0);
    const Expr index = valid.constant() ? at.index : simplify_under(at.index, valid);
    const bool pinned = !pin_loops_.empty() && !has_own_bounds;
    has_pinned_ = has_pinned_ || pinned;
    STRATA_CHECK(!pinned || !is_filling_, domain, "[STAGE ", arg.slot, "] the buffer has ", arg.size.render(),
                 " elements, and the loops around the load of ", index.render(), " may have no iteration");
    accesses_.note(arg.slot, false, {index, valid}, arg.size, pinned ? pin_at_ : std::vector<Expr>());
    const std::size_t before = out_.graph.size();
    const UOp value = accesses_.load(global(arg.slot, n.dtype), {index, valid}, n.dtype, !pinned);
    for (std::size_t u = before; pinned && u < out_.graph.size(); ++u)
      if (out_.graph[u].op() == UOps::LOAD) out_.pinned.push_back({out_.graph[u], pin_loops_});
    return value;
  }
  /// True iff the access is in bounds wherever the loops that it depends on have an iteration: it need not stay inside
  /// of other loops.
  bool is_in_bounds(const BufferArg& arg, const IndexExprs& at) const {
    const std::vector<Expr> own = {at.index, at.valid};
    const Expr ranges = nests_.ranges_of(own);
    if (lies_between_sizes({arg.slot, false, at.index, at.valid, arg.size, ranges})) return true;
    return prove(at.index >= 0 && at.index < arg.size.expr(), at.valid && ranges).answer == Answer::yes;
  }
  /// True iff memory has an element also where none is needed (beyond a padded axis), so that the load needs no
  /// condition.
  bool is_anywhere(const BufferArg& arg, const IndexExprs& at, const Coordinates& where) const {
    if (where.is_zero || !pin_loops_.empty() || !arg.size.is_number()) return false;
    if (out_.buffers[static_cast<std::size_t>(arg.slot)].written) return false;
    return at.index.vmin() >= 0 && at.index.vmax() < arg.size.value();
  }

  // --- movement ---

  /// movement_of(n), simplified, for the ops for which moved() uses it (RESHAPE, STRIDE).
  const ShapeTracker& regrouping(const LazyNode& n) {
    if (n.op != Ops::RESHAPE && n.op != Ops::STRIDE) return no_tracker();
    const auto it = simple_.find(&n);
    return it != simple_.end() ? it->second : simple_.emplace(&n, movement_of(n).simplify()).first->second;
  }

  // --- reductions ---

  /// The nests of the reduction k.node at the index k.at, one for each choice of segments.
  std::vector<Nest> nests_of(const IndexedNode& k) {
    std::vector<Expr> around = k.at.idxs;
    around.push_back(k.at.valid);
    const std::string apart = gather_indices_.add_around(around);
    return nests_.of_group(axes_.group_of(k.node), around, apart);
  }

  /// A term of a reduction: the operand at one unrolled coordinate, and the condition under which it counts (padded
  /// axes, tails).
  struct Body {
    IndexedNode key;
    Expr guard;
  };
  std::vector<Body> bodies(const IndexedNode& k) {
    const LazyNode& n = *k.node;
    std::vector<Body> out;
    if (has_no_terms(n)) return out;
    const Axes& reduced = std::get<Axes>(n.arg);
    const ReduceGroup& group = axes_.group_of(k.node);
    std::vector<std::size_t> axes;
    for (std::size_t j = 0; j < group.count; ++j) axes.push_back(group.first + j);
    const auto add = [&](const std::vector<Expr>& at, const Expr& guard, const Expr& around) {
      Body body{{n.src[0].node(), {k.at.idxs, k.at.valid && guard, false, around}}, guard};
      merged_.set_dims(body.key.at.idxs, {reduced.data(), reduced.size()}, axes, at);
      out.push_back(std::move(body));
    };
    for (const Nest& nest : nests_of(k)) {
      const std::vector<Expr> at = nest.coordinates();
      const Expr around = k.at.around && nests_.ranges_of(at);
      for (const Substitution& copy : choices(nest.copies))
        for (const Substitution& iteration : choices(nest.iterations)) {
          const std::vector<Expr> chosen = substituted(substituted(at, copy), iteration);
          add(chosen, inside(axes, chosen), around);
        }
      if (nest.tail) add(nest.tail->coordinates, nest.tail->guard, around);
    }
    return out;
  }
  /// The terms in the dtype of the accumulator, replaced by the identity where they do not count.
  std::vector<UOp> guarded(const IndexedNode& k, std::span<const UOp> values, UOp identity) {
    std::vector<UOp> out;
    for (const UOp v : values) out.push_back(out_.graph.cast(v, identity.dtype().vec(v.dtype().lanes())));
    const std::vector<Body> of = bodies(k);
    for (std::size_t j = 0; j < out.size(); ++j)
      if (const Expr& guard = of[j].guard; guard.constant() == 0)
        out[j] = identity;
      else if (!guard.constant())
        out[j] = ops_.alu(Ops::WHERE, {index_.condition(guard, nests_.lanes_of(guard, guard)), out[j], identity});
    return out;
  }

  UOp reduction(const IndexedNode& k, std::span<const UOp> values) {
    const LazyNode& n = *k.node;
    const UOp identity = out_.graph.constant(identity_of(n.op, accumulator_of(n.op, n.dtype)));
    UOp total = identity;
    if (!has_no_terms(n)) total = summed(out_.graph, ops_, n.op, identity, nests_of(k), guarded(k, values, identity));
    return out_.graph.cast(total, n.dtype.vec(total.dtype().lanes()));
  }

  LazyOp kernel_;
  const KernelAxes& axes_;
  Target target_;
  Lowered out_;
  LaneOps ops_;
  IndexUOps index_;
  Nests nests_;
  AccessUOps accesses_;
  MergedDims merged_;
  TileFill fill_;
  GatherIndices gather_indices_;
  std::vector<UOp> pin_loops_;  // the loops of pin(); empty: loads are not pinned
  std::vector<Expr> pin_at_;
  bool has_pinned_ = false;  // whether a load of the nest is pinned
  bool is_filling_ = false;  // scratch memory
  std::unordered_map<IndexedNode, UOp, HashIndexedNode> done_;
  std::unordered_map<IndexedNode, Staged, HashIndexedNode> tiles_;  // by load and base
  std::int64_t scratch_bytes_ = 0;                                  // of all tiles
  std::vector<ScatteredStore> scattered_;                           // of the current nest
  std::unordered_map<const LazyNode*, Staged> staged_;              // by LOAD, for the current nest
  std::unordered_map<const LazyNode*, ShapeTracker> simple_;
};

}  // namespace

Lowered lower(const LazyOp& kernel, const KernelAxes& axes, const Target& target) {
  return Lowering(kernel, axes, target).run();
}

}  // namespace strata
