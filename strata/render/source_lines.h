// SourceLines: which UOps each line of a kernel's source renders, so that tools and the page can mark the lines of a
// UOp. The renderers fill it through LineOwners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/ir/uop.h"

namespace strata {

/// For each line of a text, the indices of its UOps, ascending: the UOp to which the line belongs, and the operands
/// that are written inside it, namely constants and UOps without a line of their own. E.g. `data0[0] = (val0+1.0f);`
/// has the STORE, the ADD, the constant 1, the index 0 and the DEFINE_GLOBAL of data0, but not the LOAD, whose line
/// declares val0. The line of the signature has all arguments.
using SourceLines = std::vector<std::vector<std::uint32_t>>;

namespace rendering {

/// Notes the UOp to which each line belongs, while a renderer writes the lines. If off, it costs a branch for each
/// line.
class LineOwners {
 public:
  explicit LineOwners(bool is_on) : is_on_(is_on) {}

  bool is_on() const { return is_on_; }
  /// The lines that follow belong to `u`; to no UOp if `u` is empty. Returns the previous owner.
  UOp begin(UOp u) { return std::exchange(now_, u); }
  /// Notes the owner of one more line. Call it for each line.
  void line() {
    if (is_on_) owners_.push_back(now_);
  }
  const std::vector<UOp>& owners() const { return owners_; }

 private:
  bool is_on_;
  UOp now_;
  std::vector<UOp> owners_;  // by line
};

/// The UOps of each line, given the UOp to which each line belongs (`owners`); none for a line of no UOp. A PHI without
/// a line of its own is in the lines that have its accumulator, as LLVM IR writes it.
SourceLines lines_of(const UOpGraph& list, const std::vector<UOp>& owners);

/// The number of line ends in `text`.
std::size_t count_lines(std::string_view text);

}  // namespace rendering
}  // namespace strata
