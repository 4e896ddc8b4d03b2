// Operations that work element by element. Those that ONNX has are rows of a table; the others are said by nodes that
// ONNX has, with the same values: exactly for integers and bools, and within a few ULP for floats.
#include <array>
#include <cmath>
#include <numbers>

#include "strata/base/check.h"
#include "strata/onnx/graph_writer.h"
#include "strata/ops/formula_node.h"
#include "strata/ops/value.h"

namespace strata::onnx {
namespace {

using ops::Value;

/// An operation that is one operator.
struct ElementRow {
  const char* name;
  DTypes taken;
  Ops op;
};

constexpr DTypes kBool = bit(dtypes::boolean);

// clang-format off
constexpr ElementRow kRows[] = {
    {"Abs",        kNumbers,    Ops::ABS},
    {"Reciprocal", kAllFloats,  Ops::RECIP},
    {"Sqrt",       kAllFloats,  Ops::SQRT},
    {"Floor",      kAllFloats,  Ops::FLOOR},
    {"Ceil",       kAllFloats,  Ops::CEIL},
    {"Round",      kFloats,     Ops::ROUND},
    {"Exp",        kAllFloats,  Ops::EXP},
    {"Log",        kAllFloats,  Ops::LOG},
    {"Sin",        kFloats,     Ops::SIN},
    {"Cos",        kFloats,     Ops::COS},
    {"Tan",        kFloats,     Ops::TAN},
    {"Atan",       kFloats,     Ops::ATAN},
    {"Tanh",       kAllFloats,  Ops::TANH},
    {"Erf",        kAllFloats,  Ops::ERF},
    {"Sub",        kNumbers,    Ops::SUB},
    {"Div",        kAllFloats,  Ops::DIV},
    {"Pow",        kAllFloats,  Ops::POW},
};
/// Operations that are another operator for bools.
struct BinaryRow {
  Ops op;
  const char *name, *of_bools;
};
constexpr BinaryRow kBinary[] = {
    {Ops::ADD, "Add", "Or"},
    {Ops::MUL, "Mul", "And"},
    {Ops::MAX, "Max", "Or"},
    {Ops::MIN, "Min", "And"},
    {Ops::AND, nullptr, "And"},
    {Ops::OR,  nullptr, "Or"},
    {Ops::XOR, nullptr, "Xor"},
};
// clang-format on

Plan as_operator(GraphWriter& w, const LazyOp& n, const char* name, DTypes taken,
                 const std::vector<Attribute>& attributes = {}) {
  const DType result = n.dtype();
  return {{n.src().begin(), n.src().end()}, [&w, name, taken, result, attributes](std::span<const Written> in) {
            return w.elementwise(name, in, taken, result, attributes);
          }};
}

Plan said_by(GraphWriter& w, const Value& v) { return alias_of(w, v.node()); }

bool is_constant(const LazyOp& n, std::int64_t number) {
  const std::optional<Scalar> value = value_of(n);
  return value && *value == Scalar::of(n.dtype(), number);
}

/// Whether a divisor is not 0: a constant, or where(d == 0, 1, d).
bool is_safe_divisor(const LazyOp& d) {
  if (const std::optional<Scalar> value = value_of(d)) return !(*value == Scalar::of(d.dtype(), std::int64_t{0}));
  const auto range = range_of(d);
  if (range && (range->first > 0 || range->second < 0)) return true;
  if (d.op() != Ops::WHERE || !is_constant(d.src(1), 1) || d.src(0).op() != Ops::CMPEQ) return false;
  return d.src(0).src(0) == d.src(2) && is_constant(d.src(0).src(1), 0);
}

/// Divisions of integers: by 0 they are 0 in Strata, and undefined in ONNX.
Plan integer_division(GraphWriter& w, const LazyOp& n) {
  const Value a(n.src(0)), b(n.src(1));
  if (!is_safe_divisor(n.src(1))) {
    const Value safe = b.eq(0).where(1, b);
    return said_by(w, b.eq(0).where(0, Value(LazyOp::alu(n.op(), {a.node(), safe.node()}))));
  }
  switch (n.op()) {
    case Ops::IDIV: return as_operator(w, n, "Div", kNumbers);
    case Ops::MOD: return as_operator(w, n, "Mod", kNumbers, {integer_attribute("fmod", 1)});
    case Ops::FLOORMOD: return as_operator(w, n, "Mod", kNumbers);
    default: break;
  }
  const Value quotient(LazyOp::alu(Ops::IDIV, {a.node(), b.node()}));
  const auto range_a = range_of(n.src(0)), range_b = range_of(n.src(1));
  if (n.dtype().is_unsigned() || (range_a && range_b && range_a->first >= 0 && range_b->first > 0))
    return said_by(w, quotient);
  const Value rest = a.sub(quotient.mul(b));
  const Value is_above = rest.ne(0) & rest.lt(0).ne(b.lt(0));
  return said_by(w, quotient.sub(is_above.cast(n.dtype())));
}

DType unsigned_of(DType d) {
  switch (d.itemsize()) {
    case 1: return dtypes::uint8;
    case 2: return dtypes::uint16;
    case 4: return dtypes::uint32;
    default: return dtypes::uint64;
  }
}

/// Shifts: ONNX has them for unsigned integers, by less than their bits.
Plan shift(GraphWriter& w, const LazyOp& n) {
  const Value a(n.src(0)), b(n.src(1));
  const DType d = n.dtype(), u = unsigned_of(d);
  const auto shifted = [&](const Value& x, const Value& by) {
    return Value(LazyOp::alu(n.op(), {x.node(), by.node()}));
  };
  if (d.is_unsigned()) {
    const auto bits = static_cast<std::int64_t>(d.itemsize()) * 8;
    const auto is_small = [&](const LazyOp& by) {
      const std::optional<Scalar> value = value_of(by);
      return value && value->as_uint() < static_cast<std::uint64_t>(bits);
    };
    const LazyOp& by = n.src(1);
    if (!is_small(by) && !(by.op() == Ops::MIN && (is_small(by.src(0)) || is_small(by.src(1)))))
      return said_by(w, b.lt(bits).where(shifted(a, b.minimum(bits - 1)), 0));
    return as_operator(w, n, "BitShift", kUnsignedInts,
                       {text_attribute("direction", n.op() == Ops::SHL ? "LEFT" : "RIGHT")});
  }
  const Value up = a.cast(u), by = b.cast(u);
  if (n.op() == Ops::SHL) return said_by(w, shifted(up, by).cast(d));
  const Value is_below = a.lt(0), rest = is_below.where(a.bitwise_not(), a);
  const Value down = shifted(rest.cast(u), by).cast(d);
  return said_by(w, is_below.where(down.bitwise_not(), down));
}

/// AND of integers by a constant of low bits, or of one bit.
std::optional<Plan> mask_of_bits(GraphWriter& w, const LazyOp& n) {
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    const std::optional<Scalar> value = value_of(n.src(k));
    if (!value || n.op() != Ops::AND) continue;
    const std::uint64_t mask = value->bits(), all = unsigned_of(n.dtype()) == dtypes::uint64
                                                        ? ~std::uint64_t{0}
                                                        : (std::uint64_t{1} << (n.dtype().itemsize() * 8)) - 1;
    const Value x(n.src(1 - k));
    if (mask == 0) return said_by(w, x * 0);
    if (mask == all) return said_by(w, x);
    const std::uint64_t most = n.dtype().is_unsigned() ? all : all >> 1;
    if ((mask & (mask + 1)) == 0) {
      if (mask == most && !n.dtype().is_unsigned())
        return said_by(w, x.lt(0).where(x - Number(Scalar::from_bits(n.dtype(), most + 1)), x));
      return said_by(w, x.remainder(Number(Scalar::from_bits(n.dtype(), mask + 1))));
    }
    if ((mask & (mask - 1)) == 0 && mask < (most >> 1)) {
      const Number one(Scalar::from_bits(n.dtype(), mask)), two(Scalar::from_bits(n.dtype(), mask * 2));
      return said_by(w, x.remainder(two).ge(one).where(one, x.zeros_like()));
    }
  }
  return std::nullopt;
}

/// True where x is negative or -0. The sign of NaN is lost.
Value is_negative(const Value& x) { return x.lt(0) | (x.eq(0) & x.reciprocal().lt(0)); }

Value expm1_of(const Value& x) {
  const Value half = (x * 0.5).tanh(), near = (half * 2).div(1 - half);
  return x.abs().lt(1).where(near, x.exp() - 1);
}
/// log(1 + x), corrected for the rounding of 1 + x.
Value log1p_of(const Value& x) {
  const Value sum = x + 1, rest = sum - 1;
  const Value plain_one = sum.log();
  return (rest.eq(0) | sum.isinf() | sum.eq(0)).where(rest.eq(0).where(x, plain_one), plain_one.mul(x.div(rest)));
}
Value atan2_of(const Value& y, const Value& x) {
  const Value both = x.isinf() & y.isinf();
  const Value one = both.where(1, y.abs()), other = both.where(1, x.abs());
  const Value is_origin = one.eq(0) & other.eq(0);
  const Value first = is_origin.where(0, one.div(is_origin.where(1, other)).atan());
  const Value angle = is_negative(x).where(std::numbers::pi - first, first);
  return (x.isnan() | y.isnan()).where(x.add(y), is_negative(y).where(-angle, angle));
}

/// f(x...) in floats of twice the width where there are any.
template <class F, class... X>
Value widely(const F& f, const X&... x) {
  const DType d = std::get<0>(std::tie(x...)).dtype();
  if (d == dtypes::float64) return f(x...);
  return f(x.cast(d.itemsize() == 2 ? dtypes::float32 : dtypes::float64)...).cast(d);
}

/// A formula of Strata, as what ONNX has for it.
struct FormulaRow {
  Value (*f)(const Value& x);
  const char* name;  ///< the operator; null: `said`
  Value (*said)(const Value& x) = nullptr;
  DTypes taken = kFloats;
  bool is_wide = false;  ///< `said` loses digits: it is computed in floats of twice the width
};

Value gelu_of(const Value& x) { return x.mul((x * std::numbers::sqrt2 / 2).erf() + 1) * 0.5; }
Value tanh_gelu_of(const Value& x) {
  return x.mul((x.add(x.mul(x).mul(x) * 0.044715) * 0.7978845608028654).tanh() + 1) * 0.5;
}

// clang-format off
constexpr FormulaRow kFormulas[] = {
    {[](const Value& x) { return x.sigmoid(); },       "Sigmoid", nullptr, kAllFloats},
    {[](const Value& x) { return x.asin(); },          "Asin"},
    {[](const Value& x) { return x.acos(); },          "Acos"},
    {[](const Value& x) { return x.sinh(); },          "Sinh"},
    {[](const Value& x) { return x.cosh(); },          "Cosh"},
    {[](const Value& x) { return x.asinh(); },         "Asinh"},
    {[](const Value& x) { return x.acosh(); },         "Acosh"},
    {[](const Value& x) { return x.atanh(); },         "Atanh"},
    {[](const Value& x) { return x.silu(); },          nullptr, [](const Value& x) { return x.mul(x.sigmoid()); }},
    {[](const Value& x) { return x.gelu(); },          nullptr, gelu_of},
    {[](const Value& x) { return x.gelu(true); },      nullptr, tanh_gelu_of},
    {[](const Value& x) { return x.quick_gelu(); },    nullptr, [](const Value& x) { return x.mul((x * 1.702).sigmoid()); }},
    {[](const Value& x) { return x.logsigmoid(); },    nullptr, [](const Value& x) { return x.minimum(0).sub(log1p_of((-x.abs()).exp())); }, kFloats, true},
    {[](const Value& x) { return x.mish(); },          nullptr, [](const Value& x) { return x.mul(x.maximum(0).add(log1p_of((-x.abs()).exp())).tanh()); }, kFloats, true},
    {[](const Value& x) { return x.tanhshrink(); },    nullptr, [](const Value& x) { return x.sub(x.tanh()); }, kFloats, true},
    {[](const Value& x) { return x.erfc(); },          nullptr, [](const Value& x) { return 1 - x.erf(); }, kFloats, true},
    {[](const Value& x) { return x.ndtr(); },          nullptr, [](const Value& x) { return ((x * std::numbers::sqrt2 / 2).erf() + 1) * 0.5; }, kFloats, true},
    {[](const Value& x) { return x.log10(); },         nullptr, [](const Value& x) { return x.log() / std::numbers::ln10; }, kFloats, true},
};
// clang-format on

std::optional<Plan> formula_plan(GraphWriter& w, const LazyOp& n) {
  constexpr int kMostExact = 16;  // the largest whole power that is a formula
  const ops::FormulaScope scope;
  const Value base(n.src(0));
  for (int power = 4; power <= kMostExact; ++power)
    if (plain(base.pow(power).node()) == n)
      return said_by(w, LazyOp::alu(Ops::POW, {base.node(), base.full_like(power).node()}));
  for (const FormulaRow& row : kFormulas) {
    if (!(plain(row.f(Value(n.src(0))).node()) == n)) continue;
    if (row.name == nullptr) return said_by(w, widely(row.said, Value(n.src(0))));
    return as_operator(w, n, row.name, row.taken);
  }
  return std::nullopt;
}

std::optional<Plan> comparison(GraphWriter& w, const LazyOp& n) {
  const LazyOp &a = n.src(0), &b = n.src(1);
  switch (n.op()) {
    case Ops::CMPLT:
      if (a.op() == Ops::BITCAST && a.dtype().is_signed_int() && a.src(0).dtype().is_float() && is_constant(b, 0))
        return said_by(w, is_negative(Value(a.src(0))));
      if (a.dtype().is_bool()) return said_by(w, Value(a).logical_not() & Value(b));
      return as_operator(w, n, "Less", kNumbers);
    case Ops::CMPEQ: return as_operator(w, n, "Equal", kEverything);
    case Ops::CMPNE: return said_by(w, Value(LazyOp::alu(Ops::CMPEQ, {a, b})).logical_not());
    default: return std::nullopt;
  }
}

std::optional<Plan> of_rows(GraphWriter& w, const LazyOp& n) {
  for (const ElementRow& row : kRows)
    if (row.op == n.op()) return as_operator(w, n, row.name, row.taken);
  for (const BinaryRow& row : kBinary) {
    if (row.op != n.op()) continue;
    if (n.dtype().is_bool()) return as_operator(w, n, row.of_bools, kBool);
    if (row.name != nullptr) return as_operator(w, n, row.name, kNumbers);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Plan> elementwise_plan(GraphWriter& w, const LazyOp& n) {
  if (n.op() == Ops::FORMULA) return formula_plan(w, n);
  if (!is_elementwise(n.op())) return std::nullopt;
  if (std::optional<Plan> p = of_rows(w, n)) return p;
  if (std::optional<Plan> p = comparison(w, n)) return p;
  const DType d = n.dtype();
  const Value x(n.src(0));
  switch (n.op()) {
    case Ops::NEG:
      if (d.is_unsigned()) return said_by(w, x.zeros_like().sub(x));
      return as_operator(w, n, "Neg", kAllFloats | kSignedInts);
    case Ops::NOT:
      if (d.is_bool()) return as_operator(w, n, "Not", kBool);
      return said_by(w, x.full_like(Number(Scalar::from_bits(d, ~std::uint64_t{0}))).sub(x));
    case Ops::TRUNC: return said_by(w, x.lt(0).where(x.ceil(), x.floor()));
    case Ops::EXP2: return said_by(w, widely([](const Value& v) { return ops::pow(v.full_like(2), v); }, x));
    case Ops::LOG2: return said_by(w, widely([](const Value& v) { return v.log() / std::numbers::ln2; }, x));
    case Ops::EXPM1: return said_by(w, widely(expm1_of, x));
    case Ops::LOG1P: return said_by(w, widely(log1p_of, x));
    case Ops::ATAN2: return said_by(w, widely(atan2_of, x, Value(n.src(1))));
    case Ops::CAST: return Plan{{n.src(0)}, [&w, d](std::span<const Written> in) { return w.cast(in[0], d); }};
    case Ops::BITCAST:
      if (d.is_float() || n.src(0).dtype().is_float() || d.is_bool() || n.src(0).dtype().is_bool()) return std::nullopt;
      return Plan{{n.src(0)}, [&w, d](std::span<const Written> in) { return w.cast(in[0], d); }};
    case Ops::IDIV:
    case Ops::FLOORDIV:
    case Ops::FLOORMOD: return integer_division(w, n);
    case Ops::MOD:
      if (!d.is_float()) return integer_division(w, n);
      return as_operator(w, n, "Mod", kFloats, {integer_attribute("fmod", 1)});
    case Ops::SHL:
    case Ops::SHR: return shift(w, n);
    case Ops::AND: return mask_of_bits(w, n);
    case Ops::WHERE:
      return Plan{{n.src().begin(), n.src().end()},
                  [&w, d](std::span<const Written> in) { return w.add("Where", in, {}, d, broadcast_of(in)); }};
    case Ops::MULACC: return said_by(w, x.mul(Value(n.src(1))).add(Value(n.src(2))));
    default: return std::nullopt;
  }
}

}  // namespace strata::onnx
