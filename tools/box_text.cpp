// read_box(): splits the text into statements, reads the bounds, finds the kind of the text and calls its reader.
#include "tools/box_text.h"

#include <algorithm>

#include "strata/base/quotes.h"
#include "strata/dtype/dtype.h"
#include "strata/expr/parse.h"
#include "strata/ops/kernel_text.h"
#include "tools/box_parts.h"
#include "tools/brackets.h"

namespace strata::tools {
namespace {

/// Splits a text into statements: at `;`, and at the end of a line unless the next line begins with a point.
std::size_t statement_end(std::string_view text) {
  std::size_t end = 0;
  while (true) {
    end += find_outside(text.substr(end), ";\n");
    if (end >= text.size() || text[end] == ';') return end;
    const std::size_t next = text.find_first_not_of(" \t\r\n", end);
    const bool goes_on = next != std::string_view::npos && text[next] == '.';
    if (!goes_on) return end;
    end = next;
  }
}

std::vector<std::string_view> statements_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = statement_end(text);
    const std::string_view statement = trimmed(text.substr(0, end));
    if (!statement.empty()) out.push_back(statement);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string_view first_word(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && (is_name_start(text[size]) || (size > 0 && is_digit(text[size])))) ++size;
  return text.substr(0, size);
}

/// The text behind `NAME:`, if the statement begins with a name and a colon.
std::optional<std::string_view> behind_colon(std::string_view statement) {
  const std::string_view name = first_word(statement);
  const std::string_view rest = trimmed(statement.substr(name.size()));
  if (name.empty() || !rest.starts_with(':') || rest.starts_with("::")) return std::nullopt;
  return trimmed(rest.substr(1));
}

/// The position of the first `=` outside of brackets that is an assignment; the size of the text if there is none.
std::size_t assignment(std::string_view statement) {
  std::size_t at = 0;
  while (true) {
    at += find_outside(statement.substr(at), "=");
    if (at >= statement.size()) return statement.size();
    const bool compares = (at > 0 && std::string_view("<>!=").find(statement[at - 1]) != std::string_view::npos) ||
                          statement.substr(at + 1).starts_with('=');
    if (!compares) return at;
    ++at;
  }
}

bool is_import(std::string_view statement) {
  const std::string_view word = first_word(statement);
  return word == "import" || word == "using" ||
         (word == "from" && statement.find(" import ") != std::string_view::npos);
}

std::string_view without_const(std::string_view statement) {
  return statement.starts_with("const ") ? trimmed(statement.substr(6)) : statement;
}

/// Whether a statement declares variables in code: `a = Variable("a", 0, 9)`, `a, b = ...`, `Variable a("a", 0, 9)`.
bool declares_as_code(std::string_view statement) {
  const std::string_view rest = without_const(statement);
  if (rest.starts_with("Variable ")) return true;
  const std::size_t equals = assignment(rest);
  if (equals == rest.size()) return false;
  const std::string_view made = leading_name(trimmed(rest.substr(equals + 1)));
  return made == "Variable" || made == "strata.Variable" || made == "strata::Variable";
}

bool declares_bounds(std::string_view statement) {
  const auto rest = behind_colon(statement);
  return rest && rest->find("..") != std::string_view::npos;
}

bool is_dtype(std::string_view word) {
  for (std::size_t k = 1; k < DType::kCount + 1; ++k)
    if (DType(static_cast<DType::Id>(k)).name() == word) return true;
  return false;
}

bool is_kernel_statement(std::string_view statement) {
  if (is_import(statement) || declares_as_code(statement)) return false;
  if (statement.find('\\') != std::string_view::npos) return false;  // LaTeX, where = compares
  if (const auto rest = behind_colon(statement))
    if (is_dtype(first_word(*rest))) return true;
  return assignment(statement) < statement.size();
}

/// Reads the statements of a box.
class BoxReader {
 public:
  BoxReader(std::string_view text, Work& work)
      : source_{text, "", box_.variables}, work_(work), statements_(statements_of(text)) {}

  Box run() {
    if (statements_.empty()) source_.fail(source_.text, "[parse] the text is empty");
    if (std::any_of(statements_.begin(), statements_.end(), is_kernel_statement)) {
      read_kernel(source_.text);
      return std::move(box_);
    }
    for (const std::string_view statement : statements_) take(statement);
    if (main_.empty()) source_.fail(statements_.back(), "[parse] there are bounds, but no text that uses the bounds");
    read_main();
    return std::move(box_);
  }

 private:
  void take(std::string_view statement) {
    if (is_import(statement)) return;
    if (declares_as_code(statement)) return declare_as_code(statement);
    if (declares_bounds(statement)) return declare(statement);
    if (main_.empty()) {
      main_ = statement;
      return;
    }
    const std::string_view word = first_word(statement);
    const std::string_view rest = trimmed(statement.substr(word.size()));
    if (word == "assume") {
      assume_.push_back(rest);
    } else if (word == "valid" && !valid_) {
      valid_ = rest;
    } else {
      source_.fail(statement, word == "valid" ? "[parse] 'valid' is given twice"
                                              : "[parse] only 'valid ...' and 'assume ...' may follow a text");
    }
  }

  // --- bounds ---

  std::int64_t bound(std::string_view part) const {
    const std::vector<Variable> none;
    return ViewSource{source_.text, "", none}.number(trimmed(part)).value();
  }
  void add(std::string_view name, std::string_view low, std::string_view high) {
    for (const Variable& v : box_.variables)
      if (v.name() == name) source_.fail(name, "[parse] the name has bounds already");
    constexpr std::size_t most_variables = 1024;
    if (box_.variables.size() == most_variables)
      source_.fail(name, detail::message("[budget] more than ", most_variables, " variables"), ErrorKind::budget);
    const std::int64_t least = bound(low);
    const std::int64_t most = bound(high);
    try {
      box_.variables.emplace_back(name, least, most);
    } catch (const Error& e) {
      source_.fail(name, e.what(), e.kind());
    }
  }
  void declare(std::string_view statement) {
    const std::string_view range = *behind_colon(statement);
    const std::size_t dots = range.find("..");
    add(first_word(statement), range.substr(0, dots), range.substr(dots + 2));
  }
  void declare_as_code(std::string_view statement) {
    statement = without_const(statement);
    std::vector<std::string_view> names;
    std::vector<std::string_view> made;
    if (statement.starts_with("Variable ")) {
      const std::string_view rest = trimmed(statement.substr(9));
      names = {first_word(rest)};
      made = {rest.substr(names[0].size())};
    } else {
      const std::size_t equals = assignment(statement);
      names = items_of(statement.substr(0, equals));
      for (const std::string_view item : items_of(statement.substr(equals + 1)))
        made.push_back(item.substr(leading_name(item).size()));
    }
    if (names.size() != made.size())
      source_.fail(statement, detail::message("[parse] ", names.size(), " names for ", made.size(), " variables"));
    for (std::size_t i = 0; i < names.size(); ++i) declare_made(names[i], made[i]);
  }
  /// Declares the variable `name` by the arguments of a constructor, e.g. `("a", 0, 9)`.
  void declare_made(std::string_view name, std::string_view frame) {
    const bool framed = !frame.empty() && opens(frame.front()) && bracket_end(frame) == frame.size();
    const auto items = framed ? items_of(frame.substr(1, frame.size() - 2)) : std::vector<std::string_view>();
    if (items.size() != 3 || items[0].size() < 2) source_.fail(frame, "[parse] expected (\"name\", min, max)");
    const std::string_view called = items[0].substr(1, items[0].size() - 2);
    if (called != name)
      source_.fail(items[0],
                   "[parse] the variable is called " + in_quotes(called) + ", the name is " + in_quotes(name));
    add(name, items[1], items[2]);
  }

  // --- the main statement ---

  /// The text in `call("...")`, if the main statement is a call whose name, without its scope, is `name`; else nothing.
  std::optional<std::string_view> quoted_in(std::string_view name) const {
    const std::string_view called = leading_name(main_);
    const bool same =
        called == name || called.ends_with(detail::message(".", name)) || called.ends_with(detail::message(":", name));
    const std::string_view frame = main_.substr(called.size());
    if (!same || !frame.starts_with("(\"") || bracket_end(frame) != frame.size()) return std::nullopt;
    return literal_argument(source_, main_);
  }

  /// Splits off a condition of validity in LaTeX: `... \quad\text{if } ...`.
  void split_latex() {
    constexpr std::string_view where = "\\quad\\text{if }";
    const std::size_t at = main_.find(where);
    if (at == std::string_view::npos || valid_) return;
    valid_ = main_.substr(at + where.size());
    main_ = main_.substr(0, at);
  }

  void read_main() {
    split_latex();
    if (const auto text = quoted_in("parse_kernel")) {
      read_kernel(*text);
    } else if (const auto expression = quoted_in("parse")) {
      return read_expr(*expression);
    } else if (looks_like_view(main_)) {
      box_.view = read_box_view(source_, main_, work_);
    } else if (looks_like_layout(main_)) {
      box_.layout = read_box_layout(source_, main_, work_);
    } else {
      return read_expr(main_);
    }
    if (valid_) source_.fail(*valid_, "[parse] 'valid' goes with an expression");
    if (!assume_.empty()) source_.fail(assume_[0], "[parse] 'assume' goes with an expression");
  }

  void read_kernel(std::string_view text) {
    try {
      parse_kernel(text);
    } catch (const Error& e) {
      source_.fail_inside(text, e);
    }
    box_.kernel = BoxKernel{std::string(text)};
  }

  /// Adds the names in `part` that have no bounds to `unbound`, in order.
  void note_unbound(std::string_view part, std::vector<std::string>& unbound) const {
    for (std::string& name : names_in(part)) {
      const bool known = std::any_of(box_.variables.begin(), box_.variables.end(),
                                     [&](const Variable& v) { return v.name() == name; }) ||
                         std::find(unbound.begin(), unbound.end(), name) != unbound.end();
      if (!known) unbound.push_back(std::move(name));
      work_.charge(box_.variables.size() + unbound.size());
    }
  }

  template <class Read>
  void read_each(std::string_view text, const Read& read) const {
    const auto one = [&](std::string_view part) {
      work_.charge(part.size());
      try {
        read(part);
      } catch (const Error& e) {
        source_.fail_inside(part, e);
      }
    };
    one(text);
    for (const std::string_view condition : assume_) one(condition);
    if (valid_) one(*valid_);
  }

  void read_expr(std::string_view text) {
    refuse_shift(text);
    BoxExpr out;
    read_each(text, [&](std::string_view part) { note_unbound(part, out.unbound); });
    if (out.unbound.empty()) {
      const Parser parser(box_.variables);
      read_each(text, [&](std::string_view part) { parser(part); });
    }
    out.text = text;
    for (const std::string_view condition : assume_) out.assume.emplace_back(condition);
    if (valid_) out.valid = *valid_;
    box_.expr = std::move(out);
  }
  void refuse_shift(std::string_view text) const {
    for (const std::string_view shift : {"<<", ">>"}) {
      const std::size_t at = text.find(shift);
      if (at != std::string_view::npos)
        source_.fail(text.substr(at), detail::message("[parse] there is no operator ", shift,
                                                      " in an expression: kernels may shift, here * "
                                                      "and // say the same"));
    }
  }

  Box box_;
  ViewSource source_;
  Work& work_;
  std::vector<std::string_view> statements_;
  std::string_view main_;
  std::vector<std::string_view> assume_;
  std::optional<std::string_view> valid_;
};

}  // namespace

Box read_box(std::string_view text, Work& work) {
  constexpr std::size_t passes = 8;  // about how often the whole text is read
  work.charge(passes * (text.size() + 1));
  return BoxReader(text, work).run();
}

}  // namespace strata::tools
