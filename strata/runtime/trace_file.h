// The trace of a process: lines of JSON that say what it computes, written while it runs, for the page (docs/viz-trace.md). The flag
// VIZ asks for it.
//
//   if (TraceFile* const trace = TraceFile::current()) {          // one load where nobody asked
//     trace->write(trace->line("run").member("kernel", 3).end_object().take());
//     trace->flush();
//   }
//
// A trace changes nothing of what the program does: what cannot be written is said once on standard error, and the trace ends there.
// A child of fork() has a trace of its own.
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

/// What a trace numbers, each from 1. What is written once is known again by its key.
enum class TraceTable : std::uint8_t {
  device,
  kernel,
  compiled,  ///< a kernel that was compiled, whose number is that of what it reads like
  graph,
  realize,
  capture,
};

/// The file that the flag VIZ names. Any function from any thread.
class TraceFile {
 public:
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// That of this process, begun when it is first asked for; null where there is none.
  static TraceFile* current() { return flags::VIZ.has_text() ? asked_for() : nullptr; }
  /// The same where it has begun, null else: for those who must neither wait nor fail.
  static TraceFile* begun() noexcept;

  /// Nanoseconds since the trace began, or until `time`.
  std::int64_t now() const { return at(std::chrono::steady_clock::now()); }
  std::int64_t at(std::chrono::steady_clock::time_point time) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count() -
           began_.load(std::memory_order_relaxed);
  }
  /// {"event":EVENT,"at":NOW,"thread":T and so on.
  JsonWriter line(std::string_view event) const { return line(event, now()); }
  static JsonWriter line(std::string_view event, std::int64_t at);

  /// Takes a line, without its end. It is in the file after flush() at the latest.
  void write(std::string_view line);
  /// Puts what was written into the file: after each group of lines, so that who reads it sees them at once.
  void flush();

  /// A line of something that is written once: its members, an object.
  struct Once {
    std::string_view event;
    std::string members;
  };
  /// Its line under a number.
  static std::string text_of(const Once& once, TraceTable table, std::int64_t number);
  /// The line that a trace begins with. @param program its name, or what the trace is about
  static std::string first_line(std::string_view program);
  /// The number of what `key` says, if it is known.
  std::optional<std::int64_t> find(TraceTable table, const Hash128& key) const;
  /// The same; where it is new, `lines` are written, each with its number as the member `table`.
  std::int64_t write_once(TraceTable table, const Hash128& key, std::span<const Once> lines);
  /// Has `key` stand for what is known already.
  void note(TraceTable table, const Hash128& key, std::int64_t number);
  /// A number that nothing has.
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
  std::string asked_, path_;  // what the flag said, and the file
  bool has_begun_ = false;    // once, in this process or in one that it is a child of
  std::uint64_t generation_ = 0;
  std::atomic<std::int64_t> began_{0};
  std::string pending_;
  std::int64_t written_ = 0;  // bytes
  std::array<std::map<Hash128, std::int64_t>, 6> known_;
  std::array<std::int64_t, 6> last_{};
};

/// "kernel", ...
std::string_view to_string(TraceTable table);

/// A number as JSON, without a fraction where it has none.
std::string trace_number(double number);

/// Blocks of memory that come and go.
void trace_allocated(const void* block, std::size_t bytes) noexcept;
void trace_freed(const void* block) noexcept;

/// What a thread runs kernels for: an item of the schedule of a realize(); 0 and -1 where it is neither.
struct TraceItem {
  std::int64_t realize = 0, item = -1;
  static TraceItem& current();
};

}  // namespace strata
