// The header of a safetensors file: a JSON object with the dtype, the shape and the byte range of each tensor, and the
// metadata. safetensors.cpp reads and writes it with the functions below.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "strata/nn/array_file.h"
#include "strata/nn/byte_io.h"

namespace strata {

/// The header's entry of one tensor.
struct TensorRow {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
  /// The bytes [begin, end) of the file, counted from the first byte behind the header.
  std::uint64_t begin = 0, end = 0;
};

struct SafeTensorsHeader {
  std::vector<TensorRow>
      tensors;  ///< sorted by (begin, end, name); their ranges cover the elements without overlap or hole
  std::vector<std::pair<std::string, std::string>> metadata;
  std::uint64_t length = 0;  ///< bytes before the first element, the 8 bytes of the length included
};

/// Parses the header at the beginning of `source`. @throws Error (parse) if the header is invalid, or the tensors do
///   not cover exactly the bytes behind it
SafeTensorsHeader read_safetensors_header(const ByteSource& source);

/// The 8 bytes of the length, the JSON text, and spaces up to a multiple of 8 bytes. @throws Error (budget) above 100
/// MB
std::string safetensors_header_text(const SafeTensorsHeader& header);

/// The position of a dtype in the order of the reference implementation, from BOOL (0) to U64 (12). Wider dtypes come
/// later.
std::size_t safetensors_rank(DType dtype);

}  // namespace strata
