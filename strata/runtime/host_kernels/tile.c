/* The keys of 16 rows from row `first` on, of which `there` exist, side by side: key k of row l at to[16*k + l]. */
static void NAME(keys_of_16)(KEY *RESTRICT to, const struct strata_order *rows, int64_t first, int there,
                             const struct NAME(form) *form) {
  const struct NAME(form) f = *form;
  const int64_t step = rows->step, size = rows->size;
  const UKEY *row[16];
  KEY block[256];
  int64_t j, k;
  int l, is_across = rows->inner_step == 1 && there == 16, is_even = rows->step == 1 && there == 16;
  for (l = 0; l < 16; ++l) { row[l] = NAME(row)(rows, first + (l < there ? l : 0)); }
  for (l = 0; l < 16; ++l) {
    is_across = is_across && row[l] == row[0] + l;
    is_even = is_even && row[l] - row[0] == l * (row[1] - row[0]);
  }
  if (is_across) {
    for (k = 0; k < size; ++k) {
      const UKEY *const from = row[0] + k * step;
      for (l = 0; l < 16; ++l) { to[16 * k + l] = NAME(key)(from[l], &f); }
    }
    return;
  }
  if (is_even) {
    const UKEY *const from = row[0];
    const int64_t apart = row[1] - row[0];
    for (k = 0; k < size; ++k) {
      for (l = 0; l < 16; ++l) { to[16 * k + l] = (KEY)from[l * apart + k]; }
    }
    for (k = 0; k < 16 * size; ++k) { to[k] = NAME(key)((UKEY)to[k], &f); }
    return;
  }
  for (j = 0; j + 16 <= size; j += 16) {
    for (l = 0; l < 16; ++l) { NAME(keys)(block + 16 * l, row[l] + j * step, step, 16, &f); }
    for (k = 0; k < 16; ++k) {
      for (l = 0; l < 16; ++l) { to[16 * (j + k) + l] = block[16 * l + k]; }
    }
  }
  for (; j < size; ++j) {
    for (l = 0; l < 16; ++l) { to[16 * j + l] = NAME(key)(row[l][j * step], &f); }
  }
}
