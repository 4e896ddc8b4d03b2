// The page strata.html, for `strata viz` and the option --link: finding it, writing copies of it for a browser, with a
// trace in them if necessary, and opening the browser.
//
// The page is installed compressed, as share/strata/strata.html.gz. A browser gets a copy from a private folder of this
// user.
#pragma once

#include <string>
#include <string_view>

namespace strata::tools {

/// The folder of the running program's file; empty if unknown.
std::string program_folder();

/// The HTML of the page, from the file that STRATA_VIZ_PAGE names (an absolute path); else from share/strata in the
/// program's folder or in its parent.
/// @throws Error (undefined) if there is no page, or Strata was built without zlib; (parse) if it is damaged
std::string read_page();

/// `page` with the trace in the file `path`, JSON lines or gzip of them, embedded, and the file's name as the title.
/// @throws Error (parse) if the file cannot be read or is no trace, (budget) if it is too large to embed
std::string page_with_trace(const std::string& page, const std::string& path);

/// `page` for a server: its Content-Security-Policy allows requests to the same server. `follows`: it fetches a growing
/// trace from there.
/// @throws Error (parse) if the page has no Content-Security-Policy
std::string page_for_server(const std::string& page, bool follows);

/// Writes `content` to the file `name` in the private folder, atomically, unless the file has this content already.
/// Returns its path.
/// @throws Error (budget) with the system's reason if that fails
std::string keep_page(const std::string& name, const std::string& content);

/// Writes a page that redirects to `url`, and returns its path: programs that open files drop the fragment of a URL.
std::string keep_launcher(const std::string& url);

/// The URL of a file: `file:///path`, percent-encoded.
std::string file_url(const std::string& path);

/// Opens `url` in a browser: that of the environment variable BROWSER, or the desktop's. Does not wait.
/// @returns the reason if there is no way to open one, else ""
std::string open_in_browser(const std::string& url);

}  // namespace strata::tools
