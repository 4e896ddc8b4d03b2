// The differential fuzzer of graphs: random programs of tensors, each of them run in several ways.
//
//   fuzz_graph --count N --seed S [--devices fused,nofuse,jit,state,inplace,slopes,INTERP,CLANG] [--only PROGRAM_SEED]
//   [--failures F]
//              [--print 1] [--suspects 1]
//
// `fused` is the default device, `nofuse` the same with each op a kernel of its own, `jit` a replay of what was
// captured with other inputs, `state` a replay that assigns to tensors from outside and to its inputs, beside the same
// without capture, `inplace` the default device after all inputs were changed in place before anything ran, `slopes`
// are gradients of what a program gives against differences in f64; other names are devices. The oracle is
// graph_ranges.h, which computes each node as the user wrote it: integers and bools, and floats where nothing is
// rounded, are equal to the bit, other floats within what value_range.h says functions, contraction and the order of
// sums may change. Programs with a symbolic size run with it, too, and give what they give with the number; what
// kernels cannot be shown to stay inside of their buffers for each n is counted as refused. On a failure the program is
// made smaller and printed with its seed; the exit status is 1 after `F` of them, or at the end. --suspects prints
// elements that may be anything by their ranges and are far from what is computed without rounding differently: for
// people to look at.
// --print lists how often there was each kind of step.
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "strata/base/flags.h"
#include "strata/engine/realize.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/jit.h"
#include "tests/fuzz/flags.h"
#include "tests/fuzz/graph_program.h"
#include "tests/fuzz/graph_ranges.h"
#include "tests/fuzz/graph_slopes.h"

namespace strata::oracle {
namespace {

using Clock = std::chrono::steady_clock;

struct Config {
  std::uint64_t count = 200, seed = 1, failures = 1;
  std::optional<std::uint64_t> only;
  std::vector<std::string> devices = {"fused", "nofuse", "blocks", "jit", "state", "inplace", "slopes", "INTERP"};
  bool prints = false, suspects = false;
};

char crash_note[128];  // what a signal handler may write

void on_crash(int signal) {
  const ssize_t written = write(STDERR_FILENO, crash_note, std::strlen(crash_note));
  std::_Exit(written < 0 ? 1 : 128 + signal);
}
/// Two minutes of work from now on, or half an hour of nothing, are too much.
void watch() {
  const itimerval two_minutes{{0, 0}, {120, 0}};
  setitimer(ITIMER_PROF, &two_minutes, nullptr);
  alarm(1800);
}
void note(std::uint64_t seed, const std::string& way) {
  std::snprintf(crash_note, sizeof(crash_note), "crash, or no end, in %s of --only %llu\n", way.c_str(),
                static_cast<unsigned long long>(seed));
  watch();
}

struct Way {
  std::string device;
  bool symbolic = false;
  std::string name() const { return device + (symbolic ? " (n symbolic)" : ""); }
};

struct GraphFailure {
  Way way;
  std::string kind, text;  ///< an element, a shape, an error
};

struct Counts {
  std::size_t exact = 0, ranges = 0, open = 0, slopes = 0;
  std::vector<std::string> suspects;
};

/// What the outputs of a program may be.
class Expected {
 public:
  explicit Expected(const GraphProgram& program) : values_(build(program, {false, false})) {
    for (const std::size_t k : program.outputs) roots_.push_back(values_[k].node());
    ranges_.emplace(roots_);
    plain_.emplace(roots_, Freedom{false, false, false});
  }
  std::size_t size() const { return roots_.size(); }
  const GraphRanges::Ranges& ranges(std::size_t k) const { return ranges_->of(roots_[k]); }
  /// Without any freedom.
  const GraphRanges::Ranges& plain(std::size_t k) const { return plain_->of(roots_[k]); }
  const LazyOp& root(std::size_t k) const { return roots_[k]; }

 private:
  std::vector<Tensor> values_;
  std::vector<LazyOp> roots_;
  std::optional<GraphRanges> ranges_, plain_;
};

/// The flags of a way, while it lives.
class ScopedWay {
 public:
  explicit ScopedWay(const Way& way)
      : device_(flags::DEVICE, is_default(way) ? flags::DEVICE.get() : way.device),
        nofuse_(flags::NOFUSE, way.device == "nofuse"),
        blocks_(flags::BLOCKS, way.device == "blocks" ? 2 : flags::BLOCKS.get()) {}

 private:
  static bool is_default(const Way& way) {
    return way.device == "fused" || way.device == "nofuse" || way.device == "jit" || way.device == "state" ||
           way.device == "inplace" || way.device == "slopes" || way.device == "blocks";
  }
  ScopedFlag<std::string> device_;
  ScopedFlag<bool> nofuse_;
  ScopedFlag<std::int64_t> blocks_;
};

std::string place_text(std::size_t flat, const Index& shape) {
  Index at(shape.size(), 0);
  for (std::size_t k = shape.size(); k-- > 0; flat /= place(shape[k]))
    at[k] = static_cast<std::int64_t>(flat % place(shape[k]));
  return render(at);
}

bool is_far(const Scalar& a, const Scalar& b) {
  if (a.is_nan() || b.is_nan()) return a.is_nan() != b.is_nan();
  const double x = a.as_double(), y = b.as_double();
  if (!std::isfinite(x) || !std::isfinite(y)) return x != y;
  return std::fabs(x - y) > 0.02 * (1 + std::fabs(x));
}

/// The first element that may not be; empty where there is none.
std::string difference(const Tensor& x, const GraphRanges::Ranges& ranges, const GraphRanges::Ranges& plain,
                       Counts& counts) {
  const Buffer buffer = x.buffer();
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    const ValueRange& may = ranges[k];
    const Scalar is = buffer[static_cast<std::int64_t>(k)];
    const bool is_open = !may.is_exact && (may.nan || !is.dtype().is_float() || std::isinf(may.high - may.low));
    ++(may.is_exact ? counts.exact : is_open ? counts.open : counts.ranges);
    if (is_open && is_far(plain[k].exact, is))
      counts.suspects.push_back(detail::message("element ", place_text(k, sizes_of(x)), " is ", is.text(),
                                                ", and without freedom ", plain[k].exact.text()));
    const bool is_zero = may.is_exact && is.dtype().is_float() && is.as_double() == 0 && may.low == 0 && may.high == 0;
    if (may.holds(is) || is_zero) continue;
    const std::string wanted = may.is_exact
                                   ? may.exact.text()
                                   : detail::message("from ", Scalar(may.low).text(), " to ", Scalar(may.high).text());
    return detail::message("element ", place_text(k, sizes_of(x)), " is ", is.text(), ", not ", wanted);
  }
  return {};
}

/// Inputs stand for something else from now on: assigned to, or changed in place.
void change(const std::vector<Tensor>& inputs) {
  const NoGrad no_grad;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Tensor& x = inputs[k];
    const Tensor other = x.dtype().is_bool() ? x.logical_not() : (x + 1).cast(x.dtype());
    if (k % 2 == 0)
      x.assign(other);
    else
      set_in_place(x, other, "change");
  }
}

/// The outputs of a program, realized in one way.
std::vector<Tensor> outputs_of(const GraphProgram& program, const Way& way) {
  const auto outputs = [&](const GraphBuild& how) {
    const std::vector<Tensor> values = build(program, how);
    std::vector<Tensor> out;
    for (const std::size_t k : program.outputs) out.push_back(values[k]);
    return out;
  };
  GraphBuild how{way.symbolic};
  if (way.device == "jit") {
    Jit jitted([&](std::span<const Tensor> inputs) { return outputs({way.symbolic, true, 0, inputs}); });
    for (how.other = 2; how.other > 0; --how.other) jitted(inputs_of(program, how));
    return jitted(inputs_of(program, how));
  }
  std::vector<Tensor> out;
  if (way.device == "inplace") {
    const std::vector<Tensor> inputs = inputs_of(program, how);
    out = outputs({way.symbolic, true, 0, inputs});
    for (std::size_t k = 0; k < out.size(); ++k)
      if (program.steps[program.outputs[k]].op == "input") out[k] = out[k].detach();
    change(inputs);
  } else {
    out = outputs(how);
  }
  std::vector<LazyOp> roots;
  for (const Tensor& x : out) roots.push_back(x.node());
  realize(roots, Device::default_device());
  return out;
}

std::optional<GraphFailure> wrong_slope(const GraphProgram& program, const Way& way, Counts& counts) {
  if (way.symbolic) return std::nullopt;
  std::vector<GraphProgram> all = GraphSlopes::with_gradients(program);
  all.push_back(program);
  for (const GraphProgram& p : all) {
    GraphSlopes slopes(p);
    for (std::size_t k = &p == &all.back() ? 0 : p.steps.size() - 1; k < p.steps.size(); ++k) {
      const std::string fault = slopes.fault(k);
      if (!fault.empty()) return GraphFailure{way, "slope", fault + " in\n" + p.text()};
    }
    counts.slopes += slopes.compared();
  }
  return std::nullopt;
}

/// What calls of a program leave in tensors that each call assigns to, its inputs among them: those of integers, which
/// are the same however they are computed.
std::vector<Tensor> states_of(const GraphProgram& program, const Way& way, bool captures) {
  std::vector<Tensor> states, last;
  const auto call = [&](std::span<const Tensor> inputs) {
    const std::vector<Tensor> values = build(program, {way.symbolic, true, 0, inputs});
    std::vector<Tensor> out;
    std::size_t next = 0;
    for (const std::size_t k : program.outputs) {
      out.push_back(values[k]);
      if (values[k].dtype().is_float()) continue;
      const Tensor y = values[k].cast(dtypes::int64);
      if (next == states.size()) states.push_back(y.zeros_like().contiguous());
      Tensor& state = states[next++];
      if (sizes_of(state) == sizes_of(y)) state.assign(y - state * 3);
    }
    change({inputs.begin(), inputs.end()});  // what was made of them stays
    return out;
  };
  Jit jitted(call);
  for (std::uint64_t other = 4; other > 0; --other) {
    GraphBuild how{way.symbolic};
    how.other = other;
    const std::vector<Tensor> inputs = inputs_of(program, how);
    if (captures)
      jitted(inputs);
    else
      call(inputs);
    for (const Tensor& s : states) s.realize();
    for (const Tensor& x : inputs)
      if (!x.dtype().is_float()) last.push_back(x.realize());
  }
  states.insert(states.end(), last.begin(), last.end());
  return states;
}
std::optional<GraphFailure> wrong_state(const GraphProgram& program, const Way& way, Counts& counts) {
  const std::vector<Tensor> is = states_of(program, way, true), wanted = states_of(program, way, false);
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const Buffer a = is[k].buffer(), b = wanted[k].buffer();
    const auto size = static_cast<std::int64_t>(product(sizes_of(wanted[k])));
    for (std::int64_t e = 0; e < size; ++e) {
      ++counts.exact;
      if (a[e] == b[e]) continue;
      return GraphFailure{way, "state",
                          detail::message("state ", k, ": element ", e, " is ", a[e].text(), ", not ", b[e].text())};
    }
  }
  return std::nullopt;
}

/// Runs a program in one way.
std::optional<GraphFailure> failure_of(const GraphProgram& program, const Expected& expected, const Way& way,
                                       Counts& counts) {
  const ScopedWay scope(way);
  try {
    if (way.device == "slopes") return wrong_slope(program, way, counts);
    if (way.device == "state") return wrong_state(program, way, counts);
    const std::vector<Tensor> outputs = outputs_of(program, way);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const Tensor& x = outputs[k];
      const std::string which = detail::message("output %", program.outputs[k], ": ");
      const Ints wanted = expected.root(k).shape();
      if (sizes_of(x) != *numbers(wanted) || x.dtype() != expected.root(k).dtype())
        return GraphFailure{way, "shape", which + render(sizes_of(x)) + " in place of " + render(wanted)};
      const std::string found = difference(x, expected.ranges(k), expected.plain(k), counts);
      if (!found.empty()) return GraphFailure{way, "element", which + found};
    }
  } catch (const std::exception& error) {
    const bool is_refused = way.symbolic && std::strstr(error.what(), "cannot be shown to stay inside") != nullptr;
    return GraphFailure{way, is_refused ? "refused" : "error", error.what()};
  }
  return std::nullopt;
}

/// Makes a failing program smaller.
class GraphShrinking {
 public:
  GraphShrinking(GraphProgram program, GraphFailure failure)
      : best_(std::move(program)), failure_(std::move(failure)) {}

  std::pair<GraphProgram, GraphFailure> operator()() {
    const Clock::time_point end = Clock::now() + std::chrono::seconds(30);
    for (bool progress = true; progress && Clock::now() < end;) {
      progress = fewer_outputs();
      for (std::size_t k = best_.steps.size(); k-- > 0 && Clock::now() < end;)
        if (k < best_.steps.size()) progress = without(k) || progress;
      for (std::size_t k = 0; k < best_.steps.size() && Clock::now() < end; ++k) progress = smaller_args(k) || progress;
    }
    return {best_, failure_};
  }

 private:
  bool accept(const GraphProgram& next) {
    try {
      watch();
      const Expected expected(next);
      Counts counts;
      const auto found = failure_of(next, expected, failure_.way, counts);
      if (!found || found->kind != failure_.kind) return false;
      if (found->kind == "error" && found->text.substr(0, 12) != failure_.text.substr(0, 12)) return false;
      best_ = next;
      failure_ = *found;
      return true;
    } catch (const Error&) {
      return false;  // a step is illegal now
    }
  }
  bool fewer_outputs() {
    bool progress = false;
    for (std::size_t k = 0; k < best_.outputs.size() && best_.outputs.size() > 1;) {
      GraphProgram next = best_;
      next.outputs.erase(next.outputs.begin() + static_cast<std::ptrdiff_t>(k));
      if (accept(swept(next)))
        progress = true;
      else
        ++k;
    }
    return progress;
  }
  /// Step `k` becomes one of those that it is made of.
  bool without(std::size_t k) {
    const std::vector<std::size_t> sources = best_.steps[k].from;
    for (const std::size_t source : sources) {
      GraphProgram next = best_;
      for (GraphStep& s : next.steps) std::replace(s.from.begin(), s.from.end(), k, source);
      std::replace(next.outputs.begin(), next.outputs.end(), k, source);
      if (accept(swept(next))) return true;
    }
    return false;
  }
  bool smaller_args(std::size_t step) {
    bool progress = false;
    for (std::size_t k = 0; k < best_.steps[step].args.size(); ++k) {
      const std::int64_t was = best_.steps[step].args[k];
      for (const std::int64_t value : {std::int64_t{0}, std::int64_t{1}, was / 2, was - 1}) {
        if (std::abs(value) >= std::abs(was) || (was == -1 && best_.n != 0)) continue;
        GraphProgram next = best_;
        next.steps[step].args[k] = value;
        if (!accept(next)) continue;
        progress = true;
        break;
      }
    }
    return progress;
  }
  /// Without steps that nothing needs.
  static GraphProgram swept(const GraphProgram& program) {
    std::vector<bool> needed(program.steps.size());
    for (const std::size_t k : program.outputs) needed[k] = true;
    for (std::size_t k = program.steps.size(); k-- > 0;)
      if (needed[k])
        for (const std::size_t from : program.steps[k].from) needed[from] = true;
    GraphProgram out;
    out.n = program.n;
    std::vector<std::size_t> at(program.steps.size());
    for (std::size_t k = 0; k < program.steps.size(); ++k) {
      if (!needed[k]) continue;
      at[k] = out.steps.size();
      out.steps.push_back(program.steps[k]);
      for (std::size_t& from : out.steps.back().from) from = at[from];
    }
    for (const std::size_t k : program.outputs) out.outputs.push_back(at[k]);
    return out;
  }

  GraphProgram best_;
  GraphFailure failure_;
};

class GraphFuzzing {
 public:
  explicit GraphFuzzing(Config config) : config_(std::move(config)) {}

  int run() {
    const Clock::time_point begin = Clock::now();
    std::mt19937_64 random(config_.seed);
    const std::uint64_t count = config_.only ? 1 : config_.count;
    for (std::uint64_t k = 0; k < count && failures_ < config_.failures; ++k)
      one(config_.only ? *config_.only : random());
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::printf(
        "%zu programs, %llu failures; %zu steps, %zu programs of symbolic sizes, %.1f programs a "
        "second\n",
        programs_, static_cast<unsigned long long>(failures_), steps_, symbolic_,
        static_cast<double>(programs_) / seconds);
    std::printf("elements compared: %zu to the bit, %zu in a range, %zu where anything may be (%zu far)\n",
                counts_.exact, counts_.ranges, counts_.open, suspects_);
    std::printf("gradients compared with differences: %zu\n", counts_.slopes);
    for (const auto& [name, spent] : seconds_) std::printf("%s %.1f s  ", name.c_str(), spent);
    if (!seconds_.empty()) std::printf("\n");
    if (refusals_ > 0) std::printf("symbolic runs refused: %zu\n", refusals_);
    if (config_.prints)
      for (const auto& [name, n] : kinds_) std::printf("  %s %zu\n", name.c_str(), n);
    return failures_ == 0 ? 0 : 1;
  }

 private:
  void one(std::uint64_t seed) {
    note(seed, "making");
    GraphProgram program;
    try {
      program = random_graph_program(seed);
      const Expected expected(program);
      if (config_.only) std::printf("%s", program.text().c_str());
      ++programs_;
      symbolic_ += program.n != 0 ? 1 : 0;
      steps_ += program.steps.size();
      for (const GraphStep& s : program.steps) ++kinds_[s.op];
      for (const bool symbolic : {false, true})
        for (const std::string& device : config_.devices) {
          if (symbolic && program.n == 0) continue;
          if ((device == "jit" || device == "state") && program.depends_on_data()) continue;
          const Way way{device, symbolic};
          note(seed, way.name());
          const Clock::time_point begin = Clock::now();
          const auto found = failure_of(program, expected, way, counts_);
          seconds_[way.name()] += std::chrono::duration<double>(Clock::now() - begin).count();
          if (found && found->kind == "refused") {
            ++refusals_;
            if (config_.prints)
              std::printf("refused, --only %llu: %s\n", static_cast<unsigned long long>(seed), found->text.c_str());
          } else if (found)
            return report(seed, program, *found);
          show_suspects(seed, program, way);
        }
    } catch (const std::exception& error) {
      report(seed, program, {{"making", false}, "error", error.what()});
    }
  }
  void show_suspects(std::uint64_t seed, const GraphProgram& program, const Way& way) {
    if (config_.suspects && !counts_.suspects.empty())
      std::printf("SUSPECT %s, --only %llu: %s (of %zu)\n%s\n", way.name().c_str(),
                  static_cast<unsigned long long>(seed), counts_.suspects[0].c_str(), counts_.suspects.size(),
                  program.text().c_str());
    suspects_ += counts_.suspects.size();
    counts_.suspects.clear();
  }
  void report(std::uint64_t seed, const GraphProgram& program, const GraphFailure& failure) {
    ++failures_;
    std::printf("FAILED %s, --only %llu: %s\n%s", failure.way.name().c_str(), static_cast<unsigned long long>(seed),
                failure.text.c_str(), program.text().c_str());
    std::fflush(stdout);
    if (failure.way.device == "making") return;
    const auto [smaller, text] = GraphShrinking(program, failure)();
    std::printf("made smaller: %s\n%s\n", text.text.c_str(), smaller.text().c_str());
    std::fflush(stdout);
  }

  Config config_;
  std::size_t programs_ = 0, steps_ = 0, symbolic_ = 0, refusals_ = 0, suspects_ = 0;
  std::uint64_t failures_ = 0;
  Counts counts_;
  std::map<std::string, std::size_t> kinds_;
  std::map<std::string, double> seconds_;
};

int main_of(int argc, char** argv) {
  Config config;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string_view flag = argv[k];
    const auto number = [&] { return number_of(flag, argv[k + 1]); };
    if (flag == "--count") {
      config.count = number();
    } else if (flag == "--seed") {
      config.seed = number();
    } else if (flag == "--failures") {
      config.failures = number();
    } else if (flag == "--only") {
      config.only = number();
    } else if (flag == "--suspects") {
      config.suspects = number() != 0;
    } else if (flag == "--print") {
      config.prints = number() != 0;
    } else if (flag == "--devices") {
      config.devices = words(argv[k + 1]);
    } else {
      std::fprintf(stderr, "unknown flag %s\n", argv[k]);
      return 2;
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was found is there when somebody stops it
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGPROF}) std::signal(signal, on_crash);
  return GraphFuzzing(config).run();
}

}  // namespace
}  // namespace strata::oracle

int main(int argc, char** argv) { return strata::oracle::main_of(argc, argv); }
