#include "strata/graph/step_graph.h"

#include <algorithm>

namespace strata {

namespace {

constexpr std::int64_t kBundleAlignment = 64;  // bytes

Int rounded_up(const Int& elements, std::int64_t multiple) {
  if (elements.is_number()) return (elements.value() + multiple - 1) / multiple * multiple;
  return (elements.expr() + (multiple - 1)) / multiple * multiple;
}

const BundlePart* part_of(const Bundle& bundle, std::size_t k) {
  const auto it =
      std::find_if(bundle.parts.begin(), bundle.parts.end(), [&](const BundlePart& p) { return p.result == k; });
  return it == bundle.parts.end() ? nullptr : &*it;
}

}  // namespace

Bundle bundle_of(const StepGraph& step, DType dtype, bool of_saved) {
  Bundle out;
  const std::int64_t multiple = kBundleAlignment / static_cast<std::int64_t>(dtype.itemsize());
  Int at = step.condition && dtype == dtypes::int64 && !of_saved ? multiple : 0;
  const std::size_t end = of_saved ? step.results.size() : step.wanted;
  for (std::size_t k = 0; k < step.states && !of_saved; ++k) {
    if (step.results[k].dtype() != dtype) continue;
    out.parts.push_back({k, at, 0});
    at = at + rounded_up(product(step.results[k].shape()), multiple);
  }
  out.rows = at;
  out.row = 0;
  const std::size_t first = out.parts.size();
  for (std::size_t k = of_saved ? step.wanted : step.states; k < end; ++k) {
    if (step.results[k].dtype() != dtype) continue;
    out.parts.push_back({k, at + out.row, 0});
    out.row = out.row + product(step.results[k].shape());
  }
  for (std::size_t p = first; p < out.parts.size(); ++p) out.parts[p].stride = out.row;
  out.size = out.rows + step.count * out.row;
  return out;
}

LazyOp part_of_bundle(const StepGraph& step, const Bundle& bundle, const LazyOp& node, std::size_t k) {
  const BundlePart* const part = part_of(bundle, k);
  STRATA_ASSERT(part != nullptr, "[scan] result ", k, " is in another bundle");
  const Ints& shape = step.results[k].shape();
  const Int width = product(shape);
  if (step.is_state(k)) return node.shrink({{part->offset, part->offset + width}}).reshape(shape);
  const LazyOp rows = node.shrink({{bundle.rows, bundle.size}}).reshape({step.count, bundle.row});
  const Int column = part->offset - bundle.rows;
  Ints whole = {step.count};
  for (const Int& size : shape) whole.push_back(size);
  return rows.shrink({{0, step.count}, {column, column + width}}).reshape(whole);
}

LazyOp result_of_loop(const std::shared_ptr<const StepGraph>& step, std::span<const LazyOp> sources, std::size_t k) {
  const DType dtype = step->results[k].dtype();
  const bool of_saved = k >= step->wanted;
  return part_of_bundle(*step, bundle_of(*step, dtype, of_saved), LazyOp::loop(step, sources, dtype, of_saved), k);
}

LazyOp count_of_loop(const std::shared_ptr<const StepGraph>& step, std::span<const LazyOp> sources) {
  return LazyOp::loop(step, sources, dtypes::int64).shrink({{0, 1}}).reshape({});
}

LazyOp LazyOp::loop(const std::shared_ptr<const StepGraph>& step, Sources sources, DType dtype, bool of_saved) {
  const std::size_t wanted = step->inputs.size() + (step->has_last_source() ? 1 : 0);
  STRATA_ASSERT(sources.size() == wanted, "[scan] ", sources.size(), " sources for ", wanted, " inputs");
  return make(Ops::SCAN, sources, StepArg{step, of_saved}, dtype, {bundle_of(*step, dtype, of_saved).size});
}

bool has_memory(const LazyNode& n) {
  return n.op == Ops::EMPTY || n.op == Ops::SCAN || n.op == Ops::CONTIGUOUS || n.op == Ops::CONCAT ||
         n.op == Ops::ORDER || is_realized(n);
}

LoopSource loop_source(const LazyOp& source, bool is_sequence) {
  const Int elements = product(source.shape());
  Int own = is_sequence ? 1 : 0;
  for (std::size_t d = 1; is_sequence && d < source.shape().size(); ++d) own = own * source.shape()[d];
  LoopSource plain{source, 0, own, {}};
  std::vector<const LazyNode*> moved;
  const LazyOp* at = &source;
  for (; !has_memory(*at->node()) && (is_movement(at->op()) || is_annotation(at->op())); at = &at->src(0))
    if (is_movement(at->op())) moved.push_back(at->node());
  const bool is_padded = std::any_of(moved.begin(), moved.end(), [](const LazyNode* n) { return n->op == Ops::PAD; });
  if (at->op() == Ops::CONST && !is_realized(*at->node()) && !is_padded) {
    const ConstArg& arg = std::get<ConstArg>(at->arg());
    if (arg.st.contiguous()) return {source, 0, 0, arg.value};
  }
  if (!has_memory(*at->node())) return plain;
  ShapeTracker st = ShapeTracker::from_shape(at->shape());
  for (auto it = moved.rbegin(); it != moved.rend(); ++it) st = moved_as(**it, st);
  st = st.simplify();
  if (st.views().size() != 1 || st.views()[0].mask()) return plain;
  const View& view = st.views()[0];
  Int expected = 1;
  for (std::size_t d = view.shape().size(); d-- > (is_sequence ? 1U : 0U);) {
    if (!(view.shape()[d] == Int(1)) && !(view.strides()[d] == expected)) return plain;
    expected = expected * view.shape()[d];
  }
  if (elements == Int(0)) return plain;
  return {*at, view.offset(), is_sequence ? view.strides()[0] : Int(0), {}};
}

LoopSource loop_source(const LazyNode& scan, std::size_t k) {
  const StepGraph& step = *std::get<StepArg>(scan.arg).step;
  return loop_source(scan.src[k], k >= step.states && k < step.states + step.sequences);
}

LazyOp placeholder(DType dtype, const Ints& shape) {
  const LazyOp memory = LazyOp::empty(dtype, shape, true);
  return dtype.is_float() ? memory.tracked({}) : memory;
}

bool is_placeholder(const LazyNode& n) { return n.op == Ops::EMPTY && std::get<IdentityArg>(n.arg).is_placeholder; }

}  // namespace strata
