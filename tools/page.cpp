#include "tools/page.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/quotes.h"
#include "strata/runtime/disk_cache.h"
#include "strata/runtime/hash128.h"
#include "strata/runtime/posix_io.h"
#include "tools/gzip.h"
#include "tools/link.h"

namespace strata::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "strata.html.gz";
constexpr std::size_t kMostOfPage = std::size_t{64} << 20;
constexpr std::size_t kMostOfTrace = std::size_t{256} << 20;  ///< of the file

/// The contents of the regular file `path`. @throws Error (parse) with the system's reason, (budget) beyond `most`
/// bytes
std::string read_file(const std::string& path, std::size_t most) {
  const Fd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  STRATA_CHECK(file && fstat(file.get(), &status) == 0, parse, "[viz] ", in_quotes(path), ": ", last_error_text());
  STRATA_CHECK(S_ISREG(status.st_mode), parse, "[viz] ", in_quotes(path), ": it is not a regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  STRATA_CHECK(size <= most, budget, "[viz] ", in_quotes(path), ": the file has ", size, " bytes, more than ", most);
  std::string out(size, '\0');
  STRATA_CHECK(read_exactly(file.get(), out.data(), out.size()), parse, "[viz] ", in_quotes(path), ": ",
               errno == 0 ? "the file became shorter while it was read" : last_error_text());
  return out;
}

/// The paths where the page is sought, in order.
std::vector<std::string> places() {
  const char* const chosen = std::getenv("STRATA_VIZ_PAGE");
  if (chosen != nullptr && *chosen == '/') return {chosen};
  const std::string folder = program_folder();
  if (folder.empty()) return {};
  return {detail::message(folder, "/share/strata/", kFile),
          (fs::path(folder).parent_path() / "share/strata" / kFile).string()};
}

std::string hash_of(std::string_view text) {
  Hasher hasher;
  hasher.add(std::as_bytes(std::span(text)));
  return hasher.finish().text();
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
  }
  return out;
}

/// `page` with `title` (empty: unchanged), and the element of a trace behind the title.
std::string with_element(const std::string& page, std::string_view title, std::string_view encoding,
                         std::string_view data) {
  constexpr std::string_view kBegin = "<title>", kEnd = "</title>";
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd, begin);
  STRATA_CHECK(begin != std::string::npos && end != std::string::npos, parse,
               "[viz] the page is damaged: it has no title");
  std::string out = page.substr(0, begin + kBegin.size());
  out += title.empty() ? page.substr(begin + kBegin.size(), end - begin - kBegin.size()) : escaped(title);
  out += detail::message(kEnd, "<script type=\"application/json\" id=\"trace\" data-encoding=\"", encoding, "\">");
  return out.append(data).append("</script>").append(page, end + kEnd.size());
}

std::string private_folder() {
  const std::string cache = DiskCache::default_folder();
  STRATA_CHECK(!cache.empty(), budget,
               "[viz] no folder for the page: there is neither STRATA_CACHE_DIR nor XDG_CACHE_HOME nor "
               "HOME");
  std::error_code ignored;
  return (fs::absolute(cache, ignored) / "viz").lexically_normal().string();
}

/// Whether the file `name` in `folder` has this content.
bool has_content(const Fd& folder, const std::string& name, const std::string& content) {
  const Fd file(openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (static_cast<std::uint64_t>(status.st_size) != content.size()) return false;
  std::string there(content.size(), '\0');
  return read_exactly(file.get(), there.data(), there.size()) && there == content;
}

bool write_in_one_step(const Fd& folder, const std::string& name, const std::string& content) {
  const std::string half = detail::message(name, ".", getpid());
  unlinkat(folder.get(), half.c_str(), 0);
  const Fd file(openat(folder.get(), half.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return false;
  if (write_all(file.get(), content.data(), content.size()) &&
      renameat(folder.get(), half.c_str(), folder.get(), name.c_str()) == 0)
    return true;
  const int why = errno;
  unlinkat(folder.get(), half.c_str(), 0);
  errno = why;
  return false;
}

}  // namespace

std::string program_folder() {
  std::error_code failed;
  const fs::path file = fs::read_symlink("/proc/self/exe", failed);
  return failed || !file.is_absolute() ? std::string() : file.parent_path().string();
}

std::string read_page() {
  std::string sought;
  for (const std::string& place : places()) {
    std::error_code failed;
    if (fs::is_regular_file(place, failed)) return gunzip(place, read_file(place, kMostOfPage), kMostOfPage);
    sought += detail::message(sought.empty() ? "" : ", ", place);
  }
  throw Error(ErrorKind::undefined,
              detail::message("[viz] the page is not here (sought: ", sought.empty() ? "nowhere" : sought,
                              "; STRATA_VIZ_PAGE may name ", kFile, ", by an absolute path)"));
}

std::string page_with_trace(const std::string& page, const std::string& path) {
  const std::string trace = read_file(path, kMostOfTrace);
  STRATA_CHECK(is_gzip(trace) || trace.starts_with('{'), parse, "[viz] ", in_quotes(path),
               trace.empty() ? ": the file is empty" : ": the file is not a trace",
               ": a program writes a trace of JSON lines under STRATA_VIZ=FILE");
  return with_element(page, detail::message(fs::path(path).filename().string(), " - Strata"), "gzip-base64",
                      base64(is_gzip(trace) ? trace : gzip(trace)));
}

std::string page_for_server(const std::string& page, bool follows) {
  constexpr std::string_view kPolicy = "http-equiv=\"Content-Security-Policy\" content=\"";
  const std::size_t at = page.find(kPolicy);
  STRATA_CHECK(at != std::string::npos, parse, "[viz] the page is damaged: the page has no Content-Security-Policy");
  // Inserted in front, because in a Content-Security-Policy the first directive of a name counts.
  std::string out = page;
  out.insert(at + kPolicy.size(), "connect-src 'self'; ");
  return follows ? with_element(out, "", "follow", "") : out;
}

std::string keep_page(const std::string& name, const std::string& content) {
  const std::string path = private_folder();
  std::string why;
  const Fd folder = DiskCache::open_private(path, why);
  STRATA_CHECK(folder, budget, "[viz] ", path, " cannot be used: ", why);
  if (!has_content(folder, name, content))
    STRATA_CHECK(write_in_one_step(folder, name, content), budget, "[viz] ", path, "/", name,
                 " cannot be written: ", last_error_text());
  return detail::message(path, "/", name);
}

std::string keep_launcher(const std::string& url) {
  return keep_page(detail::message("open-", hash_of(url).substr(0, 16), ".html"),
                   detail::message("<!doctype html><meta charset=\"utf-8\"><title>Strata</title>",
                                   "<meta http-equiv=\"refresh\" content=\"0;url=", escaped(url), "\">", "<a href=\"",
                                   escaped(url), "\">Strata</a>\n"));
}

std::string file_url(const std::string& path) {
  std::string out = "file://";
  for (const std::string_view part : split(path, '/'))
    if (!part.empty()) out += detail::message("/", percent_encoded(part));
  return out;
}

}  // namespace strata::tools
