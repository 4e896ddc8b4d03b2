// Matrix products and convolutions beside OpenBLAS and oneDNN, and beside what the machine can do; prints Markdown, or
// a line of JSON for each row.
//
//   bench_contractions [--filter TEXT] [--threads N] [--quick] [--json]
//
// Ratios are Strata's time over the peer's, in the same turns. "/ plain" is that of the best peer that works on
// row-major memory or reorders in each call (weights are constant, and reordered before); "/ own layout" that of the
// best peer whose operands and result are in a layout of its own already, and of prepacked weights. "kept" is Strata
// with the second operand from outside of the captured function, packed before: its time is what convolutions are
// compared by, and products beside prepacked weights.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <variant>

#include "bench/contraction_peers.h"
#include "bench/harness.h"
#include "bench/kernels.h"
#include "strata/base/check.h"
#include "strata/runtime/tbb_executor.h"
#include "strata/tensor.h"

namespace strata::bench {
namespace {

using Pass = Convolution::Pass;

struct Options {
  std::string filter;
  int threads = 1;
  bool quick = false, json = false;
};

struct ContractionCase {
  std::string name;
  std::variant<Product, Convolution> work;
};

std::vector<ContractionCase> cases() {
  std::vector<ContractionCase> out;
  const auto product = [&](std::string name, Product p) { out.push_back({std::move(name), p}); };
  const auto convolution = [&](std::string name, Convolution c) { out.push_back({std::move(name), c}); };
  for (const bool across : {false, true}) {
    const std::string with = across ? "W[n][k]" : "W[k][n]";
    for (const std::int64_t rows : {1, 4, 16, 32})
      product(detail::message(rows, " x 4096^2, ", with), {1, rows, 4096, 4096, across});
    for (const std::int64_t n : {64, 128, 256, 257, 512, 1009, 1024})
      product(detail::message(n, "^3, ", with), {1, n, n, n, across});
    product("32 times 64^3, " + with, {32, 64, 64, 64, across});
    product("17x33x29, " + with, {1, 17, 33, 29, across});
    for (const auto& [element, word] : {std::pair(Element::bf16, "bf16"), {Element::int8, "int8"}}) {
      product(detail::message("512^3 ", word, ", ", with), {1, 512, 512, 512, across, element});
      product(detail::message("100x250x330 ", word, ", ", with), {1, 100, 330, 250, across, element});
      for (const std::int64_t rows : {1, 4, 32})
        product(detail::message(rows, " x 4096^2 ", word, ", ", with), {1, rows, 4096, 4096, across, element});
    }
  }
  for (const std::int64_t batch : {1, 8}) {
    const std::string b = "b" + std::to_string(batch) + " ";
    convolution(b + "3x3 64->64 56x56", {batch, 64, 56, 64, 3, 1, 1});
    convolution(b + "3x3 128->128 28x28", {batch, 128, 28, 128, 3, 1, 1});
    convolution(b + "3x3 256->256 14x14", {batch, 256, 14, 256, 3, 1, 1});
    convolution(b + "3x3 512->512 7x7", {batch, 512, 7, 512, 3, 1, 1});
    convolution(b + "3x3 s2 64->128 56x56", {batch, 64, 56, 128, 3, 2, 1});
    convolution(b + "7x7 s2 3->64 224x224", {batch, 3, 224, 64, 7, 2, 3});
    convolution(b + "3x3 3->32 224x224", {batch, 3, 224, 32, 3, 1, 1});
    convolution(b + "1x1 64->64 56x56", {batch, 64, 56, 64, 1, 1, 0});
    convolution(b + "1x1 64->256 56x56", {batch, 64, 56, 256, 1, 1, 0});
    convolution(b + "1x1 s2 256->512 14x14", {batch, 256, 14, 512, 1, 2, 0});
    convolution(b + "5x5 64->64 57x57", {batch, 64, 57, 64, 5, 1, 2});
    convolution(b + "3x3 17->29 31x31", {batch, 17, 31, 29, 3, 1, 1});
    convolution(b + "3x3 72->72 28x28", {batch, 72, 28, 72, 3, 1, 1});
    convolution(b + "3x3 dilated 64->64 28x28", {batch, 64, 28, 64, 3, 1, 2, 1, 2});
    convolution(b + "3x3 in 4 groups 64->64 28x28", {batch, 64, 28, 64, 3, 1, 1, 4});
    convolution(b + "3x3 depthwise 96 56x56", {batch, 96, 56, 96, 3, 1, 1, 96});
    convolution(b + "3x3 depthwise s2 96 112x112", {batch, 96, 112, 96, 3, 2, 1, 96});
  }
  for (const auto& [pass, word] : {std::pair(Pass::data_gradient, "data"), {Pass::weight_gradient, "weight"}})
    for (const auto& [size, c] : {std::pair("b1 3x3 64->64 56x56", Convolution{1, 64, 56, 64, 3, 1, 1}),
                                  {"b16 3x3 32->64 14x14", Convolution{16, 32, 14, 64, 3, 1, 1}},
                                  {"b8 3x3 s2 64->128 16x16", Convolution{8, 64, 16, 128, 3, 2, 1}},
                                  {"b8 3x3 256->256 4x4", Convolution{8, 256, 4, 256, 3, 1, 1}},
                                  {"b8 3x3 512->512 2x2", Convolution{8, 512, 2, 512, 3, 1, 1}}}) {
      Convolution gradient = c;
      gradient.pass = pass;
      convolution(detail::message(word, " gradient ", size), gradient);
    }
  return out;
}

// --- one row ---

DType dtype_of(Element element) {
  return element == Element::f32 ? dtypes::float32 : element == Element::bf16 ? dtypes::bfloat16 : dtypes::int8;
}

Tensor random_tensor(const Ints& shape, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(product(shape).value()));
  for (float& v : values) v = dtype == dtypes::int8 ? std::floor(uniform(random) * 100) : uniform(random);
  return Tensor::from(std::move(values), shape).cast(dtype).contiguous().realize();
}

Ints ints(const std::vector<std::int64_t>& sizes) {
  Ints out;
  for (const std::int64_t n : sizes) out.push_back(n);
  return out;
}

/// What a row computes: operands, the function that Strata captures, the peers' calls.
struct Contest {
  Tensor a, b, ours, theirs;
  std::function<Tensor(const Tensor&, const Tensor&)> function;
  std::vector<ContractionCall> peers;
  bool has_weights = true;          // the second operand is a weight, and can be kept
  bool is_plain_with_kept = false;  // the peers on plain memory have packed weights, too
  double operations = 0, terms = 1;
};

void* memory_of(const Tensor& t) { return t.buffer().data(); }

constexpr const ContractionPeer* kPeers[] = {&onednn_contractions, &openblas_contractions};

Contest contest_of(const Product& p) {
  Contest out;
  const DType dtype = dtype_of(p.element), result = p.element == Element::int8 ? dtypes::int32 : dtypes::float32;
  out.a = random_tensor({p.batch, p.m, p.k}, dtype, 1);
  out.b = random_tensor(p.transposed ? Ints{p.batch, p.n, p.k} : Ints{p.batch, p.k, p.n}, dtype, 2);
  out.function = [result, across = p.transposed](const Tensor& a, const Tensor& b) {
    return a.cast(result).matmul((across ? b.permute({0, 2, 1}) : b).cast(result));
  };
  out.ours = Tensor::zeros({p.batch, p.m, p.n}, result).contiguous().realize();
  out.theirs = Tensor::zeros({p.batch, p.m, p.n}, result).contiguous().realize();
  out.terms = static_cast<double>(p.k);
  out.operations = 2.0 * static_cast<double>(p.batch * p.m * p.n) * out.terms;
  for (const ContractionPeer* peer : kPeers)
    if (peer->present)
      for (ContractionCall& call : peer->product(p, memory_of(out.a), memory_of(out.b), memory_of(out.theirs)))
        out.peers.push_back(std::move(call));
  return out;
}

Contest contest_of(const Convolution& c) {
  Contest out;
  const auto operand = [](const std::vector<std::int64_t>& shape, unsigned seed) {
    return random_tensor(ints(shape), dtypes::float32, seed);
  };
  const ConvOptions options{.stride = c.stride, .padding = c.padding, .dilation = c.dilation, .groups = c.groups};
  out.has_weights = out.is_plain_with_kept = c.pass == Pass::forward;
  out.a = operand(c.pass == Pass::data_gradient ? c.weight() : c.image(), 1);
  out.b = operand(c.pass == Pass::forward ? c.weight() : c.result(), 2);
  const Tensor other = operand(c.pass == Pass::data_gradient ? c.image() : c.weight(), 3);
  if (c.pass == Pass::forward)
    out.function = [options](const Tensor& x, const Tensor& w) { return conv2d(x, w, {}, options); };
  if (c.pass == Pass::data_gradient)
    out.function = [options, other](const Tensor& w, const Tensor& dy) {
      Tensor x = other;
      x.requires_grad(true);
      return gradients(conv2d(x, w, {}, options), {&x, 1}, dy)[0];
    };
  if (c.pass == Pass::weight_gradient)
    out.function = [options, other](const Tensor& x, const Tensor& dy) {
      Tensor w = other;
      w.requires_grad(true);
      return gradients(conv2d(x, w, {}, options), {&w, 1}, dy)[0];
    };
  const Ints shape = ints(c.pass == Pass::forward         ? c.result()
                          : c.pass == Pass::data_gradient ? c.image()
                                                          : c.weight());
  out.ours = Tensor::zeros(shape).contiguous().realize();
  out.theirs = Tensor::zeros(shape).contiguous().realize();
  double results = 1;
  for (const std::int64_t n : c.result()) results *= static_cast<double>(n);
  const auto each = static_cast<double>(c.in / c.groups * c.kernel * c.kernel);
  out.operations = 2 * results * each;
  out.terms = c.pass == Pass::weight_gradient ? static_cast<double>(c.batch * c.out_size() * c.out_size()) : each;
  for (const ContractionPeer* peer : kPeers)
    if (peer->present)
      for (ContractionCall& call :
           peer->convolution(c, static_cast<const float*>(memory_of(out.a)),
                             static_cast<const float*>(memory_of(out.b)), static_cast<float*>(memory_of(out.theirs))))
        out.peers.push_back(std::move(call));
  return out;
}

/// @throws std::runtime_error where an element is off by more than rounding
void check(const Contest& contest, const std::string& who) {
  const std::vector<double> x = contest.ours.cast(dtypes::float64).to_vector<double>(),
                            y = contest.theirs.cast(dtypes::float64).to_vector<double>();
  const double tolerance = contest.ours.dtype() == dtypes::int32 ? 0 : 1e-6 * contest.terms + 1e-5;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (!(std::abs(x[k] - y[k]) <= tolerance))
      throw std::runtime_error(detail::message("element ", k, " is ", x[k], ", ", who, " has ", y[k]));
}

bool has_own_layout(const std::string& name) { return name.ends_with("blocked") || name.ends_with("prepacked"); }

struct Outcome {
  std::vector<Row> rows;
  std::vector<Timing> timings;
  std::string kernels;
  std::size_t kept = 0, plain = 0;  // the row with kept weights, if any, and that to compare with peers on plain memory
  double rate = 0;
  /// The index of the best peer of that kind; 0 (Strata) for none.
  std::size_t best(bool own_layout) const {
    std::size_t best = 0;
    for (std::size_t k = kept + 1; k < rows.size(); ++k)
      if (has_own_layout(rows[k].name) == own_layout && (best == 0 || timings[k].median_ns < timings[best].median_ns))
        best = k;
    return best;
  }
};

std::string kernels_of(Jit& function) {
  std::string out;
  for (const RecordedTime& t : function.times(1)) out += (out.empty() ? "" : " ") + t.kernel->kernel().name;
  return out;
}

Outcome race(const ContractionCase& c, const Options& options) {
  Contest contest = std::visit([](const auto& work) { return contest_of(work); }, c.work);
  auto function = jit(contest.function);
  const auto ours = [&] { function.into(contest.ours, contest.a, contest.b); };
  for (int k = 0; k < 3; ++k) ours();  // runs, captures, replays
  auto function_of_one = jit([&](const Tensor& a) { return contest.function(a, contest.b); });
  const auto kept = [&] { function_of_one.into(contest.ours, contest.a); };
  Outcome out;
  out.rows.push_back(row("Strata", ours));
  if (contest.has_weights) {
    for (int k = 0; k < 3; ++k) kept();
    out.kept = out.rows.size();
    out.rows.push_back(row("Strata kept", kept));
  }
  out.plain = contest.is_plain_with_kept ? out.kept : 0;
  for (const ContractionCall& peer : contest.peers) {
    peer.run();
    // The result of a layout of its own is not in our memory.
    if (!peer.name.ends_with("blocked")) check(contest, peer.name);
    out.rows.push_back(row(peer.name, peer.run));
  }
  if (options.threads > 1)  // a library's threads go on spinning when its call is over
    for (Row& r : out.rows) r.before = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  out.timings = measure(out.rows, options.quick ? Budget{0.03, 3, 60} : Budget{0.4, 9, 300});
  out.rate = contest.operations / out.timings[out.kept].median_ns;
  out.kernels = kernels_of(*(out.kept != 0 ? function_of_one.jit() : function.jit()));
  return out;
}

// --- tables ---

std::string cell(const Outcome& o, std::size_t ours, std::size_t peer) {
  if (peer == 0) return "| ";
  return detail::message(o.rows[peer].name, " ", format_ns(o.timings[peer].median_ns), " | ",
                         format_ratio(paired_ratio(o.timings[ours], o.timings[peer])));
}

void print(const ContractionCase& c, const Outcome& o, double peak, const Options& options) {
  if (!options.json) {
    const std::string kept = o.kept != 0 ? format_ns(o.timings[o.kept].median_ns) : "";
    std::printf("| %s | %s | %s | %.0f | %.0f %% | %s | %s |\n", c.name.c_str(),
                format_ns(o.timings[0].median_ns).c_str(), kept.c_str(), o.rate, 100 * o.rate / peak,
                cell(o, o.plain, o.best(false)).c_str(), cell(o, o.kept, o.best(true)).c_str());
    return;
  }
  std::printf(R"({"work": "%s", "threads": %d, "gflops": %.4g, "of_peak": %.3g, "kernels": "%s")", c.name.c_str(),
              options.threads, o.rate, o.rate / peak, o.kernels.c_str());
  for (std::size_t k = 0; k < o.rows.size(); ++k)
    std::printf(R"(, "%s": {"median_ns": %.6g, "strata_ratio": %.4g, "kept_ratio": %.4g})", o.rows[k].name.c_str(),
                o.timings[k].median_ns, paired_ratio(o.timings[0], o.timings[k]),
                paired_ratio(o.timings[o.kept], o.timings[k]));
  std::printf("}\n");
}

Options read_options(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--quick") {
      out.quick = true;
    } else if (word == "--json") {
      out.json = true;
    } else if ((word == "--filter" || word == "--threads") && i + 1 < argc) {
      const std::string_view text = argv[++i];
      if (word == "--filter") {
        out.filter = text;
        continue;
      }
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.threads);
      if (error != std::errc() || end != text.data() + text.size() || out.threads < 1)
        throw std::runtime_error("--threads: expected a number from 1 on");
    } else {
      throw std::runtime_error("unknown option, or one without its value: " + std::string(word));
    }
  }
  return out;
}

int run(const Options& options) {
  if (!Device::get("LLVM").missing().empty()) throw std::runtime_error(Device::get("LLVM").missing());
  const std::unique_ptr<Executor> executor = make_executor(options.threads);
  set_default_executor(executor.get());
  for (const ContractionPeer* peer : kPeers)
    if (peer->present) peer->set_threads(options.threads);
  if (options.threads == 1) pin_to_one_processor();
  const double peak = measure_limits(*executor, options.quick).of(Limit::peak);
  if (!options.json) {
    std::printf("%s; %d thread(s), %.0f GFLOP/s", describe_machine().c_str(), options.threads, peak);
    for (const ContractionPeer* peer : kPeers) std::printf("; %s", peer->version().c_str());
    std::printf(
        "\n\n| work | Strata | kept | GFLOP/s | of limit | best on plain memory | / plain | own layout | / own layout "
        "|\n|---|---|---|---|---|---|---|---|---|\n");
  }
  int failures = 0;
  for (const ContractionCase& c : cases()) {
    if (c.name.find(options.filter) == std::string::npos) continue;
    try {
      print(c, race(c, options), peak, options);
    } catch (const std::exception& e) {
      ++failures;
      std::fprintf(stderr, "bench_contractions: %s: %s\n", c.name.c_str(), e.what());
    }
    std::fflush(stdout);
  }
  set_default_executor(nullptr);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) {
  return strata::bench::run_bench("bench_contractions", STRATA_BENCH_PLUGIN_DIR,
                                  [&] { return strata::bench::run(strata::bench::read_options(argc, argv)); });
}
