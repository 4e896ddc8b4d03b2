#include "strata/tensor/at_hand.h"

#include <cmath>

#include "strata/tensor/access.h"

namespace strata {

namespace {

/// A number that is the same everywhere, which no memory holds.
std::optional<Scalar> constant_of(const Tensor& x) {
  const LazyNode* n = x.node().node();
  while (n->op == Ops::NOOP || n->op == Ops::FROM || n->op == Ops::CONTIGUOUS ||
         (is_movement(n->op) && n->op != Ops::PAD))
    n = n->src[0].node();
  if (n->op != Ops::CONST) return std::nullopt;
  const ConstArg& arg = std::get<ConstArg>(n->arg);
  return arg.st.contiguous() ? std::optional(arg.value) : std::nullopt;
}

/// Elements as they lie, those of a constant as one that repeats.
std::optional<StridedBuffer> elements_at_hand(const Tensor& x) {
  if (std::optional<StridedBuffer> memory = memory_at_hand(x)) return memory;
  const std::optional<Scalar> value = constant_of(x);
  const std::optional<Index> shape = numbers(x.shape());
  if (!value || !shape) return std::nullopt;
  const std::uint64_t bits = value->bits();
  // NOTE: the low bytes come first on the machines that there are devices for.
  return StridedBuffer{Buffer::fromCPU(&bits, 1, x.dtype()), *shape, Index(shape->size(), 0), 0};
}

/// f(element, place) in row-major order until it is false.
template <class F>
void for_each_at_hand(const StridedBuffer& b, const F& f) {
  const std::int64_t count = product(b.shape);
  Index place(b.shape.size(), 0);
  std::int64_t at = b.offset;
  for (std::int64_t k = 0; k < count; ++k) {
    if (!f(b.buffer[at], place)) return;
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
  STRATA_CHECK(above > 0, domain, "[multinomial] the weights", where,
               " are all 0: nothing can be drawn");
  STRATA_CHECK(replacement || above >= draws, domain, "[multinomial] ", draws,
               " draws without replacement of the ", above, " weights", where, " that are above 0");
}

}  // namespace

void check_at_hand(const Tensor& integers, const IndexRange& range) {
  const std::optional<StridedBuffer> b = elements_at_hand(integers);
  if (!b) return;
  const auto* const first = static_cast<const std::byte*>(b->buffer.data()) +
                            b->offset * static_cast<std::int64_t>(integers.itemsize());
  if (const auto words = words_on_outside(range, {first, integers.dtype(), b->shape, b->strides}))
    throw Error(ErrorKind::shape, *words);
}

std::optional<std::vector<std::int64_t>> integers_at_hand(const Tensor& integers) {
  const std::optional<StridedBuffer> b = elements_at_hand(integers);
  if (!b) return std::nullopt;
  std::vector<std::int64_t> out;
  for_each_at_hand(*b, [&](const Scalar& v, const Index&) {
    const bool fits =
        !integers.dtype().is_unsigned() || v.bits() <= static_cast<std::uint64_t>(kPosInf);
    out.push_back(fits ? v.as_int() : kPosInf);
    return true;
  });
  return out;
}

void check_weights_at_hand(const Tensor& weights, std::int64_t draws, bool replacement) {
  const std::optional<StridedBuffer> b = elements_at_hand(weights);
  if (!b || product(b->shape) == 0) return;
  std::int64_t above = 0;
  for_each_at_hand(*b, [&](const Scalar& v, const Index& place) {
    const double w = v.as_double();
    STRATA_CHECK(w >= 0 && std::isfinite(w), domain, "[multinomial] weight ", v.text(), " at ",
                 render(place), ", where 0 or more is expected, and finite");
    above += w > 0 ? 1 : 0;
    if (place.back() + 1 < b->shape.back()) return true;
    Index row = place;
    row.pop_back();
    check_draws(row, above, draws, replacement);
    above = 0;
    return true;
  });
}

Tensor is_within(const Tensor& integers, std::int64_t size) {
  const Tensor wide = integers.cast(dtypes::int64);  // as what is narrow knows no such limit
  return wide.ge(0) & wide.lt(size);
}

}  // namespace strata
