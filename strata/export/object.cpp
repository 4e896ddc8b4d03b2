#include "strata/export/object.h"

#include <algorithm>
#include <iterator>

#include "strata/base/check.h"

namespace strata::exporting {

using detail::message;

struct ObjectFamily {
  std::string_view word, arch;  ///< of the option, and with which triples begin
  std::string_view triple, cpu, features;
  std::string_view targets;    ///< beside "plain" and "generic", with commas between
  std::string_view condition;  ///< of C's preprocessor
};

namespace {

// clang-format off
constexpr ObjectFamily kFamilies[] = {
    {"x86_64",  "x86_64",  "x86_64-unknown-linux-gnu",  "x86-64",       "", "avx2, avx512", "defined(__x86_64__)"},
    {"aarch64", "aarch64", "aarch64-unknown-linux-gnu", "generic",      "", "neon",         "defined(__aarch64__)"},
    {"",        "arm64",   "",                          "generic",      "", "neon",         "defined(__aarch64__)"},
    {"armv7em", "thumb",   "thumbv7em-none-eabihf",     "cortex-m4",    "", "",             "defined(__arm__)"},
    {"",        "arm",     "",                          "generic",      "", "neon",         "defined(__arm__)"},
    {"riscv64", "riscv64", "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", "rvv",
     "defined(__riscv) && __riscv_xlen == 64"},
    {"wasm32",  "wasm32",  "wasm32-unknown-unknown",    "generic",      "", "wasm",         "defined(__wasm32__)"},
};

/// The features by which a machine has the vectors of a target.
struct TargetFeatures {
  std::string_view target, arch, features;
};
constexpr TargetFeatures kTargetFeatures[] = {
    {"avx2",   "x86_64",  "+avx2,+fma,+f16c"},
    {"avx512", "x86_64",  "+avx512f,+avx512bw,+avx512dq,+avx512vl,+fma,+f16c"},
    {"neon",   "arm",     "+neon"},
    {"rvv",    "riscv64", "+v"},
    {"wasm",   "wasm32",  "+simd128"},
};
// clang-format on

std::string_view arch_of(std::string_view triple) { return triple.substr(0, triple.find('-')); }

/// The family of an option's word, or of a triple.
const ObjectFamily& family_of(const std::string& object) {
  const ObjectFamily* out = nullptr;
  std::string known;
  for (const ObjectFamily& f : kFamilies) {
    if (!f.word.empty()) known += message(known.empty() ? "" : ", ", f.word);
    const bool is_triple = object.find('-') != std::string::npos && arch_of(object).starts_with(f.arch);
    if (object == f.word || (is_triple && out == nullptr)) out = &f;
  }
  STRATA_CHECK(out != nullptr, domain, "[export] the object \"", object, "\" is unknown: ", known,
               ", or a triple of such a machine, e.g. thumbv7em-none-eabi");
  return *out;
}

void add_features(std::string& to, std::string_view more) {
  if (!more.empty()) to += message(to.empty() ? "" : ",", more);
}

/// What the compiler's own runtime has, and what compilers call for copies. No function of libm is named so.
bool is_allowed(std::string_view symbol, std::string_view triple) {
  if (triple.find("-apple-") != std::string_view::npos && symbol.starts_with("_")) symbol.remove_prefix(1);
  constexpr std::string_view copies[] = {"memcpy", "memmove", "memset", "memcmp"};
  return symbol.starts_with("_") || std::find(std::begin(copies), std::end(copies), symbol) != std::end(copies);
}

/// A message of LLVM's with the name of this part in front.
template <class Function>
auto told(const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    throw Error(error.kind(), message("[export] the object: ", error.what()));
  }
}

}  // namespace

ObjectCode::ObjectCode(const ExportOptions& options, const TargetRow& target)
    : family_(&family_of(options.object)), is_deterministic_(options.deterministic) {
  const bool is_word = options.object == family_->word;
  machine_.triple = is_word ? std::string(family_->triple) : options.object;
  machine_.cpu = options.cpu.empty() ? std::string(family_->cpu) : options.cpu;
  machine_.is_static = machine_.triple.find("-none-") != std::string::npos || family_->arch == "wasm32";
  machine_.floats = LlvmMachine::Floats::of_triple;
  if (family_->arch == "arm" || family_->arch == "thumb")
    machine_.floats = machine_.triple.ends_with("hf") ? LlvmMachine::Floats::hard : LlvmMachine::Floats::soft;
  place_features(options, target);
  told([&] { return find_lacks(options); });
}

void ObjectCode::place_features(const ExportOptions& options, const TargetRow& target) {
  if (options.cpu.empty()) add_features(machine_.features, family_->features);
  const bool is_everywhere = target.word == "plain" || target.word == "generic";
  STRATA_CHECK(is_everywhere || family_->targets.find(target.word) != std::string_view::npos, domain,
               "[export] the target \"", target.word, "\" is not of the machine ", machine_.triple,
               ": its targets are plain, generic", family_->targets.empty() ? "" : ", ", family_->targets);
  for (const TargetFeatures& row : kTargetFeatures)
    if (row.target == target.word && row.arch == family_->arch) add_features(machine_.features, row.features);
  add_features(machine_.features, options.features);
}

/// Asks LLVM which instructions there are.
void ObjectCode::find_lacks(const ExportOptions& options) {
  const LlvmLibrary& llvm = LlvmLibrary::shared();
  if (family_->arch == "x86_64") {
    const std::string_view names[] = {"sse4.1", "f16c"};
    const std::vector<bool> has = llvm.has(machine_, names);
    lacks_.roundings = !has[0], lacks_.halves = !has[1];
  } else if (family_->arch == "arm" || family_->arch == "thumb") {
    const std::string_view names[] = {"vfp2sp", "fp64", "soft-float", "neon"};
    const std::vector<bool> has = llvm.has(machine_, names);
    lacks_ = {true, !has[0] || has[2], !has[0] || !has[1] || has[2], true};
    STRATA_CHECK(!has[3] || !options.deterministic, domain, "vectors of ", machine_.triple,
                 " have no subnormal numbers: take the feature -neon, or results that are not deterministic");
  } else if (family_->arch == "riscv64") {
    const std::string_view names[] = {"f", "d"};
    const std::vector<bool> has = llvm.has(machine_, names);
    STRATA_CHECK(has[0], domain, machine_.triple, " without the feature f: LLVM does not compile all kernels for it");
    lacks_ = {true, false, !has[1], true};
    machine_.abi = has[1] ? "lp64d" : "lp64f";
  } else {
    llvm.has(machine_, {});
    lacks_.halves = family_->arch == "wasm32";
  }
}

Target ObjectCode::target_of(const TargetRow& row, bool deterministic) {
  Target out = target_of_row(row, deterministic);
  out.shuffles = row.vector_bytes >= 16;
  return out;
}

void ObjectCode::add(std::string_view name, const Kernel& kernel) {
  LlvmOptions options;
  options.contract = kernel.contract;
  options.lacks = lacks_;
  parts_.push_back(uops_to_llvm_parts(name, kernel.uops, options));
}

void ObjectCode::compile() {
  object_ = told([&] { return LlvmLibrary::shared().compile_for(llvm_module(parts_), machine_, is_deterministic_); });
  for (const std::string& symbol : object_.undefined)
    STRATA_ASSERT(is_allowed(symbol, machine_.triple), "the object for ", machine_.triple, " calls ", symbol);
}

std::string ObjectCode::condition() const { return std::string(family_->condition); }

/// What LLVM states is without the address to which a function returns and without what aligns a frame to at most 64
/// bytes. The functions of the C file align theirs to 16 bytes, as others call what is elsewhere. Functions of the
/// module that kernels call have names of their own.
std::int64_t ObjectCode::stack_bytes() const {
  constexpr std::int64_t address = 16, alignment = 64;
  std::int64_t kernels = 0, called = 0;
  for (const auto& [name, bytes] : object_.frames) {
    std::int64_t& most = name.starts_with("strata_") ? called : kernels;
    most = std::max(most, bytes + address + (bytes >= 32 ? alignment : 0));
  }
  constexpr std::int64_t callers = 32;
  return std::max(kernels, address) + called + callers;
}

}  // namespace strata::exporting
