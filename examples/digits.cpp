// Trains a small convolutional net on handwritten digits, and shows what ran.
//
//   digits [--epochs N] [--data FILE] [--save FILE]
//
// Its last line is the share of the held-out fifth that it reads rightly.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <sstream>

#include "strata/runtime/progress.h"
#include "strata/strata.h"
#include "tools/kernel_run.h"

namespace {

using namespace strata;

constexpr std::int64_t kSide = 8, kPixels = kSide * kSide, kClasses = 10, kBatch = 128;

struct Digits {
  std::vector<float> pixels;  // from 0 to 1
  std::vector<std::int64_t> labels;

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
  Tensor images() const { return Tensor::from(pixels, {count(), 1, kSide, kSide}); }
  Tensor classes() const { return Tensor::from(labels, {count()}); }
  void add(const Digits& from, std::size_t k) {
    const auto first = from.pixels.begin() + static_cast<std::ptrdiff_t>(k) * kPixels;
    pixels.insert(pixels.end(), first, first + kPixels);
    labels.push_back(from.labels[k]);
  }
};

Digits read_digits(const std::string& path) {
  std::ifstream file(path);
  STRATA_CHECK(file.good(), request, "[digits] cannot open ", path);
  Digits out;
  for (std::string line; std::getline(file, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream in(line);
    float value = 0;
    for (std::int64_t k = 0; k < kPixels && in >> value; ++k) out.pixels.push_back(value / 16);
    std::int64_t label = -1;
    STRATA_CHECK(in >> label && 0 <= label && label < kClasses, parse, "[digits] ", path, ", line ", out.count() + 1,
                 ": 64 pixels and a digit are expected");
    out.labels.push_back(label);
  }
  return out;
}

/// Every fifth digit is kept for the test.
std::pair<Digits, Digits> split(const Digits& all) {
  Digits train, test;
  for (std::size_t k = 0; k < all.labels.size(); ++k) (k % 5 == 4 ? test : train).add(all, k);
  return {train, test};
}

struct Net : nn::Module {
  nn::Conv2d first{1, 24, 3, {.padding = 1}}, second{24, 48, 3, {.padding = 1}};
  nn::Linear out{48 * 4, kClasses};

  Net() { add("first", first), add("second", second), add("out", out); }
  Tensor operator()(const Tensor& x) const {
    const Tensor coarse = max_pool2d(first(x).relu(), 2);
    const Tensor features = max_pool2d(second(coarse).relu(), 2).flatten(1);
    return out(dropout(features, 0.25, is_training()));
  }
};

/// Pictures moved by up to one pixel each way, differently in each batch.
Tensor shifted(const Tensor& x, std::int64_t dy, std::int64_t dx) {
  return x.pad({{0, 0}, {0, 0}, {1, 1}, {1, 1}})
      .shrink({{0, x.size(0)}, {0, 1}, {1 + dy, 1 + dy + kSide}, {1 + dx, 1 + dx + kSide}});
}

struct Options {
  std::int64_t epochs = 120;
  std::string data = "examples/data/digits.csv", save = "digits.safetensors";
};

/// Gives what a step's kernels take.
std::vector<RecordedTime> train(Net& net, const Digits& digits, std::int64_t epochs) {
  nn::AdamW optimizer(net.parameters(), {.lr = 4e-3, .weight_decay = 1e-2});
  auto step = jit([&](const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(net(x), y, {.label_smoothing = 0.05});
    loss.backward();
    optimizer.step();
    return loss;
  });
  const std::int64_t batches = digits.count() / kBatch;
  std::vector<std::size_t> order(digits.labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::uint64_t state = 1;
  const auto next = [&] { return state = state * 6364136223846793005U + 1442695040888963407U, state >> 33; };
  Progress progress("training", epochs * batches);
  double mean = 0;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[next() % k]);
    for (std::int64_t b = 0; b < batches; ++b) {
      Digits batch;
      for (std::int64_t k = 0; k < kBatch; ++k) batch.add(digits, order[static_cast<std::size_t>(b * kBatch + k)]);
      optimizer.set_lr(nn::cosine_schedule(4e-3, epoch * batches + b, epochs * batches));
      const auto move = [&] { return static_cast<std::int64_t>(next() % 3) - 1; };
      const Tensor x = epoch + 4 < epochs ? shifted(batch.images(), move(), move()) : batch.images();
      mean += 0.05 * (step(x, batch.classes()).item() - mean);
      char note[32];
      std::snprintf(note, sizeof note, "loss %.3f", mean);
      progress.advance(1, note);
    }
  }
  return step.jit()->times(20);
}

std::vector<std::int64_t> answers(Net& net, const Digits& digits) {
  net.eval();
  const NoGrad none;
  return net(digits.images()).argmax(1).to_vector<std::int64_t>();
}

/// The percentage of digits that are read rightly.
double accuracy(const Digits& digits, const std::vector<std::int64_t>& found) {
  std::int64_t right = 0;
  for (std::size_t k = 0; k < found.size(); ++k) right += found[k] == digits.labels[k] ? 1 : 0;
  return 100.0 * static_cast<double>(right) / static_cast<double>(digits.count());
}

void print_kernels(const std::vector<RecordedTime>& times, const Device& device) {
  const tools::Roofline& roof = tools::roofline(device, false);
  std::printf("\nkernels of a training step on %s, those that take longest first\n",
              std::string(device.name()).c_str());
  std::printf("  %-28s %10s %9s %8s %10s\n", "kernel", "us", "GFLOP/s", "GB/s", "roofline");
  double total = 0;
  for (const RecordedTime& t : times) {
    const KernelCost cost = cost_of(t.kernel->kernel().ast);
    const double least =
        roof.peak > 0 ? roof.seconds(tools::KernelWork{.operations = cost.operations, .bytes = cost.bytes}) : 0;
    const double percent = 100 * least / t.seconds;
    std::printf("  %-28s %10.1f %9.2f %8.2f", t.kernel->kernel().name.substr(0, 28).c_str(), t.seconds * 1e6,
                cost.operations / t.seconds * 1e-9, cost.bytes / t.seconds * 1e-9);
    percent <= 100 ? std::printf(" %8.0f %%\n", percent) : std::printf("   in cache\n");  // faster than memory is
    total += t.seconds;
  }
  std::printf("  %-28s %10.1f\n", "all", total * 1e6);
}

void print_confusion(const Digits& digits, const std::vector<std::int64_t>& found) {
  std::array<std::array<int, kClasses>, kClasses> table{};
  for (std::size_t k = 0; k < found.size(); ++k)
    ++table[static_cast<std::size_t>(digits.labels[k])][static_cast<std::size_t>(found[k])];
  std::printf("\nwhat was read (columns) where what was written (rows)\n     ");
  for (int c = 0; c < kClasses; ++c) std::printf("%4d", c);
  for (std::size_t r = 0; r < table.size(); ++r) {
    std::printf("\n  %zu  ", r);
    for (const int n : table[r]) n == 0 ? std::printf("   .") : std::printf("%4d", n);
  }
  std::printf("\n");
}

void print_digits(const Digits& digits, const std::vector<std::int64_t>& found, std::size_t count) {
  constexpr const char* kShades[] = {"  ", "..", "::", "##", "@@"};
  std::printf("\n");
  for (std::int64_t row = 0; row < kSide; ++row) {
    for (std::size_t k = 0; k < count; ++k) {
      std::printf("  ");
      for (std::int64_t column = 0; column < kSide; ++column) {
        const float v = digits.pixels[k * kPixels + static_cast<std::size_t>(row * kSide + column)];
        std::printf("%s", kShades[std::min<std::size_t>(static_cast<std::size_t>(v * 5), 4)]);
      }
    }
    std::printf("\n");
  }
  for (std::size_t k = 0; k < count; ++k)
    std::printf("  read as %lld, is %lld  ", static_cast<long long>(found[k]),
                static_cast<long long>(digits.labels[k]));
  std::printf("\n");
}

int run(const Options& options) {
  manual_seed(1);
  const Device& device = Device::default_device();
  const auto [training, held_out] = split(read_digits(options.data));
  std::printf("%lld digits to learn from, %lld held out, on %s\n", static_cast<long long>(training.count()),
              static_cast<long long>(held_out.count()), std::string(device.name()).c_str());
  Net net;
  std::vector<RecordedTime> times = train(net, training, options.epochs);
  print_kernels(times, device);
  const std::vector<std::int64_t> found = answers(net, held_out);
  print_confusion(held_out, found);
  print_digits(held_out, found, 4);
  nn::save(net, options.save);
  std::printf("\nweights: %s\n", options.save.c_str());
  nn::quantize(net, {training.images()});
  std::printf("test accuracy in integers, weights as int8: %.2f %%\n", accuracy(held_out, answers(net, held_out)));
  std::printf("test accuracy: %.2f %%\n", accuracy(held_out, found));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Options options;
    for (int k = 1; k + 1 < argc; k += 2) {
      if (std::strcmp(argv[k], "--epochs") == 0)
        options.epochs = std::stoll(argv[k + 1]);
      else if (std::strcmp(argv[k], "--data") == 0)
        options.data = argv[k + 1];
      else if (std::strcmp(argv[k], "--save") == 0)
        options.save = argv[k + 1];
    }
    return run(options);
  } catch (const std::exception& e) {
    std::cerr << "digits: " << e.what() << "\n";
    return 1;
  }
}
