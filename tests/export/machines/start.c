/* What a program needs to run on a bare machine: an entry that calls program(), system calls of Linux that write and
 * end, the four functions that compilers call for copies, and what ARM's ABI asks for in place of instructions that a
 * processor lacks. In WebAssembly the host gives write_bytes(), and calls program(). No C library is linked. */
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

#if defined(__wasm__)
/* The host's. */
#else

#if defined(__arm__)
/* By itself: a C function may hold its frame in r7, which has the number of a system call. */
long call_system(long number, long a, long b, long c);
__asm__(
    ".text\n.thumb\n.syntax unified\n.globl call_system\n.type call_system, %function\n.thumb_func\ncall_system:\n"
    "  push {r7, lr}\n  mov r7, r0\n  mov r0, r1\n  mov r1, r2\n  mov r2, r3\n  svc 0\n  pop {r7, pc}\n");
#else
static long call_system(long number, long a, long b, long c) {
#if defined(__x86_64__)
  long out;
  __asm__ volatile("syscall" : "=a"(out) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return out;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#elif defined(__riscv)
  register long a7 __asm__("a7") = number;
  register long a0 __asm__("a0") = a;
  register long a1 __asm__("a1") = b;
  register long a2 __asm__("a2") = c;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
  return a0;
#else
#error "no system calls are known for this machine"
#endif
}
#endif

enum {
#if defined(__x86_64__)
  kWrite = 1,
  kExit = 60
#elif defined(__arm__)
  kWrite = 4,
  kExit = 1
#else
  kWrite = 64,
  kExit = 93
#endif
};

void write_bytes(const char* bytes, size_t count) {
  while (count > 0) {
    const long written = call_system(kWrite, 1, (long)bytes, (long)count);
    if (written <= 0) call_system(kExit, 2, 0, 0);
    bytes += written;
    count -= (size_t)written;
  }
}

void start_program(void);
void start_program(void) {
  call_system(kExit, program(), 0, 0);
  for (;;) {
  }
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n  xor %ebp, %ebp\n  and $-16, %rsp\n  call start_program\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n  b start_program\n");
#elif defined(__arm__)
__asm__(
    ".globl _start\n.type _start, %function\n.thumb\n.thumb_func\n_start:\n  mov r0, sp\n  bic r0, r0, "
    "#7\n  mov sp, r0\n  bl start_program\n");
#elif defined(__riscv)
__asm__(
    ".globl _start\n_start:\n.option push\n.option norelax\n  la gp, __global_pointer$\n.option pop\n  andi sp, sp, "
    "-16\n"
    "  tail start_program\n");
#endif
#endif

void write_hex(const void* bytes, size_t count) {
  char digits[128];
  size_t k, filled = 0;
  for (k = 0; k < count; ++k) {
    const unsigned char byte = ((const unsigned char*)bytes)[k];
    digits[filled++] = "0123456789abcdef"[byte >> 4];
    digits[filled++] = "0123456789abcdef"[byte & 15];
    if (filled == sizeof digits) write_bytes(digits, filled), filled = 0;
  }
  write_bytes(digits, filled);
  write_bytes("\n", 1);
}

/* --- copies --- */

void* memcpy(void* to, const void* from, size_t count) {
  size_t k;
  for (k = 0; k < count; ++k) ((volatile unsigned char*)to)[k] = ((const unsigned char*)from)[k];
  return to;
}
void* memmove(void* to, const void* from, size_t count) {
  if ((uintptr_t)to < (uintptr_t)from) return memcpy(to, from, count);
  while (count-- > 0) ((volatile unsigned char*)to)[count] = ((const unsigned char*)from)[count];
  return to;
}
void* memset(void* to, int value, size_t count) {
  size_t k;
  for (k = 0; k < count; ++k) ((volatile unsigned char*)to)[k] = (unsigned char)value;
  return to;
}
int memcmp(const void* a, const void* b, size_t count) {
  size_t k;
  for (k = 0; k < count; ++k) {
    const int d = ((const unsigned char*)a)[k] - ((const volatile unsigned char*)b)[k];
    if (d != 0) return d;
  }
  return 0;
}
