// What a kernel may leave in its buffers: ranges of values, walked through the AST as graph/interpret.cpp walks values.
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/codegen/kernel.h"
#include "strata/expr/evaluate.h"
#include "strata/graph/interpret.h"
#include "tests/codegen/along_ranges.h"

namespace strata::oracle {

using KernelValues = std::vector<std::pair<std::string, std::int64_t>>;

inline std::int64_t number_of(const Int& v, const KernelValues& values) {
  if (v.is_number()) return v.value();
  Values known;
  for (const Variable& x : variables(v.expr()))
    for (const auto& [name, value] : values)
      if (name == x.name()) known.emplace_back(x, value);
  return evaluate(v.expr(), known);
}

/// A buffer between guards, which nobody may touch.
class GuardedMemory {
 public:
  GuardedMemory(DType dtype, std::int64_t size)
      : dtype_(dtype),
        size_(size),
        bytes_(2 * kGuard + static_cast<std::size_t>(size) * (dtype.is_none() ? 0 : dtype.itemsize()), kPattern) {}
  DType dtype() const { return dtype_; }
  std::int64_t size() const { return size_; }
  void* data() { return bytes_.data() + kGuard; }
  /// Its elements' bytes.
  std::span<unsigned char> bytes() { return std::span(bytes_).subspan(kGuard, bytes_.size() - 2 * kGuard); }
  Scalar operator[](std::int64_t k) const {
    return load_scalar(dtype_, bytes_.data() + kGuard + static_cast<std::size_t>(k) * dtype_.itemsize());
  }
  void put(std::int64_t k, const Scalar& v) {
    store_scalar(v, bytes_.data() + kGuard + static_cast<std::size_t>(k) * dtype_.itemsize());
  }
  bool is_intact() const {
    const auto guards = [&](std::size_t from) {
      return std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(from),
                         bytes_.begin() + static_cast<std::ptrdiff_t>(from + kGuard),
                         [](unsigned char b) { return b == kPattern; });
    };
    return guards(0) && guards(bytes_.size() - kGuard);
  }
  /// The byte of a bool that is neither 0 nor 1.
  bool is_bool_byte(std::int64_t k) const { return bytes_[kGuard + static_cast<std::size_t>(k)] <= 1; }

 private:
  static constexpr std::size_t kGuard = 256;
  static constexpr unsigned char kPattern = 0xa5;
  DType dtype_;
  std::int64_t size_;
  std::vector<unsigned char> bytes_;
};

using Buffers = std::vector<GuardedMemory>;

/// Memory for the buffers of a kernel of numeric sizes, in which element k is k.
inline Buffers counted_memory(const LazyOp& kernel) {
  Buffers out;
  for (const BufferUse& use : buffers_of(kernel)) {
    out.emplace_back(use.dtype, use.size.value());
    for (std::int64_t k = 0; k < out.back().size(); ++k) out.back().put(k, Scalar::of(use.dtype, k));
  }
  return out;
}

inline std::vector<Memory> memory_of(Buffers& buffers) {
  std::vector<Memory> out;
  for (GuardedMemory& b : buffers) out.push_back({b.data(), b.size()});
  return out;
}

/// Interprets the lists of a kernel without variables, those that run first before it, on `memory`, to which
/// temporaries are added.
inline void run_lists(const Kernel& kernel, Buffers& memory) {
  while (memory.size() < kernel.buffers.size()) {
    const BufferUse& use = kernel.buffers[memory.size()];
    memory.emplace_back(use.dtype, use.size.value());
  }
  const auto run = [&](const Kernel& one) {
    const std::int64_t count = one.parallel ? one.parallel->value() : 0;
    const KernelValues range = {{std::string(kRangeBegin), 0}, {std::string(kRangeEnd), count}};
    interpret(one.uops, memory_of(memory), range);
  };
  for (const auto& first : kernel.before) run(*first);
  run(kernel);
}

class KernelRanges {
 public:
  /// By slot and element; nothing for elements that are not stored.
  using Stored = std::vector<std::vector<std::optional<ValueRange>>>;

  KernelRanges(const Buffers& buffers, const KernelValues& values, const Freedom& freedom)
      : buffers_(buffers), values_(values), is_exact_(!freedom.contract), ops_(freedom) {}

  Stored operator()(const LazyOp& sink) {
    Stored out;
    for (const GuardedMemory& b : buffers_) out.emplace_back(static_cast<std::size_t>(b.size()));
    for (const LazyNode* n : postorder(sink)) {
      if (n->op == Ops::SINK) continue;
      if (n->op != Ops::STORE) {
        done_.emplace(n, range_of(*n));
        continue;
      }
    }
    for (const LazyOp& s : sink.src()) {
      const BufferArg& arg = std::get<BufferArg>(s.arg());
      const Ranges& x = done_.at(s.src(0).node());
      const Addresses at = addresses(arg.st);
      for (std::size_t k = 0; k < x.size(); ++k)
        if (at[k]) out[static_cast<std::size_t>(arg.slot)][static_cast<std::size_t>(*at[k])] = x[k];
    }
    return out;
  }

 private:
  using Ranges = std::vector<ValueRange>;
  using Addresses = std::vector<std::optional<std::int64_t>>;

  Index numbers_of(const Ints& shape) const {
    Index out;
    for (const Int& v : shape) out.push_back(number_of(v, values_));
    return out;
  }
  /// Of each index, row-major; read by the oracle.
  Addresses addresses(const ShapeTracker& st) const {
    const std::int64_t n = product(numbers_of(st.shape()));
    std::vector<std::int64_t> at(static_cast<std::size_t>(n));
    std::vector<unsigned char> valid(static_cast<std::size_t>(n));
    const ShapeTracker plain = ShapeTracker::from_shape(st.shape());
    const LazyOp kernel = LazyOp::sink({LazyOp::store(0, plain, LazyOp::iota(dtypes::int64, st), st.size()),
                                        LazyOp::store(1, plain, LazyOp::constant(Scalar(true), st), st.size())});
    const Memory memory[] = {{at.data(), n}, {valid.data(), n}};
    interpret(kernel, memory, values_);
    Addresses out;
    for (std::size_t k = 0; k < at.size(); ++k) out.push_back(valid[k] != 0 ? std::optional(at[k]) : std::nullopt);
    return out;
  }

  template <class F>
  Ranges leaf(const LazyNode& n, const ShapeTracker& st, const F& value) const {
    Ranges out;
    for (const auto& at : addresses(st)) out.push_back(at ? value(*at) : exactly(Scalar::of(n.dtype, std::int64_t{0})));
    return out;
  }
  Ranges range_of(const LazyNode& n) {
    if (is_elementwise(n.op)) return elements(n);
    if (is_reduce(n.op)) return reduction(n);
    if (is_movement(n.op)) {
      const Ranges& x = done_.at(n.src[0].node());
      return leaf(n, movement_of(n), [&](std::int64_t at) { return x[static_cast<std::size_t>(at)]; });
    }
    if (n.op == Ops::LOAD) {
      const BufferArg& arg = std::get<BufferArg>(n.arg);
      const GuardedMemory& buffer = buffers_[static_cast<std::size_t>(arg.slot)];
      return leaf(n, arg.st, [&](std::int64_t at) { return exactly(buffer[at]); });
    }
    if (n.op == Ops::CONST) {
      const ConstArg& arg = std::get<ConstArg>(n.arg);
      return leaf(n, arg.st, [&](std::int64_t) { return exactly(arg.value); });
    }
    if (n.op == Ops::CONTIGUOUS) return done_.at(n.src[0].node());
    if (n.op == Ops::GATHER) return gathered(n);
    if (n.op == Ops::SCATTER || is_scan(n.op)) {
      const auto done = [&](std::size_t k) -> const Ranges& { return done_.at(n.src[k].node()); };
      const AlongRanges along(ops_, is_exact_);
      std::vector<const Ranges*> operands;
      for (std::size_t k = 0; k < n.src.size(); ++k) operands.push_back(&done(k));
      if (is_scan(n.op)) return along.scanned(n, numbers_of(n.shape), operands);
      return along.scattered(n, numbers_of(n.shape), numbers_of(n.src[2].shape()), done(0), done(1), done(2));
    }
    return leaf(n, std::get<ShapeTracker>(n.arg), [&](std::int64_t at) { return exactly(Scalar::of(n.dtype, at)); });
  }
  Ranges gathered(const LazyNode& n) const {
    const Ranges &values = done_.at(n.src[0].node()), &index = done_.at(n.src[1].node());
    const auto size = static_cast<std::size_t>(n.src[0].shape().back().value());
    Ranges out;
    for (std::size_t k = 0; k < index.size(); ++k)
      out.push_back(gathered_range(std::span(values).subspan(k * size, size), index[k], n.dtype));
    return out;
  }
  Ranges elements(const LazyNode& n) {
    Ranges out;
    std::vector<const Ranges*> sources;
    for (const LazyOp& s : n.src) sources.push_back(&done_.at(s.node()));
    std::vector<ValueRange> operands(sources.size());
    for (std::size_t k = 0; k < sources[0]->size(); ++k) {
      for (std::size_t j = 0; j < sources.size(); ++j) operands[j] = (*sources[j])[k];
      out.push_back(ops_(n.op, operands, n.dtype));
    }
    return out;
  }
  Ranges reduction(const LazyNode& n) {
    const Ranges& x = done_.at(n.src[0].node());
    const Index from = numbers_of(n.src[0].shape()), to = numbers_of(n.shape);
    std::vector<Ranges> parts(static_cast<std::size_t>(product(to)));
    for (std::size_t k = 0; k < x.size(); ++k) {
      auto left = static_cast<std::int64_t>(k);
      std::int64_t place = 0, stride = 1;
      for (std::size_t t = from.size(); t-- > 0;) {
        if (to[t] != 1) place += left % from[t] * stride;
        stride *= to[t];
        left /= from[t];
      }
      parts[static_cast<std::size_t>(place)].push_back(x[k]);
    }
    RangeOps::Reduced axes;
    for (const std::int64_t a : std::get<Axes>(n.arg)) {
      axes.sizes.push_back(n.src[0].shape()[static_cast<std::size_t>(a)]);
      axes.numbers.push_back(from[static_cast<std::size_t>(a)]);
    }
    Ranges out;
    for (const Ranges& part : parts) out.push_back(ops_.reduced(n.op, part, n.dtype, axes));
    return out;
  }

  const Buffers& buffers_;
  const KernelValues& values_;
  bool is_exact_;  ///< products that are added are rounded
  RangeOps ops_;
  std::unordered_map<const LazyNode*, Ranges> done_;
};

struct Comparison {
  std::string fault;  ///< empty where all is as it may be
  std::size_t exact = 0, ranges = 0, open = 0;
};

/// Whether `after` is what a kernel may make of `before`.
inline Comparison compare(const Buffers& before, const Buffers& after, const KernelRanges::Stored& stored) {
  Comparison out;
  for (std::size_t slot = 0; slot < after.size(); ++slot) {
    if (!after[slot].is_intact()) return {detail::message("wrote around buffer ", slot), 0, 0, 0};
    for (std::int64_t k = 0; k < after[slot].size(); ++k) {
      const auto& may = stored[slot][static_cast<std::size_t>(k)];
      const Scalar was = before[slot][k], is = after[slot][k];
      if (after[slot].dtype().is_bool() && !after[slot].is_bool_byte(k))
        out.fault = detail::message("buffer ", slot, " element ", k, " is a bool that is not 0 or 1");
      if (!may && !(was == is))
        out.fault = detail::message("buffer ", slot, " element ", k, " is not stored and became ", is.text(), " from ",
                                    was.text());
      if (may && !may->holds(is))
        out.fault = detail::message(
            "buffer ", slot, " element ", k, " is ", is.text(), ", not ",
            may->is_exact ? may->exact.text()
                          : detail::message("from ", may->low, " to ", may->high, may->nan ? " or NaN" : ""));
      if (!out.fault.empty()) return out;
      if (may) {
        const bool is_open = !may->is_exact && (may->nan || !is.dtype().is_float());
        ++(may->is_exact ? out.exact : is_open ? out.open : out.ranges);
      }
    }
  }
  return out;
}

}  // namespace strata::oracle
