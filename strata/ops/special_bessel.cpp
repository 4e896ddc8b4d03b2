// Modified Bessel functions of order 0 and 1, optionally divided by e^|x|; and sinc(x) = sin(pi*x) / (pi*x).
//
// The polynomials are fitted by tests/accuracy/fit.cpp; a comment at each table names the fitted function and its
// variable.
#include <array>
#include <limits>
#include <numbers>
#include <vector>

#include "strata/ops/special_values.h"

namespace strata::ops {

namespace {

/// I(x)*e^-x in the variable (x - 5)/3 for x in [2, 8]; I(x)*e^-x*sqrt(x) in 16/x - 1 beyond.
constexpr std::array kBesselNear0OfFloats = {1.61658372e-05, -4.35721486e-05, 5.09547644e-05, -0.00010792684,
                                             0.000299111009, -0.000603072636, 0.0010836646,   -0.00192281487,
                                             0.00329637714,  -0.00549001899,  0.00914109405,  -0.015665222,
                                             0.0285418723,   -0.0587056428,   0.183540806};
constexpr std::array kBesselNear0 = {
    7.047212757962828e-11,  -2.9910040156349813e-10, 7.825565069325625e-10,  -2.9431019873289824e-09,
    1.1770353224295192e-08, -4.116898420384176e-08,  1.3555920927841316e-07, -4.2948689081650573e-07,
    1.2945004506569924e-06, -3.6947974256984562e-06, 9.973115478450591e-06,  -2.54060560799426e-05,
    6.095020111091151e-05,  -0.00013746729295336808, 0.00029120464267357244, -0.0005796245478189954,
    0.0010869627938708106,  -0.001932615456699963,   0.003295676371234302,   -0.005487934840750705,
    0.009141159055536642,   -0.015665416464246316,   0.02854187073298584,    -0.05870563699435796,
    0.18354081260932836};
constexpr std::array kBesselNear1OfFloats = {-1.39922504e-05, 3.70335365e-05, -4.0264058e-05,  8.04293741e-05,
                                             -0.000219870344, 0.000411638117, -0.000648977759, 0.000957345532,
                                             -0.00121438294,  0.00110524881,  -5.34092487e-06, -0.00347737526,
                                             0.0128764529,    -0.0396777168,  0.163972273};
constexpr std::array kBesselNear1 = {
    1.5270783457959436e-11, -6.702877916996959e-11,  1.8441193385891233e-10, -7.205151910150918e-10,
    2.974665406989055e-09,  -1.0813387656776399e-08, 3.708153184594716e-08,  -1.2232735397103314e-07,
    3.840233544259274e-07,  -1.1418518570308936e-06, 3.2091453780834344e-06, -8.499317404781089e-06,
    2.113515587172542e-05,  -4.914332814602936e-05,  0.0001063335160229648,  -0.0002128419361066287,
    0.0003910575921958937,  -0.0006519108763545871,  0.000965951994064864,   -0.0012137596918009841,
    0.001103417901675471,   -5.399012510840399e-06,  -0.003477204390195713,  0.012876454268742041,
    -0.039677723172367424,  0.16397226694454237};
constexpr std::array kBesselFar0OfFloats = {3.54761994e-07, 1.63903985e-06, 1.11221561e-05,
                                            0.000136156159, 0.00336055318,  0.402176499};
constexpr std::array kBesselFar0 = {
    -7.069031124548086e-11,  -1.9215876356499515e-11, 5.181986346464202e-10,  1.4671763678368928e-10,
    -1.7789488884032337e-09, -5.562092959620086e-10,  3.881166128976243e-09,  1.4978665862382295e-09,
    -6.188277218430916e-09,  -3.4857771352738225e-09, 7.580227742585014e-09,  7.540595248768605e-09,
    -5.4685996495392106e-09, -1.34042398861412e-08,   -6.729723630414773e-09, 7.553516009483486e-09,
    2.154517758701367e-08,   3.9326024658114324e-08,  8.872253511751279e-08,  2.973598432434625e-07,
    1.4838475473605841e-06,  1.114303379155689e-05,   0.00013621607439232746, 0.003360551983667854,
    0.4021765094450081};
constexpr std::array kBesselFar1OfFloats = {-4.12091367e-07, -2.00963723e-06, -1.50152755e-05,
                                            -0.000219168272, -0.00974957831,  0.389398456};
constexpr std::array kBesselFar1 = {
    7.347973026547078e-11,   1.7502679959445716e-11,  -5.388275567884114e-10,  -1.3422761111066222e-10,
    1.8513692552897586e-09,  5.146521552694666e-10,   -4.047782226287386e-09,  -1.4171727880696915e-09,
    6.4870169703199375e-09,  3.4066385761989517e-09,  -8.04422989773729e-09,   -7.63075326642358e-09,
    6.040876867266091e-09,   1.4029694036585309e-08,  6.715795232254384e-09,   -8.426622927609683e-09,
    -2.337059628494871e-08,  -4.3129353686698986e-08, -1.0001323460965458e-07, -3.4838556090194403e-07,
    -1.8349101134666772e-06, -1.503854720117624e-05,  -0.00021923576383430274, -0.009749577193235728,
    0.38939845902587233};

/// The power series: sum over k of (x*x/4)^k / (k!*(k + order)!), times x/2 for order 1. @pre 0 <= x <= 2
Value bessel_series(const Value& x, int order) {
  const Value quarter = x.square() * 0.25;
  Value out = x.ones_like();
  std::vector<double> terms = {1};
  for (int k = 1; k <= (is_wide(x) ? 13 : 8); ++k) terms.push_back(terms.back() / (k * (k + order)));
  const std::vector<double> highest_first(terms.rbegin(), terms.rend());
  out = polynomial(highest_first, quarter);
  return order == 1 ? out * (x * 0.5) : out;
}

}  // namespace

Value bessel_value(const Value& x, int order, bool is_scaled) {
  constexpr double near = 2, far = 8;
  const Value a = x.abs(), inner = a.minimum(near), middle = a.clip(near, far), outer = a.maximum(far);
  const auto middle_table = order == 0 ? places_for(x, kBesselNear0OfFloats, kBesselNear0)
                                       : places_for(x, kBesselNear1OfFloats, kBesselNear1);
  const auto far_table =
      order == 0 ? places_for(x, kBesselFar0OfFloats, kBesselFar0) : places_for(x, kBesselFar1OfFloats, kBesselFar1);
  Value small = bessel_series(inner, order);
  Value large = a.le(far).where(polynomial(middle_table, (middle - 5) * (1.0 / 3)),
                                polynomial(far_table, outer.reciprocal() * 16 - 1) / outer.sqrt());
  if (is_scaled) {
    small = small * (-inner).exp();
  } else {
    constexpr int kPowers = 8;  // e^a / 2^8, as e^a may overflow where the product does not
    const double most = is_wide(x) ? 715 : 93;
    const Value power = exp_over(a.minimum(most), kPowers);
    large = a.ge(most).where(std::numeric_limits<double>::infinity(), large * power * (1 << kPowers));
  }
  Value out = a.le(near).where(small, large);
  if (is_scaled) out = a.isinf().where(0, out);
  out = x.isnan().where(x, out);
  return order == 1 ? out * x.sign() : out;
}

/// sin(pi*x) from the distance of x to the nearest integer; for an odd integer the sign changes.
Value sinc_value(const Value& x) {
  using std::numbers::pi;
  const Value whole = x.round(), half = whole * 0.5;
  const Value sine = ((x - whole) * pi).sin(), is_odd = half.ne(half.floor());
  return x.eq(0).where(1, is_odd.where(-sine, sine) / (x * pi));
}

}  // namespace strata::ops
