#include "strata/export/export_c.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "strata/base/check.h"
#include "strata/export/model.h"

namespace strata {

Jit& detail::called(Jit* function) {
  STRATA_CHECK(function != nullptr, domain, "[export] the function was never called: call it twice first");
  return *function;
}

namespace {

/// What a C file needs.
void state_code(const exporting::Model& model, const ExportOptions& options, ExportedModel& out) {
  out.header = exporting::header_of(model);
  out.source = exporting::source_of(model);
  out.arena_bytes = model.arena_bytes();
  for (const auto& code : model.codes) out.kernels += code->writer.kernels();
  out.stack_bytes = model.stack_bytes();
  if (model.object) out.object = model.object->object().bytes, out.code_bytes = model.object->object().loaded_bytes;
  out.steps = model.largest().steps;
  out.arena = model.largest().arena;
  if (options.selftest) out.test = exporting::selftest_of(model);
  if (options.cpp) out.wrapper = exporting::wrapper_of(model);
}

/// What kernels for devices need.
void state_table(const exporting::Model& model, ExportedModel& out) {
  out.table = model.table.text;
  out.kernel_files = model.table.files;
  out.arena_bytes = model.table.temporary_bytes;
  out.kernels = model.table.functions;
  out.steps = model.table.steps;
  out.arena = model.table.temporaries;
}

}  // namespace

ExportedModel exported_c(Jit& function, const std::string& name, const ExportOptions& options) {
  const exporting::Model model(function.captured(options.selftest), name, options);
  ExportedModel out;
  out.name = name;
  out.state_bytes = model.state_bytes;
  out.constant_bytes = model.constants.bytes();
  out.operations = model.cost.operations;
  out.moved_bytes = model.cost.bytes;
  if (model.is_table())
    state_table(model, out);
  else
    state_code(model, options, out);
  for (const exporting::ModelState& s : model.states) out.state.push_back({s.name, s.bytes, s.at});
  const std::vector<exporting::Constant>& constants = model.constants.all();
  for (std::size_t k = 0; k < constants.size(); ++k)
    out.constants.push_back(
        {detail::message("c", k, ", ", constants[k].dtype.name()), constants[k].bytes, constants[k].at});
  exporting::check_limits(out, options);
  if (model.reads_weights()) out.weights = model.weights();
  return out;
}

std::vector<std::string> files_of(const ExportedModel& model) {
  std::vector<std::string> out;
  const auto add = [&](const auto& content, std::string_view ending) {
    if (!content.empty()) out.push_back(model.name + std::string(ending));
  };
  add(model.header, ".h"), add(model.source, ".c"), add(model.test, "_test.c"), add(model.wrapper, ".hpp");
  add(model.object, "_kernels.o"), add(model.table, ".json");
  for (const auto& [file, text] : model.kernel_files) out.push_back(file);
  add(model.weights, ".bin");
  return out;
}

ExportedModel export_c(Jit& function, const std::filesystem::path& path, const ExportOptions& options) {
  ExportedModel out = exported_c(function, path.filename().string(), options);
  const auto write = [&](const std::string& name, const void* data, std::size_t bytes) {
    const std::string file = (path.parent_path() / name).string();
    std::ofstream to(file, std::ios::binary);
    to.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    to.close();
    STRATA_CHECK(to, budget, "[export] ", file, " cannot be written");
  };
  const auto write_text = [&](std::string_view ending, const std::string& text) {
    if (!text.empty()) write(out.name + std::string(ending), text.data(), text.size());
  };
  write_text(".h", out.header);
  write_text(".c", out.source);
  write_text("_kernels.o", out.object);
  write_text("_test.c", out.test);
  write_text(".hpp", out.wrapper);
  write_text(".json", out.table);
  for (const auto& [name, text] : out.kernel_files) write(name, text.data(), text.size());
  if (!out.weights.empty()) write(out.name + ".bin", out.weights.data(), out.weights.size());
  return out;
}

}  // namespace strata
