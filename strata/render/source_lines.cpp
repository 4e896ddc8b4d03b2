#include "strata/render/source_lines.h"

#include <algorithm>

namespace strata::rendering {

namespace {

class Inlined {
 public:
  Inlined(const UOpGraph& list, const std::vector<UOp>& owners)
      : has_line_(list.size()), line_(list.size(), 0), phis_(list.size()) {
    for (const UOp u : owners)
      if (u) has_line_[u.num()] = true;
    // In LLVM IR an assignment (PHI) has no line; it is assigned the line of its accumulator's phi node.
    for (const UOp u : list)
      if (u.op() == UOps::PHI && !has_line_[u.num()]) phis_[u.src(0).num()].push_back(u);
  }

  std::vector<std::uint32_t> said_by(UOp owner) {
    std::vector<std::uint32_t> out;
    if (!owner) return out;
    ++now_;
    open(owner);
    while (!open_.empty()) {
      const UOp u = open_.back();
      open_.pop_back();
      out.push_back(static_cast<std::uint32_t>(u.num()));
      for (const UOp s : u.src())
        if (!has_line_[s.num()] || s.op() == UOps::CONST) open(s);
      for (const UOp phi : phis_[u.num()]) open(phi);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  void open(UOp u) {
    if (line_[u.num()] == now_) return;
    line_[u.num()] = now_;
    open_.push_back(u);
  }

  std::vector<bool> has_line_;
  std::vector<std::size_t> line_;  // for each UOp, the last line that has it
  std::vector<std::vector<UOp>> phis_;
  std::vector<UOp> open_;
  std::size_t now_ = 0;
};

}  // namespace

SourceLines lines_of(const UOpGraph& list, const std::vector<UOp>& owners) {
  Inlined inlined(list, owners);
  SourceLines out;
  out.reserve(owners.size());
  for (const UOp owner : owners) out.push_back(inlined.said_by(owner));
  return out;
}

std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace strata::rendering
