// `strata cache`: the compiled kernels on disk.
#include <algorithm>
#include <ctime>
#include <ostream>
#include <utility>

#include "strata/base/flags.h"
#include "tools/cache_report.h"
#include "tools/command_parts.h"
#include "tools/commands.h"
#include "tools/units.h"

namespace strata::tools {
namespace {

std::string time_text(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm local{};
  char text[32];
  const bool known = localtime_r(&time, &local) != nullptr;
  return {text, known ? std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local) : 0};
}

std::string entries_text(std::size_t count) { return detail::message(count, count == 1 ? " entry" : " entries"); }

int list_cache(const DiskCache& cache, bool json, Console& console, bool colour) {
  const CacheReport report = report_of(cache);
  if (json) {
    JsonWriter writer;
    write_cache(writer, report);
    console.out << writer.take() << '\n';
    return cache.is_on() ? 0 : 1;
  }
  Lines lines(console, colour);
  lines.print("folder", report.folder);
  lines.print("entries", text_of(report));
  if (report.entries > 0) {
    lines.print("newest", time_text(report.newest), "last use");
    lines.print("oldest", time_text(report.oldest));
  }
  return cache.is_on() ? 0 : 1;
}

int check_cache(const DiskCache& cache, bool json, Console& console, bool colour) {
  const std::size_t entries = cache.entries().size();
  const std::vector<Hash128> damaged = cache.damaged();
  if (json) {
    JsonWriter writer;
    writer.begin_object().member("folder", cache.folder());
    writer.member("entries", static_cast<std::int64_t>(entries)).key("damaged").begin_array();
    for (const Hash128& key : damaged) writer.value(key.text());
    console.out << writer.end_array().end_object().take() << '\n';
    return damaged.empty() ? 0 : 1;
  }
  Lines lines(console, colour);
  if (damaged.empty()) {
    lines.print("check", entries_text(entries) + (entries == 1 ? " is whole" : " are whole"));
    return 0;
  }
  lines.print("check", detail::message(damaged.size(), " of ", entries_text(entries), " damaged"),
              "each is deleted when its kernel is wanted again");
  for (const Hash128& key : damaged) lines.print("", key.text());
  return 1;
}

int clear_cache(DiskCache& cache, bool json, Console& console, bool colour) {
  const std::size_t count = cache.clear();
  if (json) {
    JsonWriter writer;
    writer.begin_object().member("folder", cache.folder());
    writer.member("deleted", static_cast<std::int64_t>(count)).end_object();
    console.out << writer.take() << '\n';
  } else {
    Lines(console, colour).print("deleted", detail::message(count, count == 1 ? " file" : " files"));
  }
  return 0;
}

void print_path(const DiskCache& cache, bool json, Console& console) {
  if (!json) return void(console.out << cache.folder() << '\n');
  JsonWriter writer;
  console.out << writer.begin_object().member("folder", cache.folder()).end_object().take() << '\n';
}

}  // namespace

CacheReport report_of(const DiskCache& cache) {
  CacheReport out;
  out.folder = cache.folder();
  out.why_off = cache.why_off();
  out.is_wanted = flags::DISK_CACHE.get();
  out.limit = cache.limit();
  const std::vector<DiskCache::Entry> entries = cache.entries();  // last used first
  out.entries = entries.size();
  for (const DiskCache::Entry& entry : entries) out.bytes += entry.bytes;
  if (entries.empty()) return out;
  constexpr std::int64_t second = 1'000'000'000;
  out.newest = entries.front().last_use / second;
  out.oldest = entries.back().last_use / second;
  return out;
}

std::string text_of(const CacheReport& report) {
  if (!report.why_off.empty()) return detail::message("cannot be used: ", report.why_off);
  return detail::message(entries_text(report.entries), ", ", bytes_text(report.bytes), " of ", bytes_text(report.limit),
                         report.is_wanted ? "" : "; turned off by STRATA_DISK_CACHE");
}

void write_cache(JsonWriter& json, const CacheReport& report) {
  json.begin_object().member("folder", report.folder).member("usable", report.why_off.empty());
  json.member("enabled", report.is_wanted).key("reason");
  if (report.why_off.empty())
    json.null();
  else
    json.value(report.why_off);
  json.member("entries", static_cast<std::int64_t>(report.entries));
  json.member("bytes", static_cast<std::int64_t>(report.bytes));
  json.member("limit", static_cast<std::int64_t>(report.limit));
  for (const auto& [name, time] : {std::pair("oldest", report.oldest), std::pair("newest", report.newest)}) {
    json.key(name);
    if (report.entries > 0)
      json.value(time);
    else
      json.null();
  }
  json.end_object();
}

int command_cache(const Invocation& invocation, Console& console) {
  const std::string action = invocation.arguments().empty() ? "list" : invocation.arguments().front();
  const bool json = invocation.has("--json");
  const bool colour = wants_colour(invocation, console);
  const auto actions = split(invocation.command().completes, '|');
  if (std::find(actions.begin(), actions.end(), action) == actions.end())
    throw UsageError(detail::message("'", action, "' is not one of ", invocation.command().completes),
                     &invocation.command());
  DiskCache cache(DiskCache::default_folder(), DiskCache::default_limit());
  if (action == "list") return list_cache(cache, json, console, colour);
  if (action == "path" && !cache.folder().empty()) {
    print_path(cache, json, console);
    return 0;
  }
  STRATA_CHECK(cache.is_on(), domain, "[cache] ", cache.folder(), ": ", text_of(report_of(cache)));
  return action == "check" ? check_cache(cache, json, console, colour) : clear_cache(cache, json, console, colour);
}

}  // namespace strata::tools
