// The self test of an exported model: a program that runs the model on the arguments of the captured call, and compares
// the results with those of that call.

#include <algorithm>
#include <set>

#include "strata/base/check.h"
#include "strata/export/c_text.h"
#include "strata/export/model.h"
#include "strata/expr/evaluate.h"

namespace strata::exporting {

using detail::message;

namespace {

/// The elements of a tensor in the captured call.
std::int64_t count_of(const Model& model, const ModelTensor& t) {
  Values values;
  for (const ModelSize& s : model.sizes) values.emplace_back(s.variable, s.value);
  const Int count = product(t.shape);
  return count.is_number() ? count.value() : evaluate(count.expr(), values);
}

/// The function that compares elements of `dtype`, as a difference relative to the larger one; NaNs are equal.
std::string compare(std::string_view type, bool is_float) {
  std::string out = message("static double compare_", type, "(const ", type, " *a, const ", type,
                            " *b, size_t n) {\n"
                            "  double worst = 0;\n  size_t k;\n  for (k = 0; k < n; ++k) {\n"
                            "    const double x = (double)a[k], y = (double)b[k], d = x < y ? y - x : x - y;\n"
                            "    const double size = (x < 0 ? -x : x) + 1;\n");
  if (is_float)
    out += "    if (x != x || y != y) {\n      if (x == x || y == y) { return 1e30; }\n      continue;\n    }\n";
  return out +
         "    if (x == y) { continue; }\n    if (!(d / size <= worst)) { worst = d / size; }\n  }\n  return "
         "worst;\n}\n";
}

}  // namespace

std::string selftest_of(const Model& model) {
  const std::string &name = model.name, &up = model.upper_name;
  std::string out =
      message("/* Runs ", name, " as in the captured call, and compares. Written by Strata. */\n#include \"", name,
              ".h\"\n\n#include <stdio.h>\n\n");
  std::set<std::string> types;
  std::string calls, arguments, arrays;
  for (const ModelTensor& t : model.tensors) {
    const std::string type(c_type(t.dtype));
    const std::int64_t count = count_of(model, t);
    const bool is_known = t.value && count > 0;  // an argument that no kernel reads may have any elements
    STRATA_ASSERT(is_known || t.is_input || count == 0, "an output without elements");
    const std::string held = message(t.name, "_held");
    arrays += message("static ", type, " ", held, "[", std::max<std::int64_t>(t.most(), 1), "];\n");
    if (is_known) arrays += c_array("", message(t.name, "_known"), t.dtype, t.value->data(), count);
    if (t.is_input && is_known)
      calls += message("  for (k = 0; k < ", count, "; ++k) { ", held, "[k] = ((const ", type, " *)(const void *)",
                       t.name, "_known)[k]; }\n");
    arguments += message(held, ", ");
  }
  for (const ModelSize& s : model.sizes) arguments += message(s.value, ", ");
  if (model.state_bytes > 0) arguments += "state, ";
  if (model.reads_weights()) arguments += "weights, ";
  std::string checks;
  for (const ModelTensor& t : model.tensors) {
    if (t.is_input || count_of(model, t) == 0) continue;
    const std::string type(c_type(t.dtype));
    const bool is_float = t.dtype == dtypes::float32 || t.dtype == dtypes::float64;
    if (types.insert(type).second) out += compare(type, is_float);
    checks += message("  d = compare_", type, "(", t.name, "_held, (const ", type, " *)(const void *)", t.name,
                      "_known, ", count_of(model, t), ");\n  worst = d > worst ? d : worst;\n");
  }
  out += arrays;
  const auto memory = [&](std::string_view what, const std::string& bytes) {
    out += message(up, "_ALIGNAS(", up, "_ALIGNMENT) static unsigned char ", what, "[", bytes, "];\n");
  };
  memory("arena", message(up, "_ARENA_BYTES + 1"));
  if (model.state_bytes > 0) memory("state", message(up, "_STATE_BYTES"));
  if (model.reads_weights()) memory("weights", message(up, "_WEIGHTS_BYTES"));
  out += message("\nint main(", model.reads_weights() ? "int count, char **words" : "void",
                 ") {\n  double worst = 0, d;\n  size_t k;\n  ", name, "_status status = ", up, "_OK;\n");
  if (model.reads_weights())
    out += message("  FILE *const file = fopen(count > 1 ? words[1] : \"", name,
                   ".bin\", \"rb\");\n"
                   "  if (file == 0 || fread(weights, 1, sizeof weights, file) != sizeof weights) {\n"
                   "    fprintf(stderr, \"",
                   name,
                   ".bin cannot be read\\n\");\n    return 1;\n  }\n  fclose(file);\n"
                   "  status = ",
                   name, "_check_weights(weights);\n");
  // Each target that the processor has.
  if (model.chooses())
    out += message("  int target = (int)", name, "_best_target();\n  for (; target < ", up, "_TARGETS; ++target) {\n");
  if (model.state_bytes > 0)
    out += message("  if (status == ", up, "_OK) { status = ", name, "_reset(state",
                   model.reads_weights() ? ", weights" : "", "); }\n");
  out += message(
      "  k = 0;\n  (void)k;\n  d = 0;\n  (void)d;\n", calls, "  if (status == ", up, "_OK) {\n    status = ", name,
      model.chooses() ? message("_run_on((", name, "_target)target, ") : "_run(", arguments, "arena, ", up,
      "_ARENA_BYTES, 0, 0);\n  }\n  if (status != ", up, "_OK) {\n    fprintf(stderr, \"", name, ": %s\\n\", ", name,
      "_status_text(status));\n    return 1;\n  }\n", checks, model.chooses() ? "  }\n" : "", "  printf(\"", name,
      ": worst difference %g\\n\", worst);\n  return worst <= ", model.options.deterministic ? "0" : "1e-3",
      " ? 0 : 1;\n}\n");
  return out;
}

}  // namespace strata::exporting
