// The header of an npy file, which precedes the elements: magic bytes, a version, a length, and a Python dictionary as
// text, e.g.
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. npy.cpp reads and writes it with the two functions
// below.
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
  bool swapped = false;        ///< the elements are in the opposite of this machine's byte order
  bool fortran_order = false;  ///< the first axis is contiguous, not the last
  std::vector<std::int64_t> shape;
  std::uint64_t length = 0;  ///< bytes before the first element, magic bytes included
};

/// Parses the header at the beginning of `source`. @throws Error (parse) if the header is invalid or Strata has no such
/// dtype
NpyHeader read_npy_header(const ByteSource& source);

/// The bytes before the elements, as NumPy writes them (row-major, version 1.0). @throws Error (domain) for bf16: npy
/// has no name for it
std::string npy_header_text(DType dtype, std::span<const std::int64_t> shape);

}  // namespace strata
