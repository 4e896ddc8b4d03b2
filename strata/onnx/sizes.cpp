// Operators on integers that are known as expressions.
#include "strata/onnx/sizes.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "strata/onnx/operators.h"
#include "strata/onnx/run.h"
#include "strata/tensor/access.h"

namespace strata::onnx {
namespace {

const Device& host() { return Device::get("INTERP"); }

/// The integers of an input: expressions, or read on the host; nothing for an input that is known there only as a
/// tensor.
std::optional<SizedIntegers> known_integers(const Datum& value) {
  if (!value.is_tensor() || value.tensor().dtype().is_float()) return std::nullopt;
  const Tensor& x = value.tensor();
  if (const std::vector<Int>* const known = value.expressions()) return SizedIntegers{sizes_of(x), *known, x.dtype()};
  if (!is_on_host(value) || x.numel().vmax() > kFoldedElements) return std::nullopt;
  const Sizes read = read_integers(x);
  return SizedIntegers{sizes_of(x), {read.begin(), read.end()}, x.dtype()};
}

std::optional<std::vector<SizedIntegers>> all_known(const Call& call) {
  std::vector<SizedIntegers> out;
  for (std::size_t i = 0; i < call.count(); ++i) {
    std::optional<SizedIntegers> known = call.has(i) ? known_integers(call.datum(i)) : std::nullopt;
    if (!known) return std::nullopt;
    out.push_back(std::move(*known));
  }
  return out;
}

Tensor on_host(const Sizes& elements, const Sizes& shape) {
  return TensorAccess::of(Tensor::from(elements, to_shape(shape)).node(), host());
}

/// An operator that only moves elements: it runs on their positions. The inputs [first, last) have elements.
struct Movement {
  std::string_view name;
  std::size_t first, last;
};
constexpr std::array kMovements = {
    Movement{"Concat", 0, kAny}, Movement{"Expand", 0, 1},   Movement{"Flatten", 0, 1},
    Movement{"Gather", 0, 1},    Movement{"GatherND", 0, 1}, Movement{"Identity", 0, 1},
    Movement{"Reshape", 0, 1},   Movement{"Slice", 0, 1},    Movement{"Split", 0, 1},
    Movement{"Squeeze", 0, 1},   Movement{"Tile", 0, 1},     Movement{"Transpose", 0, 1},
    Movement{"Unsqueeze", 0, 1}, Movement{"Where", 1, 3},    Movement{"GatherElements", 0, 1}};

std::optional<Results> moved_sizes(const Call& call, const Definition& model, const Movement& movement) {
  std::vector<Int> pool;
  std::vector<Datum> inputs;
  DType dtype = dtypes::int64;
  for (std::size_t i = 0; i < call.count(); ++i) {
    if (i >= movement.first && i < movement.last) {
      const std::optional<SizedIntegers> known = call.has(i) ? known_integers(call.datum(i)) : std::nullopt;
      if (!known) return std::nullopt;
      Sizes positions;
      for (const Int& e : known->elements) {
        positions.push_back(std::ssize(pool));
        pool.push_back(e);
      }
      inputs.emplace_back(on_host(positions, known->shape));
      dtype = known->dtype;
    } else {
      if (call.has(i) && (!is_on_host(call.datum(i)) || call.datum(i).expressions() != nullptr)) return std::nullopt;
      inputs.push_back(call.has(i) ? call.datum(i) : Datum());
    }
  }
  Results out;
  for (const Datum& made : call.node().row->function(Call(model, call.node(), inputs, host(), nullptr))) {
    SizedIntegers result{made.shape(), {}, dtype};
    for (const std::int64_t k : read_integers(made.tensor()))
      result.elements.push_back(pool[static_cast<std::size_t>(k)]);
    out.push_back(integers_datum(call.device(), result));
  }
  return out;
}

using Arithmetic = std::optional<Int> (*)(const Int& a, const Int& b);

/// Divisions of ONNX round to zero, and so do those of expressions where both operands are positive.
bool divides_down(const Int& a, const Int& b) { return a.vmin() >= 0 && b.vmin() >= 1; }

struct ArithmeticRow {
  std::string_view name;
  Arithmetic of;
};
constexpr std::array kArithmetic = {
    ArithmeticRow{"Add", [](const Int& a, const Int& b) { return std::optional(a + b); }},
    ArithmeticRow{"Sub", [](const Int& a, const Int& b) { return std::optional(a - b); }},
    ArithmeticRow{"Mul", [](const Int& a, const Int& b) { return std::optional(a * b); }},
    ArithmeticRow{"Div",
                  [](const Int& a, const Int& b) {
                    return divides_down(a, b) ? std::optional(Int(a.expr() / b.expr())) : std::nullopt;
                  }},
    ArithmeticRow{"Mod",
                  [](const Int& a, const Int& b) {
                    return divides_down(a, b) ? std::optional(Int(a.expr() % b.expr())) : std::nullopt;
                  }},
    ArithmeticRow{"Min", [](const Int& a, const Int& b) { return std::optional(Int(min(a.expr(), b.expr()))); }},
    ArithmeticRow{"Max", [](const Int& a, const Int& b) { return std::optional(Int(max(a.expr(), b.expr()))); }},
};

using Question = Answer (*)(const Int& a, const Int& b);
Answer negated(Answer a) { return a == Answer::yes ? Answer::no : a == Answer::no ? Answer::yes : a; }

struct QuestionRow {
  std::string_view name;
  Question of;
};
constexpr std::array kQuestions = {
    QuestionRow{"Equal", [](const Int& a, const Int& b) { return is_equal(a, b); }},
    QuestionRow{"Less", [](const Int& a, const Int& b) { return is_less(a, b); }},
    QuestionRow{"LessOrEqual", [](const Int& a, const Int& b) { return is_at_most(a, b); }},
    QuestionRow{"Greater", [](const Int& a, const Int& b) { return is_less(b, a); }},
    QuestionRow{"GreaterOrEqual", [](const Int& a, const Int& b) { return negated(is_less(a, b)); }},
};

/// Both operands with the shape to which they broadcast.
std::pair<SizedIntegers, SizedIntegers> broadcast_pair(const SizedIntegers& a, const SizedIntegers& b) {
  const auto places = [](const SizedIntegers& x) {
    Sizes out;
    for (std::size_t k = 0; k < x.elements.size(); ++k) out.push_back(static_cast<std::int64_t>(k));
    return on_host(out, x.shape);
  };
  const std::vector<Tensor> both = Tensor::broadcast_tensors(std::vector<Tensor>{places(a), places(b)});
  const auto spread = [](const SizedIntegers& x, const Tensor& at) {
    SizedIntegers out{sizes_of(at), {}, x.dtype};
    for (const std::int64_t k : read_integers(at)) out.elements.push_back(x.elements[static_cast<std::size_t>(k)]);
    return out;
  };
  return {spread(a, both[0]), spread(b, both[1])};
}

/// Whether every value of the expressions is one of the dtype.
bool fits(const SizedIntegers& x) {
  if (x.dtype == dtypes::int64) return true;
  return x.dtype == dtypes::int32 && std::all_of(x.elements.begin(), x.elements.end(), [](const Int& e) {
           return e.vmin() >= -(std::int64_t{1} << 31) && e.vmax() < std::int64_t{1} << 31;
         });
}

std::optional<Results> arithmetic(const Call& call, Arithmetic of) {
  const std::optional<std::vector<SizedIntegers>> all = all_known(call);
  if (!all) return std::nullopt;
  SizedIntegers out = all->front();
  for (std::size_t i = 1; i < all->size(); ++i) {
    auto [a, b] = broadcast_pair(out, (*all)[i]);
    for (std::size_t k = 0; k < a.elements.size(); ++k) {
      const std::optional<Int> value = of(a.elements[k], b.elements[k]);
      if (!value) return std::nullopt;
      a.elements[k] = *value;
    }
    out = std::move(a);
  }
  if (!fits(out)) return std::nullopt;
  return Results{integers_datum(call.device(), out)};
}

std::optional<Results> answered(const Call& call, Question of) {
  const std::optional<std::vector<SizedIntegers>> all = all_known(call);
  if (!all || all->size() != 2) return std::nullopt;
  const auto [a, b] = broadcast_pair((*all)[0], (*all)[1]);
  Sizes out;
  for (std::size_t k = 0; k < a.elements.size(); ++k) {
    const Answer answer = of(a.elements[k], b.elements[k]);
    if (answer == Answer::unknown) return std::nullopt;
    out.push_back(answer == Answer::yes ? 1 : 0);
  }
  return Results{on_host(out, a.shape) != 0};
}

std::optional<Results> cast_sizes(const Call& call) {
  const std::int64_t to = call.integer("to");
  std::optional<SizedIntegers> x = known_integers(call.datum(0));
  if (!x || (to != 7 && to != 6)) return std::nullopt;
  x->dtype = dtype_of_element(to, "the result");
  if (!fits(*x)) return std::nullopt;
  return Results{integers_datum(call.device(), *x)};
}

/// The product or the sum of all elements.
std::optional<Results> reduced_sizes(const Call& call, bool is_product) {
  const std::optional<SizedIntegers> x = known_integers(call.datum(0));
  const bool has_axes = call.has(1) || call.given("axes");
  if (!x || x->shape.size() != 1 || has_axes) return std::nullopt;
  SizedIntegers out{call.integer("keepdims") != 0 ? Sizes{1} : Sizes{}, {is_product ? 1 : 0}, x->dtype};
  for (const Int& e : x->elements) out.elements[0] = is_product ? out.elements[0] * e : out.elements[0] + e;
  if (!fits(out)) return std::nullopt;
  return Results{integers_datum(call.device(), out)};
}

template <class Rows>
const auto* row_named(const Rows& rows, std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

Datum integers_datum(const Device& device, const SizedIntegers& integers) {
  const std::vector<Int>& all = integers.elements;
  if (std::all_of(all.begin(), all.end(), [](const Int& e) { return e.is_number(); })) {
    Sizes numbers;
    for (const Int& e : all) numbers.push_back(e.value());
    return on_host(numbers, integers.shape).cast(integers.dtype);
  }
  std::vector<Tensor> parts;
  for (const Int& e : all) parts.push_back(TensorAccess::of(Tensor(e.expr()).node(), device));
  return {Tensor::stack(parts, 0).reshape(to_shape(integers.shape)).cast(integers.dtype), all};
}

std::optional<Results> on_sizes(const Call& call, const Definition& model) {
  const Node& node = call.node();
  if (!node.domain.empty() || node.row == nullptr) return std::nullopt;
  if (const Movement* const row = row_named(kMovements, node.op)) return moved_sizes(call, model, *row);
  if (const ArithmeticRow* const row = row_named(kArithmetic, node.op)) return arithmetic(call, row->of);
  if (const QuestionRow* const row = row_named(kQuestions, node.op)) return answered(call, row->of);
  if (node.op == "Cast") return cast_sizes(call);
  if (node.op == "ReduceProd" || node.op == "ReduceSum") return reduced_sizes(call, node.op == "ReduceProd");
  return std::nullopt;
}

std::int64_t number_of_size(const Tensor& x, std::int64_t axis) {
  const Int& size = x.size(axis);
  STRATA_CHECK(size.is_number(), shape, "the size of axis ", axis, " of the shape ", render(x.shape()),
               " has to be a number: load the model without bounds of it");
  return size.value();
}

}  // namespace strata::onnx
