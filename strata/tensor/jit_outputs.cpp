#include "strata/tensor/jit_outputs.h"

#include <functional>

#include "strata/base/check.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/placed.h"

namespace strata::jit_outputs {

const LazyOp& memory_below(const LazyOp& node) {
  const LazyOp* at = &node;
  while (is_annotation(at->op()) || (is_movement(at->op()) && !is_realized(*at->node()))) at = &at->src()[0];
  return *at;
}
Bytes bytes_below(const LazyOp& node) {
  const LazyOp& memory = memory_below(node);
  if (!is_realized(*memory.node())) return {nullptr, 0};
  const Buffer buffer = memory_of(memory);
  return {static_cast<const char*>(buffer.data()), buffer.nbytes()};
}

void check_count(const std::string& name, std::size_t outputs, std::size_t results) {
  STRATA_CHECK(outputs == results, shape, "[jit] ", name, " has ", results, " results, not ", outputs);
}
void check_output(const std::string& name, std::size_t k, const Tensor& output, const Ints& shape,
                  const Tensor& result) {
  STRATA_CHECK(output.shape() == shape, shape, "[jit] result ", k, " of ", name, " has shape ", render(shape),
               ", but the output for the result has shape ", render(output.shape()));
  STRATA_CHECK(output.dtype() == result.dtype(), domain, "[jit] result ", k, " of ", name, " has dtype ",
               result.dtype().name(), ", but the output for the result has dtype ", output.dtype().name());
  STRATA_CHECK(&output.device() == &result.device(), domain, "[jit] result ", k, " of ", name, " is on ",
               result.device().name(), ", but the output for the result is on ", output.device().name());
  const LazyOp& node = output.node();
  STRATA_CHECK(node.op() == Ops::EMPTY && is_realized(*node.node()), domain, "[jit] the output for result ", k, " of ",
               name, " is ", node.is_tracked() ? "a parameter" : "not realized, or a part of other memory",
               ": the output must be row-major memory of its own");
  STRATA_CHECK(placed_form(node) == nullptr && placed_form(result.node()) == nullptr, domain, "[jit] result ", k,
               " of ", name, " or the output for it is sharded: into() writes tensors in one memory; use the results");
  STRATA_CHECK(!output.buffer().is_read_only(), domain, "[jit] the output for result ", k, " of ", name,
               " is in memory that is read-only");
}
void check_apart(const std::string& name, std::size_t k, const Tensor& output, std::string_view what, std::size_t j,
                 Bytes other) {
  const std::less<> before;
  const Bytes mine = bytes_below(output.node());
  STRATA_CHECK(!before(mine.begin, other.begin + other.size) || !before(other.begin, mine.begin + mine.size), domain,
               "[jit] the output for result ", k, " of ", name, " shares memory with ", what, " ", j);
}
void check_apart(const std::string& name, std::span<const Tensor> outputs, std::span<const Tensor> inputs) {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    for (std::size_t j = 0; j < inputs.size(); ++j)
      check_apart(name, k, outputs[k], "input", j, bytes_below(inputs[j].node()));
    for (std::size_t j = 0; j < k; ++j) check_apart(name, k, outputs[k], "output", j, bytes_below(outputs[j].node()));
  }
}
void check_outputs(const std::string& name, std::span<const Tensor> outputs, std::span<const Tensor> results) {
  check_count(name, outputs.size(), results.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) check_output(name, k, outputs[k], results[k].shape(), results[k]);
}

}  // namespace strata::jit_outputs
