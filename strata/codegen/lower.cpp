// lower(): the values of nodes at indices, and their loads.

#include "strata/codegen/lower.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "strata/base/interrupt.h"
#include "strata/codegen/lowering.h"
#include "strata/expr/node.h"
#include "strata/ir/sum_order.h"

namespace strata {

Lowered Lowering::run() && {
  for (std::size_t k = 0; k < kernel_.src().size(); ++k) {
    accesses_.begin_store(k);
    store(*kernel_.src(k).node());
  }
  check_memory(out_);
  return std::move(out_);
}

// --- variables ---

UOp Lowering::value_of(const Variable& v) {
  if (const GatherIndex* found = gather_indices_.find(v)) return found->value;
  const UOp loop = nests_.loop_of(v);
  return loop ? loop : parameter(v);
}

UOp Lowering::global(int slot, DType dtype) {
  return out_.graph.add(UOps::DEFINE_GLOBAL, dtype.pointer(), {},
                        Global{slot, name_beside(out_.variables, detail::message("data", slot))});
}

UOp Lowering::parameter(const Variable& v) {
  const bool is_narrow =
      v.min() >= std::numeric_limits<std::int32_t>::min() && v.max() <= std::numeric_limits<std::int32_t>::max();
  return out_.graph.add(UOps::DEFINE_VAR, is_narrow ? dtypes::int32 : dtypes::int64, {}, v);
}

// --- values ---

UOp Lowering::lower(const IndexedNode& root) {
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

std::vector<IndexedNode> Lowering::needs_of(const IndexedNode& k) {
  const LazyNode& n = *k.node;
  if (n.src.empty()) return {};
  if (is_movement(n.op)) return {{n.src[0].node(), moved(n, k.at, regrouping(n))}};
  if (is_reduce(n.op)) {
    std::vector<IndexedNode> out;
    for (Body& body : bodies(k)) out.push_back(std::move(body.key));
    return out;
  }
  if (is_scan(n.op)) return operands_of_group(k);
  const Coordinates same{k.at.idxs, k.at.valid, false, k.at.around};
  if (n.op == Ops::GATHER) return {{n.src[1].node(), same}};  // first the index; ask_more() adds the values
  std::vector<IndexedNode> out;
  for (const LazyOp& s : n.src) out.push_back({s.node(), same});
  return out;
}

// --- scans ---

std::size_t Lowering::place_in_group() const {
  if (place_.nest->iterations.empty()) return 0;
  const Variable& unrolled = place_.nest->iterations[0].first;
  for (const auto& [variable, value] : place_.choice)
    if (same(variable, unrolled)) return static_cast<std::size_t>(*value.constant());
  return 0;
}

Lowering::Place Lowering::in_group(int k) const {
  Place out = place_;
  if (out.nest->iterations.empty()) return out;
  for (auto& [variable, value] : out.choice)
    if (same(variable, out.nest->iterations[0].first)) value = k;
  return out;
}

std::vector<IndexedNode> Lowering::operands_of_group(const IndexedNode& k) {
  const LazyNode& n = *k.node;
  const std::vector<Expr> own = chosen(place_, n.shape.size()).first;
  const bool is_own = !k.at.is_zero && std::equal(own.begin(), own.end(), k.at.idxs.begin(), k.at.idxs.end(),
                                                  [](const Expr& a, const Expr& b) { return same(a, b); });
  STRATA_CHECK(is_own, domain, "[lower] ", spec_name(n.op), " of shape ", render(n.shape),
               " is read at another index than that of the store");
  std::vector<IndexedNode> out;
  if (groups_.contains(first_of_group(n))) return out;
  const int count = place_.nest->iterations.empty() ? 1 : place_.nest->iterations[0].second;
  for (const LazyOp& s : n.src)
    for (int j = 0; j < count; ++j) {
      const auto [idxs, guard] = chosen(in_group(j), n.shape.size());
      out.push_back({s.node(), {idxs, guard, false}});
    }
  return out;
}

UOp Lowering::scanned(const IndexedNode& k, std::span<const UOp> values) {
  const LazyNode& n = *k.node;
  const IndexedNode group = first_of_group(n);
  if (!groups_.contains(group)) {
    IndexedNode row = group;
    row.at.idxs[axes_.scan()->dim] = 0;
    auto& totals = totals_.try_emplace(row, scans_.first(n)).first->second;
    const auto axis = static_cast<std::size_t>(axes_.scan_axis());
    const Nest& nest = *place_.nest;
    const bool in_lanes = nest.lanes != nullptr && stride_along(group.at.idxs[axes_.scan()->dim], *nest.lanes) == 1;
    groups_.emplace(group, scans_.results(n, loops_along(nest, axis), values, in_lanes, totals));
  }
  return groups_.at(group)[place_in_group()];
}

// --- gather ---

bool Lowering::ask_more(Frame& frame) {
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

const Lanes& Lowering::lanes_of(const Coordinates& at) const {
  const Lanes* lanes = nests_.lanes_of(at.valid, at.valid);
  for (const Expr& e : at.idxs)
    if (lanes == nullptr) lanes = nests_.lanes_of(e, e);
  STRATA_ASSERT(lanes != nullptr, "[lower] a vector of indices at a place without lanes");
  return *lanes;
}

UOp Lowering::is_inside(UOp index, std::int64_t size) {
  const UOp place = out_.graph.cast(as_place(index), dtypes::uint64);
  const UOp end = out_.graph.constant(Scalar::of(dtypes::uint64, size));
  return ops_.alu(Ops::CMPLT, {place, end});
}

UOp Lowering::gathered(const LazyNode& n, std::span<const UOp> values) {
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

UOp Lowering::build(const IndexedNode& k, std::span<const UOp> values) {
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
  if (is_scan(n.op)) return scanned(k, values);
  if (n.op == Ops::GATHER) return k.at.is_zero ? masked(gathered(n, values), k.at.valid) : gathered(n, values);
  const UOp value = is_reduce(n.op) ? reduction(k, values) : element(n, values);
  return k.at.is_zero ? masked(value, k.at.valid) : value;
}

UOp Lowering::masked(UOp value, const Expr& valid) {
  if (valid.constant() && *valid.constant() != 0) return value;
  const UOp zero = out_.graph.constant(value.dtype(), 0);
  if (valid.constant()) return zero;
  return ops_.alu(Ops::WHERE, {index_.condition(valid, nests_.lanes_of(valid, valid)), value, zero});
}

UOp Lowering::element(const LazyNode& n, std::span<const UOp> values) {
  if (n.op == Ops::CONTIGUOUS) return values[0];
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

const ShapeTracker& Lowering::simplified(const LazyNode& n, const ShapeTracker& st) {
  const auto it = simple_.find(&n);
  return it != simple_.end() ? it->second : simple_.emplace(&n, st.simplify()).first->second;
}

UOp Lowering::load_from(const LazyNode& n, const ShapeTracker& st, const Coordinates& where) {
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

bool Lowering::is_in_bounds(const BufferArg& arg, const IndexExprs& at) const {
  const std::vector<Expr> own = {at.index, at.valid};
  const Expr ranges = nests_.ranges_of(own);
  if (lies_between_sizes({arg.slot, false, at.index, at.valid, arg.size, ranges})) return true;
  return prove(at.index >= 0 && at.index < arg.size.expr(), at.valid && ranges).answer == Answer::yes;
}

bool Lowering::is_anywhere(const BufferArg& arg, const IndexExprs& at, const Coordinates& where) const {
  if (where.is_zero || !pin_loops_.empty() || !arg.size.is_number()) return false;
  if (out_.buffers[static_cast<std::size_t>(arg.slot)].written) return false;
  return at.index.vmin() >= 0 && at.index.vmax() < arg.size.value();
}

// --- movement ---

const ShapeTracker& Lowering::regrouping(const LazyNode& n) {
  if (n.op != Ops::RESHAPE && n.op != Ops::STRIDE) return no_tracker();
  const auto it = simple_.find(&n);
  return it != simple_.end() ? it->second : simple_.emplace(&n, movement_of(n).simplify()).first->second;
}

// --- reductions ---

std::vector<Nest> Lowering::nests_of(const IndexedNode& k) {
  std::vector<Expr> around = k.at.idxs;
  around.push_back(k.at.valid);
  const std::string apart = gather_indices_.add_around(around);
  return nests_.of_group(axes_.group_of(k.node), around, apart);
}

std::vector<Lowering::Body> Lowering::bodies(const IndexedNode& k) {
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

std::vector<UOp> Lowering::guarded(const IndexedNode& k, std::span<const UOp> values, UOp identity) {
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

UOp Lowering::reduction(const IndexedNode& k, std::span<const UOp> values) {
  const LazyNode& n = *k.node;
  const UOp identity = out_.graph.constant(identity_of(n.op, accumulator_of(n.op, n.dtype)));
  UOp total = identity;
  if (!has_no_terms(n)) total = summed(out_.graph, ops_, n.op, identity, nests_of(k), guarded(k, values, identity));
  return out_.graph.cast(total, n.dtype.vec(total.dtype().lanes()));
}

Lowered lower(const LazyOp& kernel, const KernelAxes& axes, const Target& target) {
  return Lowering(kernel, axes, target).run();
}

}  // namespace strata
