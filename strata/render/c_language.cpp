// The language C: GNU C 11, for gcc and clang. A vector with a power of two lanes is a GNU vector (gnu_vector.cpp),
// another one an array.
#include "strata/render/cstyle.h"

namespace strata {
namespace rendering {
namespace {

// clang-format off
constexpr TypeText kCTypes[] = {
    {dtypes::boolean,  "unsigned char",      "unsigned char"},
    {dtypes::int8,     "signed char",        "signed char"},
    {dtypes::int16,    "short",              "short"},
    {dtypes::int32,    "int",                "int"},
    {dtypes::int64,    "long long",          "long long"},
    {dtypes::uint8,    "unsigned char",      "unsigned char"},
    {dtypes::uint16,   "unsigned short",     "unsigned short"},
    {dtypes::uint32,   "unsigned int",       "unsigned int"},
    {dtypes::uint64,   "unsigned long long", "unsigned long long"},
    {dtypes::float16,  "float",              "_Float16"},
    {dtypes::bfloat16, "float",              "unsigned short"},
    {dtypes::float32,  "float",              "float"},
    {dtypes::float64,  "double",             "double"},
};

constexpr NarrowText kCNarrow[] = {
    {dtypes::float16,  "((float)$a)", "((_Float16)$a)", "((float)(_Float16)$a)", "((float)(_Float16)$a)",
                       "((float)(_Float16)strata_fhide($a))"},
    {dtypes::bfloat16, "strata_bf16_load($a)", "strata_bf16_store($a)", "strata_bf16_round($a)",
                       "strata_bf16_round(strata_round_odd($a))"},
};

constexpr OpText kCOps[] = {
    {Ops::ABS,   kFloat, "strata_$fhide(__builtin_fabs$f($a))"},
    {Ops::SQRT,  kFloat, "__builtin_sqrt$f($a)"},
    {Ops::TRUNC, kFloat, "__builtin_trunc$f($a)"},
    {Ops::FLOOR, kFloat, "__builtin_floor$f($a)"},
    {Ops::CEIL,  kFloat, "__builtin_ceil$f($a)"},
    {Ops::ROUND, kFloat, "__builtin_rint$f($a)"},
    {Ops::WHERE, kNegated, "strata_$fhide($a?$b:$c)"},
};
// clang-format on

constexpr HelperText kCHelpers[] = {
    // An arithmetic fence, which hides a value from two bugs of clang 19 (LLVM's InstCombine). With an absolute value a
    // = fabs(-1),
    // `a != a ? a : a > 0 ? a : 0` becomes 0. An integer with few significant bits counts as exact in f16, so
    // f16(65536) becomes 65536
    // instead of infinity.
    {"strata_fhide", R"(static inline float strata_fhide(float x) {
#if defined(__clang__) && __clang_major__ >= 14
#pragma clang fp reassociate(on)
  return __arithmetic_fence(x);
#else
  return x;
#endif
})"},
    {"strata_hide", R"(static inline double strata_hide(double x) {
#if defined(__clang__) && __clang_major__ >= 14
#pragma clang fp reassociate(on)
  return __arithmetic_fence(x);
#else
  return x;
#endif
})"},
    // The same for vectors, as a macro. The operand must be a variable, because the pragma would also apply to the
    // expression of the
    // operand.
    {"strata_vhide", R"c(#if defined(__clang__) && __clang_major__ >= 14
#define strata_vhide(x) __extension__({ _Pragma("clang fp reassociate(on)") __arithmetic_fence(x); })
#else
#define strata_vhide(x) (x)
#endif)c"},
    {"strata_bf16_load", R"(static inline float strata_bf16_load(unsigned short x) {
  union { unsigned int u; float f; } v = {(unsigned int)x << 16};
  return v.f;
})"},
    {"strata_bf16_store", R"(static inline unsigned short strata_bf16_store(float x) {
  union { float f; unsigned int u; } v = {x};
  return (unsigned short)(v.u >> 16);
})"},
    {"strata_bf16_round", R"(static inline float strata_bf16_round(float x) {
  union { float f; unsigned int u; } v = {x};
  v.u = (x != x ? 2143289344u : v.u + 32767u + (v.u >> 16 & 1u)) & 4294901760u;
  return v.f;
})"},
    {"strata_round_odd", R"(static inline float strata_round_odd(double x) {
  union { float f; unsigned int u; } v = {(float)x};
  double y = v.f;
  if (y != x && x == x && !(v.u & 1u)) v.u += (y < 0 ? y > x : y < x) || y == 0 ? 1u : -1u;
  return v.f;
})"},
    // Non-temporal stores, by the processor's instruction if the compiler may use it, else plain stores. Sanitizers do
    // not see assembly, so
    // builds with a sanitizer define STRATA_PLAIN_STORES. The bits are stored as f32, because no register class accepts
    // vectors of f16.
    {"strata_stream16", R"(#if defined(__x86_64__) && !defined(STRATA_PLAIN_STORES)
#define strata_stream16(to, v) __asm__("movntps %1, %0" : "=m"(*(to)) : "x"((__attribute__((vector_size(16))) float)(v)))
#else
#define strata_stream16(to, v) (*(to) = (v))
#endif)"},
    {"strata_stream32", R"(#if defined(__AVX__) && !defined(STRATA_PLAIN_STORES)
#define strata_stream32(to, v) __asm__("vmovntps %1, %0" : "=m"(*(to)) : "x"((__attribute__((vector_size(32))) float)(v)))
#else
#define strata_stream32(to, v) (*(to) = (v))
#endif)"},
    {"strata_stream64", R"(#if defined(__AVX512F__) && !defined(STRATA_PLAIN_STORES)
#define strata_stream64(to, v) __asm__("vmovntps %1, %0" : "=m"(*(to)) : "v"((__attribute__((vector_size(64))) float)(v)))
#else
#define strata_stream64(to, v) (*(to) = (v))
#endif)"},
    {"strata_fence", R"(#if defined(__x86_64__)
#define strata_fence() __asm__ volatile("sfence" ::: "memory")
#else
#define strata_fence() ((void)0)
#endif)"},
};

constexpr Language make_c() {
  Language out;
  out.name = "C";
  out.types = kCTypes;
  out.narrow = kCNarrow;
  out.ops = kCOps;
  out.helpers = kCHelpers;
  out.bits = "((union{$S x;$T y;}){.x=$a}).y";
  out.restricted = " restrict";
  out.infinity[0] = "__builtin_inff()";
  out.infinity[1] = "__builtin_inf()";
  out.nan[0] = "__builtin_nanf(\"\")";
  out.nan[1] = "__builtin_nan(\"\")";
  out.gnu_vectors = true;
  out.head = c_head;
  out.constant = c_constant;
  return out;
}

constexpr Language kCLanguage = make_c();

}  // namespace
}  // namespace rendering

const Language& CLanguage() { return rendering::kCLanguage; }

}  // namespace strata
