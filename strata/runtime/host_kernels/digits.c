/* Sorts of one row of keys: by insertion, and by digits. */

/* The element that has a key. */
static UKEY NAME(element)(KEY key, const struct NAME(form) *f) {
  const KEY k = (KEY)(key ^ f->flip);
  return (UKEY)(k ^ f->sign ^ (k < 0 ? f->fold : (KEY)0));
}

/* Sorts a short row. */
static void NAME(insert_values)(KEY *at, int64_t size) {
  int64_t j, k;
  for (k = 1; k < size; ++k) {
    const KEY key = at[k];
    for (j = k; j > 0 && key < at[j - 1]; --j) { at[j] = at[j - 1]; }
    at[j] = key;
  }
}

/* Sorts a row by digits, from the lowest on, and stores the elements at to, to + inner, ... */
static void NAME(radix_values)(KEY *a, KEY *b, uint32_t *counts, int64_t size, UKEY *RESTRICT to, int64_t inner,
                               const struct NAME(form) *form) {
  const struct NAME(form) f = *form;
  const int bits = BITS <= 16 || size < 2048 || size > 300000 ? 8 : 11;
  const UKEY sign = (UKEY)((UKEY)1 << (BITS - 1)), some = (UKEY)((UKEY)a[0] ^ sign);
  const int digits = (BITS + bits - 1) / bits;
  const uint32_t mask = ((uint32_t)1 << bits) - 1;
  int64_t k;
  int d, last = -1;
  NAME(count_digits)(a, counts, size, bits, digits);
  for (d = 0; d < digits; ++d) {
    uint32_t *const own = counts + ((uint32_t)d << bits), total = 0;
    if (own[(uint32_t)(some >> (d * bits)) & mask] == (uint32_t)size) {
      own[0] = 0xffffffff; /* all keys have the same digit */
      continue;
    }
    last = d;
    for (k = 0; k <= (int64_t)mask; ++k) {
      const uint32_t count = own[k];
      own[k] = total;
      total += count;
    }
  }
  for (d = 0; d < last; ++d) {
    uint32_t *const own = counts + ((uint32_t)d << bits);
    KEY *const from = a;
    if (own[0] == 0xffffffff) { continue; }
    for (k = 0; k < size; ++k) {
      const KEY key = from[k];
      b[own[(uint32_t)((UKEY)((UKEY)key ^ sign) >> (d * bits)) & mask]++] = key;
    }
    a = b;
    b = from;
  }
  if (last < 0) {
    for (k = 0; k < size; ++k) { to[k * inner] = NAME(element)(a[k], &f); }
  } else {
    uint32_t *const own = counts + ((uint32_t)last << bits);
    for (k = 0; k < size; ++k) {
      const KEY key = a[k];
      to[(int64_t)own[(uint32_t)((UKEY)((UKEY)key ^ sign) >> (last * bits)) & mask]++ * inner] = NAME(element)(key, &f);
    }
  }
}
