// What one element of a kernel's result may be: a value known to the bit, or a range of floats that holds all that the
// errors of functions, contraction and another order of summation permit.
//
// Ends of ranges are values of the dtype. An op that is rounded correctly is monotone, so that its results on ranges
// lie between its results on their ends; functions add the units of the last place that their decomposition states.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "strata/codegen/decompose.h"
#include "strata/graph/lazy_op.h"
#include "strata/ir/sum_order.h"
#include "strata/ir/uop.h"

namespace strata::oracle {

/// What an implementation may do.
struct Freedom {
  bool functions = true;    ///< errors of decompositions; MULACC rounds once or twice
  bool contract = true;     ///< a product that is added is not rounded
  bool reassociate = true;  ///< sums and products in any order
};

struct ValueRange {
  Scalar exact;
  bool is_exact = true;
  double low = 0, high = 0;  ///< of floats; low > high where it is NaN alone
  bool nan = false;          ///< may be NaN

  DType dtype() const { return exact.dtype(); }
  bool holds(const Scalar& v) const {
    if (v.is_nan()) return nan;
    if (is_exact) return v == exact;
    if (!v.dtype().is_float()) return true;
    return low <= v.as_double() && v.as_double() <= high;
  }
  bool is_nan() const { return is_exact && exact.is_nan(); }
};

inline ValueRange exactly(const Scalar& v) {
  ValueRange out;
  out.exact = v;
  out.nan = v.is_nan();
  if (v.dtype().is_float() && !out.nan) out.low = out.high = v.as_double();
  return out;
}
inline ValueRange anything(DType dtype) {
  ValueRange out = exactly(Scalar::of(dtype, std::int64_t{0}));
  out.is_exact = false;
  out.low = -std::numeric_limits<double>::infinity();
  out.high = -out.low;
  out.nan = dtype.is_float();
  return out;
}
/// From `low` to `high`, which are values of `dtype`. One number apart from 0 (which has two signs) is exact.
inline ValueRange between(DType dtype, double low, double high, bool nan) {
  if (std::isnan(low) || std::isnan(high)) return anything(dtype);
  if (low == high && low != 0 && !nan) return exactly(Scalar::of(dtype, low));
  ValueRange out = anything(dtype);
  out.low = low;
  out.high = high;
  out.nan = nan;
  return out;
}

/// `steps` values of the dtype above `v`; infinity is the last one. @pre v is no NaN
inline double stepped(DType dtype, double v, std::int64_t steps) {
  const auto infinity = static_cast<std::int64_t>(Scalar::of(dtype, std::numeric_limits<double>::infinity()).bits());
  const std::uint64_t sign = std::uint64_t{1} << (dtype.bits() - 1);
  const std::uint64_t bits = Scalar::of(dtype, v).bits();
  const auto size = static_cast<std::int64_t>(bits & (sign - 1));
  std::int64_t at = (bits & sign) != 0 ? -size : size;
  at = steps > 0 ? (at > infinity - steps ? infinity : at + steps) : (at < -infinity - steps ? -infinity : at + steps);
  const std::uint64_t stepped_bits = at < 0 ? sign | static_cast<std::uint64_t>(-at) : static_cast<std::uint64_t>(at);
  return Scalar::from_bits(dtype, stepped_bits).as_double();
}
/// The values of `dtype` around [low, high] that surely hold it.
inline ValueRange outwards(DType dtype, double low, double high, std::int64_t steps, bool nan) {
  const double a = Scalar::of(dtype, low).as_double(), b = Scalar::of(dtype, high).as_double();
  return between(dtype, stepped(dtype, a, -steps), stepped(dtype, b, steps), nan);
}

/// What an index picks out of `values`: 0 where there is none.
inline ValueRange gathered_range(std::span<const ValueRange> values, const ValueRange& index, DType dtype) {
  if (!index.is_exact) return anything(dtype);
  const std::int64_t at = index.exact.as_int();
  const bool is_there = at >= 0 && at < static_cast<std::int64_t>(values.size());
  return is_there ? values[static_cast<std::size_t>(at)] : exactly(Scalar::of(dtype, std::int64_t{0}));
}

class RangeOps {
 public:
  explicit RangeOps(const Freedom& freedom) : freedom_(freedom) {}

  ValueRange operator()(Ops op, std::span<const ValueRange> v, DType result) const {
    if (std::all_of(v.begin(), v.end(), [](const ValueRange& x) { return x.is_exact; })) return of_exact(op, v, result);
    if (op == Ops::NOOP) return v[0];
    if (op == Ops::WHERE) return !v[0].is_exact ? hull(v[1], v[2]) : v[0].exact.as_bool() ? v[1] : v[2];
    if (op == Ops::CAST) return cast(v[0], result);
    if (op == Ops::CMPLT || op == Ops::CMPEQ || op == Ops::CMPNE) return compare(op, v[0], v[1]);
    if (!result.is_float() || op == Ops::BITCAST) return anything(result);
    for (const ValueRange& x : v)
      if (x.is_nan() && op != Ops::POW) return x;
    return real(op, v, result);
  }

  /// The reduced axes of a reduction: their sizes, and these as numbers.
  struct Reduced {
    Ints sizes;
    std::vector<std::int64_t> numbers;
  };
  /// What a reduction of `v`, in row-major order of the reduced axes, comes to.
  ValueRange reduced(Ops reduction, std::span<const ValueRange> v, DType dtype, const Reduced& axes) const {
    const Ops op = combining_op(reduction);
    const DType type = accumulator_of(reduction, dtype);
    const Scalar identity = identity_of(reduction, type);
    std::vector<ValueRange> values;
    for (const ValueRange& x : v) values.push_back(type == dtype ? x : (*this)(Ops::CAST, std::span(&x, 1), type));
    ValueRange out = exactly(identity);
    if (!is_ordered(reduction, dtype)) {
      for (const ValueRange& x : values) combine(op, out, x);
    } else if (freedom_.reassociate) {
      out = op == Ops::ADD ? any_order_sum(values, identity) : any_order_product(values, identity);
    } else {
      add_in_order(op, values, axes, sum_order({axes.sizes.data(), axes.sizes.size()}), identity, out);
    }
    return type == dtype ? out : (*this)(Ops::CAST, std::span(&out, 1), dtype);
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  void combine(Ops op, ValueRange& total, const ValueRange& x) const {
    const ValueRange operands[] = {total, x};
    total = (*this)(op, operands, total.dtype());
  }
  /// One digit after another, by a list of all the places that have the same digits before it.
  void add_in_order(Ops op, std::span<const ValueRange> v, const Reduced& axes, std::span<const SumDigit> digits,
                    const Scalar& identity, ValueRange& total) const {
    std::vector<std::size_t> all;
    for (std::size_t k = 0; k < v.size(); ++k) all.push_back(k);
    add_digit(op, v, axes, digits, identity, all, total);
  }
  void add_digit(Ops op, std::span<const ValueRange> v, const Reduced& axes, std::span<const SumDigit> digits,
                 const Scalar& identity, const std::vector<std::size_t>& places, ValueRange& total) const {
    if (digits.empty()) {
      for (const std::size_t k : places) combine(op, total, v[k]);
      return;
    }
    std::vector<std::vector<std::size_t>> by_digit(static_cast<std::size_t>(digits[0].count));
    for (const std::size_t k : places) {
      auto index = static_cast<std::int64_t>(k);
      for (std::size_t a = axes.numbers.size(); a-- > digits[0].axis + 1;) index /= axes.numbers[a];
      index = index % axes.numbers[digits[0].axis] / digits[0].stride % digits[0].count;
      by_digit[static_cast<std::size_t>(index)].push_back(k);
    }
    ValueRange own = digits[0].continues ? total : exactly(identity);
    for (const auto& some : by_digit)
      if (!some.empty()) add_digit(op, v, axes, digits.subspan(1), identity, some, own);
    if (digits[0].continues)
      total = own;
    else
      combine(op, total, own);
  }

  static Scalar computed(Ops op, std::initializer_list<Scalar> v, DType to = dtypes::none) {
    return evaluate(op, std::span<const Scalar>(v.begin(), v.size()), to);
  }
  static double number(Ops op, DType dtype, double a) { return computed(op, {Scalar::of(dtype, a)}).as_double(); }
  static double number(Ops op, DType dtype, double a, double b) {
    return computed(op, {Scalar::of(dtype, a), Scalar::of(dtype, b)}).as_double();
  }
  static ValueRange hull(const ValueRange& a, const ValueRange& b) {
    if (a.is_exact && b.is_exact && a.exact == b.exact) return a;
    if (!a.dtype().is_float() || (a.is_nan() && b.is_nan())) return anything(a.dtype());
    if (a.is_nan()) return between(a.dtype(), b.low, b.high, true);
    if (b.is_nan()) return between(a.dtype(), a.low, a.high, true);
    return between(a.dtype(), std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan);
  }

  /// Units of the last place between two implementations of a function.
  std::int64_t error_of(Ops op, DType dtype) const {
    const Decomposition* row = find_decomposition(op, dtype);
    if (!freedom_.functions || row == nullptr || row->ulp == 0) return 0;
    return static_cast<std::int64_t>(std::floor(row->ulp + 0.501)) + 1;
  }

  ValueRange of_exact(Ops op, std::span<const ValueRange> v, DType result) const {
    std::vector<Scalar> scalars;
    for (const ValueRange& x : v) scalars.push_back(x.exact);
    const bool converts = op == Ops::CAST || op == Ops::BITCAST;
    const Scalar r = evaluate(op, scalars, converts ? result : dtypes::none);
    if (op == Ops::BITCAST && scalars[0].is_nan()) return anything(result);  // which NaN is not said
    if (!result.is_float() || r.is_nan()) return exactly(r);
    const double value = r.as_double();
    if ((op == Ops::MAX || op == Ops::MIN) && value == 0 && !(scalars[0] == scalars[1]) &&
        scalars[0].as_double() == scalars[1].as_double())
      return between(result, 0, 0, false);
    if (const std::int64_t steps = error_of(op, scalars.back().dtype()); steps > 0)
      return between(result, stepped(result, value, -steps), stepped(result, value, steps), false);
    if (op == Ops::MUL && freedom_.contract && !is_exact_product(scalars, r))
      return between(result, stepped(result, value, -1), stepped(result, value, 1), false);
    if (op == Ops::MULACC && freedom_.functions) {
      const Scalar product = computed(Ops::MUL, {scalars[0], scalars[1]});
      return hull(exactly(r), exactly(computed(Ops::ADD, {product, scalars[2]})));
    }
    return exactly(r);
  }
  static bool is_exact_product(std::span<const Scalar> v, const Scalar& r) {
    const double a = v[0].as_double(), b = v[1].as_double(), p = r.as_double();
    if (!std::isfinite(a) || !std::isfinite(b)) return true;
    if (a == 0 || b == 0) return true;
    return std::isfinite(p) && p != 0 && std::fabs(p) > 1e-290 && std::fma(a, b, -p) == 0;
  }

  static ValueRange cast(const ValueRange& x, DType to) {
    const DType from = x.dtype();
    if (from.is_float() && to.is_float())
      return between(to, Scalar::of(from, x.low).cast(to).as_double(), Scalar::of(from, x.high).cast(to).as_double(),
                     x.nan);
    if (to.is_float()) {
      const double low = from.is_bool() ? 0 : lowest(from), high = from.is_bool() ? 1 : highest(from);
      return outwards(to, low, high, 1, false);
    }
    if (!from.is_float() || x.nan) return anything(to);
    const Scalar low = Scalar::of(from, x.low).cast(to), high = Scalar::of(from, x.high).cast(to);
    const bool one_side = !to.is_bool() || x.low > 0 || x.high < 0 || x.low == x.high;
    return low == high && one_side ? exactly(low) : anything(to);
  }
  static ValueRange compare(Ops op, const ValueRange& a, const ValueRange& b) {
    if (!a.dtype().is_float() || a.nan || b.nan) return anything(dtypes::boolean);
    if (op == Ops::CMPLT) {
      if (a.high < b.low) return exactly(Scalar(true));
      return a.low >= b.high ? exactly(Scalar(false)) : anything(dtypes::boolean);
    }
    const bool apart = a.high < b.low || b.high < a.low;
    const bool one = a.low == a.high && b.low == b.high && a.low == b.low;
    if (!apart && !one) return anything(dtypes::boolean);
    return exactly(Scalar(one == (op == Ops::CMPEQ)));
  }

  // --- floats ---

  ValueRange real(Ops op, std::span<const ValueRange> v, DType dtype) const {
    const bool nan = std::any_of(v.begin(), v.end(), [](const ValueRange& x) { return x.nan; });
    switch (op) {
      case Ops::NEG: return between(dtype, -v[0].high, -v[0].low, nan);
      case Ops::ABS: {
        const double a = std::fabs(v[0].low), b = std::fabs(v[0].high);
        const bool holds_0 = v[0].low <= 0 && v[0].high >= 0;
        return between(dtype, holds_0 ? 0 : std::min(a, b), std::max(a, b), nan);
      }
      case Ops::ADD: return sum(dtype, v[0], v[1]);
      case Ops::SUB: return sum(dtype, v[0], negative(v[1]));
      case Ops::MUL: return product(dtype, v[0], v[1], freedom_.contract ? 1 : 0);
      case Ops::MULACC: return sum(dtype, product(dtype, v[0], v[1], 1), v[2]);
      case Ops::RECIP: return quotient(dtype, exactly(Scalar::of(dtype, 1.0)), v[0]);
      case Ops::DIV: return quotient(dtype, v[0], v[1]);
      case Ops::MAX: return between(dtype, std::max(v[0].low, v[1].low), std::max(v[0].high, v[1].high), nan);
      case Ops::MIN: return between(dtype, std::min(v[0].low, v[1].low), std::min(v[0].high, v[1].high), nan);
      case Ops::SIN:
      case Ops::COS: return wave(op, dtype, v[0]);
      case Ops::MOD:
      case Ops::TAN:
      case Ops::POW:
      case Ops::ATAN2: return anything(dtype);
      default: return monotone(op, dtype, v[0]);
    }
  }
  static ValueRange negative(const ValueRange& x) {
    if (x.is_exact) return exactly(computed(Ops::NEG, {x.exact}));
    return between(x.dtype(), -x.high, -x.low, x.nan);
  }
  ValueRange monotone(Ops op, DType dtype, const ValueRange& x) const {
    const std::int64_t steps = error_of(op, dtype);
    double low = number(op, dtype, x.low), high = number(op, dtype, x.high);
    const bool leaves_domain = std::isnan(low);
    if (std::isnan(high)) return exactly(computed(op, {Scalar::of(dtype, x.high)}));
    if (leaves_domain) low = -kInfinity;
    return between(dtype, stepped(dtype, low, -steps), stepped(dtype, high, steps), x.nan || leaves_domain);
  }
  ValueRange wave(Ops op, DType dtype, const ValueRange& x) const {
    if (!std::isfinite(x.low) || !std::isfinite(x.high) || x.high - x.low > 4) return anything(dtype);
    const double middle = x.low + (x.high - x.low) / 2;  // rounded: it may be an end
    const double radius = std::max(middle - x.low, x.high - middle);
    const double at = op == Ops::SIN ? std::sin(middle) : std::cos(middle);
    return outwards(dtype, std::max(-1.0, at - radius), std::min(1.0, at + radius), error_of(op, dtype) + 2, x.nan);
  }
  static ValueRange sum(DType dtype, const ValueRange& a, const ValueRange& b) {
    const bool cancels = (a.low == -kInfinity && b.high == kInfinity) || (a.high == kInfinity && b.low == -kInfinity);
    if (cancels) return anything(dtype);
    return between(dtype, number(Ops::ADD, dtype, a.low, b.low), number(Ops::ADD, dtype, a.high, b.high),
                   a.nan || b.nan);
  }
  static bool holds_zero(const ValueRange& x) { return x.low <= 0 && x.high >= 0; }
  static bool holds_infinity(const ValueRange& x) { return std::isinf(x.low) || std::isinf(x.high); }
  static ValueRange of_corners(Ops op, DType dtype, const ValueRange& a, const ValueRange& b, std::int64_t steps) {
    double low = kInfinity, high = -kInfinity;
    for (const double x : {a.low, a.high})
      for (const double y : {b.low, b.high}) {
        const double r = number(op, dtype, x, y);
        if (std::isnan(r)) return anything(dtype);
        low = std::min(low, r);
        high = std::max(high, r);
      }
    return between(dtype, stepped(dtype, low, -steps), stepped(dtype, high, steps), a.nan || b.nan);
  }
  static ValueRange product(DType dtype, const ValueRange& a, const ValueRange& b, std::int64_t steps) {
    if ((holds_zero(a) && holds_infinity(b)) || (holds_zero(b) && holds_infinity(a))) return anything(dtype);
    return of_corners(Ops::MUL, dtype, a, b, steps);
  }
  static ValueRange quotient(DType dtype, const ValueRange& a, const ValueRange& b) {
    if (holds_zero(b) || (holds_infinity(a) && holds_infinity(b))) return anything(dtype);
    return of_corners(Ops::DIV, dtype, a, b, 0);
  }

  // --- reductions in any order ---

  /// Infinities and NaN among the operands decide alone; nothing where there are none.
  static const ValueRange* special(std::span<const ValueRange> v, bool& is_known, ValueRange& out) {
    is_known = true;
    const ValueRange* infinity = nullptr;
    bool unknown = false;
    for (const ValueRange& x : v) {
      if (x.is_nan()) return out = x, &out;
      if (x.nan || (!x.is_exact && holds_infinity(x))) unknown = true;
      if (!x.is_exact || !holds_infinity(x)) continue;
      if (infinity != nullptr && !(infinity->exact == x.exact)) unknown = true;
      infinity = &x;
    }
    is_known = !unknown;
    return infinity;
  }
  static ValueRange any_order_sum(std::span<const ValueRange> v, const Scalar& identity) {
    const DType dtype = identity.dtype();
    bool is_known = false;
    ValueRange nan;
    const ValueRange* infinity = special(v, is_known, nan);
    if (infinity == &nan) return nan;
    if (!is_known) return anything(dtype);
    long double low = 0, high = 0, size = 0;
    int grain = std::numeric_limits<int>::max();
    bool all_exact = true;
    for (const ValueRange& x : v) {
      if (&x == infinity || (x.is_exact && holds_infinity(x))) continue;
      low += x.low;
      high += x.high;
      size += std::max(std::fabs(x.low), std::fabs(x.high));
      all_exact = all_exact && x.is_exact;
      if (x.is_exact) grain = std::min(grain, lowest_bit(x.low));
    }
    if (size * 1.01L >= static_cast<long double>(highest(dtype))) return anything(dtype);
    if (infinity != nullptr) return *infinity;
    const int digits = dtype.significand_bits();
    if (all_exact && (size == 0 || size <= std::ldexp(1.0L, std::min(grain + digits, 16000)))) {
      const auto total = static_cast<double>(low);
      return total == 0 ? between(dtype, 0, 0, false) : exactly(Scalar::of(dtype, total));
    }
    const auto n = static_cast<long double>(v.size() + 1);
    const long double error = n * std::ldexp(1.02L, -digits) * size;
    return outwards(dtype, static_cast<double>(low - error), static_cast<double>(high + error), 2, false);
  }
  /// The exponent of the lowest bit of `x` that is set.
  static int lowest_bit(double x) {
    if (x == 0) return std::numeric_limits<int>::max();
    int exponent = 0;
    auto bits = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
    exponent -= 53;
    for (; bits % 2 == 0; bits /= 2) ++exponent;
    return exponent;
  }
  static ValueRange any_order_product(std::span<const ValueRange> v, const Scalar& identity) {
    const DType dtype = identity.dtype();
    long double low = 1, high = 1, largest = 1, smallest = 1;
    for (const ValueRange& x : v) {
      if (x.is_nan()) return x;
      if (x.nan || holds_infinity(x)) return anything(dtype);
      const long double a = low * x.low, b = low * x.high, c = high * x.low, d = high * x.high;
      low = std::min({a, b, c, d});
      high = std::max({a, b, c, d});
      const long double size = std::max(std::fabs(x.low), std::fabs(x.high));
      largest *= std::max(size, 1.0L);
      const long double least = holds_zero(x) ? 0 : std::min(std::fabs(x.low), std::fabs(x.high));
      smallest *= std::min(least, 1.0L);
    }
    if (!(largest * 1.01L < static_cast<long double>(highest(dtype)))) return anything(dtype);
    if (low == 0 && high == 0) return between(dtype, 0, 0, false);
    if (smallest < std::ldexp(1.01L, dtype.min_exponent())) return anything(dtype);
    const long double most = std::max(std::fabs(low), std::fabs(high));
    const long double error =
        static_cast<long double>(v.size() + 1) * std::ldexp(1.02L, -dtype.significand_bits()) * most;
    return outwards(dtype, static_cast<double>(low - error), static_cast<double>(high + error), 2, false);
  }

  Freedom freedom_;
};

}  // namespace strata::oracle
