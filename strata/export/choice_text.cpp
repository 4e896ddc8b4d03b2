// Files with several targets: the code of each, and the choice among them when the model runs.
//
// The code of a target stands between pragmas that let the compiler use its instructions, so the file is compiled
// without options for a processor. What a processor has, cpuid says, which takes microseconds in a virtual machine;
// nothing in the file may keep the answer, so the caller may, and gives it to NAME_run_on().

#include "strata/base/check.h"
#include "strata/export/c_text.h"
#include "strata/export/model.h"

namespace strata::exporting {

using detail::message;

namespace {

std::string target_name(const Model& model, const ModelCode& code) {
  return message(model.upper_name, "_TARGET_", upper(code.target.word));
}

/// The arguments of a run, without the bytes of the arena for the function of a target.
std::string arguments(const Model& model, bool has_arena_bytes) {
  std::string out;
  for (const ModelTensor& t : model.tensors) out += message(t.name, ", ");
  for (const ModelSize& s : model.sizes) out += message(s.name, ", ");
  if (model.state_bytes > 0) out += "state, ";
  if (model.reads_weights()) out += "weights, ";
  return message(out, has_arena_bytes ? "arena, arena_bytes" : "arena", ", parallel_for, user");
}

/// A number of 32 bits in C.
std::string hexadecimal(std::uint32_t bits) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) out += digits[bits >> shift & 15U];
  return out + "u";
}

std::string has_bits(std::string_view text, std::uint32_t bits) {
  return message("(", text, " & ", hexadecimal(bits), ") == ", hexadecimal(bits));
}

std::string best_target(const Model& model) {
  const std::string& name = model.name;
  std::string out = message("#if ", name, "_chooses\nstatic void ", name,
                            "_cpuid(uint32_t leaf, uint32_t *r) {\n  __asm__ __volatile__(\"cpuid\" : \"=a\"(r[0]), "
                            "\"=b\"(r[1]), \"=c\"(r[2]), \"=d\"(r[3]) : \"a\"(leaf), \"c\"(0));\n}\n#endif\n");
  out += message(name, "_target ", name, "_best_target(void) {\n#if ", name,
                 "_chooses\n  uint32_t r[4], saved, high;\n  ", name, "_cpuid(0, r);\n  if (r[0] >= 7) {\n    ", name,
                 "_cpuid(1, r);\n    if (", has_bits("r[2]", kLeaf1),
                 ") {\n      /* The registers that the system saves. */\n      __asm__ __volatile__(\"xgetbv\" : "
                 "\"=a\"(saved), \"=d\"(high) : \"c\"(0));\n      (void)high;\n      ",
                 name, "_cpuid(7, r);\n");
  for (const auto& code : model.codes)
    if (code->target.level > 0)
      out += message("      if (", has_bits("r[1]", code->target.leaf7), " && ", has_bits("saved", code->target.saved),
                     ") { return ", target_name(model, *code), "; }\n");
  return out + message("    }\n  }\n#endif\n  return ", target_name(model, *model.codes.back()), ";\n}\n");
}

}  // namespace

std::string choice_opening(const Model& model) {
  return message(
      "/* Whether there is a choice among targets. */\n#if defined(__x86_64__) && defined(__GNUC__) && "
      "!defined(__TINYC__)\n#define ",
      model.name, "_chooses 1\n#else\n#define ", model.name, "_chooses 0\n#endif\n\n");
}

std::string begin_of_target(const Model& model, const ModelCode& code) {
  std::string out = message("/* For ", code.target.word, ". */\n");
  if (code.target.level == 0) return out;
  // Without instructions for it, no compiler makes an fma of a product and a sum. Those of avx512f are always there:
  // gcc, which ignores FP_CONTRACT, is told by an option, because the file needs none otherwise.
  const std::string features = model.options.deterministic ? std::string(code.target.features)
                                                           : message(code.target.features, ",", code.target.fma);
  const std::string has_avx512 = code.target.level > 1 ? message("#define ", code.prefix, "_has_avx512\n") : "";
  return out + message("#if ", model.name, "_chooses\n#define ", code.prefix, "_has_avx2\n", has_avx512,
                       "#if defined(__clang__)\n#pragma clang attribute push(__attribute__((target(\"", features,
                       "\"))), apply_to = function)\n#else\n#pragma GCC push_options\n#pragma GCC target(\"", features,
                       "\")\n", model.options.deterministic ? "#pragma GCC optimize(\"fp-contract=off\")\n" : "",
                       "#endif\n");
}

std::string end_of_target(const ModelCode& code) {
  if (code.target.level == 0) return {};
  return "#if defined(__clang__)\n#pragma clang attribute pop\n#else\n#pragma GCC pop_options\n#endif\n#endif\n";
}

std::string steps_of(const Model& model, const ModelCode& code) {
  std::string parameters, out;
  const auto add = [&](const std::string& type, const std::string& name) {
    parameters += message(parameters.empty() ? "" : ",", "\n    ", type, name);
    out += message("  (void)", name, ";\n");
  };
  for (const ModelTensor& t : model.tensors) add(message(t.is_written ? "" : "const ", c_type(t.dtype), " *"), t.name);
  for (const ModelSize& s : model.sizes) add("int64_t ", s.name);
  if (model.state_bytes > 0) add("void *", "state");
  if (model.reads_weights()) add("const void *", "weights");
  add("void *", "arena");
  add(message(model.name, "_parallel_for *"), "parallel_for");
  add("void *", "user");
  std::string begin = message("static void ", code.prefix, "_steps(", parameters, ") {\n");
  if (code.arena_bytes > 0) begin += "  unsigned char *const base = (unsigned char *)arena;\n";
  if (code.has_threads) begin += message("  struct ", code.prefix, "_threads threads;\n");
  if (!model.sizes.empty()) {
    begin += message("  size_t at[", code.blocks.size() + 1, "];\n");
    out += message("  (void)", code.prefix, "_layout(at");
    for (const ModelSize& s : model.sizes) out += message(", ", s.name);
    out += ");\n";
  }
  if (code.has_threads) out += "  threads.parallel_for = parallel_for;\n  threads.user = user;\n";
  return message(begin, out, code.body, "}\n");
}

std::string choice_of(const Model& model, const std::string& checks) {
  const std::string &name = model.name, &up = model.upper_name;
  std::string out = message(best_target(model), name, "_status ", name, "_run_on(\n    ", name, "_target target,",
                            parameters_of(model), ") {\n", checks, "  switch (target) {\n");
  const auto row = [&](const ModelCode& code) {
    out += message("    case ", target_name(model, code), ":\n      ", code.prefix, "_steps(", arguments(model, false),
                   ");\n      return ", up, "_OK;\n");
  };
  out += message("#if ", name, "_chooses\n");
  for (std::size_t k = 0; k + 1 < model.codes.size(); ++k) row(*model.codes[k]);
  out += "#endif\n";
  row(*model.codes.back());
  out += message("    default: return ", up, "_OTHER_TARGET;\n  }\n}\n");
  return out + message(name, "_status ", name, "_run(", parameters_of(model), ") {\n  return ", name, "_run_on(", name,
                       "_best_target(), ", arguments(model, true), ");\n}\n");
}

std::string choice_header(const Model& model) {
  const std::string &name = model.name, &up = model.upper_name;
  std::string out = message(
      "/* What the kernels are compiled for. A processor that has a target has all behind it. */\n"
      "typedef enum ",
      name, "_target {");
  for (std::size_t k = 0; k < model.codes.size(); ++k)
    out += message(k == 0 ? "\n  " : ",\n  ", target_name(model, *model.codes[k]), " = ", k);
  return out + message("\n} ", name, "_target;\n#define ", up, "_TARGETS ", model.codes.size(),
                       "\n/* The first target that the processor has, if the compiler was gcc or clang; else the last. "
                       "It asks the\n * processor, which takes many microseconds in some virtual machines: keep the "
                       "answer. */\n",
                       name, "_target ", name, "_best_target(void);\n/* As ", name,
                       "_run(), for a target that the processor has: the best one, or one behind it. */\n", name,
                       "_status ", name, "_run_on(\n    ", name, "_target target,", parameters_of(model), ");\n\n");
}

}  // namespace strata::exporting
