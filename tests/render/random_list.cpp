#include "tests/render/random_list.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

namespace strata::test {
namespace {

constexpr std::int64_t kTripCount = 5;

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomOptions& options) : options_(options), random_(seed) {
    if (options_.dtypes.empty()) options_.dtypes.assign(dtypes::all().begin(), dtypes::all().end());
    constexpr int kLanes[] = {1, 1, 1, 2, 3, 4, 4, 5, 8, 8, 16};
    do {
      lanes_ = kLanes[below(std::size(kLanes))];
    } while (lanes_ > options_.most_lanes);
  }

  RandomKernel make() {
    n_ = list().add(UOps::DEFINE_VAR, dtypes::int32, {}, Variable("n", 1, kTripCount));
    out_.values.emplace_back("n", static_cast<std::int64_t>(1 + below(kTripCount)));
    const UOp zero = number(dtypes::int32, 0);
    const UOp trip_count = number(dtypes::int32, kTripCount);
    const bool accumulates = below(2) == 0;
    UOp acc;
    if (accumulates) acc = accumulator();
    loop_ = list().add(UOps::LOOP, dtypes::int32, {zero, below(2) == 0 ? n_ : trip_count}, {}, false);
    index_ = alu(Ops::MUL, {loop_, number(dtypes::int32, lanes_)});
    for (int k = 0; k < 3; ++k) load();
    for (int k = 0; k < options_.ops; ++k) step();
    if (below(3) == 0) changed_value();
    if (below(3) == 0) inner_loop();
    if (accumulates) accumulate(acc);
    const int stores = 1 + static_cast<int>(below(3));
    for (int k = 0; k < stores; ++k) store(pick(), index_);
    if (below(4) == 0) guarded_store();
    list().add(UOps::ENDLOOP, dtypes::none, {loop_});
    if (accumulates) store(acc, zero);
    return std::move(out_);
  }

 private:
  UOpGraph& list() { return out_.list; }
  /// Nothing is shared: a value that was made in a block is no value outside of it.
  UOp add(UOps op, DType dtype, std::span<const UOp> src, UOpArg arg = {}) {
    return list().add(op, dtype, src, std::move(arg), false);
  }
  UOp alu(Ops op, std::initializer_list<UOp> operands) {
    std::vector<DType> of;
    for (const UOp u : operands) of.push_back(u.dtype());
    return list().add(UOps::ALU, result_dtype(op, of), operands, op, false);
  }
  UOp number(DType dtype, std::int64_t value) { return add(UOps::CONST, dtype, {}, Scalar::of(dtype.scalar(), value)); }
  UOp cast(UOp u, DType to) {
    const DType dtype = u.dtype().is_vector() ? to.vec(u.dtype().lanes()) : to;
    return dtype == u.dtype() ? u : list().add(UOps::CAST, dtype, {u}, {}, false);
  }
  UOp bits(UOp u, DType to) { return list().add(UOps::BITCAST, wide(to), {u}, {}, false); }
  UOp lane(UOp u, int k) { return list().add(UOps::GEP, u.dtype().scalar(), {u}, std::int64_t{k}, false); }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  DType any_dtype() { return options_.dtypes[below(options_.dtypes.size())]; }
  UOp pick() { return pool_[below(pool_.size())]; }
  DType wide(DType scalar) const { return lanes_ == 1 ? scalar : scalar.vec(lanes_); }

  Scalar scalar(DType dtype) {
    if (dtype.is_bool()) return Scalar(below(2) == 0);
    if (dtype.is_float()) {
      constexpr double kValues[] = {1, -1, 0.5, 3, -2.25, 1e-3, 100, -7, 1e30, -1e-40, 65504, 0.1};
      return Scalar::of(dtype, kValues[below(std::size(kValues))]);
    }
    constexpr std::int64_t kValues[] = {1, 2, 3, 7, 100, -1, -5, 127, 40000, -2147483647, 0};
    return Scalar::of(dtype, kValues[below(std::size(kValues))]);
  }

  /// What is in a buffer: edges among ordinary values.
  Scalar element(DType dtype) {
    const bool edge = below(4) == 0;
    if (dtype.is_bool()) return Scalar(below(2) == 0);
    if (!dtype.is_float())
      return edge ? Scalar::from_bits(dtype, random_())
                  : Scalar::of(dtype, static_cast<std::int64_t>(below(200)) - 100);
    using Limits = std::numeric_limits<double>;
    constexpr double kEdges[] = {0.0, Limits::infinity(), -Limits::infinity(), 1e38, -3e9, 1e-42};
    if (edge && below(5) == 0) return Scalar::of(dtype, Limits::quiet_NaN());
    if (edge) return Scalar::of(dtype, kEdges[below(std::size(kEdges))]);
    return Scalar::of(dtype, (static_cast<double>(below(4001)) - 2000) / 64);
  }

  UOp buffer(DType dtype, bool stored) {
    const int slot = static_cast<int>(out_.buffers.size());
    const std::int64_t size = kTripCount * lanes_;
    RandomKernel::Buffer b{dtype, size, stored, {}};
    b.data.resize(static_cast<std::size_t>(size) * dtype.itemsize());
    for (std::int64_t k = 0; k < size; ++k)
      store_scalar(element(dtype), b.data.data() + static_cast<std::size_t>(k) * dtype.itemsize());
    out_.buffers.push_back(std::move(b));
    return list().add(UOps::DEFINE_GLOBAL, dtype.pointer(), {}, Global{slot, "data" + std::to_string(slot)});
  }

  UOp constant(DType dtype) { return add(UOps::CONST, dtype, {}, scalar(dtype.scalar())); }

  /// A condition on where we are: one for all lanes, or one for each.
  UOp gate() {
    const UOp turn = alu(Ops::CMPLT, {loop_, number(dtypes::int32, 3)});
    if (lanes_ == 1 || below(2) == 0) return turn;
    std::vector<UOp> lanes;
    for (int k = 0; k < lanes_; ++k) {
      const UOp at = alu(Ops::ADD, {index_, number(dtypes::int32, k)});
      lanes.push_back(alu(Ops::CMPLT, {at, number(dtypes::int32, 2 * lanes_ + 1)}));
    }
    return add(UOps::VECTORIZE, wide(dtypes::boolean), lanes);
  }

  void load() {
    const DType dtype = any_dtype();
    const UOp from = buffer(dtype, false);
    std::vector<UOp> src{from, index_};
    if (below(3) == 0) {
      src.push_back(gate());
      src.push_back(constant(wide(dtype)));
    }
    pool_.push_back(add(UOps::LOAD, wide(dtype), src));
    loaded_.push_back(pool_.back());
  }

  void store(UOp value, UOp index) {
    std::vector<UOp> src{buffer(value.dtype().scalar(), true), index, value};
    if (index == index_ && below(4) == 0) src.push_back(gate());
    list().add(UOps::STORE, dtypes::none, src);
  }

  UOp accumulator() {
    const DType dtype = wide(any_dtype());
    const bool is_float = dtype.is_float();
    const Scalar begin = is_float ? Scalar::of(dtype.scalar(), 1.0) : scalar(dtype.scalar());
    return list().add(UOps::DEFINE_ACC, dtype, {add(UOps::CONST, dtype, {}, begin)}, {}, false);
  }

  void accumulate(UOp acc) {
    const UOp value = cast(pick(), acc.dtype().scalar());
    const Ops op = below(2) == 0 ? Ops::ADD : Ops::MAX;
    const UOp once = alu(op, {acc, value});
    UOp phi = list().add(UOps::PHI, acc.dtype(), {acc, once}, {}, false);
    if (below(3) == 0) {
      const UOp again = alu(Ops::ADD, {phi, acc});
      list().add(UOps::PHI, acc.dtype(), {acc, again}, {}, false);
    }
    pool_.push_back(phi);
  }

  /// A block of `body`, whose values nobody outside sees.
  template <class Body>
  void block(UOp begin, UOps end, const Body& body) {
    const std::size_t values = pool_.size(), loads = loaded_.size();
    body();
    list().add(end, dtypes::none, {begin});
    pool_.resize(values);
    loaded_.resize(loads);
  }

  void inner_loop() {
    const UOp acc = accumulator();
    const UOp zero = number(dtypes::int32, 0), end = number(dtypes::int32, 3);
    const UOp inner = list().add(UOps::LOOP, dtypes::int32, {zero, end}, {}, false);
    block(inner, UOps::ENDLOOP, [&] {
      for (int k = 0; k < 4; ++k) step();
      accumulate(acc);
    });
    pool_.push_back(acc);
  }

  void guarded_store() {
    const UOp early = alu(Ops::CMPLT, {loop_, number(dtypes::int32, 2)});
    const UOp condition = list().add(UOps::IF, dtypes::none, {early}, {}, false);
    block(condition, UOps::ENDIF, [&] {
      for (int k = 0; k < 3; ++k) step();
      store(pick(), index_);
    });
  }

  /// A value that changes where a condition, or one of its lanes, is true.
  void changed_value() {
    const UOp acc = accumulator();
    const UOp asked = below(2) == 0 ? gate() : pick();
    const UOp is_asked = asked.dtype().is_bool() ? asked : alu(Ops::CMPLT, {asked, partner(asked)});
    const UOp condition = list().add(UOps::IF, dtypes::none, {is_asked}, {}, false);
    block(condition, UOps::ENDIF, [&] {
      for (int k = 0; k < 3; ++k) step();
      accumulate(acc);
    });
    pool_.push_back(acc);
  }

  /// One more value, or none where the one that was picked does not fit.
  void step() {
    switch (below(10)) {
      case 0: return conversion();
      case 1: return bitcast();
      case 2: return compare();
      case 3: return shuffle();
      case 4: return load();
      default: return arithmetic();
    }
  }

  void conversion() { pool_.push_back(cast(pick(), any_dtype())); }

  /// Of what was loaded: NaN that was computed has bits that differ between machines.
  void bitcast() {
    const UOp from = loaded_[below(loaded_.size())];
    const DType to = any_dtype();
    const bool plain = !to.is_bool() && !from.dtype().is_bool();
    if (plain && to.bits() == from.dtype().bits() && !to.is_float()) pool_.push_back(bits(from, to));
  }

  UOp partner(UOp a) { return below(3) == 0 ? constant(a.dtype()) : cast(pick(), a.dtype().scalar()); }

  void compare() {
    constexpr Ops kOps[] = {Ops::CMPLT, Ops::CMPEQ, Ops::CMPNE};
    const UOp a = pick(), b = partner(a);
    const UOp condition = alu(kOps[below(3)], {a, b});
    pool_.push_back(condition);
    const UOp yes = pick();
    pool_.push_back(alu(Ops::WHERE, {condition, yes, partner(yes)}));
  }

  void shuffle() {
    if (lanes_ == 1) return;
    const UOp a = pick(), b = partner(a);
    std::vector<UOp> lanes;
    for (int k = 0; k < lanes_; ++k)
      lanes.push_back(lane(below(2) == 0 ? a : b, static_cast<int>(below(static_cast<std::size_t>(lanes_)))));
    pool_.push_back(add(UOps::VECTORIZE, a.dtype(), lanes));
  }

  void arithmetic() {
    const UOp a = pick();
    const DType dtype = a.dtype();
    if (dtype.is_bool()) {
      constexpr Ops kOps[] = {Ops::ADD, Ops::MUL, Ops::MAX, Ops::MIN, Ops::AND, Ops::OR, Ops::XOR};
      if (below(5) == 0) return pool_.push_back(alu(Ops::NOT, {a}));
      return pool_.push_back(alu(kOps[below(std::size(kOps))], {a, partner(a)}));
    }
    if (dtype.is_float()) return real_arithmetic(a);
    constexpr Ops kUnary[] = {Ops::NEG, Ops::ABS, Ops::NOT, Ops::NOOP};
    constexpr Ops kBinary[] = {Ops::ADD, Ops::SUB, Ops::MUL, Ops::MAX, Ops::MIN,  Ops::AND,
                               Ops::OR,  Ops::XOR, Ops::SHL, Ops::SHR, Ops::IDIV, Ops::MOD};
    if (below(5) == 0) return pool_.push_back(alu(kUnary[below(std::size(kUnary))], {a}));
    if (below(8) == 0) return pool_.push_back(alu(Ops::MULACC, {a, partner(a), partner(a)}));
    const Ops op = kBinary[below(std::size(kBinary))];
    const bool divides = op == Ops::IDIV || op == Ops::MOD;
    const UOp b = divides ? number(dtype, static_cast<std::int64_t>(1 + below(9))) : partner(a);
    pool_.push_back(alu(op, {a, b}));
  }

  void real_arithmetic(UOp a) {
    constexpr Ops kUnary[] = {Ops::NEG, Ops::ABS, Ops::RECIP, Ops::SQRT, Ops::TRUNC, Ops::FLOOR, Ops::CEIL, Ops::ROUND};
    constexpr Ops kBinary[] = {Ops::ADD, Ops::SUB, Ops::MUL, Ops::DIV, Ops::MAX, Ops::MIN};
    if (below(3) == 0) return pool_.push_back(alu(kUnary[below(std::size(kUnary))], {a}));
    pool_.push_back(alu(kBinary[below(std::size(kBinary))], {a, partner(a)}));
  }

  RandomOptions options_;
  std::mt19937_64 random_;
  RandomKernel out_;
  int lanes_ = 1;
  UOp n_, loop_, index_;
  std::vector<UOp> pool_;    // all of lanes_
  std::vector<UOp> loaded_;  // of these, what memory gave
};

}  // namespace

RandomKernel random_kernel(std::uint64_t seed, const RandomOptions& options) { return Generator(seed, options).make(); }

}  // namespace strata::test
