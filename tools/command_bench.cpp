// `strata bench`: the roofline of this machine, and the share of the roofline that generated kernels reach.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <utility>

#include "strata/base/flags.h"
#include "strata/base/json.h"
#include "strata/runtime/measured_machine.h"
#include "strata/runtime/progress.h"
#include "strata/schedule/schedule.h"
#include "strata/tensor/functional.h"
#include "tools/command_parts.h"
#include "tools/commands.h"
#include "tools/kernel_run.h"
#include "tools/machine_speed.h"
#include "tools/request.h"
#include "tools/units.h"

namespace strata::tools {
namespace {

/// A benchmark: a graph of f32 tensors that is one kernel.
struct Measurement {
  std::string_view name;
  std::string_view text;
  Tensor (*graph)();
};

Tensor of(const Ints& shape) { return Tensor::empty(shape); }

constexpr Measurement kMeasurements[] = {
    {"elementwise", "relu(a*b + c), 4194304 elements",
     [] { return (of({1 << 22}) * of({1 << 22}) + of({1 << 22})).relu(); }},
    {"sum", "all of 8388608 elements", [] { return of({1 << 23}).sum(); }},
    {"softmax", "4096 rows of 1024", [] { return of({4096, 1024}).softmax(); }},
    {"layernorm", "4096 rows of 1024", [] { return layer_norm(of({4096, 1024}), {1024}, of({1024}), of({1024})); }},
    {"matmul", "512 x 512 by 512 x 512", [] { return of({512, 512}).matmul(of({512, 512})); }},
    {"conv", "3x3, 64 to 64 channels of 56x56, bias, relu",
     [] { return conv2d(of({1, 64, 56, 56}), of({64, 64, 3, 3}), of({64}), {.padding = 1}).relu(); }},
};

/// Three digits.
std::string number_text(double value) {
  char out[32];
  std::snprintf(out, sizeof out, value >= 1000 ? "%.0f" : "%.3g", value);
  return out;
}

std::vector<const Measurement*> chosen(const Invocation& invocation) {
  std::vector<const Measurement*> out;
  std::vector<std::string_view> names;
  for (const Measurement& m : kMeasurements) names.push_back(m.name);
  for (const std::string& name : invocation.arguments()) {
    const auto at = std::find(names.begin(), names.end(), name) - names.begin();
    if (static_cast<std::size_t>(at) == names.size()) {
      const std::string_view best = nearest(name, names);
      throw UsageError(detail::message("there is no measurement '", name, "'",
                                       best.empty() ? std::string() : detail::message("; did you mean '", best, "'?")),
                       &invocation.command());
    }
    out.push_back(&kMeasurements[at]);
  }
  if (!out.empty()) return out;
  for (const Measurement& m : kMeasurements) out.push_back(&m);
  return out;
}

struct Result {
  const Measurement& what;
  KernelRun run;
  double share = 0;  // the measured speed relative to the roofline
};

Result measure(const Measurement& what, const Device& device, const Roofline& roof) {
  const std::vector<ScheduleItem> items = schedule(std::vector{what.graph().node()});
  STRATA_ASSERT(items.size() == 1 && items[0].is_kernel(), "[bench] ", what.name, " is ", items.size(), " items");
  const CompiledKernel kernel = compile(items[0].ast, device);
  KernelRun run = run_kernel(kernel, device, {}, std::nullopt, Compare::never);
  const double share = roof.seconds(run.work) / run.median;
  return {what, std::move(run), share};
}

void print_result(const Result& result, Console& console, bool colour) {
  const KernelRun& run = result.run;
  console.out << paint(colour, Style::bold, padded(result.what.name, 12)) << padded(seconds_text(run.median), 10)
              << padded(speed_text(run.work.operations / run.median, true), 15)
              << padded(bandwidth_text(run.work.bytes / run.median), 12)
              << padded(detail::message(std::lround(100 * result.share), "%"), 6)
              << paint(colour, Style::dim, result.what.text) << '\n';
}

std::string json_of_result(const Result& result, const Device& device) {
  const KernelRun& run = result.run;
  JsonWriter json;
  json.begin_object().member("name", result.what.name).member("text", result.what.text);
  json.member("device", device.name()).member("threads", std::int64_t{run.threads});
  write_number(json, "seconds", run.median);
  write_number(json, "operations", run.work.operations);
  write_number(json, "bytes", run.work.bytes);
  write_number(json, "operations_per_second", run.work.operations / run.median);
  write_number(json, "bytes_per_second", run.work.bytes / run.median);
  write_number(json, "share_of_roofline", result.share);
  return json.end_object().take();
}

void tell_roofline(const Roofline& roof, const Device& device, bool as_json, Console& console, bool colour) {
  if (as_json) {
    JsonWriter json;
    json.begin_object().member("name", "roofline").member("text", roof.text);
    json.member("device", device.name());
    json.member("threads", std::int64_t{default_executor().concurrency()});
    write_number(json, "operations_per_second", roof.peak);
    write_number(json, "bytes_per_second", roof.bandwidth);
    console.out << json.end_object().take() << '\n';
    return;
  }
  console.out << paint(colour, Style::bold, padded("roofline", 12)) << padded(device.name(), 10)
              << padded(speed_text(roof.peak, true), 15) << padded(bandwidth_text(roof.bandwidth), 12) << "100%  "
              << paint(colour, Style::dim, roof.text) << '\n';
}

const Device& device_to_measure(const Invocation& invocation) {
  const auto name = invocation.value("--device");
  const Device& device = name ? Device::get(*name) : Device::default_device();
  STRATA_CHECK(device.missing().empty(), domain, device.missing());
  STRATA_CHECK(device.name() != "INTERP" && device.name() != "NULL", domain, "[bench] ", device.name(),
               " cannot be measured: use --device LLVM, CLANG or OPENCL");
  return device;
}

/// `--machine`: measures the numbers behind predicted times, keeps and prints them.
int measure_machine(const Device& device, bool as_json, Console& console, bool colour) {
  STRATA_CHECK(device.name() == "LLVM" || device.name() == "CLANG", domain, "[bench --machine] ", device.name(),
               " has no numbers of a processor: use --device LLVM or CLANG");
  const Machine known = device.target().machine();
  Machine measured;
  {
    Progress progress("measuring", 1);
    progress.advance(0, "machine");
    measured = measured_speed(device);
  }  // the destructor erases the line
  const bool is_kept = keep_machine(measured, device.target().vector_bytes);
  if (as_json) {
    JsonWriter json;
    json.begin_object().member("name", "machine").member("device", device.name());
    for (const MachineNumber& n : machine_numbers()) write_number(json, n.name, measured.*n.value);
    console.out << json.member("kept", is_kept).end_object().take() << '\n';
    return 0;
  }
  for (const MachineNumber& n : machine_numbers())
    console.out << paint(colour, Style::bold, padded(n.name, 12)) << padded(number_text(measured.*n.value), 12)
                << padded(detail::message("was ", number_text(known.*n.value)), 14) << paint(colour, Style::dim, n.text)
                << '\n';
  console.out << (is_kept ? "Kept in the cache folder, for kernels that processes choose from now on.\n"
                          : "Not kept: the disk cache is off (strata cache says why).\n");
  return 0;
}

}  // namespace

int command_bench(const Invocation& invocation, Console& console) {
  const std::vector<const Measurement*> measurements = chosen(invocation);
  const Device& device = device_to_measure(invocation);
  if (invocation.has("--machine"))
    return measure_machine(device, invocation.has("--json"), console, wants_colour(invocation, console));
  const ScopedFlag used(flags::DEVICE, std::string(device.name()));
  const bool as_json = invocation.has("--json"), colour = wants_colour(invocation, console);
  std::vector<Result> results;
  {
    Progress progress("measuring", static_cast<std::int64_t>(measurements.size()) + 1);
    progress.advance(0, "roofline");
    const Roofline& roof = roofline(device, false);
    for (const Measurement* m : measurements) {
      progress.advance(1, m->name);
      results.push_back(measure(*m, device, roof));
    }
  }  // the destructor erases the line
  tell_roofline(roofline(device, false), device, as_json, console, colour);
  for (const Result& result : results) {
    if (as_json)
      console.out << json_of_result(result, device) << '\n';
    else
      print_result(result, console, colour);
  }
  return 0;
}

}  // namespace strata::tools
