#include "strata/ops/gradient.h"

#include <algorithm>
#include <array>
#include <numbers>
#include <unordered_set>

#include "strata/base/walk.h"
#include "strata/ops/operand_promotion.h"

namespace strata {

namespace {

using ops::other_axes, ops::sizes_without;

using Grads = std::vector<std::optional<LazyOp>>;

LazyOp number(const LazyOp& like, double value) {
  return LazyOp::constant(Scalar::of(like.dtype(), value), like.shape());
}
LazyOp alu(Ops op, const LazyOp& a) { return LazyOp::alu(op, {a}); }
LazyOp operator-(const LazyOp& a) { return alu(Ops::NEG, a); }
LazyOp operator*(const LazyOp& a, double b) { return a * number(a, b); }
LazyOp operator+(const LazyOp& a, double b) { return a + number(a, b); }
LazyOp less(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::CMPLT, {a, b}); }
LazyOp equal_to(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::CMPEQ, {a, b}); }
LazyOp choose(const LazyOp& condition, const LazyOp& a, const LazyOp& b) {
  return LazyOp::alu(Ops::WHERE, {condition, a, b});
}

/// MAX and MIN: dy to the operand that was chosen; half of dy to each of two equal operands; dy to both where one is
/// NaN.
Grads of_the_chosen(const LazyOp& y, const LazyOp& dy, Ops op) {
  const LazyOp &a = y.src(0), &b = y.src(1), zero = number(dy, 0), half = dy * 0.5;
  const LazyOp is_not_first = op == Ops::MAX ? less(a, b) : less(b, a),
               is_not_second = op == Ops::MAX ? less(b, a) : less(a, b), are_equal = equal_to(a, b);
  return {choose(are_equal, half, choose(is_not_first, zero, dy)),
          choose(are_equal, half, choose(is_not_second, zero, dy))};
}

LazyOp widened(const LazyOp& reduced, const LazyOp& like) { return reduced.expand(like.shape()); }

/// REDUCE_MAX and REDUCE_MIN: dy in equal parts to all elements that equal the result.
Grads of_the_extremes(const LazyOp& y, const LazyOp& dy) {
  const LazyOp& x = y.src(0);
  const LazyOp is_it = equal_to(x, widened(y, x)).cast(dy.dtype());
  const LazyOp count = LazyOp::reduce(Ops::SUM, is_it, std::get<Axes>(y.arg()));
  return {is_it * widened(dy / count, x)};
}

/// PROD: dy times the product of all other elements. Computed as such a product: y / x would be wrong where an element
/// is 0.
Grads of_product(const LazyOp& y, const LazyOp& dy) {
  const LazyOp& x = y.src(0);
  const Axes& axes = std::get<Axes>(y.arg());
  const Ints outer = sizes_without(x.shape(), axes);
  Axes order = other_axes(axes, static_cast<std::int64_t>(x.shape().size()));
  Axes back(order.size() + axes.size(), 0);
  Ints permuted;
  Int n = 1;
  for (const std::int64_t a : axes) order.push_back(a), n *= x.shape()[static_cast<std::size_t>(a)];
  for (std::size_t d = 0; d < order.size(); ++d) {
    back[static_cast<std::size_t>(order[d])] = static_cast<std::int64_t>(d);
    permuted.push_back(x.shape()[static_cast<std::size_t>(order[d])]);
  }
  Ints row = outer, column = outer, square = outer, last(outer.size(), 1), first = last;
  row.push_back(1), row.push_back(n), square.push_back(n), square.push_back(n), column.push_back(n);
  last.push_back(1), last.push_back(n), first.push_back(n), first.push_back(1);
  const LazyOp counter = LazyOp::iota(dtypes::int64, ShapeTracker::from_shape({n}));
  const LazyOp is_own = equal_to(counter.reshape(last).expand(square), counter.reshape(first).expand(square));
  const LazyOp others = x.permute(order).reshape(row).expand(square);
  const auto axis = static_cast<std::int64_t>(outer.size()) + 1;
  const LazyOp product = LazyOp::reduce(Ops::PROD, choose(is_own, number(others, 1), others), {axis});
  return {widened(dy, x) * product.reshape(column).reshape(permuted).permute(back)};
}

Grads of_expand(const LazyOp& y, const LazyOp& dy) {
  Axes axes;
  for (std::size_t d = 0; d < y.shape().size(); ++d)
    if (!(y.shape()[d] == y.src(0).shape()[d])) axes.push_back(static_cast<std::int64_t>(d));
  return {LazyOp::reduce(Ops::SUM, dy, axes)};
}

Grads of_permute(const LazyOp& y, const LazyOp& dy) {
  const Axes& order = std::get<Axes>(y.arg());
  Axes back(order.size(), 0);
  for (std::size_t d = 0; d < order.size(); ++d)
    back[static_cast<std::size_t>(order[d])] = static_cast<std::int64_t>(d);
  return {dy.permute(back)};
}

Grads of_pad(const LazyOp& y, const LazyOp& dy) {
  const Padding& padding = std::get<Padding>(y.arg());
  Mask inner;
  for (std::size_t d = 0; d < padding.size(); ++d)
    inner.push_back({padding[d].first, padding[d].first + y.src(0).shape()[d]});
  return {dy.shrink(inner)};
}

Grads of_shrink(const LazyOp& y, const LazyOp& dy) {
  const Mask& bounds = std::get<Mask>(y.arg());
  Padding around;
  for (std::size_t d = 0; d < bounds.size(); ++d)
    around.push_back({bounds[d].begin, y.src(0).shape()[d] - bounds[d].end});
  // The sum of a symbolic size's parts may be written in another way than the size.
  const LazyOp padded = dy.pad(around);
  const Ints& shape = y.src(0).shape();
  return {padded.shape() == shape ? padded : padded.reshape(shape)};
}

/// STRIDE: the elements of dy at their original distance, with zeros between; flipped axes are flipped back.
Grads of_stride(const LazyOp& y, const LazyOp& dy) {
  const Ints& steps = std::get<Ints>(y.arg());
  Axes turned;
  LazyOp out = dy;
  for (std::size_t d = 0; d < steps.size(); ++d) {
    const std::int64_t step = steps[d].value();
    if (step < 0) turned.push_back(static_cast<std::int64_t>(d));
    const Int apart = step < 0 ? -step : step;
    if (apart == Int(1)) continue;
    const Int size = y.src(0).shape()[d], count = out.shape()[d];
    Ints split, merged = out.shape();
    Padding gaps;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      split.push_back(out.shape()[k]), gaps.push_back({0, 0});
      if (k == d) split.push_back(1), gaps.push_back({0, apart - Int(1)});
    }
    merged[d] = count * apart;
    out = out.reshape(split).pad(gaps).reshape(merged);
    Mask bounds;
    Padding around;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const bool is_longer = k == d && known(is_less(size, merged[k])), is_shorter = k == d && !is_longer;
      bounds.push_back({0, is_longer ? size : merged[k]});
      around.push_back({0, is_shorter ? size - merged[k] : Int(0)});
    }
    out = out.shrink(bounds).pad(around);
  }
  return {out.flip(turned)};
}

Grads of_parts(const LazyOp& y, const LazyOp& dy) {
  Grads out;
  const auto* along = std::get_if<Axes>(&y.arg());
  const auto axis = along == nullptr ? 0 : static_cast<std::size_t>(along->front());
  Mask bounds;
  for (const Int& size : y.shape()) bounds.push_back({0, size});
  Int begin = 0;
  for (const LazyOp& part : y.src()) {
    const Int end = begin + (along == nullptr ? product(part.shape()) : part.shape()[axis]);
    bounds[axis] = {begin, end};
    out.push_back(dy.shrink(bounds).reshape(part.shape()));
    begin = end;
  }
  return out;
}

/// GATHER: dy at the gathered places, 0 elsewhere.
Grads of_gather(const LazyOp& y, const LazyOp& dy) {
  const LazyOp& index = y.src(1);
  const Ints& shape = y.src(0).shape();
  Ints column = index.shape(), row(index.shape().size(), 1);
  column.push_back(1), row.push_back(shape.back());
  const LazyOp counter = LazyOp::iota(dtypes::int64, ShapeTracker::from_shape({shape.back()}));
  const LazyOp is_it =
      equal_to(index.cast(dtypes::int64).reshape(column).expand(shape), counter.reshape(row).expand(shape));
  const LazyOp spread = dy.reshape(column).expand(shape);
  return {choose(is_it, spread, number(spread, 0)), std::nullopt};
}

/// The gradients that the user's function computes, one for each source behind the value.
Grads of_custom_grad(const LazyOp& y, const LazyOp& dy) {
  const std::vector<LazyOp> by_inputs = std::get<IdentityArg>(y.arg()).backward->gradients(dy);
  STRATA_CHECK(by_inputs.size() + 1 == y.src().size(), domain, "[gradient] ", by_inputs.size(), " gradients for ",
               y.src().size() - 1, " inputs");
  Grads out = {std::nullopt};
  for (std::size_t k = 0; k < by_inputs.size(); ++k) {
    const LazyOp& x = y.src(k + 1);
    STRATA_CHECK(by_inputs[k].shape() == x.shape() && by_inputs[k].dtype() == x.dtype(), shape,
                 "[gradient] a gradient of ", by_inputs[k].dtype().name(), " ", render(by_inputs[k].shape()),
                 " for an input of ", x.dtype().name(), " ", render(x.shape()));
    out.push_back(by_inputs[k]);
  }
  return out;
}

Grads of_power(const LazyOp& y, const LazyOp& dy) {
  const LazyOp &a = y.src(0), &b = y.src(1), zero = number(a, 0);
  const LazyOp by_a = choose(equal_to(b, zero), zero, dy * b * LazyOp::alu(Ops::POW, {a, b + -1.0}));
  // 0^b is constant 0 around a b above 0, so its derivative by b is 0, although log(0) is infinite.
  const LazyOp is_zero =
      LazyOp::alu(Ops::AND, {equal_to(a, zero), LazyOp::alu(Ops::OR, {less(zero, b), equal_to(zero, b)})});
  const LazyOp by_b = choose(is_zero, zero, dy * y * alu(Ops::LOG, choose(is_zero, number(a, 1), a)));
  return {by_a, by_b};
}

using L = const LazyOp&;
const LazyOp& a(L y) { return y.src(0); }
const LazyOp& b(L y) { return y.src(1); }
constexpr double kLn2 = std::numbers::ln2;
const double kErf = 2 * std::numbers::inv_sqrtpi;

// clang-format off
const std::array kRules = {
  GradientRule{Ops::NOOP,          "dy",                      [](L, L dy) -> Grads { return {dy}; }},
  GradientRule{Ops::REQUIRES_GRAD, "dy",                      [](L, L dy) -> Grads { return {dy}; }},
  GradientRule{Ops::CUSTOM_GRAD,   "the user's",              of_custom_grad},
  GradientRule{Ops::NEG,           "-dy",                     [](L, L dy) -> Grads { return {-dy}; }},
  GradientRule{Ops::ABS,           "dy*sign(a)",              [](L y, L dy) -> Grads { const LazyOp zero = number(dy, 0);
                                                              return {choose(less(zero, a(y)), dy, choose(less(a(y), zero), -dy, zero))}; }},
  GradientRule{Ops::RECIP,         "-dy*y*y",                 [](L y, L dy) -> Grads { return {-dy * y * y}; }},
  GradientRule{Ops::SQRT,          "dy/(2*y)",                [](L y, L dy) -> Grads { return {dy / (y * 2.0)}; }},
  GradientRule{Ops::EXP2,          "dy*y*ln(2)",              [](L y, L dy) -> Grads { return {dy * y * kLn2}; }},
  GradientRule{Ops::LOG2,          "dy/(a*ln(2))",            [](L y, L dy) -> Grads { return {dy / (a(y) * kLn2)}; }},
  GradientRule{Ops::EXP,           "dy*y",                    [](L y, L dy) -> Grads { return {dy * y}; }},
  GradientRule{Ops::LOG,           "dy/a",                    [](L y, L dy) -> Grads { return {dy / a(y)}; }},
  GradientRule{Ops::EXPM1,         "dy*(y+1)",                [](L y, L dy) -> Grads { return {dy * (y + 1.0)}; }},
  GradientRule{Ops::LOG1P,         "dy/(a+1)",                [](L y, L dy) -> Grads { return {dy / (a(y) + 1.0)}; }},
  GradientRule{Ops::SIN,           "dy*cos(a)",               [](L y, L dy) -> Grads { return {dy * alu(Ops::COS, a(y))}; }},
  GradientRule{Ops::COS,           "-dy*sin(a)",              [](L y, L dy) -> Grads { return {-dy * alu(Ops::SIN, a(y))}; }},
  GradientRule{Ops::TAN,           "dy*(1+y*y)",              [](L y, L dy) -> Grads { return {dy * (y * y + 1.0)}; }},
  GradientRule{Ops::ATAN,          "dy/(1+a*a)",              [](L y, L dy) -> Grads { return {dy / (a(y) * a(y) + 1.0)}; }},
  GradientRule{Ops::TANH,          "dy*(1-y*y)",              [](L y, L dy) -> Grads { return {dy * (-(y * y) + 1.0)}; }},
  GradientRule{Ops::ERF,           "dy*exp(-a*a)*2/sqrt(pi)", [](L y, L dy) -> Grads { return {dy * alu(Ops::EXP, -(a(y) * a(y))) * kErf}; }},
  GradientRule{Ops::CAST,          "dy in a's dtype",         [](L y, L dy) -> Grads { return {dy.cast(a(y).dtype())}; }},
  GradientRule{Ops::ADD,           "dy, dy",                  [](L, L dy) -> Grads { return {dy, dy}; }},
  GradientRule{Ops::SUB,           "dy, -dy",                 [](L, L dy) -> Grads { return {dy, -dy}; }},
  GradientRule{Ops::MUL,           "dy*b, dy*a",              [](L y, L dy) -> Grads { return {dy * b(y), dy * a(y)}; }},
  GradientRule{Ops::DIV,           "dy/b, -dy*y/b",           [](L y, L dy) -> Grads { return {dy / b(y), -dy * y / b(y)}; }},
  GradientRule{Ops::MOD,           "dy, -dy*trunc(a/b)",      [](L y, L dy) -> Grads { // NOTE: a/b may be rounded up to a whole number
                                                              return {dy, -dy * alu(Ops::ROUND, (a(y) - y) / b(y))}; }},
  GradientRule{Ops::MAX,           "dy to the larger",        [](L y, L dy) { return of_the_chosen(y, dy, Ops::MAX); }},
  GradientRule{Ops::MIN,           "dy to the smaller",       [](L y, L dy) { return of_the_chosen(y, dy, Ops::MIN); }},
  GradientRule{Ops::POW,           "dy*b*a^(b-1), dy*y*log(a)", of_power},
  GradientRule{Ops::ATAN2,         "dy*b/(a*a+b*b), -dy*a/(a*a+b*b)", [](L y, L dy) -> Grads {
                                                              const LazyOp scaled = dy / (a(y) * a(y) + b(y) * b(y));
                                                              return {scaled * b(y), -scaled * a(y)}; }},
  GradientRule{Ops::WHERE,         "0, dy where a, dy where not", [](L y, L dy) -> Grads { const LazyOp zero = number(dy, 0);
                                                              return {std::nullopt, choose(a(y), dy, zero), choose(a(y), zero, dy)}; }},
  GradientRule{Ops::MULACC,        "dy*b, dy*a, dy",          [](L y, L dy) -> Grads { return {dy * b(y), dy * a(y), dy}; }},
  GradientRule{Ops::SUM,           "dy, expanded",            [](L y, L dy) -> Grads { return {widened(dy, a(y))}; }},
  GradientRule{Ops::PROD,          "dy times the others",     of_product},
  GradientRule{Ops::REDUCE_MAX,    "dy to the largest, in equal parts", of_the_extremes},
  GradientRule{Ops::REDUCE_MIN,    "dy to the smallest, in equal parts", of_the_extremes},
  GradientRule{Ops::ASSOCIATIVE_SCAN, "a scan of dy from the end", ops::scan_gradients},
  GradientRule{Ops::RESHAPE,       "dy, reshaped",            [](L y, L dy) -> Grads { return {dy.reshape(a(y).shape())}; }},
  GradientRule{Ops::PERMUTE,       "dy, permuted back",       of_permute},
  GradientRule{Ops::EXPAND,        "the sum of dy",           of_expand},
  GradientRule{Ops::PAD,           "dy, shrunk",              of_pad},
  GradientRule{Ops::SHRINK,        "dy, padded",              of_shrink},
  GradientRule{Ops::STRIDE,        "dy with zeros between",   of_stride},
  GradientRule{Ops::FROM,          "dy, copied back",         [](L y, L dy) -> Grads {
    Grads out(y.src().size());
    out[0] = dy.copied();
    return out;
  }},
  GradientRule{Ops::CONTIGUOUS,    "dy",                      [](L, L dy) -> Grads { return {dy}; }},
  GradientRule{Ops::CONCAT,        "the parts of dy",         of_parts},
  GradientRule{Ops::GATHER,        "dy where b says",         of_gather},
  GradientRule{Ops::SCATTER,       "dy, dy from where b says", ops::scatter_gradients},
  GradientRule{Ops::SCAN,          "a loop from the end",     ops::loop_gradients},
};
// clang-format on

const GradientRule* rule_of(Ops op) {
  const auto it = std::find_if(kRules.begin(), kRules.end(), [&](const GradientRule& r) { return r.op == op; });
  return it == kRules.end() ? nullptr : &*it;
}

/// The tracked nodes below `ys`, these included, sources first; nothing below a node of `leaves`.
std::vector<LazyOp> tracked_below(std::span<const LazyOp> ys, const std::unordered_set<const LazyNode*>& leaves) {
  std::vector<LazyOp> out;
  std::unordered_set<const LazyNode*> seen;
  const auto source = [&](const LazyOp* n, std::size_t k) {
    return k < n->src().size() && !leaves.contains(n->node()) ? &n->src()[k] : nullptr;
  };
  for (const LazyOp& y : ys)
    detail::walk(
        &y, [&](const LazyOp* n) { return n->is_tracked() && seen.insert(n->node()).second; }, source,
        [&](const LazyOp* n) { out.push_back(*n); });
  return out;
}

/// The nodes that depend on a node of `xs`, or are one. `nodes`: sources first.
std::unordered_set<const LazyNode*> leading_to(std::span<const LazyOp> xs, std::span<const LazyOp> nodes) {
  std::unordered_set<const LazyNode*> out;
  for (const LazyOp& x : xs) out.insert(x.node());
  for (const LazyOp& n : nodes)
    if (std::any_of(n.src().begin(), n.src().end(), [&](const LazyOp& s) { return out.contains(s.node()); }))
      out.insert(n.node());
  return out;
}

using GradientOf = std::unordered_map<const LazyNode*, LazyOp>;

void add_gradient(GradientOf& to, const LazyOp& n, const LazyOp& dn) {
  const auto [at, is_new] = to.try_emplace(n.node(), dn);
  if (!is_new) at->second = at->second + dn;
}

/// backpropagate(), of nodes that lead to `xs` alone where these are given.
/// @param leaves nodes whose gradient does not flow on
GradientOf propagated(std::span<const LazyOp> ys, std::span<const LazyOp> dys,
                      std::optional<std::span<const LazyOp>> xs,
                      const std::unordered_set<const LazyNode*>& leaves = {}) {
  GradientOf out;
  const std::vector<LazyOp> nodes = tracked_below(ys, leaves);
  const std::unordered_set<const LazyNode*> leading =
      xs ? leading_to(*xs, nodes) : std::unordered_set<const LazyNode*>();
  const auto is_needed = [&](const LazyOp& n) { return n.is_tracked() && (!xs || leading.contains(n.node())); };
  for (std::size_t k = 0; k < ys.size(); ++k)
    if (ys[k].is_tracked()) add_gradient(out, ys[k], dys[k]);
  for (std::size_t k = nodes.size(); k-- > 0;) {
    const LazyOp& n = nodes[k];
    const auto known = out.find(n.node());
    const GradientRule* rule = rule_of(n.op());
    if (known == out.end() || rule == nullptr || leaves.contains(n.node())) continue;
    if (std::none_of(n.src().begin(), n.src().end(), is_needed)) continue;
    const LazyOp by_n = known->second;
    const Grads by_sources = rule->gradients(n, by_n);
    for (std::size_t s = 0; s < n.src().size(); ++s) {
      const LazyOp& source = n.src(s);
      if (by_sources[s] && is_needed(source) && source.dtype().is_float()) add_gradient(out, source, *by_sources[s]);
    }
  }
  return out;
}

}  // namespace

std::span<const GradientRule> gradient_rules() { return kRules; }

std::unordered_map<const LazyNode*, LazyOp> backpropagate(const LazyOp& y, const LazyOp& dy) {
  return propagated({&y, 1}, {&dy, 1}, std::nullopt);
}
std::unordered_map<const LazyNode*, LazyOp> backpropagate(const LazyOp& y, const LazyOp& dy,
                                                          std::span<const LazyOp> xs) {
  return propagated({&y, 1}, {&dy, 1}, xs);
}
std::vector<std::optional<LazyOp>> backpropagate_to(std::span<const LazyOp> xs, std::span<const LazyOp> ys,
                                                    std::span<const LazyOp> dys) {
  std::unordered_set<const LazyNode*> leaves;
  for (const LazyOp& x : xs) leaves.insert(x.node());
  const GradientOf all = propagated(ys, dys, xs, leaves);
  std::vector<std::optional<LazyOp>> out;
  for (const LazyOp& x : xs) {
    const auto known = all.find(x.node());
    out.push_back(known == all.end() ? std::nullopt : std::optional(known->second));
  }
  return out;
}

}  // namespace strata
