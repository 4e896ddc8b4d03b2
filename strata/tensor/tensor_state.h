// What a Tensor is made of: the state that its handles share, who listens to its use, and how a user's memory lies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "strata/graph/lazy_op.h"
#include "strata/runtime/device.h"

namespace strata {

/// What the copies of a handle share.
struct TensorState {
  LazyOp node;
  const Device* device;
  std::shared_ptr<struct GradientSlot> slot;  ///< of a tensor that gradients are taken by
  std::uint64_t born;                         ///< later ones have larger numbers
  void* object = nullptr;  ///< what stands for it in another language, which sets and clears this
};

/// A handle's share of the state. What was moved from gets that of an empty tensor when it is asked again.
class TensorHandle {
 public:
  explicit TensorHandle(std::shared_ptr<TensorState> state) : state_(std::move(state)) {}
  TensorHandle(const TensorHandle& other) : state_(other.get()) {}
  TensorHandle(TensorHandle&&) noexcept = default;
  TensorHandle& operator=(const TensorHandle& other) {
    state_ = other.get();
    return *this;
  }
  TensorHandle& operator=(TensorHandle&&) noexcept = default;
  ~TensorHandle() = default;

  const std::shared_ptr<TensorState>& get() const {
    if (state_ == nullptr) [[unlikely]]
      become_empty();
    return state_;
  }
  TensorState* operator->() const { return get().get(); }

 private:
  void become_empty() const;

  mutable std::shared_ptr<TensorState> state_;  // null: moved from, and not asked since
};

/// While it lives, it is told which tensors this thread reads and assigns to. The innermost one hears; a capture (jit.h) is one.
class TensorListener {
 public:
  TensorListener() : outer_(current_) { current_ = this; }
  virtual ~TensorListener() { current_ = outer_; }
  TensorListener(const TensorListener&) = delete;
  TensorListener& operator=(const TensorListener&) = delete;
  static TensorListener* current() { return current_; }

  virtual void read(const std::shared_ptr<TensorState>& state) = 0;
  virtual void assigned(const std::shared_ptr<TensorState>& state) = 0;

 private:
  TensorListener* outer_;
  static thread_local constinit TensorListener* current_;
};

/// How a user's memory lies, and what becomes of it.
struct BlobOptions {
  std::optional<Index> strides = {};  ///< in elements, of any sign, one a dimension; none: row-major
  /// Called once with the pointer that was given when nothing needs the memory any more, by the thread that needed it last. It
  /// must not throw.
  Buffer::Deleter deleter = {};
  bool read_only = false;  ///< the memory must not be written, by those who get it from the tensor either
};

}  // namespace strata
