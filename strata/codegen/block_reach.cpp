#include "strata/codegen/block_reach.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "strata/codegen/as_expr.h"
#include "strata/codegen/trim.h"
#include "strata/graph/absorb.h"

namespace strata {

namespace {

const LazyNode& value_of(const LazyOp& kernel) { return *kernel.src(0).src(0).node(); }

bool is_number(const LazyOp& n, double value) {
  if (n.op() != Ops::CONST) return false;
  const ConstArg& arg = std::get<ConstArg>(n.arg());
  return arg.value.as_double() == value &&
         std::none_of(arg.st.views().begin(), arg.st.views().end(), [](const View& v) { return v.mask().has_value(); });
}

bool is_finite(const LazyOp& n) {
  return n.op() == Ops::CONST && std::isfinite(std::get<ConstArg>(n.arg()).value.as_double());
}

/// What elements behind the end are.
enum class Behind : std::uint8_t { zero, minus_infinity, finite, unknown };

/// The reductions of a kernel, sources first.
std::vector<const LazyNode*> reductions_of(const LazyOp& kernel) {
  std::vector<const LazyNode*> out;
  for (const LazyNode* n : postorder(kernel))
    if (is_reduce(n->op)) out.push_back(n);
  return out;
}

class Reaching {
 public:
  Reaching(const BlockBody& body, std::int64_t rows, const std::vector<int>& slots)
      : body_(body), rows_(rows), slots_(slots), kernel_(body.chain.steps[0].kernel) {}

  std::optional<BlockReach> run() {
    const std::vector<BlockChain::Step>& steps = body_.chain.steps;
    adds_up_ = !body_.all.steps.empty();
    for (std::size_t k = 0; k < steps.size(); ++k) {
      if (steps[k].turn != BlockTurn::each) {
        if (reads_some(steps[k].kernel)) return std::nullopt;
        continue;
      }
      if (adds_up_ && slot_of(k) >= 0) magnitudes_.emplace(slot_of(k), magnitude(kernel(k).src(0).src(0)));
      if (!add(k)) return std::nullopt;
    }
    for (const auto& [slot, result] : tracked_)
      if (result.is_optional && result.is_used) {
        along_.push_back({result.step, columns_of(value_of(kernel(result.step)).shape), {}, true});
        factors_.insert(factors_.end(), result.factors.begin(), result.factors.end());
      }
    if (!has_scores() || !has_sum_ || !find_guards()) return std::nullopt;
    return BlockReach{std::move(along_), columns_, first_end_, kGranule, std::move(guards_)};
  }

 private:
  static constexpr std::int64_t kGranule = 64, kMostColumns = 1 << 20;
  static constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  using Dim = std::optional<std::size_t>;

  /// A result between with a row of all columns.
  struct Tracked {
    Behind behind;
    std::size_t step;
    bool is_optional = false;       ///< it is made without other ones: it may be computed whole
    bool is_used = false;           ///< as one that ends
    std::vector<LazyOp> factors{};  ///< what it is made of, of an optional one
  };

  bool has_scores() const { return scores_ >= 0; }
  const LazyOp& kernel(std::size_t k) const { return body_.chain.steps[k].kernel; }
  int slot_of(std::size_t k) const { return body_.chain.steps[k].temporary; }
  const Tracked* tracked(const LazyNode& n) const {
    if (n.op != Ops::LOAD) return nullptr;
    const auto it = tracked_.find(std::get<BufferArg>(n.arg).slot);
    return it == tracked_.end() ? nullptr : &it->second;
  }
  bool reads_some(const LazyOp& root) const {
    const std::vector<const LazyNode*> nodes = postorder(root);
    return std::any_of(nodes.begin(), nodes.end(), [&](const LazyNode* n) { return tracked(*n) != nullptr; });
  }

  /// Reads kernel `k`; false where the columns behind the end may matter to it.
  bool add(std::size_t k) {
    if (!has_scores()) return add_scores(k), true;
    if (!reads_some(kernel(k))) return add_optional(k), true;
    begin(k);
    Dim output;
    for (const LazyOp& store : kernel(k).src()) {
      const LazyOp& value = store.src(0);
      const Dim own = add_value(k, value);
      if (fails_ || (own && output && *own != *output) || !are_all_seen(value)) return false;
      if (own) output = own;
    }
    along_.push_back({k, output, reductions_, false});
    return true;
  }
  void begin(std::size_t k) {
    kernel_ = kernel(k);
    seen_.clear(), reductions_.clear(), known_.clear();
    fails_ = false;
  }
  /// The dimension of `value`, which kernel `k` stores, that runs along columns.
  Dim add_value(std::size_t k, const LazyOp& value) {
    // An accumulator changes by what is added to it.
    const bool adds = value.op() == Ops::ADD && is_own_load(k, value.src(0));
    const LazyOp& part = adds ? value.src(1) : value;
    Dim output;
    Behind behind = Behind::finite;
    for (std::size_t t = 0; t < value.shape().size(); ++t) {
      if (!(value.shape()[t] == Int(columns_))) continue;
      touches_ = false;
      const Behind here = of(part, t);
      if (!touches_) continue;
      fails_ = fails_ || output.has_value();
      output = t, behind = here;
    }
    if (!output) of(part, std::nullopt);
    if (output && adds) fails_ = fails_ || behind != Behind::zero;
    if (output && !adds) {
      fails_ = fails_ || slot_of(k) < 0 || output != columns_of(value.shape());
      tracked_.emplace(slot_of(k), Tracked{behind, k});
    }
    if (slot_of(k) >= 0 && is_exp_less_max(value)) exps_.insert(slot_of(k));
    if (slot_of(k) >= 0 && is_total(value)) totals_.insert(slot_of(k));
    if (slot_of(k) >= 0 && is_largest(value)) largest_.insert(slot_of(k));
    return output;
  }
  static bool is_load_of(const LazyOp& n, int slot) {
    return n.op() == Ops::LOAD && std::get<BufferArg>(n.arg()).slot == slot;
  }
  bool is_own_load(std::size_t k, const LazyOp& n) const { return slot_of(k) >= 0 && is_load_of(n, slot_of(k)); }

  /// A result that no tracked one is read for: its columns may end, too, if all that read it do.
  void add_optional(std::size_t k) {
    const LazyOp& value = kernel(k).src(0).src(0);
    const Dim last = columns_of(value.shape());
    if (kernel(k).src().size() != 1 || slot_of(k) < 0 || !last || reads(kernel(k), slot_of(k))) return;
    std::vector<LazyOp> factors = std::exchange(factors_, {});
    begin(k);
    const Behind behind = of(value, last);
    std::swap(factors, factors_);
    if (!fails_) tracked_.emplace(slot_of(k), Tracked{behind, k, true, false, std::move(factors)});
  }
  static bool reads(const LazyOp& kernel, int slot) {
    const std::vector<const LazyNode*> nodes = postorder(kernel);
    return std::any_of(nodes.begin(), nodes.end(), [&](const LazyNode* n) {
      return n->op == Ops::LOAD && std::get<BufferArg>(n->arg).slot == slot;
    });
  }

  /// WHERE(condition, x, -infinity), where the condition is false behind a column.
  void add_scores(std::size_t k) {
    if (kernel(k).src().size() != 1) return;
    const LazyNode& value = value_of(kernel(k));
    if (value.op != Ops::WHERE || slot_of(k) < 0 || value.shape.empty()) return;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool is_then = is_number(value.src[2], -kInfinity);
    if (!is_then && !is_number(value.src[1], -kInfinity)) return;
    const std::size_t last_dim = value.shape.size() - 1;
    const Int& columns = value.shape[last_dim];
    if (!columns.is_number() || columns.value() < 2 || columns.value() > kMostColumns || body_.block.max() < 1) return;
    std::vector<Expr> at;
    for (std::size_t t = 0; t < value.shape.size(); ++t) {
      if (!value.shape[t].is_number()) return;
      at.push_back(value.shape[t] == Int(1) ? Expr(0)
                                            : Expr(Variable(detail::message("at", t), 0, value.shape[t].value() - 1)));
    }
    const auto condition = as_expr(value.src[0], at);
    if (!condition) return;
    const Expr counts = is_then ? *condition : !*condition;
    const Expr column = at[last_dim], block = body_.block;
    // The last column that counts for a row of block 0 is a guess for all blocks, which is then shown.
    Values first = {{body_.block, 0}};
    for (const Variable& v : variables(counts))
      if (!same(v, body_.block) && !same(Expr(v), column)) first.emplace_back(v, v.max());
    first.emplace_back(variables(column)[0], 0);
    std::int64_t last = -1;
    for (std::int64_t j = 0; j < columns.value(); ++j) {
      first.back().second = j;
      if (evaluate(counts, first) != 0) last = j;
    }
    if (last < 0 || last + 1 + rows_ > columns.value()) return;
    const Expr end = block * rows_ + (last + 1);
    if (prove(!counts, column >= end).answer != Answer::yes) return;
    // A sum over rows needs a score in each of them: a row without one is NaN in all columns.
    if (adds_up_ && prove(counts, column < 1).answer != Answer::yes) return;
    if (adds_up_ && !is_bounded(magnitudes_.at(slot_of(k)))) return;
    scores_ = slot_of(k);
    columns_ = columns.value();
    first_end_ = last + 1;
    tracked_.emplace(scores_, Tracked{Behind::minus_infinity, k});
    along_.push_back({k, last_dim, {}, true});
  }

  /// The dimension of neighbours of a result of this shape, if it is one of columns.
  Dim columns_of(const Ints& shape) const {
    std::size_t t = shape.size();
    while (t > 0 && shape[t - 1] == Int(1)) --t;
    return t > 0 && shape[t - 1] == Int(columns_) ? Dim(t - 1) : std::nullopt;
  }

  // --- what is behind the end ---

  /// The dimension of `load`, of a tracked result, that runs along its columns; nothing where that cannot be told.
  Dim column_of(const LazyNode& load) const {
    const ShapeTracker st = std::get<BufferArg>(load.arg).st.simplify();
    if (st.views().size() != 1 || st.views()[0].mask()) return std::nullopt;
    const View& view = st.views()[0];
    const auto is_whole = [&](const Int& n) { return n.is_number() && n.value() % columns_ == 0; };
    Dim out;
    if (!is_whole(view.offset())) return std::nullopt;
    for (std::size_t t = 0; t < view.shape().size(); ++t) {
      if (view.strides()[t] == Int(1) && view.shape()[t] == Int(columns_) && !out)
        out = t;
      else if (!(view.shape()[t] == Int(1)) && !is_whole(view.strides()[t]))
        return std::nullopt;
    }
    return out;
  }
  bool are_all_seen(const LazyOp& root) {
    for (const LazyNode* n : postorder(root)) {
      const Tracked* known = tracked(*n);
      if (known == nullptr || seen_.contains(n)) continue;
      if (!known->is_optional || known->is_used) return false;
      tracked_.erase(std::get<BufferArg>(n->arg).slot);  // it is whole
    }
    return true;
  }

  /// What the elements of `n` behind the end of its dimension `c` are, if it has one. Sets touches_ where a tracked
  /// result runs along c, and fails_ where a reduction of columns would miss something.
  Behind of(const LazyOp& n, Dim c) {
    const std::pair key(n.node(), c ? static_cast<std::int64_t>(*c) : -1);
    auto it = known_.find(key);
    if (it == known_.end()) {
      const bool touched = std::exchange(touches_, false);
      const Behind behind = computed(n, c);
      it = known_.emplace(key, std::pair(behind, touches_)).first;
      touches_ = touched;
    }
    touches_ = touches_ || it->second.second;
    return it->second.first;
  }
  Behind computed(const LazyOp& n, Dim c) {
    if (!n.dtype().is_float() && !reads_some(n)) return Behind::finite;  // a mask
    switch (n.op()) {
      case Ops::LOAD: return of_load(n, c);
      case Ops::CONST: return of_constant(n);
      case Ops::IOTA: return Behind::finite;
      case Ops::EXPAND: {
        const bool is_row = !c || !(n.src(0).shape()[*c] == n.shape()[*c]);
        const Behind below = of(n.src(0), is_row ? std::nullopt : c);
        return is_row ? of_row(n.src(0)) : below;
      }
      case Ops::PERMUTE:
        return of(n.src(0), c ? Dim(static_cast<std::size_t>(std::get<Axes>(n.arg())[*c])) : std::nullopt);
      case Ops::RESHAPE: return of_reshape(n, c);
      case Ops::WHERE: {
        of(n.src(0), c);
        const Behind a = of(n.src(1), c), b = of(n.src(2), c);
        return a == b ? a : is_number(a) && is_number(b) ? Behind::finite : Behind::unknown;
      }
      default: break;
    }
    if (is_reduce(n.op())) return of_reduction(n, c);
    if (!is_elementwise(n.op())) {
      fails_ = true;
      return Behind::unknown;
    }
    std::vector<Behind> x;
    for (const LazyOp& s : n.src()) x.push_back(of(s, c));
    return applied(n, x);
  }
  static bool is_number(Behind b) { return b == Behind::zero || b == Behind::finite; }
  static bool is_number(const LazyOp& n, double value) { return strata::is_number(n, value); }
  Behind applied(const LazyOp& n, const std::vector<Behind>& x) {
    const bool are_numbers = std::all_of(x.begin(), x.end(), [](Behind b) { return is_number(b); });
    const bool are_zero = std::all_of(x.begin(), x.end(), [](Behind b) { return b == Behind::zero; });
    switch (n.op()) {
      case Ops::ADD:
      case Ops::SUB:
        if (are_numbers) return are_zero ? Behind::zero : Behind::finite;
        return x[0] == Behind::minus_infinity && is_number(x[1]) ? x[0] : Behind::unknown;
      case Ops::MUL:
        if (are_numbers && x[0] == Behind::finite && x[1] == Behind::finite) return Behind::finite;
        if (are_numbers)
          return !adds_up_ || (is_bounded(magnitude(n.src(0))) && is_bounded(magnitude(n.src(1)))) ? Behind::zero
                                                                                                   : Behind::unknown;
        for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
          if (x[k] == Behind::minus_infinity && is_positive(n.src(1 - k))) return x[k];
        return Behind::unknown;
      case Ops::DIV: return x[0] == Behind::zero && divides(n.src(1)) ? x[0] : Behind::unknown;
      case Ops::EXP: return x[0] == Behind::minus_infinity ? Behind::zero : Behind::unknown;
      case Ops::NEG: return is_number(x[0]) ? x[0] : Behind::unknown;
      case Ops::CAST:
        if (!n.src(0).dtype().is_float()) return Behind::finite;
        return x[0] == Behind::finite && n.dtype() == dtypes::float16 ? Behind::unknown : x[0];
      case Ops::CMPLT:
      case Ops::CMPEQ:
      case Ops::CMPNE:
      case Ops::AND:
      case Ops::OR:
      case Ops::NOT: return n.dtype().is_bool() ? Behind::finite : Behind::unknown;
      case Ops::MAX:
      case Ops::MIN: return are_numbers ? are_zero ? Behind::zero : Behind::finite : Behind::unknown;
      default: return Behind::unknown;
    }
  }
  static bool is_positive(const LazyOp& n) { return is_finite(n) && std::get<ConstArg>(n.arg()).value.as_double() > 0; }

  Behind of_load(const LazyOp& n, Dim c) {
    const auto it = tracked_.find(std::get<BufferArg>(n.arg()).slot);
    if (it == tracked_.end()) return of_row(n);
    const Dim own = column_of(*n.node());
    if (!c || !own || *own != *c) return Behind::finite;
    seen_.insert(n.node());
    touches_ = true;
    it->second.is_used = true;
    return it->second.behind;
  }
  /// What a value is that is made of no tracked result along columns: a finite number, where all that it is made of is
  /// looked at, or a maximum of scores, which makes its row NaN where it is not finite.
  Behind of_row(const LazyOp& n) {
    if (!n.dtype().is_float()) return Behind::finite;
    if (adds_up_) return is_bounded(magnitude(n)) ? Behind::finite : Behind::unknown;
    if (is_given(*n.node())) {
      if (std::find(factors_.begin(), factors_.end(), n) == factors_.end()) factors_.push_back(n);
      return Behind::finite;
    }
    return is_largest(n) || is_finite(n) ? Behind::finite : Behind::unknown;
  }
  static Behind of_constant(const LazyOp& n) {
    if (is_number(n, 0)) return Behind::zero;
    if (is_number(n, -std::numeric_limits<double>::infinity())) return Behind::minus_infinity;
    return is_finite(n) ? Behind::finite : Behind::unknown;
  }
  /// A dimension of a RESHAPE is one below of the same size, with as many elements in front.
  Behind of_reshape(const LazyOp& n, Dim c) {
    const auto wide = [](const Ints& shape) {
      Ints out;
      for (const Int& size : shape)
        if (!(size == Int(1))) out.push_back(size);
      return out;
    };
    if (!(wide(n.shape()) == wide(n.src(0).shape())) && reads_some(n)) fails_ = true;  // columns may be in other ones
    if (!c) return of(n.src(0), c);
    Int front = 1;
    for (std::size_t t = 0; t < *c; ++t) front *= n.shape()[t];
    Int below = 1;
    const Ints& shape = n.src(0).shape();
    for (std::size_t t = 0; t < shape.size(); ++t) {
      if (below == front && shape[t] == n.shape()[*c]) return of(n.src(0), t);
      below *= shape[t];
    }
    fails_ = true;
    return Behind::unknown;
  }
  /// The place of `n` among the reductions of its kernel: that of a kernel that packs differs in its loads alone.
  std::size_t number_of_reduction(const LazyOp& n) const {
    const std::vector<const LazyNode*> all = reductions_of(kernel_);
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), n.node()) - all.begin());
  }
  Behind of_reduction(const LazyOp& n, Dim c) {
    const Axes& axes = std::get<Axes>(n.arg());
    const bool touched = touches_;
    bool is_visited = false;
    for (std::size_t p = 0; p < axes.size(); ++p) {
      const auto t = static_cast<std::size_t>(axes[p]);
      if (!(n.src(0).shape()[t] == Int(columns_))) continue;
      touches_ = false;
      const Behind behind = of(n.src(0), t);
      if (!touches_) continue;
      is_visited = true;
      const bool is_none = n.op() == Ops::SUM          ? behind == Behind::zero
                           : n.op() == Ops::REDUCE_MAX ? behind == Behind::minus_infinity
                                                       : false;
      if (!is_none) fails_ = true;
      has_sum_ = has_sum_ || n.op() == Ops::SUM;
      const BlockReach::Reduction own{number_of_reduction(n), p};
      if (std::find(reductions_.begin(), reductions_.end(), own) == reductions_.end()) reductions_.push_back(own);
    }
    touches_ = touched;
    const bool keeps = c && !(n.shape()[*c] == Int(1));
    if (!keeps) {
      if (!is_visited) of(n.src(0), std::nullopt);
      return Behind::finite;
    }
    const Behind x = of(n.src(0), c);
    if (n.op() == Ops::SUM) return is_number(x) ? x : Behind::unknown;
    return n.op() == Ops::REDUCE_MAX && x != Behind::unknown ? x : Behind::unknown;
  }

  // --- a softmax ---

  /// The maximum of the scores of a row; 0 may stand for -infinity.
  bool is_largest(const LazyOp& n) const {
    if (n.op() == Ops::RESHAPE || n.op() == Ops::EXPAND) return is_largest(n.src(0));
    if (n.op() == Ops::WHERE && is_number(n.src(1), 0)) return is_largest(n.src(2));
    if (n.op() == Ops::LOAD) return largest_.contains(std::get<BufferArg>(n.arg()).slot);
    const Tracked* scores = n.op() == Ops::REDUCE_MAX ? tracked(*n.src(0).node()) : nullptr;
    return scores != nullptr && scores->behind == Behind::minus_infinity;
  }
  /// Whether a divisor is 1 at least, or NaN where its row is: 0 divided by it is 0.
  bool divides(const LazyOp& n) const {
    if (n.op() == Ops::EXPAND || n.op() == Ops::RESHAPE) return divides(n.src(0));
    if (n.op() == Ops::WHERE && n.src(0).op() == Ops::CMPEQ && is_number(n.src(1), 1))
      return n.src(0).src(0) == n.src(2) && is_number(n.src(0).src(1), 0);
    if (n.op() == Ops::LOAD) return totals_.contains(std::get<BufferArg>(n.arg()).slot);
    return is_total(n);
  }
  /// The sum of exp(x - max(x)), which is 1 at least.
  bool is_total(const LazyOp& n) const {
    if (n.op() == Ops::RESHAPE) return is_total(n.src(0));
    return n.op() == Ops::SUM &&
           (is_exp_less_max(n.src(0)) ||
            (n.src(0).op() == Ops::LOAD && exps_.contains(std::get<BufferArg>(n.src(0).arg()).slot)));
  }
  static bool is_exp_less_max(const LazyOp& n) {
    if (n.op() != Ops::EXP || n.src(0).op() != Ops::SUB || n.src(0).src(1).op() != Ops::EXPAND) return false;
    LazyOp largest = n.src(0).src(1).src(0);
    if (largest.op() == Ops::WHERE && is_number(largest.src(1), 0)) largest = largest.src(2);
    return largest.op() == Ops::REDUCE_MAX && largest.src(0) == n.src(0).src(0);
  }

  // --- what has to be finite ---

  bool is_given(const LazyNode& n) const {
    const std::vector<int>& own = body_.chain.temporaries;
    return n.op == Ops::LOAD && n.dtype.is_float() &&
           std::find(own.begin(), own.end(), std::get<BufferArg>(n.arg).slot) == own.end();
  }
  /// The decimal logarithm of a bound of the magnitudes of `n`, but for scores of -infinity, where all given floats are
  /// below kModerateLog; infinity where none is known, and where a step to it may overflow.
  double magnitude(const LazyOp& n) {
    if (const auto it = logs_.find(n.node()); it != logs_.end()) return it->second;
    const double bound = magnitude_of(n), most = n.dtype() == dtypes::float16   ? 4.5
                                                 : n.dtype() == dtypes::float64 ? 300
                                                                                : 38;
    return logs_.emplace(n.node(), bound <= most ? bound : kUnbounded).first->second;
  }
  double magnitude_of(const LazyOp& n) {
    constexpr double kModerateLog = 12, kTwice = 0.302, kInteger = 20;
    if (!n.dtype().is_float()) return kInteger;
    const auto largest = [&](std::size_t first) {
      double out = 0;
      for (std::size_t k = first; k < n.src().size(); ++k) out = std::max(out, magnitude(n.src(k)));
      return out;
    };
    switch (n.op()) {
      case Ops::LOAD: {
        const auto between = magnitudes_.find(std::get<BufferArg>(n.arg()).slot);
        return between != magnitudes_.end() ? between->second : is_given(*n.node()) ? kModerateLog : kUnbounded;
      }
      case Ops::CONST:
        return is_finite(n) ? std::log10(std::max(1.0, std::fabs(std::get<ConstArg>(n.arg()).value.as_double())))
                            : kUnbounded;
      case Ops::MUL: return magnitude(n.src(0)) + magnitude(n.src(1));
      case Ops::ADD:
      case Ops::SUB: return largest(0) + kTwice;
      case Ops::NEG:
      case Ops::CAST:
      case Ops::MAX:
      case Ops::MIN:
      case Ops::REDUCE_MAX: return largest(0);
      case Ops::WHERE: {
        const bool is_masked = is_number(n.src(2), -std::numeric_limits<double>::infinity());
        if (is_masked || is_number(n.src(1), -std::numeric_limits<double>::infinity()))
          return magnitude(n.src(is_masked ? 1 : 2));
        return largest(1);
      }
      case Ops::EXP: return is_exp_less_max(n) ? 0 : kUnbounded;
      case Ops::DIV: return divides(n.src(1)) ? magnitude(n.src(0)) : kUnbounded;
      case Ops::SUM: {
        double terms = 1;
        for (const std::int64_t a : std::get<Axes>(n.arg()))
          terms *= static_cast<double>(n.src(0).shape()[static_cast<std::size_t>(a)].vmax());
        return largest(0) + std::log10(std::max(terms, 1.0)) + kTwice;
      }
      default: return is_movement(n.op()) ? largest(0) : kUnbounded;
    }
  }
  static bool is_bounded(double magnitude) { return magnitude < kUnbounded; }
  bool find_guards() {
    std::vector<LazyOp> loads;
    if (!adds_up_) {
      for (const LazyOp& factor : factors_) {
        for (const Variable& v : std::get<BufferArg>(factor.arg()).st.vars())
          if (same(v, body_.block)) return false;
        loads.push_back(factor);
      }
    } else {
      for (const BlockChain::Step& step : body_.all.steps) {
        if (step.turn != BlockTurn::each) continue;
        for (const LazyNode* n : postorder(step.kernel))
          for (const LazyOp& s : n->src)
            if (is_given(*s.node()) && std::find(loads.begin(), loads.end(), s) == loads.end()) loads.push_back(s);
      }
    }
    if (loads.empty() || loads.size() > slots_.size()) return false;
    for (std::size_t k = 0; k < loads.size(); ++k) guards_.push_back(finite_kernel(loads[k], slots_[k], adds_up_));
    return true;
  }

  const BlockBody& body_;
  std::int64_t rows_;
  const std::vector<int>& slots_;
  bool adds_up_ = false, has_sum_ = false, touches_ = false, fails_ = false;
  int scores_ = -1;                                  // their slot
  std::unordered_map<int, Tracked> tracked_;         // by slot
  std::unordered_set<int> exps_, totals_, largest_;  // slots of exp(x - max(x)), of sums of such, of maxima of scores
  std::unordered_map<int, double> magnitudes_;       // by slot of a result between, where blocks are added up
  std::unordered_map<const LazyNode*, double> logs_;
  std::map<std::pair<const LazyNode*, std::int64_t>, std::pair<Behind, bool>> known_;  // of(): and whether it touches
  std::unordered_set<const LazyNode*> seen_;       // LOADs of tracked results in a kernel, along columns
  LazyOp kernel_;                                  // the one that is read
  std::vector<BlockReach::Reduction> reductions_;  // of it, along columns
  std::vector<BlockReach::Along> along_;
  std::vector<LazyOp> factors_, guards_;
  std::int64_t columns_ = 0, first_end_ = 0;
};

/// The steps of a coordinate that its loops cannot tell apart: those of the parts inside of the innermost loop. 0 where
/// a segment has no loop.
std::int64_t step_of(const LoopAxis& axis) {
  std::int64_t out = 1;
  for (const Segment& segment : axis.segments) {
    std::int64_t step = 1;
    bool has_loop = false;
    for (std::size_t p = segment.parts.size(); p-- > 0 && !has_loop;) {
      has_loop = segment.parts[p].kind == PartKind::loop && !(segment.parts[p].size == Int(1));
      if (!has_loop) step *= segment.parts[p].size.value();
    }
    if (!has_loop) return 0;
    out = std::max(out, step);
  }
  return out;
}

}  // namespace

std::optional<BlockReach> block_reach(const BlockBody& body, std::int64_t rows, const std::vector<int>& slots) {
  try {
    return Reaching(body, rows, slots).run();
  } catch (const Error&) {  // a bound or a proof that cannot be told
    return std::nullopt;
  }
}

bool end_loops(KernelAxes& axes, const LazyOp& kernel, const BlockReach& reach, const BlockReach::Along& of,
               const Variable& end) {
  // The groups of the reductions; one with a reduction of something else cannot end.
  std::vector<std::pair<const ReduceGroup*, std::size_t>> groups;
  const std::vector<const LazyNode*> reductions = reductions_of(kernel);
  for (const BlockReach::Reduction& r : of.reductions) {
    const ReduceGroup* const group = &axes.group_of(reductions[r.number]);
    if (std::find(groups.begin(), groups.end(), std::pair(group, r.position)) == groups.end())
      groups.emplace_back(group, r.position);
  }
  for (std::size_t k = 0; k < reductions.size(); ++k)
    for (const auto& [group, position] : groups)
      if (&axes.group_of(reductions[k]) == group &&
          std::find(of.reductions.begin(), of.reductions.end(), BlockReach::Reduction{k, position}) ==
              of.reductions.end())
        return false;
  std::vector<std::size_t> found;
  for (std::size_t a = 0; a < axes.axes().size(); ++a) {
    const LoopAxis& axis = axes.axes()[a];
    const bool is_wanted =
        axis.group < 0
            ? of.output && axis.is_of(*of.output)
            : std::any_of(
                  groups.begin(), groups.end(),
                  [&](const auto& g) {
                    return g.first == &axes.groups()[static_cast<std::size_t>(axis.group)] && axis.is_of(g.second);
                  });
    if (!is_wanted || !(axis.size == Int(reach.columns)) || axis.padded) continue;
    const std::int64_t step = step_of(axis);
    if (!of.may_be_more && (step == 0 || reach.granule % step != 0)) return false;
    found.push_back(a);
  }
  if (found.size() != groups.size() + (of.output ? 1 : 0)) return false;
  for (const std::size_t a : found) axes.end_at(a, end);
  return true;
}

}  // namespace strata
