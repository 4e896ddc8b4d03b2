// Blocks and BoxScan: evaluates a tape at many points at once, in loops that compilers vectorize.

#include <algorithm>
#include <cfloat>

#include "strata/expr/evaluate.h"

namespace strata {
namespace {

// floor(x / d) of integers held in doubles, for |x| and d below 2^46. The value (x + 1/2) / d - 1/2 is at least 1 / (2
// d) away from every half-integer, far more than the rounding errors, so rounding it gives the floor. Adding and
// subtracting 1.5 * 2^52 rounds to an integer without a branch.
static_assert(FLT_EVAL_METHOD == 0, "doubles must be evaluated as doubles");
constexpr double kRound = 0x1.8p52;

struct Divider {
  double inverse, offset;
  explicit Divider(std::int64_t d)
      : inverse(1.0 / static_cast<double>(d)), offset(0.5 / static_cast<double>(d) - 0.5) {}
  double operator()(double x) const { return ((x * inverse + offset) + kRound) - kRound; }
};

void divide(const double* __restrict x, std::int64_t d, double* __restrict out, std::size_t n) {
  const Divider by(d);
  for (std::size_t i = 0; i < n; ++i) out[i] = by(x[i]);
}
void modulo(const double* __restrict x, std::int64_t d, double* __restrict out, std::size_t n) {
  const Divider by(d);
  const auto m = static_cast<double>(d);
  for (std::size_t i = 0; i < n; ++i) out[i] = x[i] - by(x[i]) * m;
}
void divide(const double* __restrict x, const double* __restrict d, double* __restrict out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = (((x[i] + 0.5) / d[i] - 0.5) + kRound) - kRound;
}
void modulo(const double* __restrict x, const double* __restrict d, double* __restrict out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = x[i] - ((((x[i] + 0.5) / d[i] - 0.5) + kRound) - kRound) * d[i];
}

using Int = std::int64_t;
void divide(const Int* __restrict x, Int d, Int* __restrict out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = floor_div(x[i], d);
}
void modulo(const Int* __restrict x, Int d, Int* __restrict out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = floor_mod(x[i], d);
}
void divide(const Int* __restrict x, const Int* __restrict d, Int* __restrict out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = floor_div(x[i], d[i]);
}
void modulo(const Int* __restrict x, const Int* __restrict d, Int* __restrict out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = floor_mod(x[i], d[i]);
}

template <class T, class F>
void map(T* __restrict out, const T* __restrict x, const T* __restrict y, std::size_t n, F f) {
  for (std::size_t i = 0; i < n; ++i) out[i] = f(x[i], y[i]);
}
template <class T, class F>
void fold(T* __restrict out, const T* __restrict x, std::size_t n, F f) {
  for (std::size_t i = 0; i < n; ++i) out[i] = f(out[i], x[i]);
}

constexpr std::size_t kBlock = 2048;          // the most points of a block
constexpr std::size_t kCheckedBlock = 64;     // the same for Width::checked
constexpr std::size_t kBlockStore = 1 << 18;  // most slots times points of a block: fits a cache

/// The points of a block of a tape of `slots` slots: a multiple of 8, no more than `points` points need.
std::size_t block_capacity(std::size_t slots, std::size_t points = kBlock) {
  const std::size_t fit = kBlockStore / std::max<std::size_t>(slots, 1);
  const std::size_t needed = std::min(points, kBlock) + 7;
  return std::clamp(std::min(fit - fit % 8, needed - needed % 8), std::size_t{8}, kBlock);
}

}  // namespace

template <class T>
Blocks<T>::Blocks(const Tape& tape, std::size_t capacity)
    : tape_(tape),
      capacity_(capacity),
      rate_(tape.size()),
      scalar_(tape.size()),
      store_(std::make_unique_for_overwrite<T[]>(tape.size() * capacity)) {}

template <class T>
void Blocks<T>::classify(std::span<const std::uint8_t> variable_rates) {
  outer_.clear();
  once_.clear();
  each_.clear();
  for (std::size_t v = 0; v < variable_rates.size(); ++v) rate_[tape_.variables()[v]] = variable_rates[v];
  for (std::uint32_t slot = 0; slot < tape_.size(); ++slot) {
    const Node* n = tape_.node(slot);
    if (n->is(Op::Var)) continue;
    std::uint8_t rate = 0;
    for (const std::uint32_t s : tape_.operands(slot)) rate |= rate_[s];
    rate_[slot] = rate;
    if (n->is(Op::Const))
      scalar_[slot] = n->value();
    else if (rate == 0)
      scalar_step(slot);
    else if (rate == kOuter)
      outer_.push_back(slot);
    else if (rate == kOnce)
      once_.push_back(slot);
    else
      each_.push_back(slot);
  }
}

template <class T>
void Blocks<T>::set_scalar(std::size_t variable, std::int64_t value) {
  scalar_[tape_.variables()[variable]] = value;
}
template <class T>
T* Blocks<T>::column(std::size_t variable) {
  return data(tape_.variables()[variable]);
}

template <class T>
void Blocks<T>::run_outer() {
  for (const std::uint32_t slot : outer_) scalar_step(slot);
}
template <class T>
void Blocks<T>::run_once(std::size_t count) {
  for (const std::uint32_t slot : once_) step(slot, count);
}
template <class T>
void Blocks<T>::run_each(std::size_t count) {
  for (const std::uint32_t slot : each_) step(slot, count);
}

template <class T>
const T* Blocks<T>::block(std::uint32_t slot, std::size_t count) {
  T* out = data(slot);
  if (is_scalar(slot)) std::fill_n(out, count, static_cast<T>(scalar_[slot]));
  return out;
}

template <class T>
void Blocks<T>::step(std::uint32_t slot, std::size_t count) {
  switch (tape_.node(slot)->op) {
    case Op::Sum: step_sum(slot, count); break;
    case Op::Div:
    case Op::Mod: step_divide(slot, count); break;
    case Op::Mul:
    case Op::Min:
    case Op::Max:
    case Op::And:
    case Op::Or: step_fold(slot, count); break;
    default: step_choose(slot, count); break;
  }
}

template <class T>
void Blocks<T>::step_sum(std::uint32_t slot, std::size_t count) {
  const auto in = tape_.operands(slot);
  const auto terms = tape_.node(slot)->terms();
  std::int64_t k0 = tape_.node(slot)->k0();
  for (std::size_t j = 0; j < in.size(); ++j)
    if (is_scalar(in[j])) k0 += terms[j].coefficient * scalar_[in[j]];
  T* __restrict out = data(slot);
  bool first = true;
  for (std::size_t j = 0; j < in.size(); ++j) {
    if (is_scalar(in[j])) continue;
    const T* __restrict x = data(in[j]);
    const T c = static_cast<T>(terms[j].coefficient), k = static_cast<T>(k0);
    if (first) {
      for (std::size_t i = 0; i < count; ++i) out[i] = k + c * x[i];
    } else {
      for (std::size_t i = 0; i < count; ++i) out[i] += c * x[i];
    }
    first = false;
  }
}

template <class T>
void Blocks<T>::step_divide(std::uint32_t slot, std::size_t count) {
  const auto in = tape_.operands(slot);
  const bool is_div = tape_.node(slot)->is(Op::Div);
  const T* x = block(in[0], count);
  if (is_scalar(in[1])) {
    const std::int64_t d = scalar_[in[1]];
    is_div ? divide(x, d, data(slot), count) : modulo(x, d, data(slot), count);
  } else {
    const T* d = data(in[1]);
    is_div ? divide(x, d, data(slot), count) : modulo(x, d, data(slot), count);
  }
}

template <class T>
void Blocks<T>::step_fold(std::uint32_t slot, std::size_t count) {
  T* out = data(slot);
  bool first = true;
  for (const std::uint32_t s : tape_.operands(slot)) {
    const T* x = block(s, count);
    if (first) {
      std::copy_n(x, count, out);
      first = false;
      continue;
    }
    switch (tape_.node(slot)->op) {
      case Op::Mul: fold(out, x, count, [](T a, T b) { return a * b; }); break;
      case Op::Min:
      case Op::And: fold(out, x, count, [](T a, T b) { return a < b ? a : b; }); break;
      default: fold(out, x, count, [](T a, T b) { return a < b ? b : a; }); break;  // Max, Or
    }
  }
}

template <class T>
void Blocks<T>::step_choose(std::uint32_t slot, std::size_t count) {
  const auto in = tape_.operands(slot);
  const T* a = block(in[0], count);
  const T* b = block(in[1], count);
  T* __restrict out = data(slot);
  switch (tape_.node(slot)->op) {
    case Op::Lt: map(out, a, b, count, [](T x, T y) { return x < y ? T{1} : T{0}; }); break;
    case Op::Eq: map(out, a, b, count, [](T x, T y) { return x == y ? T{1} : T{0}; }); break;
    case Op::Ne: map(out, a, b, count, [](T x, T y) { return x == y ? T{0} : T{1}; }); break;
    default: {  // Select
      const T* c = block(in[2], count);
      for (std::size_t i = 0; i < count; ++i) out[i] = a[i] == T{0} ? c[i] : b[i];
    }
  }
}

template <class T>
void Blocks<T>::scalar_step(std::uint32_t slot) {
  const Node* n = tape_.node(slot);
  const auto in = tape_.operands(slot);
  const auto value = [&](std::size_t i) { return scalar_[in[i]]; };
  std::int64_t r = 0;
  switch (n->op) {
    case Op::Sum:
      r = n->k0();
      for (std::size_t i = 0; i < in.size(); ++i) r += n->terms()[i].coefficient * value(i);
      break;
    case Op::Mul:
      r = 1;
      for (std::size_t i = 0; i < in.size(); ++i) r *= value(i);
      break;
    case Op::Div: r = floor_div(value(0), value(1)); break;
    case Op::Mod: r = floor_mod(value(0), value(1)); break;
    case Op::Min:
    case Op::And:
      r = value(0);
      for (std::size_t i = 1; i < in.size(); ++i) r = std::min(r, value(i));
      break;
    case Op::Max:
    case Op::Or:
      r = value(0);
      for (std::size_t i = 1; i < in.size(); ++i) r = std::max(r, value(i));
      break;
    case Op::Select: r = value(0) != 0 ? value(1) : value(2); break;
    case Op::Lt: r = value(0) < value(1); break;
    case Op::Eq: r = value(0) == value(1); break;
    case Op::Ne: r = value(0) != value(1); break;
    case Op::Const:
    case Op::Var: return;
  }
  scalar_[slot] = r;
}

template <class T>
BoxScan<T>::BoxScan(const Tape& tape)
    : tape_(tape), blocks_(tape, tape.width() == Width::checked ? 0 : block_capacity(tape.size())) {}

template <class T>
void BoxScan<T>::reset(const Box& box) {
  box_ = box;
  position_ = 0;
  started_ = ended_ = overflowed_ = false;
  outer_.clear();
  for (const Interval& r : box_) outer_.push_back(r.lo);
  if (tape_.width() != Width::checked) plan();
}

// Chooses the points of one block: whole trailing variables while they fit, and a chunk of the variable before them.
template <class T>
void BoxScan<T>::plan() {
  const std::size_t capacity = blocks_.capacity();
  trail_ = 1;
  split_ = box_.size();
  while (split_ > 1 && box_[split_ - 1].extent() <= capacity / trail_) trail_ *= box_[--split_].extent();
  std::vector<std::uint8_t> rates(box_.size(), Blocks<T>::kOnce);
  if (split_ > 0) {
    --split_;
    chunk_ = std::min<std::uint64_t>(box_[split_].extent(), std::max<std::uint64_t>(capacity / trail_, 1));
    std::fill_n(rates.begin(), split_, static_cast<std::uint8_t>(Blocks<T>::kOuter));
    if (chunk_ < box_[split_].extent()) rates[split_] = Blocks<T>::kEach;
  }
  blocks_.classify(rates);
}

template <class T>
std::size_t BoxScan<T>::padded() const {
  return (count_ + Blocks<T>::kLanes - 1) / Blocks<T>::kLanes * Blocks<T>::kLanes;
}

// Fills the column of the variable that is cut into chunks. Padding repeats the last value.
template <class T>
void BoxScan<T>::fill_chunk() {
  T* out = blocks_.column(split_);
  const std::uint64_t extent = box_[split_].extent();
  const std::size_t n = padded();
  std::size_t i = 0;
  for (std::uint64_t v = position_; i < n; ++v) {
    const auto value = static_cast<T>(box_[split_].lo + static_cast<std::int64_t>(std::min(v, extent - 1)));
    for (std::uint64_t t = 0; t < trail_ && i < n; ++t) out[i++] = value;
  }
}

template <class T>
void BoxScan<T>::fill_once() {
  std::uint64_t stride = 1;
  for (std::size_t v = box_.size(); v-- > split_ + 1;) {
    T* out = blocks_.column(v);
    const std::uint64_t extent = box_[v].extent();
    for (std::size_t i = 0; i < padded(); ++i)
      out[i] = static_cast<T>(box_[v].lo + static_cast<std::int64_t>(i / stride % extent));
    stride *= extent;
  }
  fill_chunk();
  blocks_.run_once(padded());
}

// Moves the outer variables to their next values; the last one varies fastest.
template <class T>
bool BoxScan<T>::advance() {
  for (std::size_t v = split_; v-- > 0;) {
    if (outer_[v] < box_[v].hi) {
      ++outer_[v];
      return true;
    }
    outer_[v] = box_[v].lo;
  }
  return false;
}

template <class T>
bool BoxScan<T>::next() {
  if (tape_.width() == Width::checked) return next_checked();
  const std::uint64_t extent = box_.empty() ? 1 : box_[split_].extent();
  const bool first = !started_;
  if (started_) {
    position_ += chunk_;
    if (box_.empty() || position_ >= extent) {
      position_ = 0;
      if (!advance()) return false;
    }
  }
  started_ = true;
  const std::uint64_t values = box_.empty() ? 1 : std::min(chunk_, extent - position_);
  count_ = static_cast<std::size_t>(values * trail_);
  if (box_.empty()) return true;
  if (first)
    fill_once();
  else if (chunk_ < extent)
    fill_chunk();
  if (position_ == 0) {
    for (std::size_t v = 0; v < split_; ++v) blocks_.set_scalar(v, outer_[v]);
    blocks_.run_outer();
  }
  blocks_.run_each(padded());
  return true;
}

template <class T>
bool BoxScan<T>::next_checked() {
  std::vector<std::int64_t> slots;
  checked_.assign(tape_.roots(), {});
  points_.clear();
  split_ = box_.size();
  while (!ended_ && points_.size() < kCheckedBlock) {
    if (tape_.run(outer_, slots) != tape_.size()) {
      overflowed_ = true;
      return false;
    }
    for (std::size_t r = 0; r < tape_.roots(); ++r) checked_[r].push_back(slots[tape_.root(r)]);
    points_.push_back(outer_);
    ended_ = !advance();
  }
  count_ = points_.size();
  if (count_ == 0) return false;
  for (auto& values : checked_) values.resize(padded(), values.back());
  return true;
}

template <class T>
const T* BoxScan<T>::values(std::size_t root) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    if (tape_.width() == Width::checked) return checked_[root].data();
  return blocks_.block(tape_.root(root), padded());
}

template <class T>
std::vector<std::int64_t> BoxScan<T>::point(std::size_t i) const {
  if (tape_.width() == Width::checked) return points_[i];
  std::vector<std::int64_t> point = outer_;
  std::uint64_t rest = i;
  for (std::size_t v = box_.size(); v-- > split_ + 1;) {
    const std::uint64_t extent = box_[v].extent();
    point[v] = box_[v].lo + static_cast<std::int64_t>(rest % extent);
    rest /= extent;
  }
  if (!box_.empty()) point[split_] = box_[split_].lo + static_cast<std::int64_t>(position_ + rest);
  return point;
}

template class Blocks<double>;
template class Blocks<std::int64_t>;
template class BoxScan<double>;
template class BoxScan<std::int64_t>;

std::vector<std::vector<std::int64_t>> run_columns(const Tape& tape,
                                                   const std::vector<std::vector<std::int64_t>>& columns,
                                                   std::size_t n) {
  std::vector<std::vector<std::int64_t>> out(tape.size(), std::vector<std::int64_t>(n));
  const auto run_blocks = [&]<class T>(T) {
    const std::size_t capacity = block_capacity(tape.size(), n);
    Blocks<T> blocks(tape, capacity);
    const std::vector<std::uint8_t> rates(columns.size(), Blocks<T>::kEach);
    blocks.classify(rates);
    for (std::size_t begin = 0; begin < n; begin += capacity) {
      const std::size_t count = std::min(capacity, n - begin);
      for (std::size_t v = 0; v < columns.size(); ++v)
        std::transform(&columns[v][begin], &columns[v][begin] + count, blocks.column(v),
                       [](std::int64_t x) { return static_cast<T>(x); });
      blocks.run_each(count);
      for (std::uint32_t slot = 0; slot < tape.size(); ++slot)
        std::transform(blocks.block(slot, count), blocks.block(slot, count) + count, &out[slot][begin],
                       [](T x) { return static_cast<std::int64_t>(x); });
    }
  };
  if (tape.width() == Width::real)
    run_blocks(double{});
  else if (tape.width() == Width::wide)
    run_blocks(std::int64_t{});
  if (tape.width() != Width::checked) return out;
  std::vector<std::int64_t> point(columns.size()), slots;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t v = 0; v < columns.size(); ++v) point[v] = columns[v][i];
    const std::size_t done = tape.run(point, slots);
    if (done != tape.size()) return {};
    for (std::size_t slot = 0; slot < tape.size(); ++slot) out[slot][i] = slots[slot];
  }
  return out;
}

}  // namespace strata
