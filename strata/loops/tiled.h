// Loops over the elements of a tensor in plain memory.
//
//   tiled(t).complexLoops<float>({"_0", "_2", "_1"}, [](float& x, auto offsets) { x = offsets[0]; });
//   tiled(t).loops<"_0, _2, _1 / 2 * 2">([](float& x) { x *= 2; });
//   tiled(t).parallelLoops(1, [](std::span<float> row, const Index& outer) { ... }, threads(8));
//
// complexLoops visits the element at expr_0, expr_1, ... for all values of the counters _0, _1, ..., which run over the
// tensor's own shape, the last one fastest: always in that order, on the calling thread. All is decided before the
// first call: that every index stays inside of the shape, that every address stays inside of the storage, and the boxes
// of counters on which the address is affine. So the inner loop, along the last counter, adds a stride and nothing else.
//
// Invalid elements (masks) are not visited. A loop over an empty tensor calls nothing. What a callback throws ends the
// loop and passes through.
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

/// The values of the expressions at one element, computed when read. Valid during the call that it is given to.
class LoopOffsets {
 public:
  /// Expression k is corner[k] + first[k] + step[k] * at.
  LoopOffsets(const std::int64_t* corner, const std::int64_t* first, const std::int64_t* step,
              std::size_t size, std::int64_t at)
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

/// How a callback takes its element.
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
    static_assert(
        std::invocable<F&, T*, const std::vector<std::int32_t>&>,
        "the callback takes (T&), (T&, auto offsets), (T*, std::span<const std::int64_t>) or "
        "(T*, const std::vector<std::int32_t>&)");
    return LoopForm::pointer_32;
  }
}

/// Calls visit(storage[address + k * step], k) for k < count. Step 1 is apart: there the compiler can use vectors.
template <class T, class Visit>
void visit_run(T* storage, std::int64_t address, std::int64_t step, std::int64_t count, Visit&& visit) {
  T* const first = storage + address;
  if (step == 1) {
    for (std::int64_t k = 0; k < count; ++k) visit(first[k], k);
  } else {
    for (std::int64_t k = 0; k < count; ++k) visit(first[k * step], k);
  }
}

/// Calls f(address) for each index of the block's box; `corner` holds what the expressions gain from the first one on.
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
    for (std::int64_t i = 1; i < extent[rank - 1]; ++i) {  // the innermost dimension apart: most steps are its
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

/// Calls visit(element, k, corner, run) for all elements of the block: the k-th one of the run.
template <class T, class Visit>
void visit_block(T* storage, const LoopBlock& block, std::size_t expressions, Visit&& visit) {
  const std::size_t width = run_width(expressions);
  Index corner(expressions, 0);
  const std::int64_t *const at = corner.data(), *const runs = block.runs.data();
  const std::int64_t* const end = runs + block.runs.size();
  for_each_corner(block, corner, [&](std::int64_t address) {
    for (const std::int64_t* run = runs; run != end; run += width)
      visit_run(storage, address + run[1], run[2], run[0],
                [&](T& x, std::int64_t k) { visit(x, k, at, run + 3); });
  });
}

/// visit, for a callback that takes a pointer and a vector of offsets.
template <class Value, class T, class F>
auto pointer_visit(std::size_t rank, F& f) {
  return [rank, &f, offsets = std::vector<Value>(rank)](
             T& x, std::int64_t k, const std::int64_t* corner, const std::int64_t* run) mutable {
    const LoopOffsets at(corner, run, run + rank, rank, k);
    for (std::size_t e = 0; e < rank; ++e) offsets[e] = static_cast<Value>(at[e]);
    f(&x, std::as_const(offsets));
  };
}

template <class T, class F>
void run_loops(T* storage, std::span<const Strided> views, std::span<const std::string_view> texts,
               F& f) {
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

/// A tensor of T to loop over: a view, or a stack of them, of a storage that it refers to.
template <class T>
class TiledTensor {
 public:
  explicit TiledTensor(const MemoryRef<T>& memory)
      : storage_(memory.storage()), views_{memory.layout()} {}
  /// @throws Error (undefined) for symbolic sizes, (shape) where a valid index has no element in the storage, (budget)
  ///   where that takes too long to find out.
  TiledTensor(std::span<T> storage, std::span<const View> views)
      : storage_(storage), views_(detail::strided_stack(views)) {
    detail::check_addresses(views_, storage.size());
  }

  const Index& shape() const { return views_.back().shape; }

  /// Calls f for the element at expressions[0], expressions[1], ..., for all values of the counters in row-major order.
  /// f takes (T&), (T&, auto offsets) with offsets[k] the value of expressions[k], or as a pointer with all of them
  /// (T*, std::span<const std::int64_t>) or (T*, const std::vector<std::int32_t>&).
  /// @throws before the first call: Error (shape) for another number of expressions than dimensions, or where one leaves
  ///   its dimension; as `parse` for a text, with the column inside of it; (overflow) for offsets beyond 32 bits.
  template <class U = T, class F>
  void complexLoops(const std::vector<std::string>& expressions, F&& f) const {
    static_assert(std::is_same_v<std::remove_const_t<U>, std::remove_const_t<T>>,
                  "complexLoops<U> of a tensor with elements of another type");
    const std::vector<std::string_view> texts(expressions.begin(), expressions.end());
    detail::run_loops(storage_.data(), views_, texts, f);
  }
  /// The same with the expressions in one text, which the compiler checks.
  template <FixedString Text, class F>
  void loops(F&& f) const {
    static constexpr auto texts = detail::loop_texts<Text>();
    detail::run_loops(storage_.data(), views_, texts, f);
  }

  /// Calls f(row) or f(row, outer) for each index `outer` of the dimensions 0 ... last, where row is the elements of all
  /// later dimensions, in row-major order: from several threads at once, in any order. Rows that are all invalid
  /// are left out.
  /// @throws before the first call: Error (shape) where `last` is not a dimension, or where a later one is not
  ///   contiguous or partly invalid; (budget)
  template <class F>
  void parallelLoops(std::int64_t last, F&& f, Executor& executor) const {
    const detail::RowPlan plan = detail::plan_rows(views_, last);
    const auto size = static_cast<std::size_t>(plan.row_size);
    executor.parallel_for(0, plan.rows, plan.grain(executor.concurrency()),
                          [&](std::int64_t row, std::int64_t end) {
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
  /// With threads(n) of runtime/tbb_executor.h. @pre executor is not null
  template <class F>
  void parallelLoops(std::int64_t last, F&& f, const std::unique_ptr<Executor>& executor) const {
    parallelLoops(last, f, *executor);
  }
  /// On the calling thread, in row-major order.
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

/// A container or a span that the tensor may refer to after the call.
template <class R>
concept Storage =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && std::ranges::borrowed_range<R>;
template <class R>
using Element = std::remove_reference_t<std::ranges::range_reference_t<R>>;

}  // namespace detail

/// All of a storage, row-major.
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
