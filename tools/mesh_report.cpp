#include "tools/mesh_report.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string_view>

#include "strata/base/check.h"
#include "strata/mesh/mpi_library.h"
#include "strata/mesh/world.h"
#include "strata/runtime/posix_io.h"
#include "strata/runtime/subprocess.h"

namespace strata::tools {
namespace {

/// The first of the launchers in the folders of PATH; relative folders are skipped.
std::string launcher_on_path() {
  const char* const variable = std::getenv("PATH");
  const std::string folders = variable != nullptr ? variable : "";
  for (const std::string_view name : {"mpirun", "mpiexec", "srun"})
    for (std::size_t begin = 0; begin <= folders.size();) {
      const std::size_t end = std::min(folders.find(':', begin), folders.size());
      const std::string path = detail::message(folders.substr(begin, end - begin), "/", name);
      if (path[0] == '/' && end > begin && access(path.c_str(), X_OK) == 0) return path;
      begin = end + 1;
    }
  return {};
}

/// What a launcher says of its version: a line; of MPICH's the second one.
std::string launcher_version(const std::string& path) {
  const PrivateFolder folder;
  strata::Command command;
  command.words = {path, "--version"};
  command.folder = folder.path();
  command.timeout = std::chrono::seconds(10);
  const ProcessResult result = run_process(command);
  if (!result.succeeded()) return describe(result);
  const std::size_t version = result.output.find("Version:");
  const std::size_t begin = version == std::string::npos ? 0 : version;
  return result.output.substr(begin, result.output.find('\n', begin) - begin);
}

std::string numbers_text(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (const std::int64_t n : numbers) out += detail::message(out.empty() ? "" : " ", n);
  return out;
}

void write_or_null(JsonWriter& json, std::string_view name, const std::string& text) {
  json.key(name);
  if (text.empty())
    json.null();
  else
    json.value(text);
}

}  // namespace

MeshReport report_of_meshes() {
  MeshReport out;
  out.plugin = mpi_plugin_path();
  out.launcher = launcher_on_path();
  const std::optional<Launched> launcher = launched();
  // Inside of a rank the launcher is not started again.
  if (!out.launcher.empty() && !launcher) out.launcher_version = launcher_version(out.launcher);
  try {
    out.library = mpi_version();
  } catch (const Error& error) {
    out.problem = error.what();
  }
  if (!launcher) return out;
  out.ranks = detail::message(launcher->ranks, " (", launcher->variable, ")");
  try {
    const auto world = World::of_process();
    out.meets = world->size() == launcher->ranks;
    out.ranks = detail::message("rank ", world->rank(), " of ", world->size(), out.meets ? ", all meet" : "",
                                "; on this host: ", numbers_text(world->local_ranks()));
    STRATA_CHECK(out.meets, undefined, out.ranks, "; the launcher started ", launcher->ranks);
  } catch (const Error& error) {
    out.meets = false;
    out.ranks = error.what();
  }
  return out;
}

void write_meshes(JsonWriter& json, const MeshReport& report) {
  json.begin_object();
  write_or_null(json, "plugin", report.plugin);
  write_or_null(json, "library", report.library);
  write_or_null(json, "launcher", report.launcher);
  write_or_null(json, "launcher_version", report.launcher_version);
  write_or_null(json, "ranks", report.ranks);
  json.member("meets", report.meets).end_object();
}

}  // namespace strata::tools
