// Products of matrices, and their integer forms.
#include "strata/onnx/operators.h"
#include "strata/tensor/linear_algebra.h"

namespace strata::onnx {

Results matrix_product(const Call& call) { return {call.x(0).matmul(call.x(1))}; }

Results general_product(const Call& call) {
  Tensor a = call.x(0), b = call.x(1);
  STRATA_CHECK(a.ndim() == 2 && b.ndim() == 2, shape, "the operands have ", a.ndim(), " and ", b.ndim(), " dimensions");
  if (call.integer("transA") != 0) a = a.t();
  if (call.integer("transB") != 0) b = b.t();
  const double alpha = call.number("alpha"), beta = call.number("beta");
  Tensor out = a.matmul(b);
  if (alpha != 1) out = (out * alpha).cast(a.dtype());
  if (!call.has(2) || beta == 0) return {out};
  return {out + (beta == 1 ? call.x(2) : (call.x(2) * beta).cast(a.dtype()))};
}

Results einstein_sum(const Call& call) {
  std::string formula;
  for (const char c : call.text("equation"))
    if (c != ' ') formula += c;
  const std::vector<Tensor> operands = call.all();
  return {Tensor::einsum(formula, operands)};
}

Results determinant(const Call& call) { return {linalg::det(call.x(0))}; }

}  // namespace strata::onnx
