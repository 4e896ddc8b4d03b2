// BufferStorage: the link between the graph and the runtime. A realized node holds a Storage (graph/storage.h); this is
// the Storage that holds a Buffer. realize() attaches it to nodes; buffer_of() and leaf_of() convert between nodes and
// buffers. Neither copies elements.
#pragma once

#include "strata/graph/lazy_op.h"
#include "strata/runtime/buffer.h"

namespace strata {

/// The Storage of a node whose elements are in a buffer.
class BufferStorage final : public Storage {
 public:
  explicit BufferStorage(Buffer buffer) : buffer_(std::move(buffer)) {}
  const Buffer& buffer() const { return buffer_; }
  const void* host() const override { return buffer_.memory().host() != nullptr ? buffer_.data() : nullptr; }

 private:
  const Buffer buffer_;
};

/// The buffer of a realized node, a handle on the node's memory; read-only if that is the graph's own, e.g. a
/// HostTable.
/// @throws Error (undefined) if the node is not realized
Buffer buffer_of(const LazyOp& n);
/// A new realized EMPTY node of that shape and the buffer's dtype, whose elements, in row-major order, are the first of
/// `buffer`, which is shared.
/// @throws Error (shape) if the buffer has fewer elements than the shape, with symbolic sizes at their maximum
LazyOp leaf_of(const Buffer& buffer, const Ints& shape);

}  // namespace strata
