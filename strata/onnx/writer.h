// The writer of ONNX files: a Definition to bytes of protocol buffers. Two sources implement it: protozero_writer.cpp,
// and absent_protozero_writer.cpp for builds without protozero.
#pragma once

#include <cstdint>
#include <string>

#include "strata/onnx/definition.h"

namespace strata::onnx {

/// The most bytes of a file: the format of the messages has no larger ones.
inline constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 31) - 1;

/// ONNX's number of a type of elements. @pre `dtype` is a scalar
std::int64_t element_of_dtype(DType dtype);

/// The bytes of a file. read_definition() of them gives an equal Definition.
/// @throws Error (undefined) for functions of the file's own, for inputs and outputs that are neither tensors nor
/// texts,
///   and without protozero; (budget) for more than kMostBytes
std::string write_definition(const Definition& model);

}  // namespace strata::onnx
