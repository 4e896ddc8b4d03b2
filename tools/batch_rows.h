// The answers to requests of `strata batch`, one function for each kind of request (batch.cpp has the table), and the
// writers of answers that commands with --json share. Each function writes its fields into the open JSON object.
#pragma once

#include <array>

#include "strata/expr/rules.h"
#include "tools/ask_kernel.h"
#include "tools/ask_layout.h"
#include "tools/ask_view.h"
#include "tools/ask_view_expr.h"
#include "tools/request.h"

namespace strata::tools {

/// The members of the request `view`.
inline constexpr std::array<std::string_view, 7> view_keys = {"shape",     "views", "ops", "simplify",
                                                              "addresses", "idxs",  "vars"};
void answer_view(const Request& request, Work& work, JsonWriter& json);
/// The request `view` with the member `expr`: an index expression in place of Views.
void answer_view_expr(const Request& request, Work& work, JsonWriter& json);
void answer_equal_view(const Request& request, Work& work, JsonWriter& json);
void answer_layout(const Request& request, Work& work, JsonWriter& json);
void answer_rules(const Request& request, Work& work, JsonWriter& json);
void answer_check(const Request& request, Work& work, JsonWriter& json);
void answer_read(const Request& request, Work& work, JsonWriter& json);

/// The member `window`: a list of pairs [begin, end], one for each dimension; nothing if it is absent.
std::optional<Window> read_window(const Request& request, Work& work);

/// The members that all requests about kernels have.
inline constexpr std::array<std::string_view, 4> kernel_keys = {"text", "target", "vector_bytes", "opts"};
void answer_kernel(const Request& request, Work& work, JsonWriter& json);
void answer_order(const Request& request, Work& work, JsonWriter& json);
void answer_evaluate(const Request& request, Work& work, JsonWriter& json);

/// Writes a size: a JSON number, or a string if it is symbolic.
void write_int(JsonWriter& json, const Int& n);
/// The Views of the member `views`, the one next to memory first.
std::vector<View> read_views(const JsonValue& views, Work& work);
// If `memory` is not null, long lists of addresses and values go there (number_lists.h).
/// The fields of the answer to `view`. A symbolic size or stride is written as a string.
void write_view_answer(JsonWriter& json, const ViewQuestion& question, const ViewAnswer& answer,
                       NumberLists* memory = nullptr);
/// The fields of the answer about an index expression.
void write_view_expr_answer(JsonWriter& json, const ViewExprQuestion& question, const ViewExprAnswer& answer,
                            NumberLists* memory = nullptr);
/// The fields for the members `why`, `facts` and `latex` of a request `view`.
void write_view_extras(const Request& request, const ViewQuestion& question, const ViewAnswer& answer, Work& work,
                       JsonWriter& json);
/// The fields of an index and its validity in LaTeX.
void write_latex(JsonWriter& json, const IndexExprs& exprs);
/// The fields of a row of the table of rules.
void write_rule(JsonWriter& json, const Rule& rule);
/// The title of the section of rules whose names begin with `letter`.
std::string_view rule_section(char letter);
/// The field `trace`: every rule that fired, with its two sides.
void write_trace(JsonWriter& json, std::span<const RewriteEvent> events);
/// "true", "false" or "unknown".
std::string_view answer_word(Answer answer);
/// The fields of the answer to `layout`. `table`: also the table of the layout's values, unless the layout is symbolic.
/// An answer that is a table itself always has it.
void write_layout_answer(JsonWriter& json, const LayoutAnswer& answer, Work& work, bool table = true,
                         NumberLists* memory = nullptr);

}  // namespace strata::tools
