// log|gamma| and its derivatives: lgamma, digamma, polygamma.
//
// The polynomials are fitted by tests/accuracy/fit.cpp; a comment at each table names the fitted function and its
// variable.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "strata/ops/special_values.h"

namespace strata::ops {

namespace {

using std::numbers::pi;

/// log(gamma(y)) / ((y - 1)*(y - 2)) in the variable y - 1 for y in [1/2, 3/2], and y - 9/4 for y in [3/2, 3].
constexpr std::array kLogGammaAroundOneOfFloats = {
    0.0807645842,  -0.0865327418, 0.0275853034, -0.0307168327, 0.0550991036, -0.0614802651, 0.0665392503,
    -0.0771136656, 0.0922451466,  -0.115153059, 0.155434206,   -0.245251313, 0.577215672};
constexpr std::array kLogGammaAroundOne = {
    -0.10710035441656564,  0.11052782198365534,   0.07324164062349006,   -0.07533096837257305,  -0.06888571735061609,
    0.07123157860759115,   -0.006392049327941565, 0.0069437273107903555, -0.027825057395512564, 0.02917794270102698,
    -0.026488089711827638, 0.028013319311536597,  -0.03033014421461396,  0.03228147253279034,   -0.03443942843923471,
    0.03698548306742434,   -0.039943150324446376, 0.043411084045754875,  -0.04754312679769891,  0.05255631826261005,
    -0.05877794140424497,  0.06673172835553974,   -0.07731816853143067,  0.09223900846366932,   -0.11514654256383786,
    0.1554342658639556,    -0.24525136852258034,  0.5772156649015329};
constexpr std::array kLogGammaToThreeOfFloats = {-3.60148624e-05, 8.85952031e-05, -0.000169635954, 0.000430785003,
                                                 -0.00114182371,  0.00304314704,  -0.00846396573,  0.0252682101,
                                                 -0.0858808458,   0.399589479};
constexpr std::array kLogGammaToThree = {3.4036501244683263e-09,  -7.988385116151317e-09, 8.733363328897912e-09,
                                         -2.0675243797329778e-08, 6.180374605463611e-08,  -1.4674169557260334e-07,
                                         3.40534452497632e-07,    -8.145833645111841e-07, 1.96094946984462e-06,
                                         -4.73501071184683e-06,   1.1501973382621834e-05, -2.814920962210331e-05,
                                         6.952279213896026e-05,   -0.0001737093259015565, 0.00044065673229095925,
                                         -0.0011409865895391027,  0.0030411186578955082,  -0.008464024993587392,
                                         0.02526835495928879,     -0.08588084755126091,   0.3995894876556691};

/// digamma(y) / (y - kDigammaZero) in the variable y - 3/2 for y in [1, 2].
constexpr std::array kDigammaOfFloats = {0.0109025883, -0.0163736194, 0.0171149895, -0.0257868841,
                                         0.0408500284, -0.0620559789, 0.0949846879, -0.148398861,
                                         0.240542531,  -0.423627496,  0.951055884};
constexpr std::array kDigamma = {
    -0.00017312261802727394, 0.00025968482126430747, -0.00015148586836773365, 0.0002272331660987376,
    -0.0004821990530566789,  0.0007233266279287554,  -0.0010376374098418604,  0.0015566317474486838,
    -0.002345267632540769,   0.003519006401502276,   -0.005279964873257405,   0.007926944646403797,
    -0.011908218001568644,   0.0179072524394512,     -0.02697579675613825,    0.04076083381242074,
    -0.061922133273064534,   0.0949887244549412,     -0.14840492305390887,    0.2405424842407742,
    -0.4236274212814605,     0.9510558760318328};

constexpr double kDigammaZero = 1.4616321449683622, kDigammaZeroLow = 9.5499954299656977e-17;

/// The Bernoulli numbers B2, B4, ...
constexpr std::array kBernoulli = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                   -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};

/// The coefficients of the asymptotic series, highest power first: B2k / (2k * (2k - 1)) for log(gamma), B2k / (2k) for
/// digamma.
std::vector<double> bernoulli_terms(bool is_logarithm) {
  std::vector<double> out(kBernoulli.size());
  for (std::size_t k = 0; k < out.size(); ++k) {
    const double twice = 2 * static_cast<double>(k + 1);
    out[out.size() - 1 - k] = kBernoulli[k] / (is_logarithm ? twice * (twice - 1) : twice);
  }
  return out;
}

/// x minus the nearest integer: a reduced argument for sin(pi*x) (up to its sign) and tan(pi*x).
Value from_integer(const Value& x) { return x - x.round(); }

/// log(gamma(y)) by Stirling's series. @pre y >= 8
Value log_gamma_far(const Value& y) {
  const Value inverse = y.reciprocal();
  const double constant = (std::log(2 * pi) - 1) / 2;
  const Value rest = polynomial(bernoulli_terms(true), inverse * inverse) * inverse + constant;
  return (y - 0.5) * (y.log() - 1) + rest;
}

/// log(gamma(y)) for y in [1/2, 3]. The factors y - 1 and y - 2 are exact near the zeros of the function.
Value log_gamma_near(const Value& y) {
  const Value from_one = y - 1;
  const Value factor =
      y.lt(1.5).where(polynomial(places_for(y, kLogGammaAroundOneOfFloats, kLogGammaAroundOne), from_one),
                      polynomial(places_for(y, kLogGammaToThreeOfFloats, kLogGammaToThree), y - 2.25));
  return from_one * ((y - 2) * factor);
}

/// log(gamma(y)) for y >= 0. Below 1/2 it is log(gamma(y + 1)) - log(y). From 3 to 8, y is reduced to [2, 3) by
/// gamma(y) = (y - 1) * gamma(y - 1), and the logarithm of the product of the factors is added.
Value log_gamma_of_positive(const Value& y) {
  const Value is_least = y.lt(0.5), is_near = y.lt(3), inner = y.minimum(8);
  Value base = inner, product = y.ones_like();
  for (int k = 1; k <= 5; ++k) {
    const Value factor = inner - k, is_taken = factor.ge(2);
    product = is_taken.where(product * factor, product);
    base = is_taken.where(factor, base);
  }
  // NOTE: for y + 1 the polynomial's variable (y + 1) - 1 is y itself, without rounding.
  const Value least = polynomial(places_for(y, kLogGammaAroundOneOfFloats, kLogGammaAroundOne), y) * (y * (y - 1));
  const Value taken = is_least.where(y, product).log();
  const Value middle = is_near.where(log_gamma_near(base), log_gamma_near(base) + taken);
  return is_least.where(least - taken, y.lt(8).where(middle, log_gamma_far(y)));
}

/// factor / y^n, also where y^n alone would overflow or underflow: y is scaled by a power of two that absorbs the
/// factor, and the power is multiplied in two halves. @pre y > 0, n >= 1, factor >= 1
Value over_power(double factor, const Value& y, int n) {
  const int by = static_cast<int>(std::lround(std::log2(factor) / n));
  const Value scaled = by == 0 ? y : y * std::ldexp(1.0, -by);
  const Value first = scaled.pow(n / 2 - n) * std::ldexp(factor, -by * n);
  return n == 1 ? first : first * scaled.pow(-(n / 2));
}

/// a + b in two parts: the rounded sum and its rounding error.
TwoParts exact_sum(const Value& a, const Value& b) {
  const Value sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// factor / (y + k)^n, corrected for the rounding of y + k. @pre y > 0, n >= 1, factor >= 1
Value over_power_of_sum(double factor, const Value& y, int k, int n) {
  if (k == 0) return over_power(factor, y, n);
  const auto [sum, lost] = exact_sum(y, y.full_like(k));
  const Value power = over_power(factor, sum, n);
  return power.isinf().where(power, power - power * (lost / sum * n));
}

/// The Hurwitz zeta function times `factor`: factor * (1/y^n + 1/(y + 1)^n + ...). Terms up to kShift + n are added one
/// by one, the rest by the Euler-Maclaurin formula. @pre y > 0, n >= 2, factor >= 1
Value zeta(double factor, const Value& y, int n) {
  constexpr int kShift = 10;
  const int steps = kShift + n;
  const Value is_far = y.ge(steps), near = y.minimum(steps);
  const Value z = is_far.where(y, near + steps), inverse = z.reciprocal(), square = inverse.square();
  Value rest = z.full_like(0.5), power = inverse;
  double term = n / 2.0;  // n*(n + 1)*...*(n + 2k - 2) / (2k)!
  for (std::size_t k = 1; k <= kBernoulli.size(); ++k) {
    const double twice = 2 * static_cast<double>(k);
    rest = rest + power * (kBernoulli[k - 1] * term);
    term *= (n + twice - 1) * (n + twice) / ((twice + 1) * (twice + 2));
    power = power * square;
  }
  const Value share = inverse * rest + 1.0 / (n - 1);
  TwoParts sum{share * over_power_of_sum(factor, near, steps, n - 1), y.zeros_like()};
  for (int k = steps; k-- > 0;) {  // smallest terms first
    const auto [next, lost] = exact_sum(sum.high, over_power_of_sum(factor, near, k, n));
    sum = {next, sum.low + lost};
  }
  // For infinite terms the rounding errors are NaN.
  const Value shifted = sum.high.isinf().where(sum.high, sum.high + sum.low);
  return is_far.where(share * over_power(factor, y, n - 1), shifted);
}

/// The `order`-th derivative of cot(pi*x), divided by pi^order, as a polynomial in cot(pi*x), the highest power first.
std::vector<double> cotangent_derivative(int order) {
  std::vector<double> p = {0, 1};  // the lowest power first
  for (int k = 0; k < order; ++k) {
    std::vector<double> next(p.size() + 1, 0);
    for (std::size_t e = 1; e < p.size(); ++e) {
      const double slope = p[e] * static_cast<double>(e);
      next[e - 1] -= slope, next[e + 1] -= slope;
    }
    p = std::move(next);
  }
  return {p.rbegin(), p.rend()};
}

}  // namespace

/// Up to 0 by reflection: gamma(x)*gamma(1 - x) = pi / sin(pi*x).
Value lgamma_value(const Value& x) {
  constexpr double endless = std::numeric_limits<double>::infinity();
  const Value is_below = x.le(0), of = is_below.where(1 - x, x);
  const Value positive = log_gamma_of_positive(of);
  const Value place = from_integer(x);
  const Value reflected = -((place * pi).sin().abs() / pi).log() - positive;
  const Value is_pole = x.isinf() | (is_below & place.eq(0));
  return is_pole.where(endless, is_below.where(reflected, positive));
}

/// From `far` on: log(y) - 1/(2y) - sum of B2k/(2k*y^2k). Smaller arguments are reduced to [1, 2] by digamma(y) =
/// digamma(y - 1) + 1/(y - 1), or, below 1, digamma(y) = digamma(y + 1) - 1/y. Below 0 by reflection.
Value digamma_value(const Value& x) {
  const Value is_below = x.lt(0), y = is_below.where(1 - x, x);
  const double far = 8;
  const Value is_least = y.lt(1), inner = y.minimum(far);
  Value base = inner, steps = y.zeros_like();
  for (int k = static_cast<int>(far) - 2; k >= 1; --k) {  // smallest arguments, largest terms first
    const Value next = inner - k, is_taken = next.ge(1);
    steps = is_taken.where(steps + is_taken.where(next, 1).reciprocal(), steps);
  }
  base = is_least.where(y, inner - (inner.floor() - 1).minimum(far - 2).maximum(0));
  const auto [zero, zero_low] = parts_for(x, kDigammaZero, kDigammaZeroLow);
  const Value from_zero = is_least.where(base - (zero - 1), base - zero) - zero_low;
  const Value near =
      polynomial(places_for(x, kDigammaOfFloats, kDigamma), is_least.where(base - 0.5, base - 1.5)) * from_zero;
  const Value inverse = y.reciprocal(), square = inverse * inverse;
  const Value beyond = y.log() - (inverse * 0.5 + polynomial(bernoulli_terms(false), square) * square);
  const Value positive = y.ge(far).where(beyond, is_least.where(near - inverse, near + steps));
  const Value place = from_integer(x);
  const Value reflected = positive - pi / (place * pi).tan();
  return is_below.where(place.eq(0).where(std::numeric_limits<double>::quiet_NaN(), reflected), positive);
}

namespace {

/// n! for n <= 60, rounded once; std::tgamma() has errors of up to 2 ULP in this range.
double factorial(int n) {
  long double out = 1;
  for (int k = 2; k <= n; ++k) out *= k;
  return static_cast<double>(out);
}

}  // namespace

Value polygamma_value(const Value& x, int order) {
  const Value is_below = x.lt(0), y = is_below.where(1 - x, x);
  const double sign = order % 2 == 0 ? -1 : 1;
  const Value positive = zeta(factorial(order), y, order + 1) * sign;
  const Value cotangent = (from_integer(x) * pi).tan().reciprocal();
  const auto power = static_cast<double>(std::pow(std::numbers::pi_v<long double>, order + 1));
  const Value jump = polynomial(cotangent_derivative(order), cotangent) * power;
  return is_below.where(positive * -sign - jump, positive);
}

}  // namespace strata::ops
