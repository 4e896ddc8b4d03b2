// The parser of statements.
//
// The slots depend on which names are outputs. A first pass over the tokens of all statements finds the names that are
// used, and from these the outputs, before anything is built.

#include "strata/ops/kernel_text.h"

#include <algorithm>
#include <unordered_set>

#include "strata/base/quotes.h"
#include "strata/expr/grammar.h"
#include "strata/ir/uop.h"
#include "strata/ops/kernel_expression.h"
#include "strata/ops/kernel_sizes.h"

namespace strata {
namespace kernel_words {
namespace {

/// An input or output.
struct BufferRow {
  std::string_view name;
  int slot;
};

class KernelReader {
 public:
  explicit KernelReader(std::string_view text) : statements_(split_statements(text)) { scope_.text = text; }

  KernelText run() {
    find_outputs();
    for (const Statement& s : statements_) {
      if (s[1].is(":"))
        declaration(s);
      else
        assignment(s);
    }
    std::vector<std::string> names(outputs_.size() + inputs_.size());
    for (const BufferRow& b : outputs_) names[static_cast<std::size_t>(b.slot)] = b.name;
    for (const BufferRow& b : inputs_) names[static_cast<std::size_t>(b.slot)] = b.name;
    return {LazyOp::sink(stores_), std::move(names), std::move(scope_.variables)};
  }

 private:
  static constexpr std::size_t kMostVariables = 256, kMostBuffers = 4096;

  static bool is_range(const Statement& s) {
    return std::any_of(s.begin(), s.end(), [](const Token& t) { return t.is(".."); });
  }

  /// Finds the inputs and outputs, and assigns their slots.
  void find_outputs() {
    std::unordered_set<std::string_view> declared, used;
    std::vector<const Token*> assigned;
    for (const Statement& s : statements_) {
      if (s[0].kind != TokenKind::name) expected("a name", s[0]);
      if (!s[1].is(":") && !s[1].is("=")) expected("':' or '='", s[1]);
      const bool known = declared.count(s[0].text) != 0;
      if (s[1].is("=")) {
        if (!known) assigned.push_back(&s[0]);
        note_uses(s, used);
        continue;
      }
      declared.insert(s[0].text);
      if (!is_range(s)) inputs_.push_back({s[0].text, 0});
    }
    for (const Token* t : assigned)
      if (used.count(t->text) == 0) outputs_.push_back({t->text, static_cast<int>(outputs_.size())});
    for (BufferRow& b : inputs_)
      b.slot = static_cast<int>(outputs_.size() + static_cast<std::size_t>(&b - inputs_.data()));
    const Token& last = statements_.empty() ? nothing_ : statements_.back().back();
    if (statements_.empty()) expected("a statement", last);
    if (outputs_.size() + inputs_.size() > kMostBuffers)
      throw Error(ErrorKind::budget, "[kernel] more than 4096 inputs and outputs", last.column);
  }
  static void note_uses(const Statement& s, std::unordered_set<std::string_view>& used) {
    for (std::size_t k = 2; k < s.size(); ++k)
      if (s[k].kind == TokenKind::name && s[k].text != s[0].text) used.insert(s[k].text);
  }

  static const BufferRow* find(const std::vector<BufferRow>& rows, std::string_view name) {
    const auto it = std::find_if(rows.begin(), rows.end(), [&](const BufferRow& b) { return b.name == name; });
    return it == rows.end() ? nullptr : &*it;
  }
  void require_new(const Token& name) const {
    bool is_reserved = is_range_bound(name.text);
    for (const std::string_view word : {"True", "False", "inf", "nan"}) is_reserved = is_reserved || name.text == word;
    if (is_reserved) expected("a name that is not reserved", name);
    if (scope_.values.count(name.text) != 0)
      throw Error(ErrorKind::parse, "[kernel] the name " + in_quotes(name.text) + " is there already", name.column);
  }

  // --- declarations ---

  void declaration(const Statement& s) {
    require_new(s[0]);
    if (is_range(s)) return variable(s);
    const std::optional<DType> dtype = find_dtype(s[2].text);
    if (!dtype) expected("a dtype as f32, or bounds as 1..100", s[2]);
    Ints shape;
    std::size_t end = 3;
    SizeReader sizes(scope_, s);
    if (s[3].is("[")) {
      const std::size_t close = sizes.find_end(4, "]");
      shape = at_token(s[0], [&] { return to_sizes("kernel", sizes.items(4, close)); });
      end = close + 1;
    }
    if (s[end].kind != TokenKind::end) expected("'[' or the end of the statement", s[end]);
    scope_.budget.charge(shape.size(), s[0]);
    const int slot = find(inputs_, s[0].text)->slot;
    scope_.values.emplace(s[0].text, at_token(s[0], [&] {
                            return LazyOp::load(slot, *dtype, ShapeTracker::from_shape(shape), product(shape));
                          }));
    declared_.emplace(s[0].text, std::pair(*dtype, std::move(shape)));
  }
  void variable(const Statement& s) {
    std::size_t at = 2;
    const std::int64_t min = bound(s, at);
    if (!s[at].is("..")) expected("'..'", s[at]);
    const std::int64_t max = bound(s, ++at);
    if (s[at].kind != TokenKind::end) expected("the end of the statement", s[at]);
    if (is_reserved_word(s[0].text)) expected("a name that is not reserved", s[0]);
    if (scope_.variables.size() == kMostVariables)
      throw Error(ErrorKind::budget, "[kernel] more than 256 variables", s[0].column);
    at_token(s[0], [&] {
      scope_.variables.emplace_back(s[0].text, min, max);
      scope_.values.emplace(s[0].text, value_of(scope_.variables.back()));
    });
  }
  static std::int64_t bound(const Statement& s, std::size_t& at) {
    const bool negative = s[at].is("-");
    if (negative) ++at;
    if (s[at].kind != TokenKind::number) expected("an integer", s[at]);
    const Scalar value = read_number(s[at]);
    if (value.dtype().is_float()) expected("an integer", s[at]);
    ++at;
    return negative ? -value.as_int() : value.as_int();
  }

  // --- assignments ---

  void assignment(const Statement& s) {
    const auto input = declared_.find(s[0].text);
    if (input == declared_.end()) require_new(s[0]);
    if (input != declared_.end() && !stored_.insert(s[0].text).second)
      throw Error(ErrorKind::parse, "[kernel] " + in_quotes(s[0].text) + " is stored into already", s[0].column);
    TextOperand value = read_expression(scope_, s, 2);
    if (input != declared_.end()) {
      const DType dtype = input->second.first;
      const Ints& shape = input->second.second;
      const BufferRow* row = find(inputs_, s[0].text);
      STRATA_ASSERT(row != nullptr, "[kernel] an input without a buffer");
      value = at_token(s[0], [&] { return fitted("store", value, dtype, shape); });
      store(s[0], row->slot, *value.tensor);
    } else if (const BufferRow* output = find(outputs_, s[0].text)) {
      value = as_tensor(value);
      store(s[0], output->slot, *value.tensor);
    }
    scope_.values.insert_or_assign(s[0].text, std::move(value));
  }
  void store(const Token& name, int slot, const LazyOp& x) {
    stores_.push_back(at_token(
        name, [&] { return LazyOp::store(slot, ShapeTracker::from_shape(x.shape()), x, product(x.shape())); }));
  }

  std::vector<Statement> statements_;
  Token nothing_;
  Scope scope_;
  std::vector<BufferRow> inputs_, outputs_;
  std::unordered_map<std::string_view, std::pair<DType, Ints>> declared_;
  std::unordered_set<std::string_view> stored_;
  std::vector<LazyOp> stores_;
};

}  // namespace
}  // namespace kernel_words

KernelText parse_kernel(std::string_view text) {
  STRATA_CHECK(text.size() <= kMostKernelText, budget, "[kernel] the text has ", text.size(), " bytes, more than ",
               kMostKernelText);
  return kernel_words::KernelReader(text).run();
}

}  // namespace strata
