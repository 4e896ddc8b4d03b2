/* What ARM's ABI for programs without a system (RTABI) names, and compilers call where a processor has no such
 * instruction: doubles, 64-bit integers to and from floats, divisions. All by integers; floats are their bits, in the
 * registers where that ABI has them. NaNs are quiet, and the result is one of them. The functions without "__aeabi_" in
 * front are for the test of this file. */
#include <stdint.h>

#include "machine.h"

typedef struct format {
  int fraction;  /* bits */
  int exponents; /* bits */
} format;
static const format kSingle = {23, 8}, kDouble = {52, 11};

/* (-1)^sign * m / 2^63 * 2^e, of m with the highest bit set; zero; infinite; or no number. */
typedef struct value {
  int sign, e;
  uint64_t m;
  enum { kZero, kFinite, kInfinite, kNone } kind;
} value;

static int bias_of(format f) { return (1 << (f.exponents - 1)) - 1; }
static uint64_t infinity_of(format f) { return ((UINT64_C(1) << f.exponents) - 1) << f.fraction; }

static value normalised(int sign, int e, uint64_t m) {
  value v;
  v.sign = sign, v.e = e, v.m = m, v.kind = m == 0 ? kZero : kFinite;
  while (v.m != 0 && v.m >> 63 == 0) v.m <<= 1, --v.e;
  return v;
}

static value unpacked(uint64_t bits, format f) {
  const int sign = (int)(bits >> (f.fraction + f.exponents) & 1);
  const int e = (int)(bits >> f.fraction & ((UINT64_C(1) << f.exponents) - 1));
  const uint64_t fraction = bits & ((UINT64_C(1) << f.fraction) - 1);
  value v;
  if (e != (1 << f.exponents) - 1) {
    const uint64_t m = fraction | (uint64_t)(e != 0) << f.fraction;
    return normalised(sign, (e == 0 ? 1 : e) - bias_of(f) + 63 - f.fraction, m);
  }
  v.sign = sign, v.e = 0, v.m = fraction, v.kind = fraction != 0 ? kNone : kInfinite;
  return v;
}

/* m / 2^by, with the last bit set where bits were lost. */
static uint64_t shifted(uint64_t m, int by) {
  if (by <= 0) return m;
  if (by >= 64) return m != 0;
  return m >> by | (uint64_t)((m & ((UINT64_C(1) << by) - 1)) != 0);
}

/* The nearest, even in the middle. */
static uint64_t packed(value v, format f) {
  const uint64_t sign = (uint64_t)v.sign << (f.fraction + f.exponents);
  const int drop = 63 - f.fraction, least = 1 - bias_of(f);
  uint64_t m, half, bits;
  if (v.kind == kZero) return sign;
  if (v.kind == kInfinite) return sign | infinity_of(f);
  if (v.kind == kNone) return infinity_of(f) | UINT64_C(1) << (f.fraction - 1);
  if (v.e > bias_of(f)) return sign | infinity_of(f);
  m = v.e < least ? shifted(v.m, least - v.e) : v.m;
  half = UINT64_C(1) << (drop - 1);
  bits = m >> drop;
  if ((m & (2 * half - 1)) > half || ((m & (2 * half - 1)) == half && (bits & 1) != 0)) ++bits;
  if (v.e >= least) bits += (uint64_t)(v.e - least) << f.fraction;
  return sign | bits;
}

static value none(void) {
  value v;
  v.sign = 0, v.e = 0, v.m = 1, v.kind = kNone;
  return v;
}

static value sum(value a, value b) {
  if (a.kind == kNone || b.kind == kNone) return none();
  if (a.kind == kInfinite) return b.kind == kInfinite && a.sign != b.sign ? none() : a;
  if (b.kind == kInfinite || a.kind == kZero) {
    if (a.kind == kZero && b.kind == kZero) b.sign &= a.sign;
    return b;
  }
  if (b.kind == kZero) return a;
  if (a.e < b.e || (a.e == b.e && a.m < b.m)) {
    const value swapped = a;
    a = b, b = swapped;
  }
  const uint64_t large = a.m >> 1, small = shifted(b.m >> 1, a.e - b.e); /* at most 53 bits are set: none is lost */
  const value out = normalised(a.sign, a.e + 1, a.sign == b.sign ? large + small : large - small);
  if (out.kind == kZero) return normalised(0, 0, 0);
  return out;
}

static value times(value a, value b) {
  uint64_t low, middle, high;
  value out;
  if (a.kind == kNone || b.kind == kNone) return none();
  if ((a.kind == kInfinite && b.kind == kZero) || (a.kind == kZero && b.kind == kInfinite)) return none();
  out = a.kind == kInfinite || a.kind == kZero ? a : b;
  out.sign = a.sign ^ b.sign;
  if (a.kind != kFinite || b.kind != kFinite) return out;
  low = (a.m & UINT32_MAX) * (b.m & UINT32_MAX);
  middle = (a.m >> 32) * (b.m & UINT32_MAX) + (low >> 32);
  high = (a.m >> 32) * (b.m >> 32) + (middle >> 32);
  middle = (a.m & UINT32_MAX) * (b.m >> 32) + (middle & UINT32_MAX);
  high += middle >> 32;
  if ((middle & UINT32_MAX) != 0 || (low & UINT32_MAX) != 0) high |= 1;
  return normalised(out.sign, a.e + b.e + 1, high);
}

static value over(value a, value b) {
  uint64_t quotient = 0, rest;
  int k;
  value out;
  if (a.kind == kNone || b.kind == kNone || (a.kind == b.kind && a.kind != kFinite)) return none();
  out = a;
  out.sign = a.sign ^ b.sign;
  if (b.kind == kInfinite) out.kind = kZero;
  if (b.kind == kZero) out.kind = kInfinite;
  if (a.kind != kFinite || b.kind != kFinite) return out;
  rest = a.m >> 1;
  for (k = 0; k < 62; ++k) {
    quotient <<= 1;
    if (rest >= b.m >> 1) rest -= b.m >> 1, quotient |= 1;
    rest <<= 1;
  }
  return normalised(out.sign, a.e - b.e + 2, quotient | (uint64_t)(rest != 0));
}

/* Less, equal, greater: -1, 0, 1; 2 where one is no number. */
static int compared(uint64_t a, uint64_t b) {
  const uint64_t sign = UINT64_C(1) << 63;
  if (unpacked(a, kDouble).kind == kNone || unpacked(b, kDouble).kind == kNone) return 2;
  if ((a | b) << 1 == 0 || a == b) return 0;
  if ((a ^ b) & sign) return a & sign ? -1 : 1;
  return (a < b) == ((a & sign) == 0) ? -1 : 1;
}

/* Towards zero; what is outside of [least, most] becomes the nearer one. */
static uint64_t integer(value v, uint64_t least, uint64_t most) {
  uint64_t m;
  if (v.kind == kNone || v.kind == kZero || (v.kind == kFinite && v.e < 0)) return 0;
  m = v.kind == kInfinite || v.e > 63 ? UINT64_MAX : v.m >> (63 - v.e);
  if (v.sign) return m >= (0 - least) ? least : 0 - m;
  return m >= most ? most : m;
}
static value of_signed(int64_t n) { return normalised(n < 0, 63, n < 0 ? 0 - (uint64_t)n : (uint64_t)n); }

uint64_t double_sum(uint64_t a, uint64_t b);
uint64_t double_difference(uint64_t a, uint64_t b);
uint64_t double_product(uint64_t a, uint64_t b);
uint64_t double_quotient(uint64_t a, uint64_t b);
int double_compared(uint64_t a, uint64_t b);
uint64_t double_of_single(uint32_t a);
uint32_t single_of_double(uint64_t a);
uint64_t double_of_signed(int64_t n);
uint64_t double_of_unsigned(uint64_t n);
uint32_t single_of_signed(int64_t n);
uint32_t single_of_unsigned(uint64_t n);
int64_t signed_of_double(uint64_t a);
uint64_t unsigned_of_double(uint64_t a);
uint64_t divided(uint64_t a, uint64_t b, uint64_t* rest);
int64_t signed_divided(int64_t a, int64_t b, int64_t* rest);

uint64_t double_sum(uint64_t a, uint64_t b) { return packed(sum(unpacked(a, kDouble), unpacked(b, kDouble)), kDouble); }
uint64_t double_difference(uint64_t a, uint64_t b) { return double_sum(a, b ^ UINT64_C(1) << 63); }
uint64_t double_product(uint64_t a, uint64_t b) {
  return packed(times(unpacked(a, kDouble), unpacked(b, kDouble)), kDouble);
}
uint64_t double_quotient(uint64_t a, uint64_t b) {
  return packed(over(unpacked(a, kDouble), unpacked(b, kDouble)), kDouble);
}
int double_compared(uint64_t a, uint64_t b) { return compared(a, b); }
uint64_t double_of_single(uint32_t a) { return packed(unpacked(a, kSingle), kDouble); }
uint32_t single_of_double(uint64_t a) { return (uint32_t)packed(unpacked(a, kDouble), kSingle); }
uint64_t double_of_signed(int64_t n) { return packed(of_signed(n), kDouble); }
uint64_t double_of_unsigned(uint64_t n) { return packed(normalised(0, 63, n), kDouble); }
uint32_t single_of_signed(int64_t n) { return (uint32_t)packed(of_signed(n), kSingle); }
uint32_t single_of_unsigned(uint64_t n) { return (uint32_t)packed(normalised(0, 63, n), kSingle); }
int64_t signed_of_double(uint64_t a) { return (int64_t)integer(unpacked(a, kDouble), UINT64_C(1) << 63, INT64_MAX); }
uint64_t unsigned_of_double(uint64_t a) { return integer(unpacked(a, kDouble), 0, UINT64_MAX); }

/* Bit by bit; 0, and the rest a, for b = 0. */
uint64_t divided(uint64_t a, uint64_t b, uint64_t* rest) {
  uint64_t quotient = 0, now = 0;
  int k;
  for (k = 63; k >= 0; --k) {
    const int carries = now >> 63 != 0;
    now = now << 1 | (a >> k & 1);
    if (b != 0 && (carries || now >= b)) now -= b, quotient |= UINT64_C(1) << k;
  }
  *rest = now;
  return quotient;
}
int64_t signed_divided(int64_t a, int64_t b, int64_t* rest) {
  uint64_t left;
  const uint64_t quotient =
      divided(a < 0 ? 0 - (uint64_t)a : (uint64_t)a, b < 0 ? 0 - (uint64_t)b : (uint64_t)b, &left);
  *rest = (int64_t)(a < 0 ? 0 - left : left);
  return (int64_t)((a < 0) != (b < 0) ? 0 - quotient : quotient);
}

#if defined(__arm__)
#define ALIAS(result, name, parameters, call) \
  result name parameters;                     \
  result name parameters { return call; }
ALIAS(uint64_t, __aeabi_dadd, (uint64_t a, uint64_t b), double_sum(a, b))
ALIAS(uint64_t, __aeabi_dsub, (uint64_t a, uint64_t b), double_difference(a, b))
ALIAS(uint64_t, __aeabi_dmul, (uint64_t a, uint64_t b), double_product(a, b))
ALIAS(uint64_t, __aeabi_ddiv, (uint64_t a, uint64_t b), double_quotient(a, b))
ALIAS(int, __aeabi_dcmpeq, (uint64_t a, uint64_t b), compared(a, b) == 0)
ALIAS(int, __aeabi_dcmplt, (uint64_t a, uint64_t b), compared(a, b) < 0)
ALIAS(int, __aeabi_dcmple, (uint64_t a, uint64_t b), compared(a, b) <= 0)
ALIAS(int, __aeabi_dcmpgt, (uint64_t a, uint64_t b), compared(a, b) == 1)
ALIAS(int, __aeabi_dcmpge, (uint64_t a, uint64_t b), (compared(a, b) & ~1) == 0)
ALIAS(int, __aeabi_dcmpun, (uint64_t a, uint64_t b), compared(a, b) == 2)
ALIAS(uint64_t, __aeabi_f2d, (uint32_t a), double_of_single(a))
ALIAS(uint32_t, __aeabi_d2f, (uint64_t a), single_of_double(a))
ALIAS(uint64_t, __aeabi_i2d, (int32_t n), double_of_signed(n))
ALIAS(uint64_t, __aeabi_ui2d, (uint32_t n), double_of_unsigned(n))
ALIAS(uint64_t, __aeabi_l2d, (int64_t n), double_of_signed(n))
ALIAS(uint64_t, __aeabi_ul2d, (uint64_t n), double_of_unsigned(n))
ALIAS(uint32_t, __aeabi_l2f, (int64_t n), single_of_signed(n))
ALIAS(uint32_t, __aeabi_ul2f, (uint64_t n), single_of_unsigned(n))
ALIAS(int32_t, __aeabi_d2iz, (uint64_t a), (int32_t)integer(unpacked(a, kDouble), 0 - (UINT64_C(1) << 31), INT32_MAX))
ALIAS(uint32_t, __aeabi_d2uiz, (uint64_t a), (uint32_t)integer(unpacked(a, kDouble), 0, UINT32_MAX))
ALIAS(int64_t, __aeabi_d2lz, (uint64_t a), signed_of_double(a))
ALIAS(uint64_t, __aeabi_d2ulz, (uint64_t a), unsigned_of_double(a))
ALIAS(int64_t, __aeabi_f2lz, (uint32_t a), (int64_t)integer(unpacked(a, kSingle), UINT64_C(1) << 63, INT64_MAX))
ALIAS(uint64_t, __aeabi_f2ulz, (uint32_t a), integer(unpacked(a, kSingle), 0, UINT64_MAX))

/* The quotient in the lower half, r0, and the rest in r1. */
static uint64_t both(uint32_t quotient, uint32_t rest) { return (uint64_t)rest << 32 | quotient; }
uint64_t __aeabi_uidivmod(uint32_t a, uint32_t b);
uint64_t __aeabi_uidivmod(uint32_t a, uint32_t b) {
  uint64_t rest;
  const uint64_t quotient = divided(a, b, &rest);
  return both((uint32_t)quotient, (uint32_t)rest);
}
uint64_t __aeabi_idivmod(int32_t a, int32_t b);
uint64_t __aeabi_idivmod(int32_t a, int32_t b) {
  int64_t rest;
  const int64_t quotient = signed_divided(a, b, &rest);
  return both((uint32_t)quotient, (uint32_t)rest);
}
ALIAS(uint32_t, __aeabi_uidiv, (uint32_t a, uint32_t b), (uint32_t)__aeabi_uidivmod(a, b))
ALIAS(int32_t, __aeabi_idiv, (int32_t a, int32_t b), (int32_t)__aeabi_idivmod(a, b))
/* The quotient in r0 and r1, and the rest in r2 and r3, which no function of C returns. */
#define DIVMOD(name, by)                                                                                   \
  __asm__(".text\n.thumb\n.syntax unified\n.globl " name "\n.type " name ", %function\n.thumb_func\n" name \
          ":\n  push {lr}\n  sub sp, sp, #20\n  add r12, sp, #8\n  str r12, [sp]\n  bl " by                \
          "\n  ldr r2, [sp, #8]\n  "                                                                       \
          "ldr r3, [sp, #12]\n  add sp, sp, #20\n  pop {pc}\n");
DIVMOD("__aeabi_uldivmod", "divided")
DIVMOD("__aeabi_ldivmod", "signed_divided")

/* ARM's names for copies, for programs without a system. The value is the last argument. */
#define COPIES(width)                                                                                             \
  ALIAS(void, __aeabi_memcpy##width, (void* to, const void* from, size_t count), (void)memcpy(to, from, count))   \
  ALIAS(void, __aeabi_memmove##width, (void* to, const void* from, size_t count), (void)memmove(to, from, count)) \
  ALIAS(void, __aeabi_memset##width, (void* to, size_t count, int value), (void)memset(to, value, count))         \
  ALIAS(void, __aeabi_memclr##width, (void* to, size_t count), (void)memset(to, 0, count))
#undef ALIAS
#define ALIAS(result, name, parameters, call) \
  result name parameters;                     \
  result name parameters { call; }
COPIES()
COPIES(4)
COPIES(8)
#endif
