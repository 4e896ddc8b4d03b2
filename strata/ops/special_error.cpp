// Functions related to erf: erfc, the normal distribution function (ndtr), gelu, the inverse of erf.
//
// The polynomials are fitted by tests/accuracy/fit.cpp; a comment at each table names the fitted function and its
// variable.
#include <array>
#include <limits>
#include <vector>

#include "strata/ops/special_values.h"

namespace strata::ops {

namespace {

/// erfc(a) * e^(a*a) * (a + k) in the variable (a - k) / (a + k), k = 3/sqrt(2), for a up to 10.2 (f32) or 28 (f64).
constexpr std::array kTailOfFloats = {7.82510033e-05, 0.000188214646, -0.000345868175, -0.00146254781,
                                      0.001448347,    0.00985677913,  -0.0147959199,   -0.066839613,
                                      0.325294107,    -0.720304191,   1.03108001};
constexpr std::array kTail = {
    1.0601475095962337e-09,  3.153854779318087e-09,  -3.3519908828122465e-09, -2.2471553465601445e-08,
    -1.6000753377581112e-08, 5.8256674677776295e-08, 1.3791788929521817e-07,  3.5095571832153905e-08,
    -3.963087727695168e-07,  -8.208311558042381e-07, 2.176393385719273e-08,   3.1823206817901695e-06,
    5.141558183569516e-06,   -4.971649792488195e-06, -2.925657321730473e-05,  -1.8733513103146466e-05,
    0.00011145742551062228,  0.00021834687857920395, -0.00036285226100343397, -0.001479025035829141,
    0.00145323490347606,     0.00986077552433278,    -0.014796728445428977,   -0.0668400111559913,
    0.3252941791742175,      -0.7203041965780814,    1.031080042691639};

/// For a from 1/2 up to 14.4 (f32) or 38.6 (f64): a * ndtr(-a) * e^(a*a/2) in the variable (a - 1) / (a + 2). For a
/// below 1/2: (ndtr(a) - 1/2) / a in a*a.
constexpr std::array kGeluTailOfFloats = {-0.00403422275, 0.0105547698, -0.0050604222, 0.000421094191,
                                          -0.00853044556, -0.010403275, 0.0116328387,  0.0572077566,
                                          0.0176004706,   -0.304668633, 0.372642917,   0.261578292};
constexpr std::array kGeluTail = {
    0.00044338119728546386,  -0.0035230361717764956,  0.012422704653470762,    -0.025683013697754092,
    0.034553982233326459,    -0.031397540284925841,   0.018886267518291543,    -0.0066479630611853708,
    0.00049415031884521299,  0.0008047253730488435,   -0.00028214600995818352, 4.5598201780423932e-05,
    -8.7539912231900509e-05, -0.00028336430973751849, -0.00034594943822513523, -6.150627295028804e-05,
    0.00075850537797389993,  0.0017816269615491286,   0.0016328972258879042,   -0.0017993237619309619,
    -0.0085022111658806764,  -0.010228465728958009,   0.011601931282817791,    0.057204580498237845,
    0.017601409384069611,    -0.30466862186067828,    0.37264290998644217,     0.26157829186512338};
constexpr std::array kGeluNearOfFloats = {0.000109697407, -0.00118608462, 0.00997344643, -0.0664903766, 0.39894228};
constexpr std::array kGeluNear = {2.1500886917598997e-09,  -4.1169375634078958e-08, 6.6595493710174906e-07,
                                  -9.4446541417932717e-06, 0.00011543468743320746,  -0.001187328215471571,
                                  0.0099735570100356,      -0.066490380066905441,   0.3989422804014327};

/// erfinv(x)/x with w = -log(1 - x*x): in the variable w - 3.125 for w < 6.25, sqrt(w) - 3.25 for w < 16, sqrt(w) - 5
/// beyond.
constexpr std::array kErfinvNearOfFloats = {2.35752824e-12,  6.67677635e-10,  -4.66282746e-09, -2.490256e-08,
                                            4.26101252e-07,  -1.38639689e-06, -1.38883333e-05, 0.00018678185,
                                            -0.000740697724, -0.00603371067,  0.240158185,     1.65365458};
constexpr std::array kErfinvNear = {
    -3.5932028927063025e-22, 3.1940155481372204e-21,  1.9992599888638634e-20,  -3.473479388854313e-19,
    6.075050702066834e-19,   1.5510787009903712e-17,  -1.2215637192403407e-16, -3.940188122305892e-17,
    6.5213335115021726e-15,  -4.0020031087558364e-14, -8.071925938990003e-14,  2.6305268312595175e-12,
    -1.2978805369932567e-11, -5.414303283919504e-11,  1.051223377050429e-09,   -4.1126604371632185e-09,
    -2.907039127564132e-08,  4.23478816822246e-07,    -1.3654691758785656e-06, -1.3882523393957483e-05,
    0.00018673420801981186,  -0.0007407025341546431,  -0.006033670871426851,   0.24015818242558834,
    1.6536545626831027};
constexpr std::array kErfinvFarOfFloats = {6.2936102e-05,  -3.98564589e-05, -0.000338026439, 0.000985425664,
                                           -0.00169654912, 0.00248465012,   -0.0037498679,   0.00537142856,
                                           1.00525892,     3.08388567};
constexpr std::array kErfinvFar = {
    -1.2091363882589085e-10, -1.4437271827231148e-09, 7.95049339331721e-09,   -1.103439671822281e-08,
    -2.1122632280348905e-08, 1.2617107137533453e-07,  -2.454689731321249e-07, -2.3773489984725737e-08,
    1.4816507014976009e-06,  -3.98737878198452e-06,   2.932540152544851e-06,  1.2465488029092217e-05,
    -4.73206684149538e-05,   6.828703815586805e-05,   2.4031510732270008e-05, -0.0003550378055743135,
    0.0009532893417816403,   -0.00168827553591679,    0.002491442097947528,   -0.003751208508212497,
    0.0053709145535552,      1.0052589676941652,      3.0838856104922208};
constexpr std::array kErfinvFarthestOfFloats = {4.66369693e-06,  -2.17170673e-05, 7.62205091e-05, -0.00021391768,
                                                -0.000138848525, 1.01030028,      4.84990644};
constexpr std::array kErfinvFarthest = {-9.134081581623503e-13,  5.927721732823349e-12,  -1.584506454604612e-11,
                                        1.4499303963797641e-11,  5.991370408598422e-11,  -3.8028749742186137e-10,
                                        1.3274153570048515e-09,  -3.534714380584454e-09, 7.813198330281326e-09,
                                        -1.5213267280580667e-08, 2.9022362878984995e-08, -6.757290081475566e-08,
                                        2.2905178849098784e-07,  -9.930254566848684e-07, 4.52605269123395e-06,
                                        -1.968177120053988e-05,  7.599527808324032e-05,  -0.00021503011979895082,
                                        -0.0001387193183797138,  1.0103004648645448,     4.849906401408584};

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// polynomial(coefficients, x) * (1 + more). All small terms are added before the last coefficient, so that only one
/// rounding matters.
Value with_power(std::span<const double> coefficients, const Value& x, const Value& more) {
  const double last = coefficients.back();
  const Value rest = x * polynomial(coefficients.first(coefficients.size() - 1), x);
  return (rest + (rest + last) * more) + last;
}

/// scale * erfc(a) with exponent = -a*a and k = 3/sqrt(2); scale * erfc(a/sqrt(2)) with exponent = -a*a/2 and k = 3.
Value tail_of(const Value& a, double k, double scale, const TwoParts& exponent) {
  const std::span<const double> table = places_for(a, kTailOfFloats, kTail);
  std::vector<double> scaled(table.begin(), table.end());
  for (double& c : scaled) c *= scale;
  const auto [high, low] = parts_for(a, k, 0);
  const Value sum = a + high, back = sum - a, lost = (a - (sum - back)) + (high - back) + low;
  const Value inverse = sum.reciprocal();
  const Value u =
      a.lt(k).where((a - k) * inverse, 1 - inverse * (2 * k));  // (a - k) / (a + k), the form with less cancellation
  const auto [more, power, power_scale] = small_power(exponent);
  const Value value = with_power(scaled, u, more - lost * inverse * (more + 1));
  return value / sum * power * power_scale;
}

constexpr double kRootOfTwo = 1.4142135623730951;

/// `size` clamped: beyond the limit the functions are 0, and an infinity would make a NaN.
Value within(const Value& size, double most_of_floats, double most) {
  return size.minimum(is_wide(size) ? most : most_of_floats);
}

/// -x*x/2 in two parts.
TwoParts minus_half_square(const Value& a) {
  const auto [high, low] = square_of(a);
  return {high * -0.5, low * -0.5};
}

}  // namespace

Value erfc_value(const Value& x) {
  const Value a = within(x.abs(), 10.2, 27.5);
  const auto [high, low] = square_of(a);
  const Value positive = tail_of(a, 3 / kRootOfTwo, 1, {-high, -low});
  return a.lt(0.5).where(1 - x.erf(), x.lt(0).where(2 - positive, positive));
}

Value ndtr_value(const Value& x) {
  const Value a = within(x.abs(), 14.4, 38.6);
  const Value share = tail_of(a, 3, kRootOfTwo / 2, minus_half_square(a));
  return x.gt(0).where(1 - share, share);
}

/// x * ndtr(x), computed as one product, because ndtr(x) alone may be subnormal.
Value gelu_value(const Value& x) {
  const Value a = within(x.abs(), 14.4, 38.6), square = x * x;
  const Value near = x * (x * polynomial(places_for(x, kGeluNearOfFloats, kGeluNear), square) + 0.5);
  const auto [more, power, scale] = small_power(minus_half_square(a));
  const std::span<const double> table = places_for(x, kGeluTailOfFloats, kGeluTail);
  const Value part = with_power(table, (a - 1) / (a + 2), more) * power * scale;
  return a.lt(0.5).where(near, x.gt(0).where(x - part, -part));
}

Value erfinv_value(const Value& x) {
  const Value a = x.abs();
  const Value w = a.lt(0.5).where(-(-(x * x)).log1p(), -((1 - a) * (1 + a)).log()), root = w.sqrt();
  const Value near = polynomial(places_for(x, kErfinvNearOfFloats, kErfinvNear), w - 3.125),
              far = polynomial(places_for(x, kErfinvFarOfFloats, kErfinvFar), root - 3.25),
              farthest = polynomial(places_for(x, kErfinvFarthestOfFloats, kErfinvFarthest), root - 5);
  const Value factor = w.lt(6.25).where(near, w.lt(16).where(far, farthest));
  return a.eq(1).where(x * kInfinite, factor * x);  // |x| > 1: the logarithm is NaN
}

}  // namespace strata::ops
