// A transformer learns to sort: eight digits in, the same digits in order out.
//
//   transformer [--steps N] [--length N] [--seed N]
//
// Nobody tells it what sorting is: each place looks at all others (attention without a mask) and says which digit
// belongs there. It is tested on sequences that it has not seen; the last line is the share of digits that are right,
// and the exit status is 1 below 99 %.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <random>

#include "strata/runtime/progress.h"
#include "strata/strata.h"

namespace {

using namespace strata;

constexpr std::int64_t kDigits = 10, kFeatures = 32, kHeads = 4, kBatch = 128;

struct Options {
  std::int64_t steps = 600, length = 8;
  std::uint32_t seed = 1;
};

/// Sequences, one after another, and the same ones sorted.
struct Sequences {
  std::vector<std::int64_t> given, sorted;
  std::int64_t length;

  std::int64_t count() const { return std::ssize(given) / length; }
  Tensor inputs() const { return Tensor::from(given, {count(), length}); }
  Tensor targets() const { return Tensor::from(sorted, {count(), length}); }
};

/// Sequences whose digits add up to a multiple of 5 are kept for the test: training never meets one.
Sequences random_sequences(std::mt19937& random, std::int64_t count, std::int64_t length, bool test) {
  Sequences out{{}, {}, length};
  std::uniform_int_distribution<std::int64_t> digit(0, kDigits - 1);
  std::vector<std::int64_t> one(static_cast<std::size_t>(length));
  while (out.count() < count) {
    std::int64_t sum = 0;
    for (std::int64_t& d : one) sum += d = digit(random);
    if ((sum % 5 == 0) != test) continue;
    out.given.insert(out.given.end(), one.begin(), one.end());
    std::sort(one.begin(), one.end());
    out.sorted.insert(out.sorted.end(), one.begin(), one.end());
  }
  return out;
}

struct Sorter : nn::Module {
  nn::Embedding digits{kDigits, kFeatures}, places;
  nn::TransformerBlock first{kFeatures, kHeads, 2 * kFeatures}, second{kFeatures, kHeads, 2 * kFeatures};
  nn::LayerNorm norm{{kFeatures}};
  nn::Linear out{kFeatures, kDigits};

  explicit Sorter(std::int64_t length) : places(length, kFeatures) {
    add("digits", digits), add("places", places), add("first", first), add("second", second);
    add("norm", norm), add("out", out);
  }
  /// (batch, length) to scores (batch, length, digits)
  Tensor operator()(const Tensor& x) const { return out(norm(second(first(digits(x) + places.weight)))); }
};

void train(Sorter& net, const Options& options, std::mt19937& random) {
  nn::AdamW optimizer(net.parameters(), {.lr = 3e-3, .weight_decay = 1e-2});
  auto step = jit([&](const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(net(x).flatten(0, 1), y.flatten());
    loss.backward();
    optimizer.step();
    return loss;
  });
  Progress progress("training", options.steps);
  double mean = 2.3;
  for (std::int64_t k = 0; k < options.steps; ++k) {
    const Sequences batch = random_sequences(random, kBatch, options.length, false);
    optimizer.set_lr(nn::warmup_cosine_schedule(3e-3, k + 1, options.steps / 10, options.steps + 1));
    mean += 0.1 * (step(batch.inputs(), batch.targets()).item() - mean);
    char note[32];
    std::snprintf(note, sizeof note, "loss %.4f", mean);
    progress.advance(1, note);
  }
}

void print_sequence(const char* label, const std::vector<std::int64_t>& all, std::int64_t row, std::int64_t length) {
  std::printf("  %s", label);
  for (std::int64_t k = 0; k < length; ++k)
    std::printf(" %lld", static_cast<long long>(all[static_cast<std::size_t>(row * length + k)]));
}

int run(const Options& options) {
  STRATA_CHECK(options.steps >= 1 && options.length >= 1 && options.length <= 64, request, "[transformer] ",
               options.steps, " steps, length ", options.length, ": at least one step, and a length from 1 to 64");
  manual_seed(options.seed);
  std::mt19937 random(options.seed);
  Sorter net(options.length);
  Int weights = 0;
  for (const Tensor& p : net.parameters()) weights = weights + p.numel();
  std::printf("a transformer of %s weights, on %s\n", weights.render().c_str(),
              std::string(Device::default_device().name()).c_str());
  const auto begin = std::chrono::steady_clock::now();
  train(net, options, random);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

  net.eval();
  const NoGrad none;
  const Sequences test = random_sequences(random, 1000, options.length, true);
  const std::vector<std::int64_t> found = net(test.inputs()).argmax(2).to_vector<std::int64_t>();
  for (std::int64_t row = 0; row < 4; ++row) {
    print_sequence("given", test.given, row, options.length);
    print_sequence("sorted", found, row, options.length);
    std::printf("\n");
  }
  std::size_t right = 0;
  for (std::size_t k = 0; k < found.size(); ++k) right += found[k] == test.sorted[k] ? 1 : 0;
  const double share = static_cast<double>(right) / static_cast<double>(found.size());
  std::printf("%.1f s of training, held-out digits in their place: %.2f %%\n", seconds.count(), 100 * share);
  return share >= 0.99 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Options options;
    for (int k = 1; k + 1 < argc; k += 2) {
      if (std::strcmp(argv[k], "--steps") == 0)
        options.steps = std::stoll(argv[k + 1]);
      else if (std::strcmp(argv[k], "--length") == 0)
        options.length = std::stoll(argv[k + 1]);
      else if (std::strcmp(argv[k], "--seed") == 0)
        options.seed = static_cast<std::uint32_t>(std::stoul(argv[k + 1]));
    }
    return run(options);
  } catch (const std::exception& e) {
    std::cerr << "transformer: " << e.what() << "\n";
    return 1;
  }
}
