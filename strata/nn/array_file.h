// HostArray: a dtype, a shape and the elements, in the memory of the host. The readers of npy.h, npz.h and
// safetensors.h return HostArrays, and their writers take HostArrays. The functions below it are the checks that the
// three formats share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/dtype/dtype.h"
#include "strata/runtime/buffer.h"

namespace strata {

/// An array in row-major order. Readers place its elements in the memory of the host; a writer also takes elements on a
/// device.
struct HostArray {
  DType dtype;                      ///< equals data.dtype()
  std::vector<std::int64_t> shape;  ///< empty for a scalar; a size may be 0
  Buffer data;                      ///< product(shape) elements
};

/// The most dimensions that an array in a file may have: NumPy's own limit.
inline constexpr std::size_t kMostDimensions = 64;

/// Pairs of name and array, in the order of the file.
using NamedArrays = std::vector<std::pair<std::string, HostArray>>;

/// Sets `count` to the product of the sizes. Returns false, and leaves `count` alone, if a size is negative or if the
/// itemsize times the nonzero sizes exceeds 64 bits. Like NumPy, it refuses (0, 2**62, 2**62), although that shape has
/// no elements.
[[nodiscard]] bool try_count(DType dtype, std::span<const std::int64_t> shape, std::int64_t& count);

/// A shape as Python writes a tuple: "()", "(3,)", "(3, 4)".
std::string shape_text(std::span<const std::int64_t> shape);

/// The elements of `array`, copied to the host unless the host already sees them. Error messages call the array `name`.
/// @throws Error (domain) if array.dtype differs from array.data.dtype(), (shape) if the shape has more than
///   kMostDimensions sizes or does not hold array.data.size() elements
Buffer checked_elements(std::string_view operation, std::string_view name, const HostArray& array);

/// @throws Error (domain) if two arrays have the same name, or a name is not UTF-8: every reader refuses such a file
void check_names(std::string_view operation, const NamedArrays& arrays);

bool is_utf8(std::string_view text);

/// The index of the first element that is neither 0 nor 1, if the dtype is bool; -1 if all are valid, and for every
/// other dtype. A C++ bool with another byte is undefined behavior, so readers refuse the file.
std::int64_t bad_boolean(const Buffer& elements);

}  // namespace strata
