// The table of bench_kernels.
#include "bench/kernels.h"
#include "strata/base/check.h"

namespace strata::bench {

namespace {

constexpr std::int64_t kSquare = 4096, kBatch = 32, kMaps = 64, kImage = 56;

using strata::detail::message;

double bytes_of(const std::vector<std::int64_t>& inputs, std::int64_t output) {
  std::int64_t out = output;
  for (const std::int64_t n : inputs) out += n;
  return 4.0 * static_cast<double>(out);
}

/// A row whose limit is bytes.
KernelCase moves(std::string name, Work work, std::array<std::int64_t, 2> mn, std::string text,
                 std::vector<std::int64_t> inputs, std::int64_t output, Limit limit, double tolerance) {
  const double bytes = bytes_of(inputs, output);
  return {std::move(name), work, mn[0], mn[1], 1, std::move(text), std::move(inputs), output, limit, bytes, tolerance};
}

void add_chains(std::vector<KernelCase>& out) {
  for (const auto& [name, work, body] :
       {std::tuple("relu(a*b+c)+d", Work::relu_chain, "relu(a*b + c) + d"),
        std::tuple("tanh(a*b+c)*sigmoid(d)", Work::tanh_chain, "tanh(a*b + c) * sigmoid(d)")})
    for (const auto& [size, n, limit] : {std::tuple("1e3", 1000, Limit::l1), std::tuple("1e5", 100'000, Limit::l2),
                                         std::tuple("1e7", 10'000'000, Limit::copy)}) {
      const std::string text =
          message("a: f32[", n, "]; b: f32[", n, "]; c: f32[", n, "]; d: f32[", n, "]; y = ", body);
      out.push_back(moves(message(name, " ", size), work, {n, 1}, text, {n, n, n, n}, n, limit, 2e-6));
    }
}

void add_reductions(std::vector<KernelCase>& out) {
  constexpr std::int64_t n = 10'000'000, all = kSquare * kSquare;
  const std::string line = "a: f32[10000000]; ", table = "a: f32[4096,4096]; ";
  out.push_back(moves("sum 1e7", Work::sum, {n, 1}, line + "y = a.sum()", {n}, 1, Limit::read, 1));
  out.push_back(
      moves("var 1e7", Work::var, {n, 1}, line + "d = a - a.mean(); y = (d*d).mean()", {n}, 1, Limit::read, 1e-4));
  out.push_back(moves("var 1e7, one pass", Work::var, {n, 1},
                      line + "d = a - a.shrink(0:1); m = d.mean(); y = (d*d).mean() - m*m", {n}, 1, Limit::read, 1e-4));
  out.push_back(moves("row-sum 4096^2", Work::row_sum, {kSquare, kSquare}, table + "y = a.sum(1)", {all}, kSquare,
                      Limit::read, 1e-3));
  out.push_back(moves("col-sum 4096^2", Work::col_sum, {kSquare, kSquare}, table + "y = a.sum(0)", {all}, kSquare,
                      Limit::read, 1e-3));
  out.push_back(moves("softmax rows 4096^2", Work::softmax, {kSquare, kSquare}, table + "y = a.softmax(1)", {all}, all,
                      Limit::copy, 1e-6));
  out.push_back(moves("logsumexp rows 4096^2", Work::logsumexp, {kSquare, kSquare},
                      table + "m = a.max(1); y = (a - m).exp().sum(1).log() + m", {all}, kSquare, Limit::read, 1e-4));
  out.push_back(moves("layernorm 4096x1024", Work::layernorm, {kSquare, 1024},
                      "a: f32[4096,1024]; g: f32[1024]; h: f32[1024]; d = a - a.mean(1); "
                      "y = d * rsqrt((d*d).mean(1) + 1e-5) * g + h",
                      {kSquare * 1024, 1024, 1024}, kSquare * 1024, Limit::copy, 1e-4));
}

void add_movement(std::vector<KernelCase>& out) {
  constexpr std::int64_t all = kSquare * kSquare, images = kBatch * kMaps * kImage * kImage;
  out.push_back(moves("transpose-copy 4096^2", Work::transpose, {kSquare, kSquare},
                      "a: f32[4096,4096]; y = a.permute(1,0)", {all}, all, Limit::copy, 0));
  out.push_back(moves("pad+flip+shrink copy 4096^2", Work::window, {kSquare, kSquare},
                      "a: f32[4096,4096]; y = a.pad(16:16,16:16).flip(0,1).shrink(8:4104,8:4104)", {all}, all,
                      Limit::copy, 0));
  out.push_back(moves("broadcast add (4096,1)+(1,4096)", Work::broadcast_add, {kSquare, kSquare},
                      "a: f32[4096,1]; b: f32[1,4096]; y = a + b", {kSquare, kSquare}, all, Limit::fill, 0));
  out.push_back(moves("NCHW->NHWC (32,64,56,56)", Work::to_nhwc, {kBatch, kMaps},
                      "a: f32[32,64,56,56]; y = a.permute(0,2,3,1)", {images}, images, Limit::copy, 0));
  std::string largest;
  for (int i = 0; i < 9; ++i)
    largest += message(i == 0 ? "" : ", ", "a.shrink(:,:,", i / 3, ":", i / 3 + 54, ",", i % 3, ":", i % 3 + 54, ")");
  out.push_back(moves("maxpool 3x3 s1 (32,64,56,56)", Work::maxpool, {kBatch * kMaps, 1},
                      "a: f32[32,64,56,56]; y = max(" + largest + ")", {images}, kBatch * kMaps * 54 * 54, Limit::copy,
                      0));
}

KernelCase product(std::string name, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::string text = message("a: f32[", m, ",", k, "]; b: f32[", k, ",", n, "]; y = a @ b");
  return {std::move(name),
          Work::matmul,
          m,
          n,
          k,
          text,
          {m * k, k * n},
          m * n,
          Limit::peak,
          2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
          1e-6 * static_cast<double>(k)};
}

/// The windows of a convolution in movement operations: an axis of 58 four times over is three lines of 59, and 56 of
/// each line are the axis moved by the line's number.
constexpr const char* kConv =
    "a: f32[64,56,56]; w: f32[64,64,3,3]; "
    "r = a.pad(0:0,1:1,1:1).reshape(64,1,58,58).expand(64,4,58,58).reshape(64,232,58)"
    ".shrink(:,0:177,:).reshape(64,3,59,58).shrink(:,:,0:56,:); "
    "x = r.reshape(64,3,56,1,58).expand(64,3,56,4,58).reshape(64,3,56,232)"
    ".shrink(:,:,:,0:177).reshape(64,3,56,3,59).shrink(:,:,:,:,0:56).permute(0,1,3,2,4); "
    "y = (x.reshape(1,64,3,3,56,56) * w.reshape(64,64,3,3,1,1)).sum(1,2,3)";

void add_contractions(std::vector<KernelCase>& out) {
  for (const std::int64_t n : {64, 128, 256, 512, 1024, 2048})
    out.push_back(product(message("matmul ", n, "^3"), n, n, n));
  KernelCase line = product("matvec 1x4096x4096", 1, kSquare, kSquare);
  line.limit = Limit::read;
  line.amount = bytes_of(line.inputs, line.output);
  out.push_back(std::move(line));
  out.push_back(product("skinny 32x4096x4096", 32, kSquare, kSquare));
  constexpr std::int64_t heads = 8, length = 512, width = 64, head = heads * length * width;
  out.push_back({"attention b1 h8 s512 d64",
                 Work::attention,
                 heads,
                 length,
                 width,
                 "q: f32[8,512,64]; k: f32[8,512,64]; v: f32[8,512,64]; "
                 "y = softmax(q @ k.permute(0,2,1) * 0.125, 2) @ v",
                 {head, head, head},
                 head,
                 Limit::peak,
                 4.0 * static_cast<double>(heads * length * length * width),
                 1e-5});
  out.push_back({"conv 3x3 NCHW (1,64,56,56), 64 maps",
                 Work::conv,
                 kMaps,
                 kMaps,
                 1,
                 kConv,
                 {kMaps * kImage * kImage, kMaps * kMaps * 9},
                 kMaps * kImage * kImage,
                 Limit::peak,
                 18.0 * static_cast<double>(kMaps * kMaps * kImage * kImage),
                 1e-3});
}

}  // namespace

const std::vector<KernelCase>& kernel_cases() {
  static const std::vector<KernelCase> cases = [] {
    std::vector<KernelCase> out;
    add_chains(out);
    add_reductions(out);
    add_movement(out);
    add_contractions(out);
    return out;
  }();
  return cases;
}

}  // namespace strata::bench
