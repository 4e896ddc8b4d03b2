// The parser of size items and pairs.

#include "strata/ops/kernel_sizes.h"

#include <algorithm>

#include "strata/expr/parse.h"

namespace strata::kernel_words {

namespace {

bool opens(const Token& t) { return t.is("(") || t.is("["); }
bool closes(const Token& t) { return t.is(")") || t.is("]"); }

}  // namespace

std::size_t SizeReader::find_end(std::size_t from, std::string_view close, bool until_comma) const {
  std::size_t depth = 0, k = from;
  for (; tokens_[k].kind != TokenKind::end; ++k) {
    if (depth == 0 && (closes(tokens_[k]) || (until_comma && tokens_[k].is(",")))) break;
    if (opens(tokens_[k])) ++depth;
    if (closes(tokens_[k])) --depth;
  }
  if (!tokens_[k].is(close) && !(until_comma && tokens_[k].is(","))) expected(close == ")" ? "')'" : "']'", tokens_[k]);
  return k;
}

SizeItems SizeReader::items(std::size_t from, std::size_t to) {
  unwrap(from, to);
  SizeItems out;
  while (from < to) {
    const std::size_t end = separator(from, to, ",");
    if (end == from) expected("a size", tokens_[from]);
    // Parsing a size takes time proportional to the number of variables.
    scope_.budget.charge(1 + scope_.variables.size() / 8, tokens_[from]);
    out.push_back(item(from, end));
    from = end + 1;
  }
  return out;
}

Int SizeReader::size(std::size_t from, std::size_t to) {
  const Token& first = tokens_[from];
  if (to == from + 1 && first.kind == TokenKind::number) {
    const Scalar number = read_number(first);
    if (!number.dtype().is_int()) expected("an integer", first);
    return number.as_int();
  }
  const Token& last = tokens_[to - 1];
  const std::size_t begin = first.column - 1, end = last.column - 1 + last.text.size();
  try {
    return Int(parse(scope_.text.substr(begin, end - begin), scope_.variables));
  } catch (const Error& e) {
    throw Error(e.kind(), e.what(), begin + std::max<std::size_t>(e.column(), 1));
  }
}

/// The first `symbol` outside of brackets, or `to`.
std::size_t SizeReader::separator(std::size_t from, std::size_t to, std::string_view symbol) const {
  std::size_t depth = 0;
  for (std::size_t k = from; k < to; ++k) {
    if (depth == 0 && tokens_[k].is(symbol)) return k;
    if (opens(tokens_[k])) ++depth;
    if (closes(tokens_[k]) && depth > 0) --depth;
  }
  return to;
}

/// Removes one pair of brackets around all tokens, if there is one.
bool SizeReader::unwrap(std::size_t& from, std::size_t& to) const {
  if (to < from + 2 || !opens(tokens_[from])) return false;
  std::size_t depth = 0, k = from;
  for (; k < to; ++k) {
    if (opens(tokens_[k])) ++depth;
    if (closes(tokens_[k]) && --depth == 0) break;
  }
  if (k + 1 != to || tokens_[from].is("(") != tokens_[k].is(")")) return false;
  ++from, --to;
  return true;
}

/// One size, or a pair: `1:2`, or `(1, 2)`.
SizeItem SizeReader::item(std::size_t from, std::size_t to) {
  std::size_t begin = from, end = to;
  const bool bracketed = unwrap(begin, end) && separator(begin, end, ",") != end;
  if (!bracketed) begin = from, end = to;
  const std::size_t middle = separator(begin, end, bracketed ? "," : ":");
  SizeItem out;
  out.is_pair = middle != end;
  if (begin < middle) out.first = size(begin, middle);
  if (middle + 1 < end) out.second = size(middle + 1, end);
  return out;
}

}  // namespace strata::kernel_words
