#include "strata/codegen/thread_opts.h"

#include <algorithm>
#include <limits>

#include "strata/base/int_math.h"
#include "strata/codegen/split_reduce.h"

namespace strata {

namespace {

bool can_be_parallel(const LazyOp& kernel, const LoopAxis& axis, std::size_t segment) {
  const Part& outermost = axis.segments[segment].parts[0];
  if (outermost.kind != PartKind::loop) return false;
  if (outermost.size.is_number() && outermost.size.value() < 2) return false;
  for (const LazyOp& s : kernel.src())
    for (std::size_t k = 0; k < axis.dims.size(); ++k)
      if (!(s.shape()[axis.dims[k]] == axis.sizes[k])) return false;
  return true;
}

}  // namespace

std::int64_t work_of(const KernelAxes& axes) {
  std::int64_t out = 1;
  for (const LoopAxis& axis : axes.axes()) {
    const std::int64_t n = axis.size.is_number() ? axis.size.value() : kUnknownSize;
    if (!try_mul(out, std::max<std::int64_t>(n, 1), out)) return std::numeric_limits<std::int64_t>::max();
  }
  return out;
}

std::vector<Opt> thread_opts(const LazyOp& kernel, const KernelAxes& axes, std::span<const std::size_t> main,
                             bool reorders) {
  std::vector<Opt> out;
  if (work_of(axes) < kWorkForThreads) return out;
  for (const std::size_t a : axes.order()) {
    const LoopAxis& axis = axes.axes()[a];
    const bool is_shared = can_be_parallel(kernel, axis, main[a]);
    if (!is_shared && !reorders && !axis.is_once()) return out;
    if (!is_shared) continue;
    if (a != axes.order()[0] && reorders) {
      out.push_back({Opt::Kind::REORDER, 0, 0, 0, {a}});
      for (const std::size_t b : axes.order())
        if (b != a) out.back().order.push_back(b);
    }
    out.push_back({Opt::Kind::PARALLEL, a, 0, main[a], {}});
    return out;
  }
  return out;
}

}  // namespace strata
