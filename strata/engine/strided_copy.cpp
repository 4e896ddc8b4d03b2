#include "strata/engine/strided_copy.h"

#include <cstring>

namespace strata {

StridedCopy::StridedCopy(std::size_t itemsize, const Index& shape, const Index& from_strides, const Index& to_strides)
    : run_(static_cast<std::int64_t>(itemsize)) {
  const auto bytes = static_cast<std::int64_t>(itemsize);
  if (product(shape) == 0) {
    run_ = 0;
    return;
  }
  for (std::size_t k = shape.size(); k-- > 0;) {
    if (shape[k] == 1) continue;
    const std::int64_t from_step = from_strides[k] * bytes, to_step = to_strides[k] * bytes;
    if (sizes_.empty() && from_step == run_ && to_step == run_) {
      run_ *= shape[k];
    } else if (!sizes_.empty() && from_step == from_strides_.back() * sizes_.back() &&
               to_step == to_strides_.back() * sizes_.back()) {
      sizes_.back() *= shape[k];
    } else {
      sizes_.push_back(shape[k]);
      from_strides_.push_back(from_step);
      to_strides_.push_back(to_step);
    }
  }
}

/// Calls move(from, to) where each row of the last axis begins.
template <class Move>
void StridedCopy::each_row(const std::byte* from, std::byte* to, const Move& move) const {
  Index at(sizes_.size(), 0);
  for (;;) {
    move(from, to);
    std::size_t k = 1;
    for (; k < sizes_.size(); ++k) {
      from += from_strides_[k], to += to_strides_[k];
      if (++at[k] < sizes_[k]) break;
      from -= from_strides_[k] * sizes_[k], to -= to_strides_[k] * sizes_[k];
      at[k] = 0;
    }
    if (k == sizes_.size()) return;
  }
}

void StridedCopy::operator()(const std::byte* from, std::byte* to) const {
  if (run_ == 0) return;
  if (sizes_.empty()) return static_cast<void>(std::memcpy(to, from, static_cast<std::size_t>(run_)));
  const std::int64_t count = sizes_[0], from_step = from_strides_[0], to_step = to_strides_[0];
  const auto rows_of = [&](auto bytes) {  // a number that the compiler knows, for single elements
    each_row(from, to, [&](const std::byte* a, std::byte* b) {
      for (std::int64_t k = 0; k < count; ++k) std::memcpy(b + k * to_step, a + k * from_step, bytes());
    });
  };
  switch (run_) {
    case 1: return rows_of([] { return std::size_t{1}; });
    case 2: return rows_of([] { return std::size_t{2}; });
    case 4: return rows_of([] { return std::size_t{4}; });
    case 8: return rows_of([] { return std::size_t{8}; });
    default: return rows_of([this] { return static_cast<std::size_t>(run_); });
  }
}

}  // namespace strata
