// OpenCL C 1.2. Vectors are loaded and stored by vloadn and vstoren; arithmetic is on single lanes. For a device
// without `half`, f16 is converted by integer arithmetic on its bits.
#include <array>

#include "strata/render/cstyle.h"

namespace strata {
namespace rendering {
namespace {

// clang-format off
constexpr TypeText kOpenClTypes[] = {
    {dtypes::boolean,  "uchar",  "uchar"},
    {dtypes::int8,     "char",   "char"},
    {dtypes::int16,    "short",  "short"},
    {dtypes::int32,    "int",    "int"},
    {dtypes::int64,    "long",   "long"},
    {dtypes::uint8,    "uchar",  "uchar"},
    {dtypes::uint16,   "ushort", "ushort"},
    {dtypes::uint32,   "uint",   "uint"},
    {dtypes::uint64,   "ulong",  "ulong"},
    {dtypes::float16,  "float",  "half"},
    {dtypes::bfloat16, "float",  "ushort"},
    {dtypes::float32,  "float",  "float"},
    {dtypes::float64,  "double", "double"},
};

constexpr NarrowText kOpenClNarrow[] = {
    {dtypes::float16,  "((float)$a)", "convert_half_rte($a)", "((float)convert_half_rte($a))",
                       "((float)convert_half_rte($a))"},
    {dtypes::bfloat16, "as_float((uint)$a<<16)", "((ushort)(as_uint($a)>>16))", "strata_bf16_round($a)",
                       "strata_bf16_round(strata_round_odd($a))"},
};

constexpr NarrowText kOpenClNarrowByBits[] = {
    {dtypes::float16,  "strata_f16_load($a)", "strata_f16_store($a)", "strata_f16_round($a)",
                       "strata_f16_round(strata_round_odd($a))"},
    {dtypes::bfloat16, "as_float((uint)$a<<16)", "((ushort)(as_uint($a)>>16))", "strata_bf16_round($a)",
                       "strata_bf16_round(strata_round_odd($a))"},
};

constexpr OpText kOpenClOps[] = {
    {Ops::ABS,    kFloat, "fabs($a)"},
    {Ops::SQRT,   kFloat, "sqrt($a)"},
    // NOTE: PoCL rounds by a conversion to int, which is undefined for constants outside the range of int. From $I on a float is an integer.
    {Ops::TRUNC,  kFloat, "(fabs($a)<$I?trunc($a):$a)"},
    {Ops::FLOOR,  kFloat, "(fabs($a)<$I?floor($a):$a)"},
    {Ops::CEIL,   kFloat, "(fabs($a)<$I?ceil($a):$a)"},
    {Ops::ROUND,  kFloat, "(fabs($a)<$I?rint($a):$a)"},
    {Ops::EXP2,   kFloat, "exp2($a)"},
    {Ops::LOG2,   kFloat, "log2($a)"},
    {Ops::EXP,    kFloat, "exp($a)"},
    {Ops::LOG,    kFloat, "log($a)"},
    {Ops::EXPM1,  kFloat, "expm1($a)"},
    {Ops::LOG1P,  kFloat, "log1p($a)"},
    {Ops::SIN,    kFloat, "sin($a)"},
    {Ops::COS,    kFloat, "cos($a)"},
    {Ops::TAN,    kFloat, "tan($a)"},
    {Ops::ATAN,   kFloat, "atan($a)"},
    {Ops::TANH,   kFloat, "tanh($a)"},
    {Ops::ERF,    kFloat, "erf($a)"},
    {Ops::POW,    kFloat, "pow($a,$b)"},
    {Ops::ATAN2,  kFloat, "atan2($a,$b)"},
    {Ops::MULACC, kFloat, "fma($a,$b,$c)"},
};
// clang-format on

constexpr HelperText kOpenClHelpers[] = {
    {"half", "#pragma OPENCL EXTENSION cl_khr_fp16 : enable"},
    {"double", "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"},
    {"strata_bf16_round", R"(static inline float strata_bf16_round(float x) {
  uint u = as_uint(x);
  return as_float((x != x ? 2143289344u : u + 32767u + (u >> 16 & 1u)) & 4294901760u);
})"},
    // Subnormal f16 numbers are multiples of 2^-24, the distance of adjacent f32 numbers between 1/2 and 1. 947912704
    // is the f32 2^-14.
    {"strata_f16_load", R"(static inline float strata_f16_load(ushort h) {
  uint e = h >> 10 & 31u, m = h & 1023u;
  uint u = (e == 31u ? 2139095040u : (e + 112u) << 23) | m << 13;
  if (e == 0u) u = as_uint((float)m * 5.9604644775390625e-8f);
  return as_float(u | (h & 32768u) << 16);
})"},
    {"strata_f16_store", R"(static inline ushort strata_f16_store(float x) {
  uint u = as_uint(x), a = u & 2147483647u, h = (a - 939524096u) >> 13;
  if (a < 947912704u) h = (uint)(as_float(a) * 16777216.0f);
  if (a >= 2139095040u) h = a == 2139095040u ? 31744u : 32256u;
  return (ushort)((u >> 16 & 32768u) | h);
})"},
    {"strata_f16_round", R"(static inline float strata_f16_round(float x) {
  uint u = as_uint(x), a = u & 2147483647u;
  uint r = (a + 4095u + (a >> 13 & 1u)) & 4294959104u;
  if (r >= 1199570944u) r = 2139095040u;
  if (a < 947912704u) r = as_uint((as_float(a) + 0.5f) - 0.5f);
  if (a > 2139095040u) r = 2143289344u;
  return as_float(r | (u & 2147483648u));
})"},
    {"strata_round_odd", R"(static inline float strata_round_odd(double x) {
  double y = (float)x;
  uint u = as_uint((float)x);
  if (y != x && x == x && !(u & 1u)) u += (y < 0 ? y > x : y < x) || y == 0 ? 1u : -1u;
  return as_float(u);
})"},
};

constexpr int kOpenClLaneCounts[] = {2, 3, 4, 8, 16};

constexpr auto types_by_bits() {
  auto out = std::to_array(kOpenClTypes);
  for (TypeText& t : out)
    if (t.dtype == dtypes::float16) t.memory = "ushort";
  return out;
}
constexpr auto kOpenClTypesByBits = types_by_bits();

constexpr Language make_opencl(std::span<const TypeText> types, std::span<const NarrowText> narrow) {
  Language out;
  out.name = "OpenCL";
  out.types = types;
  out.narrow = narrow;
  out.ops = kOpenClOps;
  out.helpers = kOpenClHelpers;
  out.special = {"get_global_id($i)", "get_group_id($i)", "get_local_id($i)"};
  out.bits = "as_$T(($S)$a)";
  out.kernel = "__kernel void";
  out.space = "__global ";
  out.restricted = " restrict";
  out.local = "__local $T $n[$k];";
  out.barrier = "barrier(CLK_LOCAL_MEM_FENCE);";
  out.lane_counts = kOpenClLaneCounts;
  out.load_lanes = "vload$k(0, $p+$i)";
  out.store_lanes = "vstore$k(($T$k)($v), 0, $p+$i);";
  out.component = ".s$h";
  out.long_suffix = "l";
  out.infinity[1] = "(double)INFINITY";
  out.nan[1] = "(double)NAN";
  out.head = c_head;
  out.constant = c_constant;
  return out;
}

constexpr Language kOpenClLanguage = make_opencl(kOpenClTypes, kOpenClNarrow);
constexpr Language kOpenClLanguageByBits = make_opencl(kOpenClTypesByBits, kOpenClNarrowByBits);

}  // namespace
}  // namespace rendering

const Language& OpenCLLanguage() { return rendering::kOpenClLanguage; }
const Language& OpenCLLanguageWithoutHalf() { return rendering::kOpenClLanguageByBits; }

}  // namespace strata
