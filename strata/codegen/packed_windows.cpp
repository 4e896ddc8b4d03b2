#include "strata/codegen/packed_windows.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "strata/base/sort_few.h"
#include "strata/codegen/bounds.h"
#include "strata/codegen/cycles.h"
#include "strata/codegen/linearize.h"
#include "strata/codegen/pack.h"
#include "strata/codegen/packed_tile.h"
#include "strata/codegen/thread_opts.h"
#include "strata/codegen/trim.h"

namespace strata {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kWorthPacking = 8;       // fewest multiplications for each element of a packed load
constexpr std::int64_t kMostVectors = 4;  // most vectors of a packed tile along the lanes
constexpr std::size_t kMostRefused = 12;  // most plans that are tried in vain
constexpr double kMostStreamed = 0.25;    // most cycles to read weights with gaps (TRIM), of the steps'
constexpr double kNear = 1.1;             // most times of the shortest plan that a plan takes
constexpr double kMostCycles = 2;         // of a tile for a vector: more wastes most of its lanes
constexpr std::int64_t kMostSize = std::int64_t{1} << 40;  // of an axis, and the largest stride: bytes fit into 64 bits

// Cycles, measured on x86-64.
constexpr double kAcross = 1.5, kTurned = 0.5;  // to store an element of a vector that lies across: alone, turned over
constexpr double kCopiedRow = 3, kCopiedVector = 4, kCopiedElement = 2.5;  // to pack windows: a row, its vectors; else
constexpr double kPanelTurned = 0.4, kPanelElement = 2;  // to pack an element of a panel: turned over, or alone
constexpr double kSparse = 2.5;                          // how much longer elements take that lie kSparseBytes apart
constexpr std::int64_t kSparseBytes = 32;
constexpr double kDotStep = 0.55, kDotEnd = 12.8;  // lanes on the reduction: a vector of it; the sum over the lanes
constexpr double kDotCopies = 4;                   // rows of a tile with lanes on the reduction
constexpr double kDotStreams = 1.4;                // reading them at once takes so much longer than reading a panel
/// How much slower a step of the reduction is with so many bytes of packed windows: they leave L1, then a part of L2.
double slowdown(double bytes) { return bytes <= 1 << 16 ? 1 : bytes <= 1 << 19 ? 1.03 : 1.25; }

bool contains(const auto& some, auto x) { return std::find(some.begin(), some.end(), x) != some.end(); }

class Packing {
 public:
  explicit Packing(const PackedKernel& of)
      : of_(of),
        axes_(of.axes),
        plain_(of.plain),
        strides_(of.strides),
        lanes_(of.lanes),
        target_(of.target),
        kept_axes_(strides_.size()) {
    for (std::size_t k = 0; k < strides_.size(); ++k)
      if (const int slot = plain_.accesses[k].slot; contains(of.kept, slot))
        kept_axes_[k] = pack_axes(of_.kernel, slot, target_);
  }

  std::vector<Opt> run() {
    const std::vector<std::size_t> loads = loads_to_pack();
    const bool has_windows = std::any_of(loads.begin(), loads.end(), [&](std::size_t k) { return reads_windows(k); });
    const bool has_kept = loads.size() > 1 && std::any_of(loads.begin(), loads.end(),
                                                          [&](std::size_t k) { return !kept_axes_[k].empty(); });
    if (loads.empty() || (!has_windows && !has_kept && !(of_.across && lies_across(loads)))) return {};
    std::vector<int> slots;
    for (const std::size_t k : loads) slots.push_back(plain_.accesses[k].slot);
    if (of_.may_trim) trims_ = trims_of(of_.kernel, axes_, slots);
    PackedProblem problem;
    problem.lanes = lanes_;
    problem.registers = target_.vector_registers;
    problem.latency = machine().latency;
    for (std::size_t a = 0; a < axes_.axes().size(); ++a) {
      if (a >= axes_.outputs()) {
        problem.terms *= static_cast<double>(size(a));
        continue;
      }
      problem.outputs.push_back(size(a));
      problem.may_have_lanes.push_back(is_known(a));
      problem.stores_along.push_back(true);
      for (std::size_t k = 0; k < strides_.size(); ++k)
        if (plain_.accesses[k].is_store && strides_[k][a].by != 1) problem.stores_along.back() = false;
    }
    for (const std::size_t k : loads) problem.loads.push_back(packed_load(k));
    problem.across = target_.shuffles ? kTurned : kAcross;
    problem.has_short_tiles = has_kept && !has_windows;
    const bool is_row = has_kept && std::count_if(problem.outputs.begin(), problem.outputs.end(),
                                                  [](std::int64_t n) { return n > 1; }) == 1;
    std::vector<Plan> plans;
    for (const PackedTile& tile : packed_tiles(problem, kMostVectors))
      if (tile.copy_axis < 0 ? is_row : tile.cycles <= kMostCycles) add_plans(tile, problem, loads, plans);
    sort_few(plans, [](const Plan& a, const Plan& b) {
      return std::pair(a.cycles, a.number) < std::pair(b.cycles, b.number);
    });
    const double most = has_windows ? kNever : dot_cycles(problem, loads, has_kept ? kDotStreams : 1);
    // Of the two shortest plans, and of the shortest with tiles along other axes, the one that is predicted to be.
    std::vector<Opt> best;
    double fewest = kNever;
    std::map<std::pair<int, int>, int> known;  // plans by the axes of their tiles
    std::set<PackedTile::Key> tried;
    std::set<std::pair<PackedTile::Key, std::size_t>> refused;
    for (const Plan& plan : plans) {
      if (plan.cycles > most || refused.size() == kMostRefused) break;
      if (!best.empty() && plan.cycles > kNear * plans[0].cycles) break;
      const PackedTile::Key key = plan.tile.key();
      int& alike = known[plan.tile.axes()];
      if (alike == (plan.tile.axes() == plans[0].tile.axes() ? 2 : 1) || tried.contains(key) ||
          refused.contains({key, plan.at}))
        continue;
      std::vector<Opt> opts = opts_of(plan);
      const double cycles = cycles_of(opts);
      if (cycles == kNever) refused.emplace(key, plan.at);
      if (cycles != kNever) tried.insert(key), ++alike;
      if (cycles < fewest) fewest = cycles, best = std::move(opts);
    }
    return best;
  }

 private:
  const Machine& machine() const { return target_.machine(); }
  /// The size of an axis; of a symbolic size an assumption.
  std::int64_t size(std::size_t axis) const {
    const Int& n = axes_.axes()[axis].size;
    return n.is_number() ? n.value() : std::min(n.vmax(), kUnknownSize);
  }
  bool is_known(std::size_t axis) const { return axes_.axes()[axis].size.is_number(); }
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
  /// True iff the load has conditions, or reads windows that overlap.
  bool has_windows(std::size_t access) const {
    for (std::size_t a = 0; a < strides_[access].size(); ++a)
      if (strides_[access][a].guarded || overlaps(access, a)) return true;
    return false;
  }
  /// The same, or it is contiguous along no axis.
  bool reads_windows(std::size_t access) const {
    if (has_windows(access)) return true;
    for (std::size_t a = 0; a < strides_[access].size(); ++a)
      if (size(a) > 1 && std::abs(strides_[access][a].by) == 1) return false;
    return true;
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
      if (size(a) < 1 || size(a) > kMostSize) return {};
    std::vector<std::size_t> loads;
    double terms = 1, all = 1;
    for (std::size_t a = 0; a < axes_.axes().size(); ++a)
      (a < axes_.outputs() ? all : terms) *= static_cast<double>(size(a));
    for (std::size_t k = 0; k < strides_.size(); ++k) {
      if (plain_.accesses[k].is_store || !in_reduction(k)) continue;
      double read = 1;
      for (std::size_t a = 0; a < axes_.axes().size(); ++a) {
        if (!strides_[k][a].is_linear || std::abs(strides_[k][a].by) > kMostSize) return {};
        if (depends(k, a) && !(a >= axes_.outputs() && overlaps(k, a))) read *= static_cast<double>(size(a));
      }
      if (kept_axes_[k].empty() && terms * all < kWorthPacking * read) return {};
      loads.push_back(k);
    }
    return loads;
  }
  /// To find in each run whether the buffer of a TRIM is finite.
  double look_cycles(const TrimChoice& trim) const {
    if (contains(of_.kept, static_cast<int>(trim.opt.amount))) return 0;
    return trim.bytes / static_cast<double>(target_.vector_bytes) + read_cycles(trim.bytes);
  }
  /// The cycles of the kernel with lanes along the innermost axis of the reduction; infinity where a load is not
  /// contiguous there.
  /// @param streams how much slower memory is that is read in several rows at once
  double dot_cycles(const PackedProblem& problem, const std::vector<std::size_t>& loads, double streams) const {
    const std::size_t inner = axes_.axes().size() - 1;
    for (const std::size_t k : loads)
      if (std::abs(strides_[k][inner].by) > 1) return kNever;
    double outputs = 1;
    for (const std::int64_t n : problem.outputs) outputs *= static_cast<double>(n);
    const auto terms = static_cast<double>(size(inner));
    const double vectors = std::floor(terms / static_cast<double>(lanes_));
    const double steps = vectors + (terms - vectors * static_cast<double>(lanes_));  // what is left over is alone
    double out = outputs * problem.terms / terms * (steps * kDotStep + kDotEnd);
    for (const std::size_t k : loads) {
      double times = 1;  // that an element is used: a tile of kDotCopies outputs reads it once
      for (std::size_t a = 0; a < axes_.outputs(); ++a)
        if (!depends(k, a)) times *= static_cast<double>(size(a));
      out += memory_cycles(k, std::max(times / kDotCopies, 1.0)) * streams;
    }
    return out;
  }
  /// To read so many bytes, or the buffer of a load so many times, where they do not stay in L2.
  double read_cycles(double bytes) const {
    if (bytes <= machine().l2_bytes) return 0;
    return bytes / (bytes <= machine().l3_bytes ? machine().l2_refill : machine().l3_refill);
  }
  double memory_cycles(std::size_t access, double times) const { return read_cycles(buffer_bytes(access)) * times; }
  std::int64_t item_bytes(std::size_t access) const {
    return static_cast<std::int64_t>(
        plain_.buffers[static_cast<std::size_t>(plain_.accesses[access].slot)].dtype.itemsize());
  }
  /// The bytes that a load reads, each once: of a large buffer, or of all of a small one.
  double buffer_bytes(std::size_t access) const {
    const Int& all = plain_.buffers[static_cast<std::size_t>(plain_.accesses[access].slot)].size;
    double elements = 1;
    for (std::size_t a = 0; a < axes_.axes().size(); ++a)
      if (depends(access, a)) elements *= static_cast<double>(size(a));
    return std::min(static_cast<double>(all.vmax()), elements) * static_cast<double>(item_bytes(access));
  }
  /// True iff each axis along which stores are contiguous has a load whose elements lie apart there, as A @ B^T has.
  bool lies_across(const std::vector<std::size_t>& loads) const {
    for (std::size_t a = 0; a < axes_.outputs(); ++a) {
      bool is_free = size(a) >= lanes_;
      for (std::size_t k = 0; k < strides_.size(); ++k)
        if (plain_.accesses[k].is_store) is_free = is_free && strides_[k][a].by == 1;
      for (const std::size_t k : loads) is_free = is_free && std::abs(strides_[k][a].by) <= 1;
      if (is_free) return false;
    }
    return true;
  }
  /// The axis of the kernel, before MERGEs, along which the load has blocks of a tile's lanes or copies, if the buffer
  /// is kept: PACK's axis. -1 for none.
  int kept_axis(std::size_t load, std::size_t axis) const {
    int out = -1;
    const LoopAxis& merged = axes_.axes()[axis];
    for (std::size_t k = 0; k < merged.dims.size(); ++k) {
      if (merged.sizes[k] == Int(1)) continue;
      if (out >= 0) return -1;
      out = static_cast<int>(merged.dims[k]);
    }
    return out >= 0 && contains(kept_axes_[load], static_cast<std::size_t>(out)) ? out : -1;
  }

  /// A tile, and where its loads are packed. Its loops are innermost. A load that moves along the lanes alone (a panel)
  /// is packed outside of all loops but those over the lanes, windows (rows) inside of the loop over one axis more. The
  /// loop over `blocks` tiles along the lanes is the innermost one, so that the panels of these blocks are packed
  /// together, and windows are packed once for all of them. Kept loads cost no packing and no scratch memory.
  struct Plan {
    PackedTile tile;
    std::int64_t blocks = 1;
    std::vector<std::size_t> order;         // of the loops over outputs
    std::vector<std::size_t> panels, rows;  // loads
    std::vector<Opt> packs;                 // of kept loads; those along the lanes are panels, too
    std::vector<std::size_t> trims;         // numbers in trims_
    std::size_t at = 0;                     // the axis inside of which rows are packed
    double multiplications = 0;             // of vectors, in the whole kernel
    double cycles = 0;                      // of the whole kernel
    std::size_t number = 0;                 // of the plan: plans of equally many cycles keep their order
  };

  void add_plans(const PackedTile& tile, const PackedProblem& problem, const std::vector<std::size_t>& loads,
                 std::vector<Plan>& plans) const {
    const auto lane_axis = static_cast<std::size_t>(tile.lane_axis);
    Plan plan;
    plan.tile = tile;
    for (const std::size_t k : loads) {
      const bool is_window = reads_windows(k), lies_across = std::abs(strides_[k][lane_axis].by) > 1;
      if (const int along = moves_with_copies(tile, k) ? -1 : kept_axis(k, lane_axis); along >= 0) {
        plan.panels.push_back(k);
        add_pack(plan, k, along, tile.vectors * lanes_);
      } else if (const int across = depends(k, lane_axis) || tile.copy_axis < 0
                                        ? -1
                                        : kept_axis(k, static_cast<std::size_t>(tile.copy_axis));
                 across >= 0) {
        add_pack(plan, k, across, tile.copies);
      } else if (!has_windows(k) && lies_across && !moves_with_copies(tile, k)) {
        plan.panels.push_back(k);
      } else if (is_window || lies_across) {
        plan.rows.push_back(k);
      }
    }
    // A panel is another one in each iteration of the axes that all panels depend on: their loops are around.
    const auto is_outside = [&](std::size_t a) {
      return std::all_of(plan.panels.begin(), plan.panels.end(), [&](std::size_t k) { return depends(k, a); });
    };
    std::vector<std::size_t> outside, inside;  // of the loop over the lanes
    for (std::size_t a = 0; a < axes_.outputs(); ++a)
      if (a != lane_axis && static_cast<int>(a) != tile.copy_axis)
        (!plan.panels.empty() && is_outside(a) ? outside : inside).push_back(a);
    plan.multiplications = problem.terms / static_cast<double>(lanes_);
    for (const std::int64_t n : problem.outputs) plan.multiplications *= static_cast<double>(n);
    // TRIMs are no reason to choose a tile: other cycles count more, the shorter sums become.
    for (std::size_t k = 0; k < trims_.size(); ++k) {
      const TrimChoice& t = trims_[k];
      const double steps = (tile.cycles - tile.stores) * plan.multiplications * t.share;
      const bool is_streamed = read_cycles(t.bytes) > kMostStreamed * steps;
      if (t.output == lane_axis || static_cast<int>(t.output) == tile.copy_axis || is_streamed) continue;
      if (steps / t.share - steps > look_cycles(t)) plan.trims.push_back(k);
    }
    // Kept panels may change as often as one likes: windows are packed outside of the loop over the lanes.
    const bool may_change = !plan.panels.empty() && !plan.rows.empty() && panel_bytes(plan) == 0;
    const std::size_t first = plan.panels.empty() ? inside.size() : 0, last = may_change ? inside.size() : first;
    for (std::size_t changes = first; changes <= last; ++changes) {
      plan.order = outside;
      plan.order.insert(plan.order.end(), inside.begin(), inside.begin() + static_cast<std::ptrdiff_t>(changes));
      if (!plan.panels.empty()) plan.order.push_back(lane_axis);
      plan.order.insert(plan.order.end(), inside.begin() + static_cast<std::ptrdiff_t>(changes), inside.end());
      std::vector<std::size_t> around = plan.order;
      if (tile.copy_axis >= 0) plan.order.push_back(static_cast<std::size_t>(tile.copy_axis));
      if (plan.panels.empty()) plan.order.push_back(lane_axis);
      if (around.empty()) around.push_back(plan.order[0]);
      add_ordered(plan, loads, around, plans);
      // The loop of an axis that is all copies has one iteration: windows of the whole axis may be packed around
      // others, by each thread, though not by each instance.
      const bool is_whole = tile.copy_axis >= 0 && tile.copies == size(static_cast<std::size_t>(tile.copy_axis));
      if (!is_whole || target_.instances) continue;
      const auto copied = std::find(plan.order.begin(), plan.order.end(), static_cast<std::size_t>(tile.copy_axis));
      std::rotate(plan.order.begin(), copied, copied + 1);
      around = {plan.order[0]};
      add_ordered(plan, loads, around, plans);
    }
  }
  /// The plans with the order of `plan`: those that pack windows inside of the loop over one of `around`.
  void add_ordered(Plan plan, const std::vector<std::size_t>& loads, const std::vector<std::size_t>& around,
                   std::vector<Plan>& plans) const {
    const auto lane_axis = static_cast<std::size_t>(plan.tile.lane_axis);
    const auto tiles = static_cast<std::int64_t>(trips(plan.tile, lane_axis));
    for (plan.blocks = 1; plan.blocks <= tiles; ++plan.blocks) {
      if (plan.blocks > 1 && (plan.panels.empty() || plan.rows.empty() || tiles % plan.blocks != 0)) continue;
      for (const std::size_t axis : around) {
        plan.at = axis;
        double bytes = 0;
        const double copies = panel_cycles(plan) + row_cycles(plan, bytes);
        if (panel_bytes(plan) + bytes > static_cast<double>(target_.scratch_bytes)) continue;
        plan.cycles = plan.tile.cycles * plan.multiplications * slowdown(bytes) * conflicts(plan, loads) + copies;
        for (const std::size_t k : loads) {
          const bool is_panel = contains(plan.panels, k);
          const bool is_read_once =
              depends(k, lane_axis) || (contains(plan.rows, k) && !is_inside(plan, axis, lane_axis));
          plan.cycles += memory_cycles(k, is_panel ? changes_of(plan, k) : is_read_once ? 1 : trips(plan, lane_axis));
          if (is_panel && is_kept(plan, k)) plan.cycles += again_cycles(plan, k);
        }
        plan.number = plans.size();
        plans.push_back(plan);
      }
    }
  }
  /// True iff the loop over `axis` is inside of the loop over `other`.
  static bool is_inside(const Plan& plan, std::size_t axis, std::size_t other) {
    const auto at = std::find(plan.order.begin(), plan.order.end(), axis);
    return std::find(plan.order.begin(), at, other) != at;
  }
  /// How often a panel is another one than before that was used already: the trip count of the loops around the lanes.
  double changes_of(const Plan& plan, std::size_t panel) const {
    double out = 1;
    for (const std::size_t a : plan.order) {
      if (a == static_cast<std::size_t>(plan.tile.lane_axis)) break;
      if (!depends(panel, a)) out *= trips(plan, a);
    }
    return out;
  }

  bool moves_with_copies(const PackedTile& tile, std::size_t load) const {
    return tile.copy_axis >= 0 && depends(load, static_cast<std::size_t>(tile.copy_axis));
  }
  void add_pack(Plan& plan, std::size_t load, int axis, std::int64_t width) const {
    Opt opt{Opt::Kind::PACK, static_cast<std::size_t>(axis), width, 0, {}};
    opt.slot = plain_.accesses[load].slot;
    plan.packs.push_back(opt);
  }
  bool is_kept(const Plan& plan, std::size_t load) const {
    return std::any_of(plan.packs.begin(), plan.packs.end(),
                       [&](const Opt& o) { return o.slot == plain_.accesses[load].slot; });
  }
  /// To read the panels of several blocks of lanes again in each iteration of the loops around the blocks, where these
  /// panels do not stay in L2.
  double again_cycles(const Plan& plan, std::size_t load) const {
    if (plan.blocks == 1 || panel_bytes(plan, load) <= machine().l2_bytes / 2) return 0;
    double times = 1;
    for (const std::size_t a : plan.order)
      if (a != static_cast<std::size_t>(plan.tile.lane_axis) && !depends(load, a)) times *= trips(plan, a);
    return memory_cycles(load, times - 1);
  }

  /// How much slower a step is where loads that are not packed read many rows that lie a multiple of 4 KB apart: these
  /// share a set of L1, and are read from further away in each step.
  double conflicts(const Plan& plan, const std::vector<std::size_t>& loads) const {
    double out = 1;
    if (plan.tile.copy_axis < 0) return out;
    const auto copy_axis = static_cast<std::size_t>(plan.tile.copy_axis);
    for (const std::size_t k : loads) {
      const bool is_packed = contains(plan.panels, k) || contains(plan.rows, k) || is_kept(plan, k);
      const std::int64_t apart = strides_[k][copy_axis].by * item_bytes(k);
      if (is_packed || apart == 0 || apart % 4096 != 0 || plan.tile.copies <= 8) continue;
      out = std::max(out, buffer_bytes(k) > machine().l2_bytes ? 3.0 : 1.2);
    }
    return out;
  }
  /// The bytes of the panels that are packed together, without those that are kept.
  double panel_bytes(const Plan& plan) const {
    double out = 0;
    for (const std::size_t k : plan.panels)
      if (!is_kept(plan, k)) out += panel_bytes(plan, k);
    return out;
  }
  double panel_bytes(const Plan& plan, std::size_t panel) const {
    auto elements = static_cast<double>(plan.blocks * plan.tile.vectors * lanes_);
    for (std::size_t a = axes_.outputs(); a < axes_.axes().size(); ++a)
      if (depends(panel, a)) elements *= static_cast<double>(axes_.axes()[a].size.vmax());
    return elements * static_cast<double>(item_bytes(panel));
  }
  /// The trip count of the outermost loop over an output axis.
  double trips(const Plan& plan, std::size_t axis) const {
    const bool has_blocks = axis == static_cast<std::size_t>(plan.tile.lane_axis);
    return trips(plan.tile, axis) / static_cast<double>(has_blocks ? plan.blocks : 1);
  }
  /// The trip count of the loops over an output axis, around the tile.
  double trips(const PackedTile& tile, std::size_t axis) const {
    const std::int64_t inside = axis == static_cast<std::size_t>(tile.lane_axis)   ? tile.vectors * lanes_
                                : axis == static_cast<std::size_t>(tile.copy_axis) ? tile.copies
                                                                                   : 1;
    return std::ceil(static_cast<double>(size(axis)) / static_cast<double>(inside));
  }
  double panel_cycles(const Plan& plan) const {
    double out = 0;
    const auto lane_axis = static_cast<std::size_t>(plan.tile.lane_axis);
    for (const std::size_t k : plan.panels) {
      if (is_kept(plan, k)) continue;
      double elements = trips(plan.tile, lane_axis) * static_cast<double>(plan.tile.vectors * lanes_), run = 1;
      for (std::size_t a = 0; a < axes_.axes().size(); ++a)
        if (a != lane_axis && depends(k, a)) elements *= static_cast<double>(size(a));
      std::int64_t apart = kMostSize;
      for (std::size_t a = 0; a < axes_.axes().size(); ++a)
        if (strides_[k][a].by != 0 && size(a) > 1) apart = std::min(apart, std::abs(strides_[k][a].by));
      // The run of neighbours along the reduction: from the innermost axis outwards.
      for (std::size_t a = axes_.axes().size(); a-- > axes_.outputs();)
        if (static_cast<double>(strides_[k][a].by) == run) run *= static_cast<double>(size(a));
      out += elements * (target_.shuffles && run >= static_cast<double>(lanes_) ? kPanelTurned : kPanelElement) *
             sparseness(k, apart);
    }
    return out;
  }
  double row_cycles(const Plan& plan, double& bytes) const {
    double out = 0;
    for (const std::size_t k : plan.rows) {
      std::vector<double> counts;  // of iterations inside of the loop
      for (std::size_t a = 0; a < axes_.axes().size(); ++a) counts.push_back(static_cast<double>(size(a)));
      double times = 1;
      for (const std::size_t a : plan.order) {
        times *= trips(plan, a);
        const bool in_lanes = a == static_cast<std::size_t>(plan.tile.lane_axis);
        counts[a] = in_lanes ? static_cast<double>(plan.blocks * plan.tile.vectors * lanes_) : 1;
        if (a == plan.at) break;
      }
      const Region region = region_of(k, counts);
      bytes += region.elements * static_cast<double>(item_bytes(k));
      const double vectors = std::ceil(region.run / static_cast<double>(lanes_));
      out += times * (region.run > 1 ? region.elements / region.run * (kCopiedRow + kCopiedVector * vectors)
                                     : region.elements * kCopiedElement * sparseness(k, region.apart));
    }
    return out;
  }
  /// The elements that a load reads in so many iterations of each axis, each counted once; `run`: those of a row of
  /// neighbours.
  struct Region {
    double elements = 1, run = 1;
    std::int64_t apart = 1;  // elements between neighbours
  };
  /// How much longer the elements of a load take that are so many elements apart: few of a cache line are used.
  double sparseness(std::size_t access, std::int64_t apart) const {
    return apart >= kSparseBytes / item_bytes(access) ? kSparse : 1;
  }
  Region region_of(std::size_t access, const std::vector<double>& counts) const {
    std::vector<std::pair<std::int64_t, double>> steps;  // by stride
    for (std::size_t a = 0; a < counts.size(); ++a)
      if (const std::int64_t by = std::abs(strides_[access][a].by); by != 0 && counts[a] > 1)
        steps.emplace_back(by, counts[a]);
    sort_few(steps, [](const auto& a, const auto& b) { return a < b; });
    Region out;
    for (std::size_t k = 0; k < steps.size();) {
      const bool is_first = k == 0;
      std::int64_t unit = steps[k].first;
      double reach = 0;
      // Axes whose steps are within the reach of smaller ones share a dimension.
      for (const std::size_t begin = k; k < steps.size(); ++k) {
        const auto by = static_cast<double>(steps[k].first);
        if (k > begin && by > reach) break;
        unit = std::gcd(unit, steps[k].first);
        reach += by * (steps[k].second - 1);
      }
      const double count = reach / static_cast<double>(unit) + 1;
      out.elements *= count;
      if (is_first) out.apart = unit;
      if (is_first && unit == 1) out.run = count;
    }
    return out;
  }

  /// Whether the last tile along the lanes has only the vectors that are left: no scratch memory is filled once more
  /// for it.
  bool has_short_tile(const Plan& plan) const {
    return !plan.packs.empty() && plan.rows.empty() &&
           std::all_of(plan.panels.begin(), plan.panels.end(), [&](std::size_t k) { return is_kept(plan, k); });
  }

  std::vector<Opt> opts_of(const Plan& plan) const {
    const auto lane_axis = static_cast<std::size_t>(plan.tile.lane_axis),
               copy_axis = static_cast<std::size_t>(plan.tile.copy_axis);
    std::vector<Opt> out = plan.packs;
    for (const std::size_t k : plan.trims) out.push_back(trims_[k].opt);
    const std::int64_t width = has_short_tile(plan) ? lanes_ : plan.tile.vectors * lanes_;
    if (size(lane_axis) % width != 0) out.push_back({Opt::Kind::PADTO, lane_axis, width, 0, {}});
    out.push_back({Opt::Kind::LANES, lane_axis, lanes_, 0, {}});
    if (plan.tile.vectors > 1) out.push_back({Opt::Kind::UPCAST, lane_axis, plan.tile.vectors, 0, {}});
    if (plan.blocks > 1) out.push_back({Opt::Kind::SPLIT, lane_axis, plan.blocks, 0, {}});
    if (plan.tile.copies > 1)
      for (Opt& opt : copy_opts(axes_.axes()[copy_axis], copy_axis, 0, plan.tile.copies)) out.push_back(std::move(opt));
    if (plan.order != axes_.order()) out.push_back({Opt::Kind::REORDER, 0, 0, 0, plan.order});
    std::vector<int> staged;  // a buffer with several loads is staged once, for all of them
    const auto stage = [&](std::size_t axis, std::size_t load) {
      const int slot = plain_.accesses[load].slot;
      if (is_kept(plan, load) || contains(staged, slot)) return;
      staged.push_back(slot);
      out.push_back({Opt::Kind::STAGE, axis, slot, 0, {}});
    };
    for (const std::size_t k : plan.panels) stage(lane_axis, k);
    for (const std::size_t k : plan.rows) stage(plan.at, k);
    return out;
  }
  /// The predicted time; infinite where the Opts are not legal, or an access cannot be proven.
  double cycles_of(std::span<const Opt> opts) const {
    std::vector<Opt> all(opts.begin(), opts.end());
    const auto loops = std::find_if(all.begin(), all.end(), [](const Opt& o) { return !makes_kernels(o.kind); });
    all.insert(loops, of_.merges.begin(), of_.merges.end());
    try {
      const RestKernel rest = rest_of(of_.kernel, all, target_);
      const Lowered lowered = lower(rest.kernel, rest.axes, target_);
      prove_bounds(lowered);
      return predicted_cycles(linearize(lowered, target_.contract), machine(), target_.vector_bytes, lowered.parallel)
          .total();
    } catch (const Error&) {
      return kNever;
    }
  }

  const PackedKernel& of_;
  const KernelAxes& axes_;
  const Lowered& plain_;
  std::span<const std::vector<AxisStride>> strides_;
  std::int64_t lanes_;
  const Target& target_;
  std::vector<std::vector<std::size_t>> kept_axes_;  // by access: pack_axes(), for kept buffers
  std::vector<TrimChoice> trims_;
};

}  // namespace

std::vector<Opt> copy_opts(const LoopAxis& axis, std::size_t number, std::size_t segment, std::int64_t copies) {
  std::vector<Opt> out = {{Opt::Kind::UPCAST, number, copies, segment, {}}};
  const Int size = axis.segments[segment].size();
  if (size.is_number() || copies < 4) return out;
  if (size - Int(size.expr() / copies) * Int(copies) == Int(0)) return out;  // nothing is left over
  out.push_back({Opt::Kind::UPCAST, number, copies / 2, segment + 1, {}});
  return out;
}

std::vector<Opt> packed_windows(const PackedKernel& of) { return Packing(of).run(); }

}  // namespace strata
