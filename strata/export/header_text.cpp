// The header of an exported model: sizes, status codes, and the functions with their parameters.

#include "strata/base/check.h"
#include "strata/base/version.h"
#include "strata/export/c_text.h"
#include "strata/export/model.h"

namespace strata::exporting {

using detail::message;

namespace {

std::string shape_text(const Ints& shape) {
  std::string out = "[";
  for (std::size_t k = 0; k < shape.size(); ++k) out += message(k == 0 ? "" : ", ", shape[k].render());
  return out + "]";
}

/// The lines that tell what a tensor is.
std::string described(const Model& model) {
  std::string out;
  for (const ModelTensor& t : model.tensors)
    out += message(" *   ", t.name, "  ", t.dtype.name(), " ", shape_text(t.shape), ", ",
                   !t.is_input    ? "written"
                   : t.is_written ? "read and written"
                                  : "read",
                   "\n");
  for (const ModelSize& s : model.sizes)
    out += message(" *   ", s.name, "  a size from ", s.variable.min(), " to ", s.variable.max(), "\n");
  for (const ModelState& s : model.states)
    out += message(" *   state + ", s.at, "  ", s.name, ", ", s.dtype.name(), " ", shape_text(s.shape), "\n");
  return out;
}

std::string macros(const Model& model) {
  const std::string& up = model.upper_name;
  std::string out =
      message("/* Bytes: of what the address of an arena, a state and weights is a multiple of. */\n#define ", up,
              "_ALIGNMENT ", kAlignment, "\n/* Bytes of an arena", model.sizes.empty() ? "" : " for the largest sizes",
              ". */\n#define ", up, "_ARENA_BYTES ", model.arena_bytes(), "\n");
  if (model.state_bytes > 0) out += message("#define ", up, "_STATE_BYTES ", model.state_bytes, "\n");
  out += message(
      "/* Bytes of stack, estimated from above, without what a callback does: as gcc -O2 compiles the file for\n"
      " * x86-64. -fstack-usage tells those of another compiler.",
      model.object ? message(" Kernels: as they are in ", model.name, "_kernels.o,\n * without the compiler's runtime.")
                   : std::string(),
      " */\n#define ", up, "_STACK_BYTES ", model.stack_bytes(), "\n");
  for (const ModelState& s : model.states)
    out += message("#define ", up, "_", upper(s.name), "_OFFSET ", s.at, "\n#define ", up, "_", upper(s.name),
                   "_BYTES ", s.bytes, "\n");
  if (model.reads_weights()) {
    out += message("#define ", up, "_WEIGHTS_BYTES ", model.weights_begin() + model.constants.bytes(), "\n");
  }
  out += message("/* Elements of each tensor", model.sizes.empty() ? "" : ", for the largest sizes", ". */\n");
  for (const ModelTensor& t : model.tensors)
    out += message("#define ", up, "_", upper(t.name), "_ELEMENTS ", t.most(), "\n");
  for (const ModelSize& s : model.sizes)
    out += message("#define ", up, "_", upper(s.name), "_MIN ", s.variable.min(), "\n#define ", up, "_", upper(s.name),
                   "_MAX ", s.variable.max(), "\n");
  return out;
}

std::string size_parameters(const Model& model) {
  std::string out;
  for (const ModelSize& s : model.sizes) out += message(out.empty() ? "" : ", ", "int64_t ", s.name);
  return out.empty() ? "void" : out;
}

}  // namespace

std::string parameters_of(const Model& model) {
  std::string out;
  const auto add = [&](const std::string& text) { out += message(out.empty() ? "" : ",", "\n    ", text); };
  for (const ModelTensor& t : model.tensors) add(message(t.is_written ? "" : "const ", c_type(t.dtype), " *", t.name));
  for (const ModelSize& s : model.sizes) add(message("int64_t ", s.name));
  if (model.state_bytes > 0) add("void *state");
  if (model.reads_weights()) add("const void *weights");
  add("void *arena");
  add("size_t arena_bytes");
  add(message(model.name, "_parallel_for *parallel_for"));
  add("void *user");
  return out;
}

std::string arguments_of(const Model& model) {
  std::string out =
      message("const ", model.name, "_argument ", model.name, "_arguments[", model.upper_name, "_ARGUMENTS] = {\n");
  const auto row = [&](std::string_view name, std::string_view kind, std::string_view dtype, const std::string& shape,
                       std::int64_t most, std::int64_t least) {
    out += message("  {\"", name, "\", \"", kind, "\", \"", dtype, "\", \"", shape, "\", ", most, ", ", least, "},\n");
  };
  for (const ModelTensor& t : model.tensors)
    row(t.name, !t.is_input ? "out" : t.is_written ? "in out" : "in", t.dtype.name(), shape_text(t.shape), t.most(), 0);
  for (const ModelSize& s : model.sizes) row(s.name, "size", "i64", "[]", s.variable.max(), s.variable.min());
  for (const ModelState& s : model.states)
    row(s.name, "state", s.dtype.name(), shape_text(s.shape), s.bytes / static_cast<std::int64_t>(s.dtype.itemsize()),
        s.at);
  return out + "};\n";
}

std::string header_of(const Model& model) {
  const std::string &name = model.name, &up = model.upper_name;
  std::string out = message(
      "/* ", name, ": a function of tensors, written by Strata ", STRATA_VERSION, " for the target",
      model.chooses() ? "s " : " ", model.options.target, model.options.deterministic ? ", deterministic" : "",
      model.object ? message(",\n * with kernels in ", name, "_kernels.o for ", model.object->triple()) : std::string(),
      ".\n *\n", described(model),
      " *\n * Tensors lie in memory in rows, the last index first. f16 and bf16 are their bits. No two arguments\n"
      " * overlap. */\n");
  out += message("#ifndef ", up, "_H\n#define ", up,
                 "_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\n#define ", up,
                 "_ALIGNAS(bytes) alignas(bytes)\nextern \"C\" {\n#else\n#define ", up,
                 "_ALIGNAS(bytes) _Alignas(bytes)\n#endif\n\n", macros(model), "\n");
  out += message("typedef enum ", name, "_status {\n  ", up, "_OK = 0,\n  ", up, "_NULL_POINTER = 1,\n  ", up,
                 "_SIZE_OUT_OF_BOUNDS = 2,\n  ", up, "_MISALIGNED = 3,\n  ", up, "_ARENA_TOO_SMALL = 4,\n  ", up,
                 "_OTHER_WEIGHTS = 5", model.chooses() ? message(",\n  ", up, "_OTHER_TARGET = 6") : std::string(),
                 "\n} ", name, "_status;\n/* The meaning of a status, for people. */\nconst char *", name,
                 "_status_text(", name, "_status status);\n\n");
  out += message("/* Bytes of the arena that ", name, "_run() needs",
                 model.sizes.empty() ? "" : "; 0 for sizes out of bounds", ". */\nsize_t ", name, "_arena_bytes(",
                 size_parameters(model), ");\n\n");
  const std::string weights = model.reads_weights() ? ", const void *weights" : "";
  if (model.state_bytes > 0)
    out += message("/* Sets the state to that of the export. A copy of the bytes saves it. */\n", name, "_status ",
                   name, "_reset(void *state", weights, ");\n\n");
  if (model.reads_weights())
    out += message("/* Whether `weights`, ", up, "_WEIGHTS_BYTES bytes, are those of ", name, ".bin: ", up, "_OK or ",
                   up, "_OTHER_WEIGHTS. */\n", name, "_status ", name, "_check_weights(const void *weights);\n\n");
  out += message(
      "/* Calls body(arguments, begin, end) for parts that make up [0, n), on any threads, and returns when all have\n"
      " * returned. `user` is that of ",
      name, "_run(). */\ntypedef void ", name,
      "_parallel_for(void *user, int64_t n, void (*body)(void *arguments, int64_t begin, int64_t end),\n"
      "    void *arguments);\n\n");
  out += message(
      "/* What the model takes: kind is \"in\", \"out\", \"in out\", \"size\" or \"state\". `most`: elements, or the "
      "largest\n * size. `least`: the smallest size, or the offset in the state. */\ntypedef struct ",
      name, "_argument {\n  const char *name, *kind, *dtype, *shape;\n  int64_t most, least;\n} ", name,
      "_argument;\n#define ", up, "_ARGUMENTS ", model.tensors.size() + model.sizes.size() + model.states.size(),
      "\nextern const ", name, "_argument ", name, "_arguments[", up, "_ARGUMENTS];\n\n");
  out += message(
      "/* Runs the function. All arguments are checked before anything is written. `parallel_for` may be null: then\n"
      " * the calling thread does all. Threads may call it at once, each with an arena",
      model.state_bytes > 0 ? " and a state" : "", " of its own. */\n", name, "_status ", name, "_run(",
      parameters_of(model), ");\n\n");
  if (model.chooses()) out += choice_header(model);
  return out + "#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

}  // namespace strata::exporting
