// The language CUDA C++. Vectors are arrays, whose elements the compiler keeps in registers.
#include "strata/render/cstyle.h"

namespace strata {
namespace rendering {
namespace {

// clang-format off
constexpr TypeText kCudaTypes[] = {
    {dtypes::boolean,  "unsigned char",      "unsigned char"},
    {dtypes::int8,     "signed char",        "signed char"},
    {dtypes::int16,    "short",              "short"},
    {dtypes::int32,    "int",                "int"},
    {dtypes::int64,    "long long",          "long long"},
    {dtypes::uint8,    "unsigned char",      "unsigned char"},
    {dtypes::uint16,   "unsigned short",     "unsigned short"},
    {dtypes::uint32,   "unsigned int",       "unsigned int"},
    {dtypes::uint64,   "unsigned long long", "unsigned long long"},
    {dtypes::float16,  "float",              "__half"},
    {dtypes::bfloat16, "float",              "unsigned short"},
    {dtypes::float32,  "float",              "float"},
    {dtypes::float64,  "double",             "double"},
};

constexpr NarrowText kCudaNarrow[] = {
    {dtypes::float16,  "__half2float($a)", "__float2half_rn($a)", "__half2float(__float2half_rn($a))",
                       "__half2float(__double2half($a))"},
    {dtypes::bfloat16, "strata_bf16_load($a)", "strata_bf16_store($a)", "strata_bf16_round($a)",
                       "strata_bf16_round(strata_round_odd($a))"},
};

constexpr OpText kCudaOps[] = {
    {Ops::ABS,    kFloat, "fabs$f($a)"},
    {Ops::SQRT,   kFloat, "sqrt$f($a)"},
    {Ops::TRUNC,  kFloat, "trunc$f($a)"},
    {Ops::FLOOR,  kFloat, "floor$f($a)"},
    {Ops::CEIL,   kFloat, "ceil$f($a)"},
    {Ops::ROUND,  kFloat, "rint$f($a)"},
    {Ops::EXP2,   kFloat, "exp2$f($a)"},
    {Ops::LOG2,   kFloat, "log2$f($a)"},
    {Ops::EXP,    kFloat, "exp$f($a)"},
    {Ops::LOG,    kFloat, "log$f($a)"},
    {Ops::EXPM1,  kFloat, "expm1$f($a)"},
    {Ops::LOG1P,  kFloat, "log1p$f($a)"},
    {Ops::SIN,    kFloat, "sin$f($a)"},
    {Ops::COS,    kFloat, "cos$f($a)"},
    {Ops::TAN,    kFloat, "tan$f($a)"},
    {Ops::ATAN,   kFloat, "atan$f($a)"},
    {Ops::TANH,   kFloat, "tanh$f($a)"},
    {Ops::ERF,    kFloat, "erf$f($a)"},
    {Ops::POW,    kFloat, "pow$f($a,$b)"},
    {Ops::ATAN2,  kFloat, "atan2$f($a,$b)"},
    {Ops::MULACC, kFloat, "fma$f($a,$b,$c)"},
};
// clang-format on

constexpr HelperText kCudaHelpers[] = {
    {"__half", "#include <cuda_fp16.h>"},
    {"strata_bits", R"(template <class T, class F>
static __device__ inline T strata_bits(F x) {
  T out;
  memcpy(&out, &x, sizeof out);
  return out;
})"},
    {"strata_bf16_load", R"(static __device__ inline float strata_bf16_load(unsigned short x) {
  return __uint_as_float((unsigned int)x << 16);
})"},
    {"strata_bf16_store", R"(static __device__ inline unsigned short strata_bf16_store(float x) {
  return (unsigned short)(__float_as_uint(x) >> 16);
})"},
    {"strata_bf16_round", R"(static __device__ inline float strata_bf16_round(float x) {
  unsigned int u = __float_as_uint(x);
  return __uint_as_float((x != x ? 2143289344u : u + 32767u + (u >> 16 & 1u)) & 4294901760u);
})"},
    {"strata_round_odd", R"(static __device__ inline float strata_round_odd(double x) {
  double y = (float)x;
  unsigned int u = __float_as_uint((float)x);
  if (y != x && x == x && !(u & 1u)) u += (y < 0 ? y > x : y < x) || y == 0 ? 1u : -1u;
  return __uint_as_float(u);
})"},
};

constexpr Language make_cuda() {
  Language out;
  out.name = "CUDA";
  out.types = kCudaTypes;
  out.narrow = kCudaNarrow;
  out.ops = kCudaOps;
  out.helpers = kCudaHelpers;
  out.special = {"(long long)blockIdx.$x*blockDim.$x+threadIdx.$x", "blockIdx.$x", "threadIdx.$x"};
  out.bits = "strata_bits<$T>(($S)$a)";
  out.narrowed = "($T)$v";
  out.kernel = "extern \"C\" __global__ void";
  out.restricted = " __restrict__";
  out.local = "__shared__ $T $n[$k];";
  out.barrier = "__syncthreads();";
  out.infinity[0] = "__int_as_float(2139095040)";
  out.infinity[1] = "__longlong_as_double(9218868437227405312ll)";
  out.nan[0] = "__int_as_float(2143289344)";
  out.nan[1] = "__longlong_as_double(9221120237041090560ll)";
  out.head = c_head;
  out.constant = c_constant;
  return out;
}

constexpr Language kCudaLanguage = make_cuda();

}  // namespace
}  // namespace rendering

const Language& CUDALanguage() { return rendering::kCudaLanguage; }

}  // namespace strata
