// Files of tests; their folder is a PrivateFolder (strata/runtime/posix_io.h).
#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace strata {

/// Writes a file and gives its path.
inline std::string write_file(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
  return path;
}
inline std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace strata
