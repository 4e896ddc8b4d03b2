#include "tools/ask_view_expr.h"

#include "strata/base/int_math.h"
#include "strata/expr/parse.h"
#include "strata/layout/layout.h"

namespace strata::tools {
namespace {

Expr parse_named(const std::string& text, std::string_view name, const std::vector<Variable>& variables, Work& work) {
  work.charge(text.size());
  try {
    return parse(text, variables);
  } catch (const Error& e) {
    throw TextError(e, text, name);
  }
}

/// The index, simplified under the condition that it is valid.
IndexExprs simplified_where_valid(const IndexExprs& exprs) {
  const Expr valid = simplify(exprs.valid, Effort::exact);
  const bool never = valid.constant() == 0;
  return {never ? Expr(0) : simplify_under(exprs.index, valid, Effort::exact), valid};
}

/// Runs over the points of the window in row-major order; without a window over all points.
class WindowPoints {
 public:
  WindowPoints(const std::vector<Variable>& variables, const Index& shape, const std::optional<Window>& window) {
    if (window) check_window(*window, shape);
    for (std::size_t j = 0; j < shape.size(); ++j) {
      const auto [begin, end] = window ? (*window)[j] : std::pair(std::int64_t{0}, shape[j]);
      first_.push_back(variables[j].min() + begin);
      extent_.push_back(end - begin);
    }
    values_ = first_;
  }

  /// The number of points; nothing beyond 64 bits.
  std::optional<std::int64_t> count() const {
    std::int64_t out = 1;
    for (const std::int64_t n : extent_)
      if (n == 0) return 0;
    for (const std::int64_t n : extent_)
      if (!try_mul(out, n, out)) return std::nullopt;
    return out;
  }
  const std::vector<std::int64_t>& values() const { return values_; }
  void next() {
    for (std::size_t j = values_.size(); j-- > 0;) {
      if (++values_[j] - first_[j] < extent_[j]) return;
      values_[j] = first_[j];
    }
  }

 private:
  std::vector<std::int64_t> first_, extent_, values_;
};

std::vector<std::int64_t> addresses_of_texts(const ViewExprQuestion& question, const Index& shape, Work& work) {
  constexpr std::uint64_t printed = 8;  // about the bytes of an address in the answer
  WindowPoints at(question.variables, shape, question.window);
  const std::uint64_t each = printed + question.index.size() + question.valid.size() + question.variables.size();
  const auto count = at.count();
  std::int64_t units = 0;
  const bool fits = count && try_mul(*count, static_cast<std::int64_t>(each), units);
  work.charge(fits ? static_cast<std::uint64_t>(units) : UINT64_MAX);
  std::vector<std::string> names;
  for (const Variable& v : question.variables) names.emplace_back(v.name());
  const ExprProgram index = compile(question.index, names), valid = compile(question.valid, names);
  std::vector<std::int64_t> out(static_cast<std::size_t>(*count));
  for (std::int64_t& address : out) {
    address = valid.evaluate(at.values()) != 0 ? index.evaluate(at.values()) : question.invalid;
    at.next();
  }
  return out;
}

}  // namespace

std::int64_t count_values(const Variable& v) {
  std::int64_t size = 0;
  const bool fits = try_sub(v.max(), v.min(), size) && try_add(size, 1, size);
  STRATA_CHECK(fits, overflow, "[view] the values of ", v.name(), " are more than 64 bits count");
  return size;
}

ViewExprAnswer ask_view_expr(const ViewExprQuestion& question, Work& work) {
  ViewExprAnswer out;
  const auto& variables = question.variables;
  out.given = {parse_named(question.index, question.index_name, variables, work),
               parse_named(question.valid, question.valid_name, variables, work)};
  out.simplified = simplified_where_valid(out.given);
  for (const Variable& v : variables) out.shape.push_back(count_values(v));
  if (question.addresses) out.addresses = addresses_of_texts(question, out.shape, work);
  return out;
}

}  // namespace strata::tools
