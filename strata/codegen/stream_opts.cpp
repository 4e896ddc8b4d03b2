#include "strata/codegen/stream_opts.h"

namespace strata {

namespace {

constexpr double kWorthStreaming = 1 << 25;  // bytes moved, from which stores bypass the caches
constexpr double kStreamedShare = 0.125;     // the least share of kWorthStreaming that a streamed buffer has

}  // namespace

std::vector<Opt> stream_opts(const LazyOp& kernel, std::span<const BufferUse> buffers) {
  std::vector<Opt> out;
  if (cost_of(kernel).bytes < kWorthStreaming) return out;
  for (std::size_t slot = 0; slot < buffers.size(); ++slot) {
    const BufferUse& use = buffers[slot];
    if (!use.written || use.read || !use.size.is_number()) continue;
    const auto width = static_cast<double>(use.dtype.itemsize());
    if (static_cast<double>(use.size.value()) * width >= kStreamedShare * kWorthStreaming)
      out.push_back({Opt::Kind::STREAM, 0, static_cast<std::int64_t>(slot), 0, {}});
  }
  return out;
}

}  // namespace strata
