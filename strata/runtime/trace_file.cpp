#include "strata/runtime/trace_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/fork.h"
#include "strata/base/version.h"

namespace strata {

namespace {

constexpr std::int64_t kTraceFormat = 1;
constexpr std::size_t kMostPending = std::size_t{1} << 16;
constexpr std::int64_t kMostTrace = std::int64_t{1} << 30;  // bytes; a trace ends there, to leave room on the disk

/// Restores errno in the destructor: a caller that allocates or frees memory does not expect it to change.
class KeptErrno {
 public:
  KeptErrno() = default;
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;
  ~KeptErrno() { errno = before_; }

 private:
  int before_ = errno;
};

/// The number of this thread in the trace, unique in the process.
std::int64_t trace_thread() {
  static constinit std::atomic<std::int64_t> last{0};
  thread_local constinit std::int64_t mine = 0;
  if (mine == 0) mine = ++last;
  return mine;
}

/// `path` with the process's number: "runs/net.jsonl" gives "runs/net.123.jsonl".
std::string with_process(const std::string& path) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  const std::size_t dot = path.rfind('.');
  const std::size_t end = dot == std::string::npos || dot <= name ? path.size() : dot;
  return detail::message(path.substr(0, end), ".", getpid(), path.substr(end));
}

/// Opens `path` for this process only, by a lock, and empties it. Returns no descriptor if that fails, with the reason
/// in `why`, which is empty if another process has the lock.
Fd open_alone(const std::string& path, std::string& why) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666));
  struct stat is{};
  why.clear();
  const bool is_there = fd && fstat(fd.get(), &is) == 0;
  if (is_there && !S_ISREG(is.st_mode)) {
    why = "it is not a regular file";  // writing to a pipe or device could block the program
    return {};
  }
  if (is_there && flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return {};
  if (is_there && ftruncate(fd.get(), 0) == 0) return fd;
  why = last_error_text();
  return {};
}

/// The file name of the running program, e.g. "digits".
std::string program_name() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string_view whole(path, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  return std::string(whole.substr(whole.rfind('/') + 1));
}

/// The text of a flag's value; nothing if the environment has an illegal one, which is reported where the flag is used.
std::optional<std::string> value_of(const FlagBase& flag) {
  try {
    return flag.value_text();
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Writes the flags whose values are not the defaults.
void write_flags(JsonWriter& json) {
  json.key("flags").begin_object();
  for (const FlagBase* flag : flags::all())
    if (const auto value = value_of(*flag); value && *value != flag->default_text())
      json.member(flag->name(), std::string_view(*value));
  json.end_object();
}

}  // namespace

std::string_view to_string(TraceTable table) {
  constexpr std::string_view kNames[] = {"device", "kernel", "compiled", "graph", "realize", "capture"};
  return kNames[static_cast<std::size_t>(table)];
}

std::string trace_number(double number) {
  constexpr double kExact = 9007199254740992;  // 2^53
  char text[32];
  const bool is_whole = std::abs(number) < kExact && std::trunc(number) == number;
  const auto end = is_whole ? std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(number))
                            : std::to_chars(text, text + sizeof text, number);
  return std::isfinite(number) ? std::string(text, end.ptr) : "null";
}

TraceItem& TraceItem::current() {
  thread_local constinit TraceItem item;
  return item;
}

// --- the trace of the process ---

TraceFile& TraceFile::instance() {
  static TraceFile& trace = *new TraceFile;  // never destroyed: threads may outlive every static
  return trace;
}

struct TraceFile::AtFork {
  static void before() { instance().mutex_.lock(); }
  static void after() {
    TraceFile& trace = instance();
    if (trace.generation_ != fork_generation()) trace.fd_.reset();  // in a child: the file is the parent's
    trace.mutex_.unlock();
  }
  static const ForkHook hook;
};
const ForkHook TraceFile::AtFork::hook(ForkOrder::trace, &before, &after);

struct TraceFile::AtExit {
  static void run() {
    TraceFile& trace = instance();
    const std::lock_guard lock(trace.mutex_);
    trace.end();
  }
};

TraceFile* TraceFile::asked_for() {
  const KeptErrno kept;
  const std::string wanted = flags::VIZ.get();
  TraceFile& trace = instance();
  const std::lock_guard lock(trace.mutex_);
  if (trace.asked_ != wanted || trace.generation_ != fork_generation()) trace.begin(wanted);
  return trace.fd_ ? &trace : nullptr;
}

TraceFile* TraceFile::begun() noexcept {
  if (!flags::VIZ.has_text()) return nullptr;
  TraceFile& trace = instance();
  const std::lock_guard lock(trace.mutex_);
  return trace.fd_ ? &trace : nullptr;
}

void TraceFile::begin(std::string_view wanted) {
  const bool is_child = generation_ != fork_generation();
  if (is_child) fd_.reset(), pending_.clear();
  end();
  generation_ = fork_generation();
  asked_ = wanted;
  known_ = {};
  last_ = {};
  written_ = 0;
  if (!wanted.empty() && wanted != "0") open(wanted, is_child && has_begun_);
}

void TraceFile::open(std::string_view wanted, bool is_child) {
  const std::string plain = wanted == "1" ? detail::message("trace-", getpid(), ".jsonl") : std::string(wanted);
  path_ = is_child && wanted != "1" ? with_process(plain) : plain;
  std::string why;
  fd_ = open_alone(path_, why);
  if (!fd_ && why.empty()) {  // another process writes to the file
    path_ = with_process(plain);
    fd_ = open_alone(path_, why);
  }
  if (!fd_) return give_up(why.empty() ? "another process writes the file" : why);
  if (path_ != wanted)
    std::fputs(detail::message("strata: the trace is ", path_, " (strata viz ", path_, ")\n").c_str(), stderr);
  if (!has_begun_) std::atexit(&AtExit::run);
  has_begun_ = true;
  began_ += now();
  put(first_line(program_name()));
}

std::string TraceFile::first_line(std::string_view program) {
  JsonWriter json = line("trace", 0);
  json.member("format", kTraceFormat).member("strata", STRATA_VERSION);
  json.member("pid", std::int64_t{getpid()}).member("program", program);
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  json.member("milliseconds", std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count()});
  write_flags(json);
  return json.key("roofline").null().end_object().take();
}

std::string TraceFile::text_of(const Once& once, TraceTable table, std::int64_t number) {
  return detail::message("{\"event\":\"", once.event, "\",\"", to_string(table), "\":", number, ",",
                         std::string_view(once.members).substr(1));
}

void TraceFile::end() {
  if (!fd_) return;
  put(line("end").end_object().take());
  put_out();
  fd_.reset();
}

void TraceFile::give_up(std::string_view why) {
  std::fputs(detail::message("strata: no trace in ", path_, ": ", why, "\n").c_str(), stderr);
  fd_.reset();
  pending_.clear();
}

// --- lines ---

JsonWriter TraceFile::line(std::string_view event, std::int64_t at) {
  JsonWriter json;
  json.begin_object().member("event", event).member("at", at).member("thread", trace_thread());
  return json;
}

void TraceFile::write(std::string_view line) {
  const KeptErrno kept;
  const std::lock_guard lock(mutex_);
  put(line);
}

void TraceFile::flush() {
  const KeptErrno kept;
  const std::lock_guard lock(mutex_);
  put_out();
}

void TraceFile::put(std::string_view line) {
  if (!fd_) return;
  pending_ += line;
  pending_ += '\n';
  if (pending_.size() > kMostPending) put_out();
}

void TraceFile::put_out() {
  if (!fd_ || pending_.empty()) return;
  written_ += static_cast<std::int64_t>(pending_.size());
  if (!write_all(fd_.get(), pending_.data(), pending_.size())) return give_up(last_error_text());
  pending_.clear();
  if (written_ > kMostTrace) give_up("the trace has reached 1 GiB and ends here");
}

std::optional<std::int64_t> TraceFile::find(TraceTable table, const Hash128& key) const {
  const std::lock_guard lock(mutex_);
  const auto& known = known_[static_cast<std::size_t>(table)];
  const auto it = known.find(key);
  return it == known.end() ? std::nullopt : std::optional(it->second);
}

std::int64_t TraceFile::write_once(TraceTable table, const Hash128& key, std::span<const Once> lines) {
  const KeptErrno kept;
  const std::lock_guard lock(mutex_);
  const auto k = static_cast<std::size_t>(table);
  const auto [it, is_new] = known_[k].try_emplace(key, last_[k] + 1);
  if (!is_new) return it->second;
  const std::int64_t number = ++last_[k];
  for (const Once& once : lines) put(text_of(once, table, number));
  put_out();
  return number;
}

void TraceFile::note(TraceTable table, const Hash128& key, std::int64_t number) {
  const std::lock_guard lock(mutex_);
  known_[static_cast<std::size_t>(table)].try_emplace(key, number);
}

std::int64_t TraceFile::next(TraceTable table) {
  const std::lock_guard lock(mutex_);
  return ++last_[static_cast<std::size_t>(table)];
}

// --- memory ---

namespace {

void write_block(TraceFile* trace, std::string_view event, const void* block,
                 std::optional<std::size_t> bytes) noexcept {
  try {
    if (trace == nullptr) return;
    JsonWriter json = trace->line(event);
    json.member("block", static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(block)));
    if (bytes) json.member("bytes", static_cast<std::int64_t>(*bytes));
    trace->write(json.end_object().take());
  } catch (const std::exception&) {
    return;  // out of memory: the line is left out
  }
}

}  // namespace

void trace_allocated(const void* block, std::size_t bytes) noexcept {
  if (!flags::VIZ.has_text()) return;
  try {
    write_block(TraceFile::current(), "allocate", block, bytes);
  } catch (const std::exception&) {
    return;
  }
}

void trace_freed(const void* block) noexcept {
  if (flags::VIZ.has_text()) write_block(TraceFile::begun(), "free", block, std::nullopt);
}

}  // namespace strata
