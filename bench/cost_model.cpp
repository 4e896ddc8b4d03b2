// bench_cost_model: how well predicted_cycles() (codegen/cycles.h) ranks the Opts of a kernel, and how far the choice
// of the heuristic is from the best of random lists.
//
//   bench_cost_model --measure FILE [--kernels N] [--lists N] [--seed S]
//   bench_cost_model FILE [--verbose] [--machine 'NAME VALUE']...
//   bench_cost_model FILE --compare
//
// The first form draws kernels (elementwise, reductions, rows, products, convolutions, movement) and, for each, lists
// of legal Opts; it measures each list on one thread and writes a line for it. The second form reads the file, predicts
// the time of each list, and prints the rank correlation (Spearman) by kernel and the ratio of the heuristic's time to
// the best list's.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "bench/harness.h"
#include "strata/base/flags.h"
#include "strata/codegen/cycles.h"
#include "strata/codegen/heuristic.h"
#include "strata/graph/absorb.h"
#include "strata/runtime/device.h"
#include "strata/schedule/schedule.h"
#include "strata/tensor/functional.h"
#include "strata/tensor/tensor.h"

namespace strata::bench {
namespace {

// --- random kernels ---

class KernelMaker {
 public:
  explicit KernelMaker(std::uint64_t seed) : random_(seed) {}

  /// A kernel and its description.
  std::pair<LazyOp, std::string> make() {
    for (;;) {
      const Tensor made = graph();
      std::optional<LazyOp> best;
      double most = 0;
      for (const ScheduleItem& item : schedule(std::vector{made.node()})) {
        if (!item.is_kernel()) continue;
        const KernelCost cost = cost_of(item.ast);
        if (cost.operations + cost.bytes <= most) continue;
        most = cost.operations + cost.bytes;
        best = item.ast;
      }
      if (most > 1e4 && most < 2e8) return {*best, text_};
    }
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool chance(std::size_t percent) { return below(100) < percent; }
  template <class T>
  T of(std::initializer_list<T> all) {
    return all.begin()[below(all.size())];
  }
  std::int64_t size() {
    return of<std::int64_t>({3, 5, 7, 8, 14, 16, 17, 28, 32, 33, 56, 64, 72, 100, 128, 200, 256, 257, 512, 1009});
  }
  DType dtype() {
    return of<DType>({dtypes::float32, dtypes::float32, dtypes::float32, dtypes::float64, dtypes::int32, dtypes::int8,
                      dtypes::bfloat16});
  }

  Ints shape(std::int64_t least, std::int64_t most) {
    for (;;) {
      Ints out;
      std::int64_t n = 1;
      for (std::size_t rank = 1 + below(4); rank > 0; --rank) {
        out.push_back(size());
        n *= out.back().value();
        if (n > most) break;
      }
      if (n >= least && n <= most) return out;
    }
  }
  Tensor empty(const Ints& shape, DType dtype) { return Tensor::empty(shape, dtype); }

  /// A tensor of a shape: as it is, transposed, broadcast, strided or reversed.
  Tensor leaf(const Ints& shape, DType dtype) {
    const std::size_t rank = shape.size();
    const std::size_t kind = below(10);
    if (kind < 5) return empty(shape, dtype);
    const std::size_t a = below(rank);
    if (kind < 7 && rank > 1) {
      Axes order;
      for (std::size_t k = 0; k < rank; ++k) order.push_back(static_cast<std::int64_t>(k));
      std::shuffle(order.begin(), order.end(), random_);
      Ints from(shape);
      for (std::size_t k = 0; k < rank; ++k) from[static_cast<std::size_t>(order[k])] = shape[k];
      text_ += " permuted";
      return empty(from, dtype).permute(order);
    }
    if (kind < 8) {
      Ints small(shape);
      small[a] = 1;
      text_ += " broadcast";
      return empty(small, dtype).expand(shape);
    }
    Ints wide(shape);
    wide[a] = wide[a] * Int(2);
    text_ += " strided";
    const auto axis = static_cast<std::int64_t>(a);
    return empty(wide, dtype).transpose(axis, -1)[{ellipsis, Slice{{}, {}, chance(50) ? 2 : -2}}].transpose(axis, -1);
  }

  Tensor combined(const Ints& shape, DType dtype) {
    Tensor out = leaf(shape, dtype);
    for (std::size_t n = below(3); n > 0; --n) {
      const Tensor b = leaf(shape, dtype);
      out = chance(50) ? out + b : chance(70) ? out * b : out.maximum(b);
    }
    if (dtype.is_float() && chance(25)) out = chance(50) ? out.exp() : out.tanh(), text_ += " function";
    if (chance(15)) out = out.relu();
    return out;
  }

  Tensor graph() {
    text_.clear();
    const std::size_t kind = below(10);
    const DType d = dtype();
    if (kind < 2) {
      text_ = "elementwise";
      return combined(shape(1 << 12, 1 << 20), d);
    }
    if (kind < 4) {
      text_ = "reduction";
      const Ints of_all = shape(1 << 12, 1 << 20);
      Axes axes;
      for (std::size_t a = 0; a < of_all.size(); ++a)
        if (chance(50)) axes.push_back(static_cast<std::int64_t>(a));
      if (axes.empty()) axes.push_back(static_cast<std::int64_t>(below(of_all.size())));
      const Tensor x = combined(of_all, d);
      return chance(70) ? x.sum(axes) : x.max(axes);
    }
    if (kind < 5) {
      text_ = "rows";
      Ints of_all = shape(1 << 12, 1 << 18);
      const DType f = d.is_float() && d.itemsize() > 2 ? d : dtypes::float32;
      const Tensor x = combined(of_all, f);
      return chance(50) ? x.softmax(-1) : (x - x.mean({-1}, true)) * (x * x).mean({-1}, true);
    }
    if (kind < 8) {
      text_ = "product";
      for (;;) {
        const std::int64_t m = chance(30) ? 1 + static_cast<std::int64_t>(below(17)) : size(), n = size(), k = size(),
                           batch = chance(20) ? size() : 1;
        if (batch * m * n * k < (1 << 13) || batch * m * n * k > (1 << 24)) continue;
        const Ints left = batch > 1 ? Ints{batch, m, k} : Ints{m, k},
                   right = batch > 1 ? Ints{batch, k, n} : Ints{k, n};
        const auto side = [&](const Ints& s) {
          if (chance(60)) return empty(s, d);
          Ints t(s);
          std::swap(t[t.size() - 1], t[t.size() - 2]);
          text_ += " transposed";
          return empty(t, d).transpose(-1, -2);
        };
        Tensor out = side(left).matmul(side(right));
        if (chance(30)) out = out + empty({n}, out.dtype());
        if (chance(30)) out = out.relu();
        return out;
      }
    }
    text_ = "convolution";
    for (;;) {
      const auto in = of<std::int64_t>({3, 8, 16, 32, 64, 72}), outs = of<std::int64_t>({8, 16, 32, 64, 72});
      const auto image = of<std::int64_t>({7, 14, 17, 28, 56}), k = of<std::int64_t>({1, 3, 3, 3, 5}),
                 batch = of<std::int64_t>({1, 1, 2});
      const std::int64_t step = chance(25) ? 2 : 1, groups = chance(20) && in % 8 == 0 ? 8 : 1;
      if (batch * in * outs * image * image * k * k / groups > (1 << 25)) continue;
      Tensor out =
          conv2d(empty({batch, in, image, image}, dtypes::float32), empty({outs, in / groups, k, k}, dtypes::float32),
                 {}, {.stride = step, .padding = k / 2, .groups = groups});
      if (chance(30)) out = out.relu();
      return out;
    }
  }

  std::mt19937_64 random_;
  std::string text_;
};

// --- random lists of Opts ---

class ListMaker {
 public:
  ListMaker(std::uint64_t seed, const LazyOp& kernel) : random_(seed), kernel_(kernel) {}

  std::vector<Opt> make() {
    std::vector<Opt> out;
    KernelAxes axes(kernel_);
    std::int64_t copies = 1;
    for (std::size_t n = 1 + below(7); n > 0; --n) {
      const Opt opt = random_opt(axes);
      const bool multiplies =
          opt.kind == Opt::Kind::UPCAST || opt.kind == Opt::Kind::UNROLL || opt.kind == Opt::Kind::LANES;
      if (multiplies && copies * opt.amount > 256) continue;
      KernelAxes next = axes;
      try {
        next.apply(opt);
      } catch (const Error&) {
        continue;
      }
      std::size_t nests = 1;
      for (const LoopAxis& axis : next.axes()) nests *= axis.segments.size();
      if (nests > 8) continue;
      if (multiplies) copies *= opt.amount;
      axes = std::move(next);
      out.push_back(opt);
    }
    return out;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  Opt random_opt(const KernelAxes& axes) {
    using Kind = Opt::Kind;
    constexpr Kind kinds[] = {Kind::SPLIT, Kind::UPCAST,  Kind::UPCAST, Kind::UNROLL, Kind::LANES, Kind::LANES,
                              Kind::LANES, Kind::REORDER, Kind::STAGE,  Kind::MERGE,  Kind::PADTO};
    Opt opt;
    opt.kind = kinds[below(std::size(kinds))];
    opt.axis = below(std::max<std::size_t>(axes.axes().size(), 1));
    if (opt.axis < axes.axes().size()) opt.segment = below(axes.axes()[opt.axis].segments.size());
    if (opt.kind == Kind::REORDER) {
      opt = {Kind::REORDER, 0, 0, 0, axes.order()};
      std::shuffle(opt.order.begin(), opt.order.end(), random_);
    } else if (opt.kind == Kind::STAGE) {
      opt.segment = 0;
      opt.amount = static_cast<std::int64_t>(below(4));
    } else if (opt.kind == Kind::MERGE) {
      opt.segment = 0;
    } else {
      constexpr std::int64_t amounts[] = {2, 3, 4, 4, 5, 7, 8, 8, 16, 16};
      constexpr std::int64_t lanes[] = {4, 8, 8, 16, 16, 16};
      opt.amount = opt.kind == Kind::LANES ? lanes[below(std::size(lanes))] : amounts[below(std::size(amounts))];
    }
    return opt;
  }

  std::mt19937_64 random_;
  const LazyOp& kernel_;
};

/// Seconds of a run: the least of several.
double measured(const CompiledKernel& kernel) {
  std::vector<Buffer> buffers;
  for (const BufferUse& use : kernel.kernel().buffers) {
    buffers.push_back(Buffer::allocate(use.size.value(), use.dtype));
    std::memset(buffers.back().data(), 0x3c, buffers.back().nbytes());
  }
  std::vector<std::int64_t> values = kernel.arguments({});
  std::vector<void*> memory;
  for (const Buffer& b : buffers) memory.push_back(b.data());
  double least = 1e9, all = 0;
  for (int k = 0; k < 400 && (k < 4 || all < 3e-3); ++k) {
    const double begin = now();
    kernel.replay(memory, values);
    const double seconds = now() - begin;
    if (k > 0) least = std::min(least, seconds);
    all += seconds;
    if (all > 0.3 && k >= 2) break;
  }
  return least;
}

int measure(const std::string& file, std::uint64_t seed, int kernels, int lists) {
  const Device& device = Device::get("LLVM");
  std::ofstream out(file);
  for (int k = 0; k < kernels; ++k) {
    const std::uint64_t mine = seed + static_cast<std::uint64_t>(k);
    const auto [ast, text] = KernelMaker(mine).make();
    const LazyOp kernel = absorb_movement(ast);
    ListMaker maker(mine, kernel);
    std::vector<std::string> known;
    for (int tries = 0, count = 0; count <= lists && tries < 20 * lists; ++tries) {
      const std::vector<Opt> opts = count == 0 ? heuristic_opts(kernel, device.target()) : maker.make();
      const std::string name = text_of(opts);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      known.push_back(name);
      try {
        const double seconds = measured(compile(ast, device, opts, false));
        out << mine << '\t' << count << '\t' << seconds << '\t' << name << std::endl;
        ++count;
      } catch (const Error&) {
        continue;  // not legal
      }
    }
    std::cerr << mine << ' ' << text << ' ' << kernel_name(ast) << '\n';
  }
  return 0;
}

// --- ranks ---

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t k = 0; k < order.size();) {
    std::size_t end = k;
    while (end < order.size() && values[order[end]] == values[order[k]]) ++end;
    for (std::size_t j = k; j < end; ++j) out[order[j]] = static_cast<double>(k + end - 1) / 2;
    k = end;
  }
  return out;
}
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  const double ma = std::accumulate(a.begin(), a.end(), 0.0) / n, mb = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    ab += (a[k] - ma) * (b[k] - mb);
    aa += (a[k] - ma) * (a[k] - ma);
    bb += (b[k] - mb) * (b[k] - mb);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 1;
}

int predict(const std::string& file, bool is_verbose, const std::string& numbers) {
  const Device& device = Device::get("LLVM");
  const std::optional<Machine> machine = parse_machine(numbers, device.target().machine());
  STRATA_CHECK(machine.has_value(), parse, "--machine ", numbers, ": expected NAME VALUE");
  std::ifstream in(file);
  struct Row {
    double seconds, predicted;
    std::string opts;
    Cycles cycles;
  };
  std::map<std::uint64_t, std::vector<Row>> all;
  double spent = 0, compiled = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::uint64_t seed = 0;
    int count = 0;
    Row row;
    words >> seed >> count >> row.seconds;
    std::getline(words.ignore(1), row.opts);
    all[seed].push_back(std::move(row));
  }
  std::vector<double> correlations, choices, best_predicted;
  for (auto& [seed, rows] : all) {
    const auto [ast, text] = KernelMaker(seed).make();
    for (Row& row : rows) {
      double begin = now();
      const Kernel kernel = compile_kernel(ast, device.target(), parse_opts(row.opts));
      compiled += now() - begin;
      begin = now();
      row.cycles = predicted_cycles(kernel.uops, *machine, device.target().vector_bytes, kernel.parallel);
      row.predicted = row.cycles.total();
      for (const auto& first : kernel.before)
        row.predicted += predicted_cycles(first->uops, *machine, device.target().vector_bytes, first->parallel).total();
      spent += now() - begin;
    }
    std::vector<double> seconds, predicted;
    for (const Row& row : rows) seconds.push_back(row.seconds), predicted.push_back(row.predicted);
    correlations.push_back(correlation(ranks(seconds), ranks(predicted)));
    const double best = *std::min_element(seconds.begin(), seconds.end());
    choices.push_back(seconds[0] / best);
    const auto at = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
    best_predicted.push_back(seconds[static_cast<std::size_t>(at)] / best);
    std::printf(
        "%llu  rank %.2f  choice %.2f  predicted best %.2f  best %.1f us  heuristic predicted/measured %.2f  %s %s\n",
        static_cast<unsigned long long>(seed), correlations.back(), choices.back(), best_predicted.back(), best * 1e6,
        predicted[0] / (device.target().machine().gigahertz * 1e9) / seconds[0], text.c_str(),
        kernel_name(ast).c_str());
    if (is_verbose) {
      std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.seconds < b.seconds; });
      for (const Row& row : rows)
        std::printf("    %10.1f us  %10.1f (%.1f; %.1f %.1f %.1f)  %s\n", row.seconds * 1e6, row.predicted / 3.7e3,
                    row.cycles.issue / 3.7e3, row.cycles.caches[0] / 3.7e3, row.cycles.caches[1] / 3.7e3,
                    row.cycles.caches[2] / 3.7e3, row.opts.c_str());
    }
  }
  const auto median = [](std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
  };
  const auto within = [](const std::vector<double>& v) {
    return 100.0 * static_cast<double>(std::count_if(v.begin(), v.end(), [](double r) { return r <= 1.25; })) /
           static_cast<double>(v.size());
  };
  std::printf(
      "kernels %zu, rank correlation: median %.3f\nchoice of the heuristic within 1.25 of the best: %.0f %%; list with "
      "the least prediction: %.0f %%\nprediction %.0f ms, compile_kernel() %.0f ms\n",
      all.size(), median(correlations), within(choices), within(best_predicted), spent * 1e3, compiled * 1e3);
  return 0;
}

/// The heuristic of today beside the best list of a file.
int compare(const std::string& file) {
  const Device& device = Device::get("LLVM");
  std::ifstream in(file);
  std::map<std::uint64_t, double> best;
  std::map<std::uint64_t, std::string> best_opts;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::uint64_t seed = 0;
    int count = 0;
    double seconds = 0;
    words >> seed >> count >> seconds;
    std::string opts;
    std::getline(words.ignore(1), opts);
    if (count == 0) opts = "(then) " + opts;
    if (!best.contains(seed) || seconds < best[seed]) best[seed] = seconds, best_opts[seed] = opts;
  }
  double spent = 0;
  std::vector<double> ratios;
  for (const auto& [seed, seconds] : best) {
    const auto [ast, text] = KernelMaker(seed).make();
    const double begin = now();
    const LazyOp kernel = absorb_movement(ast);
    const std::vector<Opt> opts = heuristic_opts(kernel, device.target());
    const double took = now() - begin;
    spent += took;
    const double mine = measured(compile(ast, device, opts, false));
    ratios.push_back(mine / seconds);
    std::printf("%llu  %.2f of the best (%.1f us)  heuristic %.1f ms  %s  %s  instead of  %s\n",
                static_cast<unsigned long long>(seed), mine / seconds, seconds * 1e6, took * 1e3, text.c_str(),
                text_of(opts).c_str(), best_opts[seed].c_str());
  }
  std::printf("within 1.25 of the best: %.0f %%; heuristic %.0f ms\n",
              100.0 *
                  static_cast<double>(std::count_if(ratios.begin(), ratios.end(), [](double r) { return r <= 1.25; })) /
                  static_cast<double>(ratios.size()),
              spent * 1e3);
  return 0;
}

int run(int argc, char** argv) {
  std::string file, numbers;
  bool compares = false;
  std::uint64_t seed = 1;
  int kernels = 200, lists = 50;
  bool measures = false, is_verbose = false;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--measure")
      measures = true;
    else if (word == "--compare")
      compares = true;
    else if (word == "--verbose")
      is_verbose = true;
    else if (word == "--machine" && k + 1 < argc)
      numbers += std::string(argv[++k]) + "\n";
    else if (word == "--kernels" && k + 1 < argc)
      kernels = std::atoi(argv[++k]);
    else if (word == "--lists" && k + 1 < argc)
      lists = std::atoi(argv[++k]);
    else if (word == "--seed" && k + 1 < argc)
      seed = std::strtoull(argv[++k], nullptr, 10);
    else
      file = word;
  }
  pin_to_one_processor();
  if (compares) return compare(file);
  return measures ? measure(file, seed, kernels, lists) : predict(file, is_verbose, numbers);
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) {
  return strata::bench::run_bench("bench_cost_model", STRATA_BENCH_PLUGIN_DIR,
                                  [&] { return strata::bench::run(argc, argv); });
}
