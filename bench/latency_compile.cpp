// Waiting for a kernel in a warm process: new on LLVM, pass by pass; new on CLANG; from the disk cache; and calling it.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "bench/harness.h"
#include "bench/latency.h"
#include "strata/base/flags.h"
#include "strata/ops/kernel_text.h"
#include "strata/render/cstyle.h"
#include "strata/runtime/clang_program.h"
#include "strata/runtime/device.h"
#include "strata/runtime/disk_cache.h"
#include "strata/runtime/host_compiler.h"
#include "strata/runtime/llvm_library.h"

namespace strata::bench {

namespace {

CompiledKernel compile_text(const std::string& text, const Device& device) {
  return compile(parse_kernel(text).kernel, device);
}

/// Whether `device` can be used; says so where it cannot.
bool is_here(const Device& device) {
  const std::string missing = device.missing();
  if (!missing.empty()) std::printf("\n%s: not measured, %s\n", std::string(device.name()).c_str(), missing.c_str());
  return missing.empty();
}

}  // namespace

void bench_fresh(const LatencyOptions& options) {
  const ScopedFlag cold(flags::DISK_CACHE, false);
  const Device& llvm = Device::get("LLVM");
  if (!is_here(llvm)) return;
  std::vector<Wait> waits;
  for (const FreshKernel& k : fresh_kernels()) {
    waits.push_back({k.name + ", from its text",
                     [&] {
                       const std::string text = k.text();
                       return nanoseconds_of([&] { compile_text(text, llvm); });
                     },
                     k.target_ns});
    waits.push_back({k.name + ", from its AST", [&] {
                       const LazyOp ast = parse_kernel(k.text()).kernel;
                       return nanoseconds_of([&] { compile(ast, llvm); });
                     }});
  }
  print_waits("a new kernel on LLVM, warm process, no cache", waits, options.rounds, options);
}

// --- pass by pass ---

namespace {

using PassTimes = std::vector<std::pair<std::string, double>>;  // nanoseconds, in order

/// Parses, lowers, renders and compiles `text` as the LLVM device does, with a note of every step.
PassTimes passes_of(const std::string& text, const Device& device, const LlvmLibrary& llvm) {
  PassTimes out;
  std::optional<KernelText> parsed;
  out.emplace_back("text", nanoseconds_of([&] { parsed = parse_kernel(text); }));
  std::optional<Kernel> kernel;
  const double all = nanoseconds_of([&] { kernel = compile_kernel(parsed->kernel, device.target()); });
  double passes = 0;
  for (const auto& [name, seconds] : kernel->times) {
    out.emplace_back(name, 1e9 * seconds);
    passes += 1e9 * seconds;
  }
  out.emplace_back("names, axes", all - passes);
  std::string ir, object;
  out.emplace_back("render", nanoseconds_of([&] { ir = device.source(*kernel); }));
  LlvmCompileOptions how;
  how.deterministic = !device.target().contract;
  LlvmTimes times;
  const double compiled = nanoseconds_of([&] { object = llvm.compile(ir, how, &times); });
  out.emplace_back("LLVM: parse", static_cast<double>(times.parse));
  out.emplace_back("LLVM: passes", static_cast<double>(times.passes));
  out.emplace_back("LLVM: code", static_cast<double>(times.codegen));
  out.emplace_back("LLVM: the rest", compiled - static_cast<double>(times.parse + times.passes + times.codegen));
  out.emplace_back("LLVM: load", nanoseconds_of([&] { llvm.load(object).find(kernel->name + "_entry"); }));
  return out;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Medians by the names of passes, which not all kernels have.
using PassMedians = std::map<std::string, double>;

PassMedians measure_passes(const FreshKernel& k, const Device& device, const LlvmLibrary& llvm, int rounds,
                           std::vector<std::string>& names) {
  std::map<std::string, std::vector<double>> samples;
  for (int round = -2; round < rounds; ++round)
    for (const auto& [name, time] : passes_of(k.text(), device, llvm)) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      if (round >= 0) samples[name].push_back(time);
    }
  PassMedians out;
  for (auto& [name, times] : samples) out[name] = median(std::move(times));
  return out;
}

void print_passes(const std::vector<std::string>& names, const std::vector<PassMedians>& columns) {
  std::printf("\n| medians, pass by pass |");
  for (const FreshKernel& k : fresh_kernels()) std::printf(" %s |", k.name.c_str());
  std::printf("\n|---|");
  for (std::size_t c = 0; c < columns.size(); ++c) std::printf("---|");
  for (const std::string& name : names) {
    std::printf("\n| %s |", name.c_str());
    for (const PassMedians& c : columns) {
      const auto it = c.find(name);
      std::printf(" %s |", it == c.end() ? "" : format_ns(it->second).c_str());
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

void bench_passes(const LatencyOptions& options) {
  const Device& device = Device::get("LLVM");
  if (!is_here(device)) return;
  const std::shared_ptr<const LlvmLibrary> llvm = LlvmLibrary::open();
  std::vector<std::string> names;
  std::vector<PassMedians> columns;
  for (const FreshKernel& k : fresh_kernels())
    columns.push_back(measure_passes(k, device, *llvm, options.rounds, names));
  if (!options.json) return print_passes(names, columns);
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (const auto& [name, time] : columns[c])
      std::printf(R"({"kernel": "%s", "pass": "%s", "median_ns": %.6g})"
                  "\n",
                  fresh_kernels()[c].name.c_str(), name.c_str(), time);
}

// --- CLANG: beyond the compiler's own time ---

namespace {

/// The compiler and the linker alone, on a file that is there, with the flags of the CLANG device.
class CompilerAlone {
 public:
  CompilerAlone(const Device& device, const std::string& name) : base_(scratch_folder() + "/" + name) {
    CompileOptions options;
    options.deterministic = !device.target().contract;
    if (device.target().vector_bytes == 64) options.extra.emplace_back("-mprefer-vector-width=512");
    compile_ = {HostCompiler::find()->path(), "-x", "c", "-c", "-", "-o", base_ + ".o"};
    for (std::string& flag : HostCompiler::flags(options)) compile_.push_back(std::move(flag));
    link_ = {"ld", "-shared", "-z", "defs", "-z", "noseparate-code", "-o", base_ + ".so", base_ + ".o"};
  }
  void write(const std::string& source) const { std::ofstream(base_ + ".c") << source; }
  void operator()() const {
    run_program(compile_, {}, base_ + ".c");
    run_program(link_);
  }

 private:
  std::string base_;
  std::vector<std::string> compile_, link_;
};

/// What becomes of a kernel on the CLANG device before its compiler is started.
std::string c_source(const std::string& text, const Device& device) {
  CStyleOptions style;
  style.entry = true;
  return uops_to_cstyle(CLanguage(), "k", compile_kernel(parse_kernel(text).kernel, device.target()).uops, style);
}

}  // namespace

void bench_clang(const LatencyOptions& options) {
  const ScopedFlag cold(flags::DISK_CACHE, false);
  const Device& clang = Device::get("CLANG");
  if (!is_here(clang)) return;
  std::vector<Wait> waits;
  for (const FreshKernel& k : fresh_kernels()) {
    const auto alone = std::make_shared<const CompilerAlone>(clang, std::to_string(waits.size()));
    const auto last = std::make_shared<double>(0);  // of the compiler alone, on the same source, just before
    waits.push_back({k.name + ": the compiler and linker alone", [&k, &clang, alone, last] {
                       alone->write(c_source(k.text(), clang));
                       return *last = nanoseconds_of(*alone);
                     }});
    waits.push_back({k.name + ": Strata beyond that",
                     [&k, &clang, last] {
                       const std::string text = k.text();
                       return nanoseconds_of([&] { compile_text(text, clang); }) - *last;
                     },
                     5e6});
    // The same without processes: steadier, and what is left when they cost nothing.
    const auto object =
        std::make_shared<const std::vector<std::byte>>(HostCompiler::find()->compile(c_source(k.text(), clang)));
    waits.push_back({k.name + ": to C, and loading the object",
                     [&k, &clang, object] {
                       const std::string text = k.text();
                       return nanoseconds_of([&] {
                         c_source(text, clang);
                         const ClangProgram loaded("k", *object);
                       });
                     },
                     5e6});
  }
  print_waits("a new kernel on CLANG, warm process, no cache", waits, std::max(options.rounds / 5, 5), options);
}

// --- from the disk cache ---

void bench_cache(const LatencyOptions& options) {
  const ScopedFlag folder(flags::CACHE_DIR, scratch_folder() + "/cache");
  const ScopedFlag warm(flags::DISK_CACHE, true);
  std::vector<Wait> waits;
  for (const char* name : {"LLVM", "CLANG"}) {
    const Device& device = Device::get(name);
    if (!is_here(device)) continue;
    for (const FreshKernel& k : fresh_kernels()) {
      const std::string text = k.text();
      compile_text(text, device);
      waits.push_back({k.name + ", " + name,
                       [text, &device] { return nanoseconds_of([&] { compile_text(text, device); }); },
                       &k == &fresh_kernels().front() ? 0.3e6 : 0});
    }
  }
  const std::uint64_t hits = DiskCache::shared()->statistics().hits;
  print_waits("a kernel from the disk cache, from its text, warm process", waits, options.rounds, options);
  if (!waits.empty() && DiskCache::shared()->statistics().hits == hits) std::printf("\n**the cache was not hit**\n");
}

// --- calls ---

void bench_replay(const LatencyOptions& options) {
  std::vector<Row> rows;
  const auto buffers = [](std::int64_t n) {
    std::vector<Buffer> out;
    for (int i = 0; i < 3; ++i) {
      out.push_back(Buffer::allocate(n, dtypes::float32));
      std::ranges::fill(out.back().as<float>(), 1.0F);
    }
    return out;
  };
  for (const char* name : {"LLVM", "CLANG"}) {
    const Device& device = Device::get(name);
    if (!is_here(device)) continue;
    const auto add = std::make_shared<const CompiledKernel>(compile_text("a: f32[1]; b: f32[1]; c = a + b", device));
    const std::vector<Buffer> slots = buffers(1);
    std::vector<void*> addresses;
    for (const Buffer& b : slots) addresses.push_back(b.data());
    rows.push_back(
        row(std::string("replay() of one element, ") + name, [add, slots, addresses] { add->replay(addresses, {}); }));
    rows.push_back(row(std::string("run() of one element, all checks, ") + name,
                       [add, slots] { add->run(std::span<const Buffer>(slots)); }));
  }
  if (rows.empty()) return;
  pin_to_one_processor();
  const std::vector<Timing> timings = measure(rows, {options.rounds < 100 ? 0.05 : 0.5, 15, 2000});
  unpin();
  std::vector<Wait> waits;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto next = std::make_shared<std::size_t>(0);
    waits.push_back({rows[i].name,
                     [next, samples = timings[i].samples_ns] { return samples[(*next)++ % samples.size()]; },
                     rows[i].name.starts_with("replay") ? 100.0 : 0});
  }
  print_waits("a call, a batch of 0.2 ms a sample", waits, static_cast<int>(timings[0].samples_ns.size()), options);
}

}  // namespace strata::bench
