#include "tools/page_site.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "strata/base/check.h"
#include "strata/base/text.h"
#include "strata/runtime/hash128.h"
#include "strata/runtime/posix_io.h"
#include "tools/trace_assembly.h"

namespace strata::tools {
namespace {

constexpr std::size_t kMostOfFirstLine = 4096;
constexpr std::string_view kAssembly = "/assembly/";

HttpAnswer refusal(int status, std::string_view words) {
  return {status, "text/plain; charset=utf-8", detail::message(words, "\n")};
}

/// At most `most` bytes of a file, beginning with byte `at`.
std::string bytes_at(const Fd& file, std::uint64_t at, std::size_t most) {
  std::string out(most, '\0');
  std::size_t done = 0;
  while (done < most) {
    const ssize_t count = pread(file.get(), out.data() + done, most - done, static_cast<off_t>(at + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  out.resize(done);
  return out;
}

/// Identifies the trace in a file, by the file (device and inode) and its first line, which names the process: a file
/// may also be overwritten in place.
std::string name_of_trace(const Fd& file, const struct stat& status) {
  const std::string head = bytes_at(file, 0, kMostOfFirstLine);
  const std::size_t end = head.find('\n');
  if (end == std::string::npos && head.size() < kMostOfFirstLine) return "none";
  Hasher hasher;
  hasher.add(std::as_bytes(std::span(&status.st_dev, 1)));
  hasher.add(std::as_bytes(std::span(&status.st_ino, 1)));
  hasher.add(std::as_bytes(std::span(std::string_view(head).substr(0, end))));
  return hasher.finish().text();
}

std::optional<std::uint64_t> read_offset(std::string_view text) {
  std::uint64_t out = 0;
  if (text.empty()) return out;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool fits = error == std::errc() && stop == text.data() + text.size() && out >> 62 == 0;
  return fits ? std::optional(out) : std::nullopt;
}

/// Reads KERNEL/PART, the part of the path behind /assembly/.
std::optional<TracedKernel> read_traced_kernel(std::string_view words) {
  const std::size_t slash = words.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == words.size()) return std::nullopt;
  const auto kernel = read_offset(words.substr(0, slash)), part = read_offset(words.substr(slash + 1));
  if (!kernel || !part) return std::nullopt;
  return TracedKernel{static_cast<std::int64_t>(*kernel), static_cast<std::size_t>(*part)};
}

/// Adds headers that forbid pages of other origins to read or embed an answer. No header allows it.
void add_headers(HttpAnswer& answer) {
  answer.headers.insert(answer.headers.end(), {{"Cache-Control", "no-store"},
                                               {"Content-Security-Policy", "frame-ancestors 'none'"},
                                               {"Cross-Origin-Opener-Policy", "same-origin"},
                                               {"Cross-Origin-Resource-Policy", "same-origin"},
                                               {"Referrer-Policy", "no-referrer"},
                                               {"X-Content-Type-Options", "nosniff"}});
}

}  // namespace

bool is_own_host(std::string_view host) {
  constexpr std::string_view kNames[] = {"localhost", "127.0.0.1", "[::1]"};
  for (const std::string_view name : kNames) {
    if (!host.starts_with(name)) continue;
    const std::string_view port = host.substr(name.size());
    if (port.empty()) return true;
    return port.size() > 1 && port.size() <= 6 && port[0] == ':' && std::all_of(port.begin() + 1, port.end(), is_digit);
  }
  return false;
}

HttpAnswer PageSite::trace_from(std::string_view from) const {
  const auto asked = read_offset(from);
  if (!asked) return refusal(400, "from is a number of bytes");
  HttpAnswer out{200, "application/x-ndjson", ""};
  const Fd file(open(trace_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  std::uint64_t begin = 0;
  std::string name = "none";
  if (file && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    const auto size = static_cast<std::uint64_t>(status.st_size);
    begin = *asked <= size ? *asked : 0;
    name = name_of_trace(file, status);
    out.body = bytes_at(file, begin, static_cast<std::size_t>(std::min<std::uint64_t>(size - begin, kMostAtOnce)));
  }
  out.headers = {{"Trace-From", std::to_string(begin)}, {"Trace-File", name}};
  return out;
}

HttpAnswer PageSite::assembly_of(std::string_view words) const {
  const std::optional<TracedKernel> which = read_traced_kernel(words);
  if (!which) return refusal(400, "/assembly/KERNEL/PART takes two numbers");
  try {
    return {200, "text/plain; charset=utf-8", assembly_in_trace(trace_, *which)};
  } catch (const Error& e) {
    return refusal(404, e.what());
  }
}

HttpAnswer PageSite::answer(const HttpAsk& ask) const {
  HttpAnswer out;
  const bool is_page = ask.path == "/", is_trace = ask.path == "/trace" && !trace_.empty(),
             is_assembly = ask.path.starts_with(kAssembly) && !trace_.empty();
  const bool is_foreign = !ask.site.empty() && ask.site != "same-origin" && ask.site != "none";
  if (!is_own_host(ask.host)) {
    out = refusal(403, "this server answers to localhost, 127.0.0.1 and [::1] alone");
  } else if (ask.method != "GET" && ask.method != "HEAD") {
    out = refusal(405, "this server only shows things");
    out.headers.emplace_back("Allow", "GET, HEAD");
  } else if ((is_trace || is_assembly) && is_foreign) {
    out = refusal(403, "the trace is for the page of this server alone");
  } else if (is_page) {
    out = {200, "text/html; charset=utf-8", page_};
  } else if (is_trace) {
    out = trace_from(ask.from);
  } else if (is_assembly) {
    out = assembly_of(ask.path.substr(kAssembly.size()));
  } else {
    out = refusal(404, "there is / and, with a trace, /trace and /assembly/KERNEL/PART");
  }
  add_headers(out);
  return out;
}

}  // namespace strata::tools
