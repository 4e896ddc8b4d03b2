// Operations that ONNX has and that are several nodes in a graph of tensors: Relu, Softmax, Concat, TopK. Nodes are
// hash-consed, so that a guess is checked by making the operation again: it is the same node, or the guess was wrong.
#include <algorithm>
#include <unordered_set>

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

constexpr std::size_t kMostCandidates = 128;  // tensors that may be the rows of a sort
constexpr std::size_t kMostWalked = 4096;

/// The tensors below `n` that may be the rows of a sort that chose `n`.
std::vector<LazyOp> sorted_candidates(const LazyOp& n) {
  std::vector<LazyOp> out;
  std::unordered_set<const LazyNode*> seen;
  std::vector<LazyOp> open = {n};
  const std::size_t rank = n.shape().size();
  while (!open.empty() && seen.size() < kMostWalked && out.size() < kMostCandidates) {
    const LazyOp at = open.back();
    open.pop_back();
    if (!seen.insert(at.node()).second) continue;
    bool fits = !(at == n) && at.shape().size() == rank && !at.node()->is_closed;
    for (std::size_t d = 0; fits && d + 1 < rank; ++d) fits = at.shape()[d] == n.shape()[d];
    fits = fits && at.shape().back().is_number() && at.shape().back().value() >= n.shape().back().value();
    if (fits && !at.dtype().is_bool()) out.push_back(at);
    if (!is_realized(*at.node()))
      for (const LazyOp& s : needed(*at.node())) open.push_back(s);
  }
  // Keys of floats are integers that sort in the same way: the floats come first.
  std::partition(out.begin(), out.end(), [](const LazyOp& x) { return x.dtype().is_float(); });
  return out;
}

/// The indices that sort rows, or those of their first elements.
std::optional<Plan> sort_of(GraphWriter& w, const LazyOp& n) {
  constexpr DTypes kTaken = kFloats | kSignedInts | kUnsignedInts;
  const std::size_t rank = n.shape().size();
  if (n.dtype() != dtypes::int64 || rank == 0 || !n.shape().back().is_number() || n.shape().back().value() < 1)
    return std::nullopt;
  const bool is_short = n.op() == Ops::RESHAPE && n.src(0).op() == Ops::SUM && n.src(0).src(0).op() == Ops::WHERE;
  const bool is_long = n.op() == Ops::AND || n.op() == Ops::GATHER ||
                       (n.op() == Ops::RESHAPE && n.src(0).op() == Ops::GATHER) || n.op() == Ops::SHRINK;
  if (!is_short && !is_long) return std::nullopt;
  const std::int64_t k = n.shape().back().value();
  for (const LazyOp& x : sorted_candidates(n)) {
    for (const bool is_largest : {false, true}) {
      const Value places = Value(x).topk(k, static_cast<std::int64_t>(rank) - 1, is_largest).second;
      if (!(plain(places.node()) == n)) continue;
      const Ints shape = x.shape(), result = n.shape();
      const DType dtype = x.dtype(), by = taken_dtype(dtype, kTaken);
      return Plan{{x}, [=, &w](std::span<const Written> in) {
                    const std::vector<Written> inputs = {w.cast(w.full(in[0], shape), by), w.integers({k})};
                    return w.add_several(
                        "TopK", inputs,
                        {integer_attribute("axis", static_cast<std::int64_t>(rank) - 1),
                         integer_attribute("largest", is_largest ? 1 : 0), integer_attribute("sorted", 1)},
                        {{by, result}, {dtypes::int64, result}})[1];
                  }};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Plan> pattern_plan(GraphWriter& w, const LazyOp& n) {
  if (const auto* along = std::get_if<Axes>(&n.arg()); along != nullptr && n.op() == Ops::CONCAT)
    return concat_of(w, std::vector(n.src().begin(), n.src().end()), along->front(), n.shape());
  const ops::FormulaScope scope;
  if (std::optional<Plan> p = relu_of(w, n)) return p;
  if (std::optional<Plan> p = softmax_of(w, n)) return p;
  if (std::optional<Plan> p = join_of(w, n)) return p;
  return sort_of(w, n);
}

}  // namespace strata::onnx
