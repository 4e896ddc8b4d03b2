// Steps of graph programs: element by element.
#include <array>

#include "strata/tensor/access.h"
#include "tests/fuzz/graph_program.h"

namespace strata::oracle {

namespace {

using Tensors = GraphOp::Tensors;

/// Where a function is tame: it is given what lies there, unless the step says `raw`.
enum class Domain : std::uint8_t { all, small, positive, unit, above_one };

Tensor within(const Tensor& x, Domain domain) {
  switch (domain) {
    case Domain::small: return x.clip(-3, 3);
    case Domain::positive: return x.abs() + 0.5;
    case Domain::unit: return x.clip(-1, 1) * 0.75;
    case Domain::above_one: return x.abs() + 1.5;
    default: return x;
  }
}

bool draw_raw(Choices& c, Tensors, StepArgs& args) {
  args = {c.chance(10) ? 1 : 0};
  return true;
}

using UnaryMethod = Tensor (Tensor::*)(At) const;
GraphOp unary_op(const char* name, UnaryMethod f, Domain domain = Domain::all) {
  return {name, 1, draw_raw, [f, domain](Tensors in, const StepArgs& args) {
            return ((args[0] != 0 ? in[0] : within(in[0], domain)).*f)(At::current());
          }};
}
#define STRATA_STEP(name, ...) unary_op(#name, &Tensor::name __VA_OPT__(, Domain::) __VA_ARGS__)

GraphFamily plain_unary() {
  return {10,
          {STRATA_STEP(neg), STRATA_STEP(abs), STRATA_STEP(sign), STRATA_STEP(square), STRATA_STEP(sqrt, positive),
           STRATA_STEP(reciprocal, positive), STRATA_STEP(exp, small), STRATA_STEP(log, positive), STRATA_STEP(relu),
           STRATA_STEP(sigmoid), STRATA_STEP(tanh), STRATA_STEP(sin), STRATA_STEP(floor), STRATA_STEP(logical_not)}};
}
GraphFamily rare_unary() {
  return {5,
          {STRATA_STEP(rsqrt, positive),
           STRATA_STEP(exp2, small),
           STRATA_STEP(expm1, small),
           STRATA_STEP(log2, positive),
           STRATA_STEP(log10, positive),
           STRATA_STEP(log1p, positive),
           STRATA_STEP(cos),
           STRATA_STEP(tan, unit),
           STRATA_STEP(asin, unit),
           STRATA_STEP(acos, unit),
           STRATA_STEP(atan),
           STRATA_STEP(sinh, small),
           STRATA_STEP(cosh, small),
           STRATA_STEP(asinh),
           STRATA_STEP(acosh, above_one),
           STRATA_STEP(atanh, unit),
           STRATA_STEP(erf),
           STRATA_STEP(erfc),
           STRATA_STEP(ceil),
           STRATA_STEP(trunc),
           STRATA_STEP(frac),
           STRATA_STEP(relu6),
           STRATA_STEP(logsigmoid),
           STRATA_STEP(silu),
           STRATA_STEP(mish),
           STRATA_STEP(selu),
           STRATA_STEP(hardsigmoid),
           STRATA_STEP(hardswish),
           STRATA_STEP(softsign),
           STRATA_STEP(tanhshrink),
           STRATA_STEP(quick_gelu),
           STRATA_STEP(isnan),
           STRATA_STEP(isinf),
           STRATA_STEP(isfinite),
           STRATA_STEP(signbit),
           STRATA_STEP(bitwise_not),
           STRATA_STEP(deg2rad)}};
}
#undef STRATA_STEP

/// A tensor, or a number: args are raw, 0 / 1 an integer / 2 quarters, the number.
bool draw_operand(Choices& c, Tensors, StepArgs& args) {
  args = {c.chance(10) ? 1 : 0, static_cast<std::int64_t>(c.weighted({6, 2, 2})),
          static_cast<std::int64_t>(c.below(13)) - 6};
  return true;
}
template <class F>
Tensor with_operand(Tensors in, const StepArgs& args, const F& f) {
  if (args[1] == 1) return f(Operand(args[2]));
  if (args[1] == 2) return f(Operand(static_cast<double>(args[2]) / 4));
  return f(Operand(in[1]));
}

using BinaryMethod = Tensor (Tensor::*)(const Operand&) const;
using Taming = Tensor (*)(const Tensor&);
Tensor as_it_is(const Tensor& x) { return x; }
Tensor away_from_0(const Tensor& x) { return x.abs() + 1; }
Tensor few_bits(const Tensor& x) { return x.clip(0, 5); }
Tensor near_0(const Tensor& x) { return x.clip(-2, 2); }

GraphOp binary_op(const char* name, BinaryMethod f, Taming left = as_it_is, Taming right = as_it_is) {
  return {name, 2, draw_operand, [=](Tensors in, const StepArgs& args) {
            const bool raw = args[0] != 0;
            const Tensor a = raw ? in[0] : left(in[0]);
            const std::array both{a, raw || args[1] != 0 ? in[1] : right(in[1])};
            return with_operand(both, args, [&](const Operand& b) { return (a.*f)(b); });
          }};
}
#define STRATA_STEP(name, ...) binary_op(#name, &Tensor::name __VA_OPT__(, ) __VA_ARGS__)

GraphFamily plain_binary() {
  return {14,
          {STRATA_STEP(add), STRATA_STEP(sub), STRATA_STEP(mul), STRATA_STEP(mul), STRATA_STEP(add),
           STRATA_STEP(div, as_it_is, away_from_0), STRATA_STEP(maximum), STRATA_STEP(minimum), STRATA_STEP(lt),
           STRATA_STEP(eq), STRATA_STEP(ge)}};
}
GraphFamily rare_binary() {
  return {6,
          {STRATA_STEP(floor_divide, as_it_is, away_from_0),
           STRATA_STEP(trunc_divide, as_it_is, away_from_0),
           STRATA_STEP(remainder, as_it_is, away_from_0),
           STRATA_STEP(fmod, as_it_is, away_from_0),
           STRATA_STEP(pow, away_from_0, near_0),
           STRATA_STEP(fmax),
           STRATA_STEP(fmin),
           STRATA_STEP(atan2),
           STRATA_STEP(hypot),
           STRATA_STEP(copysign),
           STRATA_STEP(logaddexp),
           STRATA_STEP(xlogy, as_it_is, away_from_0),
           STRATA_STEP(bitwise_and),
           STRATA_STEP(bitwise_or),
           STRATA_STEP(bitwise_xor),
           STRATA_STEP(lshift, as_it_is, few_bits),
           STRATA_STEP(rshift, as_it_is, few_bits),
           STRATA_STEP(logical_and),
           STRATA_STEP(logical_or),
           STRATA_STEP(logical_xor),
           STRATA_STEP(ne),
           STRATA_STEP(le),
           STRATA_STEP(gt)}};
}
#undef STRATA_STEP

constexpr DType kCasts[] = {dtypes::float32, dtypes::float64, dtypes::int32,   dtypes::int64,
                            dtypes::boolean, dtypes::float16, dtypes::uint8,   dtypes::int16,
                            dtypes::int8,    dtypes::uint32,  dtypes::bfloat16};

GraphFamily casts_and_choices() {
  const auto draw_cast = [](Choices& c, Tensors, StepArgs& args) {
    args = {static_cast<std::int64_t>(c.weighted({6, 3, 3, 3, 2, 1, 1, 1, 1, 1, 1}))};
    return true;
  };
  const auto draw_range = [](Choices& c, Tensors, StepArgs& args) {
    args = {-static_cast<std::int64_t>(c.below(4)), c.below(5)};
    return true;
  };
  const auto nothing = [](Choices&, Tensors, StepArgs& args) { return args.clear(), true; };
  return {7,
          {{"cast", 1, draw_cast,
            [](Tensors in, const StepArgs& args) {
              const DType to = kCasts[args[0]];
              return in[0].cast(GraphBuild::current()->in_f64 && to.is_float() ? dtypes::float64 : to);
            }},
           {"where", 3, nothing,
            [](Tensors in, const StepArgs&) { return in[0].cast(dtypes::boolean).where(in[1], in[2]); }},
           {"where_less", 3, nothing, [](Tensors in, const StepArgs&) { return (in[0] < in[1]).where(in[1], in[2]); }},
           {"masked_fill", 2, nothing,
            [](Tensors in, const StepArgs&) { return in[0].masked_fill(in[1].cast(dtypes::boolean), 2); }},
           {"clip", 1, draw_range, [](Tensors in, const StepArgs& args) { return in[0].clip(args[0], args[1]); }},
           {"lerp", 3, nothing, [](Tensors in, const StepArgs&) { return in[0].lerp(in[1], in[2]); }}}};
}

}  // namespace

std::vector<GraphFamily> element_families() {
  return {plain_unary(), rare_unary(), plain_binary(), rare_binary(), casts_and_choices()};
}

}  // namespace strata::oracle
