// What the elements of a graph's nodes may be: ranges of values, node by node as the user wrote them.
//
// Nothing of the scheduler, of kernels or of Views takes part: movements are loops over indices. Sizes are numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <unordered_map>
#include <vector>

#include "strata/graph/interpret.h"
#include "tests/codegen/along_ranges.h"

namespace strata::oracle {

class GraphRanges {
 public:
  using Ranges = std::vector<ValueRange>;

  /// All below `roots`. Leaves are realized.
  explicit GraphRanges(std::span<const LazyOp> roots, const Freedom& freedom = {})
      : ops_(freedom), along_(ops_, !freedom.contract) {
    for (const LazyNode* n : postorder(roots)) done_.emplace(n, range_of(*n));
  }
  const Ranges& of(const LazyOp& n) const { return done_.at(n.node()); }

  /// How many elements all nodes have together.
  static std::int64_t work(std::span<const LazyOp> roots) {
    std::int64_t out = 0;
    for (const LazyNode* n : postorder(roots)) out += product(numbers_of(n->shape));
    return out;
  }

 private:
  static Index numbers_of(const Ints& shape) {
    const auto out = numbers(shape);
    STRATA_ASSERT(out.has_value(), "a symbolic shape: ", render(shape));
    return *out;
  }
  /// f(place) for each index of `shape`, row-major.
  template <class F>
  static void each(const Index& shape, const F& f) {
    Index at(shape.size(), 0);
    for (std::int64_t left = product(shape); left > 0; --left) {
      f(at);
      for (std::size_t k = shape.size(); k > 0 && ++at[k - 1] == shape[k - 1];) at[--k] = 0;
    }
  }
  static std::size_t flat(const Index& at, const Index& shape) {
    std::int64_t out = 0;
    for (std::size_t k = 0; k < at.size(); ++k) out = out * shape[k] + at[k];
    return static_cast<std::size_t>(out);
  }

  Ranges range_of(const LazyNode& n) {
    switch (n.op) {
      case Ops::EMPTY: return memory(n);
      case Ops::CONST: {
        const ConstArg& arg = std::get<ConstArg>(n.arg);
        return leaf(n, arg.st, [&](std::int64_t) { return exactly(arg.value); });
      }
      case Ops::IOTA:
        return leaf(n, std::get<ShapeTracker>(n.arg),
                    [&](std::int64_t at) { return exactly(Scalar::of(n.dtype, at)); });
      case Ops::NOOP:
      case Ops::REQUIRES_GRAD:
      case Ops::DETACH:
      case Ops::CUSTOM_GRAD:
      case Ops::IN_RANGE:
      case Ops::FROM:
      case Ops::CONTIGUOUS: return source(n);
      case Ops::CONCAT: return concatenated(n);
      case Ops::GATHER: return gathered(n);
      case Ops::FORMULA: return formula(n);
      case Ops::ASSOCIATIVE_SCAN: return along_.scanned(n, numbers_of(n.shape), operands(n));
      case Ops::SCATTER:
        return along_.scattered(n, numbers_of(n.shape), numbers_of(n.src[2].shape()), source(n),
                                done_.at(n.src[1].node()), done_.at(n.src[2].node()));
      case Ops::ORDER: return ordered(n);
      default: break;
    }
    if (is_reduce(n.op)) return reduction(n);
    return is_movement(n.op) ? moved(n) : elements(n);
  }
  /// The nodes of a FORMULA, which kernels have in its place.
  Ranges formula(const LazyNode& n) {
    const Formula& formula = *std::get<FormulaArg>(n.arg).formula;
    const LazyOp nodes = formulas_.emplace_back(formula.expand(formula, n.src[0]));
    for (const LazyNode* each : postorder(nodes))
      if (!done_.contains(each)) done_.emplace(each, range_of(*each));
    return done_.at(nodes.node());
  }
  const Ranges& source(const LazyNode& n) const { return done_.at(n.src[0].node()); }
  std::vector<const Ranges*> operands(const LazyNode& n) const {
    std::vector<const Ranges*> out;
    for (const LazyOp& s : n.src) out.push_back(&done_.at(s.node()));
    return out;
  }

  static Ranges memory(const LazyNode& n) {
    STRATA_ASSERT(n.storage != nullptr, "a leaf that is not realized");
    const auto* const first = static_cast<const std::byte*>(n.storage->host());
    STRATA_ASSERT(first != nullptr, "a leaf that the host has not");
    const std::size_t size = n.dtype.itemsize();
    Ranges out;
    for (std::int64_t k = 0; k < product(numbers_of(n.shape)); ++k) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, first + static_cast<std::size_t>(k) * size, size);
      out.push_back(exactly(Scalar::from_bits(n.dtype, bits)));
    }
    return out;
  }
  /// The addresses that a ShapeTracker says, read by the oracle of kernels.
  template <class F>
  static Ranges leaf(const LazyNode& n, const ShapeTracker& st, const F& value) {
    const std::int64_t count = product(numbers_of(n.shape));
    std::vector<std::int64_t> at(static_cast<std::size_t>(count));
    std::vector<unsigned char> valid(at.size());
    const ShapeTracker plain = ShapeTracker::from_shape(n.shape);
    if (count > 0)
      interpret(LazyOp::sink({LazyOp::store(0, plain, LazyOp::iota(dtypes::int64, st)),
                              LazyOp::store(1, plain, LazyOp::constant(Scalar(true), st))}),
                std::vector<Memory>{{at.data(), count}, {valid.data(), count}}, {});
    Ranges out;
    for (std::size_t k = 0; k < at.size(); ++k)
      out.push_back(valid[k] != 0 ? value(at[k]) : exactly(Scalar::of(n.dtype, std::int64_t{0})));
    return out;
  }

  Ranges concatenated(const LazyNode& n) const {
    std::size_t turns = 1;  // of the parts: how many places there are in front of the axis
    if (const auto* along = std::get_if<Axes>(&n.arg))
      for (std::size_t k = 0; k < static_cast<std::size_t>(along->front()); ++k)
        turns *= static_cast<std::size_t>(n.shape[k].value());
    Ranges out;
    for (std::size_t turn = 0; turn < turns; ++turn)
      for (const LazyOp& s : n.src) {
        const std::span all(of(s));
        const std::size_t each = all.size() / turns;
        const auto piece = all.subspan(turn * each, each);
        out.insert(out.end(), piece.begin(), piece.end());
      }
    return out;
  }

  Ranges gathered(const LazyNode& n) const {
    const auto size = static_cast<std::size_t>(n.src[0].shape().back().value());
    const Ranges& index = of(n.src[1]);
    Ranges out;
    for (std::size_t k = 0; k < index.size(); ++k)
      out.push_back(gathered_range(std::span(source(n)).subspan(k * size, size), index[k], n.dtype));
    return out;
  }

  /// Elements that are known, sorted by the oracle of kernels; of others anything.
  Ranges ordered(const LazyNode& n) const {
    const Ranges& x = source(n);
    const std::int64_t count = product(numbers_of(n.shape)), size = static_cast<std::int64_t>(x.size());
    const LazyOp& from = n.src[0];
    if (count == 0 || !std::all_of(x.begin(), x.end(), [](const ValueRange& v) { return v.is_exact; }))
      return Ranges(static_cast<std::size_t>(count), anything(n.dtype));
    const std::size_t before = from.dtype().itemsize(), after = n.dtype.itemsize();
    std::vector<std::byte> elements(x.size() * before), sorted(static_cast<std::size_t>(count) * after);
    for (std::size_t k = 0; k < x.size(); ++k) store_scalar(x[k].exact, elements.data() + k * before);
    const auto& arg = std::get<OrderArg>(n.arg);
    const LazyOp rows = LazyOp::load(1, from.dtype(), ShapeTracker::from_shape(from.shape()));
    const LazyOp wanted = LazyOp::order(rows, arg, n.shape[static_cast<std::size_t>(arg.axis)]);
    interpret(LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape(n.shape), wanted)}),
              std::vector<Memory>{{sorted.data(), count}, {elements.data(), size}}, {});
    Ranges out;
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k)
      out.push_back(exactly(load_scalar(n.dtype, sorted.data() + k * after)));
    return out;
  }

  Ranges moved(const LazyNode& n) const {
    const Ranges& x = source(n);
    if (n.op == Ops::RESHAPE) return x;
    const Index from = numbers_of(n.src[0].shape());
    Ranges out;
    each(numbers_of(n.shape), [&](const Index& at) {
      Index before(from.size(), 0);
      bool inside = true;
      for (std::size_t k = 0; k < from.size(); ++k) {
        const std::size_t to = n.op == Ops::PERMUTE ? axis(n, k) : k;
        before[to] = moved_index(n, k, at[k], from[to]);
        inside = inside && before[to] >= 0 && before[to] < from[to];
      }
      out.push_back(inside ? x[flat(before, from)] : exactly(Scalar::of(n.dtype, std::int64_t{0})));
    });
    return out;
  }
  static std::size_t axis(const LazyNode& n, std::size_t k) {
    return static_cast<std::size_t>(std::get<Axes>(n.arg)[k]);
  }
  /// The index of an operand of `size` that index `at` of dimension `k` is.
  static std::int64_t moved_index(const LazyNode& n, std::size_t k, std::int64_t at, std::int64_t size) {
    switch (n.op) {
      case Ops::EXPAND: return size == 1 ? 0 : at;
      case Ops::PAD: return at - std::get<Padding>(n.arg)[k].first.value();
      case Ops::SHRINK: return at + std::get<Mask>(n.arg)[k].begin.value();
      case Ops::STRIDE: {
        const std::int64_t step = std::get<Ints>(n.arg)[k].value();
        return step > 0 ? at * step : size - 1 + at * step;
      }
      default: return at;
    }
  }

  Ranges elements(const LazyNode& n) {
    std::vector<const Ranges*> sources;
    for (const LazyOp& s : n.src) sources.push_back(&of(s));
    std::vector<ValueRange> operands(sources.size());
    Ranges out;
    for (std::size_t k = 0; k < sources[0]->size(); ++k) {
      for (std::size_t j = 0; j < sources.size(); ++j) operands[j] = (*sources[j])[k];
      out.push_back(ops_(n.op, operands, n.dtype));
    }
    return out;
  }
  Ranges reduction(const LazyNode& n) {
    const Ranges& x = source(n);
    const Index from = numbers_of(n.src[0].shape()), to = numbers_of(n.shape);
    std::vector<Ranges> parts(static_cast<std::size_t>(product(to)));
    std::size_t next = 0;
    each(from, [&](const Index& at) {
      Index place = at;
      for (const std::int64_t a : std::get<Axes>(n.arg)) place[static_cast<std::size_t>(a)] = 0;
      parts[flat(place, to)].push_back(x[next++]);
    });
    RangeOps::Reduced axes;
    for (const std::int64_t a : std::get<Axes>(n.arg)) {
      axes.sizes.push_back(n.src[0].shape()[static_cast<std::size_t>(a)]);
      axes.numbers.push_back(from[static_cast<std::size_t>(a)]);
    }
    Ranges out;
    for (const Ranges& part : parts) out.push_back(ops_.reduced(n.op, part, n.dtype, axes));
    return out;
  }

  RangeOps ops_;
  AlongRanges along_;
  std::vector<LazyOp> formulas_;  // what `done_` has nodes of
  std::unordered_map<const LazyNode*, Ranges> done_;
};

}  // namespace strata::oracle
