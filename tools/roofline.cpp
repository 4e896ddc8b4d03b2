// roofline(): measures bandwidth and peak performance with generated kernels.
#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>

#include "strata/ops/kernel_text.h"
#include "tools/kernel_run.h"

namespace strata::tools {
namespace {

constexpr std::int64_t kTriadBytes = std::int64_t{1} << 25;
// The number of accumulators: enough to hide the latency of an operation, and few enough for the registers.
constexpr std::int64_t kAccumulators = 12, kTiles = 128, kIterations = 2048;

/// The fastest of a few runs, which is the least disturbed by other programs.
double fastest(const CompiledKernel& kernel, int runs) {
  std::vector<Buffer> buffers;
  for (const BufferUse& use : kernel.kernel().buffers) {
    buffers.push_back(Buffer::allocate(use.size.value(), use.dtype));
    std::fill_n(static_cast<std::byte*>(buffers.back().data()), buffers.back().nbytes(), std::byte{0});
  }
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < runs; ++k) {
    const auto start = std::chrono::steady_clock::now();
    kernel.run(buffers);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    least = std::min(least, time.count());
  }
  return least;
}

double measure_bandwidth(const Device& device, std::string_view dtype, std::int64_t itemsize) {
  const std::int64_t n = kTriadBytes / itemsize;
  const std::string text = detail::message("b: ", dtype, "[", n, "]; c: ", dtype, "[", n, "]; a = b + c*3");
  const double seconds = fastest(compile(parse_kernel(text).kernel, device, std::nullopt, false), 4);
  return 3.0 * static_cast<double>(kTriadBytes) / seconds;
}

double measure_peak(const Device& device, std::string_view dtype, std::int64_t itemsize) {
  const std::int64_t lanes = device.target().vector_bytes / itemsize;
  const std::int64_t n = lanes * kAccumulators * kTiles;
  const std::string text =
      detail::message("x: ", dtype, "[", n, ",1]; w: ", dtype, "[1,", kIterations, "]; y = (x*w).sum(1)");
  std::vector<Opt> opts =
      parse_opts(detail::message("LANES 0 ", lanes, ", UPCAST 0 ", kAccumulators, ", UNROLL 2 4, PARALLEL 0"));
  const double seconds = fastest(compile(parse_kernel(text).kernel, device, std::move(opts), false), 20);
  return 2.0 * kIterations * static_cast<double>(n) / seconds;
}

Roofline measure(const Device& device, bool doubles) {
  if (device.name() == "NULL" || device.name() == "INTERP")
    return {0, 0, detail::message("none: ", device.name(), " is not a machine")};
  const int threads = default_executor().concurrency();
  const std::string_view dtype = doubles ? "f64" : "f32";
  const std::int64_t itemsize = doubles ? 8 : 4;
  return {measure_bandwidth(device, dtype, itemsize), measure_peak(device, dtype, itemsize),
          detail::message("measured on ", threads, threads == 1 ? " thread in " : " threads in ", dtype,
                          ": a = b + 3*c over 3 arrays of 32 MiB; multiplications and "
                          "additions, ",
                          kAccumulators, " sums at a time in registers")};
}

}  // namespace

double Roofline::seconds(const KernelWork& work) const {
  if (bandwidth <= 0 || peak <= 0) return 0;
  return std::max(work.bytes / bandwidth, work.floats ? work.operations / peak : 0);
}

const Roofline& roofline(const Device& device, bool doubles) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::pair<const Device*, bool>, Roofline>;
  const std::lock_guard lock(mutex);
  const auto key = std::pair(&device, doubles);
  const auto it = known.find(key);
  return it != known.end() ? it->second : known.emplace(key, measure(device, doubles)).first->second;
}

}  // namespace strata::tools
