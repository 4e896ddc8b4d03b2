// The words that cannot be names of variables in at least one of the languages.
#include <algorithm>
#include <iterator>

#include "strata/render/writer.h"

namespace strata::rendering {
namespace {

// Keywords, types, and functions that the texts of rows call. A word with digits (float4, int8, f32x8) is listed
// without them.
// clang-format off
constexpr std::string_view kWords[] = {
    "abs", "abstract", "acos", "active", "alias", "alignas", "alignof", "and", "and_eq", "array",
    "as", "asin", "asm", "asm_fragment", "asuint", "async", "atan", "atomic", "atomic_bool",
    "atomic_flag", "atomic_float", "atomic_int", "atomic_uint", "attribute", "auto", "await",
    "barrier", "become", "bf", "bfloat", "bitand", "bitcast", "bitor", "bool", "break", "case",
    "cast", "catch", "cbuffer", "ceil", "char", "clamp", "class", "clk_event_t", "co_await",
    "co_return", "co_yield", "coherent", "column_major", "common", "compile", "compile_fragment",
    "compl", "complex", "concept", "const", "const_assert", "const_cast", "constant", "consteval",
    "constexpr", "constinit", "continue", "continuing", "cos", "crate", "debugger", "decltype",
    "default", "delete", "demote", "demote_to_helper", "device", "diagnostic", "dim", "discard",
    "do", "double", "dynamic_cast", "else", "enable", "enum", "event_t", "exp", "explicit",
    "export", "extends", "extern", "external", "f", "fabs", "fallthrough", "false", "filter",
    "final", "finally", "float", "floor", "fma", "fn", "for", "fragment", "friend", "from",
    "fxgroup", "generic", "get", "gid", "global", "goto", "groupshared", "half", "highp", "host",
    "i", "idx", "if", "image", "imaginary", "impl", "implements", "import", "inline",
    "instanceof", "int", "interface", "intersection", "intptr_t", "kernel", "layout", "let",
    "lid", "linux", "local", "log", "long", "loop", "lowp", "macro", "macro_rules", "mat",
    "match", "matrix", "max", "mediump", "mesh", "meta", "metal", "min", "mod", "module", "move",
    "mut", "mutable", "namespace", "ndrange_t", "new", "nil", "noexcept", "noinline",
    "nointerpolation", "noperspective", "not", "not_eq", "NULL", "null", "nullptr", "nv_bfloat",
    "object", "object_data", "of", "operator", "or", "or_eq", "override", "package",
    "packed_bool", "packed_char", "packed_float", "packed_half", "packed_int", "packed_short",
    "packed_uchar", "packed_uint", "packed_ushort", "packoffset", "partial", "pass", "patch",
    "payload", "pipe", "pixelfragment", "pow", "precise", "precision", "premerge", "priv",
    "private", "protected", "ptr", "ptrdiff_t", "pub", "public", "quad", "queue_t", "ray_data",
    "read_only", "read_write", "readonly", "ref", "regardless", "register", "reinterpret_cast",
    "require", "requires", "reserve_id_t", "resource", "restrict", "return", "rint", "round",
    "sampler", "sampler_t", "select", "Self", "self", "set", "shared", "short", "signed", "sin",
    "size_t", "sizeof", "smooth", "snorm", "sqrt", "static", "static_assert", "static_cast",
    "std", "struct", "subroutine", "super", "switch", "tan", "tanh", "target", "template",
    "texture", "this", "thread", "thread_local", "threadgroup", "threadgroup_imageblock", "throw",
    "trait", "true", "trunc", "try", "type", "typedef", "typeid", "typename", "typeof",
    "typeof_unqual", "u", "uchar", "uint", "uintptr_t", "ulong", "uniform", "union", "unix",
    "unless", "unorm", "unsafe", "unsigned", "unsized", "use", "ushort", "using", "var",
    "varying", "vec", "vector", "vertex", "virtual", "visible", "void", "volatile", "wchar_t",
    "wgsl", "where", "while", "with", "workgroup", "write_only", "writeonly", "xor", "xor_eq",
    "yield",
};

// Functions, variables and macros of the languages, which a variable of the same name would hide.
constexpr std::string_view kGlobals[] = {
    "acosh", "add_sat", "all", "any", "arrayLength", "as_type", "asinh", "assert", "atanh",
    "atom", "atomicAdd", "ballot", "blockDim", "blockIdx", "cbrt", "CHAR_BIT", "CHAR_MAX",
    "CHAR_MIN", "CLK_GLOBAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE", "clz", "copysign", "cosh",
    "countOneBits", "cross", "DBL_EPSILON", "DBL_MAX", "DBL_MIN", "degrees", "determinant",
    "distance", "dot", "dpdx", "dpdy", "erf", "erfc", "errno", "exp_m", "expm", "extractBits",
    "faceForward", "fdim", "FLT_EPSILON", "FLT_MAX", "FLT_MIN", "fmax", "fmin", "fmod", "fract",
    "frexp", "fwidth", "gridDim", "HALF_MAX", "HALF_MIN", "HUGE_VAL", "HUGE_VALF", "hypot",
    "ilogb", "inf", "INFINITY", "infinity", "insertBits", "INT_MAX", "INT_MIN", "inverseSqrt",
    "isfinite", "isinf", "isnan", "isnormal", "ldexp", "length", "lgamma", "logb", "LONG_MAX",
    "LONG_MIN", "M_E", "M_PI", "mad", "mad_sat", "main", "make_char", "make_double", "make_float",
    "make_half", "make_int", "make_long", "make_short", "make_uchar", "make_uint", "make_ulong",
    "make_ushort", "MAXFLOAT", "mem_flags", "memcpy", "memset", "mix", "modf", "mul_hi", "NAN",
    "nan", "native_cos", "native_divide", "native_exp", "native_log", "native_powr",
    "native_recip", "native_rsqrt", "native_sin", "native_sqrt", "native_tan", "nextafter",
    "normalize", "powr", "printf", "radians", "rand", "reflect", "refract", "remainder", "remquo",
    "reverseBits", "rhadd", "rotate", "rsqrt", "saturate", "SHRT_MAX", "SHRT_MIN", "sign",
    "signbit", "sincos", "sinh", "sinpi", "smoothstep", "step", "storageBarrier", "sub_sat",
    "tgamma", "threadIdx", "transpose", "UCHAR_MAX", "UINT_MAX", "ULONG_MAX", "unpack",
    "upsample", "USHRT_MAX", "warpSize", "workgroupBarrier",
};
// clang-format on

/// Whether `name`, up to its first digit, is one of `words`.
template <std::size_t N>
bool is_one_of(const std::string_view (&words)[N], std::string_view name) {
  // E.g. f32x8u and float4x4 are types: compare the part before the first digit.
  const std::size_t end = name.find_first_of("0123456789");
  const std::string_view stem = name.substr(0, end);
  if (end == std::string_view::npos && stem.size() == 1) return false;
  return std::find(std::begin(words), std::end(words), stem) != std::end(words);
}

}  // namespace

bool is_reserved(std::string_view name) {
  if (name.starts_with("_") || name.starts_with("strata_")) return true;
  return name.find("__") != std::string_view::npos || is_one_of(kWords, name);
}

bool is_taken(std::string_view name) {
  for (const std::string_view family :
       {"as_", "atomic_", "convert_", "get_", "make_", "mem_", "native_", "threadgroup_"})
    if (name.starts_with(family)) return true;
  return is_reserved(name) || is_one_of(kGlobals, name);
}

}  // namespace strata::rendering
