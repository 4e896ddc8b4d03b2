// Special functions against values computed with 30 digits, and what they give at the ends of their domains.

#include <cstdint>
#include <limits>

#include "tests/dtype/special_values.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

struct SpecialCase {
  const char* name;
  std::function<Tensor(const Tensor&)> f;
  std::vector<std::pair<double, double>> values;
};

const std::vector<SpecialCase>& special_cases() {
  static const std::vector<SpecialCase> cases = {
      {"erfc",
       [](const Tensor& x) { return x.erfc(); },
       {{-2.5, 1.999593047982555},
        {-0.3, 1.3286267594591274},
        {0.0, 1.0},
        {0.125, 0.85968379519866618},
        {0.9, 0.20309178757716786},
        {2.5, 0.00040695201744495894},
        {6.0, 2.1519736712498913e-17},
        {20.0, 5.3958656116079009e-176}}},
      {"erfinv",
       [](const Tensor& x) { return x.erfinv(); },
       {{-0.999, -2.3267537655135245},
        {-0.5, -0.47693627620446987},
        {0.0, 0.0},
        {1e-09, 8.8622692545275807e-10},
        {0.3, 0.27246271472675435},
        {0.75, 0.81341984759761854},
        {0.9999, 2.7510639057120797},
        {0.9999999, 3.7665625816384709}}},
      {"ndtr",
       [](const Tensor& x) { return x.ndtr(); },
       {{-6.0, 9.8658764503769814e-10},
        {-1.0, 0.15865525393145705},
        {0.5, 0.6914624612740131},
        {3.0, 0.99865010196836991}}},
      {"lgamma",
       [](const Tensor& x) { return x.lgamma(); },
       {{-10.5, -15.147270590717841},
        {-3.25, -0.62315345132099865},
        {-0.5, 1.2655121234846454},
        {1e-08, 18.420680738180209},
        {0.3, 1.0957979948180756},
        {0.75, 0.20328095143129537},
        {1.0, 0.0},
        {1.0000001, -5.7721558299185071e-8},
        {1.4, -0.11961291417237129},
        {1.9, -0.038984275923083362},
        {2.3, 0.15418945495963047},
        {2.6, 0.35741186354897984},
        {5.5, 3.9578139676187163},
        {7.9, 8.3242658680088096},
        {8.0, 8.5251613610654143},
        {30.5, 72.953471184169408},
        {10000000000.0, 220258509288.81058}}},
      {"digamma",
       [](const Tensor& x) { return x.digamma(); },
       {{-10.4, 3.4098783056359273},
        {-3.25, 4.46627587235028},
        {-0.5, 0.036489973978576521},
        {1e-08, -100000000.57721565},
        {0.3, -3.5025242222001331},
        {1.0, -0.57721566490153286},
        {1.4616, -3.110625123034165e-5},
        {2.5, 0.70315664064524319},
        {9.0, 2.14064147795561},
        {30.5, 3.4012436689616611},
        {1000000.0, 13.815510057964191}}},
      {"polygamma of 1",
       [](const Tensor& x) { return x.polygamma(1); },
       {{-3.3, 14.817739525515929},
        {-0.25, 18.541879647671606},
        {0.1, 101.43329915079275},
        {0.5, 4.9348022005446793},
        {1.0, 1.6449340668482264},
        {2.5, 0.49035775610023486},
        {20.0, 0.05127082293520312}}},
      {"polygamma of 2",
       [](const Tensor& x) { return x.polygamma(2); },
       {{-3.3, 68.769445477485234},
        {-0.25, 122.69736678366236},
        {0.1, -2001.8614573783437},
        {0.5, -16.82879664423432},
        {1.0, -2.4041138063191886},
        {2.5, -0.2362040516417274},
        {20.0, -0.0026281224023146546}}},
      {"polygamma of 3",
       [](const Tensor& x) { return x.polygamma(3); },
       {{-3.3, 768.98565825542855},
        {-0.25, 1555.7633125348506},
        {0.1, 60004.512876790253},
        {0.5, 97.409091034002437},
        {1.0, 6.4939394022668291},
        {2.5, 0.22390584881725205},
        {20.0, 0.00026937422133963891}}},
      {"polygamma of 5",
       [](const Tensor& x) { return x.polygamma(5); },
       {{-3.3, 165660.14652917209},
        {-0.25, 492198.75334287458},
        {0.1, 120000069.30751093},
        {0.5, 7691.1135486024355},
        {1.0, 122.0811674381339},
        {2.5, 0.57856917856718348},
        {20.0, 8.4842662061582301e-6}}},
      {"i0",
       [](const Tensor& x) { return x.i0(); },
       {{-2.0, 2.2795853023360673},
        {0.0, 1.0},
        {0.5, 1.0634833707413235},
        {11.0, 7288.4893398212481},
        {13.0, 49444.489582217573},
        {19.5, 26760525.339838766},
        {25.0, 5774560606.4663103},
        {80.0, 2.4751784043341705e+33}}},
      {"i0e",
       [](const Tensor& x) { return x.i0e(); },
       {{-2.0, 0.30850832255367104},
        {0.0, 1.0},
        {0.5, 0.64503527044915007},
        {11.0, 0.1217301681665896},
        {13.0, 0.11176083381585477},
        {19.5, 0.090939432095156483},
        {25.0, 0.080196773547436708},
        {700.0, 0.015081295651531358}}},
      {"i1",
       [](const Tensor& x) { return x.i1(); },
       {{-2.0, -1.5906368546373291},
        {0.0, 0.0},
        {0.5, 0.25789430539089632},
        {11.0, 6948.8586598121632},
        {13.0, 47502.987358995861},
        {19.5, 26065069.264457166},
        {25.0, 5657865129.8787014},
        {80.0, 2.4596595795675409e+33}}},
      {"i1e",
       [](const Tensor& x) { return x.i1e(); },
       {{-2.0, -0.21526928924893766},
        {0.0, 0.0},
        {0.5, 0.1564208031848717},
        {11.0, 0.1160577581698902},
        {13.0, 0.10737239924698763},
        {19.5, 0.088576086094314852},
        {25.0, 0.078576113319292772},
        {700.0, 0.015070519444716847}}},
      {"sinc",
       [](const Tensor& x) { return x.sinc(); },
       {{-2.5, 0.12732395447351627}, {0.0, 1.0}, {0.25, 0.90031631615710607}, {1.3, -0.19809085184633996}}},
      {"logit",
       [](const Tensor& x) { return x.logit(); },
       {{0.01, -4.5951198501345899}, {0.5, 0.0}, {0.9, 2.1972245773362196}}},
      {"mvlgamma of 3",
       [](const Tensor& x) { return x.mvlgamma(3); },
       {{1.5, 2.1686775340635551}, {4.0, 5.4029750809091748}}},
  };
  return cases;
}

/// The largest error, relative where values are above 1.
double worst(const SpecialCase& c, DType dtype) {
  std::vector<double> xs;
  for (const auto& [x, y] : c.values) xs.push_back(x);
  const auto n = static_cast<std::int64_t>(xs.size());
  const Tensor x = f64(xs, {n}).cast(dtype);
  const Tensor y = c.f(x);
  EXPECT_EQ(y.dtype(), dtype) << c.name;
  const std::vector<double> found = values_of(y);
  double out = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const double expected = c.values[k].second;
    const double error = std::abs(found[k] - expected) / std::max(1.0, std::abs(expected));
    if (!(error <= out)) out = error;
  }
  return out;
}

TEST(Special, ValuesInDoubles) {
  for (const SpecialCase& c : special_cases()) EXPECT_LT(worst(c, dtypes::float64), 4e-14) << c.name;
}
TEST(Special, ValuesInFloats) {
  for (SpecialCase c : special_cases()) {
    std::erase_if(c.values, [](const auto& v) {  // what no float of 32 bits is near to, or is steep there
      return static_cast<double>(static_cast<float>(v.first)) != v.first && (std::abs(v.second) > 2.5);
    });
    EXPECT_LT(worst(c, dtypes::float32), 3e-6) << c.name;
  }
}
/// Tails keep their digits.
TEST(Special, SmallValuesAreRelative) {
  EXPECT_NEAR(f64({6}, {1}).erfc().item() / 2.1519736712498913e-17, 1, 1e-13);
  EXPECT_NEAR(f64({20}, {1}).erfc().item() / 5.3958656116079009e-176, 1, 1e-12);
  EXPECT_NEAR(f32({6}).erfc().item() / 2.1519736712498913e-17, 1, 1e-5);
  EXPECT_NEAR(f64({-6}, {1}).ndtr().item() / 9.8658764503769814e-10, 1, 1e-13);
  EXPECT_NEAR(f64({1.0000001}, {1}).lgamma().item() / -5.7721557e-8, 1, 1e-7);
  EXPECT_NEAR(f64({1e-9}, {1}).erfinv().item() / 8.8622692545275805e-10, 1, 1e-13);
}

TEST(Special, AtTheEnds) {
  const Tensor x = f64({-kInf, -2, -1, -0.0, 0, 1, 2, kInf, NAN}, {9});
  const auto check = [](const Tensor& y, const std::vector<double>& expected) {
    expect_near(
        y, {std::ssize(expected)}, [&](const Place& p) { return expected[static_cast<std::size_t>(p[0])]; }, 1e-12);
  };
  check(x.lgamma(), {kInf, kInf, kInf, kInf, kInf, 0, 0, kInf, NAN});
  check(x.erfinv(), {NAN, NAN, -kInf, 0, 0, kInf, NAN, NAN, NAN});
  check(x.erfc().narrow(0, 0, 3), {2, 1.9953222650189527, 1.8427007929497148});
  check(x.erfc().narrow(0, 7, 2), {0, NAN});
  const double euler = 0.57721566490153286;
  check(x.digamma(), {NAN, NAN, NAN, kInf, -kInf, -euler, 1 - euler, kInf, NAN});
  check(x.polygamma(1).narrow(0, 1, 3), {kInf, kInf, kInf});
  check(x.i0e().narrow(0, 7, 2), {0, NAN});
  check(x.i0().narrow(0, 7, 2), {kInf, NAN});
  check(x.i1().narrow(0, 0, 1), {-kInf});
  check(x.sinc().narrow(0, 3, 2), {1, 1});
  check(f64({-0.1, 0, 1, 1.1, 0.95}, {5}).logit(), {NAN, -kInf, kInf, NAN, std::log(19.0)});
  check(f64({-0.1, 0.95, 0.5}, {3}).logit(0.1), {-std::log(9.0), std::log(9.0), 0});
  check(f64({-1, 0, 0.5, kInf, NAN}, {5}).entr(), {-kInf, 0, std::log(2.0) / 2, -kInf, NAN});
  EXPECT_EQ(i64({3, 5}).lgamma().dtype(), dtypes::float32);
  EXPECT_EQ(f32({3}).cast(dtypes::float16).lgamma().dtype(), dtypes::float16);
}

// Where powers alone are 0, and factorials infinite: by MPFR.
TEST(Special, PolygammaBeyondItsPowers) {
  const auto at = [](double x, std::int64_t order) {
    return Tensor::from({static_cast<float>(x)}).polygamma(order).item<float>();
  };
  EXPECT_NEAR(at(1e37, 1) / 1e-37, 1, 1e-6);
  EXPECT_NEAR(at(63.220767974853516, 40) / -2.5446125531279303e-26, 1, 1e-6);
  EXPECT_EQ(at(std::numeric_limits<double>::infinity(), 1), 0);
}

TEST(Special, Gradients) {
  const std::vector<double> inner = {-0.9, -0.4, 0.2, 0.7}, outer = {-3.3, -0.4, 0.3, 1.7, 9.4};
  const auto check = [](const std::vector<double>& at, const std::function<Tensor(const Tensor&)>& f) {
    expect_gradient(f, at, {std::ssize(at)}, 1e-5);
    const TensorFunction slope = grad([&](const Tensor& x) { return f(x).sum(); });
    expect_gradient([&](const Tensor& x) { return slope(x); }, at, {std::ssize(at)}, 1e-4);
  };
  check(inner, [](const Tensor& x) { return x.erfinv(); });
  check(inner, [](const Tensor& x) { return x.erfc() + x.ndtr(); });
  check(outer, [](const Tensor& x) { return x.lgamma(); });
  check(outer, [](const Tensor& x) { return x.digamma() * 0.1; });
  check({0.4, 1.2}, [](const Tensor& x) { return x.polygamma(2); });
  check({-1.5, 0.2, 3, 21}, [](const Tensor& x) { return x.i0e() + x.i1e(); });
  check({-1.5, 0, 3}, [](const Tensor& x) { return x.i0() + x.i1() * 2; });
  check({-1.5, 0.5, 3}, [](const Tensor& x) { return x.sinc(); });
  check({0.2, 0.7}, [](const Tensor& x) { return x.logit(); });
  check({2.2, 4}, [](const Tensor& x) { return x.mvlgamma(2); });
}
TEST(Special, Errors) {
  expect_error([] { f64({1}, {1}).polygamma(-1); }, "[polygamma] the order is -1");
  expect_error([] { f64({1}, {1}).polygamma(61); }, "0 to 60");
  expect_error([] { f64({1}, {1}).mvlgamma(0); }, "[mvlgamma] the dimension is 0");
}

}  // namespace
}  // namespace strata::test
