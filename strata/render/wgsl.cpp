// WGSL, the shading language of WebGPU. It has i32, u32, f32, bool and, as an extension, f16. Integer overflow wraps.
// There is no `?:` but select(), and constants cannot be infinite or NaN.
#include "strata/base/check.h"
#include "strata/render/cstyle.h"

namespace strata {
namespace rendering {
namespace {

// clang-format off
constexpr TypeText kWgslTypes[] = {
    {dtypes::boolean, "bool", ""},
    {dtypes::int32,   "i32",  "i32"},
    {dtypes::uint32,  "u32",  "u32"},
    {dtypes::float16, "f32",  "f16"},
    {dtypes::float32, "f32",  "f32"},
};

constexpr NarrowText kWgslNarrow[] = {
    {dtypes::float16, "f32($a)", "f16($a)", "f32(f16($a))", ""},
};

constexpr OpText kWgslOps[] = {
    {Ops::NEG,    kUnsigned,       "(0u-$a)"},
    {Ops::NEG,    kSigned | kIndex, "(-$a)"},
    {Ops::ABS,    kFloat | kInt | kIndex, "abs($a)"},
    {Ops::NOT,    kInt | kIndex,   "(~$a)"},
    {Ops::NOT,    kBool,           "(!$a)"},
    {Ops::ADD,    kInt,            "($a+$b)"},
    {Ops::SUB,    kInt,            "($a-$b)"},
    {Ops::MUL,    kInt,            "($a*$b)"},
    {Ops::MULACC, kInt,            "($a*$b+$c)"},
    {Ops::MULACC, kFloat,          "fma($a,$b,$c)"},
    {Ops::IDIV,   kInt | kIndex,   "($a/$b)"},
    {Ops::MOD,    kInt | kIndex,   "($a%$b)"},
    {Ops::MAX,    kInt | kIndex,   "max($a,$b)"},
    {Ops::MAX,    kConstRight,     "select($a,$b,($b>$a))"},
    {Ops::MAX,    kFloat,          "select($b,$a,(($a>$b)|($a!=$a)))"},
    {Ops::MIN,    kInt | kIndex,   "min($a,$b)"},
    {Ops::MIN,    kConstRight,     "select($a,$b,($b<$a))"},
    {Ops::MIN,    kFloat,          "select($b,$a,(($a<$b)|($a!=$a)))"},
    {Ops::XOR,    kBool,           "($a!=$b)"},
    {Ops::SHL,    kConstRight,     "($a<<$bu)"},
    {Ops::SHL,    kInt | kIndex,   "select($T(0),($a<<(u32($b)&31u)),(u32($b)<32u))"},
    {Ops::SHR,    kConstRight,     "($a>>$bu)"},
    {Ops::SHR,    kUnsigned,       "select(0u,($a>>($b&31u)),($b<32u))"},
    {Ops::SHR,    kSigned | kIndex, "($a>>min(u32($b),31u))"},
    {Ops::CMPLT,  kBool,           "((!$a)&$b)"},
    {Ops::CMPEQ,  kBool,           "($a==$b)"},
    {Ops::CMPNE,  kBool,           "($a!=$b)"},
    {Ops::WHERE,  kAny | kIndex,   "select($c,$b,$a)"},
    {Ops::SQRT,   kFloat,          "sqrt($a)"},
    {Ops::TRUNC,  kFloat,          "trunc($a)"},
    {Ops::FLOOR,  kFloat,          "floor($a)"},
    {Ops::CEIL,   kFloat,          "ceil($a)"},
    {Ops::ROUND,  kFloat,          "round($a)"},
    {Ops::EXP2,   kFloat,          "exp2($a)"},
    {Ops::LOG2,   kFloat,          "log2($a)"},
    {Ops::EXP,    kFloat,          "exp($a)"},
    {Ops::LOG,    kFloat,          "log($a)"},
    {Ops::SIN,    kFloat,          "sin($a)"},
    {Ops::COS,    kFloat,          "cos($a)"},
    {Ops::TAN,    kFloat,          "tan($a)"},
    {Ops::ATAN,   kFloat,          "atan($a)"},
    {Ops::TANH,   kFloat,          "tanh($a)"},
    {Ops::POW,    kFloat,          "pow($a,$b)"},
    {Ops::ATAN2,  kFloat,          "atan2($a,$b)"},
};

/// Infinity and NaN are read from a variable, because the value of a constant expression must be finite.
constexpr HelperText kWgslHelpers[] = {
    {"f16", "enable f16;"},
    {"strata_inf", "fn strata_inf() -> f32 { var bits = 0x7f800000u; return bitcast<f32>(bits); }"},
    {"strata_nan", "fn strata_nan() -> f32 { var bits = 0x7fc00000u; return bitcast<f32>(bits); }"},
};
// clang-format on

std::string bindings(const Language& language, const Signature& signature) {
  std::string out;
  int binding = 0;
  const auto bind = [&](std::string_view space, std::string_view name, std::string_view type) {
    out += detail::message("@group(0) @binding(", std::to_string(binding++), ") var<", space, "> ", name, ": ", type,
                           ";\n");
  };
  for (const Parameter& p : signature.buffers)
    bind(p.stored ? "storage, read_write" : "storage, read", p.name,
         detail::message("array<", memory_type(language, p.dtype), ">"));
  for (const Parameter& p : signature.values) bind("uniform", p.name, value_type(language, p.dtype));
  return out;
}

std::string wgsl_head(const Language& language, const Signature& signature) {
  const bool counted = signature.has_special && !signature.in_groups;
  const auto size = [&](int axis) { return std::to_string(signature.group[axis]); };
  const std::string group = counted ? "64" : detail::message(size(0), ", ", size(1), ", ", size(2));
  return detail::message(bindings(language, signature), "@compute @workgroup_size(", group, ")\nfn ", signature.name,
                         "(@builtin(workgroup_id) gid: vec3<u32>, @builtin(local_invocation_id) lid: "
                         "vec3<u32>, @builtin(global_invocation_id) idx: vec3<u32>) {");
}

std::string wgsl_constant(const Language& language, const Scalar& value) {
  if (value.dtype().is_bool()) return value.as_bool() ? "true" : "false";
  return c_constant(language, value);
}

constexpr Language make_wgsl() {
  Language out;
  out.name = "WGSL";
  out.types = kWgslTypes;
  out.narrow = kWgslNarrow;
  out.ops = kWgslOps;
  out.helpers = kWgslHelpers;
  out.special = {"idx.$x", "gid.$x", "lid.$x"};
  out.declare = "let $n: $T = $v;";
  out.variable = "var $n: $T = $v;";
  out.array = "var $n = array<$T, $k>($v);";
  out.loop = "for (var $n: $T = $a; $n < $b; $n++) {";
  out.local = "var<workgroup> $n: array<$T, $k>;";
  out.own = "var $n: array<$T, $k>;";
  out.barrier = "workgroupBarrier();";
  out.convert = "$T($a)";
  out.bits = "bitcast<$T>($a)";
  out.infinity[0] = "strata_inf()";
  out.nan[0] = "strata_nan()";
  out.ternary = false;
  out.silence_unused = false;
  out.local_outside = true;
  out.head = wgsl_head;
  out.constant = wgsl_constant;
  return out;
}

constexpr Language kWgslLanguage = make_wgsl();

}  // namespace
}  // namespace rendering

const Language& WGSLLanguage() { return rendering::kWgslLanguage; }

}  // namespace strata
