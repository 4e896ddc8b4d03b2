// MeshReport: what this machine has for meshes of processes, for `strata doctor`.
#pragma once

#include <string>

#include "strata/base/json.h"

namespace strata::tools {

struct MeshReport {
  std::string plugin;            ///< the file of the MPI plugin; empty if there is none
  std::string library;           ///< the version of its library; empty if it cannot be opened
  std::string problem;           ///< why there is no library, with the remedy
  std::string launcher;          ///< the path of mpirun, mpiexec or srun; empty if none is on PATH
  std::string launcher_version;  ///< what it says of itself; empty if it does not answer
  std::string ranks;             ///< started by a launcher: how many, and whether they meet
  bool meets = true;             ///< false iff a launcher started ranks that do not meet
};

/// Looks at the plugin and PATH. Where a launcher started this process, connects to the other ranks; so all of them
/// have to ask.
MeshReport report_of_meshes();
/// Writes the report as a JSON object.
void write_meshes(JsonWriter& json, const MeshReport& report);

}  // namespace strata::tools
