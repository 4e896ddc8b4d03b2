// The differential fuzzer of the kernel compiler: random kernels under random Opts on all that can run them.
//
//   fuzz_kernel --count N --seed S [--devices list,ir,LLVM,CLANG,instances,OPENCL,CHECKED] [--compilers gcc,clang-19]
//               [--only CASE_SEED] [--failures F] [--batch B]
//
// The oracle is graph/interpret.h. `list` is the list with every op native, interpreted: equal to the bit. `ir` is the
// list that devices get, interpreted, LLVM and CLANG its code; `instances` is the list of instances, OPENCL its code.
// They may differ from the oracle by what value_range.h says, no more. Many kernels share one C source. CHECKED is that
// C, too, in programs of its own (program_stage.h), under the sanitizers of addresses and undefined behaviour. On a
// failure the kernel is made smaller and printed with its seed; the exit status is 1 after `F` of them, or at the end.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "tests/codegen/kernel_trial.h"
#include "tests/fuzz/flags.h"
#include "tests/fuzz/program_stage.h"

namespace strata::oracle {
namespace {

using Clock = std::chrono::steady_clock;

struct Config {
  std::uint64_t count = 200, seed = 1, failures = 1, batch = 24;
  std::optional<std::uint64_t> only;
  std::set<std::string> devices = {"list", "ir", "LLVM", "CLANG"};
  std::vector<std::string> compilers = {"gcc", "clang-19"};  // of programs
};

char crash_note[96];  // what a signal handler may write

void on_crash(int signal) {
  const ssize_t written = write(STDERR_FILENO, crash_note, std::strlen(crash_note));
  std::_Exit(written < 0 ? 1 : 128 + signal);
}
void note(std::uint64_t seed, const char* stage) {
  std::snprintf(crash_note, sizeof(crash_note), "crash in %s of --only %llu\n", stage,
                static_cast<unsigned long long>(seed));
}

std::shared_ptr<const SharedObject> object_of(const std::string& source, bool is_deterministic) {
  CompileOptions options;
  options.deterministic = is_deterministic;
  return SharedObject::load(HostCompiler::find()->compile(source, options));
}
Entry entry_of(const SharedObject& object, const std::string& name) {
  return object.function<void (*)(void* const*, const long long*)>(name + "_entry");
}

/// The trial on one device alone, for making a failure smaller.
Verdict examined(const Case& c, const std::string& stage, const ProgramStages& programs) {
  try {
    Trial trial(c);
    Verdict v = trial.oracle();
    if (v.fails() || stage == "oracle" || stage == "opts") return v;
    if (stage == "list") return trial.exact_list();
    if (stage == "ir") return trial.list();
    if (stage == "LLVM") return trial.llvm();
    if (stage == "instances") return trial.instances();
    if (stage == "OPENCL") return trial.device(stage);
    const std::string source = trial.source("k", v);
    if (v.fails() || source.empty()) return v;
    const auto program = programs.find(stage);
    if (program != programs.end())
      return program->second.verdicts({&trial}, program->second.build_of(c.data, trial)).front();
    const auto object = object_of(source, trial.is_deterministic());
    return trial.ran("CLANG", entry_of(*object, "k"));
  } catch (const std::exception& error) {
    return {stage == "make" ? "make" : "CLANG", detail::message("throws ", error.what()), {}};
  }
}

class Shrinking {
 public:
  Shrinking(Case c, Verdict failure, const ProgramStages& programs)
      : best_(std::move(c)), failure_(std::move(failure)), programs_(programs) {}

  std::pair<Case, Verdict> operator()() {
    const Clock::time_point end = Clock::now() + std::chrono::seconds(40);
    for (bool progress = true; progress && Clock::now() < end;) {
      progress = false;
      for (auto part : {&Case::opts, &Case::kernel}) {
        for (std::size_t n = std::max<std::size_t>((best_.*part).size() / 2, 1);; n /= 2) {
          for (std::size_t at = 0; at < (best_.*part).size() && Clock::now() < end;)
            if (try_without(part, at, n))
              progress = true;
            else
              at += n;
          if (n == 1) break;
        }
        for (std::size_t at = 0; at < (best_.*part).size() && Clock::now() < end; ++at)
          progress = smaller(part, at) || progress;
      }
    }
    return {best_, failure_};
  }

 private:
  using Part = std::vector<std::uint32_t> Case::*;

  bool try_without(Part part, std::size_t at, std::size_t n) {
    Case next = best_;
    auto& list = next.*part;
    const auto from = list.begin() + static_cast<std::ptrdiff_t>(at);
    list.erase(from, list.begin() + static_cast<std::ptrdiff_t>(std::min(at + n, list.size())));
    return accept(next);
  }
  bool smaller(Part part, std::size_t at) {
    const std::uint32_t was = (best_.*part)[at];
    for (const std::uint32_t value : {0U, was / 2, was - 1}) {
      if (value >= was) continue;
      Case next = best_;
      (next.*part)[at] = value;
      if (accept(next)) return true;
    }
    return false;
  }
  bool accept(const Case& next) {
    const Verdict v = examined(next, failure_.stage, programs_);
    // Another error is another failure.
    const bool was_error = failure_.text.starts_with("throws"), is_error = v.text.starts_with("throws");
    if (v.stage != failure_.stage || was_error != is_error) return false;
    if (is_error && v.text.substr(0, 20) != failure_.text.substr(0, 20)) return false;
    best_ = next;
    failure_ = v;
    return true;
  }

  Case best_;
  Verdict failure_;
  const ProgramStages& programs_;
};

class Fuzzing {
 public:
  explicit Fuzzing(Config config) : config_(std::move(config)) {
    if (config_.devices.contains("CHECKED")) programs_.emplace("CHECKED", ProgramStage("CHECKED", config_.compilers));
  }

  int run() {
    std::mt19937_64 random(config_.seed);
    const std::uint64_t count = config_.only ? 1 : config_.count;
    for (std::uint64_t n = 0; n < count && failures_ < config_.failures; ++n) {
      one(config_.only ? *config_.only : random());
      if (batch_.size() >= config_.batch) finish_batch();
    }
    if (failures_ < config_.failures) finish_batch();
    while (failures_ < config_.failures && !waiting_.empty()) finish_program(waiting_.begin());
    print_counts();
    return failures_ == 0 ? 0 : 1;
  }

 private:
  struct Item {
    std::uint64_t seed;
    Case c;
    std::shared_ptr<Trial> trial;
    std::string name, source;
  };
  using Waiting = std::map<std::pair<std::string, ProgramBuild>, std::vector<Item>>;

  void one(std::uint64_t seed) {
    Item item{seed, {}, nullptr, detail::message("random_", batch_.size()), {}};
    note(seed, "make");
    const Clock::time_point start = Clock::now();
    try {
      item.c = drawn(seed);
      item.trial = std::make_shared<Trial>(item.c);
    } catch (const std::exception& error) {
      ++failures_;
      std::printf("FAILED make, --only %llu: %s\n", static_cast<unsigned long long>(seed), error.what());
      return;
    }
    ++kernels_;
    const bool goes_on = stage(item, "oracle", [&](Trial& t) { return t.oracle(); }) &&
                         stage(item, "list", [&](Trial& t) { return t.exact_list(); }) &&
                         stage(item, "ir", [&](Trial& t) { return t.list(); }) &&
                         stage(item, "LLVM", [&](Trial& t) { return t.llvm(); }) &&
                         stage(item, "instances", [&](Trial& t) { return t.instances(); }) &&
                         stage(item, "OPENCL", [&](Trial& t) { return t.device("OPENCL"); });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    // What fails is made smaller, which takes as long as it may.
    if (goes_on && seconds > slowest_) slowest_ = seconds, slowest_seed_ = seed;
    count(*item.trial);
    if (!goes_on || (!config_.devices.contains("CLANG") && programs_.empty())) return;
    Verdict v;
    item.source = item.trial->source(item.name, v);
    if (v.fails()) return report(item, v);
    if (item.source.empty()) return;
    for (const auto& [name, program] : programs_) {
      const auto at = waiting_.try_emplace({name, program.build_of(seed, *item.trial)}).first;
      at->second.push_back(item);
      if (at->second.size() >= config_.batch) finish_program(at);
    }
    if (config_.devices.contains("CLANG")) batch_.push_back(std::move(item));
  }
  template <class F>
  bool stage(Item& item, const char* name, const F& run) {
    if (std::strcmp(name, "oracle") != 0 && !config_.devices.contains(name)) return true;
    note(item.seed, name);
    const Verdict v = run(*item.trial);
    if (v.fails()) return report(item, v), false;
    if (!v.refusal.empty()) {
      ++refusals_[v.refusal];
      last_refusal_[v.refusal] = detail::message("--only ", item.seed, ": ", v.text);
      return false;
    }
    ++runs_[name];
    return true;
  }

  void finish_batch() {
    for (const bool is_deterministic : {false, true}) {
      std::string source;
      for (const Item& item : batch_)
        if (item.trial->is_deterministic() == is_deterministic) source += item.source + "\n";
      if (source.empty()) continue;
      std::shared_ptr<const SharedObject> object;
      try {
        object = object_of(source, is_deterministic);
      } catch (const Error& error) {
        std::printf("a file of kernels does not compile; one by one: %.300s\n", error.what());
      }
      for (Item& item : batch_)
        if (item.trial->is_deterministic() == is_deterministic) run_compiled(item, object.get());
    }
    batch_.clear();
  }
  void run_compiled(Item& item, const SharedObject* object) {
    note(item.seed, "CLANG");
    const Verdict v = object != nullptr ? item.trial->ran("CLANG", entry_of(*object, item.name))
                                        : examined(item.c, "CLANG", programs_);
    if (v.fails()) return report(item, v);
    ++runs_["CLANG"];
    count(*item.trial);
  }

  /// Runs the program of all that wait for it.
  void finish_program(Waiting::iterator at) {
    const auto [stage, build] = at->first;
    const std::vector<Item> items = std::move(at->second);
    waiting_.erase(at);
    std::vector<Trial*> trials;
    for (const Item& item : items) trials.push_back(item.trial.get());
    const std::vector<Verdict> verdicts = programs_.at(stage).verdicts(trials, build);
    for (std::size_t k = 0; k < items.size(); ++k) {
      if (verdicts[k].fails() && failures_ < config_.failures) report(items[k], verdicts[k]);
      if (verdicts[k].fails()) continue;
      ++runs_[detail::message(stage, " (", build.words(), ")")];
      count(*items[k].trial);
    }
  }

  void report(const Item& item, const Verdict& failure) {
    ++failures_;
    const auto seed = static_cast<unsigned long long>(item.seed);
    std::printf("FAILED %s, --only %llu: %s\n%s\n", failure.stage.c_str(), seed, failure.text.c_str(),
                item.trial->text().c_str());
    std::fflush(stdout);
    if (failures_ > config_.failures) return;
    const auto [c, v] = Shrinking(item.c, failure, programs_)();
    Trial trial(c);
    trial.oracle();
    if (v.stage != "list" && v.stage != "oracle") trial.list();
    std::printf("made smaller: %s\n%s\n\n", v.text.c_str(), trial.text().c_str());
    std::fflush(stdout);
  }
  /// Adds what a trial has counted since the last time.
  void count(Trial& trial) {
    const Comparison c = trial.take_counts();
    counts_.exact += c.exact;
    counts_.ranges += c.ranges;
    counts_.open += c.open;
  }
  void print_counts() const {
    std::printf("%zu kernels, %llu failures; runs:", kernels_, static_cast<unsigned long long>(failures_));
    for (const auto& [name, n] : runs_) std::printf(" %s %zu", name.c_str(), n);
    std::printf("\nelements compared: %zu to the bit, %zu in a range, %zu where anything may be\n", counts_.exact,
                counts_.ranges, counts_.open);
    for (const auto& [name, n] : refusals_)
      std::printf("refused %zu: %s (%.300s)\n", n, name.c_str(), last_refusal_.at(name).c_str());
    std::printf("slowest: %.2f s, --only %llu\n", slowest_, static_cast<unsigned long long>(slowest_seed_));
  }

  Config config_;
  ProgramStages programs_;
  std::vector<Item> batch_;
  Waiting waiting_;
  std::size_t kernels_ = 0;
  std::uint64_t failures_ = 0, slowest_seed_ = 0;
  double slowest_ = 0;
  std::map<std::string, std::size_t> runs_, refusals_;
  std::map<std::string, std::string> last_refusal_;
  Comparison counts_;
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
    } else if (flag == "--batch") {
      config.batch = std::max<std::uint64_t>(number(), 1);
    } else if (flag == "--only") {
      config.only = number();
    } else if (flag == "--devices") {
      const std::vector<std::string> names = words(argv[k + 1]);
      config.devices = {names.begin(), names.end()};
    } else if (flag == "--compilers") {
      config.compilers = words(argv[k + 1]);
    } else {
      std::fprintf(stderr, "unknown flag %s\n", argv[k]);
      return 2;
    }
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, on_crash);
  return Fuzzing(config).run();
}

}  // namespace
}  // namespace strata::oracle

int main(int argc, char** argv) { return strata::oracle::main_of(argc, argv); }
