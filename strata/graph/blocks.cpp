// block_axes(): the cuts of a kernel, and where they are in each store.

#include "strata/graph/blocks.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "strata/graph/block_ranges.h"
#include "strata/ir/sum_order.h"

namespace strata {

using detail::BlockRanges, detail::length, detail::of_one, detail::refuse_block, detail::Restricting, detail::whole;

namespace {

Ints store_shape(const LazyOp& kernel) { return kernel.src(0).shape(); }

/// One index of each axis: a variable.
Mask single(const Ints& shape, const std::vector<Variable>& at) {
  Mask out;
  for (std::size_t t = 0; t < shape.size(); ++t) {
    const Int first = shape[t] == Int(1) ? Int(0) : Int(Expr(at[t]));
    out.push_back({first, first + 1});
  }
  return out;
}

/// Whether the ranges of all uses depend on `at`.
bool follow(const std::vector<Mask>& uses, const Variable& at) {
  return std::all_of(uses.begin(), uses.end(), [&](const Mask& ranges) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const Extent& r) {
      if (r.begin.is_number()) return false;
      const std::vector<Variable> of = variables(r.begin.expr());
      return std::any_of(of.begin(), of.end(), [&](const Variable& v) { return same(v, at); });
    });
  });
}

/// The ranges of a dimension of `size` under each cut.
class CutRanges {
 public:
  CutRanges(const BlockAxes& axes, const Int& begin, const Int& rows, const std::vector<Int>& at)
      : rows_(axes.others.size()), begin_(begin), count_(rows), at_(at) {}
  Extent of(const BlockAxes::Cut& cut, const Int& size) const {
    if (!cut) return {0, size};
    return *cut == rows_ ? Extent{begin_, begin_ + count_} : Extent{at_[*cut], at_[*cut] + 1};
  }
  Mask of(const std::vector<BlockAxes::Cut>& cuts, const Ints& shape) const {
    Mask out;
    for (std::size_t t = 0; t < shape.size(); ++t) out.push_back(of(cuts[t], shape[t]));
    return out;
  }

 private:
  std::size_t rows_;
  Int begin_, count_;
  const std::vector<Int>& at_;
};

std::vector<BlockAxes::Cut> cuts_of_first(const BlockAxes& axes, std::size_t dims) {
  std::vector<BlockAxes::Cut> out(dims);
  out[axes.axis] = axes.others.size();
  for (std::size_t k = 0; k < axes.others.size(); ++k) out[axes.others[k]] = k;
  return out;
}

BlockRanges ranges_of(const LazyOp& kernel, const BlockAxes& axes, const Int& begin, const Int& rows,
                      const std::vector<Int>& at) {
  const CutRanges ranges(axes, begin, rows, at);
  const Ints& shape = store_shape(kernel);
  BlockRanges out = of_one(ranges.of(cuts_of_first(axes, shape.size()), shape));
  std::vector<const LazyNode*> nodes;
  for (std::size_t k = 0; k < axes.further.size(); ++k) {
    const BlockAxes::OfStore& store = axes.further[k];
    out.stores.push_back(ranges.of(store.dims, kernel.src(k + 1).shape()));
    if (nodes.empty() && !store.sums.empty()) nodes = postorder(kernel);
    for (const BlockAxes::Sum& sum : store.sums)
      out.added.emplace(nodes[sum.node], ranges.of(sum.dims, nodes[sum.node]->src[0].shape()));
  }
  return out;
}

/// Finds where the cuts of the first store are in the others: a dimension of a CONTIGUOUS node that has a cut for the
/// first store has it for all.
class CutsOfStores {
 public:
  /// @param at by axis of the first store: the variable of its index
  CutsOfStores(const LazyOp& kernel, BlockAxes axes, const std::vector<Variable>& at)
      : kernel_(kernel), axes_(std::move(axes)), nodes_(postorder(kernel)) {
    for (const std::size_t t : axes_.others) index_.push_back(at[t]);
    index_.push_back(at[axes_.axis]);
  }

  BlockAxes run() {
    Mask first = whole(store_shape(kernel_));
    for (std::size_t k = 0; k < index_.size(); ++k) {
      const Int index = Expr(index_[k]);
      first[k < axes_.others.size() ? axes_.others[k] : axes_.axis] = {index, index + 1};
    }
    learn(0, of_one(first));
    for (std::size_t k = 1; k < kernel_.src().size(); ++k) axes_.further.push_back(found(k));
    share();
    return std::move(axes_);
  }

 private:
  /// A dimension of a store, or of the operand of a reduction below it.
  struct Dim {
    std::optional<std::size_t> sum;  ///< by sums
    std::size_t dim;
    Variable index;
  };

  /// Notes the cuts of the CONTIGUOUS nodes of store `k`.
  void learn(std::size_t k, BlockRanges ranges) {
    const LazyOp alone = LazyOp::sink({kernel_.src(k)});
    const Restricting one(alone, std::move(ranges));
    for (const LazyNode* n : postorder(alone)) {
      if (n->op != Ops::CONTIGUOUS) continue;
      std::vector<BlockAxes::Cut> cuts;
      bool is_told = true;
      for (const Extent& r : one.of(*n)[0]) {
        cuts.push_back(cut_of(r.begin));
        is_told = is_told && (cuts.back() || r.begin.is_number());
      }
      if (is_told) known_.emplace(n, std::move(cuts));
    }
  }
  BlockAxes::Cut cut_of(const Int& begin) const {
    for (std::size_t k = 0; k < index_.size() && !begin.is_number(); ++k)
      if (begin == Int(Expr(index_[k]))) return k;
    return std::nullopt;
  }

  /// The reductions below a store, through elementwise and movement ops; below them, those of the same op through
  /// movement ops.
  void find_sums(const LazyNode& n, const LazyNode* above, std::vector<BlockAxes::Sum>& out) {
    if (!seen_.insert(&n).second) return;
    const bool is_sum = is_reduce(n.op);
    if (is_sum && above != nullptr && (n.op != above->op || accumulator_of(n.op, n.dtype) != n.dtype)) return;
    if (!is_sum && !is_movement(n.op) && (above != nullptr || (!is_elementwise(n.op) && n.op != Ops::STORE))) return;
    if (is_sum) {
      const auto node = static_cast<std::size_t>(std::find(nodes_.begin(), nodes_.end(), &n) - nodes_.begin());
      out.push_back({node, std::vector<BlockAxes::Cut>(n.src[0].shape().size()), above == nullptr});
    }
    for (const LazyOp& s : n.src) find_sums(*s.node(), is_sum ? &n : above, out);
  }

  BlockAxes::OfStore found(std::size_t k) {
    const LazyOp& store = kernel_.src(k);
    BlockAxes::OfStore out{std::vector<BlockAxes::Cut>(store.shape().size()), {}};
    seen_.clear();
    find_sums(*store.node(), nullptr, out.sums);
    std::vector<Dim> dims;
    const auto add = [&](std::optional<std::size_t> sum, std::size_t t, const Int& size) {
      const std::string name = detail::message("dim", dims.size(), "of", k);
      dims.push_back({sum, t, Variable(name, 0, std::max<std::int64_t>(size.vmax(), 1) - 1)});
      const Int first = size == Int(1) ? Int(0) : Int(Expr(dims.back().index));
      return Extent{first, first + 1};
    };
    BlockRanges single = of_one(whole(store.shape()));
    for (std::size_t t = 0; t < store.shape().size(); ++t) single.stores[0][t] = add(std::nullopt, t, store.shape()[t]);
    for (std::size_t s = 0; s < out.sums.size(); ++s) {
      const LazyNode& n = *nodes_[out.sums[s].node];
      Mask& of_sum = single.added.emplace(&n, whole(n.src[0].shape())).first->second;
      for (const std::int64_t a : std::get<Axes>(n.arg)) {
        const auto t = static_cast<std::size_t>(a);
        of_sum[t] = add(s, t, n.src[0].shape()[t]);
      }
    }
    place(k, single, dims, out);
    std::erase_if(out.sums, [](const BlockAxes::Sum& sum) {
      return !sum.is_outermost && std::none_of(sum.dims.begin(), sum.dims.end(), [](const auto& d) { return !!d; });
    });
    learn(k, ranges_of_store(k, out));
    return out;
  }

  /// Sets the cuts of the dimensions of store `k`, of which `single` has one index each.
  void place(std::size_t k, const BlockRanges& single, const std::vector<Dim>& dims, BlockAxes::OfStore& out) {
    const LazyOp alone = LazyOp::sink({kernel_.src(k)});
    const Restricting probe(alone, single, true);
    std::vector<std::optional<BlockAxes::Cut>> found(dims.size());  // by dimension: nothing: not known
    for (const LazyNode* n : postorder(alone)) {
      const auto known = known_.find(n);
      if (known == known_.end()) continue;
      for (const Mask& ranges : probe.of(*n))
        for (std::size_t t = 0; t < ranges.size(); ++t)
          for (std::size_t d = 0; d < dims.size() && !ranges[t].begin.is_number(); ++d) {
            if (!(ranges[t].begin == Int(Expr(dims[d].index)))) continue;
            if (found[d] && *found[d] != known->second[t])
              refuse_block("a dimension of store ", k, " has several parts in a block");
            found[d] = known->second[t];
          }
    }
    const Ints shape = store_shape(kernel_);
    std::vector<bool> is_placed(index_.size(), false);
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (!found[d] || !*found[d]) continue;
      const std::size_t cut = **found[d];
      const Int& size = dims[d].sum ? nodes_[out.sums[*dims[d].sum].node]->src[0].shape()[dims[d].dim]
                                    : kernel_.src(k).shape()[dims[d].dim];
      const Int& of_first = shape[cut < axes_.others.size() ? axes_.others[cut] : axes_.axis];
      if (is_placed[cut]) refuse_block("store ", k, " needs rows of a block, and the sum of all rows");
      if (!(size == of_first)) refuse_block("store ", k, " has other rows than the first store");
      is_placed[cut] = true;
      (dims[d].sum ? out.sums[*dims[d].sum].dims : out.dims)[dims[d].dim] = cut;
    }
    if (std::find(is_placed.begin(), is_placed.end(), false) == is_placed.end()) return;
    if (!(kernel_.src(k).shape() == shape))
      refuse_block("store ", k, " of shape ", render(kernel_.src(k).shape()),
                   " is not made of the blocks of the first store");
    out = {cuts_of_first(axes_, out.dims.size()), {}};
  }
  BlockRanges ranges_of_store(std::size_t k, const BlockAxes::OfStore& store) const {
    std::vector<Int> at;
    for (std::size_t j = 0; j < axes_.others.size(); ++j) at.emplace_back(Expr(index_[j]));
    const CutRanges ranges(axes_, Int(Expr(index_.back())), 1, at);
    BlockRanges out = of_one(ranges.of(store.dims, kernel_.src(k).shape()));
    for (const BlockAxes::Sum& sum : store.sums)
      out.added.emplace(nodes_[sum.node], ranges.of(sum.dims, nodes_[sum.node]->src[0].shape()));
    return out;
  }

  /// Removes the sums that add up nothing, and puts the cuts that all stores have in front.
  void share() {
    const std::size_t count = axes_.others.size();
    const auto has = [&](const BlockAxes::OfStore& store, std::size_t cut) {
      return std::find(store.dims.begin(), store.dims.end(), BlockAxes::Cut(cut)) != store.dims.end();
    };
    std::vector<std::size_t> order, rest;
    for (std::size_t k = 0; k < count; ++k)
      (std::all_of(axes_.further.begin(), axes_.further.end(), [&](const auto& s) { return has(s, k); }) ? order : rest)
          .push_back(k);
    axes_.shared = order.size();
    order.insert(order.end(), rest.begin(), rest.end());
    std::vector<std::size_t> place(count + 1, count), others;
    for (std::size_t k = 0; k < count; ++k) place[order[k]] = k, others.push_back(axes_.others[order[k]]);
    axes_.others = std::move(others);
    const auto renumber = [&](std::vector<BlockAxes::Cut>& cuts) {
      for (BlockAxes::Cut& cut : cuts)
        if (cut) cut = place[*cut];
    };
    for (std::size_t k = 0; k < axes_.further.size(); ++k) {
      BlockAxes::OfStore& store = axes_.further[k];
      renumber(store.dims);
      for (BlockAxes::Sum& sum : store.sums) renumber(sum.dims);
      check_sums(k + 1, store);
    }
    for (const BlockAxes::OfStore& store : axes_.further)
      for (const BlockAxes::Sum& sum : store.sums) check_uses(sum);
  }
  /// Refuses where more than the stores that add up `sum` need it: it is whole behind the last block alone.
  void check_uses(const BlockAxes::Sum& sum) {
    if (users_.empty())
      for (const LazyNode* user : nodes_)
        for (const LazyOp& s : user->src) users_[s.node()].push_back(user);
    std::vector<const LazyNode*> open = {nodes_[sum.node]};
    std::unordered_set<const LazyNode*> seen;
    while (!open.empty()) {
      const LazyNode* n = open.back();
      open.pop_back();
      for (const LazyNode* user : users_[n]) {
        if (!seen.insert(user).second) continue;
        if (is_movement(user->op) || (sum.is_outermost && is_elementwise(user->op)))
          open.push_back(user);
        else if (!(sum.is_outermost ? user->op == Ops::STORE && adds_up(*user, sum)
                                    : is_reduce(user->op) && adds_up(*user)))
          refuse_block("the sum of all blocks, of shape ", render(nodes_[sum.node]->shape), ", is needed by a block");
      }
    }
  }
  /// Whether store `n` adds up `sum`.
  bool adds_up(const LazyNode& n, const BlockAxes::Sum& sum) const {
    for (std::size_t k = 0; k < axes_.further.size(); ++k)
      if (kernel_.src(k + 1).node() == &n)
        return std::any_of(axes_.further[k].sums.begin(), axes_.further[k].sums.end(),
                           [&](const BlockAxes::Sum& own) { return own.node == sum.node && own.dims == sum.dims; });
    return false;
  }
  /// Whether reduction `n` is one that adds up.
  bool adds_up(const LazyNode& n) const {
    return std::any_of(axes_.further.begin(), axes_.further.end(), [&](const BlockAxes::OfStore& store) {
      return std::any_of(store.sums.begin(), store.sums.end(),
                         [&](const BlockAxes::Sum& sum) { return nodes_[sum.node] == &n; });
    });
  }
  void check_sums(std::size_t k, BlockAxes::OfStore& store) const {
    const auto is_cut = [](const BlockAxes::Sum& sum) {
      return std::any_of(sum.dims.begin(), sum.dims.end(), [](const auto& cut) { return cut.has_value(); });
    };
    if (std::none_of(store.sums.begin(), store.sums.end(), is_cut)) {
      store.sums.clear();
      return;
    }
    for (const BlockAxes::Cut& cut : store.dims)
      if (cut && *cut >= axes_.shared) refuse_block("store ", k, " adds up some blocks of its rows, and not others");
    if (std::count_if(store.sums.begin(), store.sums.end(), [](const auto& sum) { return sum.is_outermost; }) != 1)
      refuse_block("store ", k, " adds up blocks in several reductions");
  }

  LazyOp kernel_;
  BlockAxes axes_;
  std::vector<const LazyNode*> nodes_;
  std::vector<Variable> index_;                                             // by cut
  std::unordered_map<const LazyNode*, std::vector<BlockAxes::Cut>> known_;  // by CONTIGUOUS node
  std::unordered_set<const LazyNode*> seen_;
  std::unordered_map<const LazyNode*, std::vector<const LazyNode*>> users_;
};

}  // namespace

bool BlockAxes::add_up() const {
  return std::any_of(further.begin(), further.end(), [](const OfStore& store) { return !store.sums.empty(); });
}

BlockPlan block_axes(const LazyOp& kernel, std::size_t axis) {
  const Ints shape = store_shape(kernel);
  const auto refused = [](const auto&... why) { return BlockPlan{{}, detail::message(why...)}; };
  if (axis >= shape.size()) return refused("axis ", axis, " is not an output axis");
  const std::vector<BufferUse> buffers = buffers_of(kernel);
  for (std::size_t slot = 0; slot < buffers.size(); ++slot)
    if (buffers[slot].read && buffers[slot].written) return refused("buffer ", slot, " is read and written");
  std::vector<Variable> at;
  for (std::size_t t = 0; t < shape.size(); ++t)
    at.emplace_back(detail::message("row", t), 0, std::max<std::int64_t>(shape[t].vmax(), 1) - 1);
  std::vector<bool> is_followed(shape.size(), false);
  try {
    const LazyOp first = LazyOp::sink({kernel.src(0)});
    const Restricting one(first, of_one(single(shape, at)), true);
    bool has_parts = false;
    for (const LazyNode* n : postorder(first)) {
      if (n->op != Ops::CONTIGUOUS) continue;
      has_parts = true;
      for (std::size_t t = 0; t < at.size(); ++t)
        if (follow(one.of(*n), at[t])) is_followed[t] = true;
      if (!follow(one.of(*n), at[axis]))
        return refused(spec_name(n->op), " of shape ", render(n->shape), " does not follow axis ", axis);
    }
    if (!has_parts) return refused("the kernel has no CONTIGUOUS between its parts");
    BlockAxes out{axis};
    for (std::size_t t = 0; t < shape.size(); ++t) {
      if (t != axis && is_followed[t]) out.others.push_back(t);
      if ((t == axis || is_followed[t]) && !shape[t].is_number())
        return refused("axis ", t, " has the symbolic size ", shape[t].render());
      if ((t == axis || is_followed[t]) && shape[t] == Int(0)) return refused("axis ", t, " has no indices");
    }
    out = CutsOfStores(kernel, std::move(out), at).run();
    // Where two rows are an interval of each dimension, any number of rows is.
    std::vector<Int> others;
    for (const std::size_t t : out.others) others.emplace_back(Expr(at[t]));
    const Restricting two_rows(
        kernel, ranges_of(kernel, out, Int(Expr(at[axis])), std::min<std::int64_t>(shape[axis].value(), 2), others));
    return {std::move(out), {}};
  } catch (const Error& e) {
    return refused(e.what());
  }
}

bool reorders_sums(const LazyOp& kernel, const BlockAxes& axes) {
  const std::vector<const LazyNode*> nodes = postorder(kernel);
  return std::any_of(axes.further.begin(), axes.further.end(), [&](const BlockAxes::OfStore& store) {
    return std::any_of(store.sums.begin(), store.sums.end(), [&](const BlockAxes::Sum& sum) {
      return is_ordered(nodes[sum.node]->op, nodes[sum.node]->dtype);
    });
  });
}

bool has_contiguous(const LazyOp& kernel) {
  const std::vector<const LazyNode*> nodes = postorder(kernel);
  return std::any_of(nodes.begin(), nodes.end(), [](const LazyNode* n) { return n->op == Ops::CONTIGUOUS; });
}

std::optional<std::size_t> best_block_axis(const LazyOp& kernel) {
  std::optional<std::size_t> out;
  if (!has_contiguous(kernel)) return out;
  const Ints shape = store_shape(kernel);
  for (std::size_t t = shape.size(); t-- > 0;) {
    if (!shape[t].is_number() || shape[t] == Int(1) || shape[t] == Int(0)) continue;
    if (out && shape[t].value() <= shape[*out].value()) continue;
    if (block_axes(kernel, t).axes) out = t;
  }
  return out;
}

BlockChain block_chain(const LazyOp& kernel, const BlockAxes& axes, const Int& begin, std::int64_t rows,
                       const std::vector<Int>& at) {
  return Restricting(kernel, ranges_of(kernel, axes, begin, rows, at)).run(axes);
}

RowBytes bytes_of_row(const LazyOp& kernel, const BlockAxes& axes) {
  const Ints shape = store_shape(kernel);
  const Variable row("row", 0, std::max<std::int64_t>(shape[axes.axis].value(), 2) - 1);
  const Restricting one(kernel, ranges_of(kernel, axes, Int(Expr(row)), 1, std::vector<Int>(axes.others.size(), 0)));
  const auto bytes_in = [&](const LazyNode& n) {
    auto bytes = static_cast<double>(n.dtype.itemsize());
    for (const Extent& r : one.of(n)[0]) bytes *= static_cast<double>(std::max<std::int64_t>(length(r).vmax(), 1));
    return bytes;
  };
  const std::vector<const LazyNode*> nodes = postorder(kernel);
  RowBytes out;
  for (const LazyNode* n : nodes) {
    if (n->op != Ops::CONTIGUOUS && n->op != Ops::LOAD) continue;
    const auto follows = [&] {
      const std::vector<Variable> of = std::get<BufferArg>(n->arg).st.shrink(one.of(*n)[0]).vars();
      return std::any_of(of.begin(), of.end(), [&](const Variable& v) { return same(v, row); });
    };
    if (n->op == Ops::CONTIGUOUS)
      out.between += bytes_in(*n);
    else if (!follows())
      out.whole += std::min(bytes_in(*n), static_cast<double>(n->dtype.itemsize()) *
                                              static_cast<double>(std::get<BufferArg>(n->arg).size.vmax()));
  }
  for (const BlockAxes::OfStore& store : axes.further)
    for (const BlockAxes::Sum& sum : store.sums)
      if (sum.is_outermost) out.whole += bytes_in(*nodes[sum.node]);
  return out;
}

}  // namespace strata
