/* The longest rows that a network sorts: longer ones, and single rows, are sorted by digits. */
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
