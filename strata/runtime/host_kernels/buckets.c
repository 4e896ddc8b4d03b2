/* Sorts a long row: buckets of close keys first, then 16 buckets side by side. Keys are told apart by what they are
   above the least one: by the first 11 bits of that, and where many keys share these, by up to 12 more, so that about
   `few` keys share a bucket. Neighbours of few keys share a bucket, too. How many keys share bits is guessed from some
   of the keys: a guess decides how large buckets are, and never what is in front of what. Large buckets are sorted
   alone: those of equal keys are ready, others are split once more, and what is still large is sorted by digits. So the
   time is linear for any keys. Equal keys are equal elements, so their order does not matter. */

/* Where keys belong. Key k is in bucket (at[u >> shift] >> 8) + (u >> (at[u >> shift] & 255)), modulo 2^24; u is k -
   least. */
struct NAME(bucket_table) {
  KEY least;
  int shift;
  uint32_t buckets;
  uint32_t at[2048];
};
static uint32_t NAME(bucket)(KEY key, const struct NAME(bucket_table) *table) {
  const UKEY u = (UKEY)((UKEY)key - (UKEY)table->least);
  const uint32_t entry = table->at[u >> table->shift];
  return ((uint32_t)(u >> (entry & 255)) + (entry >> 8)) & 0xffffff;
}
/* Chooses the buckets: bits that split c keys make fewer than 2 * c / few of them, and two neighbours that are not
   split have more than `few` keys, so there are about 5 * size / few at most. Keys are counted at steps of 1 to 16, so
   that no period of a row hides keys. */
static void NAME(choose_buckets)(struct NAME(bucket_table) *table, const KEY *a, int64_t size, uint32_t few) {
  KEY least = a[0], most = a[0];
  UKEY range;
  uint32_t buckets = 0, shared = few + 1; /* keys in the last bucket */
  uint32_t random = 1;
  unsigned char splits[2048]; /* by how many more bits keys are told apart */
  int64_t k;
  int shift = 0, d, last;
  for (k = 0; k < size; ++k) {
    least = a[k] < least ? a[k] : least;
    most = a[k] > most ? a[k] : most;
  }
  range = (UKEY)((UKEY)most - (UKEY)least);
  while ((range >> shift) >= (size < 16384 ? 512 : 2048)) { ++shift; }
  last = (int)(range >> shift);
  for (d = 0; d <= last; ++d) { table->at[d] = 0; }
  for (k = 0; k < size; k += 1 + (random >> 28)) {
    ++table->at[(UKEY)((UKEY)a[k] - (UKEY)least) >> shift];
    random = random * 1664525 + 1013904223;
  }
  for (d = 0; d <= last; ++d) {
    const uint32_t count = table->at[d] * 8;
    uint32_t split = 0;
    for (k = 0; k < 12; ++k) { split += count >> k > few; }
    splits[d] = (unsigned char)(split < (uint32_t)shift ? split : (uint32_t)shift);
  }
  for (d = 0; d <= last; ++d) {
    const uint32_t count = table->at[d] * 8, split = splits[d], joins = (split == 0) & (shared + count <= few);
    shared = split != 0 ? few : joins != 0 ? shared + count : count;
    buckets += 1 - joins;
    table->at[d] = ((buckets - 1 - ((uint32_t)d << split)) << 8) | ((uint32_t)shift - split);
    buckets += ((uint32_t)1 << split) - 1;
  }
  table->least = least;
  table->shift = shift;
  table->buckets = buckets;
}

/* The buckets of a row. */
struct NAME(buckets) {
  const KEY *keys;
  const uint32_t *sizes, *ends;
};
/* Sorts buckets which[0] to which[some - 1] side by side, and stores their elements at `to`, which may be where their
   keys are. */
static void NAME(sort_buckets)(KEY *RESTRICT at, const struct NAME(buckets) *all, const uint32_t *which, int some,
                               UKEY *to, int64_t inner, const struct NAME(form) *form) {
  const struct NAME(form) f = *form;
  const KEY last = (KEY)(((UKEY)1 << (BITS - 1)) - 1);
  KEY block[256];
  int64_t first[16], size[16], most, j, k;
  int l;
  for (l = 0; l < 16; ++l) {
    const uint32_t bucket = which[l < some ? l : 0];
    size[l] = l < some ? (int64_t)all->sizes[bucket] : 0;
    first[l] = (int64_t)all->ends[bucket] - size[l];
  }
  most = size[some - 1];
  for (j = 0; j < most; j += 16) {
    for (l = 0; l < 16; ++l) {
      const KEY *const own = all->keys + first[l] + j;
      if (j + 16 <= size[l]) {
        for (k = 0; k < 16; ++k) { block[16 * l + k] = own[k]; }
      } else {
        for (k = 0; k < 16; ++k) { block[16 * l + k] = j + k < size[l] ? own[k] : last; }
      }
    }
    for (k = 0; k < 16; ++k) {
      for (l = 0; l < 16; ++l) { at[16 * (j + k) + l] = block[16 * l + k]; }
    }
  }
  NAME(sort_side_by_side)(at, most);
  for (j = 0; j < most; j += 16) {
    for (k = 0; k < 16; ++k) {
      for (l = 0; l < 16; ++l) { block[16 * l + k] = (KEY)NAME(element)(at[16 * (j + k) + l], &f); }
    }
    for (l = 0; l < some; ++l) {
      UKEY *const own = to + (first[l] + j) * inner;
      const int64_t left = size[l] - j;
      if (left >= 16 && inner == 1) {
        for (k = 0; k < 16; ++k) { own[k] = (UKEY)block[16 * l + k]; }
      } else {
        for (k = 0; k < 16 && k < left; ++k) { own[k * inner] = (UKEY)block[16 * l + k]; }
      }
    }
  }
}

/* Sorts the keys `a` and stores the elements at to, to + inner, ... Memory to work in are `b`, as large as `a`, `tile`,
   room for 16 * strata_most_side_by_side keys, `counts`, numbers for radix_values(), and behind those `own`, three
   numbers for each bucket of this level and of further ones. Where elements are stored one behind another, the buckets
   are there, otherwise in `b`. */
static void NAME(bucket_values)(KEY *a, KEY *b, KEY *tile, uint32_t *counts, uint32_t *own, int level, int64_t size,
                                UKEY *to, int64_t inner, const struct NAME(form) *form) {
  const struct NAME(form) f = *form;
  const uint32_t most = strata_most_side_by_side, larger = most + 1;
  const uint32_t few = size / 800 > strata_few_in_bucket ? (uint32_t)(size / 800) : strata_few_in_bucket;
  uint32_t *const sizes = own, *const ends = sizes + strata_most_buckets, *const which = ends + strata_most_buckets;
  uint32_t by_size[strata_most_side_by_side + 2], bucket, end = 0;
  KEY *const keys = inner == 1 ? (KEY *)(void *)to : b;
  const int64_t half = size / 2;
  int64_t k;
  struct NAME(bucket_table) table;
  struct NAME(buckets) all;
  all.keys = keys;
  all.sizes = sizes;
  all.ends = ends;
  NAME(choose_buckets)(&table, a, size, few);
  if (table.buckets > strata_most_buckets) {
    NAME(radix_values)(a, b, counts, size, to, inner, form);
    return;
  }
  for (bucket = 0; bucket < table.buckets; ++bucket) { sizes[bucket] = 0; }
  for (k = 0; k <= larger; ++k) { by_size[k] = 0; }
  /* Halves of the row in turn: in a sorted row, the same number would be changed again before it is stored. */
  for (k = 0; k < half; ++k) {
    ++sizes[NAME(bucket)(a[k], &table)];
    ++sizes[NAME(bucket)(a[half + k], &table)];
  }
  if (2 * half < size) { ++sizes[NAME(bucket)(a[2 * half], &table)]; }
  for (bucket = 0; bucket < table.buckets; ++bucket) {
    ends[bucket] = end;
    end += sizes[bucket];
    ++by_size[sizes[bucket] < larger ? sizes[bucket] : larger];
  }
  for (k = 0; k < half; ++k) {
    const KEY one = a[k], two = a[half + k];
    keys[ends[NAME(bucket)(one, &table)]++] = one;
    keys[ends[NAME(bucket)(two, &table)]++] = two;
  }
  if (2 * half < size) { keys[ends[NAME(bucket)(a[2 * half], &table)]++] = a[2 * half]; }
  for (k = 0, end = 0; k <= larger; ++k) {
    const uint32_t count = by_size[k];
    by_size[k] = end;
    end += count;
  }
  for (bucket = 0; bucket < table.buckets; ++bucket) {
    which[by_size[sizes[bucket] < larger ? sizes[bucket] : larger]++] = bucket;
  }
  for (end = by_size[0]; end < by_size[most]; end += 16) {
    const int some = by_size[most] - end < 16 ? (int)(by_size[most] - end) : 16;
    if (some < 6 && sizes[which[end]] > 64) { break; } /* most of the 16 would be empty */
    NAME(sort_buckets)(tile, &all, which + end, some, to, inner, form);
  }
  for (end = end < by_size[most] ? end : by_size[most]; end < table.buckets; ++end) {
    const int64_t count = (int64_t)sizes[which[end]], first = (int64_t)ends[which[end]] - count;
    UKEY *const row = to + first * inner;
    const KEY some = keys[first];
    KEY differ = 0;
    for (k = 0; k < count; ++k) {
      a[first + k] = keys[first + k];
      differ |= (KEY)(keys[first + k] ^ some);
    }
    if (differ == 0) {
      const UKEY element = NAME(element)(some, &f);
      for (k = 0; k < count; ++k) { row[k * inner] = element; }
    } else if (level == 0 && count >= 2 * most) {
      NAME(bucket_values)(a + first, b + first, tile, counts, own + 3 * strata_most_buckets, 1, count, row, inner,
                          form);
    } else {
      NAME(radix_values)(a + first, b + first, counts, count, row, inner, form);
    }
  }
}
