// LazyOp: checks and interning of nodes, destruction without recursion, text, and questions about kernels.

#include "strata/graph/lazy_op.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "strata/base/fork.h"
#include "strata/base/intern_table.h"
#include "strata/base/interrupt.h"
#include "strata/base/text.h"
#include "strata/base/walk.h"
#include "strata/graph/moved_shape.h"
#include "strata/graph/step_graph.h"
#include "strata/view/equal.h"

namespace strata {

namespace {

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  seed = (seed ^ value) * 0x9e3779b97f4a7c15U;
  return seed ^ (seed >> 29);
}

std::uint64_t hash_of(const Int& v) { return v.is_number() ? static_cast<std::uint64_t>(v.value()) : v.expr().hash(); }

struct HashArg {
  std::uint64_t operator()(std::monostate) const { return 0; }
  std::uint64_t operator()(const BufferArg& a) const {
    return mix(mix(static_cast<std::uint64_t>(a.slot), hash_of(a.size)), a.st.hash());
  }
  std::uint64_t operator()(const ConstArg& a) const {
    return mix(of_value(a.value), a.st.contiguous() ? 0 : a.st.hash());
  }
  static std::uint64_t of_value(const Scalar& value) {
    return mix(value.bits(), static_cast<std::uint64_t>(value.dtype().id()));
  }
  std::uint64_t operator()(const ShapeTracker& st) const { return st.hash(); }
  std::uint64_t operator()(DType d) const { return static_cast<std::uint64_t>(d.id()); }
  std::uint64_t operator()(const Ints& values) const {
    std::uint64_t h = values.size();
    for (const Int& v : values) h = mix(h, hash_of(v));
    return h;
  }
  std::uint64_t operator()(const Axes& axes) const {
    std::uint64_t h = axes.size();
    for (const std::int64_t a : axes) h = mix(h, static_cast<std::uint64_t>(a));
    return h;
  }
  std::uint64_t operator()(const Padding& padding) const {
    std::uint64_t h = padding.size();
    for (const auto& [before, after] : padding) h = mix(mix(h, hash_of(before)), hash_of(after));
    return h;
  }
  std::uint64_t operator()(const IdentityArg& a) const { return a.id; }
  std::uint64_t operator()(const IndexRange& r) const {
    std::uint64_t h = mix(static_cast<std::uint64_t>(r.size), r.from_end ? 1 : 0);
    h = mix(h, static_cast<std::uint64_t>(r.also.value_or(-1)));
    for (const char* text : {r.operation, r.noun})
      for (const char* c = text; *c != 0; ++c) h = mix(h, static_cast<unsigned char>(*c));
    return h;
  }
  std::uint64_t operator()(const AxisArg& a) const {
    return mix(static_cast<std::uint64_t>(a.op), static_cast<std::uint64_t>(a.axis));
  }
  std::uint64_t operator()(const OrderArg& a) const {
    return mix(mix(static_cast<std::uint64_t>(a.axis), (a.of_places ? 1 : 0) + (a.is_descending ? 2 : 0)),
               hash_of(a.first));
  }
  std::uint64_t operator()(const PlacementArg& a) const { return std::hash<std::string>()(a.placement->text()); }
  std::uint64_t operator()(const FormulaArg& a) const { return reinterpret_cast<std::uintptr_t>(a.formula); }
  std::uint64_t operator()(const StepArg& a) const {
    return mix(reinterpret_cast<std::uintptr_t>(a.step.get()), a.of_saved ? 1 : 0);
  }
  std::uint64_t operator()(const Mask& mask) const {
    std::uint64_t h = mask.size();
    for (const Extent& e : mask) h = mix(mix(h, hash_of(e.begin)), hash_of(e.end));
    return h;
  }
};

/// A shared pointer to the node; null if its destruction has begun.
std::shared_ptr<const LazyNode> revive(const LazyNode* n) { return n->weak_from_this().lock(); }

// Never destroyed: handles may outlive every static.
detail::InternTable<const LazyNode, 16>& table() {
  static auto& nodes = *new detail::InternTable<const LazyNode, 16>;
  return nodes;
}

const ForkHook table_hook(ForkOrder::graph, [] { table().hold(); }, [] { table().let_go(); });

std::string name_of(Ops op) {
  std::string name(row(op).name);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return name;
}

void check_buffer(std::string_view operation, int slot, DType dtype) {
  STRATA_CHECK(slot >= 0, domain, "[", operation, "] buffer ", slot, " does not exist: slots count from 0");
  STRATA_CHECK(!dtype.is_none() && dtype == dtype.scalar(), domain, "[", operation, "] ", dtype.name(),
               " is not the dtype of an element");
}

Int reach(const ShapeTracker& st) { return st.real_size(); }

}  // namespace

LazyNode::~LazyNode() {
  if (is_known) table().remove(this);
  thread_local std::vector<LazyOp>* dying = nullptr;
  if (dying != nullptr) {
    std::move(src.begin(), src.end(), std::back_inserter(*dying));
    return;
  }
  std::vector<LazyOp> worklist = std::move(src);
  dying = &worklist;
  while (!worklist.empty()) {
    const LazyOp next = std::move(worklist.back());
    worklist.pop_back();
  }
  dying = nullptr;
}

namespace {

void note_flags(LazyNode& n) {
  const bool is_computed = n.op == Ops::CONST || n.op == Ops::IOTA || n.op == Ops::GATHER || n.op == Ops::SCATTER ||
                           is_movement(n.op) || is_reduce(n.op) || is_scan(n.op) || is_elementwise(n.op) ||
                           n.op == Ops::IN_RANGE;
  n.is_closed =
      is_computed && std::all_of(n.src.begin(), n.src.end(), [](const LazyOp& s) { return s.node()->is_closed; });
  if (const auto* placed = std::get_if<PlacementArg>(&n.arg)) n.placement = placed->placement.get();
  if (n.op == Ops::EMPTY) n.placement = std::get<IdentityArg>(n.arg).placement.get();
  for (const LazyOp& s : n.src)
    if (n.placement == nullptr) n.placement = s.placement_below();
  n.is_tracked =
      n.op == Ops::REQUIRES_GRAD || n.op == Ops::CUSTOM_GRAD ||
      (n.op != Ops::DETACH && std::any_of(n.src.begin(), n.src.end(), [](const LazyOp& s) { return s.is_tracked(); }));
}

std::uint64_t hash_of(Ops op, DType dtype, const Ints& shape, std::span<const LazyOp> src, std::size_t kind_of_arg,
                      std::uint64_t arg) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(op), static_cast<std::uint64_t>(dtype.id()));
  h = mix(h, HashArg()(shape));
  for (const LazyOp& s : src) h = mix(h, s.hash());
  return mix(mix(h, kind_of_arg), arg);
}

}  // namespace

std::uint64_t hash_of_own(const LazyNode& n, bool with_arg) {
  const bool has_arg = with_arg && !std::holds_alternative<IdentityArg>(n.arg);
  return hash_of(n.op, n.dtype, n.shape, {}, has_arg ? n.arg.index() : 0, has_arg ? std::visit(HashArg(), n.arg) : 0);
}

LazyOp LazyOp::make(Ops op, Sources src, LazyArg arg, DType dtype, Ints shape) {
  check_interrupt_often();
  const std::uint64_t h = hash_of(op, dtype, shape, src, arg.index(), std::visit(HashArg(), arg));
  const auto is_it = [&](const LazyNode& n) {
    return n.op == op && n.dtype == dtype && n.shape == shape &&
           std::equal(src.begin(), src.end(), n.src.begin(), n.src.end()) && n.arg == arg;
  };
  return LazyOp(table().find_or_make(h, is_it, revive, [&]() -> std::shared_ptr<const LazyNode> {
    auto node = std::make_shared<LazyNode>();
    node->op = op;
    node->dtype = dtype;
    node->shape = std::move(shape);
    node->src.assign(src.begin(), src.end());
    node->arg = std::move(arg);
    node->hash = h;
    note_flags(*node);
    node->origin = Origin::current();
    node->is_known = true;
    return node;
  }));
}

LazyOp LazyOp::with_sources(Sources sources) const {
  if (const auto* range = std::get_if<IndexRange>(&arg())) return sources[0].in_range(*range);
  if (is_annotation(op())) return make(Ops::DETACH, sources.first(1), {}, sources[0].dtype(), sources[0].shape());
  STRATA_ASSERT(sources.size() == src().size(), "[", name_of(op()), "] ", sources.size(), " sources in place of ",
                src().size());
  if (std::equal(sources.begin(), sources.end(), src().begin())) return *this;
  for (std::size_t k = 0; k < sources.size(); ++k)
    STRATA_ASSERT(sources[k].shape() == src(k).shape() && sources[k].dtype() == src(k).dtype(), "[", name_of(op()),
                  "] another shape or dtype in place of source ", k);
  return make(op(), sources, arg(), dtype(), shape());
}

// --- leaves ---

LazyOp LazyOp::load(int slot, DType dtype, ShapeTracker st) {
  Int size = reach(st);
  return load(slot, dtype, std::move(st), std::move(size));
}

LazyOp LazyOp::load(int slot, DType dtype, ShapeTracker st, Int size) {
  check_buffer("load", slot, dtype);
  Ints shape = st.shape();
  return make(Ops::LOAD, {}, BufferArg{slot, std::move(size), std::move(st)}, dtype, std::move(shape));
}

/// Most constants exist already (0, 1 or 2 in a common shape): look them up before making a ShapeTracker.
LazyOp LazyOp::constant(const Scalar& value, const Ints& shape) {
  constexpr std::size_t kind = 2;
  static_assert(std::is_same_v<std::variant_alternative_t<kind, LazyArg>, ConstArg>);
  const std::uint64_t h = hash_of(Ops::CONST, value.dtype(), shape, {}, kind, mix(HashArg::of_value(value), 0));
  const auto is_it = [&](const LazyNode& n) {
    if (n.op != Ops::CONST || !(n.shape == shape)) return false;
    const ConstArg& arg = std::get<ConstArg>(n.arg);
    return arg.value == value && arg.st.contiguous();
  };
  if (auto known = table().find(h, is_it, revive)) return LazyOp(std::move(known));
  return constant(value, ShapeTracker::from_shape(shape));
}

LazyOp LazyOp::constant(const Scalar& value, ShapeTracker st) {
  Ints shape = st.shape();
  return make(Ops::CONST, {}, ConstArg{value, std::move(st)}, value.dtype(), std::move(shape));
}

LazyOp LazyOp::iota(DType dtype, ShapeTracker st) {
  check_buffer("iota", 0, dtype);
  Ints shape = st.shape();
  return make(Ops::IOTA, {}, std::move(st), dtype, std::move(shape));
}

// --- elementwise ---

LazyOp LazyOp::alu(Ops op, std::span<const LazyOp> operands) {
  STRATA_CHECK(is_elementwise(op) && op != Ops::CAST && op != Ops::BITCAST, domain, "[alu] ", spec_name(op),
               " is not an op between elements");
  STRATA_CHECK(operands.size() == row(op).arity, domain, "[", name_of(op), "] takes ", static_cast<int>(row(op).arity),
               " operands, not ", operands.size());
  SmallVec<DType, 4> dtypes;
  for (const LazyOp& x : operands) {
    STRATA_CHECK(x.shape() == operands[0].shape(), shape, "[", name_of(op), "] operands have shapes ",
                 render(operands[0].shape()), " and ", render(x.shape()));
    dtypes.push_back(x.dtype());
  }
  const DType dtype = result_dtype(op, {dtypes.data(), dtypes.size()});
  return make(op, operands, {}, dtype, operands[0].shape());
}

LazyOp LazyOp::cast(DType to) const {
  if (to == dtype()) return *this;
  const std::array from{dtype()};
  return make(Ops::CAST, {this, 1}, to, result_dtype(Ops::CAST, from, to), shape());
}

LazyOp LazyOp::bitcast(DType to) const {
  if (to == dtype()) return *this;
  const std::array from{dtype()};
  return make(Ops::BITCAST, {this, 1}, to, result_dtype(Ops::BITCAST, from, to), shape());
}

// --- reductions ---

LazyOp LazyOp::reduce(Ops op, const LazyOp& x, const Axes& axes) {
  STRATA_CHECK(is_reduce(op), domain, "[reduce] ", spec_name(op), " is not a reduction");
  Ints shape = x.shape();
  Axes sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    const std::int64_t axis = sorted[k];
    STRATA_CHECK(axis >= 0 && axis < static_cast<std::int64_t>(shape.size()), shape, "[", name_of(op), "] axis ", axis,
                 " is outside of shape ", render(x.shape()));
    STRATA_CHECK(k == 0 || sorted[k - 1] != axis, shape, "[", name_of(op), "] axis ", axis, " is given twice");
    shape[static_cast<std::size_t>(axis)] = 1;
  }
  if (sorted.empty()) return x;
  return make(op, {&x, 1}, std::move(sorted), x.dtype(), std::move(shape));
}

// --- scans ---

namespace {

void check_along(const char* operation, Ops op, const LazyOp& x, std::int64_t axis) {
  STRATA_CHECK(axis >= 0 && axis < static_cast<std::int64_t>(x.shape().size()), shape, "[", operation, "] axis ", axis,
               " is outside of shape ", render(x.shape()));
  const bool is_rounded = op == Ops::SUM || op == Ops::PROD || op == Ops::MULACC;
  STRATA_CHECK(!is_rounded || !x.dtype().is_float() || x.dtype().itemsize() > 2, domain, "[", operation,
               "] running totals of ", x.dtype().name(), " would be rounded at each element: cast to f32");
}

}  // namespace

LazyOp LazyOp::scan(Ops op, const LazyOp& x, std::int64_t axis) {
  STRATA_CHECK(is_reduce(op), domain, "[scan] ", spec_name(op), " is not a reduction");
  check_along("scan", op, x, axis);
  return make(Ops::ASSOCIATIVE_SCAN, {&x, 1}, AxisArg{op, axis}, x.dtype(), x.shape());
}

LazyOp LazyOp::scan_behind(Ops op, const LazyOp& fronts, const LazyOp& x, std::int64_t axis) {
  const LazyOp whole = scan(op, x, axis);
  STRATA_CHECK(fronts.shape() == x.shape(), shape, "[scan_behind] operands have shapes ", render(fronts.shape()),
               " and ", render(x.shape()));
  STRATA_CHECK(fronts.dtype() == x.dtype(), domain, "[scan_behind] operands have dtypes ", fronts.dtype().name(),
               " and ", x.dtype().name());
  return make(Ops::ASSOCIATIVE_SCAN, std::array{fronts, x}, AxisArg{op, axis}, x.dtype(), x.shape());
}

LazyOp LazyOp::recurrence(std::span<const LazyOp> a, const LazyOp& b, std::int64_t axis) {
  STRATA_CHECK(!a.empty() && a.size() <= kMostFactors, domain, "[recurrence] has 1 to ", kMostFactors, " factors, not ",
               a.size());
  check_along("recurrence", Ops::MULACC, b, axis);
  for (const LazyOp& factor : a) {
    STRATA_CHECK(factor.shape() == b.shape(), shape, "[recurrence] operands have shapes ", render(factor.shape()),
                 " and ", render(b.shape()));
    const std::array dtypes{factor.dtype(), b.dtype(), b.dtype()};
    result_dtype(Ops::MULACC, dtypes);
  }
  std::vector<LazyOp> sources(a.begin(), a.end());
  sources.push_back(b);
  return make(Ops::ASSOCIATIVE_SCAN, sources, AxisArg{Ops::MULACC, axis}, b.dtype(), b.shape());
}

// --- formulas ---

LazyOp LazyOp::formula(const Formula& formula) const {
  return make(Ops::FORMULA, {this, 1}, FormulaArg{&formula}, formula.result, shape());
}

LazyOp LazyOp::formula_of(const LazyOp& x) const {
  const Formula& formula = *std::get<FormulaArg>(arg()).formula;
  return formula.expand(formula, x);
}

// --- gather ---

LazyOp LazyOp::gather(const LazyOp& values, const LazyOp& index) {
  STRATA_CHECK(index.dtype().is_int(), domain, "[gather] indices are integers, not ", index.dtype().name());
  Ints front = values.shape();
  if (!front.empty()) front.pop_back();
  STRATA_CHECK(!values.shape().empty() && front == index.shape(), shape, "[gather] values of shape ",
               render(values.shape()), " for indices of shape ", render(index.shape()),
               ": the values must have one dimension more, the last");
  const Int& size = values.shape().back();
  STRATA_CHECK(size.is_number(), shape, "[gather] the size of the axis is symbolic: ", size.render());
  return make(Ops::GATHER, std::array{values, index}, {}, values.dtype(), index.shape());
}

LazyOp LazyOp::scatter(Ops op, const LazyOp& target, const LazyOp& index, const LazyOp& values, std::int64_t axis) {
  STRATA_CHECK(op == Ops::NOOP || is_reduce(op), domain, "[scatter] ", spec_name(op), " is not a reduction");
  STRATA_CHECK(index.dtype().is_int(), domain, "[scatter] indices are integers, not ", index.dtype().name());
  STRATA_CHECK(values.dtype() == target.dtype(), domain, "[scatter] values of dtype ", values.dtype().name(),
               " for elements of ", target.dtype().name());
  check_along("scatter", op, target, axis);
  Ints shape = target.shape();
  const Int& size = shape[static_cast<std::size_t>(axis)];
  STRATA_CHECK(size.is_number(), shape, "[scatter] the size of the axis is symbolic: ", size.render());
  if (index.shape().size() == shape.size())
    shape[static_cast<std::size_t>(axis)] = index.shape()[static_cast<std::size_t>(axis)];
  STRATA_CHECK(index.shape() == shape && values.shape() == shape, shape, "[scatter] indices of shape ",
               render(index.shape()), " and values of shape ", render(values.shape()), " for a tensor of shape ",
               render(target.shape()), " along axis ", axis);
  return make(Ops::SCATTER, std::array{target, index, values}, AxisArg{op, axis}, target.dtype(), target.shape());
}

// --- order ---

LazyOp LazyOp::order(const LazyOp& x, const OrderArg& arg, const Int& count) {
  check_along("order", Ops::NOOP, x, arg.axis);
  Ints shape = x.shape();
  Int& size = shape[static_cast<std::size_t>(arg.axis)];
  const bool is_whole = arg.first == Int(0) && count == size;
  const bool is_within = is_whole || (known(is_at_most(0, arg.first)) && known(is_at_most(0, count)) &&
                                      known(is_at_most(arg.first + count, size)));
  STRATA_CHECK(is_within, shape, "[order] the ranks from ", arg.first.render(), " to ", (arg.first + count).render(),
               " are not all of axis ", arg.axis, " of shape ", render(x.shape()));
  size = count;
  // A kernel reads memory: constants are stored first.
  const LazyOp source = x.node()->is_closed ? x.contiguous() : x.detached();
  return make(Ops::ORDER, {&source, 1}, arg, arg.of_places ? dtypes::int64 : x.dtype(), std::move(shape));
}

// --- movement ---

LazyOp LazyOp::moved(Ops op, LazyArg arg, Ints to) const {
  return make(op, {this, 1}, std::move(arg), dtype(), std::move(to));
}

LazyOp LazyOp::reshape(const Ints& to) const {
  return to == shape() ? *this : moved(Ops::RESHAPE, to, reshaped(shape(), to));
}
LazyOp LazyOp::permute(const Axes& order) const {
  Ints to = permuted(shape(), order);
  if (std::is_sorted(order.begin(), order.end())) return *this;
  return moved(Ops::PERMUTE, order, std::move(to));
}
LazyOp LazyOp::expand(const Ints& to) const {
  return to == shape() ? *this : moved(Ops::EXPAND, to, expanded(shape(), to));
}
LazyOp LazyOp::pad(const Padding& padding) const {
  Ints to = padded(shape(), padding);
  return to == shape() ? *this : moved(Ops::PAD, padding, std::move(to));
}
LazyOp LazyOp::shrink(const Mask& bounds) const {
  Ints to = shrunk(shape(), bounds);
  return to == shape() ? *this : moved(Ops::SHRINK, bounds, std::move(to));
}
LazyOp LazyOp::stride(const Ints& steps) const {
  Ints to = strided(shape(), steps);
  const bool stays = std::all_of(steps.begin(), steps.end(), [](const Int& s) { return s == Int(1); });
  return stays ? *this : moved(Ops::STRIDE, steps, std::move(to));
}
LazyOp LazyOp::flip(const Axes& axes) const {
  check_flip(shape(), axes);
  Ints steps(shape().size(), 1);
  for (const std::int64_t axis : axes) steps[static_cast<std::size_t>(axis)] = -1;
  return stride(steps);
}

// --- kernels ---

LazyOp LazyOp::store(int slot, ShapeTracker st, const LazyOp& value) {
  Int size = reach(st);
  return store(slot, std::move(st), value, std::move(size));
}

LazyOp LazyOp::store(int slot, ShapeTracker st, const LazyOp& value, Int size) {
  check_buffer("store", slot, value.dtype());
  STRATA_CHECK(is_injective(st).answer != Answer::no, domain,
               "[store] two elements would be stored at one address of buffer ", slot, ": ", st.render());
  STRATA_CHECK(st.shape() == value.shape(), shape, "[store] a value of shape ", render(value.shape()),
               " does not fit a place of shape ", render(st.shape()));
  return make(Ops::STORE, {&value, 1}, BufferArg{slot, std::move(size), std::move(st)}, dtypes::none, value.shape());
}

LazyOp LazyOp::sink(std::span<const LazyOp> stores) {
  STRATA_CHECK(!stores.empty(), domain, "[sink] a kernel must store an output: no stores are given");
  for (const LazyOp& s : stores)
    STRATA_CHECK(s.op() == Ops::STORE, domain, "[sink] ", spec_name(s.op()), " is not a store");
  LazyOp out = make(Ops::SINK, stores, {}, dtypes::none, {});
  buffers_of(out);  // for its checks
  return out;
}

// --- questions ---

std::vector<const LazyNode*> postorder(std::span<const LazyOp> roots) {
  std::vector<const LazyNode*> out;
  std::unordered_set<const LazyNode*> seen;
  for (const LazyOp& root : roots)
    detail::walk(
        root.node(), [&](const LazyNode* n) { return seen.insert(n).second; },
        [](const LazyNode* n, std::size_t k) { return k < n->src.size() ? n->src[k].node() : nullptr; },
        [&](const LazyNode* n) { out.push_back(n); });
  return out;
}

Scalar identity_of(Ops op, DType dtype) {
  if (op == Ops::SUM) return Scalar::of(dtype, std::int64_t{0});
  if (op == Ops::PROD) return Scalar::of(dtype, std::int64_t{1});
  const bool least = op == Ops::REDUCE_MAX;
  if (dtype.is_float())
    return Scalar::of(dtype,
                      least ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
  if (dtype.is_bool()) return Scalar(!least);
  const std::uint64_t sign = std::uint64_t{1} << (dtype.bits() - 1);
  const std::uint64_t all = sign | (sign - 1);
  if (dtype.is_unsigned()) return Scalar::from_bits(dtype, least ? 0 : all);
  return Scalar::from_bits(dtype, least ? sign : sign - 1);
}

KernelCost cost_of(const LazyOp& kernel) {
  const auto count = [](const Ints& shape) {
    double n = 1;
    for (const Int& size : shape) n *= static_cast<double>(size.vmax());
    return n;
  };
  KernelCost out;
  for (const LazyNode* n : postorder(kernel)) {
    const bool converts = row(n->op).typing == OpTyping::convert || n->op == Ops::WHERE;
    const double each = n->op == Ops::MULACC ? 2 : n->op == Ops::DOT4 ? 8 : n->op == Ops::DOT2 ? 4 : 1;
    if (is_elementwise(n->op) && !converts) out.operations += count(n->shape) * each;
    if (is_reduce(n->op)) out.operations += count(n->src[0].shape());
    if (n->op == Ops::SCATTER) out.operations += count(n->src[2].shape());
    if (n->op == Ops::ORDER) {
      const Ints& all = n->src[0].shape();
      const Int& row = all[static_cast<std::size_t>(std::get<OrderArg>(n->arg).axis)];
      out.operations += count(all) * std::log2(static_cast<double>(std::max<std::int64_t>(row.vmax(), 2)));
    }
    if (is_scan(n->op))
      out.operations += count(n->shape) *
                        (std::get<AxisArg>(n->arg).op == Ops::MULACC ? 2 * static_cast<double>(n->src.size() - 1) : 1);
  }
  for (const BufferUse& use : buffers_of(kernel))
    if (!use.dtype.is_none())
      out.bytes += static_cast<double>(use.size.vmax()) * static_cast<double>(use.dtype.itemsize()) *
                   (use.read && use.written ? 2 : 1);
  return out;
}

std::vector<BufferUse> buffers_of(const LazyOp& kernel) {
  constexpr int kMostBuffers = 4096;
  std::vector<BufferUse> out;
  for (const LazyNode* n : postorder(kernel)) {
    if (n->op != Ops::LOAD && n->op != Ops::STORE) continue;
    const BufferArg& arg = std::get<BufferArg>(n->arg);
    const DType dtype = n->op == Ops::LOAD ? n->dtype : n->src[0].dtype();
    STRATA_CHECK(arg.slot < kMostBuffers, domain, "[sink] buffer ", arg.slot, " is beyond the ", kMostBuffers,
                 " buffers of a kernel");
    const auto slot = static_cast<std::size_t>(arg.slot);
    if (out.size() <= slot) out.resize(slot + 1);
    BufferUse& use = out[slot];
    if (use.dtype.is_none()) use.dtype = dtype, use.size = arg.size;
    STRATA_CHECK(use.dtype == dtype, domain, "[sink] buffer ", arg.slot, " is of ", use.dtype.name(), " and of ",
                 dtype.name());
    if (!(use.size == arg.size)) use.size = max(use.size.expr(), arg.size.expr());
    (n->op == Ops::LOAD ? use.read : use.written) = true;
    if (n->op == Ops::STORE && n->src[0].op() == Ops::SCATTER) use.read = true;
  }
  return out;
}

namespace {

struct TextOfArg {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(const BufferArg& a) const {
    return detail::message("data", a.slot, "[", a.size.render(), "] ", a.st.render());
  }
  std::string operator()(const ConstArg& a) const {
    return a.st.contiguous() ? a.value.text() : detail::message(a.value.text(), " ", a.st.render());
  }
  std::string operator()(const ShapeTracker& st) const { return st.render(); }
  std::string operator()(DType d) const { return d.name(); }
  std::string operator()(const Ints& values) const { return render(values); }
  std::string operator()(const Axes& axes) const { return render(Index(axes)); }
  std::string operator()(const Padding& padding) const {
    std::string out;
    for (const auto& [before, after] : padding)
      out += detail::message(out.empty() ? "" : ", ", "(", before.render(), ", ", after.render(), ")");
    return detail::message("(", out, ")");
  }
  std::string operator()(const AxisArg& a) const { return detail::message("(", spec_name(a.op), ", ", a.axis, ")"); }
  std::string operator()(const OrderArg& a) const {
    return detail::message("(", a.of_places ? "places" : "values", ", ", a.axis, a.is_descending ? ", descending" : "",
                           a.first == Int(0) ? "" : detail::message(", from ", a.first.render()), ")");
  }
  std::string operator()(const PlacementArg& a) const { return a.placement->text(); }
  std::string operator()(const FormulaArg& a) const { return detail::message(a.formula->nodes, " ops"); }
  std::string operator()(const IdentityArg& a) const { return detail::message("#", a.id); }
  std::string operator()(const StepArg& a) const { return detail::message(a.step->count.render(), " steps"); }
  std::string operator()(const IndexRange& range) const { return range.text(); }
  std::string operator()(const Mask& mask) const {
    std::string out;
    for (const Extent& e : mask)
      out += detail::message(out.empty() ? "" : ", ", "(", e.begin.render(), ", ", e.end.render(), ")");
    return detail::message("(", out, ")");
  }
};

}  // namespace

std::string arg_text(const LazyNode& n) { return std::visit(TextOfArg(), n.arg); }

std::string LazyOp::text() const {
  std::string out;
  std::unordered_map<const LazyNode*, std::size_t> number;
  for (const LazyNode* n : postorder(*this)) {
    std::string sources;
    for (const LazyOp& s : n->src) sources += detail::message(sources.empty() ? "" : ", ", number.at(s.node()));
    const std::size_t k = number.size();
    number.emplace(n, k);
    std::string line = detail::message(k, " ", spec_name(n->op));
    line.insert(0, k < 10 ? "   " : k < 100 ? "  " : k < 1000 ? " " : "");
    line.resize(std::max<std::size_t>(line.size(), 26), ' ');
    line += detail::message(": ", n->dtype.name(), " ", render(n->shape));
    line.resize(std::max<std::size_t>(line.size(), 50), ' ');
    out += detail::message(line, " [", sources, "] ", arg_text(*n), "\n");
  }
  return out;
}

}  // namespace strata
