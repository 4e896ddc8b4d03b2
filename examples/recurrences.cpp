// Four recurrences, each one loop of the graph: a filter, a tracker, a network that reads, and an iteration that ends
// by itself.
//
//   recurrences [--epochs N] [--data FILE]
//
// Each part checks its result; the exit status is 1 where one is wrong.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <numbers>
#include <sstream>

#include "strata/strata.h"

namespace {

using namespace strata;

bool report(const char* what, double value, double most) {
  std::printf("%-58s %10.3g  (at most %g)%s\n", what, value, most, value <= most ? "" : "  WRONG");
  return value <= most;
}

Tensor matrix(std::vector<float> elements) {
  const auto n = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(elements.size()))));
  return Tensor::from(std::move(elements), {n, n});
}

// --- 1. A recursive filter: y[t] = b0*x[t] + b1*x[t-1] + b2*x[t-2] - a1*y[t-1] - a2*y[t-2] ---

/// A low pass of second order in the transposed direct form II. Its state is two numbers.
bool filter() {
  const double w = 2 * std::numbers::pi * 1000 / 44100, alpha = std::sin(w) * std::numbers::sqrt2 / 2, a0 = 1 + alpha;
  const double b0 = (1 - std::cos(w)) / 2 / a0, b1 = 2 * b0, a1 = -2 * std::cos(w) / a0, a2 = (1 - alpha) / a0;
  const Tensor time = Tensor::arange(44100).cast(dtypes::float32) * (2 * std::numbers::pi / 44100);
  const Tensor low = (time * 200.0).sin(), high = (time * 9000.0).sin();
  const ScanStep step = [&](std::span<const Tensor> s, std::span<const Tensor> x) {
    const Tensor y = x[0] * b0 + s[0];
    return std::pair(std::vector<Tensor>{x[0] * b1 - y * a1 + s[1], x[0] * b0 - y * a2}, std::vector<Tensor>{y});
  };
  const auto passed = [&](const Tensor& x) {
    const std::vector<Tensor> silence(2, Tensor::zeros({}));
    const Tensor y = scan(step, silence, {&x, 1}).outputs[0];
    return (y.square().mean() / x.square().mean()).sqrt().item();
  };
  const bool is_low = report("filter: loss of the tone at 200 Hz", 1 - passed(low), 0.05);
  return report("filter: what is left of the tone at 9 kHz", passed(high), 0.02) && is_low;
}

// --- 2. A Kalman filter (Kalman, 1960): position and speed of a body from noisy positions ---

bool track() {
  manual_seed(4);
  constexpr std::int64_t kSteps = 400;
  const Tensor truth = (Tensor::arange(kSteps).cast(dtypes::float32) * 0.02).sin() * 10.0;
  const Tensor seen = truth + randn({kSteps});
  const Tensor f = matrix({1, 1, 0, 1}), q = matrix({2.5e-5F, 5e-5F, 5e-5F, 1e-4F}), eye = Tensor::eye(2);
  const Tensor h = Tensor::from(std::vector<float>{1, 0}, {1, 2});
  const ScanStep step = [&](std::span<const Tensor> s, std::span<const Tensor> z) {
    const Tensor x = f.matmul(s[0]), p = f.matmul(s[1]).matmul(f.transpose(0, 1)) + q;  // predicted
    const Tensor gain = p.matmul(h.transpose(0, 1)) / (h.matmul(p).matmul(h.transpose(0, 1)) + 1.0);
    const Tensor better = x + gain.matmul(z[0].reshape({1, 1}) - h.matmul(x));
    return std::pair(std::vector<Tensor>{better, (eye - gain.matmul(h)).matmul(p)},
                     std::vector<Tensor>{better.shrink({{0, 1}, {0, 1}}).reshape({})});
  };
  const std::vector<Tensor> start = {Tensor::zeros({2, 1}), eye * 10.0};
  const Tensor tracked = scan(step, start, {&seen, 1}).outputs[0];
  const auto error = [&](const Tensor& y) { return (y - truth).square().mean().sqrt().item(); };
  return report("tracker: its error by the error of the measurements", error(tracked) / error(seen), 0.5);
}

// --- 3. A GRU reads digits from top to bottom, a row of pixels at a time ---

constexpr std::int64_t kSide = 8, kClasses = 10, kBatch = 64;

struct Digits {
  Tensor rows, classes;  // (count, 8, 8) from 0 to 1; (count,)
};

Digits read_digits(const std::string& path) {
  std::ifstream file(path);
  STRATA_CHECK(file.good(), request, "[recurrences] cannot open ", path);
  std::vector<float> pixels;
  std::vector<std::int64_t> labels;
  for (std::string line; std::getline(file, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream in(line);
    float value = 0;
    for (std::int64_t k = 0; k < kSide * kSide && in >> value; ++k) pixels.push_back(value / 16);
    std::int64_t label = -1;
    STRATA_CHECK(in >> label && 0 <= label && label < kClasses, parse, "[recurrences] ", path, ", line ",
                 labels.size() + 1, ": no pixels and a label");
    labels.push_back(label);
  }
  const auto count = std::ssize(labels);
  return {Tensor::from(pixels, {count, kSide, kSide}).realize(), Tensor::from(labels, {count}).realize()};
}

struct Reader : nn::Module {
  nn::GRU gru{kSide, 48};
  nn::Linear out{48, kClasses};
  Reader() { add("gru", gru), add("out", out); }
  Tensor operator()(const Tensor& rows) const { return out(gru(rows).second); }
};

bool read(const std::string& path, std::int64_t epochs) {
  manual_seed(1);
  const Digits digits = read_digits(path);
  const std::int64_t count = digits.classes.shape()[0].value(), trained = count * 4 / 5;
  const auto part = [](const Tensor& x, std::int64_t begin, std::int64_t end) {
    Mask bounds = {{begin, end}};
    for (std::size_t d = 1; d < x.shape().size(); ++d) bounds.push_back({0, x.shape()[d]});
    return x.shrink(bounds);
  };
  const Reader reader;
  nn::Adam optimizer(reader.parameters(), {.lr = 0.01});
  auto step = jit([&](const Tensor& rows, const Tensor& classes) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(reader(rows), classes);
    loss.backward();
    optimizer.step();
    return loss;
  });
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
    for (std::int64_t k = 0; k + kBatch <= trained; k += kBatch)
      step(part(digits.rows, k, k + kBatch).contiguous(), part(digits.classes, k, k + kBatch).contiguous()).realize();
  const NoGrad none;
  const Tensor guessed = reader(part(digits.rows, trained, count)).argmax(1);
  const double wrong = 1 - (guessed == part(digits.classes, trained, count)).cast(dtypes::float32).mean().item();
  return report("reader: share of the held-out digits that it misreads", wrong, 0.08);
}

// --- 4. Newton's method: a loop that ends when all elements are exact enough ---

bool roots() {
  const Tensor a = Tensor::arange(1000).cast(dtypes::float64) + 1.0;
  const auto is_far = [&](const Tensor& x) { return ((x * x * x - a).abs() > a * 1e-14).any(); };
  const auto better = [&](const Tensor& x) { return x - (x * x * x - a) / (x * x * 3.0); };
  const Tensor x = while_loop(is_far, better, a, 100);
  const double error = ((x - a.log().div(3.0).exp()).abs() / x).max().item();
  return report("roots: relative error of a thousand cube roots", error, 1e-14);
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t epochs = 25;
  std::string data = "examples/data/digits.csv";
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string option = argv[k];
    if (option == "--epochs") epochs = std::atoll(argv[k + 1]);
    if (option == "--data") data = argv[k + 1];
  }
  try {
    const bool all[] = {filter(), track(), read(data, epochs), roots()};
    return std::all_of(std::begin(all), std::end(all), [](bool ok) { return ok; }) ? 0 : 1;
  } catch (const Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
