// The contents of the box in all notations.
#include "tools/box_forms.h"

#include <algorithm>

#include "strata/base/text.h"
#include "strata/expr/grammar.h"
#include "strata/expr/parse.h"
#include "strata/expr/render.h"
#include "strata/layout/layout_convert.h"
#include "tools/box_code.h"
#include "tools/brackets.h"

namespace strata::tools {
namespace {

using Forms = std::vector<BoxForm>;

/// Builds the command line of a command of `strata`.
class CommandText {
 public:
  explicit CommandText(std::string_view name) : text_(detail::message("strata ", name)) {}
  CommandText& word(std::string_view text) {
    text_ += detail::message(" ", shell_word(text));
    return *this;
  }
  CommandText& option(std::string_view name, std::string_view value) {
    text_ += detail::message(" --", name);
    return word(value);
  }
  CommandText& variables(const std::vector<Variable>& variables) {
    for (const Variable& v : variables) option("var", detail::message(v.name(), "=", v.min(), "..", v.max()));
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string sizes_word(const Ints& list) {
  std::string out;
  for (const Int& n : list) out += detail::message(out.empty() ? "" : ",", n.render());
  return list.empty() ? "()" : out;
}

std::string pairs_word(const Padding& list) {
  std::string out;
  for (const auto& [a, b] : list) out += detail::message(out.empty() ? "" : ",", a.render(), ":", b.render());
  return list.empty() ? "()" : out;
}

// --- Views ---

/// The chain of movements, e.g. `.permute((1, 0))`, in code.
std::string chain_text(const BoxView& view, const CodeText& code) {
  std::string out = view.shape
                        ? detail::message("ShapeTracker", code.scope(), "from_shape(", code.numbers(*view.shape), ")")
                        : code.stack(view.views);
  for (const BoxOp& op : view.ops) {
    const bool pairs = op.op != nullptr && op.op->takes_pairs;
    const std::string argument = op.op == nullptr ? ""
                                 : pairs          ? code.pairs(op.movement.pairs)
                                                  : code.numbers(op.movement.numbers);
    out += detail::message(".", op.name(), "(", argument, ")");
  }
  return out;
}

/// The code of the value: a single View, or the chain.
std::string value_text(const BoxView& view, const CodeText& code) {
  const bool alone = !view.shape && view.views.size() == 1 && view.ops.empty();
  return alone ? code.view(view.views[0]) : chain_text(view, code);
}

bool needs_parse(std::string_view text) { return text.find("expr.parse(") != std::string_view::npos; }

void add_code(const BoxView& view, const std::vector<Variable>& variables, Forms& forms) {
  const CodeText cpp(CodeLanguage::cpp, variables);
  const CodeText python(CodeLanguage::python, variables);
  if (!cpp.can_declare()) return;
  forms.push_back({"C++", cpp.head("") + value_text(view, cpp)});
  const std::string text = value_text(view, python);
  std::string imported = text.starts_with("View") ? "View" : "ShapeTracker";
  if (imported != "View" && text.find("View.create") != std::string::npos) imported += ", View";
  if (needs_parse(text)) imported += ", expr";
  forms.push_back({"Python", python.head(imported) + text});
}

void add_view(const View& view, CommandText& command) {
  command.option("shape", sizes_word(view.shape())).option("strides", sizes_word(view.strides()));
  if (view.offset() != Int(0)) command.option("offset", view.offset().render());
  if (!view.mask()) return;
  Padding pairs;
  for (const Extent& e : *view.mask()) pairs.push_back({e.begin, e.end});
  command.option("mask", pairs_word(pairs));
}

std::string view_command(const BoxView& view, const std::vector<Variable>& variables) {
  CommandText command("view");
  const bool simplifies =
      std::any_of(view.ops.begin(), view.ops.end(), [](const BoxOp& op) { return op.op == nullptr; });
  if (!view.shape && view.stack.views().size() == 1) {
    add_view(view.stack.views()[0], command);
  } else if (!view.shape || simplifies) {
    command.option("views", view.stack.render());
  } else {
    command.option("shape", sizes_word(*view.shape));
    for (const BoxOp& op : view.ops)
      command.option(op.name(), op.op->takes_pairs ? pairs_word(op.movement.pairs) : sizes_word(op.movement.numbers));
  }
  return command.variables(variables).take();
}

/// The layout with the same function of coordinates, with one mode for each dimension; nothing if there is none.
std::optional<Layout> layout_of(const ShapeTracker& stack, Work& work) {
  const std::uint64_t budget = std::min(kMergeBudget, work.left());
  work.charge(budget / 64);  // a typical share: the budget is seldom used up
  const auto placed = to_layout(stack, budget);
  if (!placed || placed->offset != Int(0)) return std::nullopt;
  for (const Int& begin : placed->begin)
    if (begin != Int(0)) return std::nullopt;
  Layout layout = placed->layout();
  const PlacedLayout again = place(layout);  // as many modes as dimensions, unless the only mode has several parts
  if (again.shape != stack.shape()) return std::nullopt;
  for (std::size_t k = 0; k < again.modes.size(); ++k)
    if (placed->modes[k].size() != stack.shape()[k]) return std::nullopt;
  return layout;
}

/// A variable for each dimension of `shape`, with names that are not in `taken`; nothing if a size can be below 1.
std::optional<std::vector<Variable>> indices_over(const Ints& shape, const std::vector<Variable>& taken) {
  const bool clash =
      std::any_of(taken.begin(), taken.end(), [](const Variable& v) { return v.name().starts_with("ridx"); });
  std::vector<Variable> out;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (shape[k].vmin() < 1) return std::nullopt;
    out.emplace_back(detail::message(clash ? "index_of_axis_" : "ridx", k), 0, shape[k].vmax() - 1);
  }
  return out;
}

void add_index_forms(const std::vector<Variable>& declared, const Expr& index, const Expr& valid, Work& work,
                     Forms& forms) {
  work.charge(std::uint64_t{64} * (count_nodes(index) + count_nodes(valid)));
  std::string text = bounds_text(declared) + render(index);
  if (valid.constant() != 1) text += detail::message("; valid ", render(valid));
  std::string latex = render(index, Notation::latex);
  if (valid.constant() != 1) latex += detail::message("\\quad\\text{if }", render(valid, Notation::latex));
  forms.push_back({"expression", std::move(text)});
  forms.push_back({"LaTeX", std::move(latex)});
}

void add_index(const ShapeTracker& stack, std::vector<Variable> variables, Work& work, Forms& forms) {
  const auto indices = indices_over(stack.shape(), variables);
  if (!indices) return;
  work.charge(std::uint64_t{1024} * stack.views().size() * stack.views().size() * (1 + stack.rank()));
  const std::vector<Expr> idxs(indices->begin(), indices->end());
  const IndexExprs exprs = stack.expr_idxs(idxs);
  Expr valid = exprs.valid;
  for (std::size_t k = 0; k < idxs.size(); ++k)  // the bound of an index that depends on a symbolic size
    if (!stack.shape()[k].is_number()) valid = (idxs[k] < stack.shape()[k].expr()) && valid;
  variables.insert(variables.begin(), indices->begin(), indices->end());
  add_index_forms(variables, exprs.index, valid, work, forms);
}

Forms view_forms(const BoxView& view, const std::vector<Variable>& variables, Work& work) {
  Forms forms = {{"text", bounds_text(variables) + view.stack.render()}};
  const CodeText python(CodeLanguage::python, variables);
  if (view.shape || !view.ops.empty()) {
    const std::string chain = chain_text(view, python);
    if (!needs_parse(chain)) forms.push_back({"chain", bounds_text(variables) + chain});
  }
  add_code(view, variables, forms);
  if (const auto layout = layout_of(view.stack, work))
    forms.push_back({"CuTe", bounds_text(variables) + render(*layout)});
  add_index(view.stack, variables, work, forms);
  forms.push_back({"command", view_command(view, variables)});
  return forms;
}

// --- layouts ---

/// The word of argument i in the function's row, which says its kind: "A", "COSIZE", ...
std::string_view argument_kind(const LayoutFunction& function, std::size_t i) {
  std::string_view words = function.arguments;
  for (; i > 0; --i) words.remove_prefix(std::min(words.find(' ') + 1, words.size()));
  return words.substr(0, words.find(' '));
}

bool is_layout(std::string_view kind) { return kind == "A" || kind == "B"; }

/// The code of the layout in a text; empty if it cannot be written.
std::string layout_code(const std::string& text, const CodeText& code, const std::vector<Variable>& variables) {
  const bool plain = text.find_first_not_of("0123456789 ") == std::string::npos;
  if (plain) return detail::message("Layout(", text, ")");
  return code.layout(variables.empty() ? parse_layout(text) : parse_layout(text, variables));
}

/// Whether a text is a tiler: `(4:1, 8:2)` or `<4:1, 8:2>`. With a colon behind the bracket it would be a layout.
bool is_tiler_text(std::string_view text) {
  text = trimmed(text);
  return text.starts_with('<') || (text.starts_with('(') && bracket_end(text) == text.size());
}
std::string_view inside_tiler(std::string_view text) {
  text = trimmed(text);
  return text.substr(1, text.size() - 2);
}

std::string argument_code(const BoxLayout& layout, std::size_t i, const CodeText& code,
                          const std::vector<Variable>& variables) {
  const std::string_view kind = argument_kind(*layout.function, i);
  if (kind == "B" && is_tiler_text(layout.args[i])) {
    std::string tiles;
    for (const std::string_view tile : items_of(inside_tiler(layout.args[i]))) {
      const std::string one = layout_code(std::string(tile), code, variables);
      if (one.empty()) return "";
      tiles += (tiles.empty() ? "" : ", ") + one;
    }
    return code.is_cpp() ? detail::message("Tiler{", tiles, "}") : detail::message("[", tiles, "]");
  }
  if (is_layout(kind)) return layout_code(layout.args[i], code, variables);
  if (kind == "[COORDINATE]" && code.is_cpp()) return detail::message("parse_coordinate(\"", layout.args[i], "\")");
  return layout.args[i];
}

/// The code of a value; empty if it cannot be written.
std::string call_code(const BoxLayout& layout, const CodeText& code, const std::vector<Variable>& variables) {
  if (layout.function == nullptr) return layout_code(layout.args[0], code, variables);
  const std::string_view name = layout.function->name;
  std::string arguments;
  for (std::size_t i = 0; i < layout.args.size(); ++i) {
    std::string one = argument_code(layout, i, code, variables);
    if (one.empty()) return "";
    if (name == "crd2idx" && layout.args.size() == 1) return one;
    if (name == "size" || name == "cosize") return detail::message(one, ".", name, "()");
    arguments += (i == 0 ? "" : ", ") + one;
  }
  const std::string_view scope = code.is_cpp() ? "" : "layout.";
  return detail::message(scope, name == "swizzle" ? "Swizzle" : name, "(", arguments, ")");
}

std::string call_text(const BoxLayout& layout) {
  if (layout.function == nullptr) return layout.args[0];
  std::string out;
  for (const std::string& a : layout.args) out += (out.empty() ? "" : ", ") + a;
  return detail::message(layout.function->name, "(", out, ")");
}

Forms layout_forms(const BoxLayout& layout, const std::vector<Variable>& variables, Work& work) {
  Forms forms = {{"text", bounds_text(variables) + call_text(layout)}};
  const auto add_language = [&](std::string_view name, CodeLanguage language) {
    const CodeText code(language, variables);
    const std::string text = code.can_declare() ? call_code(layout, code, variables) : "";
    if (text.empty()) return;
    const bool called = text.find("layout.") != std::string::npos;
    const bool made = text.find("Layout(") != std::string::npos;
    forms.push_back({name, code.head(called ? (made ? "Layout, layout" : "layout") : "Layout") + text});
  };
  add_language("C++", CodeLanguage::cpp);
  add_language("Python", CodeLanguage::python);
  CommandText command("layout");
  if (layout.function != nullptr) command.word(layout.function->name);
  for (const std::string& a : layout.args) command.word(a);
  if (layout.answer.layout) {
    const Layout& value = *layout.answer.layout;
    forms.push_back({"CuTe", bounds_text(variables) + render(value)});
    const ShapeTracker stack = to_shape_tracker(place(value));
    forms.push_back({"View", bounds_text(variables) + stack.render()});
    add_index(stack, variables, work, forms);
  }
  forms.push_back({"command", command.variables(variables).take()});
  return forms;
}

// --- expressions ---

std::string expr_command(const BoxExpr& expr, const std::vector<Variable>& variables, const std::string& text,
                         const std::string& valid) {
  if (expr.valid) return CommandText("view").option("expr", text).option("valid", valid).variables(variables).take();
  CommandText command("expr");
  command.word(text).variables(variables);
  for (const std::string& condition : expr.assume) command.option("assume", condition);
  return command.take();
}

Forms expr_forms(const BoxExpr& expr, const std::vector<Variable>& variables, Work& work) {
  std::string conditions;
  for (const std::string& condition : expr.assume) conditions += detail::message("; assume ", condition);
  if (!expr.unbound.empty()) {
    if (expr.valid) conditions = detail::message("; valid ", *expr.valid, conditions);
    return {{"text", bounds_text(variables) + expr.text + conditions}};
  }
  const Parser parser(variables);
  const Expr value = parser(expr.text);
  const Expr valid = expr.valid ? parser(*expr.valid) : Expr(1);
  work.charge(std::uint64_t{64} * (count_nodes(value) + count_nodes(valid)));
  const std::string text = render(value);
  if (expr.valid) conditions = detail::message("; valid ", render(valid), conditions);
  Forms forms = {{"text", bounds_text(variables) + text + conditions}};
  const CodeText cpp(CodeLanguage::cpp, variables);
  const CodeText python(CodeLanguage::python, variables);
  const bool alone = !expr.valid && expr.assume.empty();
  if (alone && cpp.can_declare()) {
    forms.push_back({"C++", cpp.head("") + cpp.parsed(text)});
    forms.push_back({"Python", python.head("expr") + python.parsed(text)});
  }
  if (alone) forms.push_back({"C", render(value, Notation::c)});
  std::string latex = render(value, Notation::latex);
  if (expr.valid) latex += detail::message("\\quad\\text{if }", render(valid, Notation::latex));
  forms.push_back({"LaTeX", std::move(latex)});
  forms.push_back({"command", expr_command(expr, variables, text, render(valid))});
  return forms;
}

// --- kernels ---

/// The statements of a kernel in one line, separated by "; ".
std::string one_line(std::string_view text) {
  std::string out;
  int depth = 0;
  bool ended = true;  // whether the last statement has ended
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if ((c == ')' || c == ']') && depth > 0) --depth;
    if (c == ';' || (c == '\n' && depth == 0)) {
      depth = 0;
      ended = true;
    } else if (is_space(c)) {
      if (!ended && out.back() != ' ') out += ' ';
    } else {
      while (ended && !out.empty() && out.back() == ' ') out.pop_back();
      if (ended && !out.empty()) out += "; ";
      ended = false;
      out += c;
    }
  }
  return std::string(trimmed(out));
}

Forms kernel_forms(const BoxKernel& kernel) {
  const std::string text = one_line(kernel.text);
  const std::string call = detail::message("parse_kernel(\"", text, "\")");
  return {{"text", text},
          {"C++", call},
          {"Python", detail::message("from strata import parse_kernel\n", call)},
          {"command", CommandText("kernel").word(text).take()}};
}

}  // namespace

std::string bounds_text(const std::vector<Variable>& variables) {
  std::string out;
  for (const Variable& v : variables) out += detail::message(v.name(), ": ", v.min(), "..", v.max(), "; ");
  return out;
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view safe = "_-./:,=+@%";
  const auto is_safe = [&](char c) {
    return is_name_start(c) || is_digit(c) || safe.find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_safe)) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::vector<BoxForm> forms_of(const Box& box, Work& work) {
  if (box.view) return view_forms(*box.view, box.variables, work);
  if (box.layout) return layout_forms(*box.layout, box.variables, work);
  if (box.expr) return expr_forms(*box.expr, box.variables, work);
  return kernel_forms(*box.kernel);
}

}  // namespace strata::tools
