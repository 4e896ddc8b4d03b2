// Metal's shading language. It has no f64, and not in all versions 64-bit integers. Vectors of 2 to 4 lanes are loaded
// and stored as packed vectors.
#include "strata/base/check.h"
#include "strata/render/cstyle.h"

namespace strata {
namespace rendering {
namespace {

// clang-format off
constexpr TypeText kMetalTypes[] = {
    {dtypes::boolean,  "uchar",  "uchar"},
    {dtypes::int8,     "char",   "char"},
    {dtypes::int16,    "short",  "short"},
    {dtypes::int32,    "int",    "int"},
    {dtypes::uint8,    "uchar",  "uchar"},
    {dtypes::uint16,   "ushort", "ushort"},
    {dtypes::uint32,   "uint",   "uint"},
    {dtypes::float16,  "float",  "half"},
    {dtypes::bfloat16, "float",  "ushort"},
    {dtypes::float32,  "float",  "float"},
};

constexpr NarrowText kMetalNarrow[] = {
    {dtypes::float16,  "float($a)", "half($a)", "float(half($a))", ""},
    {dtypes::bfloat16, "as_type<float>((uint)$a<<16)", "((ushort)(as_type<uint>($a)>>16))", "strata_bf16_round($a)",
                       ""},
};

constexpr OpText kMetalOps[] = {
    {Ops::ABS,    kFloat, "fabs($a)"},
    {Ops::SQRT,   kFloat, "precise::sqrt($a)"},
    {Ops::TRUNC,  kFloat, "trunc($a)"},
    {Ops::FLOOR,  kFloat, "floor($a)"},
    {Ops::CEIL,   kFloat, "ceil($a)"},
    {Ops::ROUND,  kFloat, "rint($a)"},
    {Ops::EXP2,   kFloat, "precise::exp2($a)"},
    {Ops::LOG2,   kFloat, "precise::log2($a)"},
    {Ops::EXP,    kFloat, "precise::exp($a)"},
    {Ops::LOG,    kFloat, "precise::log($a)"},
    {Ops::SIN,    kFloat, "precise::sin($a)"},
    {Ops::COS,    kFloat, "precise::cos($a)"},
    {Ops::TAN,    kFloat, "precise::tan($a)"},
    {Ops::ATAN,   kFloat, "precise::atan($a)"},
    {Ops::TANH,   kFloat, "precise::tanh($a)"},
    {Ops::POW,    kFloat, "precise::pow($a,$b)"},
    {Ops::ATAN2,  kFloat, "precise::atan2($a,$b)"},
    {Ops::MULACC, kFloat, "fma($a,$b,$c)"},
};
// clang-format on

constexpr HelperText kMetalHelpers[] = {
    {"strata_bf16_round", R"(static inline float strata_bf16_round(float x) {
  uint u = as_type<uint>(x);
  return as_type<float>((x != x ? 2143289344u : u + 32767u + (u >> 16 & 1u)) & 4294901760u);
})"},
};

std::string metal_head(const Language& language, const Signature& signature) {
  Signature buffers = signature;
  buffers.values.clear();
  std::string parameters = c_parameters(language, buffers);
  for (const Parameter& p : signature.values)
    parameters +=
        detail::message(parameters.empty() ? "" : ", ", "constant ", value_type(language, p.dtype), "& ", p.name);
  const bool counted = signature.has_special && !signature.in_groups;
  return detail::message(language.kernel, " ", signature.name, "(", parameters, parameters.empty() ? "" : ", ",
                         "uint3 gid [[", counted ? "thread_position_in_grid" : "threadgroup_position_in_grid",
                         "]], uint3 lid [[thread_position_in_threadgroup]]) {");
}

constexpr int kMetalLaneCounts[] = {2, 3, 4};

constexpr Language make_metal() {
  Language out;
  out.name = "Metal";
  out.types = kMetalTypes;
  out.narrow = kMetalNarrow;
  out.ops = kMetalOps;
  out.helpers = kMetalHelpers;
  out.prelude = "#include <metal_stdlib>\nusing namespace metal;\n";
  out.special = {"gid.$x", "gid.$x", "lid.$x"};
  out.bits = "as_type<$T>(($S)$a)";
  out.kernel = "kernel void";
  out.space = "device ";
  out.local = "threadgroup $T $n[$k];";
  out.barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";
  out.lane_counts = kMetalLaneCounts;
  out.vectors_anywhere = false;
  out.load_lanes = "*(device const packed_$T$k*)($p+$i)";
  out.store_lanes = "*(device packed_$T$k*)($p+$i) = packed_$T$k($v);";
  out.head = metal_head;
  out.constant = c_constant;
  return out;
}

constexpr Language kMetalLanguage = make_metal();

}  // namespace
}  // namespace rendering

const Language& MetalLanguage() { return rendering::kMetalLanguage; }

}  // namespace strata
