// TRIM: the iterations of a loop that count, found by the conditions of the loads below a PAD.

#include "strata/codegen/trim.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "strata/base/sort_few.h"
#include "strata/codegen/coordinates.h"
#include "strata/dtype/float_bits.h"
#include "strata/graph/absorb.h"

namespace strata {

namespace {

constexpr std::int64_t kMostCounted = 256;  // most coordinates that a mean is over

Expr coordinate(const std::string& name, const Int& size) {
  return size.vmax() <= 1 ? Expr(0) : Expr(Variable(name, 0, size.vmax() - 1));
}
IndexedNode operand(const IndexedNode& k) {
  const LazyNode& n = *k.node;
  return {n.src[0].node(), is_movement(n.op) ? moved(n, k.at, movement_of(n).simplify()) : k.at};
}
/// Whether all finite floats stay finite.
bool widens(const LazyNode& cast) {
  const DType from = cast.src[0].dtype();
  return from.is_float() && cast.dtype.is_float() && cast.dtype.itemsize() > from.itemsize();
}
/// The LOAD whose elements, moved and cast, are those of `k`; its node is null where there is none.
/// @param is_widened whether casts must be such that all elements are finite where those of the buffer are
IndexedNode load_below(IndexedNode k, bool is_widened) {
  while (is_movement(k.node->op) || (k.node->op == Ops::CAST && (!is_widened || widens(*k.node)))) k = operand(k);
  if (k.node->op != Ops::LOAD) k.node = nullptr;
  return k;
}

/// A Trim, and the LOAD of the factor that has to be finite; or the reason why there is none.
struct Found {
  Trim trim;
  const LazyNode* factor = nullptr;
  std::string reason;
};

class Trimming {
 public:
  Trimming(const LazyOp& kernel, std::size_t axis, int slot)
      : kernel_(kernel), axes_(kernel), axis_(axis), slot_(slot) {}

  Found run() {
    if (axis_ < axes_.outputs() || axis_ >= axes_.axes().size()) return refuse("axis ", axis_, " is not a reduce axis");
    if (kernel_.src().size() != 1 || !find_sum()) return refuse("the kernel has not one store of one SUM of floats");
    const std::size_t position = axis_ - axes_.group_of(sum_->node).first;
    const Int& size = axes_.axes()[axis_].size;
    if (!size.is_number() || size.value() < 2) return refuse("axis ", axis_, " has no size of at least 2");

    const LazyNode& term = *sum_->node->src[0].node();
    if (term.op != Ops::MUL) return refuse("the terms of the SUM are no products");
    const Axes& reduced = std::get<Axes>(sum_->node->arg);
    IndexedNode at{&term, sum_->at};
    for (std::size_t k = 0; k < reduced.size(); ++k) {
      const auto dim = static_cast<std::size_t>(reduced[k]);
      at.at.idxs[dim] = coordinate(detail::message("_r", k), term.src[0].shape()[dim]);
    }
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      const IndexedNode padded = load_below({term.src[k].node(), at.at}, false),
                        other = load_below({term.src[1 - k].node(), at.at}, true);
      if (padded.node == nullptr || other.node == nullptr || slot_of(other) != slot_ || slot_of(padded) == slot_)
        continue;
      if (!other.node->dtype.is_float() || !is_known(*other.node))
        return refuse("buffer ", slot_, " has no number of floats");
      Found out = bounds(padded, Variable::from(at.at.idxs[static_cast<std::size_t>(reduced[position])]), position);
      out.factor = other.node;
      return out;
    }
    return refuse("the terms of the SUM are no products of buffer ", slot_, " and another one");
  }

 private:
  template <class... Why>
  static Found refuse(const Why&... why) {
    return {{}, nullptr, detail::message(why...)};
  }
  bool is_output(const Variable& v) const {
    return std::any_of(outputs_.begin(), outputs_.end(), [&](const Expr& output) { return same(output, v); });
  }
  static bool is_known(const LazyNode& load) {
    const Ints& shape = load.shape;
    return std::get<BufferArg>(load.arg).size.is_number() &&
           std::all_of(shape.begin(), shape.end(), [](const Int& n) { return n.is_number(); });
  }
  static int slot_of(const IndexedNode& load) { return std::get<BufferArg>(load.node->arg).slot; }

  /// Finds the reduction and the index at which the store needs it: false where there are several, or none.
  bool find_sum() {
    const LazyNode& store = *kernel_.src(0).node();
    for (std::size_t d = 0; d < store.shape.size(); ++d)
      outputs_.push_back(coordinate(detail::message("_w", d), store.shape[d]));
    const IndexedNode top{store.src[0].node(), {outputs_, 1, false}};
    std::unordered_set<IndexedNode, HashIndexedNode> known;
    std::vector<IndexedNode> open = {top};
    while (!open.empty()) {
      IndexedNode k = std::move(open.back());
      open.pop_back();
      if (!known.insert(k).second) continue;
      const LazyNode& n = *k.node;
      if (n.op == Ops::GATHER) return false;
      if (is_reduce(n.op)) {
        if (sum_ || n.op != Ops::SUM || !n.dtype.is_float() || has_no_terms(n)) return false;
        sum_ = k;
      } else if (is_movement(n.op)) {
        open.push_back(operand(k));
      } else {
        for (const LazyOp& s : n.src) open.push_back({s.node(), k.at});
      }
    }
    for (const LazyNode* n : postorder(kernel_))
      if (is_reduce(n->op) && n != sum_->node) return false;
    return sum_.has_value();
  }

  /// The iterations for which the conditions of `load` that say so may hold, of the axis whose coordinate is `term`.
  Found bounds(const IndexedNode& load, const Variable& term, std::size_t position) const {
    const Expr valid = load.at.valid && std::get<BufferArg>(load.node->arg).st.simplify().expr_idxs(load.at.idxs).valid;
    const std::int64_t size = term.max() + 1;
    Trim out{position, -1, 0, size, outputs_};
    for (const Expr& condition : valid.op() == Op::And ? sources(valid) : std::vector<Expr>{valid}) {
      if (condition.op() != Op::Lt) continue;
      const std::vector<Expr> sides = sources(condition);
      const std::optional<AffineForm> difference = affine_form(sides[0] - sides[1]);
      if (!difference) continue;
      std::int64_t by = 0;
      Expr rest = difference->constant;
      bool is_known = true;
      for (const auto& [v, coefficient] : difference->coefficients) {
        if (same(v, term)) {
          by = coefficient;
        } else {
          rest += v * coefficient;
          is_known = is_known && is_output(v);
        }
      }
      // by * term + rest < 0
      if (!is_known || by == 0) continue;
      if (by > 0)
        out.end = min(out.end, ceildiv(-rest, by));
      else
        out.begin = max(out.begin, rest / -by + 1);
    }
    out.begin = min(out.begin, size);
    out.end = max(out.end, 0);
    if (same(out.begin, Expr(0)) && same(out.end, Expr(size)))
      return refuse("no PAD makes terms along axis ", axis_, " 0");
    return {std::move(out), nullptr, {}};
  }

  const LazyOp& kernel_;
  KernelAxes axes_;
  std::size_t axis_;
  int slot_;
  std::vector<Expr> outputs_;
  std::optional<IndexedNode> sum_;
};

/// The output axis on which the bounds depend, and its coordinate; nothing where there are several, or one that is
/// merged with others, or has no known size.
std::optional<std::pair<std::size_t, Variable>> output_of(const Trim& trim, const KernelAxes& axes) {
  std::vector<Variable> of = variables(trim.begin);
  for (const Variable& v : variables(trim.end))
    if (of.empty() || !same(of.back(), v)) of.push_back(v);
  if (of.size() != 1) return std::nullopt;
  const auto dim = static_cast<std::size_t>(
      std::find_if(trim.outputs.begin(), trim.outputs.end(), [&](const Expr& e) { return same(e, of[0]); }) -
      trim.outputs.begin());
  for (std::size_t a = 0; a < axes.outputs(); ++a)
    if (axes.axes()[a].is_of(dim) && axes.axes()[a].size.is_number()) return std::pair(a, of[0]);
  return std::nullopt;
}

/// The share of `size` iterations that is left, in the mean over the coordinate `at`, or over some of its values.
double share_of(const Trim& trim, const Variable& at, std::int64_t size) {
  const std::int64_t count = at.max() + 1, step = (count - 1) / kMostCounted + 1;
  double left = 0, all = 0;
  for (std::int64_t i = 0; i < count; i += step, all += static_cast<double>(size))
    left += static_cast<double>(std::max<std::int64_t>(evaluate(trim.end - trim.begin, {{at, i}}), 0));
  return left / all;
}

/// The elements of a LOAD in one dimension, those that are repeated along a dimension once; in the order of memory.
LazyOp elements_of(const LazyNode& load) {
  const auto& [slot, size, st] = std::get<BufferArg>(load.arg);
  ShapeTracker once = st.simplify();
  const View& view = once.views()[0];
  const bool is_plain =
      once.views().size() == 1 && !view.mask() &&
      std::all_of(view.strides().begin(), view.strides().end(), [](const Int& n) { return n.is_number(); });
  if (is_plain) {
    const Ints strides = view.strides();
    Mask first;
    Axes backwards, order;
    for (std::size_t d = 0; d < load.shape.size(); ++d) {
      first.push_back({0, strides[d] == Int(0) ? Int(1) : load.shape[d]});
      if (strides[d].value() < 0) backwards.push_back(static_cast<std::int64_t>(d));
      order.push_back(static_cast<std::int64_t>(d));
    }
    const auto step = [&](std::int64_t d) { return std::abs(strides[static_cast<std::size_t>(d)].value()); };
    sort_few(order, [&](std::int64_t a, std::int64_t b) { return std::pair(-step(a), a) < std::pair(-step(b), b); });
    once = once.shrink(first).flip(backwards).permute(order);
  }
  const LazyOp elements = LazyOp::load(slot, load.dtype, once, size);
  return elements.reshape({product(elements.shape())});
}

}  // namespace

std::string trim_refusal(const LazyOp& kernel, std::size_t axis, int slot) {
  return Trimming(kernel, axis, slot).run().reason;
}

Trim trim(const LazyOp& kernel, const Opt& opt, int finite) {
  Found found = Trimming(kernel, opt.axis, static_cast<int>(opt.amount)).run();
  STRATA_CHECK(found.reason.empty(), domain, "[", opt.text(), "] ", found.reason);
  found.trim.finite = finite;
  return std::move(found.trim);
}

std::vector<TrimChoice> trims_of(const LazyOp& kernel, const KernelAxes& axes, std::span<const int> slots) {
  std::vector<TrimChoice> out;
  const KernelAxes all(kernel);
  for (std::size_t a = all.outputs(); a < all.axes().size(); ++a)
    for (const int slot : slots) {
      const Found found = Trimming(kernel, a, slot).run();
      const auto output = found.reason.empty() ? output_of(found.trim, axes) : std::nullopt;
      if (!output) continue;
      const Opt opt{Opt::Kind::TRIM, a, slot, 0, {}};
      const LazyOp elements = absorb_movement(elements_of(*found.factor));
      const auto* const load = std::get_if<BufferArg>(&elements.node()->arg);
      if (load == nullptr || load->st.views().size() != 1 || !(load->st.views()[0].strides()[0] == Int(1))) continue;
      const auto bytes =
          static_cast<double>(elements.shape()[0].value()) * static_cast<double>(elements.dtype().itemsize());
      out.push_back({opt, output->first, share_of(found.trim, output->second, all.axes()[a].size.value()), bytes});
    }
  return out;
}

LazyOp finite_kernel(const LazyOp& kernel, const Opt& opt, int finite) {
  const Found found = Trimming(kernel, opt.axis, static_cast<int>(opt.amount)).run();
  STRATA_CHECK(found.reason.empty(), domain, "[", opt.text(), "] ", found.reason);
  return finite_kernel(
      LazyOp::load(std::get<BufferArg>(found.factor->arg).slot, found.factor->dtype,
                   std::get<BufferArg>(found.factor->arg).st, std::get<BufferArg>(found.factor->arg).size),
      finite);
}

LazyOp finite_kernel(const LazyOp& load, int finite, bool is_moderate) {
  const DType dtype = load.dtype();
  const LazyOp all = elements_of(*load.node());
  // But for the sign, the bits of infinity are the least of those that are not finite.
  const DType bits = dtype.itemsize() == 8 ? dtypes::uint64 : dtype.itemsize() == 4 ? dtypes::uint32 : dtypes::uint16;
  const FloatFormat format = float_format(dtype);
  const auto number = [&](std::uint64_t value, const Ints& shape) {
    return LazyOp::constant(Scalar::from_bits(bits, value), shape);
  };
  const LazyOp magnitudes = LazyOp::alu(Ops::AND, {all.bitcast(bits), number(format.sign_mask() - 1, all.shape())});
  const LazyOp largest = LazyOp::reduce(Ops::REDUCE_MAX, magnitudes, {0});
  constexpr double kModerate = 1e12;
  const std::uint64_t limit =
      is_moderate && dtype != dtypes::float16 ? Scalar::of(dtype, kModerate).bits() : format.infinity();
  const LazyOp flag = LazyOp::alu(Ops::CMPLT, {largest, number(limit, largest.shape())}).cast(dtypes::int32);
  return absorb_movement(LazyOp::sink({LazyOp::store(finite, ShapeTracker::from_shape(flag.shape()), flag)}));
}

}  // namespace strata
