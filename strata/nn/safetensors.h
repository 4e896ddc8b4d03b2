// The safetensors format for named tensors (https://github.com/huggingface/safetensors): a length, a header, bytes.
//
//   SafeTensors model = read_safetensors("model.safetensors");
//   for (const auto& [name, tensor] : model.tensors) ...
//
// Read: BOOL, integers of 8 to 64 bits, F16, BF16, F32, F64. Refused with an Error (parse) that names the file, what is
// expected and what is found: other dtypes, keys that the format has not, tensors whose bytes overlap or leave a hole,
// headers of more than 100 MB, booleans other than 0 and 1.
// Written: as the reference implementation does, tensors by falling dtype (U64 first), then by name; the elements
// start at a multiple of 8 bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strata/nn/array_file.h"

namespace strata {

/// What a safetensors file holds.
struct SafeTensors {
  NamedArrays tensors;  ///< read in the order of their bytes, then of their names
  /// `__metadata__`: texts by unique names, in the order of the file.
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Where the elements of a file that is read are to be.
enum class Placement : std::uint8_t {
  mapped,  ///< in the file's own pages, read when they are used; what is written to them stays in this process
  copied,  ///< in memory; NOTE: needed for a file that others may shorten, as the system ends who reads what is cut off
};

/// Mapped elements that are not aligned for their dtype are copied; the file stays mapped while any other lives.
/// @throws Error (parse), (budget) where there is no memory, or for more than max_json_values values in the header
SafeTensors read_safetensors(const std::string& path, Placement placement = Placement::mapped);
SafeTensors parse_safetensors(std::span<const std::byte> bytes);

/// @throws Error (domain) for a name that is there twice, is "__metadata__" or not UTF-8, (shape) where a shape is not
///         that of the data, (budget) above 100 MB of header, and with the system's reason where the file cannot be
///         written: what was there before stays
void write_safetensors(const std::string& path, const SafeTensors& file);
std::vector<std::byte> to_safetensors(const SafeTensors& file);

}  // namespace strata
