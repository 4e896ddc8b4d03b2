#include "strata/codegen/scan_opts.h"

#include <algorithm>

#include "strata/codegen/split_reduce.h"
#include "strata/codegen/stream_opts.h"
#include "strata/codegen/thread_opts.h"
#include "strata/ir/scan_order.h"

namespace strata {

namespace {

constexpr std::int64_t kMostTables = 8;    // rows of a SCATTER that are unrolled
constexpr std::int64_t kFewestShared = 8;  // iterations of a loop that threads share well

std::int64_t size_of(const Int& size) { return size.is_number() ? size.value() : std::min(size.vmax(), kUnknownSize); }

/// The axis along which all stores are contiguous; -1 for none.
int contiguous_axis(const LazyOp& kernel, const KernelAxes& axes) {
  std::vector<bool> is_contiguous(axes.outputs(), true);
  for (const LazyOp& s : kernel.src()) {
    const ShapeTracker st = std::get<BufferArg>(s.arg()).st.simplify();
    const bool is_one = st.views().size() == 1;
    for (std::size_t d = 0; d < axes.outputs(); ++d)
      is_contiguous[d] =
          is_contiguous[d] && is_one && st.views()[0].strides()[d] == Int(1) && size_of(axes.axes()[d].size) > 1;
  }
  const auto found = std::find(is_contiguous.begin(), is_contiguous.end(), true);
  return found == is_contiguous.end() ? -1 : static_cast<int>(found - is_contiguous.begin());
}

/// The lanes along `axis`, as many as a vector of the widest dtype in memory has; at most 1: none.
std::int64_t lanes_along(const LazyOp& kernel, const KernelAxes& axes, std::size_t axis, const Target& target) {
  const std::int64_t size = size_of(axes.axes()[axis].size);
  if (static_cast<int>(axis) == axes.scan_axis()) return !target.shuffles || size < kScanGroup ? 1 : kScanLanes;
  std::size_t widest = 1;
  for (const BufferUse& use : buffers_of(kernel))
    if (!use.dtype.is_none()) widest = std::max(widest, use.dtype.itemsize());
  const std::int64_t lanes =
      std::min<std::int64_t>(target.vector_bytes / static_cast<std::int64_t>(widest), DType::kMostLanes);
  return size < lanes ? 1 : lanes;
}

/// Whether the indices of a SCATTER may be others for another coordinate along the axis: its lanes would go to
/// different places.
bool has_own_indices(const KernelAxes& axes, std::size_t axis) {
  if (!axes.scatter() || static_cast<int>(axis) == axes.scatter_axis()) return false;
  const LazyOp& index = axes.scatter()->node->src[1];
  const std::vector<std::size_t>& dims = axes.axes()[axis].dims;
  for (const LazyNode* n : postorder(index)) {
    if (n->op != Ops::LOAD && n->op != Ops::IOTA && n->op != Ops::CONST) continue;
    const ShapeTracker& st = n->op == Ops::LOAD    ? std::get<BufferArg>(n->arg).st
                             : n->op == Ops::CONST ? std::get<ConstArg>(n->arg).st
                                                   : std::get<ShapeTracker>(n->arg);
    const View& view = st.views().back();
    if (st.views().size() > 1 || view.rank() != index.shape().size()) return true;
    for (const std::size_t d : dims)
      if (!(view.strides()[d] == Int(0)) || (view.mask() && n->op != Ops::CONST)) return true;
  }
  const auto moves = [](const LazyNode* n) { return is_movement(n->op) || n->op == Ops::GATHER; };
  const std::vector<const LazyNode*> nodes = postorder(index);
  return std::any_of(nodes.begin(), nodes.end(), moves);
}

/// The axis that threads share: the first with many iterations, or else with some; -1 for none.
int shared_axis(const KernelAxes& axes) {
  if (work_of(axes) < kWorkForThreads) return -1;
  for (const std::int64_t least : {kFewestShared, std::int64_t{2}})
    for (const std::size_t a : axes.order())
      if (static_cast<int>(a) != axes.scan_axis() && static_cast<int>(a) != axes.scatter_axis() &&
          size_of(axes.axes()[a].segments[0].parts[0].size) >= least)
        return static_cast<int>(a);
  return -1;
}

}  // namespace

std::vector<Opt> scan_opts(const LazyOp& kernel, const Target& target) {
  KernelAxes axes(kernel);
  std::vector<Opt> out;
  const auto add = [&](Opt opt) {
    axes.apply(opt);
    out.push_back(std::move(opt));
  };
  if (const int along = contiguous_axis(kernel, axes); along >= 0) {
    const auto axis = static_cast<std::size_t>(along);
    const std::int64_t lanes = has_own_indices(axes, axis) ? 1 : lanes_along(kernel, axes, axis, target);
    if (lanes > 1) add({Opt::Kind::LANES, axis, lanes, 0, {}});
  }
  for (std::size_t a = axes.scatter() ? axes.outputs() : 0; a-- > 0;) {
    const LoopAxis& axis = axes.axes()[a];
    const bool is_row = static_cast<int>(a) != axes.scatter_axis() && axis.segments[0].parts.size() == 1;
    if (!is_row || !axis.size.is_number() || axis.size.value() <= 1 || axis.size.value() > kMostTables) continue;
    add({Opt::Kind::UPCAST, a, axis.size.value(), 0, {}});
    break;
  }
  for (const Opt& opt : stream_opts(kernel, buffers_of(kernel))) add(opt);
  const int shared = axes.has_shared_blocks() ? axes.scan_axis() : shared_axis(axes);
  if (shared >= 0) {
    const auto axis = static_cast<std::size_t>(shared);
    // The other axes of a scan in blocks have one place.
    if (axes.order()[0] != axis && !axes.has_shared_blocks()) {
      Opt order{Opt::Kind::REORDER, 0, 0, 0, {axis}};
      for (const std::size_t a : axes.order())
        if (a != axis) order.order.push_back(a);
      add(std::move(order));
    }
    add({Opt::Kind::PARALLEL, axis, 0, 0, {}});
  }
  return out;
}

}  // namespace strata
