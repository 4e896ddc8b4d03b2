// The languages PlainC and VectorC: C of files that others compile (export/). The text is ISO C 11 and C++ at once;
// that of VectorC has GNU vectors. Nothing is taken from libm: the roots and roundings are helpers, which give the same
// bits as a processor's instructions.
#include "strata/render/cstyle.h"

namespace strata {
namespace rendering {
namespace {

// clang-format off
constexpr TypeText kExportedTypes[] = {
    {dtypes::boolean,  "uint8_t",  "uint8_t"},
    {dtypes::int8,     "int8_t",   "int8_t"},
    {dtypes::int16,    "int16_t",  "int16_t"},
    {dtypes::int32,    "int32_t",  "int32_t"},
    {dtypes::int64,    "int64_t",  "int64_t"},
    {dtypes::uint8,    "uint8_t",  "uint8_t"},
    {dtypes::uint16,   "uint16_t", "uint16_t"},
    {dtypes::uint32,   "uint32_t", "uint32_t"},
    {dtypes::uint64,   "uint64_t", "uint64_t"},
    {dtypes::float16,  "float",    "uint16_t"},
    {dtypes::bfloat16, "float",    "uint16_t"},
    {dtypes::float32,  "float",    "float"},
    {dtypes::float64,  "double",   "double"},
};

constexpr NarrowText kExportedNarrow[] = {
    {dtypes::float16,  "strata_f16_load($a)", "strata_f16_store($a)", "strata_f16_load(strata_f16_store($a))",
                       "strata_f16_load(strata_f16_store(strata_round_odd($a)))"},
    {dtypes::bfloat16, "strata_bf16_load($a)", "strata_bf16_store($a)", "strata_bf16_round($a)",
                       "strata_bf16_round(strata_round_odd($a))"},
};

constexpr OpText kExportedOps[] = {
    {Ops::ABS,   kFloat, "strata_hide_$S(strata_abs_$S($a))"},
    {Ops::SQRT,  kFloat, "strata_sqrt_$S($a)"},
    {Ops::TRUNC, kFloat, "strata_trunc_$S($a)"},
    {Ops::FLOOR, kFloat, "strata_floor_$S($a)"},
    {Ops::CEIL,  kFloat, "strata_ceil_$S($a)"},
    {Ops::ROUND, kFloat, "strata_round_$S($a)"},
    {Ops::WHERE, kNegated, "strata_hide_$S($a?$b:$c)"},
    {Ops::NOT,   kBool,  "((uint8_t)($a^1))"},
    {Ops::ADD,   kBool,  "((uint8_t)($a|$b))"},
    {Ops::MUL,   kBool,  "((uint8_t)($a&$b))"},
    {Ops::MAX,   kBool,  "((uint8_t)($a|$b))"},
    {Ops::MIN,   kBool,  "((uint8_t)($a&$b))"},
    {Ops::AND,   kBool,  "((uint8_t)($a&$b))"},
    {Ops::OR,    kBool,  "((uint8_t)($a|$b))"},
    {Ops::XOR,   kBool,  "((uint8_t)($a^$b))"},
    {Ops::CMPLT, kBool,  "((uint8_t)(($a^1)&$b))"},
    {Ops::CMPEQ, kBool,  "((uint8_t)($a^$b^1))"},
    {Ops::CMPNE, kBool,  "((uint8_t)($a^$b))"},
    {Ops::AND,   kInt | kIndex, "(($T)($a&$b))"},
    {Ops::OR,    kInt | kIndex, "(($T)($a|$b))"},
    {Ops::XOR,   kInt | kIndex, "(($T)($a^$b))"},
    {Ops::SHR,   kConstRight,   "(($T)($a>>$b))"},
    {Ops::SHR,   kSigned | kIndex, "(($T)($a>>(($V)$b<$W?$b:$M)))"},
    {Ops::MAX,   kInt | kIndex, "(($T)($a>$b?$a:$b))"},
    {Ops::MIN,   kInt | kIndex, "(($T)($a<$b?$a:$b))"},
};

/// The bits of a value of one type as a value of another one.
#define STRATA_BITS(from, to)                                                  \
  {"strata_bits_" #from "_" #to, "static inline " #to " strata_bits_" #from "_" #to "(" #from " x) {\n" \
                                 "  union { " #from " from; " #to " to; } v;\n"                         \
                                 "  v.from = x;\n"                                                      \
                                 "  return v.to;\n"                                                     \
                                 "}"}
/// The helpers of a float type. The first hides a value from clang, which computes with absolute values incorrectly
/// (c_language.cpp). `u` and `i` are the integers of its width. A processor's square root has the same bits.
#define STRATA_REAL(type, u, i, sign, limit, one, bits, exponent, bias, half, precise, steps, x86, arm)                \
  {"strata_hide_" #type,                                                                                               \
   "static inline " #type " strata_hide_" #type "(" #type " x) {\n"                                                    \
   "#if defined(__clang__) && __clang_major__ >= 14 && (defined(__x86_64__) || defined(__aarch64__))\n"               \
   "#pragma clang fp reassociate(on)\n"                                                                               \
   "  return __arithmetic_fence(x);\n"                                                                                \
   "#elif defined(__clang__)\n"                                                                                       \
   "  " #u " bits = strata_bits_" #type "_" #u "(x);\n"                                                               \
   "  __asm__(\"\" : \"+r\"(bits));\n"                                                                                \
   "  return strata_bits_" #u "_" #type "(bits);\n"                                                                   \
   "#else\n"                                                                                                          \
   "  return x;\n"                                                                                                    \
   "#endif\n"                                                                                                         \
   "}"},                                                                                                               \
  {"strata_abs_" #type,                                                                                                \
   "static inline " #type " strata_abs_" #type "(" #type " x) {\n"                                                     \
   "  return strata_bits_" #u "_" #type "(strata_bits_" #type "_" #u "(x) & ~" sign ");\n"                             \
   "}"},                                                                                                               \
  {"strata_signed_" #type,                                                                                             \
   "static inline " #type " strata_signed_" #type "(" #type " x, " #type " like) {\n"                                  \
   "  return strata_bits_" #u "_" #type "((strata_bits_" #type "_" #u "(x) & ~" sign ") |\n"                           \
   "    (strata_bits_" #type "_" #u "(like) & " sign "));\n"                                                           \
   "}"},                                                                                                               \
  {"strata_trunc_" #type,                                                                                              \
   "static inline " #type " strata_trunc_" #type "(" #type " x) {\n"                                                   \
   "  if (!(x > -" limit " && x < " limit ")) { return x; }\n"                                                         \
   "  return strata_signed_" #type "((" #type ")(" #i ")x, x);\n"                                                      \
   "}"},                                                                                                               \
  {"strata_floor_" #type,                                                                                              \
   "static inline " #type " strata_floor_" #type "(" #type " x) {\n"                                                   \
   "  const " #type " t = strata_trunc_" #type "(x);\n"                                                                \
   "  return t > x ? t - " one " : t;\n"                                                                               \
   "}"},                                                                                                               \
  {"strata_ceil_" #type,                                                                                               \
   "static inline " #type " strata_ceil_" #type "(" #type " x) {\n"                                                    \
   "  const " #type " t = strata_trunc_" #type "(x);\n"                                                                \
   "  return t < x ? strata_signed_" #type "(t + " one ", x) : t;\n"                                                   \
   "}"},                                                                                                               \
  {"strata_round_" #type,                                                                                              \
   "static inline " #type " strata_round_" #type "(" #type " x) {\n"                                                   \
   "  const " #type " t = strata_trunc_" #type "(x);\n"                                                                \
   "  const " #type " rest = strata_signed_" #type "(x - t, " one ");\n"                                               \
   "  if (!(x > -" limit " && x < " limit ")) { return x; }\n"                                                         \
   "  if (rest > " half " || (rest == " half " && ((" #i ")t & 1) != 0)) {\n"                                          \
   "    return strata_signed_" #type "(t + strata_signed_" #type "(" one ", x), x);\n"                                 \
   "  }\n"                                                                                                             \
   "  return t;\n"                                                                                                     \
   "}"},                                                                                                               \
  {"strata_sqrt_" #type,                                                                                               \
   "static inline " #type " strata_sqrt_" #type "(" #type " x) {\n"                                                    \
   "#if defined(__SSE2__) && defined(__GNUC__) && !defined(__TINYC__)\n"                                               \
   "  " #type " y;\n"                                                                                                  \
   "  __asm__(\"" x86 " %1, %0\" : \"=x\"(y) : \"x\"(x));\n"                                                           \
   "  return y;\n"                                                                                                     \
   "#elif defined(__aarch64__) && defined(__GNUC__) && !defined(__TINYC__)\n"                                          \
   "  " #type " y;\n"                                                                                                  \
   "  __asm__(\"fsqrt " arm "\" : \"=w\"(y) : \"w\"(x));\n"                                                            \
   "  return y;\n"                                                                                                     \
   "#else\n"                                                                                                           \
   "  " #u " bits = strata_bits_" #type "_" #u "(x), root = 0, rest = 0, mark;\n"                                      \
   "  int32_t scale, k;\n"                                                                                             \
   "  if (!(x > 0)) { return x == 0 ? x : strata_bits_" #u "_" #type "(" precise "); }\n"                              \
   "  if (bits >= " exponent ") { return x; }\n"                                                                       \
   "  scale = (int32_t)(bits >> " bits ");\n"                                                                          \
   "  mark = (" #u ")1 << " bits ";\n"                                                                                 \
   "  bits = scale != 0 ? (bits & (mark - 1)) | mark : bits;\n"                                                        \
   "  scale = scale != 0 ? scale : 1;\n"                                                                               \
   "  while (bits < mark) { bits <<= 1; --scale; }\n"                                                                  \
   "  scale -= " bias ";\n"                                                                                            \
   "  if ((scale & 1) != 0) { bits <<= 1; --scale; }\n"                                                                \
   "  bits <<= 1;  /* one bit more of the root, for rounding */\n"                                                     \
   "  for (k = 0, mark <<= 1; k < " steps "; ++k, mark >>= 1) {\n"                                                     \
   "    if (rest + mark <= bits) {\n"                                                                                  \
   "      rest += mark + mark;\n"                                                                                      \
   "      bits -= rest - mark;\n"                                                                                      \
   "      root += mark;\n"                                                                                             \
   "    }\n"                                                                                                           \
   "    bits <<= 1;\n"                                                                                                 \
   "  }\n"                                                                                                             \
   "  root = (root >> 1) + (root & 1);  /* the square of a half is no float: no ties */\n"                             \
   "  return strata_bits_" #u "_" #type "(root + ((" #u ")(scale / 2 + " bias " - 1) << " bits "));\n"                 \
   "#endif\n"                                                                                                          \
   "}"}

/// The load and the store of a vector with a gate for each lane, as macros: compilers remark on functions of vectors that the
/// processor may lack. By the processor's instruction where the compiler may use it; between the pragmas of a target clang
/// defines no macros of the processor, so choice_text.cpp (export/) defines strata_has_avx2 and strata_has_avx512.
#define STRATA_READ(size, k) "(gates)[" #k "] != 0 ? ((const strata_lane_" size " *)(p))[(i) + " #k "] : 0"
#define STRATA_WRITE(size, k) \
  "if ((gates)[" #k "] != 0) { ((strata_lane_" size " *)(p))[(i) + " #k "] = ((strata_gates_" size ")(v))[" #k "]; }"
#define STRATA_READS_4(size) \
  STRATA_READ(size, 0) ", \\\n  " \
  STRATA_READ(size, 1) ", \\\n  " \
  STRATA_READ(size, 2) ", \\\n  " \
  STRATA_READ(size, 3)
#define STRATA_WRITES_4(size) \
  STRATA_WRITE(size, 0) " \\\n  " \
  STRATA_WRITE(size, 1) " \\\n  " \
  STRATA_WRITE(size, 2) " \\\n  " \
  STRATA_WRITE(size, 3)
#define STRATA_READS_8(size) \
  STRATA_READS_4(size) ", \\\n  " \
  STRATA_READ(size, 4) ", \\\n  " \
  STRATA_READ(size, 5) ", \\\n  " \
  STRATA_READ(size, 6) ", \\\n  " \
  STRATA_READ(size, 7)
#define STRATA_WRITES_8(size) \
  STRATA_WRITES_4(size) " \\\n  " \
  STRATA_WRITE(size, 4) " \\\n  " \
  STRATA_WRITE(size, 5) " \\\n  " \
  STRATA_WRITE(size, 6) " \\\n  " \
  STRATA_WRITE(size, 7)
#define STRATA_READS_16(size) \
  STRATA_READS_8(size) ", \\\n  " \
  STRATA_READ(size, 8) ", \\\n  " \
  STRATA_READ(size, 9) ", \\\n  " \
  STRATA_READ(size, 10) ", \\\n  " \
  STRATA_READ(size, 11) ", \\\n  " \
  STRATA_READ(size, 12) ", \\\n  " \
  STRATA_READ(size, 13) ", \\\n  " \
  STRATA_READ(size, 14) ", \\\n  " \
  STRATA_READ(size, 15)
#define STRATA_WRITES_16(size) \
  STRATA_WRITES_8(size) " \\\n  " \
  STRATA_WRITE(size, 8) " \\\n  " \
  STRATA_WRITE(size, 9) " \\\n  " \
  STRATA_WRITE(size, 10) " \\\n  " \
  STRATA_WRITE(size, 11) " \\\n  " \
  STRATA_WRITE(size, 12) " \\\n  " \
  STRATA_WRITE(size, 13) " \\\n  " \
  STRATA_WRITE(size, 14) " \\\n  " \
  STRATA_WRITE(size, 15)
#define STRATA_MASKED(size, lane, lanes, bytes, real, integer, has, target, load, store)                              \
  {"strata_masked_" size,                                                                                             \
   "typedef " lane " strata_gates_" size " __attribute__((vector_size(" bytes ")));\n"                                \
   "typedef " lane " strata_lane_" size " __attribute__((may_alias));\n"                                              \
   "typedef " real " strata_real_" size " __attribute__((vector_size(" bytes ")));\n"                                 \
   "typedef " integer " strata_int_" size " __attribute__((vector_size(" bytes ")));\n"                               \
   "/* Elements i, i + 1, ... of p where the gates are open, else 0. What is behind closed gates is not touched. */\n" \
   "#if defined(" has ") || defined(" target ")\n"                                                                    \
   "#define strata_at_" size "(p, i) ((uintptr_t)(p) + (uintptr_t)(i) * sizeof(strata_lane_" size "))\n"              \
   "#define strata_masked_" size "_load(p, i, gates) ((strata_gates_" size ") \\\n  " load ")\n"                     \
   "#define strata_masked_" size "_store(p, i, gates, v) \\\n  " store "\n"                                          \
   "#else\n"                                                                                                          \
   "#define strata_masked_" size "_load(p, i, gates) ((strata_gates_" size "){ \\\n  " STRATA_READS_##lanes(size) "})\n" \
   "#define strata_masked_" size "_store(p, i, gates, v) do { \\\n  " STRATA_WRITES_##lanes(size) " \\\n  } while (0)\n" \
   "#endif"}

/// In front of each helper: those that its text calls.
constexpr HelperText kExportedHelpers[] = {
    STRATA_MASKED("32x8", "int32_t", 8, "32", "float", "int", "__AVX2__", "strata_has_avx2",
                  "__builtin_ia32_maskloadps256((const strata_real_32x8 *)strata_at_32x8(p, i), (strata_int_32x8)(gates))",
                  "__builtin_ia32_maskstoreps256((strata_real_32x8 *)strata_at_32x8(p, i), (strata_int_32x8)(gates), (strata_real_32x8)(v))"),
    STRATA_MASKED("64x4", "int64_t", 4, "32", "double", "long long", "__AVX2__", "strata_has_avx2",
                  "__builtin_ia32_maskloadpd256((const strata_real_64x4 *)strata_at_64x4(p, i), (strata_int_64x4)(gates))",
                  "__builtin_ia32_maskstorepd256((strata_real_64x4 *)strata_at_64x4(p, i), (strata_int_64x4)(gates), (strata_real_64x4)(v))"),
    STRATA_MASKED("32x16", "int32_t", 16, "64", "float", "int", "__AVX512DQ__", "strata_has_avx512",
                  "__builtin_ia32_loadups512_mask((const float *)strata_at_32x16(p, i), (strata_real_32x16){0}, \\\n"
                  "  (uint16_t)__builtin_ia32_cvtd2mask512((strata_int_32x16)(gates)))",
                  "__builtin_ia32_storeups512_mask((float *)strata_at_32x16(p, i), (strata_real_32x16)(v), \\\n"
                  "  (uint16_t)__builtin_ia32_cvtd2mask512((strata_int_32x16)(gates)))"),
    STRATA_MASKED("64x8", "int64_t", 8, "64", "double", "long long", "__AVX512DQ__", "strata_has_avx512",
                  "__builtin_ia32_loadupd512_mask((const double *)strata_at_64x8(p, i), (strata_real_64x8){0}, \\\n"
                  "  (uint8_t)__builtin_ia32_cvtq2mask512((strata_int_64x8)(gates)))",
                  "__builtin_ia32_storeupd512_mask((double *)strata_at_64x8(p, i), (strata_real_64x8)(v), \\\n"
                  "  (uint8_t)__builtin_ia32_cvtq2mask512((strata_int_64x8)(gates)))"),
    STRATA_BITS(float, float), STRATA_BITS(float, int32_t), STRATA_BITS(float, uint32_t),
    STRATA_BITS(int32_t, float), STRATA_BITS(int32_t, int32_t), STRATA_BITS(int32_t, uint32_t),
    STRATA_BITS(uint32_t, float), STRATA_BITS(uint32_t, int32_t), STRATA_BITS(uint32_t, uint32_t),
    STRATA_BITS(double, double), STRATA_BITS(double, int64_t), STRATA_BITS(double, uint64_t),
    STRATA_BITS(int64_t, double), STRATA_BITS(int64_t, int64_t), STRATA_BITS(int64_t, uint64_t),
    STRATA_BITS(uint64_t, double), STRATA_BITS(uint64_t, int64_t), STRATA_BITS(uint64_t, uint64_t),
    STRATA_BITS(int16_t, int16_t), STRATA_BITS(int16_t, uint16_t),
    STRATA_BITS(uint16_t, int16_t), STRATA_BITS(uint16_t, uint16_t),
    STRATA_BITS(int8_t, int8_t), STRATA_BITS(int8_t, uint8_t),
    STRATA_BITS(uint8_t, int8_t), STRATA_BITS(uint8_t, uint8_t),
    STRATA_REAL(float, uint32_t, int32_t, "0x80000000u", "8388608.0f", "1.0f", "23", "0x7f800000u", "127", "0.5f",
                "0x7fc00000u", "25", "sqrtss", "%s0, %s1"),
    STRATA_REAL(double, uint64_t, int64_t, "0x8000000000000000u", "4503599627370496.0", "1.0", "52",
                "0x7ff0000000000000u", "1023", "0.5", "0x7ff8000000000000u", "54", "sqrtsd", "%d0, %d1"),
    {"strata_round_odd", R"(static inline float strata_round_odd(double x) {
  const float near = (float)x;
  const double y = (double)near;
  uint32_t bits = strata_bits_float_uint32_t(near);
  if (y != x && x == x && (bits & 1u) == 0) {
    if ((y < 0 ? y > x : y < x) || y == 0) { ++bits; } else { --bits; }
  }
  return strata_bits_uint32_t_float(bits);
})"},
    {"strata_bf16_load", R"(static inline float strata_bf16_load(uint16_t x) {
  return strata_bits_uint32_t_float((uint32_t)x << 16);
})"},
    {"strata_bf16_store", R"(static inline uint16_t strata_bf16_store(float x) {
  return (uint16_t)(strata_bits_float_uint32_t(x) >> 16);
})"},
    {"strata_bf16_round", R"(static inline float strata_bf16_round(float x) {
  const uint32_t u = strata_bits_float_uint32_t(x);
  return strata_bits_uint32_t_float((x != x ? 0x7fc00000u : u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u);
})"},
    {"strata_f16_load", R"(static inline float strata_f16_load(uint16_t x) {
  const uint32_t sign = (uint32_t)(x & 0x8000u) << 16, rest = (uint32_t)(x & 0x7fffu) << 13;
  uint32_t bits = rest + 0x38000000u;
  if (rest >= 0x0f800000u) { bits = rest | 0x7f800000u; }
  if (rest < 0x00800000u) { bits = strata_bits_float_uint32_t((float)(x & 0x7fffu) * 0.000000059604644775390625f); }
  return strata_bits_uint32_t_float(bits | sign);
})"},
    {"strata_f16_store", R"(static inline uint16_t strata_f16_store(float x) {
  const uint32_t u = strata_bits_float_uint32_t(x), sign = u >> 16 & 0x8000u, rest = u & 0x7fffffffu;
  uint32_t out;
  if (rest > 0x7f800000u) {
    out = 0x7e00u;
  } else if (rest >= 0x47800000u) {
    out = 0x7c00u;
  } else if (rest >= 0x38800000u) {
    out = (rest - 0x38000000u + 0x0fffu + (rest >> 13 & 1u)) >> 13;
  } else {  /* the addition rounds to a multiple of 2^-24 */
    out = strata_bits_float_uint32_t(strata_bits_uint32_t_float(rest) + 0.5f) - 0x3f000000u;
  }
  return (uint16_t)(out | sign);
})"},
};
#undef STRATA_REAL
#undef STRATA_BITS
// clang-format on

constexpr Language make_exported(bool with_vectors) {
  Language out;
  out.name = with_vectors ? "VectorC" : "PlainC";
  out.types = kExportedTypes;
  out.narrow = kExportedNarrow;
  out.ops = kExportedOps;
  out.helpers = kExportedHelpers;
  out.bits = "strata_bits_$S_$T($a)";
  out.narrowed = "($T)$v";
  out.restricted = " strata_restrict";
  out.infinity[0] = "strata_bits_uint32_t_float(0x7f800000u)";
  out.infinity[1] = "strata_bits_uint64_t_double(0x7ff0000000000000u)";
  out.nan[0] = "strata_bits_uint32_t_float(0x7fc00000u)";
  out.nan[1] = "strata_bits_uint64_t_double(0x7ff8000000000000u)";
  out.kernel = "static void";
  out.vector_prefix = "strata_";
  out.gnu_vectors = with_vectors;
  out.streams = false;
  out.masks = with_vectors;
  out.head = c_head;
  out.constant = c_constant;
  return out;
}

constexpr Language kPlainC = make_exported(false);
constexpr Language kVectorC = make_exported(true);

}  // namespace
}  // namespace rendering

const Language& plain_c_language() { return rendering::kPlainC; }
const Language& vector_c_language() { return rendering::kVectorC; }

}  // namespace strata
