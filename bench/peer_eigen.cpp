// Eigen: array expressions and products as its documentation writes them, on one thread.
#include "bench/kernel_peers.h"

#include <Eigen/Core>

namespace strata::bench {

namespace {

using Line = Eigen::Map<Eigen::ArrayXf, Eigen::Aligned64>;
using ConstLine = Eigen::Map<const Eigen::ArrayXf, Eigen::Aligned64>;
using RowMajor = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Table = Eigen::Map<RowMajor, Eigen::Aligned64>;
using ConstTable = Eigen::Map<const RowMajor, Eigen::Aligned64>;

std::function<void()> line_call(Work work, const Operands& o) {
  const ConstLine a(o.in[0], o.m), b(o.in[1], o.m), c(o.in[2], o.m), d(o.in[3], o.m);
  float* const to = o.out;
  const std::int64_t m = o.m;
  switch (work) {
    case Work::relu_chain: return [=] { Line(to, m) = (a * b + c).max(0.0F) + d; };
    case Work::tanh_chain: return [=] { Line(to, m) = (a * b + c).tanh() * d.logistic(); };
    case Work::sum: return [=] { *to = a.sum(); };
    case Work::var: return [=] { *to = (a - a.mean()).square().mean(); };
    default: return {};
  }
}

std::function<void()> row_call(Work work, const Operands& o) {
  const ConstTable a(o.in[0], o.m, o.n);
  const std::int64_t m = o.m, n = o.n;
  float* const to = o.out;
  const float *const scale = o.in[1], *const more = o.in[2];
  switch (work) {
    case Work::row_sum: return [=] { Line(to, m) = a.rowwise().sum(); };
    case Work::col_sum: return [=] { Table(to, 1, n) = a.colwise().sum(); };
    case Work::softmax:
      return [=] {
        Table out(to, m, n);
        for (std::int64_t i = 0; i < m; ++i) {
          out.row(i) = (a.row(i) - a.row(i).maxCoeff()).exp();
          out.row(i) *= 1 / out.row(i).sum();
        }
      };
    case Work::logsumexp:
      return [=] {
        for (std::int64_t i = 0; i < m; ++i) {
          const float most = a.row(i).maxCoeff();
          to[i] = most + std::log((a.row(i) - most).exp().sum());
        }
      };
    case Work::layernorm:
      return [=] {
        Table out(to, m, n);
        const ConstTable g(scale, 1, n), h(more, 1, n);
        for (std::int64_t i = 0; i < m; ++i) {
          const float mean = a.row(i).mean();
          const float var = (a.row(i) - mean).square().mean();
          out.row(i) = (a.row(i) - mean) * (1 / std::sqrt(var + 1e-5F)) * g.row(0) + h.row(0);
        }
      };
    default: return {};
  }
}

std::function<void()> table_call(Work work, const Operands& o) {
  const std::int64_t m = o.m, n = o.n, k = o.k;
  const float *const a = o.in[0], *const b = o.in[1];
  float* const to = o.out;
  switch (work) {
    case Work::transpose: return [=] { Table(to, n, m) = ConstTable(a, m, n).transpose(); };
    case Work::window:
      return [=] {
        Table out(to, m, m);
        out.topRows(8).setZero();
        out.leftCols(8).setZero();
        out.bottomRightCorner(m - 8, m - 8) = ConstTable(a, m, m).bottomRightCorner(m - 8, m - 8).reverse();
      };
    case Work::broadcast_add:
      return [=] { Table(to, m, n) = ConstLine(a, m).replicate(1, n) + ConstTable(b, 1, n).replicate(m, 1); };
    case Work::to_nhwc:
      return [=] {
        constexpr std::int64_t channels = 64, pixels = 56 * 56, image = channels * pixels;
        for (std::int64_t i = 0; i < m; ++i)
          Table(to + i * image, pixels, channels) = ConstTable(a + i * image, channels, pixels).transpose();
      };
    case Work::matmul:
      return [=] { Table(to, m, n).matrix().noalias() = ConstTable(a, m, k).matrix() * ConstTable(b, k, n).matrix(); };
    default: return {};
  }
}

std::function<void()> call(Work work, const Operands& o) {
  if (work <= Work::var) return line_call(work, o);
  if (work <= Work::layernorm) return row_call(work, o);
  return table_call(work, o);
}

std::string version() {
  return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION) + " (" + Eigen::SimdInstructionSetsInUse() + ")";
}

}  // namespace

const KernelPeer eigen_peer{"Eigen", true, false, call, [](int) {}, version};

}  // namespace strata::bench
