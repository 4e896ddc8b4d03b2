// LoopPlan: reads the expressions, checks that indices stay inside the shape, and collects the pieces. PointWalk, the
// fallback.
#include "strata/loops/loop_plan.h"

#include <algorithm>
#include <utility>

#include "strata/expr/parse.h"
#include "strata/view/int.h"

namespace strata::detail {
namespace {

/// The work limit of a plan: small compared with the loop itself.
std::uint64_t plan_budget(std::int64_t points) {
  return std::min((std::uint64_t{1} << 16) + static_cast<std::uint64_t>(points) / 4, kMostWork);
}

std::string counter_name(std::size_t k) { return message("_", k); }

std::vector<std::string> counter_names(std::size_t rank) {
  std::vector<std::string> out;
  for (std::size_t k = 0; k < rank; ++k) out.push_back(counter_name(k));
  return out;
}

/// f(), with the expression added to the message of an Error.
template <class F>
auto reading(std::size_t k, std::string_view text, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    throw Error(e.kind(), message("[complexLoops] expression ", k, ", ", text, ": ", e.what()), e.column());
  }
}

bool is_empty(const Index& shape) {
  return std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n == 0; });
}

[[noreturn]] void refuse_offset(std::size_t k, std::string_view text, std::int64_t value, const Index& at,
                                std::int64_t size) {
  throw Error(ErrorKind::shape, message("[complexLoops] expression ", k, ", ", text, ", is ", value, " at counters ",
                                        render(at), ": outside of dimension ", k, ", of size ", size));
}

/// f(); a default value when the engine's arithmetic overflows. Points are then evaluated one by one, which shows
/// whether a value itself overflows.
template <class T, class F>
T unless_overflow(F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::overflow) throw;
    return T{};
  }
}

}  // namespace

LoopPlan::LoopPlan(std::span<const Strided> views, std::span<const std::string_view> texts, bool with_offsets)
    : views_(views.begin(), views.end()),
      texts_(texts.begin(), texts.end()),
      shape_(views.back().shape),
      rank_(shape_.size()),
      with_offsets_(with_offsets),
      width_(3 * rank_ + 1 + (with_offsets ? rank_ * (rank_ + 1) : 0)) {
  STRATA_CHECK(texts.size() == rank_, shape, "[complexLoops] ", texts.size(), " expressions for a tensor of shape ",
               render(shape_), ", which has ", rank_, " dimensions");
  if (is_empty(shape_)) {
    const std::vector<std::string> names = counter_names(rank_);
    for (std::size_t k = 0; k < rank_; ++k) reading(k, texts_[k], [&] { return compile(texts_[k], names); });
    return;
  }
  std::vector<Variable> counters;
  for (std::size_t k = 0; k < rank_; ++k) counters.emplace_back(counter_name(k), 0, shape_[k] - 1);
  std::vector<Expr> expressions;
  for (std::size_t k = 0; k < rank_; ++k)
    expressions.push_back(reading(k, texts_[k], [&] { return parse(texts_[k], counters); }));
  check_offsets(expressions, counters);
  by_pieces_ = unless_overflow<bool>([&] { return collect(expressions, counters); });
  if (!by_pieces_) pieces_.clear();
}

// Three attempts: the bounds of the algebra, the exact range by pieces, and the evaluation of every point.
void LoopPlan::check_offsets(std::span<const Expr> expressions, std::span<const Variable> counters) const {
  std::vector<std::size_t> open;
  for (std::size_t k = 0; k < rank_; ++k) {
    const Facts facts = expressions[k].facts();
    if (facts.min >= 0 && facts.max < shape_[k]) continue;
    const ExprPieces pieces = expr_pieces(expressions[k], counters);
    const RangeResult values = unless_overflow<RangeResult>(
        [&] { return pieces.function ? range(*pieces.function, plan_budget(product(shape_))) : RangeResult{}; });
    if (!values.complete) {
      open.push_back(k);
      continue;
    }
    const PieceRange& r = *values.range;
    if (r.min < 0) refuse_offset(k, texts_[k], r.min, r.at_min, shape_[k]);
    if (r.max >= shape_[k]) refuse_offset(k, texts_[k], r.max, r.at_max, shape_[k]);
  }
  if (open.empty()) return;
  for (PointWalk walk(*this); walk.next();)
    for (const std::size_t k : open) {
      const std::int64_t value = walk.value(k);
      if (value < 0 || value >= shape_[k]) refuse_offset(k, texts_[k], value, walk.counters(), shape_[k]);
    }
}

bool LoopPlan::collect(std::span<const Expr> expressions, std::span<const Variable> counters) {
  const ExprPieces address = expr_pieces(expressions, views_, counters);
  if (!address.function) return false;
  std::vector<Piecewise> functions;
  for (std::size_t k = 0; k < rank_ && with_offsets_; ++k)
    functions.push_back(expr_pieces(expressions[k], counters).function.value());
  Pieces pieces(*address.function, plan_budget(product(shape_)));
  Piece p;
  while (pieces.next(p)) append_piece(p, functions);
  return pieces.complete();
}

// On a piece of the address every expression is affine, too: its slopes are differences to the piece's lower corner.
void LoopPlan::append_piece(const Piece& p, std::span<const Piecewise> functions) {
  const auto append = [&](const Index& values) { pieces_.insert(pieces_.end(), values.begin(), values.end()); };
  append(p.lo);
  append(p.extent);
  pieces_.push_back(p.base);
  append(p.slope);
  for (const Piecewise& f : functions) {
    const std::int64_t base = value_at(f, p.lo).value();
    pieces_.push_back(base);
    Index at = p.lo;
    for (std::size_t j = 0; j < rank_; ++j) {
      if (p.extent[j] > 1) ++at[j];
      pieces_.push_back(value_at(f, at).value() - base);
      at[j] = p.lo[j];
    }
  }
}

PointWalk::PointWalk(const LoopPlan& plan) : shape_(plan.shape_), at_(plan.rank_, 0) {
  std::vector<DomainAxis> axes;
  for (std::size_t k = 0; k < plan.rank_; ++k) {
    slots_.push_back(&names_[counter_name(k)]);
    axes.push_back({counter_name(k), 0, shape_[k]});
  }
  const Domain box(std::move(axes));
  for (const std::string& text : plan.texts_) functions_.push_back(names_.create(text, box));
}

bool PointWalk::next() {
  if (!std::exchange(started_, true)) return true;
  for (std::size_t j = ended_ ? 0 : shape_.size(); j-- > 0;) {
    if (++at_[j] < shape_[j]) {
      *slots_[j] = at_[j];
      return true;
    }
    at_[j] = 0;
    *slots_[j] = 0;
  }
  ended_ = true;
  return false;
}

}  // namespace strata::detail
