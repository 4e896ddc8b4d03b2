// Files in the safetensors format, which holds named tensors and text metadata
// (https://github.com/huggingface/safetensors). A file is the length of the header in 8 bytes, the header as JSON, then
// the elements of all tensors.
//
//   SafeTensors model = read_safetensors("model.safetensors");
//   for (const auto& [name, tensor] : model.tensors) ...
//
// Readers accept BOOL, integers of 8 to 64 bits, F16, BF16, F32 and F64. They refuse everything else with an Error
// (parse) that names the file, the expected and the found value: other dtypes, keys that the format does not define,
// tensors whose bytes overlap or leave a hole, a header above 100 MB, a boolean other than 0 and 1. Writers order the
// tensors as the reference implementation does: by dtype, U64 first and BOOL last, then by name. The first element is
// at a multiple of 8 bytes, so every tensor of a file can be mapped.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strata/nn/array_file.h"

namespace strata {

/// The contents of a safetensors file.
struct SafeTensors {
  NamedArrays tensors;  ///< a reader orders them by the place of their bytes, then by name
  /// The pairs of `__metadata__`: unique keys with texts, in the order of the file.
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Where a reader places the elements.
enum class Placement : std::uint8_t {
  mapped,  ///< in the pages of the file, which are loaded on first use; a write to an element stays in this process
  copied,  ///< in memory of their own. NOTE: needed if another process may truncate the file: reading a lost page
           ///< raises SIGBUS
};

/// Reads the tensors of the file `path`. With Placement::mapped the cost is that of the header; a tensor whose elements
/// are not aligned for their dtype is copied. The file stays mapped as long as the buffer of a mapped tensor lives.
/// @throws Error (parse) for an invalid file, (budget) if memory for the elements is not available or the header has
///   more JSON values than max_json_values
SafeTensors read_safetensors(const std::string& path, Placement placement = Placement::mapped);
/// The same for the bytes of a file. The elements are copied.
SafeTensors parse_safetensors(std::span<const std::byte> bytes);

/// Writes `file` to `path` atomically. @throws Error (domain) if a name or a metadata key occurs twice or is not UTF-8,
///   a tensor is called "__metadata__", or a dtype is not that of the data; (shape) if a shape does not match its data;
///   (budget) if the header exceeds 100 MB, or with the system's reason if writing fails; the old file is then
///   unchanged
void write_safetensors(const std::string& path, const SafeTensors& file);
/// The bytes that write_safetensors() writes.
std::vector<std::byte> to_safetensors(const SafeTensors& file);

}  // namespace strata
