// export_c(): turns a captured function (tensor/jit.h) into one C file with a header. The file needs no library and no
// allocation: it is C11 and C++ at once, and includes stdint.h and stddef.h alone.
//
//   auto f = jit([&](const Tensor& x) { return model(x); });
//   f(x), f(x);                        // the second call is captured
//   export_c(f, "dir/model");          // dir/model.h and dir/model.c
//
// The header is the contract: model_run() takes the inputs, the outputs, the symbolic sizes, the state, an arena for
// intermediate results and a callback that shares loops among threads. All arguments are checked before anything is
// written. Any number of threads may call it, each with an arena and a state of its own.
//
// - Tensors to which the function assigns are the state, with model_reset(); random counters are a part of it. A
// learning
//   rate stays that of the export. Arguments that are assigned to are read and written in place.
// - A symbolic size, also one that bounds a loop, is an argument. Loops (scan(), while_loop()) become `for` loops.
// - Weights are constants of the file, or a blob that the caller maps; they are packed as the kernels read them.
// - Kernels are compiled anew for the target, whatever this machine is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strata/base/flags.h"
#include "strata/tensor/jit.h"

namespace strata {

/// What export_c() writes.
struct ExportOptions {
  /// What the kernels are written for: "plain" (ISO C without extensions; tcc compiles it), or GNU vectors of 16
  /// ("generic", "neon", "wasm", "rvv"), 32 ("avx2") or 64 bytes ("avx512"). Each compiles everywhere; the words say
  /// where it is quick. Several with commas between, the most demanding first, e.g. "avx512,avx2,generic": the file has
  /// the kernels for each, model_run() chooses the first that the processor has, and model_run_on() takes the choice.
  std::string target = "generic";
  /// "opencl", "cuda", "metal" or "wgsl": instead of a C file, the kernels for devices: NAME.cl, .cu or .metal, or a
  /// file NAME_k0.wgsl for each, and NAME.json, which says what a program allocates and launches; weights are in
  /// NAME.bin. The table is described in docs/shipping.md.
  std::string kernels{};
  /// "x86_64", "aarch64", "armv7em", "riscv64", "wasm32", or a triple of such a machine: LLVM compiles the kernels when
  /// the model is exported, into NAME_kernels.o, and NAME.c has the checks, the calls and the weights. `target` says
  /// which vectors there are: "avx2" or "avx512" of x86_64, "neon", "rvv" or "wasm" of the others. Results have the
  /// bits of the C file where `deterministic`.
  std::string object{};
  /// Of `object`: a CPU by the name that LLVM has for it, e.g. "cortex-m7", and features besides: "+sse4.1,-fma".
  std::string cpu{}, features{};
  /// "embed": weights are constants of the file. "pointer": they are a blob, NAME.bin, whose address model_run() takes.
  /// "file": the blob has a head, by which model_run() refuses that of another model.
  std::string weights = "embed";
  /// "f32": weights are stored as they are. "f16", "int8": tensors of f32 from outside with 1024 elements or more take
  /// 2 bytes an element, or 33 for 32, and are widened where kernels load them: results are those of the same function
  /// with weights that were rounded before, bit by bit where `deterministic`. f16 rounds to nearest, ties to even; int8
  /// to multiples of a power of two for each 32 elements in memory, the least with which the largest is at most 127
  /// times it. A weight stays f32 that the dtype cannot hold (an element is not finite, beyond 65504 or 2^127; all are
  /// below 2^-14 or 2^-100), and so do weights that a loop (scan()) reads.
  std::string weight_dtype = "f32";
  /// Whether comments name the lines of the user's sources.
  bool lines = true;
  /// Whether the bits of results are those of the flag DETERMINISTIC, for compilers that fuse no products and sums.
  bool deterministic = flags::DETERMINISTIC.get();
  /// Whether to write NAME_test.c, a program that runs the model on the inputs of the captured call and compares.
  bool selftest = false;
  /// Whether to write NAME.hpp, a class for C++20 that owns the arena and the state, and takes spans.
  bool cpp = false;
  /// The names of the parameters of model_run(), in order; where empty "x", "y" and "s" with a number.
  std::vector<std::string> inputs{}, outputs{}, states{};
  /// Whether a name that another parameter has gets a number behind, instead of an Error.
  bool unique_names = false;
  /// The most bytes of RAM: of arena, state and stack; and of flash: of weights and tables, and
  /// of the kernels of an `object`. More is refused.
  std::optional<std::int64_t> max_ram{}, max_flash{};
};

/// A part of the memory of an exported function.
struct ExportedPart {
  std::string name;                 ///< of the result, the state or the constant
  std::int64_t bytes = 0, at = 0;   ///< its size and offset, for the largest sizes
  std::size_t first = 0, last = 0;  ///< of the arena: the steps that need it
};

/// An exported function, as texts.
struct ExportedModel {
  std::string name;
  std::string header, source;      ///< NAME.h and NAME.c
  std::string test;                ///< NAME_test.c; empty without `selftest`
  std::vector<std::byte> weights;  ///< NAME.bin; empty where weights are embedded
  std::string object{};            ///< NAME_kernels.o; empty without `object`
  std::int64_t code_bytes = 0;     ///< of the object: the code of the kernels, and its constants
  std::int64_t arena_bytes = 0;    ///< of the largest sizes
  std::int64_t state_bytes = 0;
  std::int64_t constant_bytes = 0;  ///< of weights, packed ones among them, and of the initial state
  std::size_t kernels = 0;          ///< distinct ones
  /// The stack that NAME_run() needs, estimated from above, without what the callback for threads does: as gcc compiles
  /// the file for x86-64 with -O1 and -O2. In the tests never less than what gcc states, and at most three times as
  /// much and 256 bytes; -O3 may need more. Kernels of an object: as LLVM states their frames, and 112 bytes at most.
  std::int64_t stack_bytes = 0;
  double operations = 0, moved_bytes = 0;  ///< of a run with the largest sizes: between elements; of loads and stores
  std::vector<std::string> steps{};        ///< what a run does, in order
  std::vector<ExportedPart> arena{}, state{}, constants{};
  std::string wrapper{};  ///< NAME.hpp; empty without `cpp`
  std::string table{};    ///< NAME.json; with `kernels` alone, and then there is neither a header nor a source
  std::vector<std::pair<std::string, std::string>> kernel_files{};  ///< the kernels: names of files, and texts

  std::int64_t flash_bytes() const { return constant_bytes + code_bytes; }
  std::int64_t ram_bytes() const { return arena_bytes + state_bytes + stack_bytes; }
};

/// The names of the files that export_c() writes.
std::vector<std::string> files_of(const ExportedModel& model);
/// Sizes, and the memory of the arena that is needed in each step, as lines of text.
std::string report_text(const ExportedModel& model);
/// The arena over time: steps to the right, offsets upward. A picture as an SVG file.
std::string report_svg(const ExportedModel& model);

/// The most recently used capture of `function` as C, under the name `name`.
/// @throws Error (budget) where it needs more than max_ram or max_flash, with the largest parts; (domain) for a name
/// that is none in C, an unknown target, object, CPU or feature, language of kernels, choice of weights or dtype of
/// weights, a self test where a rounded weight changes, a function that is not
///   captured, or what cannot be exported, by the operation or kernel: see docs/shipping.md; (undefined) for values
///   that are fed by a function of the program's, or an object without LLVM
ExportedModel exported_c(Jit& function, const std::string& name, const ExportOptions& options = {});

/// As exported_c(), under the name of the file, and writes the files. Returns the model.
/// @throws as exported_c(), and Error (budget) where a file cannot be written; no file has changed then where the error
///   is of the model
ExportedModel export_c(Jit& function, const std::filesystem::path& path, const ExportOptions& options = {});

namespace detail {
Jit& called(Jit* function);
}

template <class F>
ExportedModel exported_c(const JitFunction<F>& function, const std::string& name, const ExportOptions& options = {}) {
  return exported_c(detail::called(function.jit()), name, options);
}
template <class F>
ExportedModel export_c(const JitFunction<F>& function, const std::filesystem::path& path,
                       const ExportOptions& options = {}) {
  return export_c(detail::called(function.jit()), path, options);
}

}  // namespace strata
