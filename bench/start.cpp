// A program that computes 2 + 3 on a device and ends: what bench_latency starts again and again.
//
//   bench_start DEVICE      LLVM, CLANG, INTERP; NONE computes nothing
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <vector>

#include "strata/ops/kernel_text.h"
#include "strata/runtime/device.h"

namespace {

float two_plus_three(std::string_view device) {
  if (device == "NONE") return 5;
  using namespace strata;
  const CompiledKernel add = compile(parse_kernel("a: f32[1]; b: f32[1]; c = a + b").kernel, Device::get(device));
  const Buffer sum = Buffer::allocate(1, dtypes::float32);
  add.run({sum, Buffer::fromCPU(std::vector<float>{2}), Buffer::fromCPU(std::vector<float>{3})});
  return sum.as<float>()[0];
}

}  // namespace

int main(int argc, char** argv) {
  try {
    setenv("STRATA_PLUGIN_DIR", STRATA_BENCH_PLUGIN_DIR, 0);
    return two_plus_three(argc > 1 ? argv[1] : "LLVM") == 5 ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_start: %s\n", e.what());
    return 2;
  }
}
