// Outputs of captured functions that the caller has: whether a result can be put there.
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

/// What a node is seen of through movement; itself where it is computed otherwise.
const LazyOp& memory_below(const LazyOp& node);
/// Of the memory that a node is seen of; none where it is computed.
Bytes bytes_below(const LazyOp& node);

/// All of these: @param name of the function  @throws Error as Jit::into() says
void check_count(const std::string& name, std::size_t outputs, std::size_t results);
/// That result `k`, of a shape and of the dtype and device of `result`, can be put into `output`.
void check_output(const std::string& name, std::size_t k, const Tensor& output, const Ints& shape,
                  const Tensor& result);
/// That the output for result `k` shares no memory with `what` number `j`.
void check_apart(const std::string& name, std::size_t k, const Tensor& output,
                 std::string_view what, std::size_t j, Bytes other);
/// That outputs share memory neither with inputs nor with each other.
void check_apart(const std::string& name, std::span<const Tensor> outputs,
                 std::span<const Tensor> inputs);
void check_outputs(const std::string& name, std::span<const Tensor> outputs,
                   std::span<const Tensor> results);

}  // namespace strata::jit_outputs
