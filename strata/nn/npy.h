// Files in NumPy's npy format, which holds one array
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html):
//
//   HostArray weights = read_npy("weights.npy");
//   write_npy("copy.npy", weights);
//
// Readers accept versions 1.0, 2.0 and 3.0; booleans, integers and floats; both byte orders; C order and Fortran order.
// The result is always in the machine's byte order and row-major. Readers refuse everything else with an Error (parse)
// that names the file, the expected and the found value: other dtypes, a header whose keys are not exactly the three of
// the format, a shape that does not match the number of bytes, a boolean other than 0 and 1. Writers write version 1.0,
// byte by byte as NumPy does.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "strata/nn/array_file.h"
#include "strata/nn/byte_io.h"

namespace strata {

/// Reads the array of the file `path`. @throws Error (parse) for an invalid file, (budget) if the memory for the
/// elements is not available
HostArray read_npy(const std::string& path);
/// The same for the bytes of a file.
HostArray parse_npy(std::span<const std::byte> bytes);

/// Writes `array` to `path` atomically. @throws Error (domain) for bf16, which npy cannot name, or if array.dtype is
///   not the dtype of the data, (shape) if the shape does not match the data, (budget) with the system's reason if
///   writing fails; the old file is then unchanged
void write_npy(const std::string& path, const HostArray& array);
/// The bytes that write_npy() writes.
std::vector<std::byte> to_npy(const HostArray& array);

/// read_npy() of any source, for npz archives: the source is an entry of the archive.
HostArray npy_from(const ByteSource& source);
/// The pieces of an npy file, for npz archives: the header, then the elements. Error messages call the array `name`.
BytePieces npy_pieces(std::string_view name, const HostArray& array);

}  // namespace strata
