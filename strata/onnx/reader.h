// The reader of ONNX files: bytes of protocol buffers to a Definition. Two sources implement it: protozero_reader.cpp,
// and absent_protozero_reader.cpp for builds without protozero.
//
// What is read is bounded by the size of the file: a tensor whose shape does not agree with its bytes is refused, and
// nothing is allocated for a size that is only claimed.
#pragma once

#include <string>
#include <string_view>

#include "strata/onnx/definition.h"

namespace strata::onnx {

/// Limits of the reader. A model that exceeds one of them is refused with an Error (budget).
inline constexpr std::size_t kMostNodes = 500'000;  ///< of all graphs together
inline constexpr std::size_t kDeepestGraph = 64;    ///< graphs within graphs
inline constexpr std::size_t kDeepestType = 16;     ///< sequences of sequences
inline constexpr std::size_t kMostRank = 32;

/// Whether this build has the reader.
bool has_reader();
/// Reads a model. `folder` is the folder of the model, in which external data is sought; empty: external data is
/// refused. `name` is the file in messages.
/// @throws Error (parse) for bytes that are not a model, (budget) for one that exceeds a limit, (undefined) for a type
///   of elements that Strata lacks, or without protozero
Definition read_definition(std::string_view bytes, const std::string& folder, const std::string& name);
/// Reads a single value, as test data has it. `kind` is the type of the model's input or output.
Datum read_value(std::string_view bytes, Port::Kind kind, const std::string& name);

/// The bytes [offset, offset + length) of the file `location` in `folder`; `length` -1 means up to its end.
/// @throws Error (parse) if the location is absolute, has "..", or leads out of the folder by a link, or if the file is
///   too short
Buffer read_external(const std::string& folder, const std::string& location, std::int64_t offset, std::int64_t length,
                     DType dtype, std::int64_t count, const std::string& tensor);

}  // namespace strata::onnx
