#include "strata/runtime/llvm_plugin/compiler.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <chrono>
#include <mutex>
#include <utility>

namespace strata_llvm {

namespace {

/// A stopwatch: lap() gives the nanoseconds since the last call.
class Watch {
 public:
  int64_t lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Keeps the first error of code generation, and the stack of functions. Without a handler, LLVM would print them, and
/// exit the process.
struct Diagnostics final : llvm::DiagnosticHandler {
  explicit Diagnostics(Compiler::Job& of) : job(of), error(of.error) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error && error.empty()) {
      llvm::raw_string_ostream stream(error);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    if (const auto* const stack = llvm::dyn_cast<llvm::DiagnosticInfoStackSize>(&info))
      job.frames.emplace_back(stack->getFunction().getName().str(), stack->getStackSize());
    return true;
  }
  Compiler::Job& job;
  std::string& error;
};

std::string host_features() {
  std::string text;
  for (const auto& [name, has] : llvm::sys::getHostCPUFeatures())
    text += (text.empty() ? (has ? "+" : "-") : (has ? ",+" : ",-")) + name.str();
  return text;
}

llvm::CodeGenOptLevel codegen_level(int opt_level) {
  return opt_level <= 0   ? llvm::CodeGenOptLevel::None
         : opt_level == 1 ? llvm::CodeGenOptLevel::Less
                          : llvm::CodeGenOptLevel::Default;
}

/// Inlines each private function with a single call, i.e. the kernel into its entry: a separate function costs more to
/// compile than the loop inside it.
void inline_private_functions(llvm::Module& module) {
  for (llvm::Function& f : llvm::make_early_inc_range(module)) {
    if (f.isDeclaration() || !f.hasLocalLinkage() || !f.hasOneUse()) continue;
    auto* const call = llvm::dyn_cast<llvm::CallInst>(*f.user_begin());
    llvm::InlineFunctionInfo info;
    if (call && call->getCalledFunction() == &f && llvm::InlineFunction(*call, info).isSuccess()) f.eraseFromParent();
  }
}

/// Whether LLVM knows a CPU. (Creating a TargetMachine for an unknown one prints a warning on standard error.)
bool knows_cpu(const llvm::Target& target, llvm::StringRef triple, llvm::StringRef cpu) {
  const std::unique_ptr<llvm::MCSubtargetInfo> info(target.createMCSubtargetInfo(triple, "", ""));
  return info && info->isCPUStringValid(cpu);
}

}  // namespace

// NOTE: std::call_once instead of a static with an initializer. The plugin is not instrumented, so ThreadSanitizer
// would not see that the initialization of the static happens before its uses. ThreadSanitizer intercepts call_once.
const Host& Host::get() {
  static std::once_flag once;
  static Host host;
  std::call_once(once, [] { host = {llvm::sys::getHostCPUName().str(), host_features()}; });
  return host;
}

std::unique_ptr<Compiler> Compiler::create(const Key& key, std::string* error) {
  if (key.machine) return create_for(key, error);
  static const bool ready = !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  const std::string triple = llvm::sys::getProcessTriple();
  const llvm::Target* const target = ready ? llvm::TargetRegistry::lookupTarget(triple, *error) : nullptr;
  if (!target) return nullptr;
  const bool native = key.cpu == "native";
  if (!native && !knows_cpu(*target, triple, key.cpu)) {
    *error = "LLVM knows no CPU " + key.cpu;
    return nullptr;
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = key.deterministic ? llvm::FPOpFusion::Strict : llvm::FPOpFusion::Standard;
  const Host chosen = native ? Host::get() : Host{key.cpu, ""};
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(triple, chosen.cpu, chosen.features, options,
                                                                           llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                           codegen_level(key.opt_level), /*JIT=*/true));
  std::unique_ptr<Compiler> compiler;
  if (machine) compiler.reset(new Compiler(key, std::move(machine)));
  if (compiler && compiler->can_emit_) return compiler;
  *error = "the target " + triple + " emits no objects";
  return nullptr;
}

std::unique_ptr<Compiler> Compiler::create_for(const Key& key, std::string* error) {
  const Machine& machine = *key.machine;
  const llvm::Target* const target = machine.find(error);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = key.deterministic ? llvm::FPOpFusion::Strict : llvm::FPOpFusion::Standard;
  options.MCOptions.ABIName = machine.abi;
  options.FloatABIType = machine.floats == STRATA_LLVM_FLOATS_SOFT   ? llvm::FloatABI::Soft
                         : machine.floats == STRATA_LLVM_FLOATS_HARD ? llvm::FloatABI::Hard
                                                                     : llvm::FloatABI::Default;
  std::unique_ptr<llvm::TargetMachine> made(
      target->createTargetMachine(machine.triple, machine.cpu, machine.features, options,
                                  machine.is_static ? llvm::Reloc::Static : llvm::Reloc::PIC_, std::nullopt,
                                  codegen_level(key.opt_level), /*JIT=*/false));
  std::unique_ptr<Compiler> compiler;
  if (made) compiler.reset(new Compiler(key, std::move(made)));
  if (compiler && compiler->can_emit_) return compiler;
  *error = "the target " + machine.triple + " emits no objects";
  return nullptr;
}

Compiler::Compiler(Key key, std::unique_ptr<llvm::TargetMachine> target)
    : key_(std::move(key)), target_(std::move(target)), builder_(target_.get()) {
  if (key_.machine) {  // a program without libm and, perhaps, without a C library: no pass makes calls
    llvm::TargetLibraryInfoImpl library(target_->getTargetTriple());
    library.disableAllFunctions();
    functions_.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  }
  builder_.registerModuleAnalyses(modules_);
  builder_.registerCGSCCAnalyses(graphs_);
  builder_.registerFunctionAnalyses(functions_);
  builder_.registerLoopAnalyses(loops_);
  builder_.crossRegisterProxies(loops_, functions_, graphs_, modules_);
  add_passes();
  can_emit_ = !target_->addPassesToEmitFile(codegen_, object_stream_, nullptr, llvm::CodeGenFileType::ObjectFile,
                                            /*DisableVerify=*/true);
}

/// The passes. The IR of a kernel is already in SSA form, tiled and vectorized. What remains are common subexpressions
/// (EarlyCSE), expressions that can be simplified (InstCombine, SimplifyCFG), and loop-invariant code (LICM).
/// An object for others to link is compiled once, so it gets LLVM's own list.
void Compiler::add_passes() {
  if (key_.machine) {
    all_passes_ = builder_.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
    return;
  }
  if (key_.opt_level <= 0) return;
  passes_.addPass(llvm::EarlyCSEPass(true));
  if (key_.opt_level == 1) return;
  passes_.addPass(llvm::InstCombinePass());
  passes_.addPass(llvm::SimplifyCFGPass());
  passes_.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                        /*UseMemorySSA=*/true));
}

void Compiler::prepare(llvm::Module& module) const {
  module.setTargetTriple(target_->getTargetTriple().str());
  module.setDataLayout(target_->createDataLayout());
  // By default LLVM splits vectors of 512 bits into halves.
  if (target_->getTargetTriple().isX86() && target_->getMCSubtargetInfo()->checkFeatures("+avx512f"))
    for (llvm::Function& f : module)
      if (!f.isDeclaration()) f.addFnAttr("prefer-vector-width", "512");
  inline_private_functions(module);
}

void Compiler::optimize(llvm::Module& module) {
  if (key_.machine) all_passes_.run(module, modules_);
  for (llvm::Function& f : module)
    if (!key_.machine && !f.isDeclaration()) passes_.run(f, functions_);
  // The analysis managers cache results by the addresses of functions, which are invalid after the module's end.
  loops_.clear();
  functions_.clear();
  graphs_.clear();
  modules_.clear();
}

bool Compiler::generate(llvm::Module& module, Job& job, llvm::SmallVectorImpl<char>& out) {
  if (job.output == llvm::CodeGenFileType::ObjectFile) {
    object_.clear();
    codegen_.run(module);
    out.assign(object_.begin(), object_.end());
    return job.error.empty();
  }
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager codegen;
  if (target_->addPassesToEmitFile(codegen, stream, nullptr, job.output, /*DisableVerify=*/true))
    job.error = "the target has no such output";
  else
    codegen.run(module);
  return job.error.empty();
}

StrataLlvmStatus Compiler::run(Job& job, llvm::SmallVectorImpl<char>& out) {
  Watch watch;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(job));
  llvm::SMDiagnostic diagnostic;
  const std::string text(job.ir);  // the parser needs a 0 behind the text
  const std::unique_ptr<llvm::Module> module =
      llvm::parseAssembly(llvm::MemoryBufferRef(text, "kernel"), diagnostic, context);
  llvm::raw_string_ostream error(job.error);
  if (!module) {
    diagnostic.print(nullptr, error, /*ShowColors=*/false);
    return STRATA_LLVM_PARSE;
  }
  if (llvm::verifyModule(*module, &error)) return STRATA_LLVM_PARSE;
  job.times.parse = watch.lap();
  prepare(*module);
  optimize(*module);
  job.times.passes = watch.lap();
  const bool done = generate(*module, job, out);
  job.times.codegen = watch.lap();
  return done ? STRATA_LLVM_OK : STRATA_LLVM_FAILED;
}

}  // namespace strata_llvm
