// One formula over blocks of inputs: the UOps of a decomposition, run one after another on arrays. Quick enough to walk
// all floats of 32 bits; its ops are the host's own, so that it says the same as `evaluate` where that is exact.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "strata/codegen/decompose.h"

namespace strata::test {

/// A formula with its inputs as loads from slots 0, 1, ...
struct Formula {
  UOpGraph graph;
  std::vector<UOp> inputs;
  UOp result;
};

inline Formula make_formula(Ops op, DType dtype, const OpSet& native = basic_ops()) {
  Formula f;
  const UOp zero = f.graph.constant(dtypes::int32, 0);
  for (int k = 0; k < row(op).arity; ++k) {
    const Global global{k, "data" + std::to_string(k)};
    const bool is_word = row(op).typing == OpTyping::pairs && k < 2;
    const DType own = is_word ? dtypes::int32.vec(dtype.lanes()) : dtype;
    const UOp from = f.graph.add(UOps::DEFINE_GLOBAL, own.scalar().pointer(), {}, global);
    f.inputs.push_back(f.graph.add(UOps::LOAD, own, {from, zero}));
  }
  f.result = emit(f.graph, op, f.inputs, native);
  return f;
}

// Floats of 16 bits as they lie in memory; they are converted, and nothing else.
struct Half {
  std::uint16_t bits;
  explicit operator float() const { return f16_to_f32(bits); }
};
struct Brain {
  std::uint16_t bits;
  explicit operator float() const { return bf16_to_f32(bits); }
};
template <class T>
concept Narrow = std::is_same_v<T, Half> || std::is_same_v<T, Brain>;

template <class To, class From>
To convert(From v) {
  if constexpr (std::is_same_v<To, From>)
    return v;
  else if constexpr (std::is_same_v<To, Half>)
    return {f32_to_f16(static_cast<float>(v))};
  else if constexpr (std::is_same_v<To, Brain>)
    return {f32_to_bf16(static_cast<float>(v))};
  else if constexpr (Narrow<From>)
    return static_cast<To>(static_cast<float>(v));
  else
    return static_cast<To>(v);
}

/// Runs a Formula of scalar dtypes on blocks.
class Block {
 public:
  static constexpr std::size_t kSize = 256;

  explicit Block(const Formula& formula, bool fused) : formula_(&formula), fused_(fused) {
    for (const UOp u : formula.graph) {
      registers_.push_back(std::make_unique<Register>());
      if (u.op() == UOps::CONST) fill(u);
      if (u.op() == UOps::ALU || u.op() == UOps::CAST || u.op() == UOps::BITCAST) steps_.push_back(u);
    }
  }

  template <class T>
  T* input(std::size_t k) {
    return data<T>(formula_->inputs[k]);
  }
  template <class T>
  const T* result() {
    return data<T>(formula_->result);
  }

  void run() {
    for (const UOp u : steps_) {
      if (u.op() == UOps::ALU)
        by_dtype(u.src().back().dtype(), [&](auto t) { alu<decltype(t)>(u); });
      else if (u.op() == UOps::CAST)
        by_dtype(u.src(0).dtype(), [&](auto t) { cast<decltype(t)>(u); });
      else
        std::memcpy(at(u), at(u.src(0)), sizeof(Register));
    }
  }

 private:
  struct alignas(64) Register {
    std::array<std::uint64_t, kSize> words{};
  };

  void* at(UOp u) { return registers_[u.num()]->words.data(); }
  template <class T>
  T* data(UOp u) {
    return static_cast<T*>(at(u));
  }

  template <class F>
  static void by_dtype(DType dtype, F f) {
    switch (dtype.id()) {
      case DType::Id::boolean: return f(std::uint8_t{});
      case DType::Id::int32: return f(std::int32_t{});
      case DType::Id::int64: return f(std::int64_t{});
      case DType::Id::uint32: return f(std::uint32_t{});
      case DType::Id::uint64: return f(std::uint64_t{});
      case DType::Id::float16: return f(Half{});
      case DType::Id::bfloat16: return f(Brain{});
      case DType::Id::float32: return f(float{});
      case DType::Id::float64: return f(double{});
      default: throw std::logic_error("dtype " + dtype.name());
    }
  }

  void fill(UOp u) {
    by_dtype(u.dtype(), [&](auto t) {
      using T = decltype(t);
      const std::uint64_t bits = u.constant().bits();
      T value;
      std::memcpy(&value, &bits, sizeof value);
      std::fill_n(data<T>(u), kSize, value);
    });
  }

  template <class T>
  void cast(UOp u) {
    const T* from = data<T>(u.src(0));
    by_dtype(u.dtype(), [&](auto t) {
      using To = decltype(t);
      To* to = data<To>(u);
      for (std::size_t k = 0; k < kSize; ++k) to[k] = convert<To>(from[k]);
    });
  }

  template <class T, class To = T, class F>
  void each(UOp u, F f) {
    const T* a = data<T>(u.src(0));
    const T* b = data<T>(u.src(u.src().size() > 1 ? 1 : 0));
    To* to = data<To>(u);
    for (std::size_t k = 0; k < kSize; ++k) to[k] = static_cast<To>(f(a[k], b[k]));
  }

  template <class T>
  void alu(UOp u) {
    if constexpr (Narrow<T>)
      throw std::logic_error("arithmetic in 16 bits");
    else
      alu_of<T>(u);
  }

  template <class T>
  void alu_of(UOp u) {
    using Bool = std::uint8_t;
    switch (u.alu()) {
      case Ops::CMPLT: return each<T, Bool>(u, [](T a, T b) { return a < b; });
      case Ops::CMPEQ: return each<T, Bool>(u, [](T a, T b) { return a == b; });
      case Ops::CMPNE: return each<T, Bool>(u, [](T a, T b) { return a != b; });
      case Ops::MAX: return each<T>(u, [](T a, T b) { return a != a ? a : b < a ? a : b; });
      case Ops::MIN: return each<T>(u, [](T a, T b) { return a != a ? a : a < b ? a : b; });
      case Ops::WHERE: return select<T>(u);
      case Ops::MULACC: return mulacc<T>(u);
      default: break;
    }
    if constexpr (std::is_floating_point_v<T>)
      alu_float<T>(u);
    else
      alu_integer<T>(u);
  }

  template <class T>
  void alu_float(UOp u) {
    switch (u.alu()) {
      case Ops::ADD: return each<T>(u, [](T a, T b) { return a + b; });
      case Ops::SUB: return each<T>(u, [](T a, T b) { return a - b; });
      case Ops::MUL: return each<T>(u, [](T a, T b) { return a * b; });
      case Ops::DIV: return each<T>(u, [](T a, T b) { return a / b; });
      case Ops::NEG: return each<T>(u, [](T a, T) { return -a; });
      case Ops::ABS: return each<T>(u, [](T a, T) { return std::fabs(a); });
      case Ops::TRUNC: return each<T>(u, [](T a, T) { return std::trunc(a); });
      case Ops::ROUND: return each<T>(u, [](T a, T) { return std::nearbyint(a); });
      default: throw std::logic_error(spec_name(u.alu()));
    }
  }

  template <class T>
  void alu_integer(UOp u) {
    using U = std::make_unsigned_t<T>;
    const auto wrap = [](T a) { return static_cast<U>(a); };
    switch (u.alu()) {
      case Ops::ADD: return each<T>(u, [=](T a, T b) { return wrap(a) + wrap(b); });
      case Ops::SUB: return each<T>(u, [=](T a, T b) { return wrap(a) - wrap(b); });
      case Ops::MUL: return each<T>(u, [=](T a, T b) { return wrap(a) * wrap(b); });
      case Ops::AND: return each<T>(u, [](T a, T b) { return a & b; });
      case Ops::OR: return each<T>(u, [](T a, T b) { return a | b; });
      case Ops::XOR: return each<T>(u, [](T a, T b) { return a ^ b; });
      case Ops::NOT:
        if constexpr (sizeof(T) == 1)
          return each<T>(u, [](T a, T) { return a == 0; });
        else
          return each<T>(u, [](T a, T) { return ~a; });
      case Ops::SHL: return each<T>(u, [=](T a, T b) { return wrap(a) << b; });
      case Ops::SHR: return each<T>(u, [](T a, T b) { return a >> b; });
      default: throw std::logic_error(spec_name(u.alu()));
    }
  }

  template <class T>
  void select(UOp u) {
    const auto* which = data<std::uint8_t>(u.src(0));
    const T *a = data<T>(u.src(1)), *b = data<T>(u.src(2));
    T* to = data<T>(u);
    for (std::size_t k = 0; k < kSize; ++k) to[k] = which[k] ? a[k] : b[k];
  }

  template <class T>
  void mulacc(UOp u) {
    if constexpr (std::is_floating_point_v<T>) {
      const T *a = data<T>(u.src(0)), *b = data<T>(u.src(1)), *c = data<T>(u.src(2));
      T* to = data<T>(u);
      if (fused_)
        for (std::size_t k = 0; k < kSize; ++k) to[k] = std::fma(a[k], b[k], c[k]);
      else
        for (std::size_t k = 0; k < kSize; ++k) to[k] = a[k] * b[k] + c[k];
    } else {
      throw std::logic_error("MULACC of integers");
    }
  }

  const Formula* formula_;
  bool fused_;
  std::vector<std::unique_ptr<Register>> registers_;
  std::vector<UOp> steps_;
};

}  // namespace strata::test
