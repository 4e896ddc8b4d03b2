#include "strata/runtime/plugin_folders.h"

#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "strata/base/check.h"

namespace strata {

namespace {

namespace fs = std::filesystem;

constexpr const char* kInstalledFolder = STRATA_PLUGIN_INSTALLED;  ///< set by CMake; absolute, or ""

/// The argument of find_holder(): an address, and the path of the loaded object that contains it.
struct Holder {
  std::uintptr_t address;
  std::string path;  ///< "" for the program itself
};

int find_holder(dl_phdr_info* info, std::size_t, void* context) {
  auto& holder = *static_cast<Holder*>(context);
  for (int k = 0; k < info->dlpi_phnum; ++k) {
    const auto& segment = info->dlpi_phdr[k];
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || holder.address - begin >= segment.p_memsz) continue;
    holder.path = info->dlpi_name;
    return 1;
  }
  return 0;
}

/// The path of the file that contains this code. NOTE: dladdr() is not used, because its name for the program is
/// argv[0], which the caller of the program chooses freely.
std::string own_file() {
  Holder holder{reinterpret_cast<std::uintptr_t>(&find_holder), {}};
  dl_iterate_phdr(find_holder, &holder);
  std::error_code failed;
  const fs::path file = holder.path.empty() ? fs::read_symlink("/proc/self/exe", failed) : fs::path(holder.path);
  const fs::path real = failed || !file.is_absolute() ? fs::path() : fs::canonical(file, failed);
  return failed ? std::string() : real.string();
}

}  // namespace

std::vector<std::string> plugin_folders() {
  std::vector<std::string> out;
  const auto add = [&](std::string folder) {
    if (!folder.empty() && std::find(out.begin(), out.end(), folder) == out.end()) out.push_back(std::move(folder));
  };
  const char* const chosen = std::getenv("STRATA_PLUGIN_DIR");
  add(fs::path(own_file()).parent_path().string());
  add(chosen != nullptr ? chosen : "");
  add(kInstalledFolder);
  return out;
}

std::string find_plugin(std::span<const std::string> folders, std::string_view file_name) {
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder) / file_name;
    std::error_code failed;
    if (path.is_absolute() && fs::is_regular_file(path, failed)) return path.string();
  }
  return {};
}

std::string sought_text(std::span<const std::string> folders) {
  std::string out;
  for (const std::string& folder : folders) out += detail::message(out.empty() ? "" : ", ", folder);
  return detail::message(" (sought: ", out.empty() ? "nowhere" : out,
                         "; STRATA_PLUGIN_DIR may name its folder, by an absolute path)");
}

}  // namespace strata
