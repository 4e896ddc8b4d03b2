// run_kernel(): random input, comparison with INTERP, times.
#include "tools/kernel_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace strata::tools {
namespace {

constexpr double kMostBytes = 4.0 * (1 << 30);
constexpr double kMostOracle = 1 << 22;
constexpr double kMostSeconds = 1;

// --- input ---

std::vector<Buffer> random_buffers(const Kernel& kernel, const KernelSizes& sizes) {
  RandomValues random;
  std::vector<Buffer> out;
  const std::size_t given = kernel.buffers.size() - kernel.temporaries.size();
  for (const BufferUse& use : std::span(kernel.buffers).first(given)) {
    const bool used = !use.dtype.is_none();
    const DType dtype = used ? use.dtype : dtypes::float32;
    Buffer buffer = Buffer::allocate(used ? sizes(use.size) : 0, dtype);
    auto* at = static_cast<std::byte*>(buffer.data());
    for (std::int64_t k = 0; k < buffer.size(); ++k, at += dtype.itemsize()) store_scalar(random.next(dtype), at);
    out.push_back(std::move(buffer));
  }
  return out;
}

std::vector<Buffer> copies_of(const std::vector<Buffer>& buffers) {
  std::vector<Buffer> out;
  for (const Buffer& b : buffers) out.push_back(Buffer::fromCPU(b.data(), b.size(), b.dtype()));
  return out;
}

// --- comparison ---

/// The tolerance of the comparison, relative to the largest result: for sums in another order, and the errors of
/// functions.
double tolerance_of(const Kernel& kernel, const KernelSizes& sizes) {
  int bits = 53;
  double terms = 1;
  for (const LazyNode* n : postorder(kernel.ast)) {
    if (!n->dtype.is_none() && n->dtype.is_float()) bits = std::min(bits, n->dtype.significand_bits());
    if (is_scan(n->op)) {
      const auto axis = static_cast<std::size_t>(std::get<AxisArg>(n->arg).axis);
      terms = std::max(terms, static_cast<double>(sizes(n->shape[axis])));
    }
    if (is_reduce(n->op) && sizes.elements(n->shape) > 0)
      terms = std::max(terms, sizes.elements(n->src[0].shape()) / sizes.elements(n->shape));
  }
  return std::ldexp(16 + terms, -bits);
}

struct Difference {
  double largest = 0;  ///< absolute
  double scale = 1;    ///< the largest expected value, at least 1
  bool exact = true;   ///< true iff all are equal
  bool other = false;  ///< true iff NaN or integers differ
};

void compare_buffers(const Buffer& got, const Buffer& expected, Difference& out) {
  for (std::int64_t k = 0; k < got.size(); ++k) {
    const Scalar a = got[k], b = expected[k];
    const double x = a.as_double(), y = b.as_double();
    if (!std::isnan(y) && !std::isinf(y)) out.scale = std::max(out.scale, std::abs(y));
    if (a == b || x == y || (a.is_nan() && b.is_nan())) continue;
    out.exact = false;
    const double apart = std::abs(x - y);
    if (!got.dtype().is_float() || !(apart < std::numeric_limits<double>::infinity()))
      out.other = true;
    else
      out.largest = std::max(out.largest, apart);
  }
}

void check(const CompiledKernel& kernel, const Device& device, const VariableValues& values,
           const std::vector<Buffer>& buffers, const KernelSizes& sizes, KernelRun& out) {
  if (device.name() == "NULL") return void(out.check = "not checked: NULL runs nothing");
  if (device.name() == "INTERP") return void(out.check = "not checked: INTERP is the oracle itself");
  if (out.work.oracle_elements > kMostOracle)
    return void(out.check = detail::message("not checked: INTERP would compute ",
                                            static_cast<std::int64_t>(std::min(out.work.oracle_elements, 9e18)),
                                            " elements, more than ", static_cast<std::int64_t>(kMostOracle)));
  const std::vector<Buffer> got = copies_of(buffers), expected = copies_of(buffers);
  kernel.run(got, values);
  std::vector<Memory> memory;
  for (const Buffer& b : expected) memory.push_back({b.data(), b.size()});
  interpret(kernel.kernel().ast, memory, values);
  Difference difference;
  for (std::size_t k = 0; k < got.size(); ++k)
    if (kernel.kernel().buffers[k].written) compare_buffers(got[k], expected[k], difference);
  const double most = tolerance_of(kernel.kernel(), sizes) * difference.scale;
  out.agrees = !difference.other && difference.largest <= most;
  if (difference.exact)
    out.check = "all elements are equal to the elements of INTERP";
  else if (difference.other)
    out.check = "elements differ from the elements of INTERP";
  else
    out.check = "elements are within " + Scalar(static_cast<float>(difference.largest)).text() +
                " of the elements of INTERP (" + Scalar(static_cast<float>(most)).text() + " is allowed)";
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

KernelRun run_kernel(const CompiledKernel& kernel, const Device& device, const VariableValues& values,
                     std::optional<std::int64_t> repeats, Compare compare) {
  KernelRun out;
  out.work = work_of(kernel.kernel(), values);
  STRATA_CHECK(out.work.bytes <= kMostBytes, budget, "[run] the buffers have ",
               static_cast<std::int64_t>(std::min(out.work.bytes, 9e18)), " bytes, more than a trial may take");
  const KernelSizes sizes(values);
  const std::vector<Buffer> buffers = random_buffers(kernel.kernel(), sizes);
  out.threads = kernel.kernel().parallel ? default_executor().concurrency() : 1;
  if (compare == Compare::where_quick) check(kernel, device, values, buffers, sizes, out);
  kernel.run(buffers, values);  // warms up caches, and maps pages
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t k = 0; k < repeats.value_or(10); ++k) {
    const auto before = std::chrono::steady_clock::now();
    kernel.run(buffers, values);
    out.seconds.push_back(seconds_since(before));
    if (!repeats && seconds_since(start) > kMostSeconds) break;
  }
  std::vector<double> sorted = out.seconds;
  std::sort(sorted.begin(), sorted.end());
  out.median = (sorted[sorted.size() / 2] + sorted[(sorted.size() - 1) / 2]) / 2;
  return out;
}

}  // namespace strata::tools
