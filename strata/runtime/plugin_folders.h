// Where plugins lie: shared objects with what only some users have (LLVM, MPI), opened on first use.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// The folders in which plugins are sought: that of the library or program that contains this code, STRATA_PLUGIN_DIR,
/// then the folder of the system's package (CMake's STRATA_PLUGIN_INSTALL_DIR, if absolute). Never the working
/// directory, in which anybody may place a file.
std::vector<std::string> plugin_folders();
/// The path of the plugin in the first folder that has it; empty if none has it. Folders with relative paths are
/// skipped.
std::string find_plugin(std::span<const std::string> folders, std::string_view file_name);
/// " (sought: ...; ...)", for errors.
std::string sought_text(std::span<const std::string> folders);

}  // namespace strata
