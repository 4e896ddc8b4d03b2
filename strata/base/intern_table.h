// InternTable: a hash table of nodes with at most one live node for each content. Expressions and graphs intern their
// nodes in such tables.
//
// The table has shards with open addressing, each behind a spin lock. A node can be found while it has a handle. A node
// whose last handle is gone is never handed out again; a request for the same content makes a new node. The code that
// frees a node removes it from the table first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "strata/base/spin_lock.h"

namespace strata::detail {

/// `Node` has a member `hash`; its upper bits choose the shard. `Shards` is a power of 2 above 1.
template <class Node, std::size_t Shards>
class InternTable {
 public:
  /// A handle on a live node with `matches(node)` true. `revive(Node*)` makes the handle, or a null handle for a node
  /// that is dying; the search then continues. A null handle when no node is found.
  template <class Matches, class Revive>
  auto find(std::uint64_t hash, const Matches& matches, const Revive& revive) {
    Shard& shard = shard_of(hash);
    const std::lock_guard lock(shard.lock);
    return shard.find(hash, matches, revive);
  }
  /// Like find; when no node is found, inserts the node that `make()` returns a handle on, and returns that handle.
  template <class Matches, class Revive, class Make>
  auto find_or_make(std::uint64_t hash, const Matches& matches, const Revive& revive, const Make& make) {
    Shard& shard = shard_of(hash);
    const std::lock_guard lock(shard.lock);
    if (auto found = shard.find(hash, matches, revive)) return found;
    if ((shard.size + 1) * 4 > shard.capacity * 3) {
      const std::size_t capacity = shard.capacity == 0 ? kInitial : shard.capacity * 2;
      shard.move_to(std::make_unique<Slot[]>(capacity), capacity);
    }
    auto made = make();
    shard.insert({hash, &*made});
    ++shard.size;
    return made;
  }
  /// Removes a node whose last handle is gone. @pre the node was made by this table
  void remove(const Node* node) noexcept {
    Shard& shard = shard_of(node->hash);
    const std::lock_guard lock(shard.lock);
    shard.remove(node);
  }
  std::size_t size() {
    std::size_t count = 0;
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.lock);
      count += shard.size;
    }
    return count;
  }

  /// Locks and unlocks every shard, for fork(). A thread holds one shard at a time, so the order of shards does not
  /// matter.
  void hold() {
    for (Shard& shard : shards_) shard.lock.lock();
  }
  void let_go() {
    for (Shard& shard : shards_) shard.lock.unlock();
  }

 private:
  static constexpr std::size_t kInitial = 64;

  struct Slot {
    std::uint64_t hash = 0;
    Node* node = nullptr;
  };
  struct alignas(64) Shard {
    SpinLock lock;
    std::size_t size = 0, capacity = 0;
    std::unique_ptr<Slot[]> slots;

    template <class Matches, class Revive>
    auto find(std::uint64_t hash, const Matches& matches, const Revive& revive) const {
      using Handle = decltype(revive(std::declval<Node*>()));
      if (capacity == 0) return Handle();
      const std::size_t mask = capacity - 1;
      for (std::size_t i = hash & mask; slots[i].node != nullptr; i = (i + 1) & mask)
        if (slots[i].hash == hash && matches(*slots[i].node))
          if (Handle handle = revive(slots[i].node)) return handle;
      return Handle();
    }
    void insert(Slot slot) {
      const std::size_t mask = capacity - 1;
      std::size_t i = slot.hash & mask;
      while (slots[i].node != nullptr) i = (i + 1) & mask;
      slots[i] = slot;
    }
    void remove(const Node* node) {
      const std::size_t mask = capacity - 1;
      std::size_t i = node->hash & mask;
      while (slots[i].node != node) i = (i + 1) & mask;
      // Backward-shift deletion: later members of the cluster move into the hole when their home allows it.
      for (std::size_t j = (i + 1) & mask; slots[j].node != nullptr; j = (j + 1) & mask) {
        const std::size_t home = slots[j].hash & mask;
        if (((j - home) & mask) >= ((j - i) & mask)) {
          slots[i] = slots[j];
          i = j;
        }
      }
      slots[i].node = nullptr;
      --size;
      if (capacity == kInitial || size * 8 >= capacity) return;
      if (Slot* fewer = new (std::nothrow) Slot[capacity / 2]) move_to(std::unique_ptr<Slot[]>(fewer), capacity / 2);
    }
    void move_to(std::unique_ptr<Slot[]> to, std::size_t its_capacity) {
      auto old = std::exchange(slots, std::move(to));
      const std::size_t before = std::exchange(capacity, its_capacity);
      for (std::size_t i = 0; i < before; ++i)
        if (old[i].node != nullptr) insert(old[i]);
    }
  };
  Shard& shard_of(std::uint64_t hash) { return shards_[hash / (~std::uint64_t{0} / Shards + 1)]; }

  std::array<Shard, Shards> shards_;
};

}  // namespace strata::detail
