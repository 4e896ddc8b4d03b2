#include "strata/graph/block_ranges.h"

#include <algorithm>
#include <unordered_set>

#include "strata/graph/absorb.h"
#include "strata/ir/sum_order.h"

namespace strata {

namespace {

constexpr std::size_t kMostRanges = 8;  // of one node

bool are_equal(const Mask& a, const Mask& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }
using detail::length, detail::whole;

Ints lengths(const Mask& ranges) {
  Ints out;
  for (const Extent& r : ranges) out.push_back(length(r));
  return out;
}

/// The quotient and the remainder of an index by a number.
Int quotient(const Int& a, std::int64_t b) { return a.is_number() ? Int(a.value() / b) : Int(a.expr() / b); }
Int remainder(const Int& a, std::int64_t b) { return a.is_number() ? Int(a.value() % b) : Int(a.expr() % b); }

/// Whether the ranges of `dims` but the last are one index each: neighbours in the last dimension are neighbours.
bool is_only_last_wide(const Mask& ranges, const std::vector<std::size_t>& dims) {
  return std::all_of(dims.begin(), dims.end() - 1, [&](std::size_t k) { return length(ranges[k]) == Int(1); });
}

/// The ranges of the operand of a RESHAPE from `below` to `above`, whose result has `ranges`. Both shapes are divided
/// into the shortest runs with equal products. A run is one dimension with its range, whole, one index, or one
/// dimension below and one index of all dimensions above but the last.
Mask through_reshape(const Mask& ranges, const Ints& above, const Ints& below) {
  Mask out = whole(below);
  std::size_t a = 0, b = 0;
  while (a < above.size() || b < below.size()) {
    const std::size_t first_a = a, first_b = b;
    Int left = 1, right = 1;
    if (a < above.size()) left *= above[a++];
    if (b < below.size()) right *= below[b++];
    while (!(left == right) && (a < above.size() || b < below.size())) {
      const bool is_smaller = left.is_number() && right.is_number() && left.value() < right.value();
      if (a < above.size() && (b == below.size() || is_smaller))
        left *= above[a++];
      else
        right *= below[b++];
    }

    bool all = true, one = true;
    std::vector<std::size_t> wide_a, wide_b;  // the dimensions of more than one index
    for (std::size_t k = first_a; k < a; ++k) {
      all = all && is_full(ranges[k], above[k]);
      one = one && length(ranges[k]) == Int(1);
      if (!(above[k] == Int(1))) wide_a.push_back(k);
    }
    if (all) continue;
    for (std::size_t k = first_b; k < b; ++k)
      if (!(below[k] == Int(1))) wide_b.push_back(k);
    if (wide_a.size() == 1 && wide_b.size() == 1) {
      out[wide_b[0]] = ranges[wide_a[0]];
      continue;
    }
    Int index = 0;
    for (std::size_t k = first_a; k < a; ++k) index = index * above[k] + ranges[k].begin;
    if (wide_b.size() == 1 && !wide_a.empty() && is_only_last_wide(ranges, wide_a)) {
      out[wide_b[0]] = {index, index + length(ranges[wide_a.back()])};
      continue;
    }
    if (!one) detail::refuse_block("a RESHAPE from ", render(below), " to ", render(above), " moves rows apart");
    for (std::size_t k = wide_b.size(); k-- > 0;) {
      const Int& size = below[wide_b[k]];
      if (!size.is_number() || size.value() < 1) detail::refuse_block("a RESHAPE of the size ", size.render());
      const Int at = k == 0 ? index : remainder(index, size.value());
      out[wide_b[k]] = {at, at + 1};
      index = quotient(index, size.value());
    }
  }
  return out;
}

}  // namespace

Mask ranges_below(const LazyNode& n, const Mask& ranges) {
  const Ints& below = n.src[0].shape();
  switch (n.op) {
    case Ops::RESHAPE: return through_reshape(ranges, n.shape, below);
    case Ops::PERMUTE: {
      Mask out = whole(below);
      const Axes& order = std::get<Axes>(n.arg);
      for (std::size_t t = 0; t < order.size(); ++t) out[static_cast<std::size_t>(order[t])] = ranges[t];
      return out;
    }
    case Ops::EXPAND: {
      Mask out = ranges;
      for (std::size_t t = 0; t < below.size(); ++t)
        if (!(below[t] == n.shape[t])) out[t] = {0, 1};
      return out;
    }
    case Ops::SHRINK: {
      Mask out = ranges;
      const Mask& bounds = std::get<Mask>(n.arg);
      for (std::size_t t = 0; t < below.size(); ++t) {
        out[t].begin += bounds[t].begin;
        out[t].end += bounds[t].begin;
      }
      return out;
    }
    default: {
      Mask out = whole(below);
      for (std::size_t t = 0; t < below.size(); ++t) {
        if (is_full(ranges[t], n.shape[t])) continue;
        if (!(below[t] == n.shape[t])) detail::refuse_block(spec_name(n.op), " moves rows of dimension ", t);
        if (n.op == Ops::STRIDE && !(std::get<Ints>(n.arg)[t] == Int(1)))
          detail::refuse_block(spec_name(n.op), " moves rows of dimension ", t);
        if (n.op == Ops::PAD) {
          const auto& [before, after] = std::get<Padding>(n.arg)[t];
          if (!(before == Int(0) && after == Int(0)))
            detail::refuse_block(spec_name(n.op), " moves rows of dimension ", t);
        }
        out[t] = ranges[t];
      }
      return out;
    }
  }
}

namespace detail {

Restricting::Restricting(const LazyOp& kernel, BlockRanges block, bool several)
    : kernel_(kernel), added_(std::move(block.added)), several_(several), nodes_(postorder(kernel)) {
  for (const LazyNode* user : nodes_)
    for (const LazyOp& s : user->src) handles_.emplace(s.node(), s);
  for (std::size_t k = 0; k < block.stores.size(); ++k) add(kernel.src(k).node(), block.stores[k]);
  for (std::size_t k = nodes_.size(); k-- > 0;) pass_on(*nodes_[k]);
}

BlockChain Restricting::run(const BlockAxes& axes) {
  std::unordered_set<const LazyNode*> outermost;
  for (const BlockAxes::OfStore& store : axes.further)
    for (const BlockAxes::Sum& sum : store.sums)
      if (sum.is_outermost) outermost.insert(nodes_[sum.node]);
  slot_ = static_cast<int>(buffers_of(kernel_).size());
  for (const LazyNode* n : nodes_) {
    if (n->op == Ops::SINK) break;
    for (const Mask& ranges : ranges_[n]) {
      LazyOp made = outermost.contains(n) ? added_up(*n, ranges) : restricted(*n, ranges);
      made_[n].push_back(n->op == Ops::CONTIGUOUS ? stored(made) : std::move(made));
    }
  }
  add_stores(axes);
  return std::move(out_);
}

void Restricting::add_step(BlockTurn turn, int temporary, const std::vector<LazyOp>& stores) {
  out_.steps.push_back({absorb_movement(LazyOp::sink(stores)), turn, temporary});
}

int Restricting::next_temporary() {
  out_.temporaries.push_back(slot_);
  return slot_++;
}

/// The result between that holds `made`.
LazyOp Restricting::stored(const LazyOp& made) {
  const int slot = next_temporary();
  const ShapeTracker memory = ShapeTracker::from_shape(made.shape());
  add_step(BlockTurn::each, slot, {LazyOp::store(slot, memory, made)});
  return LazyOp::load(slot, made.dtype(), memory);
}

/// The result between to which each block adds its part of reduction `n`.
LazyOp Restricting::added_up(const LazyNode& n, const Mask& ranges) {
  const int slot = next_temporary();
  const DType wide = accumulator_of(n.op, n.dtype);
  const LazyOp part = LazyOp::reduce(n.op, made(n.src[0], of_source(n, 0, ranges)).cast(wide), std::get<Axes>(n.arg));
  const ShapeTracker memory = ShapeTracker::from_shape(part.shape());
  const LazyOp before = LazyOp::load(slot, wide, memory);
  const LazyOp none = LazyOp::constant(identity_of(n.op, wide), part.shape());
  add_step(BlockTurn::first, slot, {LazyOp::store(slot, memory, none)});
  add_step(BlockTurn::each, slot, {LazyOp::store(slot, memory, LazyOp::alu(combining_op(n.op), {before, part}))});
  return before.cast(n.dtype);
}

/// The stores of each block: one kernel for each shape. Then those of what has been added up.
void Restricting::add_stores(const BlockAxes& axes) {
  std::vector<std::vector<LazyOp>> each, last;
  for (std::size_t k = 0; k < kernel_.src().size(); ++k) {
    const LazyOp& made = made_.at(kernel_.src(k).node())[0];
    const bool adds_up = k > 0 && !axes.further.empty() && !axes.further[k - 1].sums.empty();
    std::vector<std::vector<LazyOp>>& known = adds_up ? last : each;
    const auto same_shape = std::find_if(known.begin(), known.end(), [&](const std::vector<LazyOp>& stores) {
      return stores[0].shape() == made.shape() && !adds_up;
    });
    if (same_shape == known.end())
      known.push_back({made});
    else
      same_shape->push_back(made);
  }
  for (const std::vector<LazyOp>& stores : each) add_step(BlockTurn::each, -1, stores);
  for (const std::vector<LazyOp>& stores : last) add_step(BlockTurn::last, -1, stores);
}

void Restricting::add(const LazyNode* n, const Mask& ranges) {
  std::vector<Mask>& known = ranges_[n];
  if (std::any_of(known.begin(), known.end(), [&](const Mask& k) { return are_equal(k, ranges); })) return;
  if (known.size() == kMostRanges || (n->op == Ops::CONTIGUOUS && !known.empty() && !several_))
    refuse_block(spec_name(n->op), " of shape ", render(n->shape), " is used with other rows of the block, too");
  known.push_back(ranges);
}

/// The ranges of source `j` of `n`.
Mask Restricting::of_source(const LazyNode& n, std::size_t j, const Mask& ranges) const {
  if (is_movement(n.op)) return ranges_below(n, ranges);
  if (is_reduce(n.op)) {
    Mask out = ranges;
    const auto added = added_.find(&n);
    for (const std::int64_t a : std::get<Axes>(n.arg)) {
      const auto t = static_cast<std::size_t>(a);
      out[t] = added == added_.end() ? Extent{0, n.src[0].shape()[t]} : added->second[t];
    }
    return out;
  }
  const bool is_plain = is_elementwise(n.op) || n.op == Ops::CONTIGUOUS || n.op == Ops::STORE;
  if (!is_plain && !are_equal(ranges, whole(n.shape))) refuse_block(spec_name(n.op), " is not computed in rows");
  return is_plain ? ranges : whole(n.src[j].shape());
}

void Restricting::pass_on(const LazyNode& n) {
  if (n.op == Ops::SINK) return;
  for (const Mask& ranges : std::vector<Mask>(ranges_[&n]))
    for (std::size_t j = 0; j < n.src.size(); ++j) add(n.src[j].node(), of_source(n, j, ranges));
}

const LazyOp& Restricting::made(const LazyOp& source, const Mask& ranges) const {
  const std::vector<Mask>& known = ranges_.at(source.node());
  for (std::size_t k = 0; k < known.size(); ++k)
    if (are_equal(known[k], ranges)) return made_.at(source.node())[k];
  throw InternalError("[block_chain] a source without its ranges");
}

LazyOp Restricting::restricted(const LazyNode& n, const Mask& ranges) const {
  const LazyOp& self = handles_.at(&n);
  std::vector<LazyOp> sources;
  for (std::size_t j = 0; j < n.src.size(); ++j) sources.push_back(made(n.src[j], of_source(n, j, ranges)));
  if (sources.empty()) return self.shrink(ranges);
  if (n.op == Ops::CONTIGUOUS) return sources[0];
  if (n.op == Ops::STORE) {
    const BufferArg& arg = std::get<BufferArg>(n.arg);
    return LazyOp::store(arg.slot, arg.st.shrink(ranges), sources[0], arg.size);
  }
  if (n.op == Ops::CAST) return sources[0].cast(n.dtype);
  if (n.op == Ops::BITCAST) return sources[0].bitcast(n.dtype);
  if (is_elementwise(n.op)) return LazyOp::alu(n.op, sources);
  if (is_reduce(n.op)) return LazyOp::reduce(n.op, sources[0], std::get<Axes>(n.arg));
  if (n.op == Ops::PERMUTE) return sources[0].permute(std::get<Axes>(n.arg));
  if (n.op == Ops::RESHAPE) return sources[0].reshape(lengths(ranges));
  if (n.op == Ops::EXPAND) return sources[0].expand(lengths(ranges));
  if (n.op == Ops::SHRINK) return sources[0];  // the ranges of the source are those of its result
  if (n.op == Ops::PAD || n.op == Ops::STRIDE) return moved_as(n, sources[0]);
  return self.with_sources(sources);
}

}  // namespace detail

}  // namespace strata
