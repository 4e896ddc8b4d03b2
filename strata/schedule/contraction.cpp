#include "strata/schedule/contraction.h"

#include <algorithm>
#include <optional>

#include "strata/schedule/recompute.h"

namespace strata {

double count_of(const Int& size) { return static_cast<double>(std::max<std::int64_t>(size.vmax(), 1)); }
double elements(const LazyNode& n) {
  double out = 1;
  for (const Int& size : n.shape) out *= count_of(size);
  return out;
}
double reduced_count(const LazyNode& n) {
  double out = 1;
  for (const std::int64_t axis : std::get<Axes>(n.arg))
    out *= count_of(n.src[0].shape()[static_cast<std::size_t>(axis)]);
  return out;
}

void ElementsRead::note(const LazyNode& n, bool is_memory) {
  double below = n.op == Ops::LOAD ? count_of(std::get<BufferArg>(n.arg).size) : 0;
  for (const LazyOp& s : needed(n)) below += of(*s.node());
  read_[&n] = is_memory || is_reduce(n.op) ? elements(n) : std::min(below, elements(n));
}
double ElementsRead::of(const LazyNode& n) const {
  const auto it = read_.find(&n);
  return it != read_.end() ? it->second : elements(n);
}
ReductionKind ElementsRead::kind_of(const LazyNode& n) const {
  if (reduced_count(n) < kMemoryCost) return ReductionKind::brief;
  const LazyNode& source = *n.src[0].node();
  const double read = of(source);
  return read > 0 && elements(source) > kMostReads * read ? ReductionKind::contraction : ReductionKind::plain;
}

namespace {

/// The node that `n` is a movement of.
const LazyNode* below_movement(const LazyNode* n, std::vector<const LazyNode*>& moves) {
  while (!is_realized(*n) && is_movement(n->op)) moves.push_back(n), n = n->src[0].node();
  return n;
}

/// A factor of a product: a CAST of bytes or bf16, moved or not.
struct CastFactor {
  const LazyNode* cast = nullptr;  ///< null: it is none, or not loaded by one View without a mask
  const LazyNode* memory = nullptr;
  std::optional<View> view{};  ///< of the memory
};

/// True iff codegen/dot.h can make words of the factor of a product that is reduced over `axes`: it moves along each of
/// them, has numbers for sizes, and reads no element twice. Words that are loaded one by one, because the factor does
/// not move along the last axis of the result, pay if they are used often.
bool has_words(const CastFactor& factor, const Axes& axes) {
  constexpr double fewest_uses = 8;
  const View& view = *factor.view;
  double read = 1, uses = 1;
  bool moves_along_last = false;
  for (std::size_t d = 0; d < view.shape().size(); ++d) {
    const Int &size = view.shape()[d], &stride = view.strides()[d];
    if (!size.is_number() || !stride.is_number()) return false;
    if (size == Int(1)) continue;
    const bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
    const bool moves = !(stride == Int(0));
    if (is_reduced && !moves) return false;
    if (!is_reduced) moves_along_last = moves;
    (moves ? read : uses) *= count_of(size);
  }
  return read <= elements(*factor.memory) && (moves_along_last || uses >= fewest_uses);
}

CastFactor cast_factor(const LazyOp& factor) {
  std::vector<const LazyNode*> moves;
  const LazyNode* const cast = below_movement(factor.node(), moves);
  if (cast->op != Ops::CAST) return {};
  const DType narrow = cast->src[0].dtype();
  if (narrow != dtypes::int8 && narrow != dtypes::uint8 && narrow != dtypes::bfloat16) return {};
  const LazyNode* const n = below_movement(cast->src[0].node(), moves);
  // What is computed becomes memory, because the products repeat it.
  const bool is_computed = node_cost(*n) > 0;
  const bool is_memory = is_realized(*n) || n->op == Ops::EMPTY || n->op == Ops::LOAD || n->op == Ops::CONTIGUOUS;
  if (!is_computed && !is_memory) return {};
  ShapeTracker st = ShapeTracker::from_shape(n->shape);
  for (std::size_t k = moves.size(); k-- > 0;) st = moved_as(*moves[k], st);
  st = st.simplify();
  if (st.views().size() != 1 || st.views()[0].mask()) return {};
  return {cast, n, st.views()[0]};
}

}  // namespace

std::vector<const LazyNode*> dot_casts(const LazyNode& n) {
  constexpr double shortest = 32;  // axis
  const bool is_of_factors = n.dtype == dtypes::int32 || n.dtype == dtypes::float32;
  if (n.op != Ops::SUM || !is_of_factors || n.src[0].op() != Ops::MUL) return {};
  const Axes& axes = std::get<Axes>(n.arg);
  if (std::none_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
        return count_of(n.src[0].shape()[static_cast<std::size_t>(axis)]) >= shortest;
      }))
    return {};
  const CastFactor a = cast_factor(n.src[0].src(0)), b = cast_factor(n.src[0].src(1));
  if (a.cast == nullptr || b.cast == nullptr || a.memory == b.memory) return {};
  if (a.cast->src[0].dtype().is_float() != n.dtype.is_float() ||
      b.cast->src[0].dtype().is_float() != n.dtype.is_float())
    return {};
  // Without words, kernels that use an element often are faster on f32 in memory.
  if (n.dtype.is_float() && !(has_words(a, axes) && has_words(b, axes))) return {};
  return {a.cast, b.cast};
}

ReductionKind reductions_of(const LazyOp& kernel) {
  ElementsRead reads;
  ReductionKind out = ReductionKind::none;
  for (const LazyNode* n : postorder(kernel)) {
    if (is_reduce(n->op)) out = std::max(out, reads.kind_of(*n));
    reads.note(*n);
  }
  return out;
}

}  // namespace strata
