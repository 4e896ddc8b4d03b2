// The C interface of the LLVM plugin: a table of functions, between the plugin (plugin.cpp) and runtime/llvm_library.h,
// which opens it. The plugin is the only part of Strata that links LLVM. All functions are thread-safe, and neither
// throw nor abort. The caller releases each result of type char* and each *error with free_string.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum { STRATA_LLVM_ABI = 3 };

// The result of a call.
enum StrataLlvmStatus {
  STRATA_LLVM_OK = 0,
  STRATA_LLVM_PARSE = 1,   // the text is no module, or the verifier refuses it
  STRATA_LLVM_FAILED = 2,  // the compiler or the loader failed: *error says why
  STRATA_LLVM_MEMORY = 3   // out of memory
};

struct StrataLlvmSession;
struct StrataLlvmModule;

struct StrataLlvmText {
  const char* data;
  size_t size;
};

struct StrataLlvmOptions {
  int32_t opt_level;      // 0: no passes; 1: EarlyCSE; 2 and more: also those of kernels
  int32_t deterministic;  // nonzero: no fma contraction, except where the IR calls llvm.fma
  const char* cpu;        // "native" or the name of a CPU that LLVM knows
};

// Nanoseconds of each step.
struct StrataLlvmTimes {
  int64_t setup, parse, passes, codegen;
};

// How code refers to what lies elsewhere.
enum StrataLlvmRelocation { STRATA_LLVM_PIC = 0, STRATA_LLVM_STATIC = 1 };
// How floats are passed.
enum StrataLlvmFloats { STRATA_LLVM_FLOATS_OF_TRIPLE = 0, STRATA_LLVM_FLOATS_SOFT = 1, STRATA_LLVM_FLOATS_HARD = 2 };

// A machine for which code is compiled, whatever this one is.
struct StrataLlvmTarget {
  const char* triple;    // "aarch64-unknown-linux-gnu"
  const char* cpu;       // the name of a CPU that LLVM knows for the triple
  const char* features;  // besides those of the CPU: "+avx2,-fma"; or empty
  const char* abi;       // its name where the triple leaves it open: "lp64d"; or empty
  int32_t relocation;    // StrataLlvmRelocation
  int32_t floats;        // StrataLlvmFloats
};

// An object file for others to link. The caller releases the three texts with free_string.
struct StrataLlvmObject {
  char* data;
  size_t size;
  int64_t loaded_bytes;  // of the sections that a program loads: code and constants
  char* frames;          // the stack of each function, without the address to which it returns: lines "NAME BYTES"
  char* undefined;       // the symbols that others define, a line each
};

struct StrataLlvmTable {
  int32_t abi_version;
  const char* llvm_version;

  // Creates a session, which keeps compilers for reuse. Quick: LLVM is set up at the first compilation. NULL: out of
  // memory.
  StrataLlvmSession* (*create)();
  // Destroys a session. Loaded modules stay valid.
  void (*destroy)(StrataLlvmSession*);

  // Compiles IR text to an object file. `times` may be NULL. On failure *error says why, and *object is not set.
  int32_t (*compile)(StrataLlvmSession*, StrataLlvmText ir, const StrataLlvmOptions*, char** object, size_t* size,
                     StrataLlvmTimes* times, char** error);
  // As compile, but to assembly text.
  int32_t (*assembly)(StrataLlvmSession*, StrataLlvmText ir, const StrataLlvmOptions*, char** assembly, size_t* size,
                      char** error);
  // Loads an object file into executable memory. `compile` must have made it for this CPU, unchanged since: its
  // relocations are not checked.
  int32_t (*load)(StrataLlvmText object, StrataLlvmModule** module, char** error);
  // The address of a function of the module; NULL if there is none of that name.
  void* (*symbol)(const StrataLlvmModule*, const char* name);
  // Frees the module's code.
  void (*unload)(StrataLlvmModule*);

  // LLVM's name of this machine's CPU, and its features: "sapphirerapids +avx512f,...". NULL: out of memory.
  char* (*host)();
  // Gives the pages of LLVM's code back to the system, which loads them again when they are needed.
  void (*release_code)();
  void (*free_string)(char*);

  // Whether LLVM compiles for the target, and which of `features`, names with blanks between, its CPU has: bit k of
  // *has is for name k. Sets up the target's part of LLVM. On failure *error says why, with the names that LLVM knows.
  int32_t (*has)(const StrataLlvmTarget*, const char* features, uint64_t* has, char** error);
  // Compiles IR text to an object file for the target, by LLVM's own passes, -O2.
  int32_t (*compile_for)(StrataLlvmText ir, const StrataLlvmTarget*, int32_t deterministic, StrataLlvmObject*,
                         char** error);
};

// The only symbol that the plugin exports: a function that returns the table.
#define STRATA_LLVM_ENTRY "strata_llvm_table"
using StrataLlvmEntry = const StrataLlvmTable* (*)();
}
