// What stands in front of the elements in an npy file: a version, a length, and a Python dictionary as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/nn/byte_io.h"

namespace strata {

struct NpyHeader {
  DType dtype;
  bool swapped = false;  ///< the elements are in the other byte order than this machine's
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::uint64_t length = 0;  ///< of all that stands in front of the elements, in bytes
};

/// The header at the beginning of `source`. @throws Error (parse) for what is none, and for dtypes that Strata has not
NpyHeader read_npy_header(const ByteSource& source);

/// The header of a file, byte by byte as NumPy writes it. @throws Error (domain) for bf16: npy has no name for it
std::string npy_header_text(DType dtype, std::span<const std::int64_t> shape);

}  // namespace strata
