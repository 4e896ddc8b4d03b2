// Einstein summation: "ij,jk->ik".
//
// All operands are permuted to one common order of dimensions: the ellipsis, the labels of the result, then the summed
// labels. Labels of only one operand are summed first. Operands are then multiplied two at a time in the cheapest order
// (pair_order.h); a label is summed as soon as no remaining factor has it. Intermediate results with a sum are
// materialized.

#include <algorithm>
#include <array>
#include <string>

#include "strata/ops/operand_promotion.h"
#include "strata/ops/pair_order.h"
#include "strata/ops/products.h"

namespace strata::ops {

namespace {

constexpr char kEllipsis = '.';

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

[[noreturn]] void refuse(std::string_view formula, std::size_t at, std::string_view why) {
  throw Error(ErrorKind::parse, detail::message("[einsum] \"", formula, "\", column ", at + 1, ": ", why), at + 1);
}

/// Reads the labels of an operand or of the result, with an ellipsis as one '.', up to a comma, an arrow or the end of
/// the formula.
std::string read_labels(std::string_view formula, std::size_t& at) {
  std::string out;
  for (; at < formula.size() && formula[at] != ',' && formula[at] != '-'; ++at) {
    const char c = formula[at];
    if (c == ' ') continue;
    if (c == '.') {
      if (formula.substr(at, 3) != "...") refuse(formula, at, "an ellipsis has three dots");
      if (out.find(kEllipsis) != std::string::npos) refuse(formula, at, "a second ellipsis");
      at += 2;
    } else if (!is_letter(c)) {
      refuse(formula, at, "a letter, a comma or -> is expected");
    }
    out += c;
  }
  return out;
}

struct Formula {
  std::vector<std::string> operands;
  std::string result;
};

/// The result of a formula without an arrow: the ellipsis, then the labels that occur once, in alphabetical order.
std::string implied_result(const std::vector<std::string>& operands) {
  std::string all, out;
  for (const std::string& labels : operands) all += labels;
  if (all.find(kEllipsis) != std::string::npos) out += kEllipsis;
  std::sort(all.begin(), all.end());
  for (const char c : all)
    if (is_letter(c) && std::count(all.begin(), all.end(), c) == 1) out += c;
  return out;
}

/// Reads the result behind the arrow at `at`. @throws Error (parse) for a label that occurs twice, or in no operand
std::string read_result(std::string_view formula, std::size_t at, const std::vector<std::string>& operands) {
  if (formula.substr(at, 2) != "->") refuse(formula, at, "-> is expected");
  const std::size_t begin = at += 2;
  const std::string out = read_labels(formula, at);
  if (at < formula.size()) refuse(formula, at, "the result is one list of labels");
  for (const char c : out) {
    const std::size_t column = formula.find(c, begin);
    if (std::count(out.begin(), out.end(), c) > 1) refuse(formula, column, "a label is in the result twice");
    if (c != kEllipsis && std::none_of(operands.begin(), operands.end(),
                                       [c](const std::string& o) { return o.find(c) != std::string::npos; }))
      refuse(formula, column, "no operand has the label");
  }
  return out;
}

Formula parse(std::string_view formula) {
  Formula out;
  std::size_t at = 0;
  while (true) {
    out.operands.push_back(read_labels(formula, at));
    if (at == formula.size() || formula[at] != ',') break;
    ++at;
  }
  out.result = at == formula.size() ? implied_result(out.operands) : read_result(formula, at, out.operands);
  return out;
}

/// An operand with a label for each dimension outside of its ellipsis.
struct Labelled {
  Value x;
  std::string labels;                  // without the ellipsis
  std::size_t dots = 0, ellipsis = 0;  // the number of dimensions of the ellipsis, and the first of them
};

Labelled labelled(const Value& x, const std::string& labels, std::size_t operand) {
  Labelled out{x, labels, 0, 0};
  const std::size_t dots = labels.find(kEllipsis), rank = x.shape().size();
  const std::size_t letters = labels.size() - (dots == std::string::npos ? 0 : 1);
  STRATA_CHECK(dots == std::string::npos ? rank == letters : rank >= letters, shape, "[einsum] operand ", operand,
               " of shape ", render(x.shape()), " for ", letters, " labels");
  if (dots != std::string::npos) {
    out.dots = rank - letters, out.ellipsis = dots;
    out.labels.erase(dots, 1);
  }
  return out;
}

std::int64_t axis_of_label(const Labelled& o, std::size_t label) {
  return static_cast<std::int64_t>(label < o.ellipsis ? label : label + o.dots);
}

/// Replaces the two dimensions of a repeated label by their diagonal, which becomes the last dimension.
Labelled without_repeats(Labelled o, std::size_t operand) {
  for (std::size_t p = 0; p < o.labels.size();) {
    const std::size_t q = o.labels.find(o.labels[p], p + 1);
    if (q == std::string::npos) {
      ++p;
      continue;
    }
    const std::int64_t a = axis_of_label(o, p), b = axis_of_label(o, q);
    STRATA_CHECK(o.x.size(a) == o.x.size(b), shape, "[einsum] operand ", operand, " of shape ", render(o.x.shape()),
                 " has the label ", std::string(1, o.labels[p]), " for sizes ", o.x.size(a).render(), " and ",
                 o.x.size(b).render());
    o.x = o.x.diagonal(0, a, b);
    o.labels = o.labels + o.labels[p];
    o.labels.erase(q, 1), o.labels.erase(p, 1);
    o.ellipsis -= (p < o.ellipsis ? 1U : 0U) + (q < o.ellipsis ? 1U : 0U);
  }
  return o;
}

/// The operand in the common order: `dots` dimensions, then one for each label of `order`, of size 1 where the operand
/// lacks the label.
Value aligned(const Labelled& o, std::size_t dots, const std::string& order) {
  Axes axes;
  Ints sizes(dots - o.dots, 1);
  const auto take = [&](std::int64_t a) { axes.push_back(a), sizes.push_back(o.x.size(a)); };
  for (std::size_t k = 0; k < o.dots; ++k) take(static_cast<std::int64_t>(o.ellipsis + k));
  for (const char c : order) {
    const std::size_t label = o.labels.find(c);
    if (label == std::string::npos)
      sizes.push_back(1);
    else
      take(axis_of_label(o, label));
  }
  return o.x.permute(axes).reshape(sizes);
}

/// `x`; bools as i64, the dtype of their products and sums.
Value without_bools(const Value& x) { return x.dtype().is_bool() ? x.cast(dtypes::int64) : x; }

/// The sum over `axes`, which stay with size 1, in x's dtype.
Value sum_keeping(const Value& x, const Axes& axes) {
  return axes.empty() ? x : Value(LazyOp::reduce(Ops::SUM, x.node(), axes));
}
Value product_keeping(const Value& a, const Value& b, const Axes& axes) {
  if (axes.empty()) return a * b;
  Ints kept = broadcast_shape("einsum", std::array{a.shape(), b.shape()});
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  return sum_of_products("einsum", a, b, axes).reshape(kept);
}

/// Multiplies the operands, which are in the common order, two at a time.
class Contraction {
 public:
  /// @param kept for each dimension, whether the result has it
  Contraction(std::vector<Value> operands, std::vector<bool> kept)
      : operands_(std::move(operands)), kept_(std::move(kept)) {}

  Value run() {
    for (std::size_t k = 0; k < operands_.size(); ++k) sum_alone(k);
    std::vector<Ints> shapes;
    for (const Value& x : operands_) shapes.push_back(x.shape());
    for (const auto& [left, right] : pair_order(shapes, kept_)) multiply(left, right);
    return operands_.back();
  }

 private:
  static bool has(const Value& x, std::size_t d) { return !(x.shape()[d] == Int(1)); }
  /// The dimensions that can be summed: a factor of `mine` has them, but no other remaining factor and not the result.
  Axes done_axes(std::initializer_list<std::size_t> mine) const {
    Axes out;
    for (std::size_t d = 0; d < kept_.size(); ++d) {
      bool is_mine = false, is_others = kept_[d];
      for (std::size_t k = 0; k < operands_.size(); ++k) {
        const bool of_mine = std::find(mine.begin(), mine.end(), k) != mine.end();
        (of_mine ? is_mine : is_others) |= !is_used(k) && has(operands_[k], d);
      }
      if (is_mine && !is_others) out.push_back(static_cast<std::int64_t>(d));
    }
    return out;
  }
  bool is_used(std::size_t k) const { return std::find(used_.begin(), used_.end(), k) != used_.end(); }

  void sum_alone(std::size_t k) { operands_[k] = sum_keeping(operands_[k], done_axes({k})); }
  void multiply(std::size_t left, std::size_t right) {
    const Axes done = done_axes({left, right});
    Value both = product_keeping(operands_[left], operands_[right], done);
    used_.push_back(left), used_.push_back(right);
    const bool is_last = used_.size() == operands_.size();
    operands_.push_back(!is_last && !done.empty() ? both.contiguous() : both);
  }

  std::vector<Value> operands_;  // the operands, then the products in order
  std::vector<bool> kept_;
  std::vector<std::size_t> used_;
};

/// The common order of labels: those of the result, then the others by first occurrence.
std::string order_of(const Formula& f) {
  std::string out;
  const auto add = [&](const std::string& labels) {
    for (const char c : labels)
      if (c != kEllipsis && out.find(c) == std::string::npos) out += c;
  };
  add(f.result);
  for (const std::string& labels : f.operands) add(labels);
  return out;
}

/// Moves the dimensions of the ellipsis from the front to their place in the result, and drops summed dimensions.
Value arranged(const Formula& f, const Value& x, std::size_t dots) {
  const std::size_t before = f.result.find(kEllipsis);
  const bool has_dots = before != std::string::npos;
  const std::size_t letters = f.result.size() - (has_dots ? 1 : 0);
  Ints sizes;
  for (std::size_t k = has_dots ? 0 : dots; k < dots + letters; ++k) sizes.push_back(x.shape()[k]);
  Value out = x.reshape(sizes);
  if (!has_dots) return out;
  Axes axes;
  for (std::size_t k = 0; k < before; ++k) axes.push_back(static_cast<std::int64_t>(dots + k));
  for (std::size_t k = 0; k < dots; ++k) axes.push_back(static_cast<std::int64_t>(k));
  for (std::size_t k = before; k < letters; ++k) axes.push_back(static_cast<std::int64_t>(dots + k));
  return out.permute(axes);
}

}  // namespace

Value Value::einsum(std::string_view formula, std::span<const Value> tensors) {
  const Formula f = parse(formula);
  STRATA_CHECK(f.operands.size() == tensors.size(), shape, "[einsum] \"", formula, "\" has ", f.operands.size(),
               " operands, ", tensors.size(), " are given");
  std::vector<Labelled> operands;
  std::size_t dots = 0;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    operands.push_back(without_repeats(labelled(without_bools(tensors[k]), f.operands[k], k), k));
    dots = std::max(dots, operands.back().dots);
  }
  const std::string order = order_of(f);
  std::vector<Value> factors;
  for (const Labelled& o : operands) factors.push_back(aligned(o, dots, order));
  std::vector<bool> kept(dots, f.result.find(kEllipsis) != std::string::npos);
  for (const char c : order) kept.push_back(f.result.find(c) != std::string::npos);
  const Value out = Contraction(std::move(factors), std::move(kept)).run();
  return arranged(f, out, dots);
}

}  // namespace strata::ops
