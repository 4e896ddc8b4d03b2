/* The sorted elements of rows. Equal elements keep their order: -0 and 0, and NaNs of any bits. */

/* Stores 16 rows side by side, of which `there` exist. */
static void NAME(store_16)(const struct strata_order *rows, int64_t first, int there, const KEY *RESTRICT at,
                           const struct NAME(form) *form) {
  const struct NAME(form) f = *form;
  const int64_t inner = rows->inner, size = rows->size;
  UKEY *const to = (UKEY *)rows->to;
  KEY block[256];
  int64_t j, k;
  int l;
  if (there == 16 && first % inner + 16 <= inner) {
    for (k = 0; k < size; ++k) {
      UKEY *const row = to + (first / inner * size + k) * inner + first % inner;
      for (l = 0; l < 16; ++l) { row[l] = NAME(element)(at[16 * k + l], &f); }
    }
    return;
  }
  for (j = 0; j < size; j += 16) {
    const int64_t some = size - j < 16 ? size - j : 16;
    for (k = 0; k < some; ++k) {
      for (l = 0; l < 16; ++l) { block[16 * l + k] = at[16 * (j + k) + l]; }
    }
    for (l = 0; l < there; ++l) {
      UKEY *const row = to + ((first + l) / inner * size + j) * inner + (first + l) % inner;
      for (k = 0; k < some; ++k) { row[k * inner] = NAME(element)(block[16 * l + k], &f); }
    }
  }
}

/* Puts NaNs and zeros of both signs into the order in which the row has them. */
static void NAME(restore)(const struct strata_order *rows, int64_t r) {
  const UKEY *const from = NAME(row)(rows, r);
  UKEY *const to = (UKEY *)rows->to + r / rows->inner * rows->size * rows->inner + r % rows->inner;
  const int64_t step = rows->step, size = rows->size, inner = rows->inner;
  const UKEY sign = (UKEY)((UKEY)1 << (BITS - 1)), magnitude = (UKEY)(sign - 1), infinity = (UKEY)rows->infinity;
  int64_t nans = 0, zeros = 0, below = 0, k, zero, nan;
  UKEY are_odd = 0; /* whether there is a NaN or -0 */
  if (step == 1) {
    for (k = 0; k < size; ++k) { are_odd |= (UKEY)(((UKEY)(from[k] & magnitude) > infinity) | (from[k] == sign)); }
  } else {
    for (k = 0; k < size; ++k) {
      are_odd |= (UKEY)((UKEY)(from[k * step] & magnitude) > infinity || from[k * step] == sign);
    }
  }
  if (are_odd == 0) { return; }
  for (k = 0; k < size; ++k) {
    const UKEY u = from[k * step], m = (UKEY)(u & magnitude);
    nans += m > infinity;
    zeros += m == 0;
    below += u > sign && m <= infinity;
  }
  nan = rows->is_descending ? 0 : size - nans;
  zero = rows->is_descending ? size - below - zeros : below;
  for (k = 0; k < size; ++k) {
    const UKEY u = from[k * step], m = (UKEY)(u & magnitude);
    if (m > infinity) { to[nan++ * inner] = u; }
    if (m == 0) { to[zero++ * inner] = u; }
  }
}

static void NAME(row_of_values)(const struct strata_order *rows, int64_t r, const struct NAME(form) *form) {
  const struct NAME(form) f = *form;
  const int64_t size = rows->size, inner = rows->inner, room = (size * (BITS / 8) + 63) / 64 * 64;
  KEY *const a = (KEY *)(void *)rows->work, *const b = (KEY *)(void *)(rows->work + room);
  uint32_t *const counts = (uint32_t *)(void *)(rows->work + 2 * room);
  UKEY *const to = (UKEY *)rows->to + r / inner * size * inner + r % inner;
  int64_t k;
  NAME(keys)(a, NAME(row)(rows, r), rows->step, size, form);
  if (size <= 24) {
    NAME(insert_values)(a, size);
    for (k = 0; k < size; ++k) { to[k * inner] = NAME(element)(a[k], &f); }
#if BITS >= 32
  } else if (size >= strata_least_in_buckets * 32 / BITS) {
    uint32_t *const of_buckets = counts + strata_most_counts;
    KEY *const tile = (KEY *)(void *)(of_buckets + 6 * strata_most_buckets);
    NAME(bucket_values)(a, b, tile, counts, of_buckets, 0, size, to, inner, form);
#endif
  } else {
    NAME(radix_values)(a, b, counts, size, to, inner, form);
  }
}

/* Rows [16*begin, 16*end). */
static void NAME(values)(const struct strata_order *rows, int64_t begin, int64_t end) {
  const struct NAME(form) form = NAME(form_of)(rows, 0);
  int64_t group, r;
  for (group = begin; group < end; ++group) {
    const int64_t first = 16 * group, left = rows->rows - first;
    const int there = left < 16 ? (int)left : 16;
    if (there >= 4 && rows->size <= strata_most_values) {
      KEY *const at = (KEY *)(void *)rows->work;
      NAME(keys_of_16)(at, rows, first, there, &form);
      NAME(sort_side_by_side)(at, rows->size);
      NAME(store_16)(rows, first, there, at, &form);
    } else {
      for (r = first; r < first + there; ++r) { NAME(row_of_values)(rows, r, &form); }
    }
    for (r = first; r < first + there && rows->infinity != 0; ++r) { NAME(restore)(rows, r); }
  }
}
