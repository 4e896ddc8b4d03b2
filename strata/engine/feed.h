// feed(): values that change from run to run, such as seeds of random numbers and learning rates, as an input of
// kernels. A constant in the graph would be compiled into the kernel; a fed value is memory, so a new value compiles
// nothing. A capture (tensor/jit.h) fills the memory again before each replay.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "strata/graph/lazy_op.h"
#include "strata/runtime/buffer.h"

namespace strata {

/// Writes the values of the next run to the memory at `elements`.
using Fill = std::function<void(void* elements)>;

/// A realized leaf of shape (count,), whose elements `fill` has written. A FeedListener keeps `fill` for later runs.
LazyOp feed(DType dtype, std::int64_t count, Fill fill);

/// While an object lives, collects the calls of feed() on this thread. Of nested listeners only the innermost one
/// collects.
class FeedListener {
 public:
  FeedListener();
  ~FeedListener();
  FeedListener(const FeedListener&) = delete;
  FeedListener& operator=(const FeedListener&) = delete;

  /// The memory of a call of feed(), and the function that fills it.
  struct Fed {
    Buffer buffer;
    Fill fill;
  };
  std::vector<Fed> fed;

 private:
  FeedListener* outer_;
};

}  // namespace strata
