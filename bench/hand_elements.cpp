// By hand: one element after another, and what the machine can do at most.
#include <algorithm>

#include "bench/hand.h"
#include "bench/harness.h"
#include "bench/lanes.h"

namespace strata::bench {

namespace {

/// A turn is this many elements.
constexpr std::int64_t kIteration = 4096;
/// Outputs of more elements than this go past the caches.
constexpr std::int64_t kStays = 1 << 20;

/// out[i] = f(i) a vector at a time, four in flight; the rest by g(i), element by element.
template <bool kPastCaches, class F>
void vectors(float* out, std::int64_t begin, std::int64_t end, F f) {
  std::int64_t i = begin;
  for (; i + 4 * kLanes <= end; i += 4 * kLanes)
    for (std::int64_t v = 0; v < 4; ++v) put<kPastCaches>(out + i + v * kLanes, f(i + v * kLanes));
  for (; i + kLanes <= end; i += kLanes) put<kPastCaches>(out + i, f(i));
  if constexpr (kPastCaches) fence();
}

/// The same for all of [begin, end) iterations of an array of m; what does not fill a vector is the last vector again.
template <class F>
void elements(const Operands& o, std::int64_t begin, std::int64_t end, F f) {
  const std::int64_t from = begin * kIteration, to = std::min(end * kIteration, o.m);
  if (o.m > kStays)
    vectors<true>(o.out, from, to, f);
  else
    vectors<false>(o.out, from, to, f);
  if ((to - from) % kLanes != 0) store(o.out + to - kLanes, f(to - kLanes));
}

void relu_chain(const Operands& o, std::int64_t begin, std::int64_t end) {
  const float *const a = o.in[0], *const b = o.in[1], *const c = o.in[2], *const d = o.in[3];
  elements(o, begin, end,
           [=](std::int64_t i) { return max(load(a + i) * load(b + i) + load(c + i), Floats{}) + load(d + i); });
}

Floats clamp(Floats x, float most) { return min(max(x, splat(-most)), splat(most)); }

/// With p = e^(2x) and q = e^-y: tanh(x) * sigmoid(y) = (p - 1) / ((p + 1) * (1 + q)), one division.
void tanh_chain(const Operands& o, std::int64_t begin, std::int64_t end) {
  const float *const a = o.in[0], *const b = o.in[1], *const c = o.in[2], *const d = o.in[3];
  elements(o, begin, end, [=](std::int64_t i) {
    const Floats x = load(a + i) * load(b + i) + load(c + i);
    // Beyond 10 tanh is 1 in f32, beyond 80 sigmoid is 0 or 1; and the product below stays finite.
    const Floats p = exp_in_range(2.0F * clamp(x, 10));
    const Floats q = exp_in_range(-clamp(load(d + i), 80));
    return (p - 1.0F) / ((p + 1.0F) * (1.0F + q));
  });
}

void broadcast_add(const Operands& o, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const Floats row = splat(o.in[0][i]);
    const float* const b = o.in[1];
    vectors<true>(o.out + i * o.n, 0, o.n, [=](std::int64_t j) { return row + load(b + j); });
  }
}

void copy(const Operands& o, std::int64_t begin, std::int64_t end) {
  const float* const a = o.in[0];
  elements(o, begin, end, [=](std::int64_t i) { return load(a + i); });
}

void fill(const Operands& o, std::int64_t begin, std::int64_t end) {
  elements(o, begin, end, [](std::int64_t) { return splat(1.0F); });
}

void triad(const Operands& o, std::int64_t begin, std::int64_t end) {
  const float *const a = o.in[0], *const b = o.in[1];
  elements(o, begin, end, [=](std::int64_t i) { return load(a + i) + 3.0F * load(b + i); });
}

/// Twelve chains hide the time of one step, on two units of latency four and more.
void peak(const Operands&, std::int64_t begin, std::int64_t end) {
  constexpr int kChains = 12;
  constexpr auto kSteps = static_cast<std::int64_t>(kPeakOperations / (2 * kChains)) / kLanes;
  Floats x[kChains], scale = splat(0.5F), more = splat(0.25F);
  for (Floats& v : x) v = splat(1.0F);
  perturb(scale);
  perturb(more);
  for (std::int64_t i = begin * kSteps; i < end * kSteps; ++i)
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) x[c] = x[c] * scale + more;
  for (const Floats& v : x) keep(v);
}

}  // namespace

HandKernel hand_elements(Work work, const Operands& o) {
  const std::int64_t iterations = (o.m + kIteration - 1) / kIteration;
  switch (work) {
    case Work::relu_chain: return {iterations, 4, relu_chain};
    case Work::tanh_chain: return {iterations, 4, tanh_chain};
    case Work::broadcast_add: return {o.m, 4, broadcast_add};
    case Work::copy: return {iterations, 4, copy};
    case Work::fill: return {iterations, 4, fill};
    case Work::triad: return {iterations, 4, triad};
    default: return {o.m, 1, peak};
  }
}

}  // namespace strata::bench
