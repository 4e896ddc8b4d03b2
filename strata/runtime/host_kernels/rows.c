/* Rows that a kernel of the host sorts. Row r is (r / inner, r % inner): element k of the row is at
   from[r / inner * outer_step + r % inner * inner_step + k * step]; element k of the result is at
   to[(r / inner * count + k) * inner + r % inner]. */
struct strata_order {
  const void *from;
  void *to;
  unsigned char *work; /* memory to work in, a multiple of 64 */
  int64_t outer_step, inner_step, step, inner, rows;
  int64_t size;         /* of a row, less than 2^32 */
  int64_t first, count; /* the ranks of the result */
  uint64_t infinity;    /* the bits of +infinity; 0: elements are integers */
  int is_unsigned, is_descending;
};
