// `strata viz`: opens or serves the page, with a link or a trace.
#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <optional>
#include <ostream>

#include "strata/base/check.h"
#include "strata/base/quotes.h"
#include "strata/base/text.h"
#include "strata/runtime/hash128.h"
#include "tools/commands.h"
#include "tools/link.h"
#include "tools/page.h"
#include "tools/page_site.h"

namespace strata::tools {
namespace {

/// The commands whose words `strata viz` accepts.
struct LinkRow {
  std::string_view name;
  int (*link)(const Invocation&, Console&, const LinkUse&);
};
constexpr LinkRow kLinks[] = {
    {"expr", link_expr},
    {"view", link_view},
    {"layout", link_layout},
    {"kernel", link_kernel},
};

/// The arguments of opening the page: its contents, and the way to show it.
struct Show {
  std::string fragment = {};     ///< of the URL
  std::string trace = {};        ///< the path of a trace; empty: none
  std::optional<int> port = {};  ///< the port of the server; nothing: no server
  bool opens = true;
};

int read_port(const std::string& text, const Command& command) {
  int port = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || stop != text.data() + text.size() || port > 65535)
    throw UsageError("port " + in_quotes(text) + ": a port is at most 65535", &command);
  return port;
}

/// Prints the URL, and the reason if no browser can be opened.
void show_url(const std::string& url, const std::string& opened, bool opens, Console& console) {
  console.out << url << '\n' << std::flush;  // flushed, because the program may wait after it
  const std::string why = opens ? open_in_browser(opened) : "";
  if (!why.empty()) console.err << "strata: " << why << ": open this page in a browser\n";
}

/// The file name of the page with a trace, which contains a hash of the trace's path, so that each trace has its own
/// copy.
std::string name_for_trace(const std::string& path) {
  std::error_code ignored;
  const std::string whole = std::filesystem::weakly_canonical(path, ignored).string();
  Hasher hasher;
  hasher.add(std::as_bytes(std::span(whole)));
  return detail::message("trace-", hasher.finish().text().substr(0, 16), ".html");
}

int show_file(const Show& show, Console& console) {
  const std::string page = read_page();
  const std::string file = show.trace.empty()
                               ? keep_page("strata.html", page)
                               : keep_page(name_for_trace(show.trace), page_with_trace(page, show.trace));
  const std::string url = file_url(file) + show.fragment;
  const bool launches = show.opens && !show.fragment.empty();
  show_url(url, launches ? file_url(keep_launcher(url)) : url, show.opens, console);
  return 0;
}

/// Blocks the signals that end a server, in this thread and the threads that it starts, so that wait() can receive
/// them.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  void wait() const {
    int signal = 0;
    sigwait(&signals_, &signal);
  }

 private:
  sigset_t signals_{}, before_{};
};

int serve(const Show& show, Console& console) {
  const bool is_whole = show.trace.ends_with(".gz");
  const std::string page = page_for_server(read_page(), !show.trace.empty() && !is_whole);
  const PageSite site(is_whole ? page_with_trace(page, show.trace) : page, is_whole ? "" : show.trace);
  const EndSignals signals;
  const HttpServer server(site, *show.port);
  const std::string url = detail::message("http://127.0.0.1:", server.port(), "/", show.fragment);
  console.err << "serving until Ctrl-C";
  if (!show.trace.empty()) console.err << ", with the trace " << in_quotes(show.trace);
  console.err << '\n' << std::flush;
  show_url(url, url, show.opens, console);
  signals.wait();
  return 0;
}

int show_page(const Show& show, Console& console) {
  return show.port ? serve(show, console) : show_file(show, console);
}

/// Removes the PORT from the front of the words, if the first word is one.
std::optional<int> read_serve(const Invocation& invocation, std::span<const std::string>& words) {
  if (!invocation.has("--serve")) return std::nullopt;
  const bool has_port =
      !words.empty() && !words.front().empty() && std::all_of(words.front().begin(), words.front().end(), is_digit);
  if (!has_port) return 0;
  const int port = read_port(words.front(), invocation.command());
  words = words.subspan(1);
  return port;
}

/// Shows the subject of another command: `words` are that command's arguments.
int show_command(const LinkRow& row, std::span<const std::string> words, Show show, Console& console) {
  const Command& command = *find_command(row.name);
  const Invocation inner(command, words);
  if (inner.wants_help()) {
    console.out << help_text(command, console.colour_out);
    return 0;
  }
  return row.link(inner, console, [&](const PageLink& link) {
    show.fragment = fragment_of(link);
    return show_page(show, console);
  });
}

}  // namespace

int command_viz(const Invocation& invocation, Console& console) {
  std::span<const std::string> words = invocation.arguments();
  Show show;
  show.opens = !invocation.has("--no-open");
  show.port = read_serve(invocation, words);
  if (words.empty()) return show_page(show, console);
  const auto* const row =
      std::find_if(std::begin(kLinks), std::end(kLinks), [&](const LinkRow& r) { return r.name == words.front(); });
  if (row != std::end(kLinks)) return show_command(*row, words.subspan(1), show, console);
  if (words.size() > 1) throw UsageError("unexpected argument " + in_quotes(words[1]), &invocation.command());
  show.trace = words.front();
  return show_page(show, console);
}

}  // namespace strata::tools
