// block_chain(): the parts of a kernel, restricted to the rows of a block from the stores down.

#include "strata/graph/blocks.h"

#include <algorithm>
#include <unordered_map>

#include "strata/graph/absorb.h"

namespace strata {

namespace {

constexpr std::size_t kMostRanges = 8;  // of one node

bool are_equal(const Mask& a, const Mask& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }
Int length(const Extent& range) { return range.end - range.begin; }
Mask whole(const Ints& shape) {
  Mask out;
  for (const Int& size : shape) out.push_back({0, size});
  return out;
}
Ints lengths(const Mask& ranges) {
  Ints out;
  for (const Extent& r : ranges) out.push_back(length(r));
  return out;
}

template <class... Why>
[[noreturn]] void refuse(const Why&... why) {
  throw Error(ErrorKind::domain, detail::message(why...));
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
    if (!one) refuse("a RESHAPE from ", render(below), " to ", render(above), " moves rows apart");
    for (std::size_t k = wide_b.size(); k-- > 0;) {
      const Int& size = below[wide_b[k]];
      if (!size.is_number() || size.value() < 1) refuse("a RESHAPE of the size ", size.render());
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
        if (!(below[t] == n.shape[t])) refuse(spec_name(n.op), " moves rows of dimension ", t);
        if (n.op == Ops::STRIDE && !(std::get<Ints>(n.arg)[t] == Int(1)))
          refuse(spec_name(n.op), " moves rows of dimension ", t);
        if (n.op == Ops::PAD) {
          const auto& [before, after] = std::get<Padding>(n.arg)[t];
          if (!(before == Int(0) && after == Int(0))) refuse(spec_name(n.op), " moves rows of dimension ", t);
        }
        out[t] = ranges[t];
      }
      return out;
    }
  }
}

namespace {

/// The restriction of a kernel to a block.
class Restricting {
 public:
  /// @param block the ranges of the stores' dimensions  @param several whether a CONTIGUOUS node may have several
  Restricting(const LazyOp& kernel, const Mask& block, bool several = false)
      : kernel_(kernel), several_(several), nodes_(postorder(kernel)) {
    for (const LazyNode* user : nodes_)
      for (const LazyOp& s : user->src) handles_.emplace(s.node(), s);
    for (const LazyOp& store : kernel.src()) {
      add(store.node(), block);
    }
    for (std::size_t k = nodes_.size(); k-- > 0;) pass_on(*nodes_[k]);
  }

  /// The ranges of a node, one for each way in which it is used.
  const std::vector<Mask>& of(const LazyNode& n) const { return ranges_.at(&n); }

  BlockChain run() {
    BlockChain out;
    int slot = static_cast<int>(buffers_of(kernel_).size());
    for (const LazyNode* n : nodes_) {
      if (n->op == Ops::SINK) break;
      for (const Mask& ranges : ranges_[n]) {
        LazyOp made = restricted(*n, ranges);
        if (n->op == Ops::CONTIGUOUS) {
          const ShapeTracker memory = ShapeTracker::from_shape(made.shape());
          out.kernels.push_back(absorb_movement(LazyOp::sink({LazyOp::store(slot, memory, made)})));
          out.temporaries.push_back(slot);
          made = LazyOp::load(slot++, n->dtype, memory);
        }
        made_[n].push_back(std::move(made));
      }
    }
    std::vector<LazyOp> stores;
    for (const LazyOp& store : kernel_.src()) stores.push_back(made_.at(store.node())[0]);
    out.kernels.push_back(absorb_movement(LazyOp::sink(stores)));
    return out;
  }

 private:
  void add(const LazyNode* n, const Mask& ranges) {
    std::vector<Mask>& known = ranges_[n];
    if (std::any_of(known.begin(), known.end(), [&](const Mask& k) { return are_equal(k, ranges); })) return;
    if (known.size() == kMostRanges || (n->op == Ops::CONTIGUOUS && !known.empty() && !several_))
      refuse(spec_name(n->op), " of shape ", render(n->shape), " is used with other rows of the block, too");
    known.push_back(ranges);
  }
  /// The ranges of source `j` of `n`.
  static Mask of_source(const LazyNode& n, std::size_t j, const Mask& ranges) {
    if (is_movement(n.op)) return ranges_below(n, ranges);
    if (is_reduce(n.op)) {
      Mask out = ranges;
      for (const std::int64_t a : std::get<Axes>(n.arg)) {
        const auto t = static_cast<std::size_t>(a);
        out[t] = {0, n.src[0].shape()[t]};
      }
      return out;
    }
    const bool is_plain = is_elementwise(n.op) || n.op == Ops::CONTIGUOUS || n.op == Ops::STORE;
    if (!is_plain && !are_equal(ranges, whole(n.shape))) refuse(spec_name(n.op), " is not computed in rows");
    return is_plain ? ranges : whole(n.src[j].shape());
  }
  void pass_on(const LazyNode& n) {
    if (n.op == Ops::SINK) return;
    for (const Mask& ranges : std::vector<Mask>(ranges_[&n]))
      for (std::size_t j = 0; j < n.src.size(); ++j) add(n.src[j].node(), of_source(n, j, ranges));
  }

  const LazyOp& made(const LazyOp& source, const Mask& ranges) const {
    const std::vector<Mask>& known = ranges_.at(source.node());
    for (std::size_t k = 0; k < known.size(); ++k)
      if (are_equal(known[k], ranges)) return made_.at(source.node())[k];
    throw InternalError("[block_chain] a source without its ranges");
  }
  LazyOp restricted(const LazyNode& n, const Mask& ranges) const {
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

  LazyOp kernel_;
  bool several_;
  std::vector<const LazyNode*> nodes_;
  std::unordered_map<const LazyNode*, LazyOp> handles_;
  std::unordered_map<const LazyNode*, std::vector<Mask>> ranges_;
  std::unordered_map<const LazyNode*, std::vector<LazyOp>> made_;  // as ranges_
};

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

Mask block_of(const Ints& shape, const BlockAxes& axes, const Int& begin, std::int64_t rows,
              const std::vector<Int>& at) {
  Mask out = whole(shape);
  out[axes.axis] = {begin, begin + rows};
  for (std::size_t k = 0; k < axes.others.size(); ++k) out[axes.others[k]] = {at[k], at[k] + 1};
  return out;
}

}  // namespace

BlockPlan block_axes(const LazyOp& kernel, std::size_t axis) {
  const Ints shape = store_shape(kernel);
  const auto refused = [](const auto&... why) { return BlockPlan{{}, detail::message(why...)}; };
  if (axis >= shape.size()) return refused("axis ", axis, " is not an output axis");
  const std::vector<BufferUse> buffers = buffers_of(kernel);
  for (std::size_t slot = 0; slot < buffers.size(); ++slot)
    if (buffers[slot].read && buffers[slot].written) return refused("buffer ", slot, " is read and written");
  for (const LazyOp& store : kernel.src())
    if (!(store.shape() == shape))
      return refused("the stores have shapes ", render(shape), " and ", render(store.shape()));
  std::vector<Variable> at;
  for (std::size_t t = 0; t < shape.size(); ++t)
    at.emplace_back(detail::message("row", t), 0, std::max<std::int64_t>(shape[t].vmax(), 1) - 1);
  std::vector<bool> is_followed(shape.size(), false);
  try {
    const Restricting one(kernel, single(shape, at), true);
    bool has_parts = false;
    for (const LazyNode* n : postorder(kernel)) {
      if (n->op != Ops::CONTIGUOUS) continue;
      has_parts = true;
      for (std::size_t t = 0; t < at.size(); ++t)
        if (follow(one.of(*n), at[t])) is_followed[t] = true;
      if (!follow(one.of(*n), at[axis]))
        return refused(spec_name(n->op), " of shape ", render(n->shape), " does not follow axis ", axis);
    }
    if (!has_parts) return refused("the kernel has no CONTIGUOUS between its parts");
    BlockAxes out{axis, {}};
    for (std::size_t t = 0; t < shape.size(); ++t) {
      if (t != axis && is_followed[t]) out.others.push_back(t);
      if ((t == axis || is_followed[t]) && !shape[t].is_number())
        return refused("axis ", t, " has the symbolic size ", shape[t].render());
      if ((t == axis || is_followed[t]) && shape[t] == Int(0)) return refused("axis ", t, " has no indices");
    }
    // Where two rows are an interval of each dimension, any number of rows is.
    std::vector<Int> others;
    for (const std::size_t t : out.others) others.emplace_back(Expr(at[t]));
    const Restricting two_rows(
        kernel, block_of(shape, out, Int(Expr(at[axis])), std::min<std::int64_t>(shape[axis].value(), 2), others));
    return {std::move(out), {}};
  } catch (const Error& e) {
    return refused(e.what());
  }
}

std::optional<std::size_t> best_block_axis(const LazyOp& kernel) {
  std::optional<std::size_t> out;
  const Ints shape = store_shape(kernel);
  const std::vector<const LazyNode*> nodes = postorder(kernel);
  if (std::none_of(nodes.begin(), nodes.end(), [](const LazyNode* n) { return n->op == Ops::CONTIGUOUS; })) return out;
  for (std::size_t t = shape.size(); t-- > 0;) {
    if (!shape[t].is_number() || shape[t] == Int(1) || shape[t] == Int(0)) continue;
    if (out && shape[t].value() <= shape[*out].value()) continue;
    if (block_axes(kernel, t).axes) out = t;
  }
  return out;
}

BlockChain block_chain(const LazyOp& kernel, const BlockAxes& axes, const Int& begin, std::int64_t rows,
                       const std::vector<Int>& at) {
  return Restricting(kernel, block_of(store_shape(kernel), axes, begin, rows, at)).run();
}

RowBytes bytes_of_row(const LazyOp& kernel, const BlockAxes& axes) {
  const Ints shape = store_shape(kernel);
  const Variable row("row", 0, std::max<std::int64_t>(shape[axes.axis].value(), 2) - 1);
  const Restricting one(kernel, block_of(shape, axes, Int(Expr(row)), 1, std::vector<Int>(axes.others.size(), 0)));
  RowBytes out;
  for (const LazyNode* n : postorder(kernel)) {
    if (n->op != Ops::CONTIGUOUS && n->op != Ops::LOAD) continue;
    auto bytes = static_cast<double>(n->dtype.itemsize());
    bool follows = false;
    for (const Extent& r : one.of(*n)[0]) {
      bytes *= static_cast<double>(std::max<std::int64_t>(length(r).vmax(), 1));
      follows = follows || !r.begin.is_number();
    }
    if (n->op == Ops::CONTIGUOUS)
      out.between += bytes;
    else if (!follows)
      out.whole += std::min(bytes, static_cast<double>(n->dtype.itemsize()) *
                                       static_cast<double>(std::get<BufferArg>(n->arg).size.vmax()));
  }
  return out;
}

}  // namespace strata
