// plan_tiles(): the walk from a store to the load of the staged buffer. Coordinates inside of the stage are variables,
// whose ranges give the extent of the tile.

#include "strata/codegen/stage.h"
#include "strata/base/sort_few.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_set>

namespace strata {

namespace {

class TileWalk {
 public:
  TileWalk(int slot, const KernelAxes& axes, std::int64_t lanes, std::int64_t most_bytes, const std::string& what)
      : slot_(slot), axes_(axes), lanes_(lanes), most_bytes_(most_bytes), what_(what) {}

  std::vector<Tile> run(const LazyNode& store, std::span<const std::size_t> of,
                        std::span<const OutsideCoordinate> idxs) {
    std::vector<Expr> at(store.shape.size(), Expr(0));
    std::vector<Expr> values;
    for (std::size_t k = 0; k < of.size(); ++k) {
      Expr value = idxs[k].base;
      if (idxs[k].reach > 1) {
        const Variable v = inside(detail::message("_w", of[k]), idxs[k].reach);
        if (idxs[k].has_lanes) lane_variables_.push_back(v);
        value += v;
      }
      values.push_back(value);
    }
    set_dims(at, {}, of, values, axes_);
    open_.push_back({store.src[0].node(), {at, 1, false}, false});
    while (!open_.empty()) {
      const Open next = std::move(open_.back());
      open_.pop_back();
      visit(next);
    }
    choose();
    STRATA_CHECK(!staged_.empty(), domain, what_, "buffer ", slot_, " is not loaded for this store");
    std::vector<Tile> out;
    for (const Staged& s : staged_) out.push_back(tile(s));
    return out;
  }

 private:
  Variable inside(const std::string& name, std::int64_t count) {
    const Variable v(name, 0, count - 1);
    inside_.emplace_back(v, Expr(0));
    return v;
  }

  /// A node to visit, at its coordinates.
  struct Open {
    const LazyNode* node;
    Coordinates at;
    bool in_reduction;
  };

  void visit(const Open& open) {
    const LazyNode& n = *open.node;
    const Coordinates& at = open.at;
    if (n.op == Ops::LOAD) return note(open);
    if (n.src.empty()) return;
    if (!reaches(n)) return;
    if (is_movement(n.op)) {
      open_.push_back({n.src[0].node(), moved(n, at, movement_of(n).simplify()), open.in_reduction});
      return;
    }
    Coordinates below = at;
    if (is_reduce(n.op)) {
      const ReduceGroup& group = axes_.group_of(&n);
      std::vector<std::size_t> of;
      std::vector<Expr> values;
      for (std::size_t j = 0; j < group.count; ++j) {
        // A tile has room for the largest value of a symbolic size.
        const std::int64_t most = reach(axes_.axes()[group.first + j]).vmax();
        of.push_back(group.first + j);
        values.push_back(most > 1 ? Expr(inside(detail::message("_r", group.first + j), most)) : Expr(0));
      }
      const Axes& reduced = std::get<Axes>(n.arg);
      set_dims(below.idxs, {reduced.data(), reduced.size()}, of, values, axes_);
    }
    for (const LazyOp& s : n.src) {
      STRATA_CHECK(n.op != Ops::GATHER || s == n.src[1] || !reaches(*s.node()), domain, what_, "buffer ", slot_,
                   " is loaded at a computed index");
      open_.push_back({s.node(), below, open.in_reduction || is_reduce(n.op)});
    }
  }

  /// The size of an axis including the iterations that PADTO added.
  static Int reach(const LoopAxis& axis) {
    if (!axis.padded) return axis.size;
    const Segment& last = axis.segments.back();
    return last.begin + last.size();
  }

  /// True iff the buffer is loaded below `n`.
  bool reaches(const LazyNode& n) {
    if (const auto it = reaches_.find(&n); it != reaches_.end()) return it->second;
    for (const LazyNode* below : nodes_below(n)) {
      bool some = below->op == Ops::LOAD && std::get<BufferArg>(below->arg).slot == slot_;
      for (const LazyOp& s : below->src) some = some || reaches_.at(s.node());
      reaches_[below] = some;
    }
    return reaches_.at(&n);
  }
  static std::vector<const LazyNode*> nodes_below(const LazyNode& n) {
    std::vector<const LazyNode*> out = postorder(std::span<const LazyOp>(n.src));
    out.push_back(&n);
    return out;
  }

  void note(const Open& open) {
    if (std::get<BufferArg>(open.node->arg).slot == slot_) loads_.push_back(open);
  }
  /// A load that is staged.
  struct Staged {
    const LazyNode* load;
    AccessMap map;
    std::vector<Expr> at;  ///< the index of the map's source
  };
  /// Chooses the loads to stage: those in reductions, where there are some; others read memory then.
  void choose() {
    const bool some = std::any_of(loads_.begin(), loads_.end(), [](const Open& o) { return o.in_reduction; });
    for (const Open& open : loads_)
      if (open.in_reduction == some) stage(*open.node, open.at);
    for (const Open& open : loads_)
      STRATA_CHECK(open.in_reduction == some || find(*open.node) == nullptr, domain, what_, "buffer ", slot_,
                   " is loaded at more than one index");
  }
  const Staged* find(const LazyNode& load) const {
    const auto it = std::find_if(staged_.begin(), staged_.end(), [&](const Staged& s) { return s.load == &load; });
    return it == staged_.end() ? nullptr : &*it;
  }
  void stage(const LazyNode& n, const Coordinates& at) {
    STRATA_CHECK(at.valid.constant() && *at.valid.constant() != 0, domain, what_, "buffer ", slot_,
                 " is loaded under the condition ", at.valid.render());
    const Staged* known = find(n);
    AccessMap map = known != nullptr ? known->map : access_map(std::get<BufferArg>(n.arg).st.simplify());
    std::vector<Expr> found = map.at(at.idxs);
    if (known == nullptr) return staged_.push_back({&n, std::move(map), std::move(found)});
    STRATA_CHECK(std::equal(known->at.begin(), known->at.end(), found.begin(), found.end(), same), domain, what_,
                 "buffer ", slot_, " is loaded at more than one index");
  }

  Tile tile(const Staged& staged) const {
    Tile out{staged.load, staged.map, {}, {}, {}, {}, {}, 0};
    std::vector<bool> has_lanes;
    for (const Expr& at : staged.at) {
      out.base.push_back(substitute(at, inside_));
      const Expr t = at - out.base.back();
      const std::vector<Variable> of = variables(t);
      for (const Variable& v : of)
        STRATA_CHECK(std::any_of(inside_.begin(), inside_.end(), [&](const auto& i) { return same(i.first, v); }),
                     domain, what_, "buffer ", slot_, " is loaded at ", at.render(),
                     ", which is not the sum of a base and a tile");
      const Facts facts = t.facts(Effort::exact);
      STRATA_CHECK(facts.min > -most_bytes_ && facts.max < most_bytes_, domain, what_, "buffer ", slot_,
                   " is loaded at ", at.render(), ", which is not the sum of a base and a tile");
      out.unit.push_back(std::max<std::int64_t>(unit_of(t), 1));
      // A tile that is read backwards begins in front of where the variables are 0.
      const std::int64_t before = (out.unit.back() - 1 - facts.min) / out.unit.back();
      if (before != 0) out.base.back() += -before * out.unit.back();
      out.extent.push_back(facts.max / out.unit.back() + before + 1);
      has_lanes.push_back(std::any_of(of.begin(), of.end(), [&](const Variable& v) {
        return std::any_of(lane_variables_.begin(), lane_variables_.end(), [&](const Expr& l) { return same(l, v); });
      }));
    }
    const std::int64_t size = lay_out(out, has_lanes);
    for (std::size_t d = 0; d < out.extent.size(); ++d) {
      const Int& all = staged.map.source.shape()[d];
      const bool is_all = out.base[d].constant() == 0 && out.unit[d] == 1 && all.vmax() <= out.extent[d];
      out.count.push_back(is_all && !all.is_number() && d != out.inner ? all : Int(out.extent[d]));
    }
    const auto bytes = size * static_cast<std::int64_t>(staged.load->dtype.itemsize());
    STRATA_CHECK(bytes <= most_bytes_, domain, what_, "a tile of ", render(out.extent), " elements is larger than ",
                 most_bytes_, " bytes");
    return out;
  }

  /// The greatest common divisor of the differences that single steps of the variables make.
  std::int64_t unit_of(const Expr& t) const {
    std::int64_t out = 0;
    for (const Variable& v : variables(t)) {
      const Expr step = substitute(t, {{v, v + 1}}) - t;
      out = std::gcd(out, step.is_constant() ? step.value() : 1);
    }
    return out;
  }
  /// Sets the order of the dimensions in scratch memory: those along the lanes are innermost. Returns the number of
  /// elements, at most most_bytes_ + 1.
  std::int64_t lay_out(Tile& tile, const std::vector<bool>& has_lanes) const {
    std::vector<std::size_t> order(tile.extent.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    sort_few(order, [&](std::size_t a, std::size_t b) { return has_lanes[a] != has_lanes[b] ? has_lanes[b] : a < b; });
    const auto inner = std::find_if(order.rbegin(), order.rend(), [&](std::size_t d) { return tile.extent[d] > 1; });
    if (inner != order.rend()) {
      tile.inner = *inner;
      std::int64_t& extent = tile.extent[tile.inner];
      if (2 * extent > lanes_) extent = (extent + lanes_ - 1) / lanes_ * lanes_;
    }
    tile.stride = Index(tile.extent.size(), 0);
    std::int64_t place = 1;
    for (std::size_t k = order.size(); k-- > 0;) {
      tile.stride[order[k]] = place;
      place = std::min(place * tile.extent[order[k]], most_bytes_ + 1);
    }
    return place;
  }

  int slot_;
  const KernelAxes& axes_;
  std::int64_t lanes_, most_bytes_;
  const std::string& what_;
  std::vector<Open> open_, loads_;
  Substitution inside_;  // maps each variable of the tile to 0
  std::vector<Expr> lane_variables_;
  std::unordered_map<const LazyNode*, bool> reaches_;
  std::vector<Staged> staged_;
};

}  // namespace

Expr Tile::address(std::span<const Expr> idxs) const {
  const std::vector<Expr> at = map.at(idxs);
  Expr out = 0;
  for (std::size_t d = 0; d < at.size(); ++d) out += (at[d] - base[d]) / unit[d] * stride[d];
  return out;
}

bool loads_buffer(const LazyNode& store, int slot) {
  const std::vector<const LazyNode*> nodes = postorder(std::span<const LazyOp>(store.src));
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const LazyNode* n) { return n->op == Ops::LOAD && std::get<BufferArg>(n->arg).slot == slot; });
}

std::vector<OutsideCoordinate> outside_of(const Stage& stage, const KernelAxes& axes, std::span<const std::size_t> of,
                                          const Nest& nest, std::vector<UOp>& around) {
  std::vector<OutsideCoordinate> out;
  for (const Nest::Axis& p : nest.axes) out.push_back({p.begin, 1, false});
  std::vector<std::vector<bool>> is_outside;
  for (const Nest::Axis& p : nest.axes) is_outside.emplace_back(p.parts.size(), false);
  // A loop that belongs to no part (the leftover loop of the parallel axis) is around all others.
  for (const UOp loop : nest.loops)
    if (std::none_of(nest.order.begin(), nest.order.end(), [&](const Nest::LoopPart& l) { return l.loop == loop; }))
      around.push_back(loop);
  std::size_t last = 0;
  for (std::size_t k = 0; k < nest.order.size(); ++k)
    if (of[nest.order[k].axis] == stage.axis && nest.order[k].part == 0) last = k + 1;
  for (std::size_t k = 0; k < last; ++k) {
    const Nest::LoopPart& l = nest.order[k];
    is_outside[l.axis][l.part] = true;
    if (l.loop) around.push_back(l.loop);
  }
  for (std::size_t k = 0; k < of.size(); ++k) {
    const LoopAxis& axis = axes.axes()[of[k]];
    const Nest::Axis& p = nest.axes[k];
    for (std::size_t j = 0; j < p.parts.size(); ++j) {
      if (is_outside[k][j]) {
        out[k].base += p.parts[j].first * p.parts[j].second.expr();
        continue;
      }
      // A tile has room for the largest value of a symbolic size; most loads do not move along such an axis.
      const Int size = axis.segments[nest.segments[k]].parts[j].size;
      STRATA_CHECK(try_mul(out[k].reach, std::max<std::int64_t>(size.vmax(), 1), out[k].reach), domain, "[STAGE ",
                   stage.axis, " ", stage.slot, "] axis ", of[k], " has the symbolic size ", size.render());
      const std::vector<Variable> names = variables(p.parts[j].first);
      out[k].has_lanes =
          out[k].has_lanes || (nest.lanes != nullptr && !names.empty() && same(names[0], nest.lanes->variable));
    }
  }
  return out;
}

std::vector<Tile> plan_tiles(const LazyNode& store, int slot, const KernelAxes& axes, std::span<const std::size_t> of,
                             std::span<const OutsideCoordinate> idxs, std::int64_t lanes, std::int64_t most_bytes,
                             const std::string& what) {
  return TileWalk(slot, axes, lanes, most_bytes, what).run(store, of, idxs);
}

}  // namespace strata
