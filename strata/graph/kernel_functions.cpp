// Functions between elements: numbers get dtypes, dtypes and shapes are made to meet, compositions are spelled out.

#include "strata/graph/kernel_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "strata/base/fork.h"
#include "strata/ir/uop.h"

namespace strata::kernel_words {

namespace {

// --- numbers ---

bool is_number(const Value& x) { return !x.tensor; }
Scalar real(double v) { return Scalar(v); }
Scalar integer(std::int64_t v) { return Scalar(v); }

/// The number in the dtype of the tensor that it meets.
Scalar number_as(std::string_view operation, const Scalar& number, DType dtype) {
  const Scalar out = number.cast(dtype);
  const bool holds =
      dtype.is_float() || (out.as_double() == number.as_double() &&
                           (number.dtype().is_float() || out.as_int() == number.as_int()));
  STRATA_CHECK(holds, domain, "[", operation, "] the number ", number.text(),
               " is no value of the other operand's dtype ", dtype.name(), ": cast that first");
  return out;
}

/// The dtype in which numbers meet for `op`.
DType meeting(Ops op, Operands in) {
  bool floats = row(op).typing == OpTyping::real, bools = true;
  for (const Value& x : in) {
    floats = floats || x.number.dtype().is_float();
    bools = bools && x.number.dtype().is_bool();
  }
  if (floats) return dtypes::float64;
  return bools && row(op).typing != OpTyping::number ? dtypes::boolean : dtypes::int64;
}

Value fold(Ops op, Operands in) {
  const DType dtype = meeting(op, in);
  std::vector<Scalar> scalars;
  std::vector<DType> each(in.size(), dtype);
  for (const Value& x : in) scalars.push_back(x.number.cast(dtype));
  result_dtype(op, each);  // for its checks
  return evaluate(op, scalars);
}

// --- dtypes and shapes that meet ---

bool has_floats(Operands in) {
  return std::any_of(in.begin(), in.end(), [](const Value& x) {
    return (x.tensor ? x.tensor->dtype() : x.number.dtype()).is_float();
  });
}

DType common_dtype(Operands in) {
  DType out;
  for (const Value& x : in)
    if (x.tensor) out = out.is_none() ? x.tensor->dtype() : promote(out, x.tensor->dtype());
  return out;
}

Ints common_shape(std::string_view operation, Operands in) {
  Ints out;
  for (const Value& x : in) {
    if (!x.tensor) continue;
    const Ints& shape = x.tensor->shape();
    Ints longer = out.size() >= shape.size() ? out : shape;
    const Ints& shorter = out.size() >= shape.size() ? shape : out;
    const std::size_t before = longer.size() - shorter.size();
    for (std::size_t t = 0; t < shorter.size(); ++t) {
      Int& a = longer[before + t];
      const Int& b = shorter[t];
      if (a == Int(1)) {
        a = b;
      } else {
        STRATA_CHECK(b == Int(1) || known(is_equal(a, b)), shape, "[", operation, "] shapes ",
                     render(out), " and ", render(shape), " do not broadcast: sizes ", a.render(),
                     " and ", b.render());
      }
    }
    out = longer;
  }
  return out;
}

/// The operands in one dtype and shape.
std::vector<LazyOp> meet(std::string_view operation, Operands in) {
  const DType dtype = common_dtype(in);
  const Ints shape = common_shape(operation, in);
  std::vector<LazyOp> out;
  for (const Value& x : in)
    out.push_back(is_number(x) ? LazyOp::constant(number_as(operation, x.number, dtype), shape)
                               : broadcast(operation, x.tensor->cast(dtype), shape));
  return out;
}

std::vector<LazyOp> meet_select(std::string_view operation, Operands in) {
  const Value condition = as_tensor(in[0]);
  std::vector<Value> values(in.begin() + 1, in.end());
  if (is_number(values[0]) && is_number(values[1])) {
    for (Value& x : values)
      if (has_floats(values)) x.number = x.number.cast(dtypes::float64);
    values[0] = as_tensor(values[0]);
  }
  const std::array all{condition, values[0], values[1]};
  const Ints shape = common_shape(operation, all);
  std::vector<LazyOp> out = meet(operation, values);
  for (LazyOp& x : out) x = broadcast(operation, x, shape);
  out.insert(out.begin(), broadcast(operation, *condition.tensor, shape));
  return out;
}

std::string lower_case(std::string_view name) {
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

Value elementwise(Ops op, Operands in) {
  const std::string name = lower_case(row(op).name);
  if (op == Ops::WHERE) return LazyOp::alu(op, meet_select(name, in));
  if (std::all_of(in.begin(), in.end(), is_number)) return fold(op, in);
  return LazyOp::alu(op, meet(name, in));
}
Value binary(Ops op, const Value& a, const Value& b) {
  const std::array in{a, b};
  return elementwise(op, in);
}
Value unary(Ops op, const Value& a) { return elementwise(op, {&a, 1}); }

// --- compositions ---

/// Integers and bools as f32, floats as they are.
Value as_float(const Value& x) {
  if (is_number(x)) return x.number.cast(dtypes::float64);
  return x.tensor->dtype().is_float() ? x : x.tensor->cast(dtypes::float32);
}

Value divide(Operands in) { return binary(Ops::DIV, as_float(in[0]), as_float(in[1])); }
Value floor_divide(Operands in) {
  if (!has_floats(in)) return binary(Ops::FLOORDIV, in[0], in[1]);
  return unary(Ops::FLOOR, binary(Ops::DIV, in[0], in[1]));
}
Value modulus(Operands in) {
  if (!has_floats(in)) return binary(Ops::FLOORMOD, in[0], in[1]);
  return binary(Ops::SUB, in[0], binary(Ops::MUL, in[1], floor_divide(in)));
}

/// A small power that is written as a number, by squaring.
Value repeated(Value base, std::int64_t exponent) {
  Value out = base.tensor ? Value(LazyOp::constant(Scalar::of(base.tensor->dtype(), std::int64_t{1}),
                                                   base.tensor->shape()))
                          : Value(integer(1));
  for (bool first = true; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) out = first ? base : binary(Ops::MUL, out, base);
    if (exponent % 2 == 1) first = false;
    if (exponent > 1) base = binary(Ops::MUL, base, base);
  }
  return out;
}
Value power(Operands in) {
  constexpr double most = 64;
  const double exponent = is_number(in[1]) ? in[1].number.as_double() : -1;
  const bool whole = exponent == std::floor(exponent) && exponent >= 0 && exponent <= most;
  if (whole && (!has_floats(in) || exponent == 2))
    return repeated(in[0], static_cast<std::int64_t>(exponent));
  return binary(Ops::POW, in[0], in[1]);
}

Value less(Operands in) { return binary(Ops::CMPLT, in[0], in[1]); }
Value greater(Operands in) { return binary(Ops::CMPLT, in[1], in[0]); }
Value less_equal(Operands in) {  // false where one is NaN
  if (has_floats(in)) return binary(Ops::OR, less(in), binary(Ops::CMPEQ, in[0], in[1]));
  return unary(Ops::NOT, greater(in));
}
Value greater_equal(Operands in) {
  const std::array swapped{in[1], in[0]};
  return less_equal(swapped);
}

Value fold_left(Ops op, Operands in) {
  Value out = in[0];
  for (const Value& x : in.subspan(1)) out = binary(op, out, x);
  return out;
}

Value relu(Operands in) { return binary(Ops::MAX, in[0], integer(0)); }
Value sigmoid(Operands in) {
  const Value grown = unary(Ops::EXP, unary(Ops::NEG, in[0]));
  return binary(Ops::DIV, real(1), binary(Ops::ADD, grown, real(1)));
}
Value silu(Operands in) { return binary(Ops::MUL, in[0], sigmoid(in)); }
Value gelu(Operands in) {  // x/2 * (1 + erf(x/sqrt(2)))
  const Value erf = unary(Ops::ERF, binary(Ops::MUL, in[0], real(0.70710678118654752440)));
  return binary(Ops::MUL, binary(Ops::MUL, in[0], real(0.5)), binary(Ops::ADD, erf, real(1)));
}
Value rsqrt(Operands in) { return unary(Ops::RECIP, unary(Ops::SQRT, in[0])); }
Value square(Operands in) { return binary(Ops::MUL, in[0], in[0]); }
Value is_nan(Operands in) { return binary(Ops::CMPNE, in[0], in[0]); }

/// (..., m, k) and (..., k, n) to (..., m, n); one dimension counts as a row on the left and as a column on the right.
Value matmul(Operands in) {
  LazyOp a = as_tensor(in[0]), b = as_tensor(in[1]);
  STRATA_CHECK(!a.shape().empty() && !b.shape().empty(), shape, "[matmul] operands of shapes ",
               render(a.shape()), " and ", render(b.shape()), ": each needs a dimension");
  const bool is_row = a.shape().size() == 1, is_column = b.shape().size() == 1;
  if (is_row) a = a.reshape({1, a.shape()[0]});
  if (is_column) b = b.reshape({b.shape()[0], 1});
  const Int k = a.shape().back();
  const Int& other = b.shape()[b.shape().size() - 2];
  STRATA_CHECK(k == other || known(is_equal(k, other)), shape, "[matmul] shapes ", render(a.shape()),
               " and ", render(b.shape()), ": inner sizes ", k.render(), " and ", other.render());
  Ints left = a.shape(), right;
  left.push_back(1);
  for (std::size_t t = 0; t < b.shape().size(); ++t) {
    if (t + 2 == b.shape().size()) right.push_back(1);
    right.push_back(b.shape()[t]);
  }
  const std::array factors{Value(a.reshape(left)), Value(b.reshape(right))};
  const LazyOp products = LazyOp::alu(Ops::MUL, meet("matmul", factors));
  const std::size_t rank = products.shape().size();
  const LazyOp sums = LazyOp::reduce(Ops::SUM, products, {static_cast<std::int64_t>(rank) - 2});
  Ints shape;
  for (std::size_t t = 0; t < rank; ++t)
    if (t + 2 != rank && !(is_row && t + 3 == rank) && !(is_column && t + 1 == rank))
      shape.push_back(sums.shape()[t]);
  return sums.reshape(shape);
}

/// values[..., index[...]]: dimensions in front of the last broadcast.
Value gather(Operands in) {
  const LazyOp values = as_tensor(in[0]), index = as_tensor(in[1]);
  STRATA_CHECK(!values.shape().empty(), shape, "[gather] a scalar has no axis");
  Ints front = values.shape();
  front.pop_back();
  const std::array both{Value(LazyOp::constant(Scalar(true), front)), Value(index)};
  Ints shape = common_shape("gather", both);
  const LazyOp places = broadcast("gather", index, shape);
  shape.push_back(values.shape().back());
  return LazyOp::gather(broadcast("gather", values, shape), places);
}

struct FunctionRow {
  std::string_view name;
  std::size_t least, most;
  Value (*apply)(Operands);
};
constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
// What is no op of ops.def, or more than it: these come first.
// clang-format off
constexpr FunctionRow kFunctions[] = {
    {"div", 2, 2, divide},       {"floordiv", 2, 2, floor_divide}, {"floormod", 2, 2, modulus},
    {"pow", 2, 2, power},        {"matmul", 2, 2, matmul},
    {"lt", 2, 2, less},          {"le", 2, 2, less_equal},
    {"gt", 2, 2, greater},       {"ge", 2, 2, greater_equal},
    {"eq", 2, 2, [](Operands in) { return binary(Ops::CMPEQ, in[0], in[1]); }},
    {"ne", 2, 2, [](Operands in) { return binary(Ops::CMPNE, in[0], in[1]); }},
    {"max", 2, kAny, [](Operands in) { return fold_left(Ops::MAX, in); }},
    {"min", 2, kAny, [](Operands in) { return fold_left(Ops::MIN, in); }},
    {"relu", 1, 1, relu},        {"sigmoid", 1, 1, sigmoid},       {"silu", 1, 1, silu},
    {"gelu", 1, 1, gelu},        {"rsqrt", 1, 1, rsqrt},           {"square", 1, 1, square},
    {"isnan", 1, 1, is_nan},     {"gather", 2, 2, gather},
};
// clang-format on

const FunctionRow* find_function(std::string_view name) {
  const auto* const at = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                      [&](const FunctionRow& r) { return r.name == name; });
  return at == std::end(kFunctions) ? nullptr : at;
}

/// The ops between elements by lower-case name, but for conversions.
std::optional<Ops> find_elementwise(std::string_view name) {
  static const auto* const table = [] {
    auto* out = new std::unordered_map<std::string, Ops>;
    for (const OpRow& r : op_rows())
      if (is_elementwise(r.op) && r.typing != OpTyping::convert && r.op != Ops::NOOP)
        out->emplace(lower_case(r.name), r.op);
    return out;
  }();
  const auto it = table->find(std::string(name));
  return it == table->end() ? std::nullopt : std::optional(it->second);
}

const ForkHook functions_hook(ForkOrder::tables, [] { find_elementwise("ADD"); }, [] {});

}  // namespace

std::optional<Arity> function_arity(std::string_view name) {
  if (const FunctionRow* r = find_function(name)) return Arity{r->least, r->most};
  if (const auto op = find_elementwise(name)) return Arity{row(*op).arity, row(*op).arity};
  return std::nullopt;
}

Value apply_function(std::string_view name, Operands operands) {
  if (const FunctionRow* r = find_function(name)) return r->apply(operands);
  return elementwise(*find_elementwise(name), operands);
}

// --- what the parser needs of values ---

LazyOp as_tensor(const Value& x) {
  if (x.tensor) return *x.tensor;
  DType dtype = x.number.dtype();
  if (dtype.is_float()) dtype = dtypes::float32;
  if (dtype.is_int() && x.number.cast(dtypes::int32).as_int() == x.number.as_int())
    dtype = dtypes::int32;
  return LazyOp::constant(x.number.cast(dtype), Ints{});
}

LazyOp broadcast(std::string_view operation, const LazyOp& x, const Ints& shape) {
  if (x.shape() == shape) return x;
  const std::size_t rank = x.shape().size();
  STRATA_CHECK(rank <= shape.size(), shape, "[", operation, "] shape ", render(x.shape()),
               " does not broadcast to ", render(shape));
  const std::size_t before = shape.size() - rank;
  Ints with_ones(before, 1);
  for (std::size_t t = 0; t < rank; ++t) {
    const Int& size = x.shape()[t];
    const bool repeats = size == Int(1);
    STRATA_CHECK(repeats || size == shape[before + t] || known(is_equal(size, shape[before + t])),
                 shape, "[", operation, "] shape ", render(x.shape()), " does not broadcast to ",
                 render(shape));
    with_ones.push_back(repeats ? size : shape[before + t]);
  }
  return x.reshape(with_ones).expand(shape);
}

LazyOp fitted(std::string_view operation, const Value& x, DType dtype, const Ints& shape) {
  if (is_number(x)) return LazyOp::constant(number_as(operation, x.number, dtype), shape);
  STRATA_CHECK(x.tensor->dtype() == dtype, domain, "[", operation, "] a value of dtype ",
               x.tensor->dtype().name(), " where ", dtype.name(), " is stored: cast it");
  return broadcast(operation, *x.tensor, shape);
}

LazyOp value_of(const Variable& v) {
  const bool narrow = v.min() >= std::numeric_limits<std::int32_t>::min() &&
                      v.max() <= std::numeric_limits<std::int32_t>::max();
  return LazyOp::iota(narrow ? dtypes::int32 : dtypes::int64,
                      ShapeTracker({View::create({}, {}, Int(v))}));
}

}  // namespace strata::kernel_words
