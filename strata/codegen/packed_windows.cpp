#include "strata/codegen/packed_windows.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "strata/codegen/bounds.h"
#include "strata/codegen/packed_tile.h"

namespace strata {

namespace {

constexpr double kWorthPacking = 8;            // fewest multiplications for each element of a packed load
constexpr std::int64_t kPackedRows = 1 << 16;  // most bytes of packed windows, which are read again and again: L1
constexpr std::int64_t kMostVectors = 4;       // most vectors of a packed tile along the lanes

class Packing {
 public:
  Packing(const LazyOp& kernel, const KernelAxes& axes, const Lowered& plain,
          std::span<const std::vector<AxisStride>> strides, std::int64_t lanes, const Target& target)
      : kernel_(kernel), axes_(axes), plain_(plain), strides_(strides), lanes_(lanes), target_(target) {}

  std::vector<Opt> run() const {
    const std::vector<std::size_t> loads = loads_to_pack();
    if (loads.empty()) return {};
    PackedProblem problem;
    problem.lanes = lanes_;
    problem.registers = target_.vector_registers;
    for (std::size_t a = 0; a < axes_.axes().size(); ++a) {
      if (a >= axes_.outputs()) {
        problem.terms *= static_cast<double>(size(a));
        continue;
      }
      problem.outputs.push_back(size(a));
      bool along = true;
      for (std::size_t k = 0; k < strides_.size(); ++k)
        along = along && (!plain_.accesses[k].is_store || strides_[k][a].by == 1);
      problem.stores_along.push_back(along);
    }
    for (const std::size_t k : loads) problem.loads.push_back(packed_load(k));
    for (std::int64_t most = kMostVectors; most > 0;) {
      const PackedTile tile = packed_tile(problem, most);
      if (tile.lane_axis < 0 || tile.copy_axis < 0) return {};
      if (std::vector<Opt> chosen = packing(tile, loads); !chosen.empty()) return chosen;
      most = tile.vectors - 1;
    }
    return {};
  }

 private:
  std::int64_t size(std::size_t axis) const {
    const Int& n = axes_.axes()[axis].size;
    return n.is_number() ? n.value() : 0;
  }
  bool depends(std::size_t access, std::size_t axis) const {
    const AxisStride& s = strides_[access][axis];
    return !s.is_linear || s.by != 0 || s.guarded;
  }
  bool in_reduction(std::size_t access) const {
    const ReduceGroup& group = axes_.groups().front();
    for (std::size_t k = 0; k < group.count; ++k)
      if (depends(access, group.first + k)) return true;
    return false;
  }

  /// True iff the load moves along other axes between two elements along `axis`, as windows that overlap do.
  bool overlaps(std::size_t access, std::size_t axis) const {
    const std::int64_t by = std::abs(strides_[access][axis].by);
    double reach = 0;
    for (std::size_t a = 0; a < strides_[access].size(); ++a)
      if (const std::int64_t other = std::abs(strides_[access][a].by); a != axis && other <= by && other != 0)
        reach += static_cast<double>(other) * static_cast<double>(size(a) - 1);
    return by != 0 && size(axis) > 1 && reach >= static_cast<double>(by);
  }
  /// True iff the load has conditions, reads windows that overlap, or is contiguous along no axis.
  bool reads_windows(std::size_t access) const {
    bool is_contiguous = false;
    for (std::size_t a = 0; a < strides_[access].size(); ++a) {
      if (strides_[access][a].guarded || overlaps(access, a)) return true;
      is_contiguous = is_contiguous || (size(a) > 1 && std::abs(strides_[access][a].by) == 1);
    }
    return !is_contiguous;
  }
  PackedLoad packed_load(std::size_t access) const {
    PackedLoad out;
    for (std::size_t a = 0; a < axes_.axes().size(); ++a) {
      out.moves.push_back(depends(access, a));
      out.contiguous.push_back(std::abs(strides_[access][a].by) == 1 || !overlaps(access, a));
      out.unaligned.push_back(overlaps(access, a));
    }
    return out;
  }
  /// The loads of a reduction that packed_windows() may pack; empty where it may not.
  std::vector<std::size_t> loads_to_pack() const {
    if (axes_.groups()[0].count == 0) return {};
    for (std::size_t a = 0; a < axes_.axes().size(); ++a)
      if (size(a) < 1) return {};
    std::vector<std::size_t> loads;
    bool has_windows = false;
    double terms = 1, all = 1;
    for (std::size_t a = 0; a < axes_.axes().size(); ++a)
      (a < axes_.outputs() ? all : terms) *= static_cast<double>(size(a));
    for (std::size_t k = 0; k < strides_.size(); ++k) {
      if (plain_.accesses[k].is_store || !in_reduction(k)) continue;
      double read = 1;
      for (std::size_t a = 0; a < axes_.axes().size(); ++a) {
        if (!strides_[k][a].is_linear) return {};
        if (depends(k, a) && !(a >= axes_.outputs() && overlaps(k, a))) read *= static_cast<double>(size(a));
      }
      if (terms * all < kWorthPacking * read) return {};
      has_windows = has_windows || reads_windows(k);
      loads.push_back(k);
    }
    return has_windows ? loads : std::vector<std::size_t>();
  }
  /// The Opts for a tile: its loops are innermost. A load that moves along the lanes alone is packed outside of all
  /// loops but those over the lanes; the others in the outermost loop in which they take at most kPackedRows bytes.
  /// Empty where a load cannot be staged.
  std::vector<Opt> packing(const PackedTile& tile, const std::vector<std::size_t>& loads) const {
    const auto lane_axis = static_cast<std::size_t>(tile.lane_axis),
               copy_axis = static_cast<std::size_t>(tile.copy_axis);
    std::vector<Opt> out;
    const std::int64_t width = tile.vectors * lanes_, n = size(lane_axis);
    if (n % width != 0) out.push_back({Opt::Kind::PADTO, lane_axis, width, 0, {}});
    out.push_back({Opt::Kind::LANES, lane_axis, lanes_, 0, {}});
    if (tile.vectors > 1) out.push_back({Opt::Kind::UPCAST, lane_axis, tile.vectors, 0, {}});
    if (tile.copies > 1) out.push_back({Opt::Kind::UPCAST, copy_axis, tile.copies, 0, {}});
    std::vector<std::size_t> panels, rows;
    for (const std::size_t k : loads) {
      const bool is_panel = depends(k, lane_axis) && !depends(k, copy_axis) && !reads_windows(k);
      if (is_panel && !(strides_[k][lane_axis].by == 1))
        panels.push_back(k);
      else if (reads_windows(k))
        rows.push_back(k);
    }
    Opt order{Opt::Kind::REORDER, 0, 0, 0, {}};
    if (!panels.empty()) order.order.push_back(lane_axis);
    for (std::size_t a = 0; a < axes_.outputs(); ++a)
      if (a != lane_axis && a != copy_axis) order.order.push_back(a);
    const std::vector<std::size_t> around = order.order;
    order.order.push_back(copy_axis);
    if (panels.empty()) order.order.push_back(lane_axis);
    if (order.order != axes_.order()) out.push_back(order);
    for (const std::size_t k : panels) out.push_back({Opt::Kind::STAGE, lane_axis, plain_.accesses[k].slot, 0, {}});
    std::vector<Opt> best;
    for (const std::size_t axis : around) {
      std::vector<Opt> tried = out;
      for (const std::size_t k : rows) tried.push_back({Opt::Kind::STAGE, axis, plain_.accesses[k].slot, 0, {}});
      const std::optional<std::int64_t> bytes = staged_bytes(tried, panels.size(), rows.size());
      if (!bytes) continue;
      best = tried;
      if (*bytes <= kPackedRows) break;
    }
    return best;
  }
  /// The bytes of the tiles number first, ..., first + count - 1 of the first nest; nothing where the Opts are not
  /// legal or an access cannot be proven.
  std::optional<std::int64_t> staged_bytes(std::span<const Opt> opts, std::size_t first, std::size_t count) const {
    KernelAxes tried = axes_;
    try {
      tried.apply(opts);
      const Lowered made = lower(kernel_, tried, target_);
      prove_bounds(made);
      std::int64_t out = 0;
      for (std::size_t k = first; k < std::min(first + count, made.staged.size()); ++k) {
        const UOp local = made.staged[k].local;
        out += std::get<Local>(local.arg()).size * static_cast<std::int64_t>(local.dtype().itemsize());
      }
      return out;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  const LazyOp& kernel_;
  const KernelAxes& axes_;
  const Lowered& plain_;
  std::span<const std::vector<AxisStride>> strides_;
  std::int64_t lanes_;
  const Target& target_;
};

}  // namespace

std::vector<Opt> packed_windows(const LazyOp& kernel, const KernelAxes& axes, const Lowered& plain,
                                std::span<const std::vector<AxisStride>> strides, std::int64_t lanes,
                                const Target& target) {
  return Packing(kernel, axes, plain, strides, lanes, target).run();
}

}  // namespace strata
