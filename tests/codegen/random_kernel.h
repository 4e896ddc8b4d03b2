// Random kernels: LazyOps of every element op, dtype, movement and reduction, with symbolic sizes and lists of Opts.
//
// All that is random is a sequence of choices, and 0 is always the simplest one: a failing kernel is made smaller by
// taking choices away and making them smaller, and what comes out is legal as everything that is made here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "strata/codegen/axes.h"
#include "strata/codegen/pack.h"
#include "strata/graph/absorb.h"
#include "strata/graph/lazy_op.h"

namespace strata::oracle {

/// Choices: drawn and recorded, or played back; behind the end of a recording all are 0.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(seed), draws_(true) {}
  explicit Choices(std::vector<std::uint32_t> recorded) : made_(std::move(recorded)) {}

  /// From 0 to n - 1.
  std::uint32_t below(std::uint32_t n) {
    if (n <= 1) return 0;
    if (at_ == made_.size()) {
      if (!draws_) return 0;
      made_.push_back(static_cast<std::uint32_t>(random_() % n));
    }
    return made_[at_++] % n;
  }
  /// True in `percent` of 100 cases.
  bool chance(std::uint32_t percent) { return below(100) >= 100 - percent; }
  /// An index, as often as its weight says.
  std::size_t weighted(std::initializer_list<std::uint32_t> weights) {
    std::uint32_t total = 0, at = 0;
    for (const std::uint32_t w : weights) total += w;
    std::uint32_t left = below(total);
    for (const std::uint32_t w : weights) {
      if (left < w) return at;
      left -= w;
      ++at;
    }
    return 0;
  }
  template <class T>
  const T& of(const std::vector<T>& items) {
    return items[below(static_cast<std::uint32_t>(items.size()))];
  }
  const std::vector<std::uint32_t>& made() const { return made_; }

 private:
  std::mt19937_64 random_;
  bool draws_ = false;
  std::vector<std::uint32_t> made_;
  std::size_t at_ = 0;
};

struct RandomKernel {
  LazyOp sink;
  std::vector<std::pair<std::string, std::int64_t>> values;  ///< of its variables
};

/// A movement op, and the shape of what it moves.
struct Movement {
  Ops op = Ops::NOOP;
  Ints from, sizes;  ///< sizes: a shape, or steps
  Axes order;
  Padding padding;
  Mask bounds;

  /// Of a LazyOp or a ShapeTracker of shape `from`.
  template <class T>
  T operator()(const T& x) const {
    switch (op) {
      case Ops::PERMUTE: return x.permute(order);
      case Ops::RESHAPE: return x.reshape(sizes);
      case Ops::EXPAND: return x.expand(sizes);
      case Ops::PAD: return x.pad(padding);
      case Ops::SHRINK: return x.shrink(bounds);
      case Ops::STRIDE: return x.stride(sizes);
      default: return x;
    }
  }
};

class KernelMaker {
 public:
  explicit KernelMaker(Choices& choices) : c_(choices) {}

  RandomKernel make() {
    has_functions_ = c_.chance(45);
    is_wild_ = c_.chance(20);
    fuel_ = 2 + static_cast<int>(c_.below(22));
    reductions_left_ = static_cast<int>(c_.weighted({30, 40, 20, 10}));
    has_parts_ = c_.chance(20);
    if (c_.chance(15)) make_variable();
    choose_stores();
    std::vector<LazyOp> stores;
    for (const Place& p : places_) {
      const LazyOp value = tensor(p.st.shape(), p.dtype, 0);
      stores.push_back(LazyOp::store(p.slot, p.st, value, p.size));
    }
    if (stores.size() == 1) stores[0] = along(stores[0]);
    RandomKernel out{LazyOp::sink(stores), {}};
    if (variable_) out.values.emplace_back(variable_->name(), value_);
    return out;
  }

 private:
  static constexpr std::int64_t kMostOutputs = 200, kMostElements = 1200;

  struct Place {
    int slot;
    DType dtype;
    ShapeTracker st;
    Int size;
    bool is_read;  ///< the kernel may read it, too, where it writes
  };
  struct Input {
    int slot;
    DType dtype;
  };

  // --- sizes ---

  static std::int64_t most(const Ints& shape) {
    std::int64_t n = 1;
    for (const Int& v : shape) n *= v.vmax();
    return n;
  }
  std::int64_t number() {
    constexpr std::int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 6, 9, 16, 13, 12, 17, 0, 31};
    return sizes[c_.weighted({12, 12, 14, 12, 8, 8, 10, 6, 5, 6, 4, 4, 4, 2, 3})];
  }
  void make_variable() {
    const std::int64_t low = c_.below(3), high = low + 1 + c_.below(12);
    variable_ = Variable("n", low, high);
    value_ = low + c_.below(static_cast<std::uint32_t>(high - low + 1));
  }
  Ints output_shape() {
    Ints out;
    const std::size_t rank = c_.weighted({6, 25, 30, 20, 10, 5, 4});
    std::int64_t left = kMostOutputs;
    for (std::size_t t = 0; t < rank; ++t) {
      Int size = variable_ && c_.chance(40) ? Int(*variable_) : Int(number());
      if (size.vmax() > left) size = 1;
      left /= std::max<std::int64_t>(size.vmax(), 1);
      out.push_back(size);
    }
    return out;
  }

  // --- stores ---

  void choose_stores() {
    const Ints shape = output_shape();
    const std::size_t count = 1 + c_.weighted({80, 15, 5});
    for (std::size_t k = 0; k < count; ++k) {
      Ints own = shape;
      if (k > 0)
        for (Int& size : own)
          if (c_.chance(20)) size = 1;
      const auto [st, size] = tracked(own, true);
      places_.push_back({slots_++, any_dtype(), st, size, c_.chance(25)});
    }
  }
  DType any_dtype() {
    const std::size_t k = c_.weighted({45, 14, 14, 4, 4, 4, 4, 4, 4, 4, 4, 10, 6});
    const DType order[] = {dtypes::float32, dtypes::int32,   dtypes::float64, dtypes::int64,  dtypes::int8,
                           dtypes::uint8,   dtypes::int16,   dtypes::uint16,  dtypes::uint32, dtypes::uint64,
                           dtypes::boolean, dtypes::float16, dtypes::bfloat16};
    return order[k];
  }

  // --- movement ---

  /// A movement that ends in `to`; where `is_injective`, one that shows no element twice.
  Movement movement(const Ints& to, bool is_injective) {
    Movement m;
    m.from = to;
    switch (c_.weighted({20, 25, is_injective || to.empty() ? 0U : 20U, 15, 15, 15})) {
      case 0: permute(m, to); break;
      case 1: regroup(m, to); break;
      case 2: expand(m, to); break;
      case 3: pad(m, to); break;
      case 4: shrink(m, to); break;
      default: stride(m, to); break;
    }
    if (most(m.from) > kMostElements) m = Movement{Ops::NOOP, to, {}, {}, {}, {}};
    return m;
  }
  void permute(Movement& m, const Ints& to) {
    m.op = Ops::PERMUTE;
    for (std::size_t t = 0; t < to.size(); ++t) m.order.push_back(static_cast<std::int64_t>(t));
    for (std::size_t t = to.size(); t-- > 1;)
      std::swap(m.order[t], m.order[t - c_.below(static_cast<std::uint32_t>(t + 1))]);
    for (std::size_t t = 0; t < to.size(); ++t) m.from[static_cast<std::size_t>(m.order[t])] = to[t];
  }
  void regroup(Movement& m, const Ints& to) {
    m.op = Ops::RESHAPE;
    m.sizes = to;
    for (std::uint32_t turn = 1 + c_.below(3); turn > 0; --turn) regroup_once(m.from);
  }
  void regroup_once(Ints& shape) {
    const auto rank = static_cast<std::uint32_t>(shape.size());
    const std::size_t t = c_.below(std::max(rank, 1U));
    const std::size_t kind = c_.weighted({20, 40, 40});
    if (kind == 1 && t + 1 < shape.size()) {
      shape[t] *= shape[t + 1];
      shape.erase_at(t + 1);
    } else if (kind == 2 && t < shape.size() && shape[t].is_number() && shape[t].value() > 3) {
      for (const std::int64_t n : {2, 3, 5, 7})
        if (shape[t].value() % n == 0 && shape[t].value() != n) {
          shape[t] = shape[t].value() / n;
          shape.insert_at(t + (c_.chance(50) ? 1 : 0), Int(n));
          return;
        }
    } else if (shape.size() < 7) {
      shape.insert_at(t, Int(1));
    }
  }
  void expand(Movement& m, const Ints& to) {
    m.op = Ops::EXPAND;
    m.sizes = to;
    for (Int& size : m.from)
      if (c_.chance(60)) size = 1;
  }
  void pad(Movement& m, const Ints& to) {
    m.op = Ops::PAD;
    for (std::size_t t = 0; t < to.size(); ++t) {
      const std::int64_t size = to[t].is_number() ? std::min<std::int64_t>(to[t].value(), 4) : 0;
      const std::int64_t before = c_.below(static_cast<std::uint32_t>(size + 1)) / 2;
      const std::int64_t after = c_.below(static_cast<std::uint32_t>(size - before + 1)) / 2;
      m.padding.push_back({before, after});
      m.from[t] = to[t] - Int(before + after);
    }
  }
  void shrink(Movement& m, const Ints& to) {
    m.op = Ops::SHRINK;
    for (std::size_t t = 0; t < to.size(); ++t) {
      const Int before = c_.below(3), after = c_.below(3);
      m.from[t] = to[t] + before + after;
      m.bounds.push_back({before, before + to[t]});
    }
  }
  void stride(Movement& m, const Ints& to) {
    m.op = Ops::STRIDE;
    for (std::size_t t = 0; t < to.size(); ++t) {
      constexpr std::int64_t steps[] = {1, -1, 2, -2, 3};
      const std::int64_t step = steps[c_.weighted({50, 30, 10, 5, 5})];
      const bool is_plain = !to[t].is_number() || to[t].value() == 0;
      m.sizes.push_back(is_plain && step != 1 ? -1 : step);
      if (is_plain || step == 1) continue;
      const std::int64_t n = step < 0 ? -step : step;
      m.from[t] = (to[t].value() - 1) * n + 1 + c_.below(static_cast<std::uint32_t>(n));
    }
  }
  /// A stack of Views that ends in `shape`, and the elements of the memory below it.
  std::pair<ShapeTracker, Int> tracked(const Ints& shape, bool is_injective) {
    std::vector<Movement> moves;
    Ints base = shape;
    for (std::size_t n = c_.weighted({40, 25, 20, 10, 5}); n > 0; --n) {
      moves.push_back(movement(base, is_injective));
      base = moves.back().from;
    }
    ShapeTracker st = ShapeTracker::from_shape(base);
    for (std::size_t k = moves.size(); k-- > 0;) st = moves[k](st);
    return {st, product(base) + Int(c_.chance(20) ? 3 : 0)};
  }

  // --- scans and scatters ---
  /// The store of a value without reductions, or of running totals of the value, or the value scattered into.
  LazyOp along(const LazyOp& store) {
    const LazyOp& x = store.src(0);
    const auto nodes = postorder(x);
    const bool reduces = std::any_of(nodes.begin(), nodes.end(), [](const auto* n) { return is_reduce(n->op); });
    if (x.shape().empty() || has_parts_ || reduces || !c_.chance(40)) return store;
    const auto axis = static_cast<std::int64_t>(c_.below(static_cast<std::uint32_t>(x.shape().size())));
    const bool is_narrow = x.dtype().is_float() && x.dtype().itemsize() == 2;
    const auto op = c_.of<Ops>({Ops::SUM, Ops::REDUCE_MAX, Ops::PROD, Ops::REDUCE_MIN});
    const bool rounds = op == Ops::SUM || op == Ops::PROD;
    const auto& arg = std::get<BufferArg>(store.arg());
    const auto stored = [&](const LazyOp& value) { return LazyOp::store(arg.slot, arg.st, value, arg.size); };
    const Int size = x.shape()[static_cast<std::size_t>(axis)];
    if (c_.chance(60) || !size.is_number()) {
      if (is_narrow && rounds) return stored(LazyOp::scan(Ops::REDUCE_MAX, x, axis));
      std::vector<LazyOp> factors;
      const bool recurs = !x.dtype().is_bool() && !is_narrow && c_.chance(30);
      for (std::uint32_t k = recurs ? 1 + c_.below(3) : 0; k > 0; --k) factors.push_back(leaf(x.shape(), x.dtype()));
      const LazyOp out = recurs ? LazyOp::recurrence(factors, x, axis) : LazyOp::scan(op, x, axis);
      return stored(c_.chance(30) ? LazyOp::alu(Ops::MAX, {out, leaf(x.shape(), x.dtype())}) : out);
    }
    Ints values = x.shape();
    values[static_cast<std::size_t>(axis)] = variable_ && c_.chance(30) ? Int(*variable_) : Int(number());
    const DType of = c_.of<DType>({dtypes::int32, dtypes::int64, dtypes::int8, dtypes::uint8});
    LazyOp index = leaf(values, of);
    const LazyOp n = LazyOp::constant(Scalar::of(of, std::max<std::int64_t>(size.value(), 1)), values);
    if (c_.chance(80)) index = LazyOp::alu(Ops::FLOORMOD, {index, n});
    const Ops how = c_.chance(30) || (is_narrow && rounds) ? Ops::NOOP : op;
    const LazyOp operands[] = {index, leaf(values, x.dtype())};
    for (const LazyNode* below : postorder(operands))  // a kernel may not read there what it writes
      if (below->op == Ops::LOAD && std::get<BufferArg>(below->arg).slot == arg.slot) return store;
    return stored(LazyOp::scatter(how, x, operands[0], operands[1], axis));
  }

  // --- values ---

  LazyOp tensor(const Ints& shape, DType dtype, int depth) {
    if (fuel_-- <= 0 || depth > 40) return leaf(shape, dtype);
    const bool reduces = reductions_left_ > 0;
    switch (c_.weighted({12, 40, 14, reduces ? 12U : 0U, reduces ? 8U : 0U, 8, 6, 6})) {
      case 0: return leaf(shape, dtype);
      case 1: return element(shape, dtype, depth);
      case 2: {
        const Movement m = movement(shape, false);
        return m(noted(tensor(m.from, dtype, depth + 1)));
      }
      case 3: return reduction(shape, dtype, depth);
      case 4: return stage(shape, dtype, depth);
      case 5: return converted(shape, dtype, depth);
      case 6: return known(shape, dtype);
      default: return gathered(shape, dtype, depth);
    }
  }
  /// Out of a table that may be the same for several rows, at indices that are mostly inside.
  LazyOp gathered(const Ints& shape, DType dtype, int depth) {
    Ints wide = shape;
    const std::int64_t n = c_.chance(90) ? 1 + c_.below(9) : number();
    wide.push_back(n);
    if (most(wide) > kMostElements) return leaf(shape, dtype);
    Movement m;
    m.from = wide;
    expand(m, wide);
    const LazyOp values = m(noted(tensor(m.from, dtype, depth + 1)));
    const DType of = c_.of<DType>({dtypes::int32, dtypes::int64, dtypes::int8, dtypes::uint8, dtypes::uint64});
    LazyOp index = noted(tensor(shape, of, depth + 1));
    if (n > 0 && c_.chance(80)) index = LazyOp::alu(Ops::FLOORMOD, {index, LazyOp::constant(Scalar::of(of, n), shape)});
    return noted(LazyOp::gather(values, index));
  }
  LazyOp noted(LazyOp x) {
    const bool is_part = is_elementwise(x.op()) || is_reduce(x.op());
    if (has_parts_ && is_part && !x.node()->is_closed && c_.chance(25)) x = x.contiguous();
    made_.push_back(x);
    return x;
  }
  /// One of the tensors that there are already.
  LazyOp known(const Ints& shape, DType dtype) {
    for (std::size_t k = made_.size(); k-- > 0;)
      if (made_[k].shape() == shape && made_[k].dtype() == dtype && !c_.chance(30)) return made_[k];
    return leaf(shape, dtype);
  }

  LazyOp leaf(const Ints& shape, DType dtype) {
    switch (c_.weighted({12, 60, 8, 8, 12})) {
      case 0: return LazyOp::constant(value(dtype), shape);
      case 2: return LazyOp::iota(dtype, tracked(shape, false).first);
      case 3: {
        const Scalar number = value(dtype);
        return LazyOp::constant(number, tracked(shape, false).first);
      }
      case 4:
        for (const Place& p : places_)
          if (p.is_read && p.dtype == dtype && p.st.shape() == shape)
            return noted(LazyOp::load(p.slot, dtype, p.st, p.size));
        [[fallthrough]];
      default: return noted(loaded(shape, dtype));
    }
  }
  LazyOp loaded(const Ints& shape, DType dtype) {
    int slot = -1;
    for (const Input& known : inputs_)
      if (known.dtype == dtype && c_.chance(40)) slot = known.slot;
    if (slot < 0) {
      slot = slots_++;
      inputs_.push_back({slot, dtype});
    }
    const auto [st, size] = tracked(shape, false);
    return LazyOp::load(slot, dtype, st, size);
  }
  Scalar value(DType dtype) {
    if (is_wild_ && c_.chance(15)) return Scalar::from_bits(dtype, std::uint64_t{c_.below(1U << 31)} * 0x200000003U);
    const std::int64_t n = c_.below(9);
    if (dtype.is_float()) return Scalar::of(dtype, (static_cast<double>(n) - 4) / 2);
    return Scalar::of(dtype, n);
  }

  // --- ops on elements ---

  static bool is_function(Ops op) { return (op >= Ops::EXP2 && op <= Ops::ERF) || op == Ops::POW || op == Ops::ATAN2; }
  static bool fits(const OpRow& r, DType dtype) {
    switch (r.typing) {
      case OpTyping::same: return true;
      case OpTyping::number: return !dtype.is_bool();
      case OpTyping::real: return dtype.is_float();
      case OpTyping::integer: return dtype.is_int();
      case OpTyping::bits: return !dtype.is_float();
      case OpTyping::compare: return dtype.is_bool();
      case OpTyping::select: return true;
      case OpTyping::words: return dtype == dtypes::int32;
      default: return false;
    }
  }
  LazyOp element(const Ints& shape, DType dtype, int depth) {
    std::vector<Ops> ops;
    for (const OpRow& r : op_rows())
      if (is_elementwise(r.op) && fits(r, dtype) && (has_functions_ || !is_function(r.op))) ops.push_back(r.op);
    const Ops op = c_.of(ops);
    DType of = dtype;
    if (row(op).typing == OpTyping::compare) of = any_dtype();
    std::vector<LazyOp> operands;
    for (std::size_t k = 0; k < row(op).arity; ++k) {
      const bool is_condition = op == Ops::WHERE && k == 0;
      operands.push_back(noted(tensor(shape, is_condition ? dtypes::boolean : of, depth + 1)));
    }
    const bool wants_positive =
        op == Ops::SQRT || op == Ops::LOG || op == Ops::LOG2 || op == Ops::LOG1P || op == Ops::POW;
    if (wants_positive && !c_.chance(20)) operands[0] = LazyOp::alu(Ops::ABS, {operands[0]});
    return LazyOp::alu(op, operands);
  }
  LazyOp converted(const Ints& shape, DType dtype, int depth) {
    const DType from = any_dtype();
    const LazyOp x = noted(tensor(shape, from, depth + 1));
    const bool keeps_bits = from.bits() == dtype.bits() && !from.is_bool() && !dtype.is_bool();
    return keeps_bits && c_.chance(30) ? x.bitcast(dtype) : x.cast(dtype);
  }

  // --- reductions ---

  Ops reduce_op() {
    constexpr Ops ops[] = {Ops::SUM, Ops::REDUCE_MAX, Ops::REDUCE_MIN, Ops::PROD};
    return ops[c_.weighted({50, 25, 15, 10})];
  }
  Int reduced_size() {
    if (variable_ && c_.chance(40)) return *variable_;
    return c_.chance(90) ? Int(2 + c_.below(7)) : Int(number());
  }
  LazyOp reduction(const Ints& shape, DType dtype, int depth) {
    --reductions_left_;
    Ints wide = shape;
    Axes axes;
    bool inserted = false;
    for (std::size_t t = 0; t < wide.size(); ++t)
      if (wide[t] == Int(1) && c_.chance(60)) {
        wide[t] = reduced_size();
        axes.push_back(static_cast<std::int64_t>(t));
      }
    for (std::uint32_t n = 1 + c_.below(2); n > 0 && (axes.empty() || n > 1) && wide.size() < 7; --n) {
      const auto at = c_.below(static_cast<std::uint32_t>(wide.size() + 1));
      wide.insert_at(at, reduced_size());
      for (std::int64_t& a : axes) a += a >= std::int64_t{at} ? 1 : 0;
      axes.push_back(at);
      inserted = true;
    }
    if (axes.empty() || most(wide) > kMostElements) return leaf(shape, dtype);
    const LazyOp x = c_.chance(30) ? product_of(wide, dtype, depth) : tensor(wide, dtype, depth + 1);
    const LazyOp operand = noted(x);  // NOTE: choices are made in one order, whatever compiles this
    const LazyOp out = noted(LazyOp::reduce(reduce_op(), operand, axes));
    return inserted ? out.reshape(shape) : out;
  }
  /// Two operands that do not depend on all axes, as in a product of matrices.
  LazyOp product_of(const Ints& shape, DType dtype, int depth) {
    std::vector<LazyOp> operands;
    for (int k = 0; k < 2; ++k) {
      Movement m;
      m.from = shape;
      expand(m, shape);
      operands.push_back(m(noted(tensor(m.from, dtype, depth + 1))));
    }
    return LazyOp::alu(Ops::MUL, operands);
  }
  /// Something over a whole axis, and each element against it: softmax, variance, logsumexp, or any ops.
  LazyOp stage(const Ints& shape, DType dtype, int depth) {
    Axes axes;
    std::int64_t count = 1;
    for (std::size_t t = 0; t < shape.size(); ++t)
      if (c_.chance(60)) {
        axes.push_back(static_cast<std::int64_t>(t));
        count *= shape[t].vmax();
      }
    if (axes.empty()) return leaf(shape, dtype);
    reductions_left_ -= 2;
    const LazyOp x = noted(tensor(shape, dtype, depth + 1));
    const auto whole = [&](Ops op, const LazyOp& of) { return LazyOp::reduce(op, of, axes).expand(shape); };
    const std::size_t kind = c_.weighted({40, 20, 20, 20});
    if (kind == 0 || !dtype.is_float() || (kind != 2 && !has_functions_)) {
      const LazyOp over = whole(reduce_op(), x);
      return LazyOp::alu(c_.of<Ops>({Ops::ADD, Ops::MUL, Ops::MAX}), {x, over});
    }
    if (kind == 2) {
      const LazyOp n = LazyOp::constant(Scalar::of(dtype, std::max<std::int64_t>(count, 1)), shape);
      const LazyOp d = x - whole(Ops::SUM, x) / n;
      return whole(Ops::SUM, d * d) / n;
    }
    const LazyOp largest = whole(Ops::REDUCE_MAX, x);
    const LazyOp e = LazyOp::alu(Ops::EXP, {x - largest});
    const LazyOp sum = whole(Ops::SUM, e);
    return kind == 1 ? e / sum : LazyOp::alu(Ops::LOG, {sum}) + largest;
  }

  Choices& c_;
  bool has_functions_ = false, is_wild_ = false;
  bool has_parts_ = false;  // CONTIGUOUS between parts of the kernel
  int fuel_ = 0, reductions_left_ = 0, slots_ = 0;
  std::optional<Variable> variable_;
  std::int64_t value_ = 0;
  std::vector<Place> places_;
  std::vector<Input> inputs_;
  std::vector<LazyOp> made_;
};

inline RandomKernel random_kernel(Choices& choices) { return KernelMaker(choices).make(); }

/// One kernel in ten in parts: the kernel that packs a buffer (PACK), or that which reads the packed elements, whatever
/// they are.
inline RandomKernel in_parts(Choices& c, RandomKernel k) {
  if (!c.chance(10)) return k;
  const LazyOp kernel = absorb_movement(k.sink);
  const int slot = static_cast<int>(c.below(6));
  if (static_cast<std::size_t>(slot) >= buffers_of(kernel).size()) return k;
  const std::vector<std::size_t> axes = pack_axes(kernel, slot, Target());
  if (axes.empty()) return k;
  Opt pack{Opt::Kind::PACK, c.of(axes), 2 + c.below(7), 0, {}};
  pack.slot = slot;
  const PackedKernels kernels = pack_buffer(kernel, pack, Target());
  k.sink = c.chance(30) ? kernels.first : kernels.rest;
  return k;
}

// --- Opts ---

inline Opt random_opt(Choices& c, const KernelAxes& axes) {
  Opt opt;
  opt.kind = static_cast<Opt::Kind>(c.weighted({15, 18, 8, 18, 12, 8, 10, 5, 5, 5, 1, 1, 1, 1, 1, 6, 3}));
  opt.axis = c.below(static_cast<std::uint32_t>(std::max<std::size_t>(axes.axes().size(), 1)));
  if (opt.kind == Opt::Kind::PARALLEL && !axes.order().empty()) opt.axis = axes.order()[0];
  if (opt.axis < axes.axes().size())
    opt.segment = c.below(static_cast<std::uint32_t>(axes.axes()[opt.axis].segments.size()));
  if (opt.kind == Opt::Kind::REORDER) {
    opt = {Opt::Kind::REORDER, 0, 0, 0, axes.order()};
    for (std::size_t t = opt.order.size(); t-- > 1;)
      std::swap(opt.order[t], opt.order[c.below(static_cast<std::uint32_t>(t + 1))]);
  } else if (opt.kind == Opt::Kind::STAGE) {
    opt.segment = 0;
    opt.amount = c.below(6);
  } else if (opt.kind == Opt::Kind::STREAM || opt.kind == Opt::Kind::GUARD) {
    opt = {opt.kind, 0, c.below(4), 0, {}};
  } else if (opt.kind == Opt::Kind::MERGE) {
    opt.segment = 0;
  } else if (opt.kind != Opt::Kind::PARALLEL) {
    constexpr std::int64_t amounts[] = {2, 4, 3, 8, 5, 7, 16, 1};
    opt.amount = amounts[c.weighted({25, 25, 20, 12, 6, 6, 4, 2})];
  }
  return opt;
}

struct RandomOpts {
  std::vector<Opt> opts;
  std::size_t refused = 0;
  std::string fault;  ///< a refusal that changed something, or that does not name its Opt
};

/// Up to `tries` Opts, those that are legal; few enough that kernels stay small.
inline RandomOpts random_opts(Choices& c, const LazyOp& kernel, std::uint32_t tries) {
  RandomOpts out;
  KernelAxes axes(kernel);
  std::int64_t copies = 1;
  for (std::uint32_t n = c.below(tries + 1); n > 0; --n) {
    const Opt opt = random_opt(c, axes);
    const bool multiplies = opt.kind >= Opt::Kind::UPCAST && opt.kind <= Opt::Kind::LANES;
    if (multiplies && copies * opt.amount > 64) continue;
    KernelAxes next = axes;
    try {
      next.apply(opt);
    } catch (const Error& error) {
      ++out.refused;
      const std::string text = error.what();
      if (next.text() != axes.text() || next.order() != axes.order())
        out.fault = detail::message("a refusal changed the axes: ", text);
      if (text.find(opt.text()) == std::string::npos)
        out.fault = detail::message("a refusal does not name ", opt.text(), ": ", text);
      continue;
    }
    std::size_t nests = 1;
    for (const LoopAxis& axis : next.axes()) nests *= axis.segments.size();
    if (nests > 8) continue;
    if (multiplies) copies *= opt.amount;
    axes = std::move(next);
    out.opts.push_back(opt);
  }
  return out;
}

}  // namespace strata::oracle
