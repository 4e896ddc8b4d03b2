#include "strata/engine/feed.h"

#include "strata/engine/buffer_storage.h"

namespace strata {

namespace {
thread_local FeedListener* feed_listener = nullptr;
}  // namespace

FeedListener::FeedListener() : outer_(feed_listener) { feed_listener = this; }
FeedListener::~FeedListener() { feed_listener = outer_; }

LazyOp feed(DType dtype, std::int64_t count, Fill fill, FeedRule rule) {
  const Buffer buffer = Buffer::allocate(count, dtype);
  fill(buffer.data());
  if (feed_listener != nullptr) feed_listener->fed.push_back({buffer, std::move(fill), std::move(rule)});
  return leaf_of(buffer, {count});
}

}  // namespace strata
