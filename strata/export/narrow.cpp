#include "strata/export/narrow.h"

#include <algorithm>
#include <cmath>

#include "strata/graph/rebuild.h"

namespace strata::exporting {

namespace {

constexpr float kMostHalf = 65504, kLeastNormal = 0x1p-14f;
constexpr std::int64_t kMagnitude = 0x7fff, kSign = 0x8000, kMoved = 13, kSignMoved = 16;
constexpr double kExponents = 0x1p112;  // 2 to the power of the difference of the exponents' biases

LazyOp widened(const LazyOp& bits) {
  const Ints& shape = bits.shape();
  const LazyOp word = bits.cast(dtypes::uint32);
  const auto number = [&](std::int64_t value) { return LazyOp::constant(Scalar::of(dtypes::uint32, value), shape); };
  const auto part = [&](std::int64_t mask, std::int64_t by) {
    return LazyOp::alu(Ops::SHL, {LazyOp::alu(Ops::AND, {word, number(mask)}), number(by)});
  };
  const LazyOp small = LazyOp::alu(Ops::OR, {part(kMagnitude, kMoved), part(kSign, kSignMoved)});
  const LazyOp factor = LazyOp::constant(Scalar::of(dtypes::float32, kExponents), shape);
  return LazyOp::alu(Ops::MUL, {small.bitcast(dtypes::float32), factor});
}

}  // namespace

std::optional<std::vector<std::uint16_t>> halves_of(std::span<const float> elements) {
  if (elements.size() < kFewestHalves) return std::nullopt;
  float most = 0;
  for (const float x : elements) {
    if (!(std::abs(x) <= kMostHalf)) return std::nullopt;
    most = std::max(most, std::abs(x));
  }
  if (most < kLeastNormal) return std::nullopt;
  std::vector<std::uint16_t> out;
  out.reserve(elements.size());
  for (const float x : elements)
    out.push_back(static_cast<std::uint16_t>(Scalar::of(dtypes::float16, static_cast<double>(x)).bits()));
  return out;
}

LazyOp widening(const LazyOp& ast, const std::vector<bool>& narrow) {
  detail::Rebuild rebuild([](const LazyOp& n, const std::vector<LazyOp>& sources) { return n.with_sources(sources); },
                          [&](const LazyOp& n) -> std::optional<LazyOp> {
                            if (n.op() != Ops::LOAD) return std::nullopt;
                            const auto& buffer = std::get<BufferArg>(n.arg());
                            const auto slot = static_cast<std::size_t>(buffer.slot);
                            if (slot >= narrow.size() || !narrow[slot]) return std::nullopt;
                            return widened(LazyOp::load(buffer.slot, dtypes::uint16, buffer.st, buffer.size));
                          });
  return rebuild(ast);
}

}  // namespace strata::exporting
