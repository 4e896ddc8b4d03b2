// The header of a safetensors file: which tensors there are, and where their bytes lie.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "strata/nn/array_file.h"
#include "strata/nn/byte_io.h"

namespace strata {

struct TensorRow {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes behind the header
};

struct SafeTensorsHeader {
  std::vector<TensorRow> tensors;  ///< by their bytes, which begin at 0 and leave no hole; then by name
  std::vector<std::pair<std::string, std::string>> metadata;
  std::uint64_t length = 0;  ///< of all that stands in front of the elements, in bytes
};

/// The header of `source`, whose bytes are exactly those of the tensors. @throws Error (parse) for what is none
SafeTensorsHeader read_safetensors_header(const ByteSource& source);

/// The length, the JSON text and spaces up to a multiple of 8 bytes. @throws Error (budget) above 100 MB
std::string safetensors_header_text(const SafeTensorsHeader& header);

/// The place of a dtype in the format's order, in which dtypes of more bytes come later.
std::size_t safetensors_rank(DType dtype);

}  // namespace strata
