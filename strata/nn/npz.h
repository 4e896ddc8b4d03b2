// NumPy's format for several named arrays: a zip archive of npy files.
//
//   NamedArrays arrays = read_npz("weights.npz");
//   write_npz("copy.npz", arrays);
//
// Read: what numpy.savez and numpy.savez_compressed write, with every check sum compared. Written: as numpy.savez does,
// in the order given. Errors are those of npy.h, and name the entry. Both where Strata was built with zlib.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "strata/nn/array_file.h"

namespace strata {

/// The arrays in the order of the archive, by the names of their entries without ".npy".
/// @throws Error (parse) as parse_npy(), for damaged archives, for entries that are no npy files; (undefined)
///         where Strata was built without zlib
NamedArrays read_npz(const std::string& path);
NamedArrays parse_npz(std::span<const std::byte> bytes);

/// @throws Error (domain) for a name that is there twice, is not UTF-8, has a NUL or is too long; (undefined) where
///         Strata was built without zlib; as write_npy()
void write_npz(const std::string& path, const NamedArrays& arrays);
std::vector<std::byte> to_npz(const NamedArrays& arrays);

}  // namespace strata
