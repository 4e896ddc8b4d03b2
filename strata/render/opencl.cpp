// OpenCL C 1.2. Vectors are moved by vloadn and vstoren; arithmetic is on their lanes.
#include "strata/render/cstyle.h"

namespace strata {
namespace {

using namespace rendering;

// clang-format off
constexpr TypeText kTypes[] = {
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

constexpr NarrowText kNarrow[] = {
    {dtypes::float16,  "((float)$a)", "convert_half_rte($a)", "((float)convert_half_rte($a))",
                       "((float)convert_half_rte($a))"},
    {dtypes::bfloat16, "as_float((uint)$a<<16)", "((ushort)(as_uint($a)>>16))", "strata_bf16_round($a)",
                       "strata_bf16_round(strata_round_odd($a))"},
};

constexpr OpText kOps[] = {
    {Ops::ABS,    kFloat, "fabs($a)"},
    {Ops::SQRT,   kFloat, "sqrt($a)"},
    {Ops::TRUNC,  kFloat, "trunc($a)"},
    {Ops::FLOOR,  kFloat, "floor($a)"},
    {Ops::CEIL,   kFloat, "ceil($a)"},
    {Ops::ROUND,  kFloat, "rint($a)"},
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

constexpr HelperText kHelpers[] = {
    {"half", "#pragma OPENCL EXTENSION cl_khr_fp16 : enable"},
    {"double", "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"},
    {"strata_bf16_round", R"(static inline float strata_bf16_round(float x) {
  uint u = as_uint(x);
  return as_float((x != x ? 2143289344u : u + 32767u + (u >> 16 & 1u)) & 4294901760u);
})"},
    {"strata_round_odd", R"(static inline float strata_round_odd(double x) {
  double y = (float)x;
  uint u = as_uint((float)x);
  if (y != x && x == x && !(u & 1u)) u += (y < 0 ? y > x : y < x) || y == 0 ? 1u : -1u;
  return as_float(u);
})"},
};

constexpr int kLaneCounts[] = {2, 3, 4, 8, 16};

constexpr Language make() {
  Language out;
  out.name = "OpenCL";
  out.types = kTypes;
  out.narrow = kNarrow;
  out.ops = kOps;
  out.helpers = kHelpers;
  out.special = {"get_global_id($i)", "get_group_id($i)", "get_local_id($i)"};
  out.bits = "as_$T($a)";
  out.kernel = "__kernel void";
  out.space = "__global ";
  out.restricted = " restrict";
  out.local = "__local $T $n[$k];";
  out.barrier = "barrier(CLK_LOCAL_MEM_FENCE);";
  out.lane_counts = kLaneCounts;
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

constexpr Language kLanguage = make();

}  // namespace

const Language& OpenCLLanguage() { return kLanguage; }

}  // namespace strata
