// The MPI plugin (libstrata_mpi.so, mpi_plugin/), which is opened on first use: a program without a mesh of processes
// neither loads nor links MPI.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "strata/mesh/transport.h"
#include "strata/runtime/remedy.h"

namespace strata {

inline constexpr std::string_view kMpiPluginName = "libstrata_mpi.so";

/// Opens the plugin in the first of `folders` (runtime/plugin_folders.h) that has it. It is never closed.
/// @throws Error (undefined) that says how to get the plugin, if no folder has it, it cannot be opened, or it is of
///   another version
const StrataMeshTable& open_mpi(std::span<const std::string> folders);
/// The one of the process, from the default folders, STRATA_PLUGIN_DIR before the others; the first call that succeeds
/// opens it. @throws as open_mpi()
const StrataMeshTable& mpi_table();
/// The plugin's file; empty if there is none.
std::string mpi_plugin_path();
/// The version of the library that the plugin is linked with, in one line. @throws as open_mpi()
std::string mpi_version();
/// What to install if mpi_table() fails.
Remedy mpi_remedy();

/// What a launcher's environment variables say of this process.
struct Launched {
  std::string variable;    ///< "OMPI_COMM_WORLD_SIZE"
  std::int64_t ranks = 1;  ///< that were started together
};
/// Nothing where no launcher started this process.
std::optional<Launched> launched();
/// Why `size` ranks are not those that the launcher started: the plugin's library does not know this launcher, and so
/// each process has a world of its own. Empty where they may be.
std::string launcher_problem(const std::optional<Launched>& launcher, std::int64_t size, std::string_view version);

}  // namespace strata
