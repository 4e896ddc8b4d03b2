// Int: arithmetic, text, and questions about sizes that may be expressions.

#include "strata/view/int.h"

#include "strata/view/sizes.h"

namespace strata {

Int::Int(const Expr& e) {
  if (const std::optional<std::int64_t> number = e.constant()) {
    value_ = *number;
  } else {
    node_ = Expr(e).release();
  }
}

void Int::retain(const Node* node) { Expr::share(node).release(); }
void Int::drop(const Node* node) { Expr::adopt(node); }

Expr Int::expr() const { return node_ ? Expr::share(node_) : Expr(value_); }
std::string Int::render() const { return node_ ? expr().render() : std::to_string(value_); }

void Int::refuse_value() const {
  throw Error(ErrorKind::undefined, detail::message("[value] ", render(), " is not a number"));
}

namespace {

/// The result of `compute`. An overflow error of the algebra is replaced by one in terms of sizes.
template <class F, class Words>
auto checked_size(const F& compute, const Words& words) {
  try {
    return compute();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::overflow) throw;
    throw Error(ErrorKind::overflow, detail::message("[size] ", words(), " leaves 64 bits"));
  }
}
template <class F>
Int checked_size(const Int& a, std::string_view sign, const Int& b, const F& compute) {
  return checked_size(compute, [&] { return detail::message(a.render(), sign, b.render()); });
}
template <class F>
auto of_shape(const Ints& shape, const F& compute) {
  return checked_size(compute, [&] { return detail::message("the number of elements of shape ", render(shape)); });
}

}  // namespace

Int Int::add_slow(const Int& a, const Int& b) {
  return checked_size(a, " + ", b, [&]() -> Int { return a.expr() + b.expr(); });
}
Int Int::sub_slow(const Int& a, const Int& b) {
  return checked_size(a, " - ", b, [&]() -> Int { return a.expr() - b.expr(); });
}
Int Int::mul_slow(const Int& a, const Int& b) {
  return checked_size(a, " * ", b, [&]() -> Int { return a.expr() * b.expr(); });
}

namespace {

template <class List, class Text>
std::string tuple_text(const List& values, const Text& text) {
  std::string out = "(";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ", ";
    out += text(values[i]);
  }
  out += values.size() == 1 ? ",)" : ")";
  return out;
}

Answer both_numbers(bool holds) { return holds ? Answer::yes : Answer::no; }

// The answer of `question` for a - b; unknown when the difference does not fit in 64 bits.
Answer decide(Answer (*question)(const Expr&), const Int& a, const Int& b) {
  try {
    return question(a.expr() - b.expr());
  } catch (const Error&) {
    return Answer::unknown;
  }
}

}  // namespace

std::string render(const Ints& values) {
  return tuple_text(values, [](const Int& v) { return v.render(); });
}
std::string render(const Index& values) {
  return tuple_text(values, [](std::int64_t v) { return std::to_string(v); });
}

std::optional<Index> numbers(const Ints& values) {
  Index out;
  for (const Int& v : values) {
    if (!v.is_number()) return std::nullopt;
    out.push_back(v.value());
  }
  return out;
}

Ints to_ints(const Index& values) {
  Ints out;
  for (const std::int64_t v : values) out.push_back(v);
  return out;
}

Int product(const Ints& values) {
  for (const Int& v : values)
    if (v == Int(0)) return 0;
  return of_shape(values, [&] {
    Int out = 1;
    for (const Int& v : values) out *= v;
    return out;
  });
}

std::int64_t product(const Index& values) {
  for (const std::int64_t v : values)
    if (v == 0) return 0;
  std::int64_t out = 1;
  for (const std::int64_t v : values)
    STRATA_CHECK(try_mul(out, v, out), overflow, "[size] the number of elements of shape ", render(values),
                 " leaves 64 bits");
  return out;
}

Ints row_major_strides(const Ints& shape) {
  return of_shape(shape, [&] {
    Ints out(shape.size(), 1);
    for (std::size_t t = shape.size(); t-- > 1;) out[t - 1] = out[t] * shape[t];
    return out;
  });
}

Answer is_equal(const Int& a, const Int& b) {
  if (a.is_number() && b.is_number()) return both_numbers(a == b);
  if (a == b) return Answer::yes;
  return decide(is_zero, a, b);
}

Answer is_at_most(const Int& a, const Int& b) {
  if (a.is_number() && b.is_number()) return both_numbers(a.value() <= b.value());
  if (a == b) return Answer::yes;
  return decide(is_nonnegative, b, a);
}

Answer is_less(const Int& a, const Int& b) {
  if (a.is_number() && b.is_number()) return both_numbers(a.value() < b.value());
  const Answer not_less = is_at_most(b, a);
  return not_less == Answer::yes ? Answer::no : not_less == Answer::no ? Answer::yes : not_less;
}

Answer is_multiple(const Int& a, const Int& b) {
  if (a.is_number() && b.is_number()) return both_numbers(floor_mod(a.value(), b.value()) == 0);
  if (exact_quotient(a, b)) return Answer::yes;
  try {
    const Expr rest = a.expr() % b.expr();
    return is_zero(rest) == Answer::no ? Answer::no : Answer::unknown;
  } catch (const Error&) {
    return Answer::unknown;
  }
}

std::optional<Int> exact_quotient(const Int& a, const Int& b) {
  if (a.is_number() && b.is_number()) {
    std::int64_t out = 0;
    if (b.value() == 0 || !try_floor_div(a.value(), b.value(), out) || floor_mod(a.value(), b.value()) != 0)
      return std::nullopt;
    return out;
  }
  const std::optional<Expr> quotient = divide_exactly(a.expr(), b.expr());
  return quotient ? std::optional<Int>(*quotient) : std::nullopt;
}

}  // namespace strata
