// `strata view`: prints and draws a stack of Views, or an index expression with its condition.
#include <algorithm>
#include <ostream>

#include "strata/base/quotes.h"
#include "tools/batch_rows.h"
#include "tools/command_parts.h"
#include "tools/commands.h"
#include "tools/link.h"
#include "tools/picture.h"
#include "tools/view_text.h"

namespace strata::tools {
namespace {

constexpr std::string_view start_options[] = {"--shape", "--strides", "--offset", "--mask", "--views"};
constexpr std::size_t label_width = 14;

// --- reading ---

View read_view(const Invocation& invocation, const ViewText& text) {
  Ints shape = text.numbers(*invocation.value("--shape"), "--shape");
  std::optional<Ints> strides;
  if (const auto given = invocation.value("--strides")) strides = text.numbers(*given, "--strides");
  const auto offset = invocation.value("--offset");
  std::optional<Mask> mask;
  if (const auto given = invocation.value("--mask")) {
    mask.emplace();
    for (const auto& [begin, end] : text.extents(*given, shape, "--mask")) mask->push_back({begin, end});
  }
  return View::create(std::move(shape), std::move(strides), offset ? text.number(*offset, "--offset") : Int(0),
                      std::move(mask));
}

std::vector<View> read_start(const Invocation& invocation, const ViewText& text, Work& work) {
  const auto views = invocation.value("--views");
  if (!views) return {read_view(invocation, text)};
  for (const std::string_view option : start_options) {
    if (option != "--views" && invocation.has(option))
      throw UsageError(detail::message("--views gives the whole start: leave out ", option), &invocation.command());
  }
  if (views->find_first_not_of(" \t\n") == views->find('[')) {
    JsonDocument document;
    document.read(*views);
    return read_views(document.root(), work);
  }
  return text.views(*views, "--views");
}

Movement read_movement(const MovementOp& op, const std::string& value, const Ints& shape, const ViewText& text) {
  const std::string where = detail::message("--", op.name);
  if (!op.takes_pairs) return {text.numbers(value, where), {}};
  if (op.name == "shrink") return {{}, text.extents(value, shape, where)};
  return {{}, text.paddings(value, where)};
}

/// The argument of a movement as Python tuples: `((1, 1), (0, 2))` or `(1, 0)`.
std::string movement_text(const MovementOp& op, const Movement& movement) {
  if (!op.takes_pairs) return render(movement.numbers);
  std::string out;
  for (const auto& [before, after] : movement.pairs)
    out += detail::message(out.empty() ? "" : ", ", "(", before.render(), ", ", after.render(), ")");
  return detail::message("(", out, movement.pairs.size() == 1 ? ",)" : ")");
}

/// The start of a chain in the box: `View(...)`, or a stack. If operations follow, the shape is enough for a contiguous
/// View.
std::string start_text(const ShapeTracker& start, bool is_moved) {
  if (start.views().size() > 1) return start.render();
  const View& view = start.views().front();
  if (!is_moved || !view.contiguous()) return view.render();
  return detail::message("ShapeTracker.from_shape(", render(view.shape()), ")");
}

/// The question of the command line. `said` gets the start and the operations in the notation of the box.
ViewQuestion read_question(const Invocation& invocation, const std::vector<Variable>& sizes, Work& work,
                           std::string& said) {
  const ViewText text(sizes);
  ViewQuestion question{ShapeTracker(read_start(invocation, text, work)), !invocation.has("--no-simplify"),
                        invocation.has("--addresses"), std::nullopt};
  const ShapeTracker start = question.stack;
  std::string moves;
  for (const auto& [option, value] : invocation.options()) {
    const MovementOp* op = find_movement(option.substr(2));
    if (op == nullptr) continue;
    const Movement movement = read_movement(*op, value, question.stack.shape(), text);
    moves += detail::message(".", op->name, "(", movement_text(*op, movement), ")");
    question.stack = apply_movement(question.stack, *op, movement, work);
  }
  if (const auto names = invocation.value("--idxs")) {
    question.idxs.emplace();
    for (const std::string_view name : split(*names, ',')) question.idxs->emplace_back(name);
  }
  said = start_text(start, !moves.empty()) + moves;
  return question;
}

// --- a stack of Views ---

std::string list_text(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (const std::int64_t n : numbers) out += detail::message(out.empty() ? "" : " ", n);
  return out;
}

std::string strides_text(const std::vector<std::optional<Int>>& strides) {
  std::string out;
  for (const auto& stride : strides)
    out += (out.empty() ? "" : ", ") + (stride ? stride->render() : std::string("none"));
  return detail::message("(", out, strides.size() == 1 ? ",)" : ")");
}

/// Prints why the stack needs more than one View, or that one View is enough.
std::string why_text(const ShapeTracker& stack) {
  const std::string why = stack.why_not_merged();
  return why.empty() ? "one View says it" : why;
}

void print_stack(const ViewQuestion& question, const ViewAnswer& answer, Lines& lines) {
  const ShapeTracker& stack = answer.stack;
  const std::string size = stack.size().render();
  lines.print("shape", render(stack.shape()), size + (size == "1" ? " element" : " elements"));
  const std::size_t last = stack.views().size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    const std::string label = last == 0 ? "view" : detail::message("view ", i);
    const std::string_view place = last == 0 ? "" : i == 0 ? "addresses memory" : i == last ? "takes the indices" : "";
    lines.print(label, stack.views()[i].render(), place);
  }
  lines.print("index", answer.index.index.render());
  lines.print("valid", answer.index.valid.render());
  lines.print("real_strides", strides_text(answer.real_strides));
  lines.print("real_size", answer.real_size ? answer.real_size->render() : "depends on the sizes");
  if (question.addresses) lines.print("addresses", list_text(answer.addresses));
}

void draw_stack(const ViewAnswer& answer, Lines& lines, Console& console, bool colour) {
  const ShapeTracker& stack = answer.stack;
  if (!stack.is_concrete()) {
    lines.print("picture", "none: the sizes are symbolic");
    return;
  }
  std::vector<PictureAxis> axes;
  for (std::size_t i = 0; i < stack.rank(); ++i) axes.push_back({answer.names[i], 0, stack.shape()[i].value()});
  print_picture(picture_of(answer.index, answer.idxs, std::move(axes)), lines, console, colour);
}

int view_stack(const Invocation& invocation, const std::vector<Variable>& sizes, Console& console) {
  Work work(default_budget);
  std::string said;
  const ViewQuestion question = read_question(invocation, sizes, work, said);
  const ViewAnswer answer = ask_view(question, work);
  const bool why = invocation.has("--why");
  if (invocation.has("--json")) {
    JsonWriter json;
    json.begin_object();
    write_view_answer(json, question, answer);
    if (why) json.member("why", question.stack.why_not_merged());
    console.out << json.end_object().take() << '\n';
    return 0;
  }
  const bool colour = wants_colour(invocation, console);
  Lines lines(console, colour, label_width);
  print_stack(question, answer, lines);
  if (why) lines.print("why", why_text(question.stack));
  draw_stack(answer, lines, console, colour);
  return 0;
}

// --- an expression and its validity ---

void refuse_stack_options(const Invocation& invocation) {
  for (const auto& [option, value] : invocation.options()) {
    const bool of_stack = find_movement(option.substr(2)) != nullptr ||
                          std::count(std::begin(start_options), std::end(start_options), option) != 0;
    if (of_stack || option == "--idxs" || option == "--no-simplify" || option == "--why")
      throw UsageError(detail::message(option, " is for Views, not for --expr"), &invocation.command());
  }
}

std::vector<PictureAxis> axes_of(const std::vector<Variable>& variables) {
  std::vector<PictureAxis> axes;
  for (const Variable& v : variables) axes.push_back({std::string(v.name()), v.min(), count_values(v)});
  return axes;
}

ViewExprQuestion read_expr_question(const Invocation& invocation, const std::vector<Variable>& variables,
                                    bool addresses) {
  refuse_stack_options(invocation);
  return {.index = *invocation.value("--expr"),
          .valid = invocation.value("--valid").value_or("1"),
          .variables = variables,
          .addresses = addresses,
          .index_name = "--expr",
          .valid_name = "--valid"};
}

int view_expr(const Invocation& invocation, const std::vector<Variable>& variables, Console& console) {
  Work work(default_budget);
  const ViewExprQuestion question = read_expr_question(invocation, variables, invocation.has("--addresses"));
  const ViewExprAnswer answer = ask_view_expr(question, work);
  if (invocation.has("--json")) {
    JsonWriter json;
    json.begin_object();
    write_view_expr_answer(json, question, answer);
    console.out << json.end_object().take() << '\n';
    return 0;
  }
  const bool colour = wants_colour(invocation, console);
  Lines lines(console, colour, label_width);
  lines.print("shape", render(answer.shape));
  lines.print("index", answer.simplified.index.render());
  lines.print("valid", answer.simplified.valid.render());
  if (question.addresses) lines.print("addresses", list_text(answer.addresses));
  const std::vector<Expr> idxs(variables.begin(), variables.end());
  print_picture(picture_of(answer.given, idxs, axes_of(variables)), lines, console, colour);
  return 0;
}

/// Whether the command line has --expr. @throws UsageError if it has neither Views nor --expr
bool is_about_an_expr(const Invocation& invocation) {
  const bool expression = invocation.has("--expr");
  if (!expression && !invocation.has("--shape") && !invocation.has("--views"))
    throw UsageError("'view' needs --shape, --views or --expr", &invocation.command());
  if (!expression && invocation.has("--valid")) throw UsageError("--valid goes with --expr", &invocation.command());
  return expression;
}

PageLink read_link(const Invocation& invocation, const std::vector<Variable>& variables) {
  Work work(default_budget);
  if (!is_about_an_expr(invocation)) {
    std::string said;
    read_question(invocation, variables, work, said);
    const auto is_move = [](const auto& option) { return find_movement(option.first.substr(2)) != nullptr; };
    const auto options = invocation.options();
    const bool is_moved = std::any_of(options.begin(), options.end(), is_move);
    return {is_moved ? "movement" : "shape", declared(variables, said)};
  }
  ask_view_expr(read_expr_question(invocation, variables, false), work);
  std::string text = in_one_line(*invocation.value("--expr"));
  if (const auto valid = invocation.value("--valid")) text += detail::message("; valid ", in_one_line(*valid));
  return {"expression", declared(variables, text)};
}

}  // namespace

int link_view(const Invocation& invocation, Console& console, const LinkUse& use) {
  const std::vector<Variable> variables = read_variables(invocation);
  PageLink link;
  try {
    link = read_link(invocation, variables);
  } catch (const TextError& e) {
    return report_text_error(e, variables, console);
  }
  return use(link);
}

int command_view(const Invocation& invocation, Console& console) {
  if (invocation.has("--link")) return link_view(invocation, console, print_link(console));
  const std::vector<Variable> variables = read_variables(invocation);
  const bool expression = is_about_an_expr(invocation);
  try {
    return expression ? view_expr(invocation, variables, console) : view_stack(invocation, variables, console);
  } catch (const TextError& e) {
    return report_text_error(e, variables, console);
  }
}

}  // namespace strata::tools
