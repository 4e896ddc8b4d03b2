// The table of decompositions, and emit.
#include "strata/codegen/decompose.h"

#include "strata/base/fork.h"

#include <algorithm>
#include <array>

#include "strata/base/check.h"
#include "strata/base/small_vec.h"
#include "strata/codegen/formula.h"

namespace strata {
namespace formulas {
namespace {

template <FormulaValue (*F)(FormulaValue)>
UOp unary(UOpGraph& graph, std::span<const UOp> v, const OpSet& native) {
  const Writer to{graph, native};
  return F(FormulaValue(to, v[0])).uop();
}
template <FormulaValue (*F)(FormulaValue, FormulaValue)>
UOp binary(UOpGraph& graph, std::span<const UOp> v, const OpSet& native) {
  const Writer to{graph, native};
  return F(FormulaValue(to, v[0]), FormulaValue(to, v[1])).uop();
}

template <FormulaValue (*F)(FormulaValue, FormulaValue, FormulaValue)>
UOp ternary(UOpGraph& graph, std::span<const UOp> v, const OpSet& native) {
  const Writer to{graph, native};
  return F(FormulaValue(to, v[0]), FormulaValue(to, v[1]), FormulaValue(to, v[2])).uop();
}

/// `op` computed in f32, and rounded to the 16-bit dtype of the operands.
template <Ops op>
UOp through_f32(UOpGraph& graph, std::span<const UOp> v, const OpSet& native) {
  SmallVec<UOp, 4> wide;
  for (const UOp u : v) wide.push_back(graph.cast(u, dtypes::float32));
  return graph.cast(emit(graph, op, {wide.data(), wide.size()}, native), v[0].dtype().scalar());
}

UOp first(UOpGraph&, std::span<const UOp> v, const OpSet&) { return v[0]; }
FormulaValue reciprocal(FormulaValue x) { return x.like(1.0) / x; }

constexpr std::string_view kAll = "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64";
constexpr std::string_view kIntegers = "i8 i16 i32 i64 u8 u16 u32 u64";
constexpr std::string_view kFloats = "f16 bf16 f32 f64";
constexpr std::string_view kHalves = "f16 bf16";

// `ulp` is the largest error that tests/codegen/math_sweep.cpp has measured, rounded up, whether MULACC rounds once or
// twice.
// clang-format off
constexpr Decomposition kDecompositions[] = {
  {Ops::NOOP,     "itself",                          kAll,      0,    first},
  {Ops::IDIV,     "divisor made safe",               kIntegers, 0,    binary<idiv_formula>},
  {Ops::MOD,      "divisor made safe",               kIntegers, 0,    binary<mod_formula>},
  {Ops::MOD,      "x - q*y, or 2^n modulo y",        "f32",     0,    binary<float_mod_formula>},
  {Ops::MOD,      "x - q*y, or 2^n modulo y",        "f64",     0,    binary<float_mod_formula>},
  {Ops::MOD,      "in f32",                          kHalves,   0,    through_f32<Ops::MOD>},
  {Ops::FLOORDIV, "IDIV and its remainder",          kIntegers, 0,    binary<floordiv_formula>},
  {Ops::FLOORMOD, "MOD into the divisor's sign",     kIntegers, 0,    binary<floormod_formula>},
  {Ops::SHL,      "count cut to the width",          kIntegers, 0,    binary<shl_formula>},
  {Ops::SHR,      "count cut to the width",          kIntegers, 0,    binary<shr_formula>},
  {Ops::DOT4,     "byte by byte",                    "i32",     0,    ternary<dot4_formula>},
  {Ops::DOT2,     "half by half",                    "f32",     0,    ternary<dot2_formula>},
  {Ops::RECIP,    "1 / a",                           kFloats,   0,    unary<reciprocal>},
  {Ops::EXP2,     "2^n * polynomial",                "f32",     1.1,  unary<exp2_formula>},
  {Ops::EXP2,     "2^n * polynomial",                "f64",     1.1,  unary<exp2_formula>},
  {Ops::EXP2,     "in f32",                          kHalves,   0.51, through_f32<Ops::EXP2>},
  {Ops::EXP,      "2^n * polynomial",                "f32",     1.2,  unary<exp_formula>},
  {Ops::EXP,      "2^n * polynomial",                "f64",     1.2,  unary<exp_formula>},
  {Ops::EXP,      "in f32",                          kHalves,   0.51, through_f32<Ops::EXP>},
  {Ops::EXPM1,    "2^n * polynomial + (2^n - 1)",    "f32",     1.5,  unary<expm1_formula>},
  {Ops::EXPM1,    "2^n * polynomial + (2^n - 1)",    "f64",     1.9,  unary<expm1_formula>},
  {Ops::EXPM1,    "in f32",                          kHalves,   0.51, through_f32<Ops::EXPM1>},
  {Ops::LOG2,     "exponent + polynomial",           "f32",     1.3,  unary<log2_formula>},
  {Ops::LOG2,     "exponent + atanh",                "f64",     1.3,  unary<log2_formula>},
  {Ops::LOG2,     "in f32",                          kHalves,   0.51, through_f32<Ops::LOG2>},
  {Ops::LOG,      "exponent + polynomial",           "f32",     1,    unary<log_formula>},
  {Ops::LOG,      "exponent + atanh",                "f64",     1,    unary<log_formula>},
  {Ops::LOG,      "in f32",                          kHalves,   0.51, through_f32<Ops::LOG>},
  {Ops::LOG1P,    "log of 1 + a and what that lost", "f32",     1.5,  unary<log1p_formula>},
  {Ops::LOG1P,    "log of 1 + a and what that lost", "f64",     1.5,  unary<log1p_formula>},
  {Ops::LOG1P,    "in f32",                          kHalves,   0.51, through_f32<Ops::LOG1P>},
  {Ops::SIN,      "quarter turns, polynomial",       "f32",     1.1,  unary<sin_formula>},
  {Ops::SIN,      "quarter turns, polynomial",       "f64",     1,    unary<sin_formula>},
  {Ops::SIN,      "in f32",                          kHalves,   0.51, through_f32<Ops::SIN>},
  {Ops::COS,      "quarter turns, polynomial",       "f32",     1.2,  unary<cos_formula>},
  {Ops::COS,      "quarter turns, polynomial",       "f64",     1,    unary<cos_formula>},
  {Ops::COS,      "in f32",                          kHalves,   0.51, through_f32<Ops::COS>},
  {Ops::TAN,      "sine by cosine",                  "f32",     1.9,  unary<tan_formula>},
  {Ops::TAN,      "sine by cosine",                  "f64",     1.5,  unary<tan_formula>},
  {Ops::TAN,      "in f32",                          kHalves,   0.51, through_f32<Ops::TAN>},
  {Ops::ATAN,     "polynomial on [0, 1]",            "f32",     1.3,  unary<atan_formula>},
  {Ops::ATAN,     "polynomial on [0, tan(pi/8)]",    "f64",     1.9,  unary<atan_formula>},
  {Ops::ATAN,     "in f32",                          kHalves,   0.51, through_f32<Ops::ATAN>},
  {Ops::ATAN2,    "polynomial on [0, 1]",            "f32",     1.6,  binary<atan2_formula>},
  {Ops::ATAN2,    "polynomial on [0, tan(pi/8)]",    "f64",     1.9,  binary<atan2_formula>},
  {Ops::ATAN2,    "in f32",                          kHalves,   0.51, through_f32<Ops::ATAN2>},
  {Ops::TANH,     "polynomial, or by EXP",           "f32",     1.4,  unary<tanh_formula>},
  {Ops::TANH,     "polynomial, or by EXP",           "f64",     1.4,  unary<tanh_formula>},
  {Ops::TANH,     "in f32",                          kHalves,   0.51, through_f32<Ops::TANH>},
  {Ops::ERF,      "polynomial, or 1 - EXP(p)",       "f32",     1.2,  unary<erf_formula>},
  {Ops::ERF,      "polynomial, or 1 - EXP(-a^2) * p", "f64",     1.3,  unary<erf_formula>},
  {Ops::ERF,      "in f32",                          kHalves,   0.51, through_f32<Ops::ERF>},
  {Ops::POW,      "2^(y * log2 x), in two parts",    "f32",     1.3,  binary<pow_formula>},
  {Ops::POW,      "2^(y * log2 x), in two parts",    "f64",     1.2,  binary<pow_formula>},
  {Ops::POW,      "in f32",                          kHalves,   0.51, through_f32<Ops::POW>},
};
// clang-format on

using RowIndex = std::array<std::array<const Decomposition*, DType::kCount + 1>, 256>;

/// Rows by op and dtype.
RowIndex make_index() {
  RowIndex out{};
  for (const Decomposition& r : kDecompositions) {
    for (std::string_view rest = r.dtypes; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const DType dtype = dtypes::parse(rest.substr(0, end));
      const Decomposition*& cell = out[static_cast<std::size_t>(r.op)][static_cast<std::size_t>(dtype.id())];
      STRATA_ASSERT(cell == nullptr, "two rows of ", spec_name(r.op), " on ", dtype.name());
      cell = &r;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return out;
}

}  // namespace
}  // namespace formulas

const OpSet& basic_ops() {
  static const OpSet ops{Ops::ADD,   Ops::SUB,  Ops::MUL,   Ops::DIV, Ops::NEG,   Ops::ABS,   Ops::SQRT,  Ops::TRUNC,
                         Ops::FLOOR, Ops::CEIL, Ops::ROUND, Ops::MAX, Ops::MIN,   Ops::CMPLT, Ops::CMPEQ, Ops::CMPNE,
                         Ops::AND,   Ops::OR,   Ops::XOR,   Ops::NOT, Ops::WHERE, Ops::MULACC};
  return ops;
}

const OpSet& guarded_ops() {
  static const OpSet ops{Ops::IDIV, Ops::MOD, Ops::SHL, Ops::SHR};
  return ops;
}

std::span<const Decomposition> decompositions() { return formulas::kDecompositions; }

const Decomposition* find_decomposition(Ops op, DType dtype) {
  static const formulas::RowIndex index = formulas::make_index();
  return index[static_cast<std::size_t>(op)][static_cast<std::size_t>(dtype.id())];
}

UOp emit(UOpGraph& graph, Ops op, std::span<const UOp> operands, const OpSet& native) {
  if (native.has(op)) return graph.alu(op, operands);
  SmallVec<DType, 4> types;
  for (const UOp u : operands) types.push_back(u.dtype());
  result_dtype(op, {types.data(), types.size()});  // throws where op is not defined on them
  if (const Decomposition* row = find_decomposition(op, types.back())) return row->build(graph, operands, native);
  STRATA_CHECK(basic_ops().has(op), undefined, "[decompose] ", spec_name(op), " on ", types.back().name(),
               " is not native, and has no decomposition");
  return graph.alu(op, operands);
}

namespace {
const ForkHook decomposition_hook(
    ForkOrder::tables,
    [] {
      basic_ops();
      guarded_ops();
      find_decomposition(Ops::EXP, dtypes::float32);
    },
    [] {});
}  // namespace

}  // namespace strata
