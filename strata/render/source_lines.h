// SourceLines: which UOps each line of a kernel's source renders, so that tools and the page can mark the lines of a UOp. The renderers
// fill it through LineOwners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/ir/uop.h"

namespace strata {

/// For each line of a text, the indices of its UOps, ascending: the UOp to which the line belongs, and the UOps without a line of their own
/// that are written inside it.
using SourceLines = std::vector<std::vector<std::uint32_t>>;

namespace rendering {

/// Notes the UOp to which each line belongs, while a renderer writes the lines. If off, it costs a branch for each line.
class LineOwners {
 public:
  explicit LineOwners(bool is_on) : is_on_(is_on) {}

  bool is_on() const { return is_on_; }
  /// The lines that follow belong to `u`; to no UOp if `u` is empty. Returns the previous owner.
  UOp begin(UOp u) { return std::exchange(now_, u); }
  void line() {
    if (is_on_) owners_.push_back(now_);
  }
  const std::vector<UOp>& owners() const { return owners_; }

 private:
  bool is_on_;
  UOp now_;
  std::vector<UOp> owners_;  // by line
};

/// The UOps of each line, given the UOp to which each line belongs.
SourceLines lines_of(const UOpGraph& list, const std::vector<UOp>& owners);

/// The number of line ends in `text`.
std::size_t count_lines(std::string_view text);

}  // namespace rendering
}  // namespace strata
