// Checks for Jit::into() (jit.h): whether results can be written to the memory of the caller's output tensors. Each
// function throws the Errors that Jit::into() documents; `name` is the name of the function in messages.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "strata/tensor/tensor.h"

namespace strata::jit_outputs {

struct Bytes {
  const char* begin;
  std::size_t size;
};

/// The first node below `node`, itself included, that is neither an annotation nor a movement op without memory.
const LazyOp& memory_below(const LazyOp& node);
/// The memory of memory_below(node); {nullptr, 0} where that node is not realized.
Bytes bytes_below(const LazyOp& node);

/// @throws Error (shape) unless outputs == results
void check_count(const std::string& name, std::size_t outputs, std::size_t results);
/// Result `k` fits into `output`: `output` has shape `shape` and the dtype and device of `result`, and is writable
/// row-major memory of its own. @throws Error (shape, domain) otherwise
void check_output(const std::string& name, std::size_t k, const Tensor& output, const Ints& shape,
                  const Tensor& result);
/// `output`, for result `k`, does not overlap the bytes `other`. @param what, j the owner of `other` in messages, e.g.
/// "input", 0
/// @throws Error (domain) otherwise
void check_apart(const std::string& name, std::size_t k, const Tensor& output, std::string_view what, std::size_t j,
                 Bytes other);
/// No output overlaps an input or another output. @throws Error (domain) otherwise
void check_apart(const std::string& name, std::span<const Tensor> outputs, std::span<const Tensor> inputs);
/// check_count(), then check_output() for each pair. @throws Error (shape, domain)
void check_outputs(const std::string& name, std::span<const Tensor> outputs, std::span<const Tensor> results);

}  // namespace strata::jit_outputs
