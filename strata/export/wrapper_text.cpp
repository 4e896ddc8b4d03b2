// The C++ header of an exported model, NAME.hpp: a class that owns the arena and the state, and takes spans.

#include <algorithm>

#include "strata/base/check.h"
#include "strata/export/c_text.h"
#include "strata/export/model.h"

namespace strata::exporting {

using detail::message;

namespace {

/// `text` with the model's prefix in place of `$`: no argument has such a name, unless it ends in `_`.
std::string with_names(std::string_view text, std::string_view name) {
  std::string out;
  for (const char c : text) out += c == '$' ? message(name, "_") : std::string(1, c);
  return out;
}

std::string element_of(const ModelTensor& t) { return message(t.is_written ? "" : "const ", c_type(t.dtype)); }

/// Whether the number of elements depends on sizes.
bool is_symbolic(const ModelTensor& t) { return !product(t.shape).is_number(); }

std::string span_of(const ModelTensor& t) {
  const std::string count = is_symbolic(t) ? "" : message(", ", t.most());
  return message("std::span<", element_of(t), count, ">");
}

/// The parameters of run(), which are the tensors, the sizes and the callback, one a line.
std::string taken_by_run(const Model& model) {
  std::string out = "\n      ";
  for (const ModelTensor& t : model.tensors) out += message(span_of(t), " ", t.name, ",\n      ");
  for (const ModelSize& s : model.sizes) out += message("std::int64_t ", s.name, ",\n      ");
  return out + message(model.name, "_parallel_for* parallel_for = nullptr,\n      void* user = nullptr");
}

/// The conditions under which spans do not have the elements that the sizes say, as statements.
std::string checks_of(const Model& model) {
  std::string out;
  for (const ModelSize& s : model.sizes)
    out += message("    if (", s.name, " < ", s.variable.min(), " || ", s.name, " > ", s.variable.max(), ") return ",
                   model.upper_name, "_SIZE_OUT_OF_BOUNDS;\n");
  for (const ModelTensor& t : model.tensors)
    if (is_symbolic(t))
      out += message("    if (", t.name, ".size() != static_cast<std::size_t>(", model.size(product(t.shape)),
                     ")) return ", model.upper_name, "_SIZE_OUT_OF_BOUNDS;\n");
  return out;
}

std::string call_of_run(const Model& model) {
  std::string out;
  for (const ModelTensor& t : model.tensors)
    out +=
        message(is_symbolic(t) || t.most() == 0 ? message("address(", t.name, ".data())") : t.name + ".data()", ", ");
  for (const ModelSize& s : model.sizes) out += message(s.name, ", ");
  if (model.state_bytes > 0) out += "this->$memory->state, ";
  if (model.reads_weights()) out += "this->$weights, ";
  return message(model.name, model.chooses() ? "_run_on(this->$chosen, " : "_run(", out,
                 "this->$memory->arena, sizeof this->$memory->arena, parallel_for, user)");
}

/// The functions that make an mdspan of a span.
std::string views_of(const Model& model) {
  std::string out = "#ifdef __cpp_lib_mdspan\n  // Elements by their indices.\n";
  for (const ModelTensor& t : model.tensors) {
    std::string extents, values, parameters;
    for (const Int& n : t.shape) {
      extents += n.is_number() ? message(", ", n.value()) : std::string(", std::dynamic_extent");
      if (!n.is_number())
        values += message(values.empty() ? "" : ", ", "static_cast<std::size_t>(", model.size(n), ")");
    }
    if (!values.empty())
      for (const ModelSize& s : model.sizes) parameters += message(", [[maybe_unused]] std::int64_t ", s.name);
    const std::string type = message("std::mdspan<", element_of(t), ", std::extents<std::size_t", extents, ">>");
    out += message("  static ", type, " view_", t.name, "(", span_of(t), " ", t.name, parameters, ") {\n    return ",
                   type, "(", t.name, ".data()", values.empty() ? "" : ", ", values, ");\n  }\n");
  }
  return out + "#endif\n";
}

std::string storage_of(const Model& model) {
  const std::string &name = model.name, &up = model.upper_name;
  std::string out = message("/// The memory of a model: static, or in whatever the caller has.\nstruct ", name,
                            "_storage {\n  alignas(", up, "_ALIGNMENT) unsigned char arena[",
                            model.arena_bytes() > 0 ? message(up, "_ARENA_BYTES") : "1", "];\n");
  if (model.state_bytes > 0)
    out += message("  alignas(", up, "_ALIGNMENT) unsigned char state[", up, "_STATE_BYTES];\n");
  return out + "};\n\n";
}

std::string error_of(const Model& model) {
  const std::string& name = model.name;
  return message("#ifdef __cpp_exceptions\n/// What run() throws.\nclass ", name,
                 "_error : public std::runtime_error {\n public:\n  explicit ", name, "_error(", name,
                 "_status status) : std::runtime_error(", name, "_status_text(status)), status_(status) {}\n  ", name,
                 "_status status() const noexcept { return status_; }\n\n private:\n  ", name,
                 "_status status_;\n};\n#endif\n\n");
}

std::string constructors_of(const Model& model) {
  const std::string &name = model.name, &up = model.upper_name;
  const bool has_weights = model.reads_weights();
  const std::string weights = message("std::span<const std::byte> weights");
  std::string out = message("  /// Allocates its memory.",
                            has_weights ? message(" `weights`: those of ", name, ".bin, which stay.") : "", "\n  ",
                            has_weights ? "explicit " : "", name, "_model(", has_weights ? weights : "",
                            ")\n      : $owned(std::make_unique<", name, "_storage>()), $memory($owned.get()) {\n    ",
                            has_weights ? "take(weights);" : "static_cast<void>(reset());", "\n  }\n");
  out += message("  /// Uses memory of the caller's, which stays: no other model has it.\n  explicit ", name, "_model(",
                 name, "_storage& storage", has_weights ? message(", ", weights) : "",
                 ") noexcept : $memory(&storage) {\n    ",
                 has_weights ? "take(weights);" : "static_cast<void>(reset());", "\n  }\n");
  out += message(
      "  /// What was moved from has no memory: try_run() says ", up, "_NULL_POINTER.\n  ", name, "_model(", name,
      "_model&& other) noexcept { *this = std::move(other); }\n  ", name, "_model& operator=(", name,
      "_model&& other) noexcept {\n    if (this == &other) return *this;\n    $owned = std::move(other.$owned);\n"
      "    $memory = std::exchange(other.$memory, nullptr);\n");
  if (model.chooses()) out += "    $chosen = other.$chosen;\n";
  if (has_weights) out += "    $weights = other.$weights;\n    $checked = other.$checked;\n";
  return out + message("    return *this;\n  }\n  ", name, "_model(const ", name, "_model&) = delete;\n  ", name,
                       "_model& operator=(const ", name, "_model&) = delete;\n  ~", name, "_model() = default;\n\n");
}

std::string state_functions(const Model& model) {
  const std::string &name = model.name, &up = model.upper_name;
  const std::string weights = model.reads_weights() ? ", $weights" : "";
  std::string out = message("  /// Sets the state to that of the export. A model without a state stays.\n  ", name,
                            "_status reset() noexcept {\n    if ($memory == nullptr) return ", up, "_NULL_POINTER;\n");
  if (model.reads_weights()) out += message("    if ($checked != ", up, "_OK) return $checked;\n");
  out += model.state_bytes > 0 ? message("    return ", name, "_reset($memory->state", weights, ");\n  }\n")
                               : message("    return ", up, "_OK;\n  }\n");
  if (model.state_bytes == 0) return out;
  return out + message(
                   "  /// The bytes of the state, to be saved. Not of a model that was moved from.\n  "
                   "std::span<unsigned char, ",
                   up, "_STATE_BYTES> state() noexcept { return $memory->state; }\n");
}

}  // namespace

std::string wrapper_of(const Model& model) {
  const std::string &name = model.name, &up = model.upper_name;
  std::string names;
  for (const ModelTensor& t : model.tensors) names += message(t.name, ", ");
  for (const ModelSize& s : model.sizes) names += message(s.name, ", ");
  std::string out =
      message("// ", name, ".h for C++20, written by Strata. ", name, "_model owns an arena",
              model.state_bytes > 0 ? " and a state" : "", "; spans have the elements of their tensors.\n#ifndef ", up,
              "_HPP\n#define ", up, "_HPP\n\n#include \"", name,
              ".h\"\n\n#include <cstddef>\n#include <cstdint>\n#include <memory>\n#include <span>\n#include "
              "<type_traits>\n#include <utility>\n#include "
              "<version>\n#ifdef __cpp_exceptions\n#include <stdexcept>\n#endif\n#ifdef __cpp_lib_mdspan\n#include "
              "<mdspan>\n#endif\n\n");
  out += message(storage_of(model), error_of(model), "class ", name, "_model {\n public:\n", constructors_of(model));
  out += message("  /// Runs the model.",
                 model.sizes.empty() ? "" : " Spans of other lengths than the sizes say are refused as sizes.",
                 " One thread at a time.\n  [[nodiscard]] ", name, "_status try_run(", taken_by_run(model),
                 ") noexcept {\n    if (this->$memory == nullptr) return ", up, "_NULL_POINTER;\n");
  if (model.reads_weights()) out += message("    if (this->$checked != ", up, "_OK) return this->$checked;\n");
  out += message(checks_of(model), "    return ", call_of_run(model), ";\n  }\n");
  out += message("#ifdef __cpp_exceptions\n  /// As try_run(). @throws ", name, "_error for any status but ", up,
                 "_OK\n  void run(", taken_by_run(model), ") {\n    if (const ", name,
                 "_status $failure = this->try_run(", names, "parallel_for, user); $failure != ", up, "_OK) throw ",
                 name, "_error($failure);\n  }\n#endif\n\n");
  out += message(state_functions(model), views_of(model), "\n private:\n");
  const bool has_empty = std::any_of(model.tensors.begin(), model.tensors.end(),
                                     [](const ModelTensor& t) { return is_symbolic(t) || t.most() == 0; });
  if (has_empty)
    out +=
        "  /// A span without elements may have no address, where C takes one.\n  template <class T>\n  static T* "
        "address(T* data) "
        "noexcept {\n    static std::remove_const_t<T> none{};\n    return data == nullptr ? &none : data;\n  }\n";
  if (model.reads_weights())
    out += message("  void take(std::span<const std::byte> weights) noexcept {\n    if (weights.size() < ", up,
                   "_WEIGHTS_BYTES) {\n"
                   "      $checked = ",
                   up, "_OTHER_WEIGHTS;\n      return;\n    }\n    $weights = weights.data();\n    $checked = ", name,
                   "_check_weights($weights);\n    static_cast<void>(reset());\n  }\n");
  out += message("\n  std::unique_ptr<", name, "_storage> $owned;\n  ", name, "_storage* $memory = nullptr;\n");
  if (model.reads_weights())
    out += message("  const void* $weights = nullptr;\n  ", name, "_status $checked = ", up, "_OK;\n");
  if (model.chooses()) out += message("  ", name, "_target $chosen = ", name, "_best_target();\n");
  return with_names(out + "};\n\n#endif\n", name);
}

}  // namespace strata::exporting
