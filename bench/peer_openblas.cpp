// OpenBLAS: sgemm, and sgemv for one row.
#include <cblas.h>

#include "bench/kernel_peers.h"

namespace strata::bench {

namespace {

std::function<void()> call(Work work, const Operands& o) {
  if (work != Work::matmul) return {};
  const auto m = static_cast<blasint>(o.m), n = static_cast<blasint>(o.n), k = static_cast<blasint>(o.k);
  const float *a = o.in[0], *b = o.in[1];
  float* const c = o.out;
  if (m == 1) return [=] { cblas_sgemv(CblasRowMajor, CblasTrans, k, n, 1, b, n, a, 1, 0, c, 1); };
  return [=] { cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n); };
}

std::string version() {
  const std::string config = openblas_get_config();
  return config.substr(0, config.find(' ', config.find(' ') + 1)) + " (" + openblas_get_corename() + ")";
}

}  // namespace

const KernelPeer openblas_peer{"OpenBLAS", true, true, call, openblas_set_num_threads, version};

}  // namespace strata::bench
