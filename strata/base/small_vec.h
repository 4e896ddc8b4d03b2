// SmallVec: a vector whose first N elements are stored inside the object; works in constant expressions. Shapes,
// strides and index tuples are SmallVecs, which keeps small ranks free of allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace strata {

/// @pre T is default constructible. An element out of use is reset to T{} when T owns something.
template <class T, std::size_t N>
class SmallVec {
  static_assert(std::is_nothrow_move_assignable_v<T>);

 public:
  using value_type = T;

  constexpr SmallVec() { start(); }
  constexpr SmallVec(std::initializer_list<T> items) : SmallVec() { append(items.begin(), items.size()); }
  constexpr SmallVec(std::size_t n, const T& item) : SmallVec() { resize(n, item); }
  constexpr SmallVec(const SmallVec& other) : SmallVec() { append(other.data(), other.size()); }
  constexpr SmallVec(SmallVec&& other) noexcept : SmallVec() { take(other); }
  constexpr SmallVec& operator=(const SmallVec& other) {
    if (this != &other) {
      clear();
      append(other.data(), other.size());
    }
    return *this;
  }
  constexpr SmallVec& operator=(SmallVec&& other) noexcept {
    if (this != &other) {
      clear();
      delete[] heap_;
      take(other);
    }
    return *this;
  }
  constexpr ~SmallVec() { delete[] heap_; }

  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* data() { return heap_ ? heap_ : inline_; }
  constexpr const T* data() const { return heap_ ? heap_ : inline_; }
  constexpr T* begin() { return data(); }
  constexpr T* end() { return data() + size_; }
  constexpr const T* begin() const { return data(); }
  constexpr const T* end() const { return data() + size_; }
  constexpr T& operator[](std::size_t i) { return data()[i]; }
  constexpr const T& operator[](std::size_t i) const { return data()[i]; }
  constexpr T& front() { return data()[0]; }
  constexpr const T& front() const { return data()[0]; }
  constexpr T& back() { return data()[size_ - 1]; }
  constexpr const T& back() const { return data()[size_ - 1]; }

  constexpr void push_back(T item) {
    reserve(size_ + 1);
    data()[size_++] = std::move(item);
  }
  constexpr void pop_back() { truncate(size_ - 1); }
  constexpr void clear() { truncate(0); }
  /// @pre n <= size()
  constexpr void truncate(std::size_t n) {
    if constexpr (!std::is_trivially_destructible_v<T>)
      for (std::size_t i = n; i < size_; ++i) data()[i] = T{};
    size_ = n;
  }
  constexpr void resize(std::size_t n, const T& item = T{}) {
    if (n < size_) truncate(n);
    reserve(n);
    std::fill(data() + size_, data() + n, item);
    size_ = n;
  }
  /// @pre `items` is not inside this vector
  constexpr void append(const T* items, std::size_t n) {
    reserve(size_ + n);
    std::copy_n(items, n, data() + size_);
    size_ += n;
  }
  constexpr void insert_at(std::size_t i, T item) {
    reserve(size_ + 1);
    std::move_backward(begin() + i, end(), end() + 1);
    data()[i] = std::move(item);
    ++size_;
  }
  constexpr void erase_at(std::size_t i) {
    std::move(begin() + i + 1, end(), begin() + i);
    truncate(size_ - 1);
  }
  constexpr void reserve(std::size_t n) {
    if (n <= capacity_) return;
    const std::size_t grown = std::max(n, 2 * capacity_);
    T* heap = new T[grown];
    std::move(begin(), end(), heap);
    if constexpr (!std::is_trivially_destructible_v<T>)
      if (!heap_) std::fill(begin(), end(), T{});
    delete[] heap_;
    heap_ = heap;
    capacity_ = grown;
  }

  friend constexpr bool operator==(const SmallVec& a, const SmallVec& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  // In a constant expression every element must have been written.
  constexpr void start() {
    if (std::is_constant_evaluated()) std::fill_n(inline_, N, T{});
  }
  /// Moves the contents of `other` here. @pre this vector owns nothing
  constexpr void take(SmallVec& other) {
    heap_ = std::exchange(other.heap_, nullptr);
    capacity_ = std::exchange(other.capacity_, N);
    if (!heap_) {
      std::move(other.inline_, other.inline_ + other.size_, inline_);
      size_ = other.size_;
      other.clear();
    } else {
      size_ = std::exchange(other.size_, 0);
    }
  }

  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  T* heap_ = nullptr;
  T inline_[N];
};

}  // namespace strata
