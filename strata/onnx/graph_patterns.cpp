// Operations that ONNX has and that are several nodes in a graph of tensors: Relu, Softmax, Concat. Nodes are
// hash-consed, so that a guess is checked by making the operation again: it is the same node, or the guess was wrong.
#include <algorithm>

#include "strata/base/check.h"
#include "strata/onnx/graph_writer.h"
#include "strata/ops/formula_node.h"
#include "strata/ops/value.h"

namespace strata::onnx {
namespace {

using ops::Value;

std::optional<Plan> relu_of(GraphWriter& w, const LazyOp& n) {
  constexpr DTypes kTaken = kAllFloats | kSignedInts;
  if (n.op() != Ops::WHERE || (bit(n.dtype()) & kTaken) == 0) return std::nullopt;
  for (const std::size_t k : {std::size_t{1}, std::size_t{2}}) {
    const LazyOp& x = n.src(k);
    if (x.op() == Ops::CONST || !(plain(Value(x).relu().node()) == n)) continue;
    return Plan{
        {x}, [&w, d = n.dtype()](std::span<const Written> in) { return w.add("Relu", {in[0]}, {}, d, in[0].shape); }};
  }
  return std::nullopt;
}

std::optional<Plan> softmax_of(GraphWriter& w, const LazyOp& n) {
  if (n.op() != Ops::DIV || (bit(n.dtype()) & kAllFloats) == 0) return std::nullopt;
  const LazyOp* at = &plain(n.src(0));
  if (at->op() != Ops::EXP) return std::nullopt;
  at = &plain(at->src(0));
  if (at->op() != Ops::SUB) return std::nullopt;
  const LazyOp x = at->src(0);
  const auto rank = static_cast<std::int64_t>(x.shape().size());
  for (std::int64_t axis = rank; axis-- > 0;) {
    if (!(plain(Value(x).softmax(axis).node()) == n)) continue;
    const Ints& shape = n.shape();
    return Plan{{x}, [&w, axis, shape, d = n.dtype()](std::span<const Written> in) {
                  return w.add("Softmax", {w.full(in[0], shape)}, {integer_attribute("axis", axis)}, d, shape);
                }};
  }
  return std::nullopt;
}

/// A part of a join by padding, and where it lies.
struct JoinedPart {
  LazyOp x;
  Int begin;
};

/// The axis along which `n`, a PAD, is padded alone, and its part; nothing for other nodes.
std::optional<std::pair<std::int64_t, JoinedPart>> padded_part(const LazyOp& n) {
  if (n.op() != Ops::PAD || is_realized(*n.node())) return std::nullopt;
  const Padding& padding = std::get<Padding>(n.arg());
  std::optional<std::int64_t> axis;
  for (std::size_t d = 0; d < padding.size(); ++d) {
    if (padding[d].first == Int(0) && padding[d].second == Int(0)) continue;
    if (axis) return std::nullopt;
    axis = static_cast<std::int64_t>(d);
  }
  if (!axis) return std::nullopt;
  return std::pair{*axis, JoinedPart{n.src(0), padding[static_cast<std::size_t>(*axis)].first}};
}

Plan concat_of(GraphWriter& w, const std::vector<LazyOp>& parts, std::int64_t axis, const Ints& shape) {
  for (const LazyOp& p : parts) w.keep(p);
  return {parts, [&w, parts, axis, shape](std::span<const Written> in) {
            std::vector<Written> all;
            for (std::size_t k = 0; k < in.size(); ++k) all.push_back(w.full(in[k], parts[k].shape()));
            return w.add("Concat", all, {integer_attribute("axis", axis)}, all[0].dtype, shape);
          }};
}

/// cat() of few parts: where(index < begin, the parts before, the padded part), or a sum of padded parts.
std::optional<Plan> join_of(GraphWriter& w, const LazyOp& n) {
  if (n.op() != Ops::WHERE && n.op() != Ops::ADD) return std::nullopt;
  const auto last = padded_part(n.src(n.src().size() - 1));
  if (!last) return std::nullopt;
  const std::int64_t axis = last->first;
  std::vector<LazyOp> parts;
  const LazyOp* at = &n;
  for (;;) {
    const bool is_join = at->op() == n.op() && !is_realized(*at->node());
    const auto part = padded_part(is_join ? at->src(at->src().size() - 1) : *at);
    if (!part || part->first != axis) return std::nullopt;
    parts.push_back(part->second.x);
    if (!is_join) break;
    at = &at->src(at->src().size() - 2);
  }
  std::reverse(parts.begin(), parts.end());
  const std::vector<Value> values(parts.begin(), parts.end());
  if (!(Value::cat(values, axis).node() == n)) return std::nullopt;
  return concat_of(w, parts, axis, n.shape());
}

}  // namespace

std::optional<Plan> pattern_plan(GraphWriter& w, const LazyOp& n) {
  if (const auto* along = std::get_if<Axes>(&n.arg()); along != nullptr && n.op() == Ops::CONCAT)
    return concat_of(w, std::vector(n.src().begin(), n.src().end()), along->front(), n.shape());
  const ops::FormulaScope scope;
  if (std::optional<Plan> p = relu_of(w, n)) return p;
  if (std::optional<Plan> p = softmax_of(w, n)) return p;
  return join_of(w, n);
}

}  // namespace strata::onnx
