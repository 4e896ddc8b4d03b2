// NumPy's format for one array (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
//
//   HostArray weights = read_npy("weights.npy");
//   write_npy("copy.npy", weights);
//
// Read: versions 1.0, 2.0 and 3.0; booleans, integers and floats of either byte order, in either order of elements.
// Refused with an Error (parse) that names the file, what was expected and what was found: other dtypes, headers with
// anything but their three keys, sizes that are not those of the bytes that are there, booleans other than 0 and 1.
// Written: version 1.0, or 2.0 where the header is too long for it, byte by byte as NumPy does.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "strata/nn/array_file.h"
#include "strata/nn/byte_io.h"

namespace strata {

/// @throws Error (parse), (budget) where there is no memory for the elements
HostArray read_npy(const std::string& path);
HostArray parse_npy(std::span<const std::byte> bytes);

/// @throws Error (domain) for bf16, (shape) where the shape is not that of the data, (budget) with the system's reason
///         where the file cannot be written: what was there before stays
void write_npy(const std::string& path, const HostArray& array);
std::vector<std::byte> to_npy(const HostArray& array);

/// The parts of the above that archives of arrays are made of.
HostArray npy_from(const ByteSource& source);
BytePieces npy_pieces(std::string_view name, const HostArray& array);

}  // namespace strata
