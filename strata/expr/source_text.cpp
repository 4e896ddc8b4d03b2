// Columns, names and sentences for the errors of `parse` and `compile`.
#include "strata/expr/source_text.h"

#include <algorithm>
#include <utility>

#include "strata/base/meter.h"
#include "strata/base/quotes.h"

namespace strata {

namespace {

/// Levenshtein distance, or `limit + 1` when it is above `limit`.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t gap = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (gap > limit) return limit + 1;
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

ErrorKind kind_of(Fault fault) {
  switch (fault) {
    case Fault::syntax: return ErrorKind::parse;
    case Fault::overflow: return ErrorKind::overflow;
    case Fault::budget: return ErrorKind::budget;
  }
  throw InternalError("internal error: unknown fault of the grammar");
}

}  // namespace

SourceText::SourceText(std::string_view original) : original_(original) {
  if (original.find('\\') == std::string_view::npos) return;
  infix_ = detail::translate_latex(original, columns_);
  translated_ = true;
}

std::size_t SourceText::column(std::size_t infix_column) const {
  if (!translated_) return infix_column;
  return infix_column - 1 < columns_.size() ? columns_[infix_column - 1] : original_.size() + 1;
}

void SourceText::fail(Fault fault, std::string_view what, std::string_view token, std::size_t column) const {
  const std::string found = token.empty() ? std::string() : ": " + in_quotes(token);
  throw Error(kind_of(fault), detail::message("[parse] ", what, found), this->column(column));
}

NameTable::NameTable(std::vector<std::string_view> names) : names_(std::move(names)) {
  constexpr std::uint64_t units_of_a_name = 24;
  Meter::charge(units_of_a_name * names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    STRATA_CHECK(!is_reserved_word(names_[i]), parse, "[parse] ", in_quotes(names_[i]),
                 " is a word of the grammar, not a name");
    STRATA_CHECK(index_.emplace(names_[i], i).second, domain, "[parse] the name ", in_quotes(names_[i]),
                 " is given twice");
  }
}

std::size_t NameTable::find(std::string_view name, std::size_t column) const {
  if (const auto it = index_.find(name); it != index_.end()) return it->second;
  constexpr std::size_t longest = 64,
                        most_names = 1000;  // above these limits no suggestion is computed
  std::string hint;
  std::size_t best = name.size() <= 3 ? 2 : 3;  // smaller distances are close
  for (std::size_t i = 0; i < std::min(names_.size(), most_names) && name.size() <= longest; ++i) {
    const std::size_t distance = edit_distance(name, names_[i], best);
    if (distance >= best || distance >= name.size()) continue;
    best = distance;
    hint = ", did you mean " + in_quotes(names_[i]) + "?";
  }
  throw Error(ErrorKind::parse, detail::message("[parse] unknown name ", in_quotes(name), hint), column);
}

}  // namespace strata
