/* Between the programs of tests/python/test_export_machines.py and start.c. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>

/* The test: start.c calls it, and ends with what it returns. */
int program(void);
/* Writes to the standard output. */
#if defined(__wasm__)
__attribute__((import_module("env"), import_name("write_bytes")))
#endif
void write_bytes(const char *bytes, size_t count);

/* Writes a line of two hexadecimal digits a byte. */
void write_hex(const void* bytes, size_t count);

void* memcpy(void* to, const void* from, size_t count);
void* memmove(void* to, const void* from, size_t count);
void* memset(void* to, int value, size_t count);
int memcmp(const void* a, const void* b, size_t count);

#endif
