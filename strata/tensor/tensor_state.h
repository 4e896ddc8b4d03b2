// The parts of a Tensor: TensorState is shared by the copies of a handle, TensorHandle holds a share of it,
// TensorListener observes reads and assignments (jit.h captures with one), and BlobOptions describes memory for
// Tensor::from_blob().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "strata/base/spin_lock.h"
#include "strata/graph/lazy_op.h"
#include "strata/runtime/device.h"

namespace strata {

class Tensor;
struct GradientSlot;

/// The state that all copies of a Tensor handle share. Its shape and dtype never change. Computing a tensor replaces
/// its node, though this counts as reading, which any number of threads may do at once: so handles on the node are
/// copied and exchanged under a lock.
class TensorState {
 public:
  TensorState(LazyOp node, const Device& on, std::uint64_t number)
      : shape(node.shape()), dtype(node.dtype()), device(&on), born(number), node_(std::move(node)) {}

  /// The graph node that the tensor stands for at this time.
  LazyOp node() const {
    const std::lock_guard lock(lock_of_node());
    return node_;
  }
  /// Whether that is `n`.
  bool stands_for(const LazyNode* n) const {
    const std::lock_guard lock(lock_of_node());
    return node_.node() == n;
  }
  /// The tensor stands for `node` from now on. @pre `node` has the tensor's shape and dtype
  void set_node(LazyOp node) {
    const std::lock_guard lock(lock_of_node());
    std::swap(node_, node);  // the node of before is released after the lock: parameters go after variables
  }
  /// Does so if the tensor still stands for `before`, and no other thread has given it another node meanwhile.
  void replace_node(const LazyOp& before, LazyOp after) {
    const std::lock_guard lock(lock_of_node());
    if (node_ == before) std::swap(node_, after);
  }

  const Ints shape;
  const DType dtype;
  const Device* const device;
  const std::uint64_t born;            ///< creation number; a later tensor has a larger one
  std::shared_ptr<GradientSlot> slot;  ///< of a parameter: where its gradient goes; else null
  /// The object that stands for the tensor in another language; its binding sets and clears it.
  void* object = nullptr;

 private:
  /// The lock of this tensor's node, which some other tensors share.
  detail::SpinLock& lock_of_node() const {
    return locks_[(reinterpret_cast<std::uintptr_t>(this) >> 6U) % locks_.size()].lock;
  }

  struct alignas(64) Lock {  // a cache line of its own
    detail::SpinLock lock;
  };
  struct AtFork;
  static std::array<Lock, 64> locks_;

  LazyOp node_;
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
