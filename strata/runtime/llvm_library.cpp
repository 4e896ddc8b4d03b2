#include "strata/runtime/llvm_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <sstream>
#include <thread>
#include <utility>

#include "strata/base/fork.h"
#include "strata/base/gate.h"
#include "strata/runtime/llvm_plugin/plugin_abi.h"
#include "strata/runtime/plugin_folders.h"
#include "strata/runtime/scarcity.h"

namespace strata {

namespace {

/// Opens the plugin; null, and the reason in `why`, if that fails. NOTE: never closed, because LLVM cannot be unloaded.
void* load_plugin(const std::string& path, std::string& why) {
  void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  const char* const reason = handle != nullptr ? "" : dlerror();
  why = reason != nullptr ? reason : "no reason given";
  return handle;
}

/// The remedy if the plugin could not be opened. Without a plugin: LLVM's headers and a rebuild, because the plugin is
/// built with Strata. If LLVM's library is missing: its package. For other reasons, e.g. exhausted memory, no package
/// helps.
Remedy remedy_for(const std::string& plugin, std::string_view why) {
  if (plugin.empty()) return {"llvm-19-dev", true};
  return why.find("No such file") != std::string_view::npos ? Remedy{"libllvm19"} : Remedy{};
}

/// The end of the error message: the remedy, or the limit of the address space if there is one.
std::string advice_for(const std::string& plugin, std::string_view why) {
  const std::string remedy = remedy_for(plugin, why).text();
  return remedy.empty() ? address_space_limit(": ") : ": " + remedy;
}

// A thread passes this gate to use LLVM. The gate is shut while the process forks, because LLVM has locks of its own,
// and forever when the process ends, before LLVM's static objects are destroyed.
constinit Gate llvm_gate;
constexpr std::chrono::seconds kPatience{10};  // at the end; compiling a kernel takes less
std::atomic<bool> is_ending{false};
std::thread::id ending_thread;

void end_llvm() {
  if (is_ending) return;
  ending_thread = std::this_thread::get_id();
  is_ending = true;
  llvm_gate.shut(kPatience);
}

/// Registers end_llvm() to be called before the destructors of all static objects that exist so far: exit handlers run
/// in reverse order. NOTE: LLVM creates static objects on first use, anywhere, so this is called again after each use
/// of LLVM; it takes 32 bytes each time.
void note_statics() { static_cast<void>(std::atexit(end_llvm)); }

/// A thread_local object of the first thread. If that thread ends the process, the object is destroyed before any
/// static object is, and waits until no kernel is being compiled. (If only the thread ends, the gate opens again.)
struct FirstThread {
  FirstThread() = default;
  FirstThread(const FirstThread&) = delete;
  FirstThread& operator=(const FirstThread&) = delete;
  ~FirstThread() {
    if (!llvm_gate.shut(kPatience)) return;
    note_statics();
    llvm_gate.open();
  }
};
const bool is_watched = [] {
  if (getpid() == gettid()) thread_local const FirstThread first;
  return true;
}();

/// The gate that a thread passes to use LLVM; null for the thread that ends the process, which is alone then.
Gate* gate_of_llvm() { return is_ending && std::this_thread::get_id() == ending_thread ? nullptr : &llvm_gate; }

/// The library of the process. NOTE: never destroyed, because threads may outlive every static object.
struct SharedLibrary {
  std::mutex mutex;
  std::shared_ptr<const LlvmLibrary> keeps;
  std::atomic<const LlvmLibrary*> opened{nullptr};
};
SharedLibrary& shared_library() {
  static SharedLibrary& shared = *new SharedLibrary;
  return shared;
}

const ForkHook llvm_hook(
    ForkOrder::backends,
    [] {
      shared_library().mutex.lock();
      llvm_gate.shut();
    },
    [] {
      if (!is_ending) llvm_gate.open();
      shared_library().mutex.unlock();
    });

const StrataLlvmTable* open_table(const std::string& path) {
  const Gate::Visit visit(gate_of_llvm());
  std::string why;
  void* const handle = load_plugin(path, why);
  STRATA_CHECK(handle, undefined, "[llvm] ", path, " cannot be opened (", why, ")", advice_for(path, why));
  const auto entry = reinterpret_cast<StrataLlvmEntry>(dlsym(handle, STRATA_LLVM_ENTRY));
  const StrataLlvmTable* const table = entry ? entry() : nullptr;
  STRATA_CHECK(table && table->abi_version == STRATA_LLVM_ABI, undefined, "[llvm] ", path,
               " is of another version of Strata: build both together");
  table->release_code();  // loading reads all of the relocations
  note_statics();
  return table;
}

/// A text that the plugin allocates, released in the destructor.
class PluginText {
 public:
  explicit PluginText(const StrataLlvmTable& table) : table_(table) {}
  PluginText(const PluginText&) = delete;
  PluginText& operator=(const PluginText&) = delete;
  ~PluginText() { table_.free_string(data); }

  char* data = nullptr;
  std::size_t size = 0;

 private:
  const StrataLlvmTable& table_;
};

void check_status(std::int32_t status, const PluginText& error) {
  const std::string_view words = error.data ? error.data : "out of memory";
  STRATA_CHECK(status != STRATA_LLVM_PARSE, parse, "[llvm] ", words);
  STRATA_CHECK(status != STRATA_LLVM_MEMORY, budget, "[llvm] ", words);
  STRATA_CHECK(status == STRATA_LLVM_OK, undefined, "[llvm] ", words);
}

StrataLlvmText plugin_text(std::string_view text) { return {text.data(), text.size()}; }
StrataLlvmOptions options_of(const LlvmCompileOptions& options) {
  return {options.level, options.deterministic ? 1 : 0, options.cpu.c_str()};
}

StrataLlvmTarget target_of(const LlvmMachine& machine) {
  using Floats = LlvmMachine::Floats;
  const std::int32_t floats = machine.floats == Floats::soft   ? STRATA_LLVM_FLOATS_SOFT
                              : machine.floats == Floats::hard ? STRATA_LLVM_FLOATS_HARD
                                                               : STRATA_LLVM_FLOATS_OF_TRIPLE;
  return {machine.triple.c_str(),
          machine.cpu.c_str(),
          machine.features.c_str(),
          machine.abi.c_str(),
          machine.is_static ? STRATA_LLVM_STATIC : STRATA_LLVM_PIC,
          floats};
}

}  // namespace

void* LlvmModule::find(const std::string& symbol) const { return table_->symbol(module_.get(), symbol.c_str()); }

std::vector<std::string> LlvmLibrary::default_folders() { return plugin_folders(); }

bool LlvmLibrary::process_ends() { return is_ending; }

std::string LlvmLibrary::default_path() { return find_plugin(default_folders(), kFileName); }

Remedy LlvmLibrary::remedy() {
  const std::string path = default_path();
  std::string why;
  const Gate::Visit visit(gate_of_llvm());
  if (!path.empty()) load_plugin(path, why);
  return remedy_for(path, why);
}

std::shared_ptr<const LlvmLibrary> LlvmLibrary::open() { return open(default_folders()); }

std::shared_ptr<const LlvmLibrary> LlvmLibrary::open(std::span<const std::string> folders) {
  const std::string path = find_plugin(folders, kFileName);
  STRATA_CHECK(!path.empty(), undefined, "[llvm] no ", kFileName, sought_text(folders), advice_for(path, ""));
  return std::shared_ptr<const LlvmLibrary>(new LlvmLibrary(open_table(path)));
}

const LlvmLibrary& LlvmLibrary::shared() {
  SharedLibrary& shared = shared_library();
  if (const LlvmLibrary* const opened = shared.opened.load(std::memory_order_acquire)) return *opened;
  const std::lock_guard lock(shared.mutex);
  if (shared.keeps == nullptr) shared.keeps = open();
  shared.opened.store(shared.keeps.get(), std::memory_order_release);
  return *shared.keeps;
}

LlvmLibrary::LlvmLibrary(const StrataLlvmTable* table) : table_(table), session_(table->create()) {
  if (!session_) throw std::bad_alloc();
}
LlvmLibrary::~LlvmLibrary() { table_->destroy(session_); }

std::string LlvmLibrary::compile(std::string_view ir, const LlvmCompileOptions& options, LlvmTimes* times) const {
  const Gate::Visit visit(gate_of_llvm());
  PluginText object(*table_), error(*table_);
  const StrataLlvmOptions chosen = options_of(options);
  StrataLlvmTimes spent{};
  const std::int32_t status =
      table_->compile(session_, plugin_text(ir), &chosen, &object.data, &object.size, &spent, &error.data);
  note_statics();
  check_status(status, error);
  if (times) *times = {spent.setup, spent.parse, spent.passes, spent.codegen};
  return {object.data, object.size};
}

std::string LlvmLibrary::assembly(std::string_view ir, const LlvmCompileOptions& options) const {
  const Gate::Visit visit(gate_of_llvm());
  PluginText text(*table_), error(*table_);
  const StrataLlvmOptions chosen = options_of(options);
  const std::int32_t status = table_->assembly(session_, plugin_text(ir), &chosen, &text.data, &text.size, &error.data);
  note_statics();
  check_status(status, error);
  return {text.data, text.size};
}

std::vector<bool> LlvmLibrary::has(const LlvmMachine& machine, std::span<const std::string_view> features) const {
  STRATA_ASSERT(features.size() <= 64, "more features than bits");
  const Gate::Visit visit(gate_of_llvm());
  PluginText error(*table_);
  std::string names;
  for (const std::string_view f : features) names += detail::message(names.empty() ? "" : " ", f);
  const StrataLlvmTarget target = target_of(machine);
  std::uint64_t bits = 0;
  const std::int32_t status = table_->has(&target, names.c_str(), &bits, &error.data);
  note_statics();
  STRATA_CHECK(status != STRATA_LLVM_FAILED, domain, "[llvm] ", error.data ? error.data : "out of memory");
  check_status(status, error);
  std::vector<bool> out;
  for (std::size_t k = 0; k < features.size(); ++k) out.push_back((bits >> k & 1U) != 0);
  return out;
}

LlvmObject LlvmLibrary::compile_for(std::string_view ir, const LlvmMachine& machine, bool deterministic) const {
  has(machine, {});
  const Gate::Visit visit(gate_of_llvm());
  PluginText error(*table_), bytes(*table_), frames(*table_), undefined(*table_);
  const StrataLlvmTarget target = target_of(machine);
  StrataLlvmObject made{};
  const std::int32_t status = table_->compile_for(plugin_text(ir), &target, deterministic ? 1 : 0, &made, &error.data);
  bytes.data = made.data, frames.data = made.frames, undefined.data = made.undefined;
  note_statics();
  check_status(status, error);
  LlvmObject out{{made.data, made.size}, made.loaded_bytes, {}, {}};
  std::istringstream rows(made.frames), names(made.undefined);
  for (std::pair<std::string, std::int64_t> row; rows >> row.first >> row.second;) out.frames.push_back(row);
  for (std::string name; names >> name;) out.undefined.push_back(name);
  return out;
}

LlvmModule LlvmLibrary::load(std::string_view object) const {
  const Gate::Visit visit(gate_of_llvm());
  PluginText error(*table_);
  StrataLlvmModule* module = nullptr;
  check_status(table_->load(plugin_text(object), &module, &error.data), error);
  const auto unload = [table = table_](StrataLlvmModule* m) {
    if (is_ending) return;  // the code goes with the process
    const Gate::Visit inside(gate_of_llvm());
    table->unload(m);
  };
  return {table_, std::shared_ptr<StrataLlvmModule>(module, unload)};
}

void LlvmLibrary::release_code() const {
  const Gate::Visit visit(gate_of_llvm());
  table_->release_code();
}

std::string LlvmLibrary::version() const { return table_->llvm_version; }

std::string LlvmLibrary::host() const {
  const Gate::Visit visit(gate_of_llvm());
  PluginText text(*table_);
  text.data = table_->host();
  if (!text.data) throw std::bad_alloc();
  return text.data;
}

}  // namespace strata
