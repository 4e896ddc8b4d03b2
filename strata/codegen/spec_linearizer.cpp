// The specification's Linearizer.

#include "strata/codegen/spec_linearizer.h"

#include <algorithm>
#include <limits>

#include "strata/codegen/index_uops.h"

namespace strata {

Linearizer::Linearizer(const LazyOp& ast, const Target& target) : ast_(ast), target_(target) {
  STRATA_CHECK(ast.op() == Ops::SINK, domain, "[Linearizer] ", spec_name(ast.op()), " is not a kernel: a SINK is");
}

void Linearizer::linearize(std::span<const Opt> opts) {
  Kernel kernel = compile_kernel(ast_, target_, std::vector<Opt>(opts.begin(), opts.end()));
  uops = std::move(kernel.uops);
  loop_uops.clear();
}

UOp Linearizer::render(const Expr& e) {
  const auto depth = [this](const Variable& v) {
    for (std::size_t k = 0; k < loop_uops.size(); ++k)
      if (same(loop_uops[k].first, v)) return static_cast<int>(k) + 1;
    return 0;
  };
  const auto value = [&](const Variable& v) {
    if (const int k = depth(v); k > 0) return loop_uops[static_cast<std::size_t>(k) - 1].second;
    const bool narrow =
        v.min() >= std::numeric_limits<std::int32_t>::min() && v.max() <= std::numeric_limits<std::int32_t>::max();
    return uops.add(UOps::DEFINE_VAR, narrow ? dtypes::int32 : dtypes::int64, {}, v);
  };
  return IndexUOps(uops, {value, depth}).integer(e);
}

std::vector<UOp> Linearizer::render_loop(std::span<const LoopRange> loops) {
  std::vector<UOp> out;
  for (const LoopRange& l : loops) {
    UOp begin = render(l.begin), end = render(l.end);
    const DType width = promote(begin.dtype(), end.dtype());
    begin = uops.cast(begin, width);
    end = uops.cast(end, width);
    out.push_back(uops.add(UOps::LOOP, width, {begin, end}, {}, false));
    loop_uops.emplace_back(l.variable, out.back());
  }
  return out;
}

void Linearizer::close_loops() {
  for (; !loop_uops.empty(); loop_uops.pop_back())
    uops.add(UOps::ENDLOOP, dtypes::none, {loop_uops.back().second}, {}, false);
}

}  // namespace strata
