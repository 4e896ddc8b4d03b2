// Arrays as files hold them: what the readers of npy.h, npz.h and safetensors.h give and their writers take.
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

/// Elements in row-major order, in memory of the host where a reader gives them. A scalar has no sizes; one may be 0.
struct HostArray {
  DType dtype;  ///< of `data`
  std::vector<std::int64_t> shape;
  Buffer data;  ///< as many elements as the product of the sizes
};

/// What files may have: no array that anybody wants has more, and NumPy takes no more either.
inline constexpr std::size_t kMostDimensions = 64;

/// Arrays in the order of their file.
using NamedArrays = std::vector<std::pair<std::string, HostArray>>;

/// How many elements an array has. False where a size is negative, or where the bytes of the sizes that are not 0 do
/// not fit in 64 bits, as in NumPy: (0, 2**62, 2**62) is no shape.
[[nodiscard]] bool try_count(DType dtype, std::span<const std::int64_t> shape, std::int64_t& count);

/// "()", "(3,)", "(3, 4)".
std::string shape_text(std::span<const std::int64_t> shape);

/// The elements of `array`, in memory of the host. `name` is what messages call it.
/// @throws Error (shape) unless the shape has as many elements as the data and no more than kMostDimensions sizes, (domain)
///   unless the dtypes agree
Buffer checked_elements(std::string_view operation, std::string_view name, const HostArray& array);

/// @throws Error (domain) where a name is there twice, or is not UTF-8: no reader would take it
void check_names(std::string_view operation, const NamedArrays& arrays);

bool is_utf8(std::string_view text);

/// The first element of booleans whose byte is neither 0 nor 1, which C++ must not meet, or -1.
std::int64_t bad_boolean(const Buffer& elements);

}  // namespace strata
