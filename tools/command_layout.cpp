// `strata layout`: prints and draws a layout, or the result of a function of the layout algebra.
#include <algorithm>
#include <ostream>

#include "strata/base/quotes.h"
#include "strata/layout/layout_algebra.h"
#include "tools/batch_rows.h"
#include "tools/command_parts.h"
#include "tools/commands.h"
#include "tools/link.h"
#include "tools/picture.h"

namespace strata::tools {
namespace {

/// Whether a word can only be a layout, not the name of a function.
bool looks_like_a_layout(std::string_view text) {
  return text.find_first_of("():0123456789") != std::string_view::npos && text.find('_') == std::string_view::npos;
}

[[noreturn]] void refuse_function(const std::string& name, const Command& command) {
  std::vector<std::string_view> names;
  for (const LayoutFunction& f : layout_functions()) names.push_back(f.name);
  const std::string_view best = nearest(name, names);
  throw UsageError(
      "there is no function " + in_quotes(name) + (best.empty() ? "" : detail::message("; did you mean '", best, "'?")),
      &command);
}

/// The picture of a layout: mode 0 gives the rows and mode 1 the columns, as CuTe prints; one table for each index of
/// the other modes.
Picture layout_picture(const Layout& layout, const std::vector<std::int64_t>& table) {
  const std::size_t rank = layout.rank();
  std::vector<std::int64_t> sizes;
  for (std::size_t k = 0; k < rank; ++k) sizes.push_back(layout.mode(k).size().value());
  std::vector<std::size_t> order;  // the modes in the order of the picture's axes
  for (std::size_t k = rank; k-- > 2;) order.push_back(k);
  for (std::size_t k = 0; k < std::min<std::size_t>(rank, 2); ++k) order.push_back(k);

  Picture picture;
  for (const std::size_t k : order) picture.axes.push_back({detail::message("mode", k), 0, sizes[k]});
  std::vector<std::int64_t> at(rank, 0);
  for (std::size_t cell = 0; cell < table.size(); ++cell) {
    auto rest = static_cast<std::int64_t>(cell);
    for (std::size_t axis = order.size(); axis-- > 0;) {
      at[order[axis]] = rest % sizes[order[axis]];
      rest /= sizes[order[axis]];
    }
    std::int64_t index = 0;  // mode 0 is the fastest to vary
    for (std::size_t k = rank; k-- > 0;) index = index * sizes[k] + at[k];
    picture.cells.emplace_back(table[static_cast<std::size_t>(index)]);
  }
  return picture;
}

/// The picture of a table whose size is a power of two, with rows of about its square root.
Picture table_picture(const std::vector<std::int64_t>& table) {
  std::int64_t columns = 1;
  const auto size = static_cast<std::int64_t>(table.size());
  while (columns * columns < size) columns *= 2;
  Picture picture{{{"row", 0, size / columns}, {"column", 0, columns}}, {}};
  for (const std::int64_t value : table) picture.cells.emplace_back(value);
  return picture;
}

class Printer {
 public:
  Printer(Console& console, bool colour) : console_(console), colour_(colour), lines_(console, colour) {}

  void print(const LayoutAnswer& answer) {
    if (answer.value) lines_.print("value", render(*answer.value));
    if (answer.layout) print_layout(*answer.layout);
    if (!answer.table) return;
    const bool draws = answer.table->size() <= static_cast<std::size_t>(most_drawn);
    print_picture(draws ? std::optional(table_picture(*answer.table)) : std::nullopt, lines_, console_, colour_);
  }

 private:
  void print_layout(const Layout& layout) {
    lines_.print("layout", render(layout));
    lines_.print("size", layout.size().render());
    lines_.print("cosize", layout.cosize().render());
    lines_.print("coalesced", render(coalesce(layout)));
    if (!layout.is_concrete()) {
      lines_.print("picture", "none: the sizes are symbolic");
      return;
    }
    std::optional<Picture> picture;
    if (layout.size().value() <= most_drawn) picture = layout_picture(layout, table(layout));
    print_picture(picture, lines_, console_, colour_);
  }

  Console& console_;
  bool colour_;
  Lines lines_;
};

/// The answer to the command line: the layout itself, or the result of the function.
LayoutAnswer read_and_ask(const Invocation& invocation, const std::vector<Variable>& variables, Work& work) {
  const std::vector<std::string>& words = invocation.arguments();
  const LayoutFunction* function = find_layout_function(words.front());
  if (function == nullptr && (words.size() > 1 || !looks_like_a_layout(words.front())))
    refuse_function(words.front(), invocation.command());
  if (function == nullptr) return {LayoutArguments(words, "the layout", false, variables, work).layout(0), {}, {}};
  const std::vector<std::string> texts(words.begin() + 1, words.end());
  if (texts.size() < function->least || texts.size() > function->most)
    throw UsageError(detail::message(function->name, " takes ", function->arguments), &invocation.command());
  return ask_layout(*function, LayoutArguments(texts, "the arguments", false, variables, work));
}

/// The text for the link: `composition(A, B)`, or the layout itself.
std::string call_text(const std::vector<std::string>& words) {
  if (words.size() == 1) return in_one_line(words.front());
  std::string arguments;
  for (const std::string_view word : std::span(words).subspan(1))
    arguments += detail::message(arguments.empty() ? "" : ", ", in_one_line(word));
  return detail::message(words.front(), "(", arguments, ")");
}

}  // namespace

int link_layout(const Invocation& invocation, Console& console, const LinkUse& use) {
  const std::vector<Variable> variables = read_variables(invocation);
  Work work(default_budget);
  try {
    read_and_ask(invocation, variables, work);
  } catch (const TextError& e) {
    return report_text_error(e, variables, console);
  }
  return use({"layouts", declared(variables, call_text(invocation.arguments()))});
}

int command_layout(const Invocation& invocation, Console& console) {
  if (invocation.has("--link")) return link_layout(invocation, console, print_link(console));
  const std::vector<Variable> variables = read_variables(invocation);
  Work work(default_budget);
  try {
    const LayoutAnswer answer = read_and_ask(invocation, variables, work);
    if (invocation.has("--json")) {
      JsonWriter json;
      json.begin_object();
      write_layout_answer(json, answer, work);
      console.out << json.end_object().take() << '\n';
    } else {
      Printer(console, wants_colour(invocation, console)).print(answer);
    }
    return 0;
  } catch (const TextError& e) {
    return report_text_error(e, variables, console);
  }
}

}  // namespace strata::tools
