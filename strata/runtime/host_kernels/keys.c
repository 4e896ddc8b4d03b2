/* Keys: integers that sort as the elements do. NaN is the largest; -0 is in front of 0 in keys of values, and equal to 0
   in keys of places. */
struct NAME(form) {
  KEY sign, fold, flip, nan;
  UKEY infinity, negative_zero;
};
static struct NAME(form) NAME(form_of)(const struct strata_order *rows, int of_places) {
  const UKEY sign = (UKEY)((UKEY)1 << (BITS - 1)), magnitude = (UKEY)(sign - 1);
  struct NAME(form) f;
  f.sign = rows->is_unsigned ? (KEY)sign : 0;
  f.fold = rows->infinity != 0 ? (KEY)magnitude : 0;
  f.flip = rows->is_descending ? (KEY)-1 : 0;
  f.nan = (KEY)magnitude;
  f.infinity = rows->infinity != 0 ? (UKEY)rows->infinity : magnitude;
  f.negative_zero = rows->infinity != 0 && of_places ? sign : 0;
  return f;
}
static KEY NAME(key)(UKEY bits, const struct NAME(form) *f) {
  const UKEY u = bits == f->negative_zero ? (UKEY)0 : bits;
  const KEY s = (KEY)u, plain = (KEY)(s ^ f->sign ^ (s < 0 ? f->fold : (KEY)0));
  const KEY whole = (UKEY)(u & (UKEY)f->nan) > f->infinity ? f->nan : plain;
  return (KEY)(whole ^ f->flip);
}
static const UKEY *NAME(row)(const struct strata_order *rows, int64_t r) {
  return (const UKEY *)rows->from + r / rows->inner * rows->outer_step + r % rows->inner * rows->inner_step;
}
/* The keys of elements from, from + step, ... */
static void NAME(keys)(KEY *RESTRICT to, const UKEY *RESTRICT from, int64_t step, int64_t count,
                       const struct NAME(form) *form) {
  const struct NAME(form) f = *form;
  int64_t k;
  if (step == 1) {
    for (k = 0; k < count; ++k) { to[k] = NAME(key)(from[k], &f); }
  } else {
    for (k = 0; k < count; ++k) { to[k] = NAME(key)(from[k * step], &f); }
  }
}
/* Counts how often each digit of `bits` bits has each value, from the lowest digit on. */
static void NAME(count_digits)(const KEY *a, uint32_t *counts, int64_t size, int bits, int digits) {
  const UKEY sign = (UKEY)((UKEY)1 << (BITS - 1));
  const uint32_t values = (uint32_t)1 << bits, mask = values - 1;
  uint32_t *c0 = counts, *c1 = c0 + values, *c2 = c1 + values, *c3 = c2 + values;
  int64_t k;
  int d;
  for (k = 0; k < (int64_t)digits << bits; ++k) { counts[k] = 0; }
  if (digits == 3) {
    for (k = 0; k < size; ++k) {
      const UKEY u = (UKEY)((UKEY)a[k] ^ sign);
      ++c0[(uint32_t)u & mask];
      ++c1[(uint32_t)(u >> bits) & mask];
      ++c2[(uint32_t)(u >> (2 * bits)) & mask];
    }
  } else if (digits == 4) {
    for (k = 0; k < size; ++k) {
      const UKEY u = (UKEY)((UKEY)a[k] ^ sign);
      ++c0[(uint32_t)u & mask];
      ++c1[(uint32_t)(u >> bits) & mask];
      ++c2[(uint32_t)(u >> (2 * bits)) & mask];
      ++c3[(uint32_t)(u >> (3 * bits)) & mask];
    }
  } else if (digits == 1) {
    for (k = 0; k < size; ++k) { ++c0[(uint32_t)(UKEY)((UKEY)a[k] ^ sign) & mask]; }
  } else {
    for (d = 0; d < digits; d += 2) {
      for (k = 0; k < size; ++k) {
        const UKEY u = (UKEY)((UKEY)a[k] ^ sign);
        ++c0[(uint32_t)(u >> (d * bits)) & mask];
        ++c1[(uint32_t)(u >> ((d + 1) * bits)) & mask];
      }
      c0 += 2 * values;
      c1 += 2 * values;
    }
  }
}
