// TraceFile: the trace of a process, a file of JSON lines that describe graphs, kernels, runs and memory while the
// program runs. The flag VIZ names the file; the page of `strata viz` shows it (docs/viz-trace.md).
//
//   if (TraceFile* const trace = TraceFile::current()) {          // without VIZ, one load
//     trace->write(trace->line("run").member("kernel", 3).end_object().take());
//     trace->flush();
//   }
//
// A trace does not change the behavior of the program. If a write fails, one line on standard error says so and the
// trace ends. A child of fork() writes its own trace.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "strata/base/flags.h"
#include "strata/base/json.h"
#include "strata/runtime/hash128.h"
#include "strata/runtime/posix_io.h"

namespace strata {

/// The kinds of objects that a trace numbers. Each kind counts from 1.
enum class TraceTable : std::uint8_t {
  device,
  kernel,
  compiled,  ///< a CompiledKernel, by its id(); equal kernels share a line of the trace and its number
  graph,
  realize,
  capture,
};

/// The trace of this process. All functions are thread-safe.
class TraceFile {
 public:
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// The trace of this process, which the first call opens; null if VIZ is not set or the file cannot be written.
  static TraceFile* current() { return flags::VIZ.has_text() ? asked_for() : nullptr; }
  /// The trace if it is open, else null. For callers that must not throw: it opens no file.
  static TraceFile* begun() noexcept;

  /// Nanoseconds from the beginning of the trace to now, or to `time`.
  std::int64_t now() const { return at(std::chrono::steady_clock::now()); }
  std::int64_t at(std::chrono::steady_clock::time_point time) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count() -
           began_.load(std::memory_order_relaxed);
  }
  /// A JSON writer that has begun a line: {"event":EVENT,"at":NOW,"thread":T. The caller adds members and ends the
  /// object.
  JsonWriter line(std::string_view event) const { return line(event, now()); }
  static JsonWriter line(std::string_view event, std::int64_t at);

  /// Appends a line, without its line end, to the pending text. flush() writes that to the file, or write() itself
  /// beyond 64 KiB.
  void write(std::string_view line);
  /// Writes the pending text to the file. Call it after each group of lines, so that a reader of the growing file sees
  /// the group.
  void flush();

  /// A line about an object that is written only once, e.g. a kernel.
  struct Once {
    std::string_view event;
    std::string members;  ///< a JSON object with the members of the line
  };
  /// The line: event, the number as the member named after `table`, then the members.
  static std::string text_of(const Once& once, TraceTable table, std::int64_t number);
  /// The first line of a trace: its format, versions, process and flags. @param program its name, or the subject of the
  /// trace
  static std::string first_line(std::string_view program);
  /// The number of the object with this key; nothing if the trace does not know the key.
  std::optional<std::int64_t> find(TraceTable table, const Hash128& key) const;
  /// The number of the object with this key. If the key is new, writes `lines` with the next number, and flushes.
  std::int64_t write_once(TraceTable table, const Hash128& key, std::span<const Once> lines);
  /// Makes `key` another key of the object `number`.
  void note(TraceTable table, const Hash128& key, std::int64_t number);
  /// Takes the next number of a table, for an object without a key.
  std::int64_t next(TraceTable table);

 private:
  struct AtFork;
  struct AtExit;
  TraceFile() = default;
  static TraceFile& instance();
  static TraceFile* asked_for();
  // All with mutex_ held.
  void begin(std::string_view wanted);
  void open(std::string_view wanted, bool is_child);
  void write_header(std::string_view name);
  void put(std::string_view line);
  void put_out();
  void end();
  void give_up(std::string_view why);

  mutable std::mutex mutex_;
  // All guarded by mutex_, but for began_.
  Fd fd_;
  std::string asked_, path_;  // the value of the flag, and the file
  bool has_begun_ = false;    // whether this process or an ancestor by fork() has opened a trace
  std::uint64_t generation_ = 0;
  std::atomic<std::int64_t> began_{0};
  std::string pending_;
  std::int64_t written_ = 0;  // bytes
  std::array<std::map<Hash128, std::int64_t>, 6> known_;
  std::array<std::int64_t, 6> last_{};
};

/// The name of a table, which is also the member of its lines: "device", "kernel", ...
std::string_view to_string(TraceTable table);

/// A number as JSON: "3" for 3.0, "0.5", "null" for infinities and NaN.
std::string trace_number(double number);

/// Writes the line of a block that was allocated, or is about to be freed. Without a trace they do nothing.
void trace_allocated(const void* block, std::size_t bytes) noexcept;
void trace_freed(const void* block) noexcept;

/// The item of a schedule that this thread runs kernels for: its realize() by number, and its index. item == -1: none.
struct TraceItem {
  std::int64_t realize = 0, item = -1;
  static TraceItem& current();
};

}  // namespace strata
