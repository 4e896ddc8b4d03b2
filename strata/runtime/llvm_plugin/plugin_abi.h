// The C table of the LLVM plugin: a shared object of its own that is opened on first use (runtime/llvm_library.h), so
// that nothing else of Strata links LLVM. Its functions may be called from any thread at any time; they neither throw nor
// abort. What comes back as `char**` is given back with free_string.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum { STRATA_LLVM_ABI = 1 };

// What became of a call.
enum StrataLlvmStatus {
  STRATA_LLVM_OK = 0,
  STRATA_LLVM_PARSE = 1,   // the text is no module, or the verifier refuses it
  STRATA_LLVM_FAILED = 2,  // the compiler or the loader gave up: the error says why
  STRATA_LLVM_MEMORY = 3   // out of memory
};

struct StrataLlvmSession;
struct StrataLlvmModule;

struct StrataLlvmText {
  const char* data;
  size_t size;
};

struct StrataLlvmOptions {
  int32_t opt_level;      // 0: as it stands; 1: a few clean-ups; 2 and more: the passes of kernels
  int32_t deterministic;  // nonzero: no product is fused into a sum, but where the text says llvm.fma
  const char* cpu;        // "native" or a name that LLVM knows
};

// Nanoseconds of each step.
struct StrataLlvmTimes {
  int64_t setup, parse, passes, codegen;
};

struct StrataLlvmTable {
  int32_t abi_version;
  const char* llvm_version;

  // Quick: nothing of LLVM is set up before the first compilation. NULL: out of memory.
  StrataLlvmSession* (*create)();
  // Modules stay valid.
  void (*destroy)(StrataLlvmSession*);

  // IR text to an object file. `times` may be NULL. On failure nothing is given out but *error, which says why.
  int32_t (*compile)(StrataLlvmSession*, StrataLlvmText ir, const StrataLlvmOptions*, char** object,
                     size_t* size, StrataLlvmTimes* times, char** error);
  // As compile, to assembly.
  int32_t (*assembly)(StrataLlvmSession*, StrataLlvmText ir, const StrataLlvmOptions*,
                      char** assembly, size_t* size, char** error);
  // An object file to code in memory. It must be one of `compile` on a machine with this CPU, unharmed: its relocations
  // are trusted.
  int32_t (*load)(StrataLlvmText object, StrataLlvmModule** module, char** error);
  // Address of a function of the module; NULL where there is none of the name.
  void* (*symbol)(const StrataLlvmModule*, const char* name);
  // The code is gone.
  void (*unload)(StrataLlvmModule*);

  // The machine's CPU as LLVM has it and its features: "sapphirerapids +avx512f,...". NULL: out of memory.
  char* (*host)();
  void (*free_string)(char*);
};

// The one symbol of the plugin.
#define STRATA_LLVM_ENTRY "strata_llvm_table"
using StrataLlvmEntry = const StrataLlvmTable* (*)();
}
