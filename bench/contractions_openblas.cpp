// OpenBLAS: sgemm, and sgemv for one row.
#include <cblas.h>

#include "bench/contraction_peers.h"

namespace strata::bench {
namespace {

std::vector<ContractionCall> product(const Product& p, const void* a, const void* b, void* out) {
  if (p.element != Element::f32) return {};
  const auto m = static_cast<blasint>(p.m), n = static_cast<blasint>(p.n), k = static_cast<blasint>(p.k);
  const auto *x = static_cast<const float*>(a), *y = static_cast<const float*>(b);
  auto* const z = static_cast<float*>(out);
  const CBLAS_TRANSPOSE how = p.transposed ? CblasTrans : CblasNoTrans;
  if (p.m == 1 && p.batch == 1) {
    if (p.transposed)
      return {{"OpenBLAS", [=] { cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1, y, k, x, 1, 0, z, 1); }}};
    return {{"OpenBLAS", [=] { cblas_sgemv(CblasRowMajor, CblasTrans, k, n, 1, y, n, x, 1, 0, z, 1); }}};
  }
  return {{"OpenBLAS", [=, batch = p.batch] {
             for (std::int64_t i = 0; i < batch; ++i)
               cblas_sgemm(CblasRowMajor, CblasNoTrans, how, m, n, k, 1, x + i * m * k, k, y + i * n * k,
                           how == CblasTrans ? k : n, 0, z + i * m * n, n);
           }}};
}

std::string version() {
  const std::string config = openblas_get_config();
  return config.substr(0, config.find(' ', config.find(' ') + 1)) + " (" + openblas_get_corename() + ")";
}

}  // namespace

const ContractionPeer openblas_contractions{
    true, openblas_set_num_threads, version, product,
    [](const Convolution&, const float*, const float*, float*) { return std::vector<ContractionCall>(); }};

}  // namespace strata::bench
