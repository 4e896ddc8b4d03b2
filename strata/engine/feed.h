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

/// How fed values go on from run to run, for programs that run elsewhere (export/): by `steps` or by `coming`.
struct FeedRule {
  /// By element of a u64: what is added behind each run, and of a counter that several feeds share, what all add.
  std::vector<std::uint64_t> steps{};
  std::uint64_t shared = 0;  ///< identifies a counter that several feeds share; 0: none
  /// The f32 elements of the run that follows `runs` others from now on. They come to rest, each without turning back.
  std::function<std::vector<float>(std::int64_t runs)> coming{};
  bool is_known() const { return !steps.empty() || coming; }
};

/// A realized leaf of shape (count,), whose elements `fill` has written. A FeedListener keeps `fill` for later runs.
LazyOp feed(DType dtype, std::int64_t count, Fill fill, FeedRule rule = {});

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
    FeedRule rule;
  };
  std::vector<Fed> fed;

 private:
  FeedListener* outer_;
};

}  // namespace strata
