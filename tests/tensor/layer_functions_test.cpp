// Functions of torch.nn.functional: values that PyTorch gives, and gradients by differences.

#include "strata/tensor/functional.h"
#include "tests/dtype/special_values.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

/// As the values of PyTorch were computed from.
Tensor of(const Place& shape, std::uint64_t seed, double low = -1, double high = 1) {
  return Array(shape, seed, low, high).tensor();
}
void expect_flat_near(const Tensor& x, const std::vector<double>& expected, double tolerance = 1e-10) {
  const std::vector<double> found = values_of(x);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const bool is_same = expected[k] == found[k];
    EXPECT_TRUE(is_same || std::abs(found[k] - expected[k]) <= tolerance * (1 + std::abs(expected[k])))
        << found[k] << ", where " << expected[k] << " is expected, number " << k;
  }
}

// --- grids ---

using Outside = GridSampleOptions::Outside;
struct GridCase {
  Interpolation mode;
  Outside outside;
  bool align_corners, is_of_three;
  std::vector<double> values;
};

TEST(Layers, GridsOfPlaces) {
  const std::vector<GridCase> cases = {
      {Interpolation::linear,
       Outside::zeros,
       false,
       false,
       {-0.43146405817, 0.0305332447905, -0.281640082958, -0.0645228326569, 0.104982071913, -0.227239241816,
        -0.43074744864, 0.0379644550159, 0.451860652916, -0.0799983357823, 0.130532708658, -0.0945759213451}},
      {Interpolation::linear,
       Outside::zeros,
       true,
       false,
       {-0.416532619077, 0.327637090109, -0.388394528291, -0.206895858627, 0.413344663386, -0.330790011619,
        -0.423092736643, 0.420939889527, 0.700658153854, -0.0920594702795, 0.531011230017, -0.123726727063}},
      {Interpolation::linear,
       Outside::border,
       false,
       false,
       {-0.43146405817, 0.435273426601, -0.469499543174, -0.0645228326569, 0.435273426601, -0.227239241816,
        -0.43074744864, 0.541210688128, 0.753260572481, -0.0799983357823, 0.541210688128, -0.0945759213451}},
      {Interpolation::linear,
       Outside::border,
       true,
       false,
       {-0.416532619077, 0.438751822259, -0.388394528291, -0.206895858627, 0.438742889279, -0.330790011619,
        -0.423092736643, 0.56369730158, 0.700658153854, -0.0920594702795, 0.56363955298, -0.123726727063}},
      {Interpolation::linear,
       Outside::reflection,
       false,
       false,
       {-0.43146405817, 0.435273426601, -0.469499543174, -0.0645228326569, 0.435273426601, -0.227239241816,
        -0.43074744864, 0.541210688128, 0.753260572481, -0.0799983357823, 0.541210688128, -0.0945759213451}},
      {Interpolation::linear,
       Outside::reflection,
       true,
       false,
       {-0.416532619077, 0.455473160734, -0.388394528291, -0.206895858627, 0.442571884152, -0.330790011619,
        -0.423092736643, 0.535684208861, 0.700658153854, -0.0920594702795, 0.557246845689, -0.123726727063}},
      {Interpolation::nearest,
       Outside::zeros,
       false,
       false,
       {-0.878264295141, 0, -0.852537401436, 0.257090769593, 0, -0.332852297004, -0.675309063026, 0, 0.695396706532,
        -0.0050165801174, 0, -0.148643237988}},
      {Interpolation::nearest,
       Outside::zeros,
       true,
       false,
       {-0.125116131118, 0.435273426601, -0.852537401436, -0.332852297004, 0.435273426601, -0.332852297004,
        -0.269252552417, 0.541210688128, 0.695396706532, -0.148643237988, 0.541210688128, -0.148643237988}},
      {Interpolation::nearest,
       Outside::border,
       false,
       false,
       {-0.878264295141, 0.435273426601, -0.852537401436, 0.257090769593, 0.435273426601, -0.332852297004,
        -0.675309063026, 0.541210688128, 0.695396706532, -0.0050165801174, 0.541210688128, -0.148643237988}},
      {Interpolation::nearest,
       Outside::border,
       true,
       false,
       {-0.125116131118, 0.435273426601, -0.852537401436, -0.332852297004, 0.435273426601, -0.332852297004,
        -0.269252552417, 0.541210688128, 0.695396706532, -0.148643237988, 0.541210688128, -0.148643237988}},
      {Interpolation::nearest,
       Outside::reflection,
       false,
       false,
       {-0.878264295141, 0.435273426601, -0.852537401436, 0.257090769593, 0.435273426601, -0.332852297004,
        -0.675309063026, 0.541210688128, 0.695396706532, -0.0050165801174, 0.541210688128, -0.148643237988}},
      {Interpolation::nearest,
       Outside::reflection,
       true,
       false,
       {-0.125116131118, 0.435273426601, -0.852537401436, -0.332852297004, 0.435273426601, -0.332852297004,
        -0.269252552417, 0.541210688128, 0.695396706532, -0.148643237988, 0.541210688128, -0.148643237988}},
      {Interpolation::cubic,
       Outside::zeros,
       false,
       false,
       {-0.584048109605, 0.0239167977762, -0.387526451501, -0.0697716263724, 0.0909196758536, -0.234249452515,
        -0.672965494261, 0.0274518318711, 0.703079760736, -0.0962718922831, 0.106880147792, -0.102516528499}},
      {Interpolation::cubic,
       Outside::zeros,
       true,
       false,
       {-0.5371244428, 0.345965617974, -0.530612031194, -0.231695725314, 0.435728131077, -0.323136128277,
        -0.594723515154, 0.458710062087, 0.937748906034, -0.110091376302, 0.55912034464, -0.14444261014}},
      {Interpolation::cubic,
       Outside::border,
       false,
       false,
       {-0.506833545394, 0.427594124393, -0.618137480992, -0.0886275804398, 0.415180310042, -0.239998466531,
        -0.592195455286, 0.502449978886, 1.0688040572, -0.0899636568478, 0.497182634043, -0.103873449952}},
      {Interpolation::cubic,
       Outside::border,
       true,
       false,
       {-0.476536692682, 0.434131107463, -0.508086872892, -0.238546263813, 0.438968406021, -0.322762950274,
        -0.548592388556, 0.569929387418, 0.895910994543, -0.109218586812, 0.563338108574, -0.144855289313}},
      {Interpolation::cubic,
       Outside::reflection,
       false,
       false,
       {-0.506833545394, 0.405836191727, -0.634142675162, -0.0886275804398, 0.380762616355, -0.239998466531,
        -0.592195455286, 0.462992887583, 1.15322079667, -0.0899636568478, 0.445955598537, -0.103873449952}},
      {Interpolation::cubic,
       Outside::reflection,
       true,
       false,
       {-0.52826923777, 0.470279057494, -0.51451330966, -0.219087759698, 0.44141117845, -0.322800179382, -0.57602729065,
        0.57213851634, 0.948503940398, -0.10498250246, 0.546675760395, -0.144292858007}},
      {Interpolation::linear, Outside::zeros, false, true, {0.110401139316, -0.135312958944, 0.0232597925237, 0}},
      {Interpolation::linear,
       Outside::border,
       false,
       true,
       {0.999397977809, -0.620342349995, 0.382143425313, -0.0419165795213}},
      {Interpolation::linear,
       Outside::reflection,
       false,
       true,
       {0.999397977809, -0.620342349995, 0.382143425313, 0.0196821677754}},
      {Interpolation::nearest, Outside::zeros, false, true, {0, 0, 0, 0}},
      {Interpolation::nearest,
       Outside::border,
       false,
       true,
       {0.999397977809, -0.620342349995, 0.382143425313, 0.429924914896}},
      {Interpolation::nearest,
       Outside::reflection,
       false,
       true,
       {0.999397977809, -0.620342349995, 0.382143425313, 0.429924914896}},
  };
  for (const GridCase& c : cases) {
    const GridSampleOptions options = {c.mode, c.outside, c.align_corners};
    const Tensor x = c.is_of_three ? of({1, 1, 2, 3, 2}, 3) : of({1, 2, 3, 4}, 1),
                 grid = c.is_of_three ? of({1, 2, 1, 2, 3}, 4, -1.4, 1.4) : of({1, 2, 3, 2}, 2, -1.4, 1.4);
    expect_flat_near(grid_sample(x, grid, options), c.values);
    if (c.mode == Interpolation::cubic && c.outside != Outside::reflection) continue;
    expect_gradients([&](const Many& xs) { return grid_sample(xs[0], xs[1], options); }, {{1, 1, 2, 3}, {1, 1, 2, 2}},
                     1e-5);
  }
  expect_error([] { grid_sample(of({1, 1, 2, 2}, 1), of({1, 2, 2, 3}, 1)); }, "[grid_sample] a grid of shape");
  expect_error([] { grid_sample(of({1, 1, 2, 2, 2}, 1), of({1, 2, 2, 2, 3}, 1), {.mode = Interpolation::cubic}); },
               "not linear");
}
TEST(Layers, GridsOfMatrices) {
  expect_flat_near(affine_grid(of({1, 2, 3}, 5), {1, 1, 2, 3}),
                   {-1.11131329733, 0.46173898636, -0.565360432663, -0.129287674346, -0.0194075679978, -0.720314335053,
                    -1.44925984758, 1.3836108403, -0.903306982912, 0.792584179591, -0.357354118247, 0.201557518884});
  expect_flat_near(affine_grid(of({1, 2, 3}, 5), {1, 1, 2, 3}, true),
                   {-1.21531645454, 0.296316389745, -0.396387157538, -0.590223601315, 0.422542139459, -1.47676359237,
                    -1.89120955503, 2.14006009762, -1.07228025804, 1.25352010656, -0.253350961039, 0.366980115499});
  const Tensor three = affine_grid(of({1, 3, 4}, 6), {1, 1, 1, 2, 2});
  EXPECT_EQ(three.shape(), (Ints{1, 1, 2, 2, 3}));
  expect_flat_near(
      three, {-0.119059670773, -0.664443581464, -0.893110503587, -1.10562818273, -0.0763764564414, -0.198890534375,
              0.671641491775, -0.666670191436, 0.0462251126913, -0.314927020178, -0.0786030664128, 0.740445081902});
  expect_gradients([](const Many& xs) { return affine_grid(xs[0], {1, 1, 2, 2}); }, {{1, 2, 3}});
  expect_error([] { affine_grid(of({1, 2, 3}, 5), {2, 1, 2, 3}); }, "[affine_grid] matrices of shape");
}

// --- losses ---

TEST(Layers, Alignments) {
  const Tensor logs = of({5, 3, 4}, 7, -2, 2).log_softmax(2);
  const Tensor targets = i64({1, 2, 2, 3, 1, 0, 2, 0, 0}, {3, 3}), steps = i64({5, 4, 3}), lengths = i64({3, 2, 0});
  const CtcOptions each = {.reduction = Reduction::none};
  expect_flat_near(ctc_loss(logs, targets, steps, lengths, each), {8.09363706248, 4.7661836293, 5.68374638524});
  expect_flat_near(ctc_loss(logs, targets, steps, lengths), {3.58823907357});
  expect_flat_near(ctc_loss(logs, targets, steps, lengths, {.reduction = Reduction::sum}), {18.543567077});
  expect_flat_near(ctc_loss(logs, i64({1, 2, 2, 3, 1}), steps, lengths, each),
                   {8.09363706248, 4.7661836293, 5.68374638524});
  const Tensor others = i64({1, 2, 2, 0, 1, 0, 2, 0, 0}, {3, 3});
  expect_flat_near(ctc_loss(logs, others, steps, lengths, {.blank = 3, .reduction = Reduction::none}),
                   {6.07702095555, 3.39349206114, 7.16378041812});
  const Tensor equal = i64({1, 1, 1, 3, 1, 0, 2, 0, 0}, {3, 3}), fewer = i64({4, 4, 3});
  expect_flat_near(ctc_loss(logs, equal, fewer, lengths, each), {kInf, 4.7661836293, 5.68374638524});
  const CtcOptions finite = {.reduction = Reduction::none, .zero_infinity = true};
  expect_flat_near(ctc_loss(logs, equal, fewer, lengths, finite), {0, 4.7661836293, 5.68374638524});
  expect_flat_near(ctc_loss(logs.select(1, 0), i64({1, 2}), i64({5}), i64({2}), each), {6.15482279388});
  Tensor x = of({5, 3, 4}, 7, -2, 2);
  x.requires_grad(true);
  const Tensor sum = ctc_loss(x.log_softmax(2), targets, steps, lengths, {.reduction = Reduction::sum});
  expect_flat_near(
      gradients(sum, {&x, 1})[0].narrow(0, 0, 2),
      {0.0426739722561,  -0.780480673196,  0.124080741623,  0.613725959317, -0.627002427541, 0.103833818626,
       0.527907015551,   -0.0047384066358, -0.756594951947, 0.339515909618, 0.367705420854,  0.049373621475,
       -0.0779738605888, -0.0186196030872, -0.656601552391, 0.753195016067, -0.425111564463, 0.108572430787,
       0.33896667127,    -0.0224275375937, -0.54339711161,  0.152911787546, 0.35581219803,   0.0346731260344});
  const Tensor none = ctc_loss(x.log_softmax(2), equal, fewer, lengths, finite);
  EXPECT_TRUE(gradients(none.sum(), {&x, 1})[0].isfinite().all().item<bool>());
  expect_error([&] { ctc_loss(logs, targets, steps, lengths, {.blank = 4}); },
               "[ctc_loss] the blank class 4 is outside of the 4 classes");
  expect_error([&] { ctc_loss(logs, targets, i64({5}), lengths); }, "[ctc_loss] lengths of shapes");
}

TEST(Layers, Margins) {
  const Tensor x = of({3, 4}, 8), target = i64({1, 3, 0}), weight = of({4}, 9, 0.5, 1.5);
  const Reduction none = Reduction::none;
  expect_flat_near(multi_margin_loss(x, target, {.reduction = none}), {1.05689521155, 0.310597043252, 0.315730075993});
  const MultiMarginOptions squares = {.p = 2, .margin = 0.7, .weight = weight, .reduction = none};
  expect_flat_near(multi_margin_loss(x, target, squares), {1.0769474842, 0.0579291532554, 0.123849934643});
  expect_flat_near(multi_margin_loss(x.select(0, 0), i64({1}, {})), {1.05689521155});
  const Tensor classes = i64({1, 3, -1, 0, -1, 0, 1, 2, 2, 0, 1, 3}, {3, 4});
  expect_flat_near(multilabel_margin_loss(x, classes, none), {1.53968706555, 0, 0});
  expect_flat_near(multilabel_margin_loss(x.select(0, 0), classes.select(0, 0)), {1.53968706555});
  const Tensor y = f64({1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0}, {3, 4});
  expect_flat_near(multilabel_soft_margin_loss(x, y, {}, none), {0.801848194394, 0.816491798456, 0.591137626943});
  expect_flat_near(multilabel_soft_margin_loss(x, y, weight), {0.693754079011});
  const Tensor a = of({3, 4}, 1), p = of({3, 4}, 2), n = of({3, 4}, 3);
  expect_flat_near(triplet_margin_with_distance_loss(a, p, n, {.reduction = none}), {1.86920305293, 0, 0.364716321877});
  const auto distance = [](const Tensor& u, const Tensor& v) { return (u - v).abs().sum(-1); };
  expect_flat_near(triplet_margin_with_distance_loss(a, p, n, {distance, 0.5, true, none}), {1.65260724088, 0, 0.5});
  expect_flat_near(kl_div(x.log_softmax(1), (x * 2).softmax(1), Reduction::batchmean), {0.0566026310602});
  expect_gradients([&](const Many& xs) { return multi_margin_loss(xs[0], target, squares); }, {{3, 4}});
  expect_gradients([&](const Many& xs) { return multilabel_margin_loss(xs[0], classes); }, {{3, 4}});
  expect_gradients([&](const Many& xs) { return multilabel_soft_margin_loss(xs[0], y, weight); }, {{3, 4}});
  expect_error([&] { mse_loss(x, x, Reduction::batchmean); }, "batchmean is for kl_div() alone");
  expect_error([&] { multi_margin_loss(x, i64({1})); }, "[multi_margin_loss] an input of shape");
  expect_error([&] { multi_margin_loss(x, target, {.p = 3}); }, "[multi_margin_loss] the power p is 3");
}

// --- layers ---

TEST(Layers, SlopesAndForms) {
  expect_flat_near(
      prelu(of({2, 3, 2}, 1), f64({0.1, 0.2, 0.3}, {3})),
      {0.0409205327958, -0.0852537401436, 0.490508288784, 0.435273426601, 0.257090769593, -0.0998556891011,
       -0.0125116131118, 0.547111632634, 0.681913510948, -0.135875465195, -0.263479288542, 0.0468739724881});
  expect_flat_near(prelu(f64({-2, 3}, {2}), f64({0.5}, {1})), {-1, 3});
  expect_flat_near(bilinear(of({2, 3}, 1), of({2, 4}, 2), of({2, 3, 4}, 3), of({2}, 4)),
                   {0.469216450271, 0.571408991206, 0.425033745219, 0.31264728975});
  expect_flat_near(channel_shuffle(counted({1, 6, 2, 1}), 3), {0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11});
  expect_gradients([](const Many& xs) { return prelu(xs[0], xs[1]); }, {{2, 3}, {3}});
  expect_gradients([](const Many& xs) { return bilinear(xs[0], xs[1], xs[2]); }, {{2, 2}, {2, 3}, {2, 2, 3}});
  expect_error([] { prelu(of({2, 3}, 1), of({2}, 1)); }, "[prelu] a weight of shape (2,)");
  expect_error([] { bilinear(of({2, 3}, 1), of({2, 4}, 1), of({2, 4, 3}, 1)); }, "[bilinear] shapes");
}
TEST(Layers, DistancesOfRows) {
  const Tensor x = of({4, 3}, 7);
  expect_flat_near(pdist(x), {1.2889369879, 1.8612138875, 1.94097917222, 1.59064672209, 0.802883997638, 2.0587084544});
  expect_flat_near(pdist(x, 3),
                   {1.25265151309, 1.56713422705, 1.76525468525, 1.42128093808, 0.708176988952, 1.91123197435});
  expect_flat_near(pdist(x, kInf),
                   {1.24461962101, 1.26902906732, 1.65514452563, 1.20951271136, 0.648696470113, 1.85820918148});
  expect_flat_near(pdist(of({3, 2}, 7).round(), 0), {1, 1, 0});
  EXPECT_EQ(pdist(of({1, 3}, 1)).shape(), Ints{0});
  expect_gradients([](const Many& xs) { return pdist(xs[0]) + pdist(xs[0], 1.5); }, {{3, 2}});
}
TEST(Layers, Bags) {
  const Tensor w = of({5, 3}, 5), indices = i64({1, 2, 4, 4, 0, 3}), rows = indices.reshape({2, 3});
  const Tensor offsets = i64({0, 2, 2, 5});
  const auto bags = [&](BagMode mode) { return embedding_bag(indices, w, {.offsets = offsets, .mode = mode}); };
  expect_flat_near(bags(BagMode::sum),
                   {0.0563964628491, 1.13407552131, 1.02340693018, 0, 0, 0, -1.03990184393, 1.54323012973,
                    0.351212054037, -0.984406972172, -0.357448854232, -0.051691374176});
  expect_flat_near(bags(BagMode::mean),
                   {0.0281982314245, 0.567037760656, 0.51170346509, 0, 0, 0, -0.346633947977, 0.514410043243,
                    0.117070684679, -0.984406972172, -0.357448854232, -0.051691374176});
  expect_flat_near(bags(BagMode::max),
                   {0.942936453909, 0.921871853937, 0.691758677558, 0, 0, 0, 0.818929296997, 0.940588339989,
                    0.542772880912, -0.984406972172, -0.357448854232, -0.051691374176});
  expect_flat_near(embedding_bag(rows, w, {.mode = BagMode::sum}),
                   {-0.873019107615, 2.0746638613, 1.56617981109, -1.09489324564, 0.245192935508, -0.243252201051});
  expect_flat_near(embedding_bag(rows, w), {-0.291006369205, 0.691554620434, 0.522059937031, -0.364964415213,
                                            0.0817309785027, -0.081084067017});
  expect_flat_near(embedding_bag(rows, w, {.mode = BagMode::max}),
                   {0.942936453909, 0.940588339989, 0.691758677558, 0.818929296997, 0.940588339989, 0.542772880912});
  expect_flat_near(embedding_bag(indices, w, {.offsets = offsets, .padding_index = -1}),
                   {0.0281982314245, 0.567037760656, 0.51170346509, 0, 0, 0, 0.818929296997, -0.337946550249,
                    -0.734333707787, -0.984406972172, -0.357448854232, -0.051691374176});
  const EmbeddingBagOptions weighted = {offsets, BagMode::sum, of({6}, 6)};
  expect_flat_near(embedding_bag(indices, w, weighted),
                   {1.62021339008, -0.741700056659, 0.219780667467, 0, 0, 0, 1.1856525937, -0.911266245113,
                    -0.843008352064, 0.00219189038013, 0.000795899183088, 0.000115096529174});
  expect_gradients([&](const Many& xs) { return embedding_bag(indices, xs[0], {offsets, BagMode::sum, xs[1]}); },
                   {{5, 2}, {6}});
  expect_gradients(
      [&](const Many& xs) {
        return embedding_bag(indices, xs[0], {.offsets = offsets}) +
               embedding_bag(indices, xs[0], {offsets, BagMode::max});
      },
      {{5, 2}});
  Tensor table = of({3, 2}, 1);
  table.requires_grad(true);
  const Tensor seen = embedding(i64({0, 2, 2}), table, 2);
  expect_flat_near(gradients(seen.sum(), {&table, 1})[0], {1, 1, 0, 0, 0, 0});
  expect_error([&] { embedding_bag(rows, w, {.offsets = offsets}); }, "[embedding_bag] the indices have shape (2, 3)");
}

TEST(Layers, Pools) {
  const Tensor x = of({1, 2, 3, 5, 4}, 1);
  const auto [most, at] = adaptive_max_pool3d_with_indices(x, {2, 3, 2});
  expect_flat_near(most,
                   {0.572713202917, 0.967908905145, 0.904146138392, 0.967908905145, 0.725674328135, 0.898284786931,
                    0.77569300029,  0.967908905145, 0.904146138392, 0.967908905145, 0.820311121786, 0.737249237837,
                    0.868449983857, 0.544560429109, 0.895110229541, 0.747665681656, 0.895110229541, 0.747665681656,
                    0.868449983857, 0.300934441571, 0.895110229541, 0.99493160808,  0.895110229541, 0.99493160808});
  expect_flat_near(at, {21, 26, 29, 26, 37, 14, 44, 26, 29, 26, 53, 38, 21, 6, 32, 14, 32, 14, 21, 46, 32, 55, 32, 55});
  expect_flat_near(
      adaptive_avg_pool3d(x, {2, 3, 2}),
      {-0.130888552045, 0.143452948261,  -0.112494199862,  0.21930099211,    -0.00602651998794, 0.265631935443,
       0.210337177972,  0.158938978311,  0.0036474035815,  0.0658466557092,  0.0247577571346,   -0.172019282215,
       0.189881383086,  0.0572761218419, -0.0426454594248, 0.00321471981859, 0.0624337894521,   -0.108241800711,
       0.312324009816,  -0.162148466375, 0.137332049882,   0.0524856567038,  -0.0576357726585,  0.0990175441676});
  const auto [values, places] = adaptive_max_pool1d_with_indices(of({2, 7}, 2), 3);
  expect_flat_near(values,
                   {0.684297789641, 0.684297789641, -0.076713959321, 0.684374802601, 0.022232635822, 0.022232635822});
  expect_flat_near(places, {2, 2, 4, 1, 4, 4});
  expect_flat_near(adaptive_max_pool2d_with_indices(of({1, 5, 4}, 3), 2).second, {5, 2, 13, 18});
  expect_flat_near(lp_pool1d(of({1, 2, 7}, 4, 0, 1), 2, 3, {.stride = 2}),
                   {1.11750423375, 0.734067876465, 0.847096035363, 1.23364592692, 0.488676935251, 1.02280225736});
  expect_flat_near(lp_pool1d(of({1, 2, 7}, 4, 0, 1), 3, 3, {.stride = 2, .ceil_mode = true}),
                   {0.995496327084, 0.723319891863, 0.834090762911, 1.09883145699, 0.486611704732, 0.880995897807});
  expect_flat_near(lp_pool2d(of({1, 1, 4, 5}, 5), 2, {2, 3}, {.stride = 1}),
                   {1.53891168516, 1.68881515907, 1.91511472672, 1.42772724993, 1.77873026248, 1.88035626398,
                    1.51339182098, 1.62942844579, 1.84137252286});
  const auto [line, line_at] = max_pool1d_with_indices(of({1, 2, 6}, 6), 2);
  expect_flat_near(max_unpool1d(line, line_at, 2), {0, 0.790701162548, 0, -0.216993345475, 0.588067125023, 0,
                                                    0.709949600166, 0, 0, 0.939335616278, 0.272755005995, 0});
  const auto [cube, cube_at] = max_pool3d_with_indices(of({1, 1, 2, 4, 2}, 7), 2);
  expect_flat_near(max_unpool3d(cube, cube_at, 2, {}, 0, PerAxis{2, 5, 2}),
                   {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.902958866222, 0, 0, 0, 0, 0.789413161414, 0, 0, 0, 0});
  expect_flat_near(interpolate(of({1, 1, 5, 4}, 8), {.size = PerAxis{2, 3}, .mode = Interpolation::area}),
                   {-0.13552047733, -0.201830923321, -0.153053221856, 0.166692126385, 0.191760297912, 0.218572054085});
  expect_flat_near(interpolate(of({1, 2, 5}, 8), {.scale_factor = {0.5}, .mode = Interpolation::area}),
                   {-0.567510915642, -0.370135864109, 0.0116740836511, 0.648995346376});
  expect_gradients([](const Many& xs) { return lp_pool2d(xs[0], 3, 2); }, {{1, 1, 4, 4}}, 1e-5, 0.1, 1);
  expect_gradients([](const Many& xs) { return adaptive_avg_pool3d(xs[0], 2) + adaptive_max_pool3d(xs[0], 2); },
                   {{1, 1, 3, 2, 3}});
  EXPECT_EQ(lp_pool3d(of({1, 1, 2, 2, 2}, 1), 2, 2).numel(), Int(1));
  expect_error([&] { lp_pool1d(of({1, 2, 7}, 4), 0, 3); }, "[lp_pool1d] the norm p is 0");
  expect_error([&] { adaptive_max_pool3d(of({2, 2}, 4), 1); }, "[adaptive_max_pool3d]");
}

}  // namespace
}  // namespace strata::test
