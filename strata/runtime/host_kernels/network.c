/* A sorting network for 16 rows side by side: element k of row l is at[16*k + l]. Each function is a loop over the rows,
   whose local variables become vectors: up to 16 elements of each row pass up to four levels of the network between a
   load and a store. */
#define EXCHANGE(a, b) { const KEY least = a < b ? a : b; b = a < b ? b : a; a = least; }

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
static void NAME(mirrored_levels)(KEY *RESTRICT p0, KEY *RESTRICT p1, KEY *RESTRICT p2, KEY *RESTRICT p3,
                                  KEY *RESTRICT p4, KEY *RESTRICT p5, KEY *RESTRICT p6, KEY *RESTRICT p7,
                                  KEY *RESTRICT p8, KEY *RESTRICT p9, KEY *RESTRICT p10, KEY *RESTRICT p11,
                                  KEY *RESTRICT p12, KEY *RESTRICT p13, KEY *RESTRICT p14, KEY *RESTRICT p15) {
  int l;
  for (l = 0; l < 16; ++l) {
    KEY a0 = p0[l], a1 = p1[l], a2 = p2[l], a3 = p3[l], a4 = p4[l], a5 = p5[l], a6 = p6[l], a7 = p7[l];
    KEY a8 = p8[l], a9 = p9[l], a10 = p10[l], a11 = p11[l], a12 = p12[l], a13 = p13[l], a14 = p14[l], a15 = p15[l];
    EXCHANGE(a0, a15) EXCHANGE(a1, a14) EXCHANGE(a2, a13) EXCHANGE(a3, a12) EXCHANGE(a4, a11) EXCHANGE(a5, a10)
    EXCHANGE(a6, a9) EXCHANGE(a7, a8)
    EXCHANGE(a0, a4) EXCHANGE(a1, a5) EXCHANGE(a2, a6) EXCHANGE(a3, a7) EXCHANGE(a8, a12) EXCHANGE(a9, a13)
    EXCHANGE(a10, a14) EXCHANGE(a11, a15)
    EXCHANGE(a0, a2) EXCHANGE(a1, a3) EXCHANGE(a4, a6) EXCHANGE(a5, a7) EXCHANGE(a8, a10) EXCHANGE(a9, a11)
    EXCHANGE(a12, a14) EXCHANGE(a13, a15)
    EXCHANGE(a0, a1) EXCHANGE(a2, a3) EXCHANGE(a4, a5) EXCHANGE(a6, a7) EXCHANGE(a8, a9) EXCHANGE(a10, a11)
    EXCHANGE(a12, a13) EXCHANGE(a14, a15)
    p0[l] = a0; p1[l] = a1; p2[l] = a2; p3[l] = a3; p4[l] = a4; p5[l] = a5; p6[l] = a6; p7[l] = a7; p8[l] = a8;
    p9[l] = a9; p10[l] = a10; p11[l] = a11; p12[l] = a12; p13[l] = a13; p14[l] = a14; p15[l] = a15;
  }
}
static void NAME(four_levels)(KEY *RESTRICT p0, KEY *RESTRICT p1, KEY *RESTRICT p2, KEY *RESTRICT p3,
                              KEY *RESTRICT p4, KEY *RESTRICT p5, KEY *RESTRICT p6, KEY *RESTRICT p7,
                              KEY *RESTRICT p8, KEY *RESTRICT p9, KEY *RESTRICT p10, KEY *RESTRICT p11,
                              KEY *RESTRICT p12, KEY *RESTRICT p13, KEY *RESTRICT p14, KEY *RESTRICT p15) {
  int l;
  for (l = 0; l < 16; ++l) {
    KEY a0 = p0[l], a1 = p1[l], a2 = p2[l], a3 = p3[l], a4 = p4[l], a5 = p5[l], a6 = p6[l], a7 = p7[l];
    KEY a8 = p8[l], a9 = p9[l], a10 = p10[l], a11 = p11[l], a12 = p12[l], a13 = p13[l], a14 = p14[l], a15 = p15[l];
    EXCHANGE(a0, a8) EXCHANGE(a1, a9) EXCHANGE(a2, a10) EXCHANGE(a3, a11) EXCHANGE(a4, a12) EXCHANGE(a5, a13)
    EXCHANGE(a6, a14) EXCHANGE(a7, a15)
    EXCHANGE(a0, a4) EXCHANGE(a1, a5) EXCHANGE(a2, a6) EXCHANGE(a3, a7) EXCHANGE(a8, a12) EXCHANGE(a9, a13)
    EXCHANGE(a10, a14) EXCHANGE(a11, a15)
    EXCHANGE(a0, a2) EXCHANGE(a1, a3) EXCHANGE(a4, a6) EXCHANGE(a5, a7) EXCHANGE(a8, a10) EXCHANGE(a9, a11)
    EXCHANGE(a12, a14) EXCHANGE(a13, a15)
    EXCHANGE(a0, a1) EXCHANGE(a2, a3) EXCHANGE(a4, a5) EXCHANGE(a6, a7) EXCHANGE(a8, a9) EXCHANGE(a10, a11)
    EXCHANGE(a12, a13) EXCHANGE(a14, a15)
    p0[l] = a0; p1[l] = a1; p2[l] = a2; p3[l] = a3; p4[l] = a4; p5[l] = a5; p6[l] = a6; p7[l] = a7; p8[l] = a8;
    p9[l] = a9; p10[l] = a10; p11[l] = a11; p12[l] = a12; p13[l] = a13; p14[l] = a14; p15[l] = a15;
  }
}
static void NAME(three_levels)(KEY *RESTRICT p0, KEY *RESTRICT p1, KEY *RESTRICT p2, KEY *RESTRICT p3,
                               KEY *RESTRICT p4, KEY *RESTRICT p5, KEY *RESTRICT p6, KEY *RESTRICT p7) {
  int l;
  for (l = 0; l < 16; ++l) {
    KEY a0 = p0[l], a1 = p1[l], a2 = p2[l], a3 = p3[l], a4 = p4[l], a5 = p5[l], a6 = p6[l], a7 = p7[l];
    EXCHANGE(a0, a4) EXCHANGE(a1, a5) EXCHANGE(a2, a6) EXCHANGE(a3, a7)
    EXCHANGE(a0, a2) EXCHANGE(a1, a3) EXCHANGE(a4, a6) EXCHANGE(a5, a7)
    EXCHANGE(a0, a1) EXCHANGE(a2, a3) EXCHANGE(a4, a5) EXCHANGE(a6, a7)
    p0[l] = a0; p1[l] = a1; p2[l] = a2; p3[l] = a3; p4[l] = a4; p5[l] = a5; p6[l] = a6; p7[l] = a7;
  }
}
static void NAME(two_levels)(KEY *RESTRICT p0, KEY *RESTRICT p1, KEY *RESTRICT p2, KEY *RESTRICT p3) {
  int l;
  for (l = 0; l < 16; ++l) {
    KEY a0 = p0[l], a1 = p1[l], a2 = p2[l], a3 = p3[l];
    EXCHANGE(a0, a2) EXCHANGE(a1, a3)
    EXCHANGE(a0, a1) EXCHANGE(a2, a3)
    p0[l] = a0; p1[l] = a1; p2[l] = a2; p3[l] = a3;
  }
}
static void NAME(one_level)(KEY *RESTRICT p0, KEY *RESTRICT p1) {
  int l;
  for (l = 0; l < 16; ++l) {
    KEY a0 = p0[l], a1 = p1[l];
    EXCHANGE(a0, a1)
    p0[l] = a0; p1[l] = a1;
  }
}
/* The last levels that merge runs: `levels` levels, of which the first joins elements that are 2^(levels - 1) apart. */
static void NAME(levels)(KEY *at, int levels, int64_t used) {
  int done = levels % 4 == 0 ? 4 : levels % 4;
  for (; levels > 0; levels -= done, done = 4) {
    const int64_t span = (int64_t)1 << levels, inner = span >> done, t = 16 * inner;
    int64_t first, k;
    for (first = 0; first < used; first += span) {
      for (k = 0; k < inner && first + k < used; ++k) {
        KEY *const p = at + 16 * (first + k);
        if (done == 4) {
          NAME(four_levels)(p, p + t, p + 2 * t, p + 3 * t, p + 4 * t, p + 5 * t, p + 6 * t, p + 7 * t, p + 8 * t,
                            p + 9 * t, p + 10 * t, p + 11 * t, p + 12 * t, p + 13 * t, p + 14 * t, p + 15 * t);
        } else if (done == 3) {
          NAME(three_levels)(p, p + t, p + 2 * t, p + 3 * t, p + 4 * t, p + 5 * t, p + 6 * t, p + 7 * t);
        } else if (done == 2) {
          NAME(two_levels)(p, p + t, p + 2 * t, p + 3 * t);
        } else {
          NAME(one_level)(p, p + t);
        }
      }
    }
  }
}
/* Sorts the rows, of `size` elements. Behind them is room for the largest keys, up to a power of two, at least 16. */
static void NAME(sort_side_by_side)(KEY *at, int64_t size) {
  const KEY last = (KEY)(((UKEY)1 << (BITS - 1)) - 1);
  int64_t whole = 16, block, first, k;
  int levels = 0;
  while (whole < size) { whole *= 2; }
  for (k = 16 * size; k < 16 * whole; ++k) { at[k] = last; }
  for (k = 0; k < size; k += 16) {
    KEY *const p = at + 16 * k;
    NAME(sort_16)(p, p + 16, p + 32, p + 48, p + 64, p + 80, p + 96, p + 112, p + 128, p + 144, p + 160, p + 176,
                  p + 192, p + 208, p + 224, p + 240);
  }
  for (block = 32; block <= whole; block *= 2) {
    const int64_t step = block / 16, s = 16 * step;
    for (first = 0; first + block / 2 < size; first += block) {
      for (k = 0; k < step; ++k) {
        KEY *const p = at + 16 * (first + k), *const r = at + 16 * (first + 8 * step + step - 1 - k);
        NAME(mirrored_levels)(p, p + s, p + 2 * s, p + 3 * s, p + 4 * s, p + 5 * s, p + 6 * s, p + 7 * s, r, r + s,
                              r + 2 * s, r + 3 * s, r + 4 * s, r + 5 * s, r + 6 * s, r + 7 * s);
      }
    }
    NAME(levels)(at, ++levels, size);
  }
}
#undef EXCHANGE
