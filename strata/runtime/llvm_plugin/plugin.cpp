// The functions of the C interface plugin_abi.h. They throw nothing, and return LLVM's fatal errors as texts.
#include "strata/runtime/llvm_plugin/plugin_abi.h"

#include <elf.h>
#include <link.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/ErrorHandling.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "strata/runtime/llvm_plugin/compiler.h"
#include "strata/runtime/llvm_plugin/linkable.h"
#include "strata/runtime/llvm_plugin/loader.h"

using strata_llvm::Compiler;

struct StrataLlvmSession {
  std::mutex mutex;
  std::vector<std::unique_ptr<Compiler>> idle;
};

struct StrataLlvmModule {
  std::unique_ptr<strata_llvm::LoadedObject> loaded;
};

namespace {

/// A fatal error of LLVM, thrown from its handler.
struct Fatal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

thread_local bool inside = false;  // true iff this thread is in a call of the table

/// LLVM aborts the process when its handler returns. So the handler throws, if this thread is in a call of the table.
/// LLVM is not exception safe: objects that it holds at that point are leaked.
void on_fatal_error(void*, const char* reason, bool) {
  if (inside) throw Fatal(reason);
}
void on_bad_alloc(void*, const char*, bool) {
  if (inside) throw std::bad_alloc();
}

char* copy(const char* text, size_t size) {
  char* const out = static_cast<char*>(std::malloc(size + 1));
  if (!out) throw std::bad_alloc();
  std::memcpy(out, text, size);
  out[size] = '\0';
  return out;
}
/// A copy for the caller; null if out of memory.
char* copy_error(const char* text) noexcept { return strdup(text); }

/// Runs `f`, which returns a status and may set the message, and turns exceptions into a status and *error.
template <class F>
int32_t guarded(char** error, const F& f) noexcept {
  static const bool installed = [] {
    llvm::install_fatal_error_handler(on_fatal_error);
    llvm::install_bad_alloc_error_handler(on_bad_alloc);
    return true;
  }();
  *error = nullptr;
  inside = installed;
  int32_t status = STRATA_LLVM_FAILED;
  try {
    std::string message;
    status = f(message);
    if (status != STRATA_LLVM_OK) *error = copy_error(message.c_str());
  } catch (const std::bad_alloc&) {
    status = STRATA_LLVM_MEMORY;
    *error = copy_error("out of memory");
  } catch (const std::exception& e) {
    *error = copy_error(e.what());
  }
  inside = false;
  return status;
}

std::unique_ptr<Compiler> take_compiler(StrataLlvmSession& session, const Compiler::Key& key, std::string* error) {
  {
    const std::scoped_lock lock(session.mutex);
    for (auto& idle : session.idle)
      if (idle->key() == key) {
        std::swap(idle, session.idle.back());
        auto compiler = std::move(session.idle.back());
        session.idle.pop_back();
        return compiler;
      }
  }
  return Compiler::create(key, error);
}

/// A compiler in use. If an exception passes through, the compiler is put into a list and never used or destroyed: LLVM
/// stopped in the middle, and its state may be inconsistent.
class Lease {
 public:
  explicit Lease(std::unique_ptr<Compiler> compiler) : compiler_(std::move(compiler)) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    if (!compiler_) return;
    Compiler* const stopped = compiler_.release();
    static std::atomic<Compiler*> all_stopped = nullptr;
    stopped->after = all_stopped.load();
    while (!all_stopped.compare_exchange_weak(stopped->after, stopped)) continue;
  }

  explicit operator bool() const { return compiler_ != nullptr; }
  Compiler* operator->() const { return compiler_.get(); }
  std::unique_ptr<Compiler> finish() { return std::move(compiler_); }

 private:
  std::unique_ptr<Compiler> compiler_;
};

int32_t run(StrataLlvmSession& session, const StrataLlvmOptions& options, Compiler::Job& job,
            llvm::SmallVectorImpl<char>& out, std::string& message) {
  const auto start = std::chrono::steady_clock::now();
  const Compiler::Key key{options.opt_level, options.deterministic != 0, options.cpu};
  Lease lease(take_compiler(session, key, &message));
  if (!lease) return STRATA_LLVM_FAILED;
  const auto spent = std::chrono::steady_clock::now() - start;
  job.times.setup = std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
  const StrataLlvmStatus status = lease->run(job, out);
  std::unique_ptr<Compiler> compiler = lease.finish();
  message = std::move(job.error);
  const std::scoped_lock lock(session.mutex);
  if (status != STRATA_LLVM_FAILED) session.idle.push_back(std::move(compiler));
  return status;
}

int32_t compile(StrataLlvmSession* session, StrataLlvmText ir, const StrataLlvmOptions* options, char** object,
                size_t* size, StrataLlvmTimes* times, char** error) {
  return guarded(error, [&](std::string& message) {
    Compiler::Job job;
    job.ir = {ir.data, ir.size};
    llvm::SmallString<0> out;
    const int32_t status = run(*session, *options, job, out, message);
    if (times) *times = job.times;
    if (status != STRATA_LLVM_OK) return status;
    *object = copy(out.data(), out.size());
    *size = out.size();
    return status;
  });
}

int32_t assembly(StrataLlvmSession* session, StrataLlvmText ir, const StrataLlvmOptions* options, char** text,
                 size_t* size, char** error) {
  return guarded(error, [&](std::string& message) {
    Compiler::Job job;
    job.ir = {ir.data, ir.size};
    job.output = llvm::CodeGenFileType::AssemblyFile;
    llvm::SmallString<0> out;
    const int32_t status = run(*session, *options, job, out, message);
    if (status != STRATA_LLVM_OK) return status;
    *text = copy(out.data(), out.size());
    *size = out.size();
    return status;
  });
}

int32_t load(StrataLlvmText object, StrataLlvmModule** module, char** error) {
  return guarded(error, [&](std::string& message) -> int32_t {
    auto loaded = strata_llvm::LoadedObject::load({object.data, object.size}, &message);
    if (!loaded) return STRATA_LLVM_FAILED;
    *module = new StrataLlvmModule{std::move(loaded)};
    return STRATA_LLVM_OK;
  });
}

int32_t has(const StrataLlvmTarget* target, const char* features, uint64_t* out, char** error) {
  return guarded(error, [&](std::string& message) -> int32_t {
    const strata_llvm::Machine machine(*target);
    const llvm::Target* const found = machine.find(&message);
    if (!found) return STRATA_LLVM_FAILED;
    *out = machine.has(*found, features);
    return STRATA_LLVM_OK;
  });
}

int32_t compile_for(StrataLlvmText ir, const StrataLlvmTarget* target, int32_t deterministic, StrataLlvmObject* object,
                    char** error) {
  return guarded(error, [&](std::string& message) -> int32_t {
    Lease lease(Compiler::create({2, deterministic != 0, {}, strata_llvm::Machine(*target)}, &message));
    if (!lease) return STRATA_LLVM_FAILED;
    Compiler::Job job;
    job.ir = {ir.data, ir.size};
    llvm::SmallString<0> out;
    const StrataLlvmStatus status = lease->run(job, out);
    const std::unique_ptr<Compiler> compiler = lease.finish();
    message = std::move(job.error);
    if (status != STRATA_LLVM_OK) return status;
    const strata_llvm::Linkable facts = strata_llvm::facts_of(out, message);
    if (!message.empty()) return STRATA_LLVM_FAILED;
    std::string frames;
    for (const auto& [name, bytes] : job.frames) frames += name + " " + std::to_string(bytes) + "\n";
    std::unique_ptr<char, decltype(&std::free)> data(copy(out.data(), out.size()), std::free);
    std::unique_ptr<char, decltype(&std::free)> names(copy(facts.undefined.data(), facts.undefined.size()), std::free);
    object->frames = copy(frames.data(), frames.size());
    object->undefined = names.release();
    object->data = data.release();
    object->size = out.size();
    object->loaded_bytes = facts.loaded_bytes;
    return STRATA_LLVM_OK;
  });
}

char* host() {
  const strata_llvm::Host& host = strata_llvm::Host::get();
  return copy_error((host.cpu + " " + host.features).c_str());
}

/// Drops the pages of each part of LLVM's library that is mapped from its file and never written: its code, and the
/// relocations that loading the library has read. Not where relocations change the code.
int drop_pages(dl_phdr_info* info, size_t, void*) {
  const auto somewhere = reinterpret_cast<uintptr_t>(&llvm::install_fatal_error_handler);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  bool is_llvm = false, is_fixed = true;
  for (int k = 0; k < info->dlpi_phnum; ++k) {
    const auto& part = info->dlpi_phdr[k];
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && begin <= somewhere && somewhere < begin + part.p_memsz) is_llvm = true;
    if (part.p_type != PT_DYNAMIC) continue;
    for (auto* d = reinterpret_cast<const ElfW(Dyn)*>(begin); d->d_tag != DT_NULL; ++d)
      if (d->d_tag == DT_TEXTREL || (d->d_tag == DT_FLAGS && (d->d_un.d_val & DF_TEXTREL) != 0)) is_fixed = false;
  }
  if (!is_llvm) return 0;
  for (int k = 0; is_fixed && k < info->dlpi_phnum; ++k) {
    const auto& part = info->dlpi_phdr[k];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = (info->dlpi_addr + part.p_vaddr + page - 1) / page * page;
    const uintptr_t end = (info->dlpi_addr + part.p_vaddr + part.p_memsz) / page * page;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 1;
}

void release_code() { dl_iterate_phdr(drop_pages, nullptr); }

constexpr StrataLlvmTable kTable = {
    STRATA_LLVM_ABI,
    LLVM_VERSION_STRING,
    []() -> StrataLlvmSession* { return new (std::nothrow) StrataLlvmSession(); },
    [](StrataLlvmSession* session) { delete session; },
    compile,
    assembly,
    load,
    [](const StrataLlvmModule* module, const char* name) { return module->loaded->symbol(name); },
    [](StrataLlvmModule* module) { delete module; },
    host,
    release_code,
    [](char* text) { std::free(text); },
    has,
    compile_for,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const StrataLlvmTable* strata_llvm_table() { return &kTable; }
