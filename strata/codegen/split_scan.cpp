#include "strata/codegen/split_scan.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "strata/codegen/axes.h"
#include "strata/codegen/decompose.h"
#include "strata/codegen/heuristic.h"
#include "strata/graph/absorb.h"
#include "strata/graph/rebuild.h"
#include "strata/ir/scan_order.h"

namespace strata {

namespace {

constexpr std::int64_t kBlock = kScanLengths.back();
// A row is computed twice, so it must be long, and more than two threads share it where its elements take long.
constexpr std::int64_t kFewestBlocks = 16;
constexpr int kThreadsForWork = 4;
constexpr std::ptrdiff_t kMostOfPlain = 4;  // operations of an element

/// Why the scan of a kernel is not split along the axis; empty where it can be.
std::string refusal(const KernelAxes& axes, std::size_t axis) {
  if (axes.scan_axis() != static_cast<int>(axis)) return detail::message("axis ", axis, " is not that of a scan");
  const LazyNode& scan = *axes.scan()->node;
  const Ops op = std::get<AxisArg>(scan.arg).op;
  if (op == Ops::MULACC) return "a recurrence goes on from element to element";
  if (op == Ops::PROD && scan.dtype.is_float()) return "products of floats are not totals of blocks";
  if (scan.src.size() > 1) return "the scan has been split";
  for (std::size_t d = 0; d < scan.shape.size(); ++d)
    if (d != axes.scan()->dim && !(scan.shape[d] == Int(1))) return "the scan has several rows";
  const Int& size = scan.shape[axes.scan()->dim];
  if (!size.is_number()) return detail::message("the axis has the symbolic size ", size.render());
  if (size.value() < 2 * kBlock)
    return detail::message("the axis has ", size.value(), " elements, fewer than two blocks of ", kBlock);
  return {};
}

/// `kernel` with `made` instead of `scan`.
LazyOp replaced(const LazyOp& kernel, const LazyNode& scan, const LazyOp& made) {
  detail::Rebuild rebuild([](const LazyOp& n, const std::vector<LazyOp>& sources) { return n.with_sources(sources); },
                          [&](const LazyOp& n) { return n.node() == &scan ? std::optional(made) : std::nullopt; });
  return absorb_movement(rebuild(kernel));
}

/// `x` between `before` and `behind` elements along dimension `d` that do not change a total.
LazyOp among_identities(Ops op, const LazyOp& x, std::size_t d, std::int64_t before, std::int64_t behind) {
  Padding padding(x.shape().size(), {0, 0});
  padding[d] = {before, behind};
  LazyOp padded = x.pad(padding);
  const Scalar identity = identity_of(op, x.dtype());
  if (identity.bits() == 0) return padded;
  const LazyOp is_inside = LazyOp::constant(Scalar(true), x.shape()).pad(padding);
  return LazyOp::alu(Ops::WHERE, {is_inside, padded, LazyOp::constant(identity, padded.shape())});
}

/// Stores the total of each block of `row`.
std::pair<LazyOp, std::vector<Opt>> totals_of(Ops op, const LazyOp& row, int slot, const Target& target) {
  const std::int64_t blocks = row.shape()[0].value();
  if (!is_grouped_scan(op, row.dtype())) {
    const LazyOp store = LazyOp::store(slot, ShapeTracker::from_shape({blocks, 1}), LazyOp::reduce(op, row, {1}));
    const LazyOp out = absorb_movement(LazyOp::sink({store}));
    return {out, loop_opts(out, target)};
  }
  // The place behind a block has the total of the block: the scan of a block goes on by an element that changes
  // nothing.
  const ShapeTracker behind = ShapeTracker::from_shape({blocks, 1}).pad({{0, 0}, {kBlock, 0}});
  const LazyOp scan = LazyOp::scan(op, among_identities(op, row, 1, 0, 1), 1);
  std::vector<Opt> opts;
  if (target.shuffles) opts.push_back({Opt::Kind::LANES, 1, kScanLanes, 0, {}});
  opts.push_back({Opt::Kind::PARALLEL, 0, 0, 0, {}});
  return {absorb_movement(LazyOp::sink({LazyOp::store(slot, behind, scan, blocks)})), std::move(opts)};
}

/// Whether an element of `x` is little more than a load.
bool is_plain(const LazyOp& x) {
  const std::vector<const LazyNode*> nodes = postorder(x);
  const auto is_work = [](const LazyNode* n) { return is_elementwise(n->op) && n->op != Ops::CAST; };
  const auto takes_long = [](const LazyNode* n) {
    return n->op == Ops::GATHER || find_decomposition(n->op, n->dtype) != nullptr;
  };
  return std::count_if(nodes.begin(), nodes.end(), is_work) <= kMostOfPlain &&
         std::none_of(nodes.begin(), nodes.end(), takes_long);
}

}  // namespace

SplitScan split_scan(const LazyOp& kernel, const Opt& opt, const Target& target) {
  const KernelAxes axes(kernel);
  if (const std::string why = refusal(axes, opt.axis); !why.empty())
    throw Error(ErrorKind::domain, detail::message("[", opt.text(), "] ", why));
  const LazyNode& scan = *axes.scan()->node;
  const Ops op = std::get<AxisArg>(scan.arg).op;
  const LazyOp& x = scan.src[0];
  const std::int64_t size = scan.shape[axes.scan()->dim].value(), blocks = size / kBlock;
  const auto first = static_cast<int>(buffers_of(kernel).size());
  const LazyOp row = x.reshape({size}).shrink({{0, blocks * kBlock}}).reshape({blocks, kBlock});
  auto [totals, opts] = totals_of(op, row, first, target);
  // Sums of floats are added one after another, as by the factor 1.
  const LazyOp loaded = LazyOp::load(first, scan.dtype, ShapeTracker::from_shape({blocks}));
  const LazyOp in_front = among_identities(op, loaded, 0, 1, 0);
  const LazyOp one = LazyOp::constant(Scalar::of(scan.dtype, std::int64_t{1}), in_front.shape());
  const LazyOp front =
      is_grouped_scan(op, scan.dtype) ? LazyOp::recurrence(one, in_front, 0) : LazyOp::scan(op, in_front, 0);
  const LazyOp fronts = LazyOp::sink({LazyOp::store(first + 1, ShapeTracker::from_shape({blocks + 1}), front)});
  const LazyOp all = LazyOp::load(first + 1, scan.dtype, ShapeTracker::from_shape({blocks + 1}));
  const LazyOp by_place = all.reshape({blocks + 1, 1})
                              .expand({blocks + 1, kBlock})
                              .reshape({(blocks + 1) * kBlock})
                              .shrink({{0, size}})
                              .reshape(scan.shape);
  const LazyOp split = LazyOp::scan_behind(op, by_place, x, std::get<AxisArg>(scan.arg).axis);
  return {
      std::move(totals), std::move(opts), absorb_movement(fronts), replaced(kernel, scan, split), {first, first + 1}};
}

std::optional<Opt> worthwhile_scan_split(const LazyOp& kernel, const Target& target) {
  if (target.threads < 2 || target.instances) return std::nullopt;
  const KernelAxes axes(kernel);
  if (axes.scan_axis() < 0) return std::nullopt;
  const auto axis = static_cast<std::size_t>(axes.scan_axis());
  const int fewest = is_plain(axes.scan()->node->src[0]) ? 2 : kThreadsForWork;
  if (target.threads < fewest || !refusal(axes, axis).empty() ||
      axes.axes()[axis].size.value() < kFewestBlocks * kBlock)
    return std::nullopt;
  return Opt{Opt::Kind::SPLITSCAN, axis, 0, 0, {}};
}

}  // namespace strata
