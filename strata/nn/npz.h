// Files in NumPy's npz format, which holds several named arrays: a zip archive with one npy file an array.
//
//   NamedArrays arrays = read_npz("weights.npz");
//   write_npz("copy.npz", arrays);
//
// Readers accept the archives of numpy.savez and numpy.savez_compressed, and compare every checksum. Writers store the
// entries without compression, as numpy.savez does, in the given order. Errors are those of npy.h, and name the entry.
// Both need a build with zlib.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "strata/nn/array_file.h"

namespace strata {

/// Reads the arrays of the file `path`, in the order of the archive's directory. The entry "weights.npy" is the array
/// "weights".
/// @throws Error (parse) for a file that cannot be opened, a damaged archive, an entry whose name does not end in
///   ".npy" (the whole archive is refused), and as parse_npy(); (undefined) if Strata was built without zlib
NamedArrays read_npz(const std::string& path);
/// The same for the bytes of a file, which the result does not refer to.
NamedArrays parse_npz(std::span<const std::byte> bytes);

/// Writes `arrays` to `path` atomically, also arrays on a device. The array "weights" becomes the entry "weights.npy".
/// @throws Error (domain) if a name occurs twice, is not UTF-8, contains a NUL or has more than 65,531 bytes;
///   (undefined) if Strata was built without zlib; and as write_npy()
void write_npz(const std::string& path, const NamedArrays& arrays);
/// The bytes that write_npz() writes.
std::vector<std::byte> to_npz(const NamedArrays& arrays);

}  // namespace strata
