// measured_speed(): each number is the fastest of some runs of a kernel that is limited by it.
#include "tools/machine_speed.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "strata/ops/kernel_text.h"

namespace strata::tools {
namespace {

constexpr int kRuns = 12;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Cycles in a second: additions of integers, each of which needs the one before it, take one cycle each.
double cycles_in_a_second() {
  constexpr int kSteps = 1 << 20, kUnrolled = 16;
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    std::uint64_t sum = 1;
    const double begin = seconds_now();
    for (int k = 0; k < kSteps; ++k)
      for (int j = 0; j < kUnrolled; ++j) {
        sum += 1;
        asm volatile("" : "+r"(sum));
      }
    least = std::min(least, seconds_now() - begin);
  }
  return kSteps * double{kUnrolled} / least;
}

/// Runs kernels on one thread.
class Runs {
 public:
  Runs(const Device& device, double hertz) : device_(device), hertz_(hertz) {}

  /// The cycles of the fastest run of a kernel.
  double cycles(const std::string& text, const std::string& opts) const {
    const CompiledKernel kernel = compile(parse_kernel(text).kernel, device_, parse_opts(opts), false);
    std::vector<Buffer> buffers;
    for (const BufferUse& use : kernel.kernel().buffers) {
      buffers.push_back(Buffer::allocate(use.size.value(), use.dtype));
      // 0x3f3f3f3f is 0.75 in f32: no number becomes subnormal or infinite.
      std::memset(buffers.back().data(), 0x3f, buffers.back().nbytes());
    }
    double least = std::numeric_limits<double>::infinity();
    for (int run = 0; run < kRuns; ++run) {
      const double begin = seconds_now();
      kernel.run(buffers);
      least = std::min(least, seconds_now() - begin);
    }
    return least * hertz_;
  }

 private:
  const Device& device_;
  double hertz_;
};

/// The bytes of the data cache of a level, as Linux says; else `known`.
double cache_bytes(int level, double known) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = detail::message("/sys/devices/system/cpu/cpu0/cache/index", index, "/");
    int its_level = 0;
    std::string type;
    if (!(std::ifstream(folder + "level") >> its_level) || !(std::ifstream(folder + "type") >> type)) break;
    double kibibytes = 0;  // "1024K"
    if (its_level == level && type != "Instruction" && std::ifstream(folder + "size") >> kibibytes && kibibytes > 0)
      return kibibytes * 1024;
  }
  return known;
}

}  // namespace

Machine measured_speed(const Device& device) {
  const int vector_bytes = device.target().vector_bytes;
  Machine out = machine_of(vector_bytes);
  const double hertz = cycles_in_a_second();
  out.gigahertz = hertz / 1e9;
  out.l1_bytes = cache_bytes(1, out.l1_bytes);
  out.l2_bytes = cache_bytes(2, out.l2_bytes);
  out.l3_bytes = std::max(cache_bytes(3, out.l3_bytes), 2 * out.l2_bytes);

  const Runs runs(device, hertz);
  const std::int64_t lanes = vector_bytes / 4;
  const double paths = vector_bytes / out.path_bytes;  // pieces of a vector
  // Sums of 12 vectors in registers: one multiply-add each.
  constexpr std::int64_t kSums = 12, kTerms = 1 << 16, kQuotients = kTerms / 8;
  const double adds =
      runs.cycles(detail::message("x: f32[", lanes * kSums, ",1]; w: f32[1,", kTerms, "]; y = (x*w).sum(1)"),
                  detail::message("LANES 0 ", lanes, ", UPCAST 0 ", kSums, ", UNROLL 2 4"));
  out.multiplies = kSums * kTerms * paths / adds;
  // One sum of one vector: each addition needs the one before it.
  out.latency = runs.cycles(detail::message("x: f32[", lanes, ",1]; w: f32[1,", kTerms, "]; y = (x*w).sum(1)"),
                            detail::message("LANES 0 ", lanes, ", UNROLL 2 4")) /
                kTerms;
  // The same with divisions, of several vectors.
  out.division =
      std::max(runs.cycles(detail::message("x: f32[", lanes * 4, ",1]; w: f32[1,", kQuotients, "]; y = (w/x).sum(1)"),
                           detail::message("LANES 0 ", lanes, ", UPCAST 0 4, UNROLL 2 4")) /
                   (4 * kQuotients * paths),
               1.0);
  // Products of an array that the next level holds with another number each time it is read.
  const auto refill = [&](double bytes) {
    const auto n = static_cast<std::int64_t>(bytes / 4) / (lanes * 8) * (lanes * 8);
    const std::int64_t times = std::max<std::int64_t>(1, (std::int64_t{1} << 24) / (4 * n));
    const double cycles = runs.cycles(detail::message("x: f32[1,", n, "]; s: f32[", times, ",1]; y = (x*s).sum(1)"),
                                      detail::message("LANES 2 ", lanes, ", UPCAST 2 8"));
    return static_cast<double>(4 * n * times) / cycles;
  };
  out.l1_refill = refill(std::min(4 * out.l1_bytes, out.l2_bytes / 2));
  out.l2_refill = refill(std::min(3 * out.l2_bytes, out.l3_bytes / 2));
  out.l3_refill = refill(std::min(2 * out.l3_bytes, double{1 << 27}));
  return out;
}

}  // namespace strata::tools
