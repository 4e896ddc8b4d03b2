// Memory that the host fills anew for each run: seeds of random numbers, learning rates. It is an input of kernels, so that they
// stay the same when its values change; a capture (jit.h) fills it before each replay.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "strata/graph/lazy_op.h"
#include "strata/runtime/buffer.h"

namespace strata {

/// Puts the values of the next run into the memory.
using Fill = std::function<void(void* elements)>;

/// A leaf of `count` elements that `fill` has filled.
LazyOp feed(DType dtype, std::int64_t count, Fill fill);

/// While it lives, it collects what this thread feeds. The innermost one does.
class FeedListener {
 public:
  FeedListener();
  ~FeedListener();
  FeedListener(const FeedListener&) = delete;
  FeedListener& operator=(const FeedListener&) = delete;

  /// Memory that was fed, and what fills it again.
  struct Fed {
    Buffer buffer;
    Fill fill;
  };
  std::vector<Fed> fed;

 private:
  FeedListener* outer_;
};

}  // namespace strata
