// Special functions: series and polynomials, in the precision of their argument (16-bit floats in f32). Their gradients are
// said, not derived: each is a function of this file again.
//
// Tables are fits of ours, made with 50 digits; what they are fits of stands beside them.

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "strata/tensor/access.h"
#include "strata/tensor/autograd.h"

namespace strata {

namespace {

using std::numbers::pi;

constexpr double kEndless = std::numeric_limits<double>::infinity();

bool is_wide(const Tensor& x) { return x.dtype() == dtypes::float64; }

/// f of the argument as a real of 32 bits at least, in the argument's dtype (integers: f32).
Tensor in_precision(const Tensor& x, Tensor (*f)(const Tensor&)) {
  const Tensor real = as_real(x);
  return (real.itemsize() == 2 ? f(real.cast(dtypes::float32)).cast(real.dtype()) : f(real));
}

/// `value`, a function of x, whose derivative is said, by a function that captures nothing.
template <class Slope>
Tensor with_slope(const Tensor& value, const Tensor& x, Slope) {
  if (!x.requires_grad()) return value;
  const auto backward = [](const Tensor& dy, const Saved& saved) {
    return std::vector{dy * Slope{}(saved[0])};
  };
  return with_gradient(value, {&x, 1}, backward, Saved({x}));
}

/// The highest power first.
Tensor polynomial(std::span<const double> coefficients, const Tensor& x) {
  Tensor out = x.full_like(coefficients[0]);
  for (const double c : coefficients.subspan(1)) out = out * x + c;
  return out;
}
/// c0/2 + c1*T1(x) + c2*T2(x) + ... (Clenshaw's recurrence).
Tensor chebyshev(std::span<const double> c, const Tensor& x) {
  const Tensor twice = x * 2;
  Tensor later = x.zeros_like(), last = x.zeros_like();
  for (std::size_t k = c.size(); k-- > 1;) {
    const Tensor next = twice * last - later + c[k];
    later = last, last = next;
  }
  return x * last - later + c[0] / 2;
}

// --- the error function's relatives ---

/// log(erfc(z)*exp(z*z)/t) by 2*t - 1 for t = 2/(2 + z), which goes from 0 to 1.
constexpr std::array kErfc = {
    -1.3026537197817094,     0.64196979235649026,    0.019476473204185836,
    -0.0095615147868086316,  -9.4659534448203687e-4, 3.6683949785276145e-4,
    4.2523324806907772e-5,   -2.0278578112534243e-5, -1.6242900046470255e-6,
    1.3036558355805232e-6,   1.5626441722066143e-8,  -8.5238095914926543e-8,
    6.5290544390988515e-9,   5.0593434955514689e-9,  -9.9136415649303309e-10,
    -2.2736512229318359e-10, 9.6467911020155268e-11, 2.3940380830391147e-12,
    -6.8860275264975534e-12, 8.9448792730907257e-13, 3.1309213993429581e-13,
    -1.1270822361367252e-13, 3.8109052551892321e-16, 7.106097613609237e-15,
    -1.5230282014571043e-15, -9.457494571291234e-17, 1.210237189224279e-16,
    -2.816663087747177e-17};
constexpr std::size_t kErfcTermsOfFloats = 13;

Tensor erfc_of(const Tensor& x) {
  const std::span<const double> terms(kErfc);
  const Tensor z = x.abs(), t = 2 / (z + 2);
  const Tensor tail = chebyshev(is_wide(x) ? terms : terms.first(kErfcTermsOfFloats), t * 2 - 1);
  const Tensor positive = t * (tail - z * z).exp();
  return with_slope(x.lt(0).where(2 - positive, positive), x, [](const Tensor& a) {
    return a.square().neg().exp() * (-2 * std::numbers::inv_sqrtpi);
  });
}

/// erfinv(x)/x by w = -log(1 - x*x): by w - 3.125 below 6.25, by sqrt(w) - 3.25 below 16, by sqrt(w) - 5.125 beyond.
constexpr std::array kErfinvNear = {
    -1.7578518227410068e-19, 1.0922303658470996e-18,  1.1531711227035491e-17,
    -1.2888083317762992e-16, 1.2744143881600212e-17,  6.5802820434513313e-15,
    -4.0444283335958286e-14, -8.1059739175498218e-14, 2.6327434449823038e-12,
    -1.2977493703687757e-11, -5.415046677124506e-11,  1.0512200367259047e-9,
    -4.1126449075773944e-9,  -2.9070385818744362e-8,  4.2347879792718205e-7,
    -1.365469181267597e-6,   -1.3882523382209928e-5,  1.8673420802268018e-4,
    -7.4070253415745968e-4,  -0.0060336708714274886,  0.24015818242558844,
    1.6536545626831027};
constexpr std::array kErfinvFar = {
    -3.8310399460724114e-10, 9.0719505710299225e-8,  -2.6860975725571461e-7, 1.8323999881328578e-8,
    1.4958263152984917e-6,   -4.0139463981902919e-6, 2.9273722115986926e-6,  1.2475343474376931e-5,
    -4.731952918337189e-5,   6.8284840522929234e-5,  2.4031363245440548e-5,  -3.550375186306976e-4,
    9.5328935211181778e-4,   -0.0016882755561681803, 0.0024914420976198812,  -0.0037512085075638538,
    0.0053709145535581983,   1.0052589676941592,     3.0838856104922207};
constexpr std::array kErfinvFarthest = {
    2.3402867757000539e-11, -2.2716279001208751e-10, 8.3498383485523663e-10, -1.8604750325693996e-9,
    3.5245414184684881e-9,  -6.8381445707138102e-9,  1.4562970273695558e-8,  -4.1656650460922574e-8,
    1.6932274733409747e-7,  -7.9619811826836309e-7,  3.747584379091117e-6,   -1.6589903771827145e-5,
    6.4690757173895426e-5,  -1.7993907179259796e-4,  -2.125995036837144e-4,  1.0102562759886417,
    4.9761913900162999};

Tensor erfinv_of(const Tensor& x) {
  const Tensor a = x.abs();
  const Tensor w = a.lt(0.5).where(-(-(x * x)).log1p(), -((1 - a) * (1 + a)).log()), root = w.sqrt();
  const Tensor factor = w.lt(6.25).where(
      polynomial(kErfinvNear, w - 3.125),
      w.lt(16).where(polynomial(kErfinvFar, root - 3.25), polynomial(kErfinvFarthest, root - 5.125)));
  const Tensor y = a.eq(1).where(x * kEndless, factor * x);  // beyond 1 the logarithm is NaN
  return with_slope(
      y, x, [](const Tensor& t) { return t.erfinv().square().exp() * (std::sqrt(pi) / 2); });
}

// --- the gamma function's logarithm and its derivatives ---

/// log(gamma(u)) / ((u - 1)*(u - 2)) by u - 2 from -1/2 to 1/2.
constexpr std::array kLogGamma = {
    -5.8329301293208938e-8, 1.2211977636940668e-7, -1.8333634733806836e-7, 3.8638441485422064e-7,
    -8.5547459253023832e-7, 1.8133409259417141e-6, -3.8468686309843957e-6, 8.2212435478995264e-6,
    -1.7661727092640294e-5, 3.8168994508698081e-5, -8.3095122881396637e-5, 1.8255263198029055e-4,
    -4.0570739764052557e-4, 9.1537692252583518e-4, -0.0021081308339532028, 0.0049986411646919397,
    -0.012384192193371298,  0.032965000621155867,  -0.10031730167435392,   0.42278433509846714};
constexpr std::size_t kLogGammaTermsOfFloats = 12;

/// Bernoulli's numbers B2, B4, ...
constexpr std::array kBernoulli = {1.0 / 6,       -1.0 / 30,      1.0 / 42, -1.0 / 30,
                                   5.0 / 66,      -691.0 / 2730,  7.0 / 6,  -3617.0 / 510,
                                   43867.0 / 798, -174611.0 / 330};

/// How far x is from the nearest integer, with its sign: what sin(pi*x) and tan(pi*x) are taken of.
Tensor from_integer(const Tensor& x) { return x - x.round(); }

/// x*(x + 1)*...*(x + count - 1).
Tensor rising(const Tensor& x, int count) {
  Tensor out = x;
  for (int k = 1; k < count; ++k) out = out * (x + k);
  return out;
}

/// log(gamma(y)) of 2 and more. Stirling's series, from 8 on.
Tensor log_gamma_far(const Tensor& y) {
  constexpr int kSteps = 6;
  const Tensor is_small = y.lt(8), z = is_small.where(y + kSteps, y);
  const Tensor inverse = z.reciprocal(), square = inverse * inverse;
  std::array<double, kBernoulli.size()> terms{};
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const double twice = 2 * static_cast<double>(k + 1);
    terms[terms.size() - 1 - k] = kBernoulli[k] / (twice * (twice - 1));
  }
  const double constant = (std::log(2 * pi) - 1) / 2;
  const Tensor main = (z - 0.5) * (z.log() - 1) + constant + polynomial(terms, square) * inverse;
  return main - is_small.where(rising(y, kSteps), 1).log();
}

/// Of what is not below 0.
Tensor log_gamma_of_positive(const Tensor& y) {
  const std::span<const double> terms(kLogGamma);
  const Tensor is_least = y.lt(0.5), is_small = y.lt(1.5);
  const Tensor u = is_least.where(y + 2, is_small.where(y + 1, y.minimum(2.5)));
  const Tensor around = polynomial(is_wide(y) ? terms : terms.last(kLogGammaTermsOfFloats), u - 2);
  const Tensor taken = is_least.where(y * (y + 1), is_small.where(y, 1));
  return y.lt(2.5).where((u - 1) * (u - 2) * around - taken.log(), log_gamma_far(y));
}

/// By reflection below 0: gamma(x)*gamma(1 - x) is pi/sin(pi*x).
Tensor lgamma_of(const Tensor& x) {
  const Tensor is_below = x.le(0), of = is_below.where(1 - x, x);
  const Tensor positive = log_gamma_of_positive(of);
  const Tensor reflected = (pi / (from_integer(x) * pi).sin().abs()).log() - positive;
  const Tensor out = x.isinf().where(kEndless, is_below.where(reflected, positive));
  return with_slope(out, x, [](const Tensor& a) { return a.digamma(); });
}

constexpr int kShift = 10;

/// log(z) - 1/(2z) - sum B2k/(2k*z^2k) at z = y + 10, less 1/y, 1/(y + 1), ...
Tensor digamma_of(const Tensor& x) {
  const Tensor is_below = x.lt(0), y = is_below.where(1 - x, x);
  Tensor steps = y.reciprocal();
  for (int k = 1; k < kShift; ++k) steps = steps + (y + k).reciprocal();
  const Tensor inverse = (y + kShift).reciprocal(), square = inverse * inverse;
  std::array<double, kBernoulli.size()> terms{};
  for (std::size_t k = 0; k < terms.size(); ++k)
    terms[terms.size() - 1 - k] = kBernoulli[k] / (2 * static_cast<double>(k + 1));
  const Tensor positive =
      (y + kShift).log() - inverse * 0.5 - polynomial(terms, square) * square - steps;
  const Tensor place = from_integer(x);
  const Tensor reflected = positive - pi / (place * pi).tan();
  const Tensor out = is_below.where(
      place.eq(0).where(std::numeric_limits<double>::quiet_NaN(), reflected), positive);
  return with_slope(out, x, [](const Tensor& a) { return a.polygamma(1); });
}

/// 1/y^n + 1/(y + 1)^n + ..., the sum's rest by Euler and Maclaurin. @pre y >= 1/2, n >= 2
Tensor zeta(int n, const Tensor& y) {
  const int steps = kShift + n;
  Tensor out = y.pow(-n);
  for (int k = 1; k < steps; ++k) out = out + (y + k).pow(-n);
  const Tensor z = y + steps, square = z.square().reciprocal();
  Tensor sum = z / (n - 1) + 0.5;
  Tensor power = z.reciprocal();
  double factor = n / 2.0;  // n*(n + 1)*...*(n + 2k - 2) / (2k)!
  for (std::size_t k = 1; k <= kBernoulli.size(); ++k) {
    const double twice = 2 * static_cast<double>(k);
    sum = sum + power * (kBernoulli[k - 1] * factor);
    factor *= (n + twice - 1) * (n + twice) / ((twice + 1) * (twice + 2));
    power = power * square;
  }
  return out + sum * z.pow(-n);
}

/// The derivative of cot(pi*x), `order` times, over pi^order, as a polynomial of it, the highest power first.
std::vector<double> cotangent_derivative(std::int64_t order) {
  std::vector<double> p = {0, 1};  // the lowest power first
  for (std::int64_t k = 0; k < order; ++k) {
    std::vector<double> next(p.size() + 1, 0);
    for (std::size_t e = 1; e < p.size(); ++e) {
      const double slope = p[e] * static_cast<double>(e);
      next[e - 1] -= slope, next[e + 1] -= slope;
    }
    p = std::move(next);
  }
  return {p.rbegin(), p.rend()};
}

Tensor polygamma_of(const Tensor& x, int order) {
  const Tensor is_below = x.lt(0.5), y = is_below.where(1 - x, x);
  const double sign = order % 2 == 0 ? -1 : 1;
  const Tensor positive = zeta(order + 1, y) * (sign * std::tgamma(order + 1.0));
  const Tensor cotangent = (from_integer(x) * pi).tan().reciprocal();
  const Tensor jump = polynomial(cotangent_derivative(order), cotangent) * std::pow(pi, order + 1);
  return is_below.where(positive * -sign - jump, positive);
}

// --- modified Bessel functions of order 0 and 1, over exp(|x|) where that is asked for ---

/// sum (x*x/4)^k / (k!*(k + order)!), whose terms are all positive.
Tensor bessel_series(const Tensor& quarter, int order, int terms) {
  Tensor out = quarter.ones_like();
  for (int k = terms; k > 0; --k) out = out * quarter / (k * (k + order)) + 1;
  return out;
}
/// What the function over exp(x)/sqrt(2*pi*x) comes to for large x.
Tensor bessel_asymptotic(const Tensor& x, int order, int terms) {
  const Tensor inverse = x.reciprocal();
  Tensor out = x.ones_like();
  for (int k = terms; k > 0; --k) {
    const double odd = 2 * k - 1, factor = (odd * odd - 4 * order * order) / (8 * k);
    out = out * inverse * factor + 1;
  }
  return out;
}

Tensor bessel(const Tensor& x, int order, bool is_scaled) {
  const double near = is_wide(x) ? 20 : 12;
  const int near_terms = is_wide(x) ? 38 : 22, far_terms = is_wide(x) ? 30 : 14;
  const Tensor a = x.abs(), inner = a.minimum(near),
               outer = is_scaled ? a.maximum(near) : a.clip(near, 1000);
  Tensor small = bessel_series(inner.square() * 0.25, order, near_terms);
  if (order == 1) small = small * inner * 0.5;
  if (is_scaled) small = small * inner.neg().exp();
  Tensor large = bessel_asymptotic(outer, order, far_terms) / (outer * (2 * pi)).sqrt();
  if (!is_scaled) {  // exp(x) alone would be infinite too early
    const Tensor half = (outer * 0.5).exp();
    large = large * half * half;
  }
  const Tensor out = a.le(near).where(small, x.isnan().where(x, large));
  return order == 1 ? out * x.sign() : out;
}

/// 1/x, and 0 at 0.
Tensor inverse_or_zero(const Tensor& x) {
  return x.eq(0).where(0, x.eq(0).where(1, x).reciprocal());
}

Tensor i0_of(const Tensor& x) {
  return with_slope(bessel(x, 0, false), x, [](const Tensor& a) { return a.i1(); });
}
Tensor i0e_of(const Tensor& x) {
  return with_slope(bessel(x, 0, true), x,
                    [](const Tensor& a) { return a.i1e() - a.sign() * a.i0e(); });
}
Tensor i1_of(const Tensor& x) {
  return with_slope(bessel(x, 1, false), x, [](const Tensor& a) {
    return a.eq(0).where(0.5, a.i0() - a.i1() * inverse_or_zero(a));
  });
}
Tensor i1e_of(const Tensor& x) {
  return with_slope(bessel(x, 1, true), x, [](const Tensor& a) {
    return a.eq(0).where(0.5, a.i0e() - a.i1e() * (a.sign() + inverse_or_zero(a)));
  });
}

Tensor sinc_of(const Tensor& x) {
  const Tensor angle = x.eq(0).where(1, x) * pi;
  return x.eq(0).where(1, angle.sin() / angle);
}

constexpr std::int64_t kMostDerivatives = 60;  // of which factorials and powers of pi stay finite

/// polygamma(), whose derivative may be one of the next order.
Tensor derivative_of_digamma(const Tensor& x, std::int64_t order) {
  const Tensor real = as_real(x);
  const Tensor wide = real.itemsize() == 2 ? real.cast(dtypes::float32) : real;
  const Tensor out = polygamma_of(wide, static_cast<int>(order));
  const auto backward = [](const Tensor& dy, const Saved& saved) {
    return std::vector{dy * derivative_of_digamma(saved[0], saved.number(0) + 1)};
  };
  return with_gradient(out, {&wide, 1}, backward, Saved({wide}, {order})).cast(real.dtype());
}

}  // namespace

#define STRATA_SPECIAL(name, f)         \
  Tensor Tensor::name(At at) const {    \
    const OriginScope scope(#name, at); \
    return in_precision(*this, f);      \
  }
STRATA_SPECIAL(erfc, erfc_of)
STRATA_SPECIAL(erfinv, erfinv_of)
STRATA_SPECIAL(lgamma, lgamma_of)
STRATA_SPECIAL(digamma, digamma_of)
STRATA_SPECIAL(i0, i0_of)
STRATA_SPECIAL(i0e, i0e_of)
STRATA_SPECIAL(i1, i1_of)
STRATA_SPECIAL(i1e, i1e_of)
STRATA_SPECIAL(sinc, sinc_of)
#undef STRATA_SPECIAL

Tensor Tensor::ndtr(At at) const {
  const OriginScope scope("ndtr", at);
  return (as_real(*this) * (-1 / std::numbers::sqrt2)).erfc() * 0.5;
}

Tensor Tensor::entr(At at) const {
  const OriginScope scope("entr", at);
  const Tensor x = as_real(*this), out = x * x.le(0).where(1, x).log();
  return x.lt(0).where(-kEndless, x.isnan().where(x, -out));
}

Tensor Tensor::polygamma(std::int64_t order, At at) const {
  const OriginScope scope("polygamma", at);
  STRATA_CHECK(order >= 0 && order <= kMostDerivatives, domain, "[polygamma] of order ", order,
               ", where 0 to ", kMostDerivatives, " is expected");
  return order == 0 ? digamma() : derivative_of_digamma(*this, order);
}

/// lgamma(x) + lgamma(x - 1/2) + ... of p terms, and a constant.
Tensor Tensor::mvlgamma(std::int64_t p, At at) const {
  const OriginScope scope("mvlgamma", at);
  constexpr std::int64_t kMost = 1024;
  STRATA_CHECK(p >= 1 && p <= kMost, domain, "[mvlgamma] of dimension ", p, ", where 1 to ", kMost,
               " is expected");
  const auto dimension = static_cast<double>(p);
  Tensor out = lgamma();
  for (std::int64_t k = 1; k < p; ++k) out = out + (*this - static_cast<double>(k) * 0.5).lgamma();
  return out + dimension * (dimension - 1) / 4 * std::log(pi);
}

Tensor Tensor::logit(std::optional<double> eps, At at) const {
  const OriginScope scope("logit", at);
  const Tensor real = as_real(*this), x = eps ? real.clip(*eps, 1 - *eps) : real;
  return differentiated(
      x, [](const Tensor& t) { return (t / (1 - t)).log(); },
      [](const Tensor& t, const Tensor&) { return (t * (1 - t)).reciprocal(); });
}

}  // namespace strata
