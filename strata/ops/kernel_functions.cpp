// The functions of the text form of kernels: the elementwise rows of the table of operations, and a few more.

#include "strata/ops/kernel_functions.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <utility>
#include <variant>

#include "strata/base/fork.h"
#include "strata/graph/lazy_op.h"
#include "strata/ir/uop.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::kernel_words {

namespace {

// --- operands ---

bool is_number(const TextOperand& x) { return !x.tensor; }

/// `number` for an operation with tensors of `dtype`. A float beside integers makes the operation one of f32, an
/// integer beside bools one of i64, as with Tensors. @throws Error (domain) for an integer that the integer `dtype`
/// does not hold
Number number_as(std::string_view operation, const Scalar& number, DType dtype) {
  const bool is_of_integers = dtype.is_int() && !number.dtype().is_float();
  const Scalar out = number.cast(dtype);
  const bool holds = !is_of_integers || (out.as_int() == number.as_int() && out.as_double() == number.as_double());
  STRATA_CHECK(holds, domain, "[", operation, "] the number ", number.text(),
               " is not a value of the other operand's dtype ", dtype.name(), ": cast that operand first");
  return Number(number);
}

/// Owns the operands of a formula as ops::Values and Numbers.
class FormulaOperands {
 public:
  FormulaOperands(std::string_view operation, Operands in) {
    DType dtype;
    for (const TextOperand& x : in)
      if (x.tensor) dtype = dtype.is_none() ? x.tensor->dtype() : promote(dtype, x.tensor->dtype());
    for (const TextOperand& x : in) {
      if (x.tensor)
        values_.emplace_back(*x.tensor);
      else if (dtype.is_none())
        values_.emplace_back(as_tensor(x));
      else
        values_.emplace_back(number_as(operation, x.number, dtype));
    }
  }
  ops::Operand operator[](std::size_t k) const {
    const auto* const value = std::get_if<ops::Value>(&values_[k]);
    return value != nullptr ? ops::Operand(*value) : ops::Operand(std::get<Number>(values_[k]));
  }

 private:
  std::vector<std::variant<ops::Value, Number>> values_;
};

// --- the functions ---

/// Applies the function `name` to operands.
using Formula = ops::Value (*)(std::string_view name, Operands in);

struct FunctionRow {
  std::string_view name;
  std::size_t least, most;
  bool is_real;  ///< of integers the result is a float
  Formula formula;
};

template <ops::Value (ops::Value::*method)() const>
ops::Value of_one(std::string_view, Operands in) {
  return (ops::Value(as_tensor(in[0])).*method)();
}
template <ops::Value (*formula)(const ops::Operand&, const ops::Operand&)>
ops::Value of_two(std::string_view name, Operands in) {
  const FormulaOperands operands(name, in);
  return formula(operands[0], operands[1]);
}
template <ops::Value (*formula)(const ops::Operand&, const ops::Operand&)>
ops::Value of_many(std::string_view name, Operands in) {
  TextOperand out = in[0];
  for (const TextOperand& x : in.subspan(1)) {
    const std::array both{out, x};
    out = of_two<formula>(name, both).node();
  }
  return as_tensor(out);
}
ops::Value where(std::string_view name, Operands in) {
  const FormulaOperands values(name, in.subspan(1));
  return ops::Value(as_tensor(in[0])).where(values[0], values[1]);
}
ops::Value multiply_add(std::string_view name, Operands in) {
  const FormulaOperands x(name, in);
  const ops::Operand a = x[0], b = x[1], c = x[2];
  return LazyOp::alu(Ops::MULACC, ops::promote_operands("mulacc", {&a, &b, &c}));
}
ops::Value gelu(std::string_view, Operands in) { return ops::Value(as_tensor(in[0])).gelu(); }
ops::Value matmul(std::string_view, Operands in) { return ops::Value(as_tensor(in[0])).matmul(as_tensor(in[1])); }
/// result[i...] = values[i..., index[i...]]; dimensions in front of the last one broadcast.
ops::Value gather(std::string_view, Operands in) {
  const LazyOp values = as_tensor(in[0]);
  STRATA_CHECK(!values.shape().empty(), shape, "[gather] a scalar has no axis");
  return ops::picked(values, as_tensor(in[1]));
}

/// The rules of result dtypes, as named in operations.def.
enum class Rule : std::uint8_t { same, number, promoted, real, boolean, float64, integer };
constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

/// The functions by name, including the elementwise ops of ir/ops.def under their own names.
const std::unordered_map<std::string_view, FunctionRow>& functions() {
  static const auto* const table = [] {
    auto* out = new std::unordered_map<std::string_view, FunctionRow>;
    const auto add = [&](FunctionRow row, std::initializer_list<std::string_view> names) {
      out->emplace(row.name, row);
      for (const std::string_view name : names) {
        FunctionRow other = row;
        other.name = name;
        out->emplace(name, other);
      }
    };
#define STRATA_UNARY(name, dtype, in_place, names, ...) \
  add({#name, 1, 1, Rule::dtype == Rule::real, of_one<&ops::Value::name>}, {STRATA_NAMES(names)});
#define STRATA_BINARY(name, dtype, in_place, names, ...) \
  add({#name, 2, 2, Rule::dtype == Rule::real, of_two<ops::name>}, {STRATA_NAMES(names)});
#include "strata/ops/operations.def"
    add({"max", 2, kAny, false, of_many<ops::maximum>}, {});
    add({"min", 2, kAny, false, of_many<ops::minimum>}, {});
    add({"where", 3, 3, false, where}, {});
    add({"mulacc", 3, 3, false, multiply_add}, {});
    add({"gelu", 1, 1, true, gelu}, {});
    add({"matmul", 2, 2, false, matmul}, {});
    add({"gather", 2, 2, false, gather}, {});
    constexpr std::pair<std::string_view, std::string_view> kOps[] = {{"recip", "reciprocal"},
                                                                      {"not", "bitwise_not"},
                                                                      {"idiv", "trunc_divide"},
                                                                      {"floordiv", "floor_divide"},
                                                                      {"floormod", "remainder"},
                                                                      {"and", "bitwise_and"},
                                                                      {"or", "bitwise_or"},
                                                                      {"xor", "bitwise_xor"},
                                                                      {"shl", "lshift"},
                                                                      {"shr", "rshift"},
                                                                      {"cmplt", "lt"},
                                                                      {"cmpeq", "eq"},
                                                                      {"cmpne", "ne"}};
    for (const auto& [name, of] : kOps) {
      FunctionRow row = out->at(of);
      row.name = name;
      out->insert_or_assign(name, row);
    }
    return out;
  }();
  return *table;
}

const ForkHook functions_hook(ForkOrder::tables, [] { functions(); }, [] {});

// --- numbers alone ---

/// The value of a graph of constants, node by node with evaluate(), as in the interpreter.
Scalar value_of_constant(const LazyOp& x) {
  std::unordered_map<const LazyNode*, Scalar> values;
  for (const LazyNode* n : postorder(x)) {
    std::vector<Scalar> operands;
    for (const LazyOp& source : n->src) operands.push_back(values.at(source.node()));
    if (n->op == Ops::CONST)
      values.emplace(n, std::get<ConstArg>(n->arg).value);
    else if (is_movement(n->op))
      values.emplace(n, operands[0]);
    else
      values.emplace(n, evaluate(n->op, operands, n->dtype));
  }
  return values.at(x.node());
}

/// Applies a function to numbers alone (constant folding), in i64, f64 or bool.
Scalar fold(const FunctionRow& row, Operands in) {
  const bool is_inverse = row.name == "pow" && in[1].number.as_double() < 0;
  std::vector<TextOperand> constants;
  for (const TextOperand& x : in) {
    const Scalar n = row.is_real || is_inverse ? x.number.cast(dtypes::float64) : x.number;
    constants.emplace_back(LazyOp::constant(n, Ints{}));
  }
  return value_of_constant(row.formula(row.name, constants));
}

}  // namespace

std::optional<Arity> function_arity(std::string_view name) {
  const auto at = functions().find(name);
  if (at == functions().end()) return std::nullopt;
  return Arity{at->second.least, at->second.most};
}

TextOperand apply_function(std::string_view name, Operands operands) {
  const FunctionRow& row = functions().at(name);
  if (std::all_of(operands.begin(), operands.end(), is_number)) return fold(row, operands);
  return row.formula(name, operands).node();
}

// --- what the parser needs of values ---

LazyOp as_tensor(const TextOperand& x) {
  if (x.tensor) return *x.tensor;
  DType dtype = x.number.dtype();
  if (dtype.is_float()) dtype = dtypes::float32;
  if (dtype.is_int() && x.number.cast(dtypes::int32).as_int() == x.number.as_int()) dtype = dtypes::int32;
  return LazyOp::constant(x.number.cast(dtype), Ints{});
}

LazyOp broadcast(std::string_view operation, const LazyOp& x, const Ints& shape) {
  if (x.shape() == shape) return x;
  const std::size_t rank = x.shape().size();
  STRATA_CHECK(rank <= shape.size(), shape, "[", operation, "] shape ", render(x.shape()), " does not broadcast to ",
               render(shape));
  const std::size_t before = shape.size() - rank;
  Ints with_ones(before, 1);
  for (std::size_t t = 0; t < rank; ++t) {
    const Int& size = x.shape()[t];
    const bool repeats = size == Int(1);
    STRATA_CHECK(repeats || size == shape[before + t] || known(is_equal(size, shape[before + t])), shape, "[",
                 operation, "] shape ", render(x.shape()), " does not broadcast to ", render(shape));
    with_ones.push_back(repeats ? size : shape[before + t]);
  }
  return x.reshape(with_ones).expand(shape);
}

LazyOp fitted(std::string_view operation, const TextOperand& x, DType dtype, const Ints& shape) {
  if (is_number(x)) return LazyOp::constant(number_as(operation, x.number, dtype).value().cast(dtype), shape);
  STRATA_CHECK(x.tensor->dtype() == dtype, domain, "[", operation, "] the value has dtype ", x.tensor->dtype().name(),
               ", and ", dtype.name(), " is stored: cast the value");
  return broadcast(operation, *x.tensor, shape);
}

LazyOp value_of(const Variable& v) {
  const bool narrow =
      v.min() >= std::numeric_limits<std::int32_t>::min() && v.max() <= std::numeric_limits<std::int32_t>::max();
  return LazyOp::iota(narrow ? dtypes::int32 : dtypes::int64, ShapeTracker({View::create({}, {}, Int(v))}));
}

}  // namespace strata::kernel_words
