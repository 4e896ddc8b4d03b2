// Bounds of integers in a graph, for indices that cannot leave their axis and divisors that are not 0.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include "strata/base/int_math.h"
#include "strata/base/walk.h"
#include "strata/onnx/graph_writer.h"

namespace strata::onnx {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;
using MaybeRange = std::optional<Range>;

constexpr std::size_t kMostSeen = 256;  // nodes that are looked at

MaybeRange of_dtype(DType d) {
  if (d.is_bool()) return Range{0, 1};
  if (!d.is_int() || d.itemsize() > 4) return std::nullopt;
  const std::int64_t span = std::int64_t{1} << (d.itemsize() * 8);
  return d.is_unsigned() ? Range{0, span - 1} : Range{-span / 2, span / 2 - 1};
}

MaybeRange joined(const MaybeRange& a, const MaybeRange& b) {
  if (!a || !b) return std::nullopt;
  return Range{std::min(a->first, b->first), std::max(a->second, b->second)};
}

bool fits(const Range& r, DType d) {
  const MaybeRange all = of_dtype(d);
  if (all) return r.first >= all->first && r.second <= all->second;
  return d == dtypes::int64 || (d == dtypes::uint64 && r.first >= 0);
}

MaybeRange sum(const Range& a, const Range& b) {
  Range out;
  if (!try_add(a.first, b.first, out.first) || !try_add(a.second, b.second, out.second)) return std::nullopt;
  return out;
}

MaybeRange product(const Range& a, const Range& b) {
  std::optional<Range> out;
  for (const std::int64_t x : {a.first, a.second})
    for (const std::int64_t y : {b.first, b.second}) {
      std::int64_t z = 0;
      if (!try_mul(x, y, z)) return std::nullopt;
      out = out ? Range{std::min(out->first, z), std::max(out->second, z)} : Range{z, z};
    }
  return out;
}

/// The bounds of a node by those of its sources.
MaybeRange of_node(const LazyOp& n, const std::vector<MaybeRange>& src) {
  const auto is_known = [&](std::size_t k) { return k < src.size() && src[k].has_value(); };
  switch (n.op()) {
    case Ops::CONST: {
      const Scalar& v = std::get<ConstArg>(n.arg()).value;
      if (!std::get<ConstArg>(n.arg()).st.contiguous() || (v.dtype() == dtypes::uint64 && v.as_int() < 0))
        return std::nullopt;
      return Range{v.as_int(), v.as_int()};
    }
    case Ops::IOTA: {
      const ShapeTracker& st = std::get<ShapeTracker>(n.arg());
      if (!st.contiguous()) return std::nullopt;
      return Range{0, std::max<std::int64_t>(st.size().vmax() - 1, 0)};
    }
    case Ops::ORDER: {
      const auto& arg = std::get<OrderArg>(n.arg());
      if (!arg.of_places) return src[0];
      return Range{0, std::max<std::int64_t>(n.src(0).shape()[static_cast<std::size_t>(arg.axis)].vmax() - 1, 0)};
    }
    case Ops::PAD: return joined(src[0], Range{0, 0});
    case Ops::IN_RANGE: {
      const IndexRange& r = std::get<IndexRange>(n.arg());
      if (r.also) return src[0];
      return Range{r.from_end ? -r.size : 0, std::max<std::int64_t>(r.size - 1, 0)};
    }
    case Ops::CAST: return is_known(0) && fits(*src[0], n.dtype()) ? src[0] : std::nullopt;
    case Ops::ADD: return is_known(0) && is_known(1) && !n.dtype().is_bool() ? sum(*src[0], *src[1]) : std::nullopt;
    case Ops::SUB:
      return is_known(0) && is_known(1) && src[1]->first > INT64_MIN
                 ? sum(*src[0], Range{-src[1]->second, -src[1]->first})
                 : std::nullopt;
    case Ops::MUL: return is_known(0) && is_known(1) && !n.dtype().is_bool() ? product(*src[0], *src[1]) : std::nullopt;
    case Ops::MAX:
      if (is_known(0) && is_known(1))
        return Range{std::max(src[0]->first, src[1]->first), std::max(src[0]->second, src[1]->second)};
      return std::nullopt;
    case Ops::MIN:
      if (is_known(0) && is_known(1))
        return Range{std::min(src[0]->first, src[1]->first), std::min(src[0]->second, src[1]->second)};
      return std::nullopt;
    case Ops::FLOORMOD:
      return is_known(1) && src[1]->first > 0 ? MaybeRange(Range{0, src[1]->second - 1}) : std::nullopt;
    case Ops::WHERE: {
      // where(i < 0, i + size, i): an index from the end, which is not below 0 any more.
      const LazyOp &c = n.src(0), &moved = n.src(1), &i = n.src(2);
      const bool is_from_end = c.op() == Ops::CMPLT && c.src(0) == i && moved.op() == Ops::ADD && is_known(2) &&
                               (moved.src(0) == i || moved.src(1) == i);
      if (is_from_end) {
        const std::optional<Scalar> zero = value_of(c.src(1)),
                                    size = value_of(moved.src(0) == i ? moved.src(1) : moved.src(0));
        if (zero && size && zero->as_int() == 0 && src[2]->first >= -size->as_int())
          return Range{0, std::max(src[2]->second, size->as_int() - 1)};
      }
      return joined(src[1], src[2]);
    }
    default: break;
  }
  const bool passes = is_movement(n.op()) || is_annotation(n.op()) || n.op() == Ops::NOOP ||
                      n.op() == Ops::CONTIGUOUS || n.op() == Ops::FROM || n.op() == Ops::REDUCE_MAX ||
                      n.op() == Ops::REDUCE_MIN || n.op() == Ops::GATHER;
  if (n.op() == Ops::GATHER) return joined(src[0], Range{0, 0});
  return passes ? src[0] : std::nullopt;
}

}  // namespace

std::optional<std::pair<std::int64_t, std::int64_t>> range_of(const LazyOp& root) {
  std::unordered_map<const LazyNode*, MaybeRange> known;
  std::size_t seen = 0;
  detail::walk(
      &root,
      [&](const LazyOp* n) {
        return !known.contains(n->node()) && ++seen <= kMostSeen && known.emplace(n->node(), std::nullopt).second;
      },
      [](const LazyOp* n, std::size_t k) -> const LazyOp* {
        return is_realized(*n->node()) ? nullptr : needed_source(n, k);
      },
      [&](const LazyOp* n) {
        std::vector<MaybeRange> src;
        for (const LazyOp& s : needed(*n->node())) {
          const auto at = known.find(s.node());
          src.push_back(at == known.end() ? std::nullopt : at->second);
        }
        const bool is_seen = !is_realized(*n->node()) && !n->dtype().is_float();
        MaybeRange out = is_seen ? of_node(*n, src) : std::nullopt;
        if (out && !fits(*out, n->dtype())) out = std::nullopt;  // it wraps
        known[n->node()] = out || n->dtype().is_float() ? out : of_dtype(n->dtype());
      });
  return known[root.node()];
}

}  // namespace strata::onnx
