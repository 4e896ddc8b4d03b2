// Captured functions with a symbolic size beside the same functions with a number; prints Markdown, or a line of JSON
// for each row.
//
//   bench_sizes [--filter TEXT] [--quick] [--json]
//
// The size is a variable from 1 to its value in the row. The ratio is the symbolic function's time over the other
// one's, in the same turns, on one thread. Weights come from outside of the functions.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.h"
#include "strata/runtime/tbb_executor.h"
#include "strata/tensor.h"

namespace strata::bench {
namespace {

struct SizeCase {
  std::string name;
  std::function<Tensor(const Tensor&)> function;
  Tensor x;
  std::size_t dim;  // of x, whose size is symbolic
};

Tensor uniform_tensor(const Ints& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(product(shape).value()));
  for (float& v : values) v = uniform(random);
  return Tensor::from(std::move(values), shape).realize();
}

/// The gradient of `loss` by the weights.
Tensor gradient_by(const Tensor& weights, const std::function<Tensor(const Tensor&)>& loss) {
  Tensor w = weights.detach();
  w.requires_grad(true);
  loss(w).backward();
  return w.grad().value();
}

std::vector<SizeCase> size_cases() {
  std::vector<SizeCase> out;
  const Tensor x = uniform_tensor({64, 4096}, 1);
  for (const auto& [word, dim] : {std::pair{"rows", std::size_t{0}}, {"columns", std::size_t{1}}}) {
    const auto add = [&](const std::string& name, const std::function<Tensor(const Tensor&)>& f) {
      out.push_back({detail::message(name, " of 64x4096, ", word), f, x, dim});
    };
    add("softmax", [](const Tensor& v) { return v.softmax(1); });
    add("sum", [](const Tensor& v) { return v.sum(1); });
    add("exp(v) + 1", [](const Tensor& v) { return v.exp() + 1; });
    add("deviation", [](const Tensor& v) { return v - v.mean(1, true); });
  }
  const Tensor rows = uniform_tensor({64, 512}, 2);
  for (const bool across : {false, true}) {
    const Tensor w = uniform_tensor({512, 512}, 3);
    const std::string with = across ? "W[n][k]" : "W[k][n]";
    const auto product = [across](const Tensor& a, const Tensor& b) { return a.matmul(across ? b.t() : b); };
    out.push_back({"rows of 64x512 by 512x512, " + with, [=](const Tensor& v) { return product(v, w); }, rows, 0});
    out.push_back({"64x512 by columns of 512x512, " + with, [=](const Tensor& v) { return product(rows, v); }, w,
                   across ? std::size_t{0} : std::size_t{1}});
  }
  for (const std::int64_t step : {1, 2}) {
    const Tensor w = uniform_tensor({64, 64, 3, 3}, 4);
    const ConvOptions options{.stride = step, .padding = 1};
    out.push_back({detail::message("batch of 8 3x3 64->64 56x56, step ", step),
                   [=](const Tensor& v) { return conv2d(v, w, {}, options).relu(); },
                   uniform_tensor({8, 64, 56, 56}, 5), 0});
  }
  // The size is that of the reduction: in x @ x^T, and in x^T @ x, as in products with a cache of symbolic length.
  out.push_back({"x @ x^T, columns of 256x512", [](const Tensor& v) { return v.matmul(v.t()); },
                 uniform_tensor({256, 512}, 6), 1});
  out.push_back(
      {"x^T @ x, rows of 512x256", [](const Tensor& v) { return v.t().matmul(v); }, uniform_tensor({512, 256}, 7), 0});
  // A training step with a batch of symbolic size: the gradient by the weights is a sum over the batch.
  out.push_back({"weight gradient, batch of 16 3x3 64->64 28x28",
                 [w = uniform_tensor({64, 64, 3, 3}, 8)](const Tensor& v) {
                   return gradient_by(w, [&](const Tensor& weights) {
                     return conv2d(v, weights, {}, ConvOptions{.padding = 1}).square().sum();
                   });
                 },
                 uniform_tensor({16, 64, 28, 28}, 9), 0});
  out.push_back({"weight gradient, rows of 128x512 by 512x512",
                 [w = uniform_tensor({512, 512}, 10)](const Tensor& v) {
                   return gradient_by(w, [&](const Tensor& weights) { return v.matmul(weights).square().sum(); });
                 },
                 uniform_tensor({128, 512}, 11), 0});
  return out;
}

/// All of `x`, where the size of dimension `dim` is a number or the variable n.
Tensor with_size(const Tensor& x, std::size_t dim, bool is_symbolic) {
  const std::int64_t size = x.shape()[dim].value();
  const Variable n("n", 1, size);
  Mask bounds;
  for (std::size_t d = 0; d < x.shape().size(); ++d)
    bounds.push_back({0, d == dim && is_symbolic ? Int(n.bind(size)) : x.shape()[d]});
  return x.shrink(bounds).contiguous().realize();
}

void race(const SizeCase& c, const Budget& budget, bool json) {
  std::vector<Row> rows;
  std::vector<std::vector<float>> results;
  std::string kernels;
  for (const bool is_symbolic : {false, true}) {
    const auto function = std::make_shared<JitFunction<std::function<Tensor(const Tensor&)>>>(jit(c.function));
    const Tensor x = with_size(c.x, c.dim, is_symbolic);
    for (int k = 0; k < 3; ++k) (*function)(x);  // runs, captures, replays
    results.push_back((*function)(x).to_vector<float>());
    for (const RecordedTime& t : function->jit()->times(1)) kernels += " " + t.kernel->kernel().name;
    rows.push_back(row(is_symbolic ? "symbolic" : "numbers", [function, x] { (*function)(x); }));
  }
  float largest = 1;
  for (const float value : results[0]) largest = std::max(largest, std::abs(value));
  for (std::size_t k = 0; k < results[0].size(); ++k)
    if (!(std::abs(results[0][k] - results[1][k]) <= 1e-4F * largest))
      throw std::runtime_error(detail::message("element ", k, " is ", results[1][k], ", not ", results[0][k]));
  const std::vector<Timing> timings = measure(rows, budget);
  const double ratio = paired_ratio(timings[1], timings[0]);
  if (json)
    std::printf(R"({"work": "%s", "numbers_ns": %.6g, "symbolic_ns": %.6g, "ratio": %.4g, "kernels": "%s"})"
                "\n",
                c.name.c_str(), timings[0].median_ns, timings[1].median_ns, ratio, kernels.c_str());
  else
    std::printf("| %s | %s | %s | %s |\n", c.name.c_str(), format_ns(timings[0].median_ns).c_str(),
                format_ns(timings[1].median_ns).c_str(), format_ratio(ratio).c_str());
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  std::string filter;
  bool quick = false, json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--quick")
      quick = true;
    else if (word == "--json")
      json = true;
    else if (word == "--filter" && i + 1 < argc)
      filter = argv[++i];
    else
      throw std::runtime_error("unknown option, or one without its value: " + std::string(word));
  }
  if (!Device::get("LLVM").missing().empty()) throw std::runtime_error(Device::get("LLVM").missing());
  const std::unique_ptr<Executor> executor = threads(1);
  set_default_executor(executor.get());
  pin_to_one_processor();
  if (!json)
    std::printf("%s; 1 thread\n\n| work | numbers | symbolic | / numbers |\n|---|---|---|---|\n",
                describe_machine().c_str());
  int failures = 0;
  for (const SizeCase& c : size_cases()) {
    if (c.name.find(filter) == std::string::npos) continue;
    try {
      race(c, quick ? Budget{0.05, 5, 100} : Budget{0.4, 15, 300}, json);
    } catch (const std::exception& e) {
      ++failures;
      std::fprintf(stderr, "bench_sizes: %s: %s\n", c.name.c_str(), e.what());
    }
  }
  set_default_executor(nullptr);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) {
  return strata::bench::run_bench("bench_sizes", STRATA_BENCH_PLUGIN_DIR,
                                  [&] { return strata::bench::run(argc, argv); });
}
