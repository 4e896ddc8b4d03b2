// StridedCopy: copies elements on the host, from strides to strides, without a kernel. Internal to engine/ and tensor/.
#pragma once

#include <cstddef>
#include <cstdint>

#include "strata/view/memory_ref.h"

namespace strata {

/// How to copy an array. Axes that lie in one piece on both sides are one run of bytes.
class StridedCopy {
 public:
  /// @param from_strides,to_strides in elements, of any sign; 0 among `from_strides` repeats. @pre ranks are equal
  StridedCopy(std::size_t itemsize, const Index& shape, const Index& from_strides, const Index& to_strides);
  /// The bytes that are copied in one piece, and whether that is all.
  std::int64_t run() const { return run_; }
  bool is_one_run() const { return sizes_.empty(); }
  /// Copies from the element at index 0, at `from`, to the one at `to`. @pre the elements do not overlap
  void operator()(const std::byte* from, std::byte* to) const;

 private:
  template <class Move>
  void each_row(const std::byte* from, std::byte* to, const Move& move) const;

  std::int64_t run_;                         // bytes; 0: nothing is copied
  Index sizes_, from_strides_, to_strides_;  // of the axes outside of a run, from the last one on; strides in bytes
};

}  // namespace strata
