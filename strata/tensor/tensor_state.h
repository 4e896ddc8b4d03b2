// The parts of a Tensor: TensorState is shared by the copies of a handle, TensorHandle holds a share of it,
// TensorListener observes reads and assignments (jit.h captures with one), and BlobOptions describes memory for
// Tensor::from_blob().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "strata/graph/lazy_op.h"
#include "strata/runtime/device.h"

namespace strata {

class Tensor;
struct GradientSlot;

/// The state that all copies of a Tensor handle share.
struct TensorState {
  LazyOp node;
  const Device* device;
  std::shared_ptr<GradientSlot> slot;  ///< of a parameter: where its gradient goes; else null
  std::uint64_t born;                  ///< creation number; a later tensor has a larger one
  /// The object that stands for the tensor in another language; its binding sets and clears it.
  void* object = nullptr;
};

/// A handle's share of a TensorState. After a move the handle gets the state of an empty tensor on its next use.
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

  mutable std::shared_ptr<TensorState> state_;  // null: moved from, and not used since
};

/// Observes which tensors this thread reads and assigns to, while an object of the class lives. Of nested listeners
/// only the innermost is called. A capture (jit.h) is a listener.
class TensorListener {
 public:
  TensorListener() : outer_(current_) { current_ = this; }
  virtual ~TensorListener() { current_ = outer_; }
  TensorListener(const TensorListener&) = delete;
  TensorListener& operator=(const TensorListener&) = delete;
  static TensorListener* current() { return current_; }

  virtual void read(const std::shared_ptr<TensorState>& state) = 0;
  virtual void assigned(const std::shared_ptr<TensorState>& state) = 0;
  /// A parameter's gradient was set, or something was added to it.
  virtual void gained(const std::shared_ptr<GradientSlot>& slot, const std::optional<Tensor>& before) {
    if (outer_ != nullptr) outer_->gained(slot, before);
  }

 protected:
  /// The listener that this one is nested in, or null.
  TensorListener* outer() const { return outer_; }

 private:
  TensorListener* outer_;
  static thread_local constinit TensorListener* current_;
};

/// Layout and ownership of a user's memory, for Tensor::from_blob().
struct BlobOptions {
  std::optional<Index> strides = {};  ///< in elements, of any sign, one per dimension; none: row-major
  /// Called once, with the pointer passed to from_blob(), when no tensor needs the memory any more, on the thread that
  /// released it last. It must not throw.
  Buffer::Deleter deleter = {};
  bool read_only = false;  ///< nobody may write to the memory, including those who get it from the tensor
  /// Nobody outside of Strata writes to the memory while a tensor uses it: a jit function that reads the tensor from
  /// outside its arguments may keep packed copies of the elements (Recording).
  bool constant = false;
};

}  // namespace strata
