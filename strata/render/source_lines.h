// Which UOps each line of a kernel's text says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/ir/uop.h"

namespace strata {

/// For each line of a text the places of the UOps that it says, ascending: whose line it is, and what has no line of its own
/// and stands in it.
using SourceLines = std::vector<std::vector<std::uint32_t>>;

namespace rendering {

/// Whose lines they are, as a renderer writes them. Off, it costs a branch a line.
class LineOwners {
 public:
  explicit LineOwners(bool is_on) : is_on_(is_on) {}

  bool is_on() const { return is_on_; }
  /// From now on lines are of `u`, of none where it is empty. Gives whose they were.
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

/// What each line says, given whose it is.
SourceLines lines_of(const UOpGraph& list, const std::vector<UOp>& owners);

/// How many lines end in `text`.
std::size_t count_lines(std::string_view text);

}  // namespace rendering
}  // namespace strata
