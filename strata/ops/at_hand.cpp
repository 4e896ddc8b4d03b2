#include "strata/ops/at_hand.h"

#include <cmath>
#include <cstring>
#include <memory>

#include "strata/graph/strided_memory.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

/// The one value of all elements of `x`, if x is a constant seen through movement ops (except PAD) and copies.
std::optional<Scalar> constant_of(const Value& x) {
  const LazyNode* n = x.node().node();
  while (is_annotation(n->op) || n->op == Ops::FROM || n->op == Ops::CONTIGUOUS ||
         (is_movement(n->op) && n->op != Ops::PAD))
    n = n->src[0].node();
  if (n->op != Ops::CONST) return std::nullopt;
  const ConstArg& arg = std::get<ConstArg>(n->arg);
  return arg.st.contiguous() ? std::optional(arg.value) : std::nullopt;
}

/// Elements in host memory, with strides. A constant is one element with strides 0.
struct HostElements {
  std::shared_ptr<const Storage> memory;  ///< null for a constant
  std::uint64_t constant = 0;
  const std::byte* first = nullptr;
  DType dtype;
  Index shape, strides;

  Scalar operator[](std::int64_t at) const {
    std::uint64_t bits = 0;
    // NOTE: assumes little-endian bytes, as all supported machines have.
    std::memcpy(&bits, first + at * static_cast<std::int64_t>(dtype.itemsize()), dtype.itemsize());
    return Scalar::from_bits(dtype, bits);
  }
};

/// The elements of `x` if they are in host memory or constant; null where they would have to be computed or copied.
/// Runs nothing.
std::unique_ptr<HostElements> elements_at_hand(const Value& x) {
  auto out = std::make_unique<HostElements>();
  out->dtype = x.dtype();
  if (const auto memory = strided_memory(x.node(), true)) {
    out->memory = memory->memory.realized();
    const auto* const base = static_cast<const std::byte*>(out->memory->host());
    if (base != nullptr) {
      out->first = base + memory->offset * static_cast<std::int64_t>(x.itemsize());
      out->shape = memory->shape, out->strides = memory->strides;
      return out;
    }
  }
  const std::optional<Scalar> value = constant_of(x);
  const std::optional<Index> shape = numbers(x.shape());
  if (!value || !shape) return nullptr;
  out->constant = value->bits();
  out->first = reinterpret_cast<const std::byte*>(&out->constant);
  out->shape = *shape, out->strides = Index(shape->size(), 0);
  return out;
}

/// Calls f(element, place) in row-major order until f returns false.
template <class F>
void for_each_at_hand(const HostElements& b, const F& f) {
  const std::int64_t count = product(b.shape);
  Index place(b.shape.size(), 0);
  std::int64_t at = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    if (!f(b[at], place)) return;
    for (std::size_t d = place.size(); d-- > 0;) {
      at += b.strides[d];
      if (++place[d] < b.shape[d]) break;
      at -= b.strides[d] * b.shape[d];
      place[d] = 0;
    }
  }
}

void check_draws(const Index& row, std::int64_t above, std::int64_t draws, bool replacement) {
  const std::string where = row.empty() ? std::string() : detail::message(" of row ", render(row));
  STRATA_CHECK(above > 0, domain, "[multinomial] the weights", where, " are all 0: nothing can be drawn");
  STRATA_CHECK(replacement || above >= draws, domain, "[multinomial] ", draws,
               " draws without replacement are more than the ", above, " weights", where, " that are above 0");
}

}  // namespace

void check_at_hand(const Value& integers, const IndexRange& range) {
  const auto b = elements_at_hand(integers);
  if (!b) return;
  if (const auto words = words_on_outside(range, {b->first, b->dtype, b->shape, b->strides}))
    throw Error(ErrorKind::shape, *words);
}

std::optional<std::vector<std::int64_t>> integers_at_hand(const Value& integers) {
  const auto b = elements_at_hand(integers);
  if (!b) return std::nullopt;
  std::vector<std::int64_t> out;
  for_each_at_hand(*b, [&](const Scalar& v, const Index&) {
    const bool fits = !integers.dtype().is_unsigned() || v.bits() <= static_cast<std::uint64_t>(kPosInf);
    out.push_back(fits ? v.as_int() : kPosInf);
    return true;
  });
  return out;
}

void check_weights_at_hand(const Value& weights, std::int64_t draws, bool replacement) {
  const auto b = elements_at_hand(weights);
  if (!b || product(b->shape) == 0) return;
  std::int64_t above = 0;
  for_each_at_hand(*b, [&](const Scalar& v, const Index& place) {
    const double w = v.as_double();
    STRATA_CHECK(w >= 0 && std::isfinite(w), domain, "[multinomial] weight ", v.text(), " at ", render(place),
                 " is negative or not finite");
    above += w > 0 ? 1 : 0;
    if (place.back() + 1 < b->shape.back()) return true;
    Index row = place;
    row.pop_back();
    check_draws(row, above, draws, replacement);
    above = 0;
    return true;
  });
}

Value is_within(const Value& integers, std::int64_t size) {
  const Value wide = integers.cast(dtypes::int64);  // `size` may not be a value of a narrow dtype
  return wide.ge(0) & wide.lt(size);
}

}  // namespace strata::ops
