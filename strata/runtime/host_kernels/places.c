/* The places of the elements of ranks first to first + count - 1 in sorted rows. Equal elements are ranked by place. */

/* Sorts keys with their places by digits of `bits` bits. With `is_first`, the place of key k is k. The memory of keys is
   `a` and `b`, that of places `i` and `j`. Returns where the sorted places are: `i` or `j`. */
static uint32_t *NAME(radix_places)(KEY *a, KEY *b, uint32_t *i, uint32_t *j, uint32_t *counts, int64_t size,
                                           int is_first, int bits) {
  const UKEY sign = (UKEY)((UKEY)1 << (BITS - 1));
  const int digits = (BITS + bits - 1) / bits;
  const uint32_t mask = ((uint32_t)1 << bits) - 1;
  int64_t k;
  int d;
  NAME(count_digits)(a, counts, size, bits, digits);
  for (d = 0; d < digits; ++d) {
    uint32_t *const own = counts + ((uint32_t)d << bits), total = 0;
    const UKEY some = (UKEY)((UKEY)a[0] ^ sign);
    if (own[(uint32_t)(some >> (d * bits)) & mask] == (uint32_t)size) { continue; }
    for (k = 0; k <= (int64_t)mask; ++k) {
      const uint32_t count = own[k];
      own[k] = total;
      total += count;
    }
    for (k = 0; k < size; ++k) {
      const KEY key = a[k];
      const uint32_t at = own[(uint32_t)((UKEY)((UKEY)key ^ sign) >> (d * bits)) & mask]++;
      b[at] = key;
      j[at] = is_first ? (uint32_t)k : i[k];
    }
    is_first = 0;
    {
      KEY *const keys = a;
      uint32_t *const places = i;
      a = b;
      b = keys;
      i = j;
      j = places;
    }
  }
  for (k = 0; k < size && is_first; ++k) { i[k] = (uint32_t)k; }
  return i;
}

static void NAME(insert_places)(KEY *at, uint32_t *places, int64_t size) {
  int64_t j, k;
  for (k = 1; k < size; ++k) {
    const KEY key = at[k];
    const uint32_t place = places[k];
    for (j = k; j > 0 && key < at[j - 1]; --j) {
      at[j] = at[j - 1];
      places[j] = places[j - 1];
    }
    at[j] = key;
    places[j] = place;
  }
}

/* Keeps those of the keys whose digit is that of an element of a wanted rank, with their places, and returns how many
   are kept; `first` becomes the rank among those. With `is_first`, the place of key k is k. */
static int64_t NAME(narrow)(KEY *a, uint32_t *i, uint32_t *counts, int64_t size, int shift, int is_first,
                            int64_t *first, int64_t count, int *is_one) {
  const UKEY sign = (UKEY)((UKEY)1 << (BITS - 1));
  const uint32_t mask = BITS == 8 ? 255 : 2047;
  int64_t k, kept = 0, before = 0;
  uint32_t low = 0, high;
  for (k = 0; k <= (int64_t)mask; ++k) { counts[k] = 0; }
  for (k = 0; k < size; ++k) { ++counts[(uint32_t)((UKEY)((UKEY)a[k] ^ sign) >> shift) & mask]; }
  while (before + counts[low] <= *first) { before += counts[low++]; }
  kept = before + counts[low];
  for (high = low; kept < *first + count;) { kept += counts[++high]; }
  *is_one = low == high;
  *first -= before;
  kept = 0;
  for (k = 0; k < size; ++k) {
    const KEY key = a[k];
    const uint32_t digit = (uint32_t)((UKEY)((UKEY)key ^ sign) >> shift) & mask;
    a[kept] = key;
    i[kept] = is_first ? (uint32_t)k : i[k];
    kept += digit >= low && digit <= high;
  }
  return kept;
}

/* Whether few elements of long rows are wanted, the first ones. */
static int NAME(are_few)(const struct strata_order *rows) {
  return rows->first == 0 && rows->count <= 64 && rows->size >= 512;
}
/* A key that at least `count` of 128 keys are not above: of 32 of their least, for a `count` of up to 16, of all for
   one of up to 64. */
static KEY NAME(bound_of)(KEY *RESTRICT least, int64_t count) {
  const int64_t width = count <= 16 ? 32 : 128;
  const KEY last = (KEY)(((UKEY)1 << (BITS - 1)) - 1);
  KEY bounds[32], bound = last;
  UKEY before[32];
  int64_t j, k, l;
  for (k = 32; k < 128 && width == 32; k += 32) {
    for (j = 0; j < 32; ++j) { least[j] = least[k + j] < least[j] ? least[k + j] : least[j]; }
  }
  for (j = 0; j < 32; ++j) { bounds[j] = last; }
  for (k = 0; k < width; k += 32) {
    for (j = 0; j < 32; ++j) { before[j] = 0; }
    for (l = 0; l < width; ++l) {
      const KEY key = least[l];
      for (j = 0; j < 32; ++j) { before[j] = (UKEY)(before[j] + (key <= least[k + j])); }
    }
    for (j = 0; j < 32; ++j) {
      const KEY key = before[j] >= (UKEY)count ? least[k + j] : last;
      bounds[j] = key < bounds[j] ? key : bounds[j];
    }
  }
  for (j = 0; j < 32; ++j) { bound = bounds[j] < bound ? bounds[j] : bound; }
  return bound;
}
/* Lane l of `width` lanes of a row are elements l, l + width, ..., and lanes[l] is the least key of them. */
struct NAME(lanes) {
  const UKEY *row;
  const KEY *lanes;
  int64_t size, width;
};
/* Finds the keys up to `limit`: only lanes whose least key is one of them are read again. Keys found are stored to
   `found`, their places to `i`; both have room for size - width. Returns how many there are; -1: more than `room`. */
static int64_t NAME(find_few)(const struct NAME(lanes) *all, KEY limit, int64_t room, KEY *RESTRICT found,
                              uint32_t *RESTRICT i, const struct NAME(form) *form) {
  const struct NAME(form) f = *form;
  const UKEY *const row = all->row;
  const KEY *const lanes = all->lanes;
  const int64_t size = all->size, width = all->width, length = (size + width - 1) / width;
  unsigned char flags[strata_most_lanes];
  uint32_t eights[strata_most_lanes / 8], list[strata_most_lanes];
  int64_t j, k, l, some = 0, listed = 0, kept = 0, few = 0;
  for (l = 0; l < width; ++l) { flags[l] = (unsigned char)(lanes[l] <= limit); }
  for (k = 0; k < width; k += 8) {
    eights[some] = (uint32_t)k;
    some += *(const uint64_t *)(const void *)(flags + k) != 0;
  }
  if (some > room) { return -1; }
  for (k = 0; k < some; ++k) {
    for (l = (int64_t)eights[k]; l < (int64_t)eights[k] + 8; ++l) {
      list[listed] = (uint32_t)l;
      listed += flags[l];
    }
  }
  if (listed > room || listed * length > size - width) { return -1; }
  for (k = 0; k < listed; ++k) {
    for (j = (int64_t)list[k]; j < size; j += width) {
      found[kept] = (KEY)row[j];
      i[kept++] = (uint32_t)j;
    }
  }
  for (k = 0; k < kept; ++k) { found[k] = NAME(key)((UKEY)found[k], &f); }
  for (k = 0; k < kept; ++k) {
    const int is_within = found[k] <= limit;
    found[few] = found[k];
    i[few] = i[k];
    few += is_within;
  }
  return few <= room ? few : -1;
}
/* Finds the first `count` keys that are equal to `key`, or all if there are fewer. Returns how many. */
static int64_t NAME(find_equal)(const UKEY *row, int64_t size, KEY key, int64_t count, KEY *RESTRICT found,
                                uint32_t *RESTRICT i, const struct NAME(form) *form) {
  const struct NAME(form) f = *form;
  int64_t k, l, few = 0;
  for (k = 0; k < size && few < count; k += 64) {
    const int64_t some = size - k < 64 ? size - k : 64;
    KEY differ[64], least = 1;
    for (l = 0; l < some; ++l) { differ[l] = (KEY)(NAME(key)(row[k + l], &f) != key); }
    for (l = 0; l < some; ++l) { least = differ[l] < least ? differ[l] : least; }
    if (least != 0) { continue; }
    for (l = 0; l < some && few < count; ++l) {
      found[few] = key;
      i[few] = (uint32_t)(k + l);
      few += differ[l] == 0;
    }
  }
  return few;
}
/* Finds at most 128 keys, with their places, among which are the first `count`, at most 64: those up to a bound_of()
   the least key of each lane. If many are equal to the bound, those below, and as many equal ones as can be wanted. Of
   a long row, a lane has about as many elements as there are lanes. `work` has room for `size` keys. Returns how many
   are found and where; 0: too many are below the bound. */
static int64_t NAME(select_few)(const UKEY *RESTRICT row, KEY *RESTRICT work, KEY **found, uint32_t *i, int64_t size,
                                int64_t count, const struct NAME(form) *form) {
  const struct NAME(form) f = *form;
  const KEY lowest = (KEY)((UKEY)1 << (BITS - 1));
  struct NAME(lanes) all;
  KEY least[128], bound;
  int64_t k, l, few, width = 128;
  while (width < strata_most_lanes && width * width < 256 * size && 2 * width + 256 <= size) { width *= 2; }
  for (l = 0; l < width; ++l) { work[l] = NAME(key)(row[l], &f); }
  for (k = width; k + width <= size; k += width) {
    for (l = 0; l < width; ++l) {
      const KEY key = NAME(key)(row[k + l], &f);
      work[l] = key < work[l] ? key : work[l];
    }
  }
  for (l = 0; k + l < size; ++l) {
    const KEY key = NAME(key)(row[k + l], &f);
    work[l] = key < work[l] ? key : work[l];
  }
  for (l = 0; l < 128; ++l) { least[l] = work[l]; }
  for (k = 128; k < width; k += 128) {
    for (l = 0; l < 128; ++l) { least[l] = work[k + l] < least[l] ? work[k + l] : least[l]; }
  }
  bound = NAME(bound_of)(least, count);
  all.row = row;
  all.lanes = work;
  all.size = size;
  all.width = width;
  *found = work + width;
  few = NAME(find_few)(&all, bound, 128, *found, i, form);
  if (few >= 0) { return few; }
  few = bound == lowest ? 0 : NAME(find_few)(&all, (KEY)(bound - 1), 64, *found, i, form);
  return few < 0 ? 0 : few + NAME(find_equal)(row, size, bound, count, *found + few, i + few, form);
}
/* Stores the places of the first `count` of few keys, at most 128: the rank of a key is how many are in front of it.
   Behind the keys is room for 31 more. */
static void NAME(rank_few)(const KEY *RESTRICT a, const uint32_t *RESTRICT i, int64_t size, int64_t count,
                           int64_t *RESTRICT to, int64_t inner) {
  uint32_t sorted[128];
  int64_t j, k, l;
  for (k = 0; k < size; k += 32) {
    KEY own[32];
    uint32_t places[32], rank[32];
    for (l = 0; l < 32; ++l) {
      own[l] = a[k + l];
      places[l] = i[k + l];
      rank[l] = 0;
    }
    for (j = 0; j < size; ++j) {
      const KEY key = a[j];
      const uint32_t place = i[j];
      for (l = 0; l < 32; ++l) {
        const uint32_t is_first = key < own[l], is_equal = key == own[l], is_before = place < places[l];
        rank[l] += is_first | (is_equal & is_before);
      }
    }
    for (l = 0; l < 32 && k + l < size; ++l) { sorted[rank[l]] = places[l]; }
  }
  for (k = 0; k < count; ++k) { to[k * inner] = (int64_t)sorted[k]; }
}

static void NAME(row_of_places)(const struct strata_order *rows, int64_t r, const struct NAME(form) *form) {
  const int64_t inner = rows->inner, keys = (rows->size * (BITS / 8) + 127) / 64 * 64;
  const int64_t places = (rows->size * 4 + 127) / 64 * 64;
  KEY *const a = (KEY *)(void *)rows->work, *const b = (KEY *)(void *)(rows->work + keys);
  uint32_t *const i = (uint32_t *)(void *)(rows->work + 2 * keys), *sorted = i;
  uint32_t *const j = (uint32_t *)(void *)(rows->work + 2 * keys + places);
  uint32_t *const counts = (uint32_t *)(void *)(rows->work + 2 * keys + 2 * places);
  int64_t *const to = (int64_t *)rows->to + r / inner * rows->count * inner + r % inner;
  int64_t k, size = rows->size, first = rows->first;
  int is_first = 1, is_one = 1, shift = BITS;
  if (NAME(are_few)(rows)) {
    const UKEY *from = NAME(row)(rows, r);
    KEY *found;
    int64_t few;
    if (rows->step != 1) {
      for (k = 0; k < size; ++k) { a[k] = (KEY)from[k * rows->step]; }
      from = (const UKEY *)a;
    }
    few = NAME(select_few)(from, b, &found, i, size, rows->count, form);
    if (few > 0) {
      NAME(rank_few)(found, i, few, rows->count, to, inner);
      return;
    }
  }
  NAME(keys)(a, NAME(row)(rows, r), rows->step, size, form);
  while (is_one && shift > 0 && size > 512 && rows->count < size / 2) {
    shift = shift > 11 ? shift - 11 : 0;
    size = NAME(narrow)(a, i, counts, size, BITS == 8 ? 0 : shift, is_first, &first, rows->count, &is_one);
    is_first = 0;
  }
  if (is_one && shift == 0) {
    /* All keys are equal: their places are in order. */
  } else if (size <= 24) {
    for (k = 0; k < size && is_first; ++k) { i[k] = (uint32_t)k; }
    NAME(insert_places)(a, i, size);
  } else if (BITS <= 16 || size < 2048 || size > 300000) {
    sorted = NAME(radix_places)(a, b, i, j, counts, size, is_first, 8);
  } else {
    sorted = NAME(radix_places)(a, b, i, j, counts, size, is_first, 11);
  }
  for (k = 0; k < rows->count; ++k) { to[k * inner] = (int64_t)sorted[first + k]; }
}

#if BITS <= 32
/* The places of 16 rows side by side, of which `there` exist: keys with places as low bits are sorted. */
static void NAME(places_of_16)(const struct strata_order *rows, int64_t first, int there,
                               const struct NAME(form) *form) {
  const int64_t inner = rows->inner, size = rows->size;
  int64_t *RESTRICT pairs = (int64_t *)(void *)rows->work;
  KEY *RESTRICT at = (KEY *)(void *)(rows->work + 16 * (2 * size + 16) * 8);
  int64_t *const to = (int64_t *)rows->to;
  int64_t k;
  int l;
  NAME(keys_of_16)(at, rows, first, there, form);
  for (k = 0; k < size; ++k) {
    for (l = 0; l < 16; ++l) { pairs[16 * k + l] = (int64_t)at[16 * k + l] * 4294967296 + k; }
  }
  WIDE(sort_side_by_side)(pairs, size);
  for (l = 0; l < there; ++l) {
    int64_t *const row = to + (first + l) / inner * rows->count * inner + (first + l) % inner;
    for (k = 0; k < rows->count; ++k) { row[k * inner] = pairs[16 * (rows->first + k) + l] & 4294967295; }
  }
}
#endif

/* Rows [16*begin, 16*end). */
static void NAME(places)(const struct strata_order *rows, int64_t begin, int64_t end) {
  const struct NAME(form) form = NAME(form_of)(rows, 1);
  int64_t group, r;
  for (group = begin; group < end; ++group) {
    const int64_t first = 16 * group, left = rows->rows - first;
    const int there = left < 16 ? (int)left : 16;
#if BITS <= 32
    if (there >= 4 && rows->size <= strata_most_places && !NAME(are_few)(rows)) {
      NAME(places_of_16)(rows, first, there, &form);
      continue;
    }
#endif
    for (r = first; r < first + there; ++r) { NAME(row_of_places)(rows, r, &form); }
  }
}
