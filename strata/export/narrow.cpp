#include "strata/export/narrow.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "strata/export/constants.h"
#include "strata/graph/rebuild.h"

namespace strata::exporting {

namespace {

constexpr float kMostHalf = 65504, kLeastNormalHalf = 0x1p-14F;
constexpr float kMostByte = 0x1p127F, kLeastByte = 0x1p-100F;
constexpr std::int64_t kMagnitude = 0x7fff, kSign = 0x8000, kMoved = 13, kSignMoved = 16;
constexpr double kExponents = 0x1p112;  // 2 to the power of the difference of the exponents' biases
constexpr std::int64_t kBlock = 32, kMostQuotient = 127, kLeastExponent = -126, kBias = 127, kMantissa = 23;

std::int64_t blocks_of(std::int64_t elements) { return (elements + kBlock - 1) / kBlock; }

std::vector<std::byte> halves(std::span<const float> elements) {
  std::vector<std::byte> out(elements.size() * sizeof(std::uint16_t));
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const auto bits = static_cast<std::uint16_t>(Scalar::of(dtypes::float16, static_cast<double>(elements[k])).bits());
    std::memcpy(&out[k * sizeof bits], &bits, sizeof bits);
  }
  return out;
}

/// The least exponent at which the quotient of `most` is in range.
int exponent_of(float most) {
  if (most == 0) return static_cast<int>(kLeastExponent);
  int exponent = 0;
  const float mantissa = std::frexp(most, &exponent);  // in [1/2, 1)
  exponent -= 7;
  if (std::nearbyint(std::ldexp(mantissa, 7)) > static_cast<float>(kMostQuotient)) ++exponent;
  return std::max(exponent, static_cast<int>(kLeastExponent));
}

std::vector<std::byte> quotients(std::span<const float> elements) {
  const auto blocks = static_cast<std::size_t>(blocks_of(std::ssize(elements)));
  // NOTE: whole vectors, though the last lanes are not read: gcc warns of reads behind an array in branches not taken.
  std::vector<std::byte> out(
      static_cast<std::size_t>(aligned(std::ssize(elements) + static_cast<std::int64_t>(blocks))));
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto block = elements.subspan(b * kBlock, std::min<std::size_t>(kBlock, elements.size() - b * kBlock));
    float most = 0;
    for (const float x : block) most = std::max(most, std::abs(x));
    const int exponent = exponent_of(most);
    out[b] = static_cast<std::byte>(exponent);
    for (std::size_t k = 0; k < block.size(); ++k)
      out[blocks + b * kBlock + k] =
          static_cast<std::byte>(static_cast<int>(std::nearbyint(std::ldexp(block[k], -exponent))));
  }
  return out;
}

LazyOp number(std::int64_t value, const LazyOp& like) {
  return LazyOp::constant(Scalar::of(like.dtype(), value), like.shape());
}

LazyOp widened_half(const BufferArg& b) {
  const LazyOp word = LazyOp::load(b.slot, dtypes::uint16, b.st, b.size).cast(dtypes::uint32);
  const auto part = [&](std::int64_t mask, std::int64_t by) {
    return LazyOp::alu(Ops::SHL, {LazyOp::alu(Ops::AND, {word, number(mask, word)}), number(by, word)});
  };
  const LazyOp small = LazyOp::alu(Ops::OR, {part(kMagnitude, kMoved), part(kSign, kSignMoved)});
  const LazyOp factor = LazyOp::constant(Scalar::of(dtypes::float32, kExponents), word.shape());
  return LazyOp::alu(Ops::MUL, {small.bitcast(dtypes::float32), factor});
}

/// q * 2^e: the bits of 2^e are (e + 127) << 23.
LazyOp widened_quotient(const BufferArg& b, std::int64_t elements) {
  const std::int64_t blocks = blocks_of(elements);
  const Int size = blocks + elements;
  const auto through = [&](const View& stored) {
    std::vector<View> views = {stored};
    views.insert(views.end(), b.st.views().begin(), b.st.views().end());
    return LazyOp::load(b.slot, dtypes::int8, ShapeTracker(std::move(views)).simplify(), size);
  };
  const LazyOp q = through(View::create({elements}, Ints{1}, blocks));
  const LazyOp e = through(View::create({blocks, kBlock}, Ints{1, 0})).cast(dtypes::int32);
  const LazyOp biased = LazyOp::alu(Ops::ADD, {e, number(kBias, e)});
  const LazyOp power = LazyOp::alu(Ops::SHL, {biased, number(kMantissa, e)}).bitcast(dtypes::float32);
  return LazyOp::alu(Ops::MUL, {q.cast(dtypes::float32), power});
}

}  // namespace

double NarrowWeight::element(std::size_t k) const {
  if (form.dtype == dtypes::float16) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, &bytes[k * sizeof bits], sizeof bits);
    return Scalar::from_bits(dtypes::float16, bits).as_double();
  }
  const auto at = [&](std::size_t byte) { return static_cast<int>(static_cast<std::int8_t>(bytes[byte])); };
  return std::ldexp(at(static_cast<std::size_t>(blocks_of(form.elements)) + k), at(k / kBlock));
}

std::optional<NarrowWeight> narrowed(std::span<const float> elements, DType dtype) {
  if (elements.size() < kFewestNarrow) return std::nullopt;
  const bool is_half = dtype == dtypes::float16;
  float most = 0;
  for (const float x : elements) {
    if (!(is_half ? std::abs(x) <= kMostHalf : std::abs(x) < kMostByte)) return std::nullopt;
    most = std::max(most, std::abs(x));
  }
  if (most < (is_half ? kLeastNormalHalf : kLeastByte)) return std::nullopt;
  return NarrowWeight{{dtype, std::ssize(elements)}, is_half ? halves(elements) : quotients(elements)};
}

LazyOp widening(const LazyOp& ast, const std::vector<Narrowing>& narrow) {
  detail::Rebuild rebuild([](const LazyOp& n, const std::vector<LazyOp>& sources) { return n.with_sources(sources); },
                          [&](const LazyOp& n) -> std::optional<LazyOp> {
                            if (n.op() != Ops::LOAD) return std::nullopt;
                            const auto& buffer = std::get<BufferArg>(n.arg());
                            const auto slot = static_cast<std::size_t>(buffer.slot);
                            if (slot >= narrow.size() || !narrow[slot].is_narrow()) return std::nullopt;
                            return narrow[slot].dtype == dtypes::float16
                                       ? widened_half(buffer)
                                       : widened_quotient(buffer, narrow[slot].elements);
                          });
  return rebuild(ast);
}

}  // namespace strata::exporting
