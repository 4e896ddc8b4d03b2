/* A sorting network for 16 rows side by side: element k of row l is at[16*k + l]. Each function is a loop over the rows,
   whose local variables become vectors: up to 16 elements of each row pass up to four levels of the network between a
   load and a store. */
#define EXCHANGE(a, b) { const KEY least = a < b ? a : b; b = a < b ? b : a; a = least; }
/* Two and three levels, which exchange elements that are half of all apart, then a quarter, ... */
#define TWO_LEVELS(a, b, c, d) EXCHANGE(a, c) EXCHANGE(b, d) EXCHANGE(a, b) EXCHANGE(c, d)
#define THREE_LEVELS(a, b, c, d, e, f, g, h) \
  EXCHANGE(a, e) EXCHANGE(b, f) EXCHANGE(c, g) EXCHANGE(d, h) TWO_LEVELS(a, b, c, d) TWO_LEVELS(e, f, g, h)

/* Green's network of 60 exchanges. */
static void NAME(sort_16)(KEY *RESTRICT p0, KEY *RESTRICT p1, KEY *RESTRICT p2, KEY *RESTRICT p3, KEY *RESTRICT p4,
                          KEY *RESTRICT p5, KEY *RESTRICT p6, KEY *RESTRICT p7, KEY *RESTRICT p8, KEY *RESTRICT p9,
                          KEY *RESTRICT p10, KEY *RESTRICT p11, KEY *RESTRICT p12, KEY *RESTRICT p13,
                          KEY *RESTRICT p14, KEY *RESTRICT p15) {
  int l;
  for (l = 0; l < 16; ++l) {
    KEY a0 = p0[l], a1 = p1[l], a2 = p2[l], a3 = p3[l], a4 = p4[l], a5 = p5[l], a6 = p6[l], a7 = p7[l];
    KEY a8 = p8[l], a9 = p9[l], a10 = p10[l], a11 = p11[l], a12 = p12[l], a13 = p13[l], a14 = p14[l], a15 = p15[l];
    EXCHANGE(a0, a1) EXCHANGE(a2, a3) EXCHANGE(a4, a5) EXCHANGE(a6, a7) EXCHANGE(a8, a9) EXCHANGE(a10, a11)
    EXCHANGE(a12, a13) EXCHANGE(a14, a15)
    EXCHANGE(a0, a2) EXCHANGE(a1, a3) EXCHANGE(a4, a6) EXCHANGE(a5, a7) EXCHANGE(a8, a10) EXCHANGE(a9, a11)
    EXCHANGE(a12, a14) EXCHANGE(a13, a15)
    EXCHANGE(a0, a4) EXCHANGE(a1, a5) EXCHANGE(a2, a6) EXCHANGE(a3, a7) EXCHANGE(a8, a12) EXCHANGE(a9, a13)
    EXCHANGE(a10, a14) EXCHANGE(a11, a15)
    EXCHANGE(a0, a8) EXCHANGE(a1, a9) EXCHANGE(a2, a10) EXCHANGE(a3, a11) EXCHANGE(a4, a12) EXCHANGE(a5, a13)
    EXCHANGE(a6, a14) EXCHANGE(a7, a15)
    EXCHANGE(a5, a10) EXCHANGE(a6, a9) EXCHANGE(a3, a12) EXCHANGE(a13, a14) EXCHANGE(a4, a8) EXCHANGE(a7, a11)
    EXCHANGE(a1, a2)
    EXCHANGE(a1, a4) EXCHANGE(a7, a13) EXCHANGE(a2, a8) EXCHANGE(a11, a14)
    EXCHANGE(a2, a4) EXCHANGE(a5, a6) EXCHANGE(a9, a10) EXCHANGE(a11, a13) EXCHANGE(a3, a8) EXCHANGE(a7, a12)
    EXCHANGE(a6, a8) EXCHANGE(a10, a12) EXCHANGE(a3, a5) EXCHANGE(a7, a9)
    EXCHANGE(a3, a4) EXCHANGE(a5, a6) EXCHANGE(a7, a8) EXCHANGE(a9, a10) EXCHANGE(a11, a12)
    EXCHANGE(a6, a7) EXCHANGE(a8, a9)
    p0[l] = a0; p1[l] = a1; p2[l] = a2; p3[l] = a3; p4[l] = a4; p5[l] = a5; p6[l] = a6; p7[l] = a7; p8[l] = a8;
    p9[l] = a9; p10[l] = a10; p11[l] = a11; p12[l] = a12; p13[l] = a13; p14[l] = a14; p15[l] = a15;
  }
}
/* The first four levels that merge two sorted runs, of which p0 to p7 are eighths of the first one, p8 to p15 of the
   second one: the elements of the first run meet those of the second from its end. */
static void NAME(mirror_16)(KEY *RESTRICT p0, KEY *RESTRICT p1, KEY *RESTRICT p2, KEY *RESTRICT p3, KEY *RESTRICT p4,
                            KEY *RESTRICT p5, KEY *RESTRICT p6, KEY *RESTRICT p7, KEY *RESTRICT p8, KEY *RESTRICT p9,
                            KEY *RESTRICT p10, KEY *RESTRICT p11, KEY *RESTRICT p12, KEY *RESTRICT p13,
                            KEY *RESTRICT p14, KEY *RESTRICT p15) {
  int l;
  for (l = 0; l < 16; ++l) {
    KEY a0 = p0[l], a1 = p1[l], a2 = p2[l], a3 = p3[l], a4 = p4[l], a5 = p5[l], a6 = p6[l], a7 = p7[l];
    KEY a8 = p8[l], a9 = p9[l], a10 = p10[l], a11 = p11[l], a12 = p12[l], a13 = p13[l], a14 = p14[l], a15 = p15[l];
    EXCHANGE(a0, a15) EXCHANGE(a1, a14) EXCHANGE(a2, a13) EXCHANGE(a3, a12) EXCHANGE(a4, a11) EXCHANGE(a5, a10)
    EXCHANGE(a6, a9) EXCHANGE(a7, a8)
    THREE_LEVELS(a0, a1, a2, a3, a4, a5, a6, a7) THREE_LEVELS(a8, a9, a10, a11, a12, a13, a14, a15)
    p0[l] = a0; p1[l] = a1; p2[l] = a2; p3[l] = a3; p4[l] = a4; p5[l] = a5; p6[l] = a6; p7[l] = a7; p8[l] = a8;
    p9[l] = a9; p10[l] = a10; p11[l] = a11; p12[l] = a12; p13[l] = a13; p14[l] = a14; p15[l] = a15;
  }
}
/* The first three levels, of quarters of the runs. */
static void NAME(mirror_8)(KEY *RESTRICT p0, KEY *RESTRICT p1, KEY *RESTRICT p2, KEY *RESTRICT p3, KEY *RESTRICT p4,
                           KEY *RESTRICT p5, KEY *RESTRICT p6, KEY *RESTRICT p7) {
  int l;
  for (l = 0; l < 16; ++l) {
    KEY a0 = p0[l], a1 = p1[l], a2 = p2[l], a3 = p3[l], a4 = p4[l], a5 = p5[l], a6 = p6[l], a7 = p7[l];
    EXCHANGE(a0, a7) EXCHANGE(a1, a6) EXCHANGE(a2, a5) EXCHANGE(a3, a4)
    TWO_LEVELS(a0, a1, a2, a3) TWO_LEVELS(a4, a5, a6, a7)
    p0[l] = a0; p1[l] = a1; p2[l] = a2; p3[l] = a3; p4[l] = a4; p5[l] = a5; p6[l] = a6; p7[l] = a7;
  }
}
static void NAME(merge_16)(KEY *RESTRICT p0, KEY *RESTRICT p1, KEY *RESTRICT p2, KEY *RESTRICT p3, KEY *RESTRICT p4,
                           KEY *RESTRICT p5, KEY *RESTRICT p6, KEY *RESTRICT p7, KEY *RESTRICT p8, KEY *RESTRICT p9,
                           KEY *RESTRICT p10, KEY *RESTRICT p11, KEY *RESTRICT p12, KEY *RESTRICT p13,
                           KEY *RESTRICT p14, KEY *RESTRICT p15) {
  int l;
  for (l = 0; l < 16; ++l) {
    KEY a0 = p0[l], a1 = p1[l], a2 = p2[l], a3 = p3[l], a4 = p4[l], a5 = p5[l], a6 = p6[l], a7 = p7[l];
    KEY a8 = p8[l], a9 = p9[l], a10 = p10[l], a11 = p11[l], a12 = p12[l], a13 = p13[l], a14 = p14[l], a15 = p15[l];
    EXCHANGE(a0, a8) EXCHANGE(a1, a9) EXCHANGE(a2, a10) EXCHANGE(a3, a11) EXCHANGE(a4, a12) EXCHANGE(a5, a13)
    EXCHANGE(a6, a14) EXCHANGE(a7, a15)
    THREE_LEVELS(a0, a1, a2, a3, a4, a5, a6, a7) THREE_LEVELS(a8, a9, a10, a11, a12, a13, a14, a15)
    p0[l] = a0; p1[l] = a1; p2[l] = a2; p3[l] = a3; p4[l] = a4; p5[l] = a5; p6[l] = a6; p7[l] = a7; p8[l] = a8;
    p9[l] = a9; p10[l] = a10; p11[l] = a11; p12[l] = a12; p13[l] = a13; p14[l] = a14; p15[l] = a15;
  }
}
static void NAME(merge_8)(KEY *RESTRICT p0, KEY *RESTRICT p1, KEY *RESTRICT p2, KEY *RESTRICT p3, KEY *RESTRICT p4,
                          KEY *RESTRICT p5, KEY *RESTRICT p6, KEY *RESTRICT p7) {
  int l;
  for (l = 0; l < 16; ++l) {
    KEY a0 = p0[l], a1 = p1[l], a2 = p2[l], a3 = p3[l], a4 = p4[l], a5 = p5[l], a6 = p6[l], a7 = p7[l];
    THREE_LEVELS(a0, a1, a2, a3, a4, a5, a6, a7)
    p0[l] = a0; p1[l] = a1; p2[l] = a2; p3[l] = a3; p4[l] = a4; p5[l] = a5; p6[l] = a6; p7[l] = a7;
  }
}
static void NAME(merge_4)(KEY *RESTRICT p0, KEY *RESTRICT p1, KEY *RESTRICT p2, KEY *RESTRICT p3) {
  int l;
  for (l = 0; l < 16; ++l) {
    KEY a0 = p0[l], a1 = p1[l], a2 = p2[l], a3 = p3[l];
    TWO_LEVELS(a0, a1, a2, a3)
    p0[l] = a0; p1[l] = a1; p2[l] = a2; p3[l] = a3;
  }
}
#undef THREE_LEVELS
#undef TWO_LEVELS
#undef EXCHANGE

/* Sorts 16 elements of each row. */
static void NAME(sort_piece)(KEY *p) {
  NAME(sort_16)(p, p + 16, p + 32, p + 48, p + 64, p + 80, p + 96, p + 112, p + 128, p + 144, p + 160, p + 176, p + 192,
                p + 208, p + 224, p + 240);
}
/* The first four levels of a merge of two runs of block / 2 elements. */
static void NAME(first_four)(KEY *at, int64_t block) {
  const int64_t step = block / 16, s = 16 * step;
  int64_t k;
  for (k = 0; k < step; ++k) {
    KEY *const p = at + 16 * k, *const r = at + 16 * (9 * step - 1 - k);
    NAME(mirror_16)(p, p + s, p + 2 * s, p + 3 * s, p + 4 * s, p + 5 * s, p + 6 * s, p + 7 * s, r, r + s, r + 2 * s,
                    r + 3 * s, r + 4 * s, r + 5 * s, r + 6 * s, r + 7 * s);
  }
}
static void NAME(first_three)(KEY *at, int64_t block) {
  const int64_t step = block / 8, s = 16 * step;
  int64_t k;
  for (k = 0; k < step; ++k) {
    KEY *const p = at + 16 * k, *const r = at + 16 * (5 * step - 1 - k);
    NAME(mirror_8)(p, p + s, p + 2 * s, p + 3 * s, r, r + s, r + 2 * s, r + 3 * s);
  }
}
/* The next levels in each part of `span` elements. */
static void NAME(next_four)(KEY *at, int64_t span, int64_t size) {
  const int64_t inner = span / 16, t = 16 * inner;
  int64_t first, k;
  for (first = 0; first < size; first += span) {
    for (k = 0; k < inner; ++k) {
      KEY *const p = at + 16 * (first + k);
      NAME(merge_16)(p, p + t, p + 2 * t, p + 3 * t, p + 4 * t, p + 5 * t, p + 6 * t, p + 7 * t, p + 8 * t, p + 9 * t,
                     p + 10 * t, p + 11 * t, p + 12 * t, p + 13 * t, p + 14 * t, p + 15 * t);
    }
  }
}
static void NAME(next_three)(KEY *at, int64_t span, int64_t size) {
  const int64_t inner = span / 8, t = 16 * inner;
  int64_t first, k;
  for (first = 0; first < size; first += span) {
    for (k = 0; k < inner; ++k) {
      KEY *const p = at + 16 * (first + k);
      NAME(merge_8)(p, p + t, p + 2 * t, p + 3 * t, p + 4 * t, p + 5 * t, p + 6 * t, p + 7 * t);
    }
  }
}
static void NAME(next_two)(KEY *at, int64_t span, int64_t size) {
  const int64_t inner = span / 4, t = 16 * inner;
  int64_t first, k;
  for (first = 0; first < size; first += span) {
    for (k = 0; k < inner; ++k) {
      KEY *const p = at + 16 * (first + k);
      NAME(merge_4)(p, p + t, p + 2 * t, p + 3 * t);
    }
  }
}
/* Merges two runs of block / 2 elements; behind the first `size` elements there are none but the largest. Parts that
   the first levels leave are finished one after another, while they are in a cache. Where sixteenths of the block are a
   multiple of 4096 bytes apart, they share too few lines of the cache, so eighths are merged first. */
static void NAME(merge)(KEY *at, int64_t block, int64_t size) {
  const int64_t far = 32768 / BITS;
  int64_t first, part;
  int levels = 0;
  while ((int64_t)1 << levels < block) { ++levels; }
  if (block >= far || levels % 4 == 1) {
    NAME(first_three)(at, block);
    levels -= 3;
  } else {
    NAME(first_four)(at, block);
    levels -= 4;
  }
  part = (int64_t)1 << levels;
  for (first = 0; first < size && levels > 0; first += part) {
    KEY *const own = at + 16 * first;
    const int64_t some = size - first < part ? size - first : part;
    int64_t span = part;
    if (levels % 4 == 3 || levels % 4 == 1) {
      NAME(next_three)(own, span, some);
      span /= 8;
    }
    if (levels % 4 == 2 || levels % 4 == 1) {
      NAME(next_two)(own, span, some);
      span /= 4;
    }
    for (; span > 1; span /= 16) { NAME(next_four)(own, span, some); }
  }
}
/* Sorts the rows, of `size` elements. Behind them is room for the largest keys, up to a power of two, at least 16. */
static void NAME(sort_side_by_side)(KEY *at, int64_t size) {
  const KEY last = (KEY)(((UKEY)1 << (BITS - 1)) - 1);
  int64_t whole = 16, end, k;
  while (whole < size) { whole *= 2; }
  for (k = 16 * size; k < 16 * whole; ++k) { at[k] = last; }
  /* Each run is merged with the one in front of it as soon as both are there. */
  for (end = 16; end - 16 < size; end += 16) {
    int64_t block = 32;
    NAME(sort_piece)(at + 16 * (end - 16));
    for (; block <= whole && end % block == 0; block *= 2) { NAME(merge)(at + 16 * (end - block), block, block); }
    if (end >= size) {
      for (; block <= whole; block *= 2) {
        const int64_t first = end / block * block;
        if (end - first > block / 2) { NAME(merge)(at + 16 * first, block, size - first); }
      }
    }
  }
}
