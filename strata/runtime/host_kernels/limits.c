/* The longest rows that a network sorts: longer ones, and single rows, are sorted by buckets or by
   digits. */
#if defined(__AVX2__)
#define strata_most_values 4096
#define strata_most_places 2048
#elif defined(__aarch64__)
#define strata_most_values 2048
#define strata_most_places 128
#else
#define strata_most_values 128
#define strata_most_places 64
#endif
/* The shortest rows of 32 bits that are sorted by buckets; those of 64 bits may be half as long. Without wide vectors,
   no row is so long. NOTE: order_work_bytes() knows the least of them, and the numbers below. */
#if defined(__AVX512F__)
#define strata_least_in_buckets 8192
#elif defined(__AVX2__)
#define strata_least_in_buckets 32768
#else
#define strata_least_in_buckets 8589934592
#endif
/* The most buckets of a row, the least number of keys that are split into buckets, the longest buckets that the network
   sorts, a power of two. */
#define strata_most_buckets 4096
#define strata_few_in_bucket 128
#define strata_most_side_by_side 2048
/* Numbers that count digits: six digits of 11 bits. */
#define strata_most_counts 12288
/* The most lanes of a row in which few elements are found. */
#define strata_most_lanes 2048
