// Loops over the elements of a tensor in plain memory: `tiled(...)` makes a TiledTensor, whose methods run a callback.
//
//   tiled(t).complexLoops<float>({"_0", "_2", "_1"}, [](float& x, auto offsets) { x = offsets[0]; });
//   tiled(t).loops<"_0, _2, _1 / 2 * 2">([](float& x) { x *= 2; });
//   tiled(t).parallelLoops(1, [](std::span<float> row, const Index& outer) { ... }, threads(8));
//
// complexLoops visits the element at index (expr_0, expr_1, ...) for all values of the counters _0, _1, .... Counter _k
// runs over dimension k of the tensor's shape; the last counter varies fastest; all calls come in this order, on the
// calling thread. Everything is decided before the first call: that every index stays inside the shape, that every
// address stays inside the storage, and the boxes of counters on which the address is affine. The inner loop, along the
// last counter, therefore only adds a stride. (An expression that does not compile to boxes, e.g. `_0 // (_1 + 1)`, or
// is affine only on a great many boxes, e.g. `_0 * _1 % 200`, is evaluated at every element instead: the same calls,
// but slower.)
//
// Invalid elements (masks) are not visited. A loop over an empty tensor makes no call, but its texts are still read. An
// exception of a callback ends the loop and passes through; what a callback returns is ignored.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/executor.h"
#include "strata/loops/loop_plan.h"
#include "strata/loops/loop_text.h"
#include "strata/view/memory_ref.h"
#include "strata/view/shape_tracker.h"

namespace strata {

/// The values of the index expressions at one element, computed when read. Valid during the call that receives it.
class LoopOffsets {
 public:
  /// Expression k is corner[k] + first[k] + step[k] * at.
  LoopOffsets(const std::int64_t* corner, const std::int64_t* first, const std::int64_t* step, std::size_t size,
              std::int64_t at)
      : corner_(corner), first_(first), step_(step), size_(size), at_(at) {}
  std::size_t size() const { return size_; }
  std::int64_t operator[](std::size_t k) const { return corner_[k] + first_[k] + step_[k] * at_; }
  operator Index() const {
    Index out;
    for (std::size_t k = 0; k < size_; ++k) out.push_back((*this)[k]);
    return out;
  }

 private:
  const std::int64_t *corner_, *first_, *step_;
  std::size_t size_;
  std::int64_t at_;
};

namespace detail {

/// The parameters of a callback.
enum class LoopForm : std::uint8_t { element, with_offsets, pointer, pointer_32 };

template <class F, class T>
consteval LoopForm loop_form() {
  if constexpr (std::invocable<F&, T&, const LoopOffsets&>) {
    return LoopForm::with_offsets;
  } else if constexpr (std::invocable<F&, T&>) {
    return LoopForm::element;
  } else if constexpr (std::invocable<F&, T*, std::span<const std::int64_t>>) {
    return LoopForm::pointer;
  } else {
    static_assert(std::invocable<F&, T*, const std::vector<std::int32_t>&>,
                  "the callback takes (T&), (T&, auto offsets), (T*, std::span<const std::int64_t>) or "
                  "(T*, const std::vector<std::int32_t>&)");
    return LoopForm::pointer_32;
  }
}

/// Calls visit(storage[address + k * step], k) for k < count. Step 1 has a loop of its own, which compilers vectorize.
template <class T, class Visit>
void visit_run(T* storage, std::int64_t address, std::int64_t step, std::int64_t count, Visit&& visit) {
  T* const first = storage + address;
  if (step == 1) {
    for (std::int64_t k = 0; k < count; ++k) visit(first[k], k);
  } else {
    for (std::int64_t k = 0; k < count; ++k) visit(first[k * step], k);
  }
}

/// Calls f(address) for each index of the block's box. `corner` holds the expressions' values relative to the box's
/// first index.
template <class F>
void for_each_corner(const LoopBlock& block, Index& corner, F&& f) {
  const std::size_t rank = block.extent.size();
  const std::int64_t *const extent = block.extent.data(), *const step = block.step.data();
  Index at(rank, 0);
  std::int64_t address = 0;
  const auto move = [&](std::size_t j, std::int64_t by) {
    address += by * step[j];
    for (std::size_t k = 0; k < corner.size(); ++k) corner[k] += by * block.slope[k * rank + j];
  };
  for (;;) {
    f(address);
    if (rank == 0) return;
    // The innermost dimension has its own loop: most steps are along it.
    for (std::int64_t i = 1; i < extent[rank - 1]; ++i) {
      move(rank - 1, 1);
      f(address);
    }
    move(rank - 1, 1 - extent[rank - 1]);
    std::size_t j = rank - 1;
    for (; j > 0; --j) {
      const bool wraps = ++at[j - 1] == extent[j - 1];
      move(j - 1, wraps ? 1 - extent[j - 1] : 1);
      if (!wraps) break;
      at[j - 1] = 0;
    }
    if (j == 0) return;
  }
}

/// Calls visit(element, k, corner, run) for every element of the block; the element is the k-th of `run`.
template <class T, class Visit>
void visit_block(T* storage, const LoopBlock& block, std::size_t expressions, Visit&& visit) {
  const std::size_t width = run_width(expressions);
  Index corner(expressions, 0);
  const std::int64_t *const at = corner.data(), *const runs = block.runs.data();
  const std::int64_t* const end = runs + block.runs.size();
  for_each_corner(block, corner, [&](std::int64_t address) {
    for (const std::int64_t* run = runs; run != end; run += width)
      visit_run(storage, address + run[1], run[2], run[0], [&](T& x, std::int64_t k) { visit(x, k, at, run + 3); });
  });
}

/// A `visit` for callbacks that take a pointer and a list of offsets.
template <class Value, class T, class F>
auto pointer_visit(std::size_t rank, F& f) {
  return [rank, &f, offsets = std::vector<Value>(rank)](T& x, std::int64_t k, const std::int64_t* corner,
                                                        const std::int64_t* run) mutable {
    const LoopOffsets at(corner, run, run + rank, rank, k);
    for (std::size_t e = 0; e < rank; ++e) offsets[e] = static_cast<Value>(at[e]);
    f(&x, std::as_const(offsets));
  };
}

template <class T, class F>
void run_loops(T* storage, std::span<const Strided> views, std::span<const std::string_view> texts, F& f) {
  constexpr LoopForm form = loop_form<F, T>();
  const std::size_t rank = views.back().shape.size();
  if constexpr (form == LoopForm::pointer_32)
    for (const std::int64_t n : views.back().shape)
      STRATA_CHECK(n <= std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1, overflow,
                   "[complexLoops] offsets below ", n, " do not fit in 32 bits");
  const LoopPlan plan(views, texts, form != LoopForm::element);
  LoopBlock block;
  const auto visit_all = [&](std::size_t expressions, auto&& visit) {
    for (LoopWalk walk(plan); walk.next(block);) visit_block(storage, block, expressions, visit);
  };
  if constexpr (form == LoopForm::element) {
    visit_all(0, [&](T& x, std::int64_t, const std::int64_t*, const std::int64_t*) { f(x); });
  } else if constexpr (form == LoopForm::with_offsets) {
    visit_all(rank, [&](T& x, std::int64_t k, const std::int64_t* corner, const std::int64_t* run) {
      f(x, LoopOffsets(corner, run, run + rank, rank, k));
    });
  } else if constexpr (form == LoopForm::pointer) {
    visit_all(rank, pointer_visit<std::int64_t, T>(rank, f));
  } else {
    visit_all(rank, pointer_visit<std::int32_t, T>(rank, f));
  }
}

}  // namespace detail

/// A tensor of T to loop over: a stack of Views of a storage that the caller owns, and keeps alive during the loops.
/// For elements that are only read T is const.
template <class T>
class TiledTensor {
 public:
  explicit TiledTensor(const MemoryRef<T>& memory) : storage_(memory.storage()), views_{memory.layout()} {}
  /// @throws Error (undefined) for symbolic sizes; (shape) for an empty stack, or when a valid index has no element in
  ///   the storage; (budget) when this takes too long to decide.
  TiledTensor(std::span<T> storage, std::span<const View> views)
      : storage_(storage), views_(detail::strided_stack(views)) {
    detail::check_addresses(views_, storage.size());
  }

  const Index& shape() const { return views_.back().shape; }

  /// Calls f for the element at index (expressions[0], expressions[1], ...), for all values of the counters in
  /// row-major order. f takes (T&); or (T&, auto offsets), where offsets[k] is the value of expressions[k], the index
  /// in dimension k (not an address); or a pointer and all offsets: (T*, std::span<const std::int64_t>) or (T*, const
  /// std::vector<std::int32_t>&). U, when given, is T (const aside): it only makes a call read better.
  /// @throws before the first call: Error (shape) when the number of expressions is not the rank, or when an expression
  ///   leaves its dimension for some values of the counters; as `parse` for a text, with the column inside it;
  ///   (overflow) when f takes 32-bit offsets and a dimension has more than 2^31 indices.
  template <class U = T, class F>
  void complexLoops(const std::vector<std::string>& expressions, F&& f) const {
    static_assert(std::is_same_v<std::remove_const_t<U>, std::remove_const_t<T>>,
                  "complexLoops<U> of a tensor with elements of another type");
    const std::vector<std::string_view> texts(expressions.begin(), expressions.end());
    detail::run_loops(storage_.data(), views_, texts, f);
  }
  /// complexLoops with all expressions in one text, separated by commas. The compiler checks the text, and that its
  /// names are _0, _1, ..., one for each expression at most; the number of expressions and their values are checked as
  /// by complexLoops.
  template <FixedString Text, class F>
  void loops(F&& f) const {
    static constexpr auto texts = detail::loop_texts<Text>();
    detail::run_loops(storage_.data(), views_, texts, f);
  }

  /// Calls f(row) or f(row, outer) for each index `outer` of the dimensions 0 ... last. `row`, a std::span<T>, holds
  /// the elements of all later dimensions in row-major order, e.g. shape (2, 3, 4) with last 0 has 2 rows of 12
  /// elements; with the last dimension as `last` a row is one element. Calls come from several threads at once, in any
  /// order. Rows without a valid element are skipped. `outer` is valid during the call.
  /// @throws before the first call: Error (shape) when `last` is not a dimension, or when a later dimension is not
  ///   contiguous or only partly valid; (budget) when this takes too long to decide. What f throws, as
  ///   Executor::parallel_for: one exception; calls that have not begun may be left out.
  template <class F>
  void parallelLoops(std::int64_t last, F&& f, Executor& executor) const {
    const detail::RowPlan plan = detail::plan_rows(views_, last);
    const auto size = static_cast<std::size_t>(plan.row_size);
    executor.parallel_for(0, plan.rows, plan.grain(executor.concurrency()), [&](std::int64_t row, std::int64_t end) {
      for (detail::RowCursor at(plan, row); row < end; ++row, at.advance()) {
        if (at.address() < 0) continue;
        const std::span<T> elements(storage_.data() + at.address(), size);
        if constexpr (std::invocable<F&, std::span<T>, const Index&>) {
          f(elements, at.outer());
        } else {
          f(elements);
        }
      }
    });
  }
  /// The same on an executor as threads(n) of runtime/tbb_executor.h makes it. @pre executor is not null
  template <class F>
  void parallelLoops(std::int64_t last, F&& f, const std::unique_ptr<Executor>& executor) const {
    parallelLoops(last, f, *executor);
  }
  /// The same on the calling thread, in row-major order.
  template <class F>
  void parallelLoops(std::int64_t last, F&& f) const {
    SerialExecutor serial;
    parallelLoops(last, f, serial);
  }

 private:
  std::span<T> storage_;
  std::vector<Strided> views_;
};

template <class T>
TiledTensor<T> tiled(const MemoryRef<T>& memory) {
  return TiledTensor<T>(memory);
}

namespace detail {

/// A container or span whose memory outlives the call, so that the tensor may refer to it.
template <class R>
concept Storage = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && std::ranges::borrowed_range<R>;
template <class R>
using Element = std::remove_reference_t<std::ranges::range_reference_t<R>>;

}  // namespace detail

/// A tensor over a storage: its first elements in row-major order (the storage may be longer than the shape), or
/// through a View or a stack of Views. @throws Error (shape) when the storage is too short; and as the constructors
template <detail::Storage R>
TiledTensor<detail::Element<R>> tiled(R&& storage, const Index& shape) {
  return TiledTensor(MemoryRef<detail::Element<R>>(storage, shape));
}
template <detail::Storage R>
TiledTensor<detail::Element<R>> tiled(R&& storage, const View& view) {
  return {storage, std::span(&view, 1)};
}
template <detail::Storage R>
TiledTensor<detail::Element<R>> tiled(R&& storage, const ShapeTracker& st) {
  return {storage, st.views()};
}

}  // namespace strata
