// A vector of trivially copyable elements whose first N live inside the object.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

namespace strata {

template <class T, std::size_t N>
class SmallVec {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVec() = default;
  SmallVec(std::initializer_list<T> items) { append(items.begin(), items.size()); }
  SmallVec(const SmallVec& other) { append(other.data(), other.size()); }
  SmallVec(SmallVec&& other) noexcept { take(other); }
  SmallVec& operator=(const SmallVec& other) {
    if (this != &other) {
      clear();
      append(other.data(), other.size());
    }
    return *this;
  }
  SmallVec& operator=(SmallVec&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~SmallVec() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ ? heap_.get() : inline_data(); }
  const T* data() const { return heap_ ? heap_.get() : inline_data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void push_back(T item) {
    reserve(size_ + 1);
    data()[size_++] = item;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  /// @pre n <= size()
  void truncate(std::size_t n) { size_ = n; }
  void append(const T* items, std::size_t n) {
    reserve(size_ + n);
    if (n != 0) std::memcpy(static_cast<void*>(data() + size_), items, n * sizeof(T));
    size_ += n;
  }
  void erase_at(std::size_t i) {
    std::copy(begin() + i + 1, end(), begin() + i);
    --size_;
  }
  void reserve(std::size_t n) {
    if (n <= capacity_) return;
    const std::size_t grown = std::max(n, 2 * capacity_);
    auto heap = std::make_unique<T[]>(grown);
    if (size_ != 0) std::memcpy(static_cast<void*>(heap.get()), data(), size_ * sizeof(T));
    heap_ = std::move(heap);
    capacity_ = grown;
  }

 private:
  T* inline_data() { return reinterpret_cast<T*>(inline_); }
  const T* inline_data() const { return reinterpret_cast<const T*>(inline_); }
  void take(SmallVec& other) {
    heap_ = std::move(other.heap_);
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (!heap_) std::memcpy(inline_, other.inline_, size_ * sizeof(T));
    other.size_ = 0;
    other.capacity_ = N;
  }

  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  std::unique_ptr<T[]> heap_;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace strata
