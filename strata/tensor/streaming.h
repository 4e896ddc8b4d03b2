// streaming(f, example, axis): a function of a whole signal as a step that takes one block of it. The index algebra
// derives the step from the graph of the function: which positions each value reads, so which of them have to be kept.
//
//   Stream stream = streaming([&](const Tensor& x) { return conv1d(x, w, b, {.padding = {{{2, 0}}}}).tanh(); },
//                             Tensor::zeros({1, 1, 64}), 2);
//   for (...) play(stream(block));      // blocks of any size; the outputs, joined, are those of the whole signal
//
// A value that looks back keeps a ring of the positions that will be read again, no position more; a loop (scan())
// keeps its state. A running total or a recurrence along the positions (cumsum(), cummax(), lfilter(), sosfilt()) is
// such a loop: its state is the total, the last results, or what the order of sums of floats (ir/scan_order.h) needs of
// the elements in front, eight values. Each position of each value is computed once. Where f puts zeros or other
// padding in front of a value, the stream begins with that padding at that value. A delay keeps what it delays: the
// results come as many at a time as f gives them for x of the example's length and of twice that; for others one may
// come early behind a stride. A result that depends on later positions of x than have come by the end of x is refused:
// padding behind the end, means over all positions, loops from the end.
//
// What is followed: elementwise functions, movement (padding, windows, strides, slices, transposes), reductions over
// other axes than that of the positions, matrix products, convolutions, pooling, joining along other axes, gather()
// from constant tables, scan(), running totals and recurrences along the positions and along other axes. Other
// operations are refused by name. To put something in front of a signal use pad(): cat() with a short front selects by
// the number of the position, which is refused.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "strata/tensor/tensor.h"

namespace strata {

/// What a stream keeps of one value between blocks.
struct StreamRing {
  std::string name;        ///< the operation and source line of the value; "x" for the input
  Ints shape;              ///< with the most positions that are kept
  std::int64_t least = 0;  ///< positions, the fewest behind the start; equal to the most where no phase changes them
  std::int64_t most = 0;   ///< positions; 0 for the state of a loop, which has none
  std::int64_t bytes = 0;  ///< of `shape`
};

/// A function that takes a signal block by block. Copies are handles on one stream. One thread at a time uses a stream.
class Stream {
 public:
  class State;
  explicit Stream(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// The results that are due after `block`, whose size along the axis is free (0, too). Realized, except while a jit
  /// function captures the call, which may be exported: what is kept is then assigned to tensors (export_c()'s state).
  /// @throws Error (shape) for another shape or (domain) another dtype or device than the example's; (domain) in a
  ///   capture, unless the block is a multiple of period() and what is kept has reached its size
  Tensor operator()(const Tensor& block);
  /// Back to the beginning of the signal.
  void reset();

  /// What is kept, in the order of computation.
  std::vector<StreamRing> rings() const;
  /// Blocks of multiples of this many positions leave the rings at their sizes: the product of the strides.
  std::int64_t period() const;
  /// The axis of the results along which they are joined.
  std::int64_t axis() const;
  /// A line for each ring, and their sum in bytes.
  std::string describe() const;

 private:
  std::shared_ptr<State> state_;
};

/// The stream of `f`, a function of one tensor to one tensor, along `axis` of its argument. `f` runs for tensors of the
/// shape of `example` and of twice its size along `axis`, without gradients. What `f` reads from outside has the
/// elements that it had then: after assign() to a weight make a new stream.
/// @throws Error (domain) with the operation, its source line and a witness where the result cannot be
///   computed block by block, where no call of f is captured, or f assigns to tensors or draws random numbers; (shape)
///   for an axis out of range or an example that is empty or has sizes that are no numbers
Stream streaming(const std::function<Tensor(const Tensor&)>& f, const Tensor& example, std::int64_t axis);

}  // namespace strata
