#include "strata/runtime/host_compiler.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/flags.h"
#include "strata/base/fork.h"
#include "strata/runtime/cpu_features.h"
#include "strata/runtime/disk_cache.h"
#include "strata/runtime/posix_io.h"
#include "strata/runtime/shared_object.h"
#include "strata/runtime/subprocess.h"

namespace strata {
namespace {

using Words = std::vector<std::string>;

constexpr std::array kCompilers = {"clang-19", "clang-22", "clang-21", "clang-20", "clang-18", "clang-17",
                                   "clang-16", "clang-15", "clang",    "gcc",      "cc"};
constexpr std::array kLinkers = {"ld", "ld.lld"};
constexpr std::string_view kSource = "kernel.c", kObject = "kernel.o", kLibrary = "kernel.so";

bool can_run(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string search_path() {
  const char* text = std::getenv("PATH");
  return text != nullptr ? text : "/usr/local/bin:/usr/bin:/bin";
}

/// The path of the program `name` in the folders of PATH; a name with a slash is a path itself. Relative folders of
/// PATH are skipped.
std::optional<std::string> which(const std::string& name, std::string_view folders) {
  if (name.find('/') != std::string::npos) return can_run(name) ? std::optional(name) : std::nullopt;
  while (!folders.empty()) {
    const std::size_t colon = folders.find(':');
    const std::string_view folder = folders.substr(0, colon);
    if (folder.starts_with('/')) {
      std::string path = detail::message(folder, "/", name);
      if (can_run(path)) return path;
    }
    folders = colon == std::string_view::npos ? std::string_view() : folders.substr(colon + 1);
  }
  return std::nullopt;
}

template <class Names>
std::optional<std::string> first_of(const Names& names, std::string_view folders) {
  for (const char* name : names)
    if (std::optional<std::string> path = which(name, folders)) return path;
  return std::nullopt;
}

/// A file's name, size and modification time, which change when a new version of a compiler is installed.
std::string file_identity(const std::string& path) {
  struct stat status{};
  if (path.empty() || stat(path.c_str(), &status) != 0) return {};
  return detail::message(path, " ", status.st_size, " ", status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec);
}

/// A result of find(), with the flag CC and PATH for which it holds.
struct Found {
  std::string wanted, folders;
  std::shared_ptr<const HostCompiler> compiler;
};

/// The last result of find(). NOTE: never destroyed, because threads may outlive every static object.
struct KnownCompiler {
  std::mutex mutex;
  Found found;
};
KnownCompiler& known_compiler() {
  static KnownCompiler& known = *new KnownCompiler;
  return known;
}

const ForkHook compiler_hook(
    ForkOrder::compiler, [] { known_compiler().mutex.lock(); }, [] { known_compiler().mutex.unlock(); });

std::shared_ptr<const HostCompiler> look_for(const std::string& wanted, const std::string& folders) {
  const std::optional<std::string> path = wanted.empty() ? first_of(kCompilers, folders) : which(wanted, folders);
  STRATA_CHECK(path || wanted.empty(), undefined, "[host compiler] STRATA_CC names '", wanted,
               "', which is not a program on PATH");
  STRATA_CHECK(path, undefined,
               "[host compiler] there is no C compiler: none of clang-15 to clang-22, clang, gcc, "
               "cc is on PATH (",
               folders, "); name one with STRATA_CC, or ", HostCompiler::remedy().text());
  return std::make_shared<const HostCompiler>(*path);
}

/// One compilation: its temporary folder, and the processes that run there.
class Job {
 public:
  Job(const std::string& compiler, const CompileOptions& options) : compiler_(compiler), options_(options) {}

  void write_source(std::string_view source) {
    source_ = Fd(open(folder_.file(kSource.data()).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    STRATA_CHECK(
        source_ && write_all(source_.get(), source.data(), source.size()) && lseek(source_.get(), 0, SEEK_SET) == 0,
        budget, "[compile] cannot write the source to ", folder_.path(), ": ", last_error_text());
  }

  /// Runs the program words[0] in the folder. @throws Error (budget) if it times out or is cancelled
  ProcessResult run(Words words) const {
    const Command command{std::move(words), folder_.path(), source_.get(), options_.timeout, options_.is_cancelled};
    ProcessResult result = run_process(command);
    const bool late = result.end == ProcessEnd::timed_out || result.end == ProcessEnd::cancelled;
    STRATA_CHECK(!late, budget, "[compile] ", command.words.front(), " ", describe(result), " (limit ",
                 options_.timeout.count(), " ms)");
    return result;
  }

  [[noreturn]] void fail(const ProcessResult& result) const {
    throw Error(ErrorKind::undefined, detail::message("[compile] ", compiler_, " made no object and ", describe(result),
                                                      ":\n", result.output));
  }

  bool has_object() const { return access(folder_.file(kObject.data()).c_str(), R_OK) == 0; }

  /// The bytes of the shared object; nothing if it is missing or incomplete. @throws Error (budget) if it cannot be
  /// read
  std::optional<std::vector<std::byte>> library() const {
    const Fd file(open(folder_.file(kLibrary.data()).c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0 || status.st_size == 0) return std::nullopt;
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    STRATA_CHECK(read_exactly(file.get(), bytes.data(), bytes.size()), budget, "[compile] cannot read ", folder_.path(),
                 ": ", last_error_text());
    if (!SharedObject::is_whole(bytes)) return std::nullopt;
    return bytes;
  }

 private:
  const std::string& compiler_;
  const CompileOptions& options_;
  PrivateFolder folder_;
  Fd source_;
};

/// The commands to try for linking, the fastest first: the linker without libraries, which is enough for most kernels;
/// with libm and libc; the compiler driver, which also knows the compiler's own library.
std::vector<Words> link_commands(const std::string& compiler, const std::string& linker) {
  const std::string object(kObject), library(kLibrary);
  std::vector<Words> out;
  if (!linker.empty()) {
    const Words plain = {linker, "-shared", "-z", "defs", "-z", "noseparate-code", "-o", library, object};
    out.push_back(plain);
    out.push_back(plain);
    out.back().insert(out.back().end(), {"--as-needed", "-lm", "-lc"});
  }
  out.push_back({compiler, "-shared", "-Wl,-z,defs", "-o", library, object, "-Wl,--as-needed", "-lm"});
  return out;
}

}  // namespace

HostCompiler::HostCompiler(const std::string& path) : path_(std::filesystem::absolute(path).string()) {
  STRATA_CHECK(can_run(path_), undefined, "[host compiler] '", path_, "' is not a program");
  linker_ = first_of(kLinkers, search_path()).value_or("");
  identity_ = detail::message(file_identity(path_), "\n", file_identity(linker_));
}

std::shared_ptr<const HostCompiler> HostCompiler::find() {
  const std::string wanted = flags::CC.get(), folders = search_path();
  const std::lock_guard lock(known_compiler().mutex);
  Found& known = known_compiler().found;
  const bool same = known.compiler && known.wanted == wanted && known.folders == folders;
  if (!same || !known.compiler->is_current()) known = {wanted, folders, look_for(wanted, folders)};
  return known.compiler;
}

std::vector<std::string> HostCompiler::on_path() {
  std::vector<std::string> out;
  std::set<std::filesystem::path> seen;
  const std::string folders = search_path();
  for (const char* name : kCompilers) {
    const std::optional<std::string> path = which(name, folders);
    std::error_code ignored;
    if (path && seen.insert(std::filesystem::canonical(*path, ignored)).second) out.push_back(*path);
  }
  return out;
}

Remedy HostCompiler::remedy() { return flags::CC.get().empty() ? Remedy{"gcc"} : Remedy{}; }

bool HostCompiler::is_current() const {
  return identity_ == detail::message(file_identity(path_), "\n", file_identity(linker_));
}

std::string HostCompiler::version() const {
  const PrivateFolder folder;
  Command command;
  command.words = {path_, "--version"};
  command.folder = folder.path();
  const ProcessResult result = run_process(command);
  STRATA_CHECK(result.succeeded(), undefined, "[host compiler] ", path_, " --version ", describe(result));
  return result.output.substr(0, result.output.find('\n'));
}

std::vector<std::string> HostCompiler::flags(const CompileOptions& options) {
  Words out = {"-O2", "-march=native", "-std=gnu11", "-fPIC", "-pipe", "-fno-math-errno", "-fno-semantic-interposition",
               // clang 19's SLP vectorizer converts unsigned integers to floats as if they were signed. The kernels are
               // vectorized already.
               "-fno-tree-slp-vectorize", options.deterministic ? "-ffp-contract=off" : "-ffp-contract=fast"};
  // A deterministic sum is many short loops. clang would unroll all of them, and read from eight places in memory
  // alternately.
  if (options.deterministic) out.emplace_back("-fno-unroll-loops");
  out.insert(out.end(), options.extra.begin(), options.extra.end());
  return out;
}

std::vector<std::byte> HostCompiler::compile(std::string_view source, const CompileOptions& options) const {
  Job job(path_, options);
  job.write_source(source);
  Words words = {path_, "-x", "c", "-c", "-", "-o", std::string(kObject)};
  const Words ours = flags(options);
  words.insert(words.end(), ours.begin(), ours.end());
  ProcessResult result = job.run(std::move(words));
  if (!result.succeeded() || !job.has_object()) job.fail(result);
  for (Words& command : link_commands(path_, linker_)) {
    result = job.run(std::move(command));
    if (!result.succeeded()) continue;
    if (std::optional<std::vector<std::byte>> bytes = job.library()) return std::move(*bytes);
  }
  job.fail(result);
}

std::string HostCompiler::assembly(std::string_view source, const CompileOptions& options) const {
  Job job(path_, options);
  job.write_source(source);
  Words words = {path_, "-x", "c", "-S", "-", "-o", "-"};
  const Words ours = flags(options);
  words.insert(words.end(), ours.begin(), ours.end());
  ProcessResult result = job.run(std::move(words));
  if (!result.succeeded()) job.fail(result);
  return std::move(result.output);
}

std::vector<std::byte> compile_clang(std::string_view source, const CompileOptions& options) {
  const std::shared_ptr<const HostCompiler> compiler = HostCompiler::find();
  const std::shared_ptr<DiskCache> cache = DiskCache::shared();
  if (!cache) return compiler->compile(source, options);
  std::string flags;
  for (const std::string& flag : HostCompiler::flags(options))
    flags += detail::message(flag, std::string_view("\0", 1));
  const Hash128 key = cache_key({"c", source, flags, compiler->identity(), cpu_features()});
  if (std::optional<std::vector<std::byte>> known = cache->find(key)) return std::move(*known);
  std::vector<std::byte> object = compiler->compile(source, options);
  cache->put(key, object);
  return object;
}

}  // namespace strata
