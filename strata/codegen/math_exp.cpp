// EXP2, EXP, EXPM1, TANH, ERF: range reduction to a power of two and a small remainder, and a polynomial of the
// remainder. The coefficients are printed by tests/codegen/remez.py.
#include <span>

#include "strata/codegen/formula.h"

namespace strata::formulas {
namespace {

/// The constants of the formulas for one dtype.
struct ExpNumbers {
  double least_log2, most_log2;  ///< 2^a is 0 below least_log2 and infinite above most_log2
  double least_log, most_log;    ///< e^a is 0 below least_log and infinite above most_log
  double minus_one;              ///< e^a - 1 rounds to -1 below
  double itself;                 ///< e^a - 1 rounds to a for a smaller |a|
  double ln2_high, ln2_low;      ///< their sum is ln(2); ln2_high times any exponent is exact
  double tanh_one, erf_one;      ///< tanh(a) and erf(a) round to 1 above
  std::span<const double> exp2;  ///< 2^x = 1 + x * p(x), |x| <= 1/2
  std::span<const double> exp;   ///< e^x = 1 + x + x^2 * p(x), |x| <= ln(2)/2
  std::span<const double> expm1;
  std::span<const double> tanh;  ///< tanh(x) = x + x^3 * p(x^2), x <= 0.65
  std::span<const double> erf;   ///< erf(x) = x + x * p(x^2), x <= 1
  std::span<const double> erfc;  ///< f32: log(erfc(x)) on [1, 4]; f64: erfc(x) * e^(x^2) of (x - 2) / (x + 2) on [1, 6]
};

constexpr double kLog2E = 1.4426950408889634;

// clang-format off
constexpr double kExp2F32[] = {0.693147182, 0.240226507, 0.0555035919, 0.0096180737, 0.00133911474, 0.000154580266};
constexpr double kExpF32[] = {0.5, 0.166665196, 0.0416664258, 0.00836881343, 0.00139385147};
constexpr double kExpm1F32[] = {0.5, 0.166666672, 0.0416664891, 0.00833320618, 0.00139326579, 0.000199458605};
constexpr double kTanhF32[] = {-0.333332628, 0.133308977, -0.053692814, 0.0204828717, -0.00552819436};
constexpr double kErfF32[] = {0.128379166, -0.376126289, 0.112836182, -0.026855126, 0.00519073335, -0.000803075091,
                              7.92030987e-05};
constexpr double kErfcF32[] = {-0.000353610405, -1.12704051, -0.63822484, -0.103038162, 0.021805739, -0.00293972529,
                               0.000185587618};

constexpr double kExp2F64[] = {0.6931471805599453, 0.2402265069591012, 0.05550410866482261, 0.009618129107597672,
                               0.0013333558146255478, 0.00015403530453515974, 1.5252733948694196e-05,
                               1.3215436788631096e-06, 1.0178021360251113e-07, 7.073559050296913e-09,
                               4.4603513015034877e-10};
constexpr double kExpF64[] = {0.5000000000000013, 0.1666666666666667, 0.04166666666651129, 0.008333333333323895,
                              0.0013888888947966426, 0.00019841269882822727, 2.480148905998216e-05,
                              2.7557246149003353e-06, 2.7631566673752416e-07, 2.510866101217517e-08};
constexpr double kExpm1F64[] = {0.5, 0.16666666666666677, 0.04166666666666667, 0.008333333333321445,
                                0.0013888888888881291, 0.00019841269886546194, 2.480158733311822e-05,
                                2.755724382602921e-06, 2.7557265385930546e-07, 2.5109159270991212e-08,
                                2.091766576806317e-09};
constexpr double kTanhF64[] = {-0.33333333333333287, 0.13333333333325784, -0.05396825396395376, 0.02186948841315894,
                               -0.008863233464171645, 0.0035921058815093737, -0.0014556752104675375,
                               0.0005892414797732168, -0.00023643843496082962, 9.057090052025572e-05,
                               -2.921288545472275e-05, 5.62289716519882e-06};
constexpr double kErfF64[] = {0.1283791670955126, -0.37612638903184104, 0.1128379167097159, -0.026866170648161544,
                              0.005223977654287971, -0.0008548328644231471, 0.00012055390692328438,
                              -1.4927001207058833e-05, 1.6483145646556832e-06, -1.6580817425890996e-07,
                              1.6181935452795446e-08, -1.714922038580027e-09, 1.555041179323969e-10};
constexpr double kErfcF64[] = {0.25539567631050575, -0.4271858474139583, 0.2416581942424587, -0.07897858101586229,
                               0.0037328924051922563, 0.006997461762676739, -0.0008471432013014614,
                               -0.000981978118990397, 4.3549517727528444e-05, 0.00017436979923796174,
                               2.766560025661065e-05, -2.7317441280867295e-05, -1.4607769956361881e-05,
                               -1.6264122111121816e-06};
// clang-format on

const ExpNumbers& exp_numbers(FormulaValue x) {
  static const ExpNumbers f32{
      .least_log2 = -151,
      .most_log2 = 128,
      .least_log = -104,
      .most_log = 89,
      .minus_one = -20,
      .itself = 0x1p-27,
      .ln2_high = 0x1.62e4p-1,
      .ln2_low = 1.4286068203094173e-06,
      .tanh_one = 10,
      .erf_one = 4,
      .exp2 = kExp2F32,
      .exp = kExpF32,
      .expm1 = kExpm1F32,
      .tanh = kTanhF32,
      .erf = kErfF32,
      .erfc = kErfcF32,
  };
  static const ExpNumbers f64{
      .least_log2 = -1076,
      .most_log2 = 1024,
      .least_log = -746,
      .most_log = 710,
      .minus_one = -40,
      .itself = 0x1p-56,
      .ln2_high = 0x1.62e42fefa38p-1,
      .ln2_low = 5.497923018708371e-14,
      .tanh_one = 20,
      .erf_one = 6,
      .exp2 = kExp2F64,
      .exp = kExpF64,
      .expm1 = kExpm1F64,
      .tanh = kTanhF64,
      .erf = kErfF64,
      .erfc = kErfcF64,
  };
  return x.scalar() == dtypes::float32 ? f32 : f64;
}

/// a = n * ln(2) + rest, |rest| <= ln(2)/2. The low bits of `shifted` hold n + offset.
struct Reduced {
  FormulaValue shifted, rest;
};
Reduced reduce_by_ln2(FormulaValue a, int offset) {
  const ExpNumbers& k = exp_numbers(a);
  const double shift = shifter(a.dtype(), offset);
  const FormulaValue shifted = mulacc(a, kLog2E, shift);
  const FormulaValue n = shifted - shift;
  return {shifted, mulacc(n, -k.ln2_low, mulacc(n, -k.ln2_high, a))};
}

/// An odd function of x, |x| == size: `small` where size < bound, else `large`, with the sign of x.
FormulaValue odd(FormulaValue x, FormulaValue size, double bound, FormulaValue small, FormulaValue large) {
  return flip_sign(where(size < bound, small, large), sign_of(x));
}

FormulaValue erfc_of(FormulaValue a) {
  const ExpNumbers& k = exp_numbers(a);
  if (a.scalar() == dtypes::float32) return polynomial(a, k.erfc).apply(Ops::EXP);
  return (-(a * a)).apply(Ops::EXP) * polynomial((a - 2.0) / (a + 2.0), k.erfc);
}

}  // namespace

FormulaValue exp2_fraction(FormulaValue x) { return mulacc(polynomial(x, exp_numbers(x).exp2), x, 1.0); }

// NOTE: where the result is 0, it is chosen, not computed: a product that underflows takes a processor a hundred
// cycles, and masked scores of attention are exp(-infinity).

FormulaValue exp2_formula(FormulaValue x) {
  const ExpNumbers& k = exp_numbers(x);
  const FormulaValue is_zero = x < k.least_log2;
  const FormulaValue a = min(where(is_zero, 0.0, x), k.most_log2);
  const double shift = shifter(x.dtype(), 2 * format_of(x.dtype()).bias);
  const FormulaValue shifted = a + shift;
  const FormulaValue rest = a - (shifted - shift);
  return where(is_zero, 0.0, scale(exp2_fraction(rest), shifted));
}

FormulaValue exp_formula(FormulaValue x) {
  const ExpNumbers& k = exp_numbers(x);
  const FormulaValue is_zero = x < k.least_log;
  const FormulaValue a = min(where(is_zero, 0.0, x), k.most_log);
  const auto [shifted, rest] = reduce_by_ln2(a, 2 * format_of(x.dtype()).bias);
  const FormulaValue p = polynomial(rest, k.exp);
  return where(is_zero, 0.0, scale(mulacc(mulacc(p, rest, 1.0), rest, 1.0), shifted));
}

FormulaValue expm1_formula(FormulaValue x) {
  // e^x - 1 = 2 * (s * (e^rest - 1) + (s - 1/2)) with s = 2^(n - 1), which is finite where 2^n may overflow.
  const ExpNumbers& k = exp_numbers(x);
  const FloatFormat& format = format_of(x.dtype());
  const FormulaValue a = min(max(x, k.minus_one), k.most_log);
  const auto [shifted, rest] = reduce_by_ln2(a, format.bias - 1);
  const FormulaValue p = mulacc(polynomial(rest, k.expm1), rest * rest, rest);
  const FormulaValue s = (bits_of(shifted) << format.fraction_bits).bitcast(x.scalar());
  const FormulaValue sum = mulacc(p, s, s - 0.5);
  return where(abs(x) < k.itself, x, sum + sum);
}

FormulaValue tanh_formula(FormulaValue x) {
  const ExpNumbers& k = exp_numbers(x);
  const FormulaValue a = abs(x);
  const FormulaValue square = a * a;
  const FormulaValue small = mulacc(polynomial(square, k.tanh) * square, a, a);
  const FormulaValue power = min(a + a, 2 * k.tanh_one).apply(Ops::EXP);
  return odd(x, a, 0.65, small, 1.0 - 2.0 / (power + 1.0));
}

FormulaValue erf_formula(FormulaValue x) {
  const ExpNumbers& k = exp_numbers(x);
  const FormulaValue a = abs(x);
  const FormulaValue small = mulacc(polynomial(a * a, k.erf), a, a);
  return odd(x, a, 1, small, 1.0 - erfc_of(min(a, k.erf_one)));
}

}  // namespace strata::formulas
