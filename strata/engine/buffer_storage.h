// What a node of the graph is when it is realized: a buffer.
#pragma once

#include "strata/graph/lazy_op.h"
#include "strata/runtime/buffer.h"

namespace strata {

/// A buffer as what a node is realized as.
class BufferStorage final : public Storage {
 public:
  explicit BufferStorage(Buffer buffer) : buffer_(std::move(buffer)) {}
  const Buffer& buffer() const { return buffer_; }
  const void* host() const override {
    return buffer_.memory().host() != nullptr ? buffer_.data() : nullptr;
  }

 private:
  const Buffer buffer_;
};

/// The memory of a node. @throws Error (undefined) unless it is realized
Buffer buffer_of(const LazyOp& n);
/// A leaf that is `buffer`, row-major. @throws Error (shape) unless the buffer has as many elements at least
LazyOp leaf_of(const Buffer& buffer, const Ints& shape);

}  // namespace strata
