// The source of an exported model: helpers, kernels, constants, and the functions of its header.

#include <algorithm>

#include "strata/base/check.h"
#include "strata/export/c_text.h"
#include "strata/export/model.h"

namespace strata::exporting {

using detail::message;

namespace {

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// `text` with the model's prefix in place of "strata_".
std::string with_prefix(std::string_view text, std::string_view prefix) {
  constexpr std::string_view mark = "strata_";
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t found = text.find(mark, at);
    out += text.substr(at, found - at);
    if (found == std::string_view::npos) return out;
    out += found > 0 && is_word_char(text[found - 1]) ? std::string(mark) : message(prefix, "_");
    at = found + mark.size();
  }
}

std::string opening(const Model& model) {
  const std::string& name = model.name;
  const auto has_vectors = [](const auto& code) { return !code->writer.types().empty(); };
  std::string out =
      message("#include \"", name, ".h\"\n\n#if defined(__FAST_MATH__)\n#error \"", name,
              ": -ffast-math changes what the functions compute\"\n#endif\n"
              "#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16\n#error \"",
              name, ": floats are computed in their own precision\"\n#endif\n");
  if (model.object)
    out += message("#if !(", model.object->condition(), ")\n#error \"", name, ": ", name, "_kernels.o is for ",
                   model.object->triple(), "\"\n#endif\n");
  if (model.options.deterministic)
    out += "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF /* no fma of a product and a sum */\n#endif\n";
  if (model.options.deterministic && has_vectors(model.codes.back()))
    out +=
        message("#if defined(__arm__) && defined(__ARM_NEON)\n#error \"", name,
                ": vectors of 32-bit ARM have no subnormal numbers: compile without NEON (-mfpu=vfpv3-d16), or export "
                "for the target plain\"\n#endif\n");
  if (std::any_of(model.codes.begin(), model.codes.end(), has_vectors))
    out +=
        "#if defined(__GNUC__)\n#pragma GCC diagnostic ignored \"-Wpedantic\" /* vectors are an extension */\n"
        "#pragma GCC diagnostic ignored \"-Wpsabi\"\n#endif\n";
  return out;
}

/// What the kernels of a target and their routines begin with.
std::string tools(const Model& model, const std::string& prefix) {
  std::string out = message("#if defined(__GNUC__)\n#define ", prefix,
                            "_noinline __attribute__((noinline))\n#else\n#define ", prefix, "_noinline\n#endif\n");
  out += message("#ifdef __cplusplus\n#define ", prefix, "_restrict\n#else\n#define ", prefix,
                 "_restrict restrict\n#endif\n\n");
  if (model.object)
    out += message("#ifdef __cplusplus\n#define ", prefix, "_extern extern \"C\"\n#else\n#define ", prefix,
                   "_extern extern\n#endif\n\n");
  return out +
         message("struct ", prefix, "_threads {\n  ", model.name, "_parallel_for *parallel_for;\n  void *user;\n};\n");
}

/// The functions that the routines call, each if its name occurs in `text`.
std::string common(const std::string& prefix, bool has_threads, std::string_view text) {
  std::string out;
  if (has_threads)
    out += message(
        "static void ", prefix, "_share(const struct ", prefix,
        "_threads *threads, int64_t n,\n"
        "    void (*body)(void *, int64_t, int64_t), void *arguments) {\n"
        "  if (threads->parallel_for != 0 && n > 1) { threads->parallel_for(threads->user, n, body, arguments); }\n"
        "  else { body(arguments, 0, n); }\n}\n");
  if (text.find(prefix + "_copy(") != std::string_view::npos)
    out +=
        message("static void ", prefix,
                "_copy(void *to, const void *from, size_t bytes) {\n  size_t k;\n"
                "  for (k = 0; k < bytes; ++k) { ((unsigned char *)to)[k] = ((const unsigned char *)from)[k]; }\n}\n");
  if (text.find(prefix + "_most(") != std::string_view::npos)
    out += message("static size_t ", prefix, "_most(size_t a, size_t b) { return a < b ? b : a; }\n");
  return out;
}

/// Whether `text` has `name`, and no digit behind it.
bool has_name(std::string_view text, const std::string& name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1))
    if (at + name.size() == text.size() || !is_word_char(text[at + name.size()])) return true;
  return false;
}

/// @param everywhere the text that is compiled for all processors
std::string constants(const Model& model, std::string_view everywhere) {
  if (model.is_pointer()) return {};
  std::string out;
  const auto& all = model.constants.all();
  for (std::size_t k = 0; k < all.size(); ++k) {
    const Constant& c = all[k];
    const auto count = c.bytes / static_cast<std::int64_t>(c.dtype.itemsize());
    if (count == 0) continue;
    const std::string array_name = message(model.name, "_c", k);
    const std::string array =
        c_array(message(model.upper_name, "_ALIGNAS(", kAlignment, ") "), array_name, c.dtype, c.data, count);
    const bool is_everywhere = !model.chooses() || has_name(everywhere, array_name);
    out += is_everywhere ? array : message("#if ", model.name, "_chooses\n", array, "#endif\n");
  }
  return out;
}

/// Whether the sizes are within their bounds, as a condition that they are not.
std::string out_of_bounds(const Model& model) {
  std::string out;
  for (const ModelSize& s : model.sizes)
    out += message(out.empty() ? "" : " || ", s.name, " < ", s.variable.min(), " || ", s.name, " > ", s.variable.max());
  return out;
}

std::string layout(const Model& model) {
  if (model.sizes.empty())
    return message("size_t ", model.name, "_arena_bytes(void) { return ", model.arena_bytes(), "; }\n");
  std::string parameters, arguments;
  for (const ModelSize& s : model.sizes) {
    parameters += message(", int64_t ", s.name);
    arguments += message(", ", s.name);
  }
  std::string out, bytes;
  std::size_t most = 0;
  for (const auto& code : model.codes) {
    out += message("/* Sets the offsets of the arena's blocks, and returns its bytes. */\nstatic size_t ", code->prefix,
                   "_layout(size_t *at", parameters, ") {\n  size_t end = 0;\n  (void)at;\n");
    for (const ModelSize& s : model.sizes) out += message("  (void)", s.name, ";\n");
    for (std::size_t k = 0; k < code->blocks.size(); ++k)
      out += message("  at[", k, "] = end;\n  end += (", code->blocks[k], " + ", kAlignment - 1, ") / ", kAlignment,
                     " * ", kAlignment, ";\n");
    out += "  return end;\n}\n";
    const std::string one = message(code->prefix, "_layout(at", arguments, ")");
    bytes = bytes.empty() ? one : message(model.name, "_most(", bytes, ", ", one, ")");
    most = std::max(most, code->blocks.size());
  }
  return out + message("size_t ", model.name, "_arena_bytes(", parameters.substr(2), ") {\n  size_t at[", most + 1,
                       "];\n  if (", out_of_bounds(model), ") { return 0; }\n  return ", bytes, ";\n}\n");
}

std::string status_text(const Model& model) {
  const std::string& up = model.upper_name;
  std::string out =
      message("const char *", model.name, "_status_text(", model.name, "_status status) {\n  switch (status) {\n");
  const auto row = [&](std::string_view code, std::string_view text) {
    out += message("    case ", up, "_", code, ": return \"", text, "\";\n");
  };
  row("OK", "no error");
  row("NULL_POINTER", "an argument is null");
  row("SIZE_OUT_OF_BOUNDS", "a size is outside of its bounds");
  row("MISALIGNED", "the address of an argument is no multiple of its alignment");
  row("ARENA_TOO_SMALL", "the arena has fewer bytes than the run needs");
  row("OTHER_WEIGHTS", "the weights are not those of the model");
  if (model.chooses()) row("OTHER_TARGET", "the target is not among those that the file was compiled for");
  return out + "  }\n  return \"an unknown status\";\n}\n";
}

std::string misaligned(std::string_view argument, const std::string& alignment) {
  return message("(uintptr_t)(const void *)", argument, " % ", alignment, " != 0");
}

/// The condition that the head of a file of weights is that of another one.
std::string other_head(const Model& model) {
  return message("((const uint64_t *)weights)[0] != ", kWeightsMark,
                 "u || ((const uint64_t *)weights)[2] != ", model.weights_checksum(), "u");
}

std::string reset(const Model& model) {
  if (model.state_bytes == 0) return {};
  const std::string &name = model.name, &up = model.upper_name;
  const std::string alignment = message(up, "_ALIGNMENT");
  const bool has_weights = model.reads_weights();
  std::string out = message(name, "_status ", name, "_reset(void *state", has_weights ? ", const void *weights" : "",
                            ") {\n  size_t k;\n  if (state == 0", has_weights ? " || weights == 0" : "", ") { return ",
                            up, "_NULL_POINTER; }\n  if (", misaligned("state", alignment));
  if (has_weights) out += message(" || ", misaligned("weights", alignment));
  out += message(") { return ", up, "_MISALIGNED; }\n");
  if (has_weights && model.is_file())
    out += message("  if (", other_head(model), ") { return ", up, "_OTHER_WEIGHTS; }\n");
  out += message("  for (k = 0; k < ", up, "_STATE_BYTES; ++k) { ((unsigned char *)state)[k] = 0; }\n");
  for (const ModelState& s : model.states)
    if (s.initial)
      out += message("  ", name, "_copy((unsigned char *)state + ", s.at, ", ", model.constant(*s.initial), ", ",
                     s.bytes, ");\n");
  return out + message("  return ", up, "_OK;\n}\n");
}

std::string check_weights(const Model& model) {
  if (!model.reads_weights()) return {};
  const std::string &name = model.name, &up = model.upper_name;
  std::string out = message(name, "_status ", name,
                            "_check_weights(const void *weights) {\n  uint64_t hash = 14695981039346656037u;\n"
                            "  size_t k;\n  if (weights == 0) { return ",
                            up, "_NULL_POINTER; }\n  if (", misaligned("weights", message(up, "_ALIGNMENT")),
                            ") { return ", up, "_MISALIGNED; }\n");
  if (model.is_file()) out += message("  if (", other_head(model), ") { return ", up, "_OTHER_WEIGHTS; }\n");
  return message(out, "  for (k = ", model.weights_begin(), "; k < ", up,
                 "_WEIGHTS_BYTES; ++k) {\n    hash = (hash ^ ((const unsigned char *)weights)[k]) * 1099511628211u;\n"
                 "  }\n  return hash == ",
                 model.weights_checksum(), "u ? ", up, "_OK : ", up, "_OTHER_WEIGHTS;\n}\n");
}

/// The checks of the arguments of a run.
std::string checks(const Model& model) {
  const std::string &name = model.name, &up = model.upper_name;
  const std::string alignment = message(up, "_ALIGNMENT");
  std::string out, null, wrong;
  const auto add = [](std::string& to, const std::string& text) { to += message(to.empty() ? "" : " || ", text); };
  for (const ModelTensor& t : model.tensors) {
    add(null, message(t.name, " == 0"));
    add(wrong, misaligned(t.name, message("sizeof(", c_type(t.dtype), ")")));
  }
  if (model.state_bytes > 0) add(null, "state == 0"), add(wrong, misaligned("state", alignment));
  if (model.reads_weights()) add(null, "weights == 0"), add(wrong, misaligned("weights", alignment));
  if (model.arena_bytes() > 0) add(null, "arena == 0"), add(wrong, misaligned("arena", alignment));
  if (!null.empty()) out += message("  if (", null, ") { return ", up, "_NULL_POINTER; }\n");
  if (!model.sizes.empty())
    out += message("  if (", out_of_bounds(model), ") { return ", up, "_SIZE_OUT_OF_BOUNDS; }\n");
  if (!wrong.empty()) out += message("  if (", wrong, ") { return ", up, "_MISALIGNED; }\n");
  if (model.reads_weights() && model.is_file())
    out += message("  if (", other_head(model), ") { return ", up, "_OTHER_WEIGHTS; }\n");
  std::string sizes;
  for (const ModelSize& s : model.sizes) sizes += message(sizes.empty() ? "" : ", ", s.name);
  if (!model.sizes.empty() && model.chooses())
    out += message("  if (arena_bytes < ", name, "_arena_bytes(", sizes, ")) { return ", up, "_ARENA_TOO_SMALL; }\n");
  else if (!model.sizes.empty())
    out += message("  needed = ", name, "_layout(at, ", sizes, ");\n  if (arena_bytes < needed) { return ", up,
                   "_ARENA_TOO_SMALL; }\n");
  else if (model.arena_bytes() > 0)
    out += message("  if (arena_bytes < ", up, "_ARENA_BYTES) { return ", up, "_ARENA_TOO_SMALL; }\n");
  if (model.arena_bytes() == 0) out += "  (void)arena;\n  (void)arena_bytes;\n";
  return out;
}

std::string run(const Model& model) {
  const std::string &name = model.name, &up = model.upper_name;
  const ModelCode& code = *model.codes[0];
  std::string out = message(name, "_status ", name, "_run(", parameters_of(model), ") {\n");
  if (model.arena_bytes() > 0) out += "  unsigned char *const base = (unsigned char *)arena;\n";
  if (code.has_threads) out += message("  struct ", name, "_threads threads;\n");
  if (!model.sizes.empty()) out += message("  size_t at[", code.blocks.size() + 1, "];\n  size_t needed;\n");
  out += checks(model);
  if (code.has_threads) out += "  threads.parallel_for = parallel_for;\n  threads.user = user;\n";
  if (!code.has_threads) out += "  (void)parallel_for;\n  (void)user;\n";
  return out + code.body + message("  return ", up, "_OK;\n}\n");
}

std::string kernels_of(const ModelCode& code) {
  std::string out;
  for (const std::string& type : code.writer.types()) out += message(type, "\n");
  for (const std::string& helper : code.writer.helpers()) out += message(helper, "\n");
  out += "\n";
  for (const std::string& f : code.writer.functions()) out += message(f, "\n");
  return out;
}

/// The files for several targets: the constants, the code of each target, and the functions of the header.
std::string source_that_chooses(const Model& model) {
  std::string codes, everywhere;
  for (const auto& code : model.codes) {
    const std::string text = message(kernels_of(*code), steps_of(model, *code));
    const std::string whole =
        message(tools(model, code->prefix), common(code->prefix, code->has_threads, text), "\n", text);
    codes += message(begin_of_target(model, *code), with_prefix(whole, code->prefix), end_of_target(*code), "\n");
    if (code->target.level == 0) everywhere = whole;
  }
  const std::string rest = message(status_text(model), "\n", arguments_of(model), "\n", reset(model),
                                   check_weights(model), choice_of(model, checks(model)));
  const std::string layouts = layout(model);
  return message("/* The code of ", model.name, ".h, written by Strata. */\n", opening(model), choice_opening(model),
                 common(model.name, false, message(layouts, codes, rest)), "\n", layouts, "\n",
                 constants(model, message(everywhere, rest)), "\n", codes, with_prefix(rest, model.name));
}

}  // namespace

std::string source_of(const Model& model) {
  if (model.chooses()) return source_that_chooses(model);
  const std::string kernels = kernels_of(*model.codes[0]);
  const std::string rest = message(layout(model), "\n", status_text(model), "\n", arguments_of(model), "\n",
                                   reset(model), check_weights(model), run(model));
  const std::string text = message(kernels, rest);
  return with_prefix(
      message("/* The code of ", model.name, ".h, written by Strata. */\n", opening(model), tools(model, model.name),
              common(model.name, model.has_threads(), text), "\n", kernels, constants(model, text), "\n", rest),
      model.name);
}

}  // namespace strata::exporting
