// The requests of `strata batch` that have a file of their own: each writes its fields into an open object.
#pragma once

#include <array>

#include "strata/expr/rules.h"
#include "tools/ask_kernel.h"
#include "tools/ask_layout.h"
#include "tools/ask_view.h"
#include "tools/ask_view_expr.h"
#include "tools/request.h"

namespace strata::tools {

inline constexpr std::array<std::string_view, 7> view_keys = {
    "shape", "views", "ops", "simplify", "addresses", "idxs", "vars"};
void answer_view(const Request& request, Work& work, JsonWriter& json);
/// `view` with `expr`, which stands in the place of Views.
void answer_view_expr(const Request& request, Work& work, JsonWriter& json);
void answer_equal_view(const Request& request, Work& work, JsonWriter& json);
void answer_layout(const Request& request, Work& work, JsonWriter& json);
void answer_rules(const Request& request, Work& work, JsonWriter& json);
void answer_check(const Request& request, Work& work, JsonWriter& json);
void answer_read(const Request& request, Work& work, JsonWriter& json);

/// `window`: pairs of begin and end.
std::optional<Window> read_window(const Request& request, Work& work);

/// Of what the requests about kernels ask.
inline constexpr std::array<std::string_view, 4> kernel_keys = {"text", "target", "vector_bytes",
                                                                "opts"};
void answer_kernel(const Request& request, Work& work, JsonWriter& json);
void answer_order(const Request& request, Work& work, JsonWriter& json);
void answer_evaluate(const Request& request, Work& work, JsonWriter& json);

/// A number, or what is none as its text.
void write_int(JsonWriter& json, const Int& n);
/// The stack that `views` says, memory first, as the `view` request lists it.
std::vector<View> read_views(const JsonValue& views, Work& work);
// Where there is `memory`, lists of addresses and values go there.
/// The fields of the `view` answer. A size or stride that is no number is written as its text.
void write_view_answer(JsonWriter& json, const ViewQuestion& question, const ViewAnswer& answer,
                       NumberLists* memory = nullptr);
/// The fields of the answer about an index expression.
void write_view_expr_answer(JsonWriter& json, const ViewExprQuestion& question,
                            const ViewExprAnswer& answer, NumberLists* memory = nullptr);
/// What `why`, `facts` and `latex` ask for.
void write_view_extras(const Request& request, const ViewQuestion& question,
                       const ViewAnswer& answer, Work& work, JsonWriter& json);
/// An index and its validity in LaTeX.
void write_latex(JsonWriter& json, const IndexExprs& exprs);
/// The fields of a rule.
void write_rule(JsonWriter& json, const Rule& rule);
/// The title of the section of rules whose names begin with `letter`.
std::string_view rule_section(char letter);
/// `trace`: every rule that fired, with the instance of it.
void write_trace(JsonWriter& json, std::span<const RewriteEvent> events);
/// "true", "false" or "unknown".
std::string_view answer_word(Answer answer);
/// The fields of the `layout` answer; a layout of expressions has no table.
/// Without the table of a layout where it is not wanted; a function whose answer is a table always has it.
void write_layout_answer(JsonWriter& json, const LayoutAnswer& answer, Work& work,
                         bool table = true, NumberLists* memory = nullptr);

}  // namespace strata::tools
