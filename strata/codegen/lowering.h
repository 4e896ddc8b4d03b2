// Lowering: the walk of lower() from stores to loads, with an explicit stack in place of recursion. lower.cpp has the
// values, lower_stores.cpp what stores them. Internal to codegen/.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/codegen/access_uops.h"
#include "strata/codegen/coordinates.h"
#include "strata/codegen/fill.h"
#include "strata/codegen/gather_indices.h"
#include "strata/codegen/index_bounds.h"
#include "strata/codegen/index_uops.h"
#include "strata/codegen/legal.h"
#include "strata/codegen/lower.h"
#include "strata/codegen/nests.h"
#include "strata/codegen/scan.h"
#include "strata/codegen/scattered.h"
#include "strata/codegen/stage.h"
#include "strata/codegen/sums.h"
#include "strata/codegen/variables.h"
#include "strata/codegen/vectors.h"

namespace strata {

/// Lowers one kernel: lower() makes one and runs it.
class Lowering {
 public:
  Lowering(const LazyOp& kernel, const KernelAxes& axes, const Target& target)
      : kernel_(kernel),
        axes_(axes),
        target_(target),
        ops_(out_.graph, target_.native),
        index_(out_.graph,
               {[this](const Variable& v) { return value_of(v); }, [this](const Variable& v) { return depth_of(v); }}),
        nests_(
            axes, out_, index_, [this](const Variable& v) { return parameter(v); }, sum_orders(kernel, axes, target)),
        accesses_(out_, ops_, index_, nests_, target_.shuffles),
        scans_(out_, ops_, target_),
        merged_(axes),
        fill_(
            out_, target_, ops_, nests_, accesses_,
            [this](const LazyNode& n, const ShapeTracker& st, const Coordinates& at) { return load_from(n, st, at); }) {
    out_.buffers = buffers_of(kernel);
    for (const Trim& t : axes.trims()) {
      out_.buffers.resize(std::max(out_.buffers.size(), static_cast<std::size_t>(t.finite) + 1));
      out_.buffers[static_cast<std::size_t>(t.finite)] = {dtypes::int32, 1, true, false};
    }
    out_.variables = kernel_variables(kernel);
    check_order(kernel, axes, target);
  }

  Lowered run() &&;

 private:
  // --- variables ---

  UOp value_of(const Variable& v);
  /// IndexUOps adds terms in the order of this depth: terms of outer loops first.
  int depth_of(const Variable& v) const {
    return gather_indices_.find(v) != nullptr ? GatherIndices::kDepth : nests_.depth_of(v);
  }
  UOp global(int slot, DType dtype);
  UOp parameter(const Variable& v);

  // --- stores ---

  void store(const LazyNode& n);

  // --- SCATTER ---

  /// The stores [first, last) of a nest.
  struct NestStores {
    std::vector<std::size_t> segments;  ///< Nest::segments
    std::size_t first, last;
  };
  /// The nests that change elements of the target, which the nests `made` over `axes` have stored.
  void scatter(const LazyNode& store, std::vector<std::size_t> axes, std::vector<NestStores> made);
  /// Combines the values of one row, the elements idxs with any coordinate along the axis, with elements of the target.
  void scatter_at(const LazyNode& store, const std::vector<Expr>& idxs, const Expr& guard, const Nest& nest,
                  std::vector<UOp>& changes);

  /// One unrolled copy of a nest over output axes: `choice` has the values of the unrolled variables.
  struct Place {
    const Nest* nest = nullptr;
    const std::vector<std::size_t>* axes = nullptr;
    Substitution choice{};
  };
  /// The index of a store of `rank` dimensions at the place, and the condition under which it has an element.
  std::pair<std::vector<Expr>, Expr> chosen(const Place& place, std::size_t rank);

  /// Begins the nest of a store. If its loops may have no iteration (symbolic trip counts), a load from a buffer of
  /// symbolic size is pinned to the loops where it is not in bounds by the loops alone that it depends on: hoisted in
  /// front of them, it might access a buffer without elements.
  void pin(const Nest& nest);

  /// The condition that the coordinates are inside of the axes; for padded axes only.
  Expr inside(const std::vector<std::size_t>& axes, const std::vector<Expr>& at) const;

  /// The additional condition of an access to a buffer with a GUARD: that the index is in bounds, unless that can be
  /// proven.
  Expr kept_inside(const BufferArg& arg, const IndexExprs& at, std::vector<Expr> around) const;
  void store_at(const LazyNode& n, const LazyOp& stored, const std::vector<Expr>& idxs, const Expr& guard,
                const Nest& nest);
  /// The scattered stores of a nest, run by run: each lane is stored along the run, as vectors where the run is long.
  void store_scattered(const BufferArg& arg, const Nest& nest);

  bool is_read_slot(int slot) const { return out_.buffers[static_cast<std::size_t>(slot)].read; }
  /// True iff the stores of a run fill the places between each other's lanes.
  static bool are_interleaved(std::span<const ScatteredStore> stores, std::span<const std::size_t> run,
                              const Lanes& lanes);
  /// Stores such a run, whose first store is `at`, as whole vectors.
  void store_interleaved(const BufferArg& arg, const IndexExprs& at, std::span<const UOp> columns, const Nest& nest);

  // --- bounds of reductions ---

  /// Sets the bounds of the loops with TRIMs for a nest of the store `n` with coordinates `at` of `axes`: those whose
  /// bounds depend on counters alone, not on lanes or copies.
  void trim(const LazyNode& n, const std::vector<std::size_t>& axes, const std::vector<Expr>& at);
  bool is_by_counters(const Expr& e) const;

  // --- scratch memory ---

  struct Staged {
    Tile tile;
    UOp local;
    std::vector<UOp> around;  ///< the loops around the code that fills it
  };

  /// Fills the tiles of all STAGEs for a nest of the store `n`. From now on loads of the staged buffers read the tiles.
  void stage_buffers(const LazyNode& n, const std::vector<std::size_t>& axes, const Nest& nest);

  UOp filled(const Tile& tile, const std::vector<UOp>& around);

  /// A load of a staged buffer, from its scratch memory.
  UOp load_staged(const IndexedNode& k, const Staged& staged);

  // --- values ---

  struct Frame {
    IndexedNode key;
    std::vector<IndexedNode> needs;
  };

  UOp lower(const IndexedNode& root);

  std::vector<IndexedNode> needs_of(const IndexedNode& k);

  // --- scans ---

  /// The place within the group that the unrolled copy computes; 0 in lanes.
  std::size_t place_in_group() const;
  /// The place_ of element `k` of its group.
  Place in_group(int k) const;
  IndexedNode first_of_group(const LazyNode& n) { return {&n, {chosen(in_group(0), n.shape.size()).first, 1, false}}; }
  /// The operands of the scan k.node at all places of the group; none where the group has been computed.
  std::vector<IndexedNode> operands_of_group(const IndexedNode& k);
  UOp scanned(const IndexedNode& k, std::span<const UOp> values);

  // --- gather ---

  /// For a GATHER whose index has been lowered: adds the gathered elements, one per lane of the index, to the needs of
  /// the frame. False where nothing is missing.
  bool ask_more(Frame& frame);
  const Lanes& lanes_of(const Coordinates& at) const;
  UOp place_number(std::int64_t value) { return out_.graph.constant(dtypes::int64, value); }
  UOp as_place(UOp index) { return out_.graph.cast(index, dtypes::int64); }
  /// index in [0, size), as one unsigned comparison: a negative index is larger than every size.
  UOp is_inside(UOp index, std::int64_t size);
  UOp gathered(const LazyNode& n, std::span<const UOp> values);

  // --- one node ---

  UOp build(const IndexedNode& k, std::span<const UOp> values);

  /// `value` where `valid`, else 0.
  UOp masked(UOp value, const Expr& valid);

  UOp element(const LazyNode& n, std::span<const UOp> values);

  // --- loads ---

  const ShapeTracker& simplified(const LazyNode& n, const ShapeTracker& st);

  UOp load(const IndexedNode& k) {
    return load_from(*k.node, simplified(*k.node, std::get<BufferArg>(k.node->arg).st), k.at);
  }
  /// The element of the buffer of the LOAD `n` that `st` has at `where`.
  UOp load_from(const LazyNode& n, const ShapeTracker& st, const Coordinates& where);
  /// True iff the access is in bounds wherever the loops that it depends on have an iteration: it need not stay inside
  /// of other loops.
  bool is_in_bounds(const BufferArg& arg, const IndexExprs& at) const;
  /// True iff memory has an element also where none is needed (beyond a padded axis), so that the load needs no
  /// condition.
  bool is_anywhere(const BufferArg& arg, const IndexExprs& at, const Coordinates& where) const;

  // --- movement ---

  /// movement_of(n), simplified, for the ops for which moved() uses it (RESHAPE, STRIDE).
  const ShapeTracker& regrouping(const LazyNode& n);

  // --- reductions ---

  /// The nests of the reduction k.node at the index k.at, one for each choice of segments.
  std::vector<Nest> nests_of(const IndexedNode& k);

  /// A term of a reduction: the operand at one unrolled coordinate, and the condition under which it counts (padded
  /// axes, tails).
  struct Body {
    IndexedNode key;
    Expr guard;
  };
  std::vector<Body> bodies(const IndexedNode& k);
  /// The terms in the dtype of the accumulator, replaced by the identity where they do not count.
  std::vector<UOp> guarded(const IndexedNode& k, std::span<const UOp> values, UOp identity);

  UOp reduction(const IndexedNode& k, std::span<const UOp> values);

  LazyOp kernel_;
  const KernelAxes& axes_;
  Target target_;
  Lowered out_;
  LaneOps ops_;
  IndexUOps index_;
  Nests nests_;
  AccessUOps accesses_;
  ScanUOps scans_;
  MergedDims merged_;
  TileFill fill_;
  GatherIndices gather_indices_;
  Place place_;                 // of the current store
  std::vector<UOp> pin_loops_;  // the loops of pin(); empty: loads are not pinned
  std::vector<Expr> pin_at_;
  bool has_pinned_ = false;  // whether a load of the nest is pinned
  bool is_filling_ = false;  // scratch memory
  std::unordered_map<IndexedNode, UOp, HashIndexedNode> done_;
  std::unordered_map<IndexedNode, std::vector<UOp>, HashIndexedNode> groups_;  // of scans, by the first index
  std::unordered_map<IndexedNode, ScanUOps::Totals, HashIndexedNode> totals_;  // of scans, by row
  std::unordered_map<IndexedNode, Staged, HashIndexedNode> tiles_;             // by load and base
  std::int64_t scratch_bytes_ = 0;                                             // of all tiles
  std::vector<ScatteredStore> scattered_;                                      // of the current nest
  std::unordered_map<const LazyNode*, Staged> staged_;                         // by LOAD, for the current nest
  std::unordered_map<const LazyNode*, ShapeTracker> simple_;
};

}  // namespace strata
