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

ExportedModel exported_c(Jit& function, const std::string& name, const ExportOptions& options) {
  const exporting::Model model(function.captured(options.selftest), name, options);
  ExportedModel out{name, exporting::header_of(model), exporting::source_of(model), {},
                    {},   model.arena_bytes(),         model.state_bytes,           model.constants.bytes()};
  for (const auto& code : model.codes) out.kernels += code->writer.kernels();
  out.stack_bytes = model.stack_bytes();
  out.operations = model.cost.operations;
  out.moved_bytes = model.cost.bytes;
  out.steps = model.largest().steps;
  out.arena = model.largest().arena;
  for (const exporting::ModelState& s : model.states) out.state.push_back({s.name, s.bytes, s.at});
  const std::vector<exporting::Constant>& constants = model.constants.all();
  for (std::size_t k = 0; k < constants.size(); ++k)
    out.constants.push_back(
        {detail::message("c", k, ", ", constants[k].dtype.name()), constants[k].bytes, constants[k].at});
  exporting::check_limits(out, options);
  if (options.selftest) out.test = exporting::selftest_of(model);
  if (options.cpp) out.wrapper = exporting::wrapper_of(model);
  if (model.reads_weights()) out.weights = model.weights();
  return out;
}

ExportedModel export_c(Jit& function, const std::filesystem::path& path, const ExportOptions& options) {
  ExportedModel out = exported_c(function, path.filename().string(), options);
  const auto write = [&](std::string_view ending, const void* data, std::size_t bytes) {
    const std::string file = path.string() + std::string(ending);
    std::ofstream to(file, std::ios::binary);
    to.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    to.close();
    STRATA_CHECK(to, budget, "[export] ", file, " cannot be written");
  };
  write(".h", out.header.data(), out.header.size());
  write(".c", out.source.data(), out.source.size());
  if (!out.test.empty()) write("_test.c", out.test.data(), out.test.size());
  if (!out.wrapper.empty()) write(".hpp", out.wrapper.data(), out.wrapper.size());
  if (!out.weights.empty()) write(".bin", out.weights.data(), out.weights.size());
  return out;
}

}  // namespace strata
