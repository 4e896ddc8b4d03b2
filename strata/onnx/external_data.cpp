// External data: elements of tensors in files beside the model. A file is never sought outside of the model's folder.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "strata/base/check.h"
#include "strata/onnx/reader.h"

namespace strata::onnx {

Buffer read_external(const std::string& folder, const std::string& location, std::int64_t offset, std::int64_t length,
                     DType dtype, std::int64_t count, const std::string& tensor) {
  namespace fs = std::filesystem;
  const std::string where = detail::message("[onnx] the external data of the tensor \"", tensor, "\"");
  STRATA_CHECK(!folder.empty(), parse, where, " lies in a file, but the model does not come from one");
  const fs::path relative(location);
  STRATA_CHECK(!location.empty() && location.find('\0') == std::string::npos, parse, where, " names no file");
  STRATA_CHECK(relative.is_relative(), parse, where, " is outside of the model's folder: ", location);
  STRATA_CHECK(std::find(relative.begin(), relative.end(), "..") == relative.end(), parse, where,
               " is outside of the model's folder: ", location);
  std::error_code failed;
  const fs::path root = fs::canonical(folder, failed);
  STRATA_CHECK(!failed, parse, where, ": ", folder, ": ", failed.message());
  const fs::path file = fs::canonical(root / relative, failed);
  STRATA_CHECK(!failed, parse, where, ": ", location, ": ", failed.message());
  const auto [root_end, file_at] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  STRATA_CHECK(root_end == root.end() && file_at != file.end(), parse, where,
               " is outside of the model's folder: ", location, " is a link to ", file.string());
  STRATA_CHECK(fs::is_regular_file(file, failed), parse, where, ": ", location, " is not a regular file");
  const auto size = static_cast<std::int64_t>(fs::file_size(file, failed));
  STRATA_CHECK(!failed, parse, where, ": ", location, ": ", failed.message());
  const auto bytes = static_cast<std::int64_t>(dtype.itemsize()) * count;
  STRATA_CHECK(offset >= 0 && offset <= size && (length < 0 || length == bytes) && bytes <= size - offset, parse, where,
               " needs ", bytes, " bytes; stated are ", length, " at ", offset, " of ", location, ", which has ", size);
  const Buffer out = Buffer::allocate(count, dtype);
  std::ifstream in(file, std::ios::binary);
  in.seekg(offset);
  if (bytes > 0) in.read(static_cast<char*>(out.data()), bytes);
  STRATA_CHECK(in.good() || bytes == 0, parse, where, ": ", location, " cannot be read");
  return out;
}

}  // namespace strata::onnx
